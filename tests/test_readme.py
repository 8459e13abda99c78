"""What the README shows is what one gets."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def test_the_tour(tmp_path):
    model, program = blocks("python")
    (tmp_path / "model.py").write_text(model)
    (console,) = blocks("console")
    first, _, shown = console.partition("\n")
    command = shlex.split(first.removeprefix("$ "))
    assert command[0] == "xtrace"
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, shown), done.stderr

    (tmp_path / "program.py").write_text("from model import selu, xnp\n" + program)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{ lambda ; a:f32[5]. let\n")
    # The derivative of selu at 0, 1, 2, 3, 4 is 1.05 for positive arguments and 1.05 * 1.67 at 0.
    values = [float(x) for x in re.search(r"\[(.*)\]", done.stdout.splitlines()[-1])[1].split()]
    assert values == pytest.approx([1.05 * 1.67, 1.05, 1.05, 1.05, 1.05], rel=1e-6)


def test_linked_files_exist():
    root = Path(__file__).resolve().parent.parent
    for text, folder in [(README, root), *((p.read_text(), p.parent) for p in (root / "docs").glob("*.md"))]:
        for link in re.findall(r'\]\(([^)#:"]+)\)', text):
            assert (folder / link).exists(), link


def test_folders_in_the_table_exist():
    root = Path(__file__).resolve().parent.parent
    table = README.split("## Where things are")[1]
    for row in re.findall(r"^\| (`.*?) \|", table, re.M):
        names = re.findall(r"`([^`]+)`", row)
        parent = Path(names[0]).parent
        for name in names:
            assert (root / name).is_dir() or (root / parent / name).is_dir(), name
