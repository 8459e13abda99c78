"""Runs the files *_cases.py in a process with eight CPU devices: the number is fixed when the client is made."""

import os
import pathlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("variable", ["XTRACE_NUM_CPU_DEVICES=8", "XLA_FLAGS=--xla_force_host_platform_device_count=8"])
def test_eight_devices(variable):
    name, _, value = variable.partition("=")
    environment = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "XTRACE_NUM_CPU_DEVICES")}
    environment |= {name: value, "XTRACE_PLATFORMS": "cpu"}
    cases = sorted(map(str, pathlib.Path(__file__).parent.glob("*_cases.py")))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *cases]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
