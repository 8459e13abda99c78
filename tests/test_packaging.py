"""What gets installed: the packages, the version, the extras. Building a wheel takes too long to be a test here."""

from __future__ import annotations

import ast
import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def requirement_names(requirements: list[str]) -> set[str]:
    return {r.split("[")[0].split(">")[0].split("=")[0].strip() for r in requirements}


def test_version_is_written_once_and_is_the_installed_one():
    from xtrace.version import __version__

    assert PROJECT["project"]["dynamic"] == ["version"]
    assert importlib.metadata.version("xtrace") == __version__


def test_jax_is_needed_only_by_the_benchmarks():
    assert requirement_names(PROJECT["project"]["dependencies"]) == {"jaxlib", "ml_dtypes", "numpy"}
    with_jax = {
        extra
        for extra, needs in PROJECT["project"]["optional-dependencies"].items()
        if "jax" in requirement_names(needs)
    }
    assert with_jax == {"bench"}


@pytest.mark.parametrize("folder", ["xtrace", "lowering", "runtime"])
def test_every_folder_with_code_is_a_package(folder):
    folders = {path.parent for path in (ROOT / folder).rglob("*.py")}
    assert folders
    missing = [str(f.relative_to(ROOT)) for f in sorted(folders) if not (f / "__init__.py").exists()]
    assert missing == []


def test_the_three_folders_are_mapped_and_typed():
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {
        "xtrace": "xtrace",
        "xtrace.lowering": "lowering",
        "xtrace.runtime": "runtime",
    }
    assert (ROOT / "xtrace" / "py.typed").exists()
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_nothing_imports_lowering_or_runtime_by_their_folder_names():
    for path in [p for folder in ("xtrace", "lowering", "runtime") for p in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            for name in names:
                assert name.split(".")[0] not in ("lowering", "runtime"), f"{path}: import {name}"


def test_a_folder_of_the_users_named_runtime_does_not_shadow_ours(tmp_path):
    for name in ("runtime", "lowering"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong folder was imported')\n")
    code = "import xtrace.runtime.jaxlib_api, xtrace.lowering; print(xtrace.runtime.__name__)"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "xtrace.runtime\n"), result.stderr
