"""GPU models: what XLA needs to know of a GPU to compile for it while it isn't there.

The numbers are nominal: the vendor's data sheets (multiprocessors, clock, memory) and the limits that the CUDA
programming guide gives per compute capability. They steer the compiler's choices; they aren't read off devices.
"""

from __future__ import annotations

from typing import NamedTuple


class Gpu(NamedTuple):
    """One GPU model."""

    description: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    lanes_per_multiprocessor: int
    clock_ghz: float
    memory_bytes: int
    memory_bandwidth: int  # bytes per second
    l2_bytes: int
    shared_memory_per_multiprocessor: int
    threads_per_multiprocessor: int = 2048


GPUS: dict[str, Gpu] = {
    "v100": Gpu("Tesla V100-SXM2-16GB", (7, 0), 80, 64, 1.53, 16 << 30, 900 * 10**9, 6 << 20, 96 << 10),
    "t4": Gpu("Tesla T4", (7, 5), 40, 64, 1.59, 16 << 30, 320 * 10**9, 4 << 20, 64 << 10, 1024),
    "a100": Gpu("NVIDIA A100-SXM4-80GB", (8, 0), 108, 64, 1.41, 80 << 30, 2039 * 10**9, 40 << 20, 164 << 10),
    "a10": Gpu("NVIDIA A10", (8, 6), 72, 128, 1.695, 24 << 30, 600 * 10**9, 6 << 20, 100 << 10, 1536),
    "l4": Gpu("NVIDIA L4", (8, 9), 58, 128, 2.04, 24 << 30, 300 * 10**9, 48 << 20, 100 << 10, 1536),
    "l40s": Gpu("NVIDIA L40S", (8, 9), 142, 128, 2.52, 48 << 30, 864 * 10**9, 96 << 20, 100 << 10, 1536),
    "h100": Gpu("NVIDIA H100 80GB HBM3", (9, 0), 132, 128, 1.98, 80 << 30, 3352 * 10**9, 50 << 20, 228 << 10),
    "h200": Gpu("NVIDIA H200", (9, 0), 132, 128, 1.98, 141 << 30, 4800 * 10**9, 50 << 20, 228 << 10),
    "b200": Gpu("NVIDIA B200", (10, 0), 148, 128, 1.965, 180 << 30, 8000 * 10**9, 126 << 20, 228 << 10),
}


def names() -> list[str]:
    """The models that can be compiled for."""
    return list(GPUS)


def target_config(name: str, *, cuda: int = 13) -> str:
    """The text-format description of a model that the CUDA plugin takes.

    Raises:
      ValueError: the model isn't in the table.
    """
    gpu = GPUS.get(name.lower())
    if gpu is None:
        raise ValueError(f"unknown GPU {name!r}; known are {', '.join(GPUS)}")
    major, minor = gpu.compute_capability
    return f"""gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {gpu.shared_memory_per_multiprocessor}
  threads_per_core_limit: {gpu.threads_per_multiprocessor}
  core_count: {gpu.multiprocessors}
  fpus_per_core: {gpu.lanes_per_multiprocessor}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {gpu.memory_bandwidth}
  l2_cache_size: {gpu.l2_bytes}
  clock_rate_ghz: {gpu.clock_ghz}
  device_memory_size: {gpu.memory_bytes}
  shared_memory_per_block_optin: {gpu.shared_memory_per_multiprocessor - (0 if major < 8 else 1024)}
  cuda_compute_capability {{ major: {major} minor: {minor} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 1 }}
runtime_version {{ major: {cuda} }}
device_description_str: "{gpu.description}"
"""
