"""Topologies: describe hardware that isn't there and compile for it."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

from xtrace.runtime import gpu_targets, jaxlib_api, plugins

#: Names that libtpu takes, with the smallest slice of each, for messages.
TPU_EXAMPLES = ("v2:2x2", "v3:2x2", "v4:2x2x1", "v5e:2x2", "v5p:2x2x2", "v6e:2x4", "tpu7x:2x2x1")


@functools.lru_cache(maxsize=64)
def _devices(platform: str, topology: str) -> tuple[Any, ...]:
    c_api = plugins.load(platform)
    if platform == "tpu":
        name, options = topology, {}
        help = f"TPU topologies are written chip:sizes, for example {', '.join(TPU_EXAMPLES)}"
    else:
        name, separator, count = topology.partition(":")
        if separator and not re.fullmatch(r"\d+(x\d+)*", count):
            raise ValueError(f"topology {topology!r}: after the colon comes the number of GPUs, as in 'h100:8'")
        options = {
            "target_config": gpu_targets.target_config(name, cuda=plugins.cuda_major()),
            "topology": f"1x1x{math.prod(map(int, count.split('x'))) if separator else 1}",
        }
        help = f"GPUs are written name or name:count, with a name among {', '.join(gpu_targets.names())}"
    try:
        return tuple(jaxlib_api.compile_only_devices(c_api, name, options))
    except Exception as error:
        raise ValueError(f"the {platform} plugin can't make the topology {topology!r}: {error}\n{help}") from error


def compile_only_devices(platform: str, topology: str) -> list[Any]:
    """Return devices of hardware that need not be present; programs can be compiled for them, not run.

    Args:
      platform: "tpu", or "cuda" (also "gpu").
      topology: for TPU, chip and slice such as "v5e:2x2"; for CUDA, GPU and number such as "h100" or "h100:8".

    Returns:
      The devices; their `client.compile(module, devices, options)` compiles.

    Raises:
      ValueError: the platform or topology is unknown.
      PluginError: the platform's plugin is not installed; the message says what to install.
    """
    platform = {"gpu": "cuda"}.get(platform.lower(), platform.lower())
    if platform not in plugins.PLUGINS:
        raise ValueError(
            f"compile_only_devices knows the platforms {', '.join(plugins.PLUGINS)}; got {platform!r}"
            + (". Programs for cpu are compiled by the cpu backend itself" if platform == "cpu" else "")
        )
    return list(_devices(platform, topology))
