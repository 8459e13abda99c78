"""Finding a target function, and what is said when there is none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from xtrace.cli import target
from xtrace.cli.errors import CommandError, describe

MODEL = """
import helper_beside_the_model

scale = 3.0

def predict(x):
    return x * scale

class Net:
    @staticmethod
    def apply(x):
        return x
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "model_under_test.py").write_text(MODEL)
    (tmp_path / "helper_beside_the_model.py").write_text("")
    (tmp_path / "pkg_under_test").mkdir()
    (tmp_path / "pkg_under_test" / "__init__.py").write_text("")
    (tmp_path / "pkg_under_test" / "net.py").write_text("def loss(x): return x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_by_file(folder):
    assert target.load("model_under_test.py:predict")(2.0) == 6.0
    assert target.load(f"{folder}{os.sep}model_under_test.py:Net.apply")(1) == 1


def test_by_module(folder):
    assert target.load("pkg_under_test.net:loss")(4) == 4
    assert target.load("math:sqrt")(4.0) == 2.0


def test_a_file_that_shares_its_name_with_a_loaded_module(folder):
    Path("json.py").write_text("def f(): return 'the user'\n")
    import json

    assert target.load("json.py:f")() == "the user"
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    "text, message",
    [
        ("model_under_test.py", "'model_under_test.py' names no function: write file.py:function or "
         "package.module:function"),
        ("absent.py:f", "no such file: absent.py"),
        ("folder.py:f", "folder.py is a folder, not a file"),
        ("./README:f", "no such file: README"),
        ("no_such_package.x:f", "no module named 'no_such_package' in this folder or among installed packages"),
        ("pkg_under_test.x:f", "no module named 'pkg_under_test.x' in this folder or among installed packages"),
        ("model_under_test.py:predicted", "no function 'predicted' in model_under_test.py; did you mean predict?"),
        ("model_under_test.py:q", "no function 'q' in model_under_test.py; it defines: predict, Net"),
        ("model_under_test.py:Net.call", "no function 'call' in Net in model_under_test.py; it defines: apply"),
        ("model_under_test.py:scale", "scale in model_under_test.py is not a function but a float"),
    ],
)  # fmt: skip
def test_bad_targets(folder, text, message):
    (folder / "folder.py").mkdir()
    with pytest.raises(CommandError) as error:
        target.load(text)
    assert describe(error.value) == message


def test_errors_of_the_users_own_code_pass_through(folder):
    Path("broken_import.py").write_text("x = 1\nimport no_such_module_at_all\n")
    with pytest.raises(ModuleNotFoundError) as error:
        target.load("broken_import:f")
    assert describe(error.value).endswith(
        "broken_import.py:2: ModuleNotFoundError: No module named 'no_such_module_at_all'"
    )
    Path("broken_syntax.py").write_text("x = 1\ny = = 2\n")
    with pytest.raises(SyntaxError) as error:
        target.load("broken_syntax.py:f")
    assert describe(error.value).endswith("broken_syntax.py:2: SyntaxError: invalid syntax")


def test_a_script_that_exits_on_import(folder):
    Path("exits.py").write_text("import sys\nsys.exit(3)\n")
    with pytest.raises(CommandError, match="exits.py exited with status 3 while it was imported: guard its main"):
        target.load("exits.py:f")
