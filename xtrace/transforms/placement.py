"""The device_put primitive: a transfer when run, an annotation inside programs."""

from __future__ import annotations

from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive
from xtrace.transforms.jvp import linear


def _device_put_aval(x: ShapedArray, *, device: Any) -> ShapedArray:
    return x


device_put_p = Primitive("device_put", _device_put_aval)
linear(device_put_p, lambda ct, x, *, device: [device_put_p.bind(ct, device=None)])
device_put_p.batch = lambda axis, args, dims, *, device: (device_put_p.bind(args[0], device=device), dims[0])
