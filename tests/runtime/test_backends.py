import os
import subprocess
import sys

import pytest

from xtrace.runtime import backends, plugins, topologies


def test_cpu():
    device = backends.devices("cpu")[0]
    assert repr(device) == "CpuDevice(id=0)" and device.platform == "cpu"
    assert backends.local_devices(backend="cpu") == backends.devices("cpu")
    assert backends.get_backend("cpu").platform == "cpu"
    assert (backends.process_index(), backends.process_count(), backends.process_indices()) == (0, 1, [0])
    with pytest.raises(ValueError, match="Unknown process_index 1"):
        backends.local_devices(process_index=1)


def test_unknown():
    with pytest.raises(RuntimeError, match=r"^Unknown backend foo. Available backends are \[.*'cpu'.*\]"):
        backends.devices("foo")


def run(program, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in ("XTRACE_PLATFORMS", "JAX_PLATFORMS")}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment | variables, capture_output=True, text=True)


DEVICES = "from xtrace.runtime import backends\nprint(backends.devices())"


@pytest.mark.parametrize("variable", ["XTRACE_PLATFORMS", "JAX_PLATFORMS"])
def test_platforms_flag(variable):
    result = run(DEVICES, **{variable: "cpu"})
    assert result.stdout.strip() == "[CpuDevice(id=0)]" and result.stderr == ""
    result = run(DEVICES, **{variable: "abacus"})
    assert "names the unknown platform 'abacus'; known are cpu, cuda, tpu" in result.stderr


def test_a_broken_plugin_says_what_was_tried(tmp_path):
    library = tmp_path / "plugin.so"
    library.write_text("not a library")
    result = run(DEVICES, JAX_PLATFORMS="mine", PJRT_NAMES_AND_LIBRARY_PATHS=f"mine:{library}")
    assert "Unable to initialize backend 'mine'" in result.stderr
    assert f"the mine plugin {library} was found but can't be used" in result.stderr
    result = run(DEVICES, JAX_PLATFORMS="mine", PJRT_NAMES_AND_LIBRARY_PATHS=f"mine:{library}.gone")
    assert (
        f"no mine plugin was found. Looked for:\n  {library}.gone (from PJRT_NAMES_AND_LIBRARY_PATHS)" in result.stderr
    )
    result = run(DEVICES, PJRT_NAMES_AND_LIBRARY_PATHS="nonsense")
    assert "PJRT_NAMES_AND_LIBRARY_PATHS has the entry 'nonsense'; write it as 'name:path,name:path'" in result.stderr


def test_importing_makes_no_client():
    result = run(
        "import sys\n"
        "import xtrace.runtime, xtrace.sharding\n"
        "from xtrace.runtime import transfers, backends\n"
        "print(backends.is_initialized(), 'jaxlib.mlir' in sys.modules, 'scipy' in sys.modules)"
    )
    assert result.stdout.strip() == "False False False", result.stderr


@pytest.mark.parametrize("platform, topology, kind", [("tpu", "v5e:2x2", "TPU v5 lite"), ("cuda", "h100:4", "H100")])
def test_compile_only_devices(platform, topology, kind):
    if plugins.find_library(platform)[0] is None:
        with pytest.raises(plugins.PluginError) as raised:
            topologies.compile_only_devices(platform, topology)
        assert str(raised.value).startswith(f"no {platform} plugin was found. Looked for:\n")
        assert f"pip install 'xtrace[{platform}" in str(raised.value)
    else:
        devices = topologies.compile_only_devices(platform, topology)
        assert len(devices) == 4 and kind in devices[0].device_kind
        with pytest.raises(ValueError, match="v9:9|unknown GPU"):
            topologies.compile_only_devices(platform, "v9:9")


def test_topologies_of_unknown_platforms():
    with pytest.raises(ValueError, match="knows the platforms cuda, tpu; got 'cpu'. Programs for cpu are compiled by"):
        topologies.compile_only_devices("cpu", "x")
