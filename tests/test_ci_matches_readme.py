"""`.ci/run` runs the command the README shows, and the README leads with its two commands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def readme_commands() -> list[str]:
    blocks = re.findall(r"^```(?:sh|bash)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.startswith("python3 -m venv")]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_ci_runs_the_second_command_of_the_readme():
    printed = subprocess.run([ROOT / ".ci" / "run", "--print"], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == readme_commands()[1]


def test_the_first_command_trains_mnist_and_the_second_tests():
    first, second = readme_commands()
    assert first.endswith("examples/mnist_mlp.py")
    assert second.endswith("-m pytest -n 2 tests")
    assert "[test]" in second


def test_both_commands_need_nothing_installed_by_hand():
    for command in readme_commands():
        environment = command.split("&&")[0].split()[-1]
        ignored = (ROOT / ".gitignore").read_text().split()
        assert ".venv*/" in ignored and environment.startswith(".venv")
        steps = [step.split()[0] for step in command.split("&&")]
        assert steps == ["python3", f"{environment}/bin/pip", f"{environment}/bin/python"]
