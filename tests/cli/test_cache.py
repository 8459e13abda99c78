"""`xtrace cache`: what is in the compile cache, why programs missed, and making room."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import xtrace as xt
from xtrace.cli import main as command
from xtrace.cli.cache import differences
from xtrace.experimental.compilation_cache import compilation_cache
from xtrace.runtime import compile_cache

SCRIPT = """
import jax, numpy as np
def step(x):
    return jax.numpy.tanh(x) * {factor}
print(jax.jit(step)(np.ones({n}, np.float32)))
"""


@pytest.fixture
def run(tmp_path):
    """Run `xtrace cache ...` in a process of its own: (JSON, exit status)."""

    def go(*args):
        env = {**os.environ, "XTRACE_CACHE_DIR": str(tmp_path / "c"), "PYTHONPATH": os.getcwd()}
        done = subprocess.run(
            [sys.executable, "-m", "xtrace", "cache", *args], env=env, capture_output=True, text=True, check=False
        )
        return (json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr), done.returncode

    return go


def test_explain_list_and_prune(run, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(SCRIPT.format(factor=3, n=5))
    assert run("explain", "--json", str(script))[0]["misses"][0]["nearest"] is None
    assert run("explain", "--json", str(script))[0]["hits"] == 1
    script.write_text(SCRIPT.format(factor="3 + 1", n=7))
    (miss,) = run("explain", "--json", str(script))[0]["misses"]
    assert "arguments: f32[5] → f32[7]" in miss["differs"] and miss["name"] == "step"
    programs = run("ls", "--json")[0]["programs"]
    assert {tuple(p["arguments"]) for p in programs} == {("f32[5]",), ("f32[7]",)}
    told = run("explain", "--json", programs[0]["key"][:10])[0]["programs"]
    assert told[0]["differs"] == [] and told[0]["parts"]["operations"]["tanh"] == 1
    assert len(run("prune", "--all", "--json")[0]["removed"]) == 2
    assert run("ls", "--json")[0]["programs"] == []


def test_what_is_wrong_is_said(monkeypatch, capsys, tmp_path):
    with xt.config.flags["compilation_cache_dir"](None):
        assert command.main(["cache", "ls"]) == 2
        assert "XTRACE_CACHE_DIR" in capsys.readouterr().err
    with xt.config.flags["compilation_cache_dir"](str(tmp_path / "absent")):
        assert command.main(["cache", "ls"]) == 2
    (tmp_path / "c").mkdir(mode=0o700)
    with xt.config.flags["compilation_cache_dir"](str(tmp_path / "c")):
        assert command.main(["cache", "prune"]) == 2
        assert command.main(["cache", "prune", "--max-size", "many"]) == 2
        assert command.main(["cache", "explain", "abc"]) == 2
        assert command.main(["cache", "prune", "--max-size", "1.5M"]) == 0


def test_differences_are_told_by_part():
    old = {"jaxlib": "1", "operations": {"sin": 1, "add": 2}, "devices": [0]}
    new = {"jaxlib": "2", "operations": {"sin": 1, "add": 3}, "devices": [0]}
    assert differences(old, new) == ["jaxlib: 1 → 2", "operations: add 2 → 3"]


def test_the_folder_can_be_set_by_a_program(tmp_path):
    before = xt.config.jax_compilation_cache_dir
    try:
        compilation_cache.set_cache_dir(tmp_path / "c")
        compilation_cache.reset_cache()
        assert compile_cache.current().folder == tmp_path / "c"
    finally:
        xt.config.update("jax_compilation_cache_dir", before)
