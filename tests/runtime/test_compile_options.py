"""What XLA is told about the place that a program is compiled for."""

from __future__ import annotations

import types

import pytest

import xtrace as xt
from xtrace.runtime import plugins
from xtrace.runtime.compiling import compile_options
from xtrace.runtime.program import Placement
from xtrace.sharding import SingleDeviceSharding


@pytest.fixture
def tools(monkeypatch):
    """A CUDA installation named by the environment."""
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda-of-a-test")
    plugins.cuda_data_dir.cache_clear()
    yield "/opt/cuda-of-a-test"
    plugins.cuda_data_dir.cache_clear()


@pytest.mark.parametrize("platform", ["gpu", "cpu"])
def test_programs_for_cuda_know_where_its_tools_are(tools, platform):
    device = types.SimpleNamespace(id=0, platform=platform)
    options = compile_options(Placement((device,), SingleDeviceSharding(xt.devices()[0]), False))
    found = options.executable_build_options.debug_options.xla_gpu_cuda_data_dir
    assert (found == tools) == (platform == "gpu")
