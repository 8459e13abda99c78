"""The core of the suite, and the newcomers' programs, never import jax: they pass with its import refused."""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent


def test_nothing_imports_jax():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.import_guard",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
    ]
    command += [
        "-m",
        "not slow",
        "tests/test_smoke.py",
        "tests/programs/test_tracing.py",
        "tests/programs/test_derivatives.py",
    ]
    command += ["tests/programs/test_arrays.py", "tests/programs/test_randomness.py"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "imports of jax tried: 0 []" in result.stdout


def test_the_guard_notices():
    code = "import tests.import_guard as g\ntry:\n    import jax.numpy\nexcept ImportError:\n    print(g.tried)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.stdout == "['jax']\n", result.stderr
