"""From a lowered program to one loaded on devices: by XLA, or from the persistent cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import config
from xtrace.core.host_calls import HostCall
from xtrace.runtime import host_calls, jaxlib_api, plugins


def compile_options(placement: Any, overrides: dict[str, Any] | None = None) -> Any:
    """jaxlib's options for compiling one SPMD program on the placement's devices."""
    n = len(placement.devices)
    options = jaxlib_api.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = n
    build = options.executable_build_options
    build.num_replicas = 1
    build.num_partitions = n
    build.use_spmd_partitioning = n > 1
    build.use_shardy_partitioner = True
    ids = np.array([[d.id for d in placement.devices]], dtype=np.int32)
    assignment = jaxlib_api.DeviceAssignment.create(ids)
    options.device_assignment = assignment
    build.device_assignment = assignment
    if placement.devices[0].platform in ("gpu", "cuda"):
        tools = plugins.cuda_data_dir()
        if tools is not None:
            build.debug_options.xla_gpu_cuda_data_dir = tools
    if overrides:
        options.env_option_overrides = [(k, v if isinstance(v, bool) else str(v)) for k, v in overrides.items()]
    return options


def options_for(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    overrides: dict[str, Any] | None = None,
    fdo_profile: bytes | None = None,
) -> Any:
    """jaxlib's options for a program in so many copies and parts, on devices given by their ids."""
    options = jaxlib_api.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = num_replicas
    options.num_partitions = build.num_partitions = num_partitions
    build.use_spmd_partitioning = num_partitions > 1
    build.use_shardy_partitioner = True
    if fdo_profile:
        build.fdo_profile = fdo_profile
    if device_assignment is not None:
        ids = np.asarray(device_assignment, np.int32)
        if ids.size != num_replicas * num_partitions:
            raise ValueError(
                f"device_assignment has {ids.size} devices for {num_replicas} replicas of {num_partitions} partitions"
            )
        assignment = jaxlib_api.DeviceAssignment.create(ids.reshape(num_replicas, num_partitions))
        options.device_assignment = build.device_assignment = assignment
    if overrides:
        options.env_option_overrides = [(k, v if isinstance(v, bool) else str(v)) for k, v in overrides.items()]
    return options


def load(program: Any, placement: Any, overrides: dict[str, Any] | None = None) -> Any:
    """The program loaded on the placement's devices (compiled only, where the devices are only described)."""
    client = placement.devices[0].client
    devices = jaxlib_api.DeviceList(placement.devices)
    options = compile_options(placement, overrides)
    if jaxlib_api.is_compile_only(client):
        return client.compile(program.module, devices, options)
    if config.compilation_cache_dir.value and config.enable_compilation_cache.value:
        from xtrace.runtime import cached_programs  # what most processes don't need

        return cached_programs.load(program, placement, overrides, devices, options)
    return compile_and_load(client, program, devices, options)


def compile_and_load(client: Any, program: Any, devices: Any, options: Any) -> Any:
    """Compile with XLA, and hand over the Python functions that the program calls."""
    module = program.module
    calls = [host_calls.for_program(k) for k in program.keepalives if isinstance(k, HostCall)]
    if calls:
        return client.compile_and_load(module, devices, options, calls)
    return client.compile_and_load(module, devices, options)
