"""The command as it is typed: output, error lines and exit statuses."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

MODEL = """
def add(x, y):
    return x + y

def broken(x):
    raise ValueError("the model is broken\\nsecond line")
"""


@pytest.fixture
def xtrace(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)

    def call(*args):
        command = [sys.executable, "-m", "xtrace", *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    call.folder = tmp_path
    return call


def fails(result, line):
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"xtrace: error: {line}\n")


def test_usage_mistakes_are_one_line(xtrace):
    fails(xtrace(), "the following arguments are required: COMMAND; see xtrace --help")
    fails(xtrace("dump-hlo"), "the following arguments are required: TARGET; see xtrace dump-hlo --help")
    result = xtrace("dump-hlo", "model.py:add", "--stage", "asm")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("xtrace: error: argument --stage: invalid choice: 'asm'")
    assert result.stderr.count("\n") == 1


def test_help_names_the_commands(xtrace):
    result = xtrace("--help")
    assert result.returncode == 0
    for command in ("dump-hlo", "run", "info"):
        assert command in result.stdout


@pytest.mark.parametrize(
    "args, line",
    [
        (["model.py:sub"], "no function 'sub' in model.py; it defines: add, broken"),
        (["model.py:add", "--arg", "f32[3]"],
         "model.py:add takes (x, y) and got 1 by position: missing a required argument: 'y'; "
         "give each argument with --arg, --static or --args-from"),
        (["model.py:add", *["--arg", "f32"] * 3],
         "model.py:add takes (x, y) and got 3 by position: too many positional arguments; "
         "give each argument with --arg, --static or --args-from"),
        (["model.py:add", "--arg", "f32", "--arg", "z=f32"],
         "model.py:add takes (x, y) and got 1 by position and z by name: missing a required argument: 'y'; "
         "give each argument with --arg, --static or --args-from"),
        (["model.py:add", "--arg", "f32", "--arg", "flot32[2]"],
         "--arg 2: unknown dtype 'flot32'; did you mean float32?"),
        (["model.py:add", "--arg", "y=f32[x]"],
         "--arg y: 'x' is not a size: sizes are integers that are zero or more"),
        (["model.py:add", "--static", "y"], "--static y: write it as NAME=VALUE"),
        (["model.py:add", "--arg", "f32", "--args-from", "model.py:add"],
         "give either --arg or --args-from, not both"),
        (["model.py:add", "--platform", "quantum"],
         "unknown platform 'quantum': write cpu, cuda, tpu, or a topology such as tpu:v5e:2x2"),
        (["model.py:add", "--platform", "cpu:2x2"], "cpu has no topologies: write cpu instead of cpu:2x2"),
    ],
)  # fmt: skip
def test_dump_hlo_mistakes(xtrace, args, line):
    fails(xtrace("dump-hlo", *args), line)


def test_run_passes_arguments_and_the_exit_status(xtrace):
    (xtrace.folder / "script.py").write_text(
        "import sys, beside\nprint(__name__, sys.argv, beside.x)\nsys.exit(int(sys.argv[2]))\n"
    )
    (xtrace.folder / "beside.py").write_text("x = 1\n")
    result = xtrace("run", "script.py", "--flag", "7")
    assert (result.returncode, result.stdout) == (7, "__main__ ['script.py', '--flag', '7'] 1\n")


def test_run_aliases_jax(xtrace):
    (xtrace.folder / "script.py").write_text("import jax, xtrace\nprint(jax is xtrace)\n")
    assert xtrace("run", "script.py").stdout == "True\n"
    (xtrace.folder / "package").mkdir()
    (xtrace.folder / "package" / "__init__.py").write_text("")
    (xtrace.folder / "package" / "job.py").write_text("import sys, jax\nprint(sys.argv[1:])\n")
    assert xtrace("run", "-m", "package.job", "a", "--traceback").stdout == "['a', '--traceback']\n"


def test_run_mistakes(xtrace):
    fails(xtrace("run", "absent.py"), "no such script: absent.py")
    fails(xtrace("run", "-m", "absent"), "No module named absent")


def test_a_script_that_raises(xtrace):
    (xtrace.folder / "script.py").write_text("import model\n\nmodel.broken(1)\n")
    where = xtrace.folder / "model.py"
    result = xtrace("run", "script.py")
    assert (result.returncode, result.stdout) == (2, "")
    # Python 3.13 underlines the call: those lines are its affair.
    shown = [line for line in result.stderr.splitlines(keepends=True) if line.strip(" ~^\n")]
    assert "".join(shown) == (
        f"xtrace: error: {where}:6: ValueError: the model is broken\n"
        "Traceback (most recent call last):\n"
        '  File "script.py", line 3, in <module>\n'
        "    model.broken(1)\n"
        f'  File "{where}", line 6, in broken\n'
        '    raise ValueError("the model is broken\\nsecond line")\n'
        "ValueError: the model is broken\n"
        "second line\n"
    )
    (xtrace.folder / "traced.py").write_text("import jax\n\n\n@jax.jit\ndef f(x):\n    return int(x)\n\n\nf(1.0)\n")
    result = xtrace("run", "traced.py")
    assert [line.strip() for line in result.stderr.splitlines() if line.startswith("  File")] == [
        'File "traced.py", line 9, in <module>',
        'File "traced.py", line 6, in f',
    ]
    result = xtrace("run", "--traceback", "script.py")
    assert result.returncode == 2
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.endswith(f"xtrace: error: {where}:6: ValueError: the model is broken\n")
    (xtrace.folder / "script.py").write_text("raise SystemExit('said by the script')\n")
    result = xtrace("run", "script.py")
    assert (result.returncode, result.stderr) == (1, "said by the script\n")


def test_info_as_json(xtrace):
    result = xtrace("info", "--json", "--flags")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["versions"]["jaxlib"]
    assert facts["flags"]["enable_x64"]["default"] is False
    assert set(facts) >= {"versions", "machine", "backends", "plugins", "caches", "environment"}


def test_info_says_why_a_backend_is_missing(xtrace, monkeypatch):
    monkeypatch.setenv("XTRACE_PLATFORMS", "quantum")
    result = xtrace("info", "--json")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["backends"]["default"] is None
    assert "names the unknown platform 'quantum'" in facts["backends"]["error"]
    assert facts["environment"]["XTRACE_PLATFORMS"] == "quantum"


def test_info_as_text(xtrace):
    result = xtrace("info")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("versions\n  xtrace")
    assert "enable_x64" not in result.stdout
    assert "enable_x64" in xtrace("info", "--flags").stdout
