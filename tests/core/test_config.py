"""core.config: values, environment, errors, overrides per thread, and the names that JAX's programs use."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from xtrace.core import config as module
from xtrace.core import config_options
from xtrace.core.config import config


@pytest.fixture(autouse=True)
def checked_jaxprs():
    """In place of the fixture that sets a flag for every other test: this file looks at all flags."""


@pytest.fixture
def keep():
    """Restore every flag afterwards."""
    values = {name: flag.state.get_global() for name, flag in config.flags.items()}
    others = dict(config.without_effect)
    yield
    for name, value in values.items():
        config.flags[name].state.set_global(value)
    config.without_effect.update(others)


def run(code, **environment):
    """Run code in a process with only these settings, and return what it prints or the last line of its error."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_update_and_read(keep):
    assert config.read("jax_enable_x64") is False
    config.update("jax_enable_x64", True)
    names = ("jax_enable_x64", "enable_x64", "xtrace_enable_x64")
    assert [config.read(n) for n in names] == [True] * 3
    assert config.jax_enable_x64 is config.enable_x64 is config.x64_enabled is module.enable_x64.value is True
    assert config.values["jax_enable_x64"] is True
    config.enable_x64 = False
    assert config.x64_enabled is False
    assert repr(config) == "<config all defaults>"
    config.update("debug_nans", np.True_)
    assert config.debug_nans is True
    assert repr(config) == "<config debug_nans=True>"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("jax_enable_x64", "true", "config flag 'enable_x64' must be a bool; got 'true'"),
        ("enable_x64", 3, "config flag 'enable_x64' must be a bool; got 3"),
        ("debug_nans", None, "config flag 'debug_nans' must be a bool; got None"),
        (
            "jax_numpy_rank_promotion",
            "foo",
            "config flag 'numpy_rank_promotion' must be one of 'allow', 'warn', 'raise'; got 'foo'",
        ),
        ("jax_num_cpu_devices", "3", "config flag 'num_cpu_devices' must be an int; got '3'"),
        ("jax_num_cpu_devices", True, "config flag 'num_cpu_devices' must be an int; got True"),
        ("jax_platforms", 3, "config flag 'platforms' must be a string or None; got 3"),
        ("jax_default_device", 3, "config flag 'default_device' must be a string or a Device or None; got 3"),
    ],
)
def test_wrong_values(name, value, told):
    before = config.read(name)
    with pytest.raises(ValueError) as info:
        config.update(name, value)
    assert str(info.value) == told
    assert config.read(name) is before


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("jax_enable_x65", "unrecognized config option: 'jax_enable_x65'; did you mean 'jax_enable_x64'?"),
        ("debug_nan", "unrecognized config option: 'debug_nan'; did you mean 'debug_nans' or 'debug_infs'?"),
        ("jax_qqq", "unrecognized config option: 'jax_qqq'; `xtrace info --flags` lists them"),
    ],
)
def test_unknown_names(name, told):
    for call in (
        lambda: config.update(name, True),
        lambda: config.read(name),
        lambda: getattr(config, name),
        lambda: setattr(config, name, True),
    ):
        with pytest.raises(AttributeError) as info:
            call()
        assert str(info.value) == told
    assert not hasattr(config, name)


def test_internal_flags_are_not_for_users():
    for name in ("trace_state", "post_hook"):
        assert f"jax_{name}" not in config.values
        with pytest.raises(AttributeError):
            config.update(name, 1)


def test_options_without_effect_are_kept(keep):
    config.update("jax_use_magma", "on")
    assert config.jax_use_magma == config.read("use_magma") == config.values["jax_use_magma"] == "on"
    assert config.jax2tf_default_native_serialization is True
    assert "jax2tf_default_native_serialization" in config.values
    assert not set(config_options.WITHOUT_EFFECT) & set(config.flags)
    assert set(config_options.ALIASES.values()) <= set(config.flags)


def test_aliases(keep):
    config.update("jax_enable_checks", True)
    assert config.check_jaxprs is True


def test_values_is_a_copy():
    config.values["jax_enable_x64"] = True
    assert config.enable_x64 is False
    assert set(config.values) <= set(dir(config))


def test_a_flag_overrides_itself_in_a_block():
    flag = module.numpy_rank_promotion
    with flag("raise"):
        assert config.numpy_rank_promotion == "raise"
        with flag("warn"):
            assert flag.value == "warn"
        assert flag.value == "raise"
        assert config.values["jax_numpy_rank_promotion"] == "allow"  # the global value
    assert flag.value == "allow"
    with pytest.raises(ZeroDivisionError), flag("raise"):
        raise ZeroDivisionError
    assert flag.value == "allow"
    with pytest.raises(ValueError, match="must be one of"):
        flag("foo")


def test_a_block_outweighs_update(keep):
    with module.enable_x64():
        config.update("jax_enable_x64", False)
        assert config.x64_enabled is True
    assert config.x64_enabled is False
    with module.enable_x64(False):
        config.update("jax_enable_x64", True)
        assert config.x64_enabled is False
    assert config.x64_enabled is True


def test_an_override_may_be_entered_again_and_decorate():
    override = module.enable_x64(True)
    for _ in range(2):
        with override:
            with override:
                assert config.x64_enabled
            assert config.x64_enabled
        assert not config.x64_enabled

    @module.enable_x64(True)
    def inside(depth):
        return config.x64_enabled and (depth == 0 or inside(depth - 1))

    assert inside(3)
    assert not config.x64_enabled


def test_only_bools_have_a_value_to_be_left_out():
    with pytest.raises(TypeError, match=r"numpy_rank_promotion\(\) needs a value: with numpy_rank_promotion\(...\)"):
        module.numpy_rank_promotion()
    with module.numpy_rank_promotion(new_val="warn"), module.default_device(None):
        assert config.numpy_rank_promotion == "warn"


def test_overrides_are_per_thread(keep):
    entered, leave = threading.Barrier(3), threading.Barrier(3)
    seen = {}

    @module.debug_nans(True)
    def decorated():
        entered.wait()
        leave.wait()
        return config.debug_nans

    def work(name):
        seen[name] = (decorated(), config.debug_nans)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    entered.wait()
    seen["main"] = config.debug_nans
    leave.wait()
    for t in threads:
        t.join()
    assert seen == {0: (True, False), 1: (True, False), "main": False}

    # A global value reaches threads whose blocks are over.
    config.update("debug_nans", True)
    thread = threading.Thread(target=lambda: seen.update(late=config.debug_nans))
    thread.start()
    thread.join()
    assert seen["late"] is True


def test_a_flag_has_no_truth_value():
    with pytest.raises(TypeError, match="a flag has no truth value; read enable_x64.value, or config.jax_enable_x64"):
        bool(module.enable_x64)


def test_on_update_is_told_of_global_values(keep):
    told = []
    module.log_compiles.on_update = told.append
    try:
        config.update("log_compiles", True)
        with module.log_compiles(False):
            pass
    finally:
        module.log_compiles.on_update = None
    assert told == [True]


IMPORT = "from xtrace.core.config import config as c; "
READ = IMPORT + "print(c.enable_x64, c.num_cpu_devices, c.numpy_rank_promotion, c.platforms)"


@pytest.mark.parametrize(
    ("environment", "printed"),
    [
        ({}, "False -1 allow None"),
        ({"JAX_ENABLE_X64": "1"}, "True -1 allow None"),
        ({"JAX_ENABLE_X64": "T", "JAX_NUM_CPU_DEVICES": "3"}, "True 3 allow None"),
        ({"XTRACE_ENABLE_X64": "off", "JAX_ENABLE_X64": "on"}, "False -1 allow None"),
        ({"XTRACE_ENABLE_X64": "", "JAX_ENABLE_X64": "yes"}, "True -1 allow None"),
        ({"JAX_PLATFORMS": "cpu,cuda", "XTRACE_NUMPY_RANK_PROMOTION": "warn"}, "False -1 warn cpu,cuda"),
        ({"JAX_PLATFORMS": "", "JAX_NUM_CPU_DEVICES": ""}, "False -1 allow None"),
        (
            {"JAX_ENABLE_X64": "maybe"},
            "ValueError: environment variable JAX_ENABLE_X64='maybe': expected a boolean (1/0, true/false, on/off)",
        ),
        (
            {"XTRACE_NUM_CPU_DEVICES": "x"},
            "ValueError: environment variable XTRACE_NUM_CPU_DEVICES='x': expected an integer",
        ),
        (
            {"JAX_NUMPY_RANK_PROMOTION": "foo"},
            "ValueError: environment variable JAX_NUMPY_RANK_PROMOTION='foo': "
            "config flag 'numpy_rank_promotion' must be one of 'allow', 'warn', 'raise'; got 'foo'",
        ),
    ],
)
def test_environment(environment, printed):
    assert run(READ, **environment) == printed


def test_internal_flags_ignore_the_environment():
    code = "from xtrace.core import config; print(config.trace_state.value)"
    assert run(code, XTRACE_TRACE_STATE="x", JAX_TRACE_STATE="x") == "None"


def test_without_absl_there_is_nothing_to_parse():
    code = (
        "import sys; sys.modules['absl'] = sys.modules['absl.flags'] = None; sys.argv.append('--jax_enable_x64')\n"
        f"{IMPORT}print(c.parse_flags_with_absl(), c.enable_x64)"
    )
    assert run(code) == "None False"


def test_flags_from_the_command_line():
    pytest.importorskip("absl")
    code = (
        "import sys; sys.argv += ['--jax_enable_x64', '--jax_numpy_rank_promotion=warn', '--other=1']\n"
        "sys.argv += ['--nojax_debug_nans', '--jax_num_cpu_devices=2']\n"
        f"{IMPORT}c.parse_flags_with_absl(); c.parse_flags_with_absl()\n"
        "print(c.enable_x64, c.numpy_rank_promotion, c.debug_nans, c.num_cpu_devices)"
    )
    assert run(code, PYTHONPATH=":".join(sys.path)) == "True warn False 2"


def test_flags_when_absl_parses():
    pytest.importorskip("absl")
    code = (
        f"{IMPORT}from absl import app; c.config_with_absl()\n"
        "app.run(lambda _: print(c.enable_x64, c.platforms), ['p', '--jax_enable_x64', '--jax_platforms=cpu'])"
    )
    assert run(code, PYTHONPATH=":".join(sys.path)) == "True cpu"
