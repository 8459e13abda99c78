"""Computations that run elsewhere than the rest of a program (jax.experimental.compute_on)."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from xtrace.core import pytree_prefixes
from xtrace.experimental.xla_metadata import staged
from xtrace.transforms.annotated import compute_on_p
from xtrace.transforms.placement import device_put_p

__all__ = ["compute_on"]


def compute_on(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """A function that runs on the host, on a part of the device, or on a stream of its own.

    Args:
      f: the function; left out: a decorator is returned.
      compute_type: "device_host", "device", "tpu_sparsecore" or "gpu_stream:" and a number.
      out_memory_spaces: in which memory the results lie, a `memory.Space` or a pytree prefix of the result of them.
      compiler_options: of the compiler for there.

    Raises:
      TypeError: compute_type is no string. ValueError: there is no such place.

    >>> import xtrace as xt
    >>> double = compute_on(lambda x: 2 * x, compute_type="device_host", out_memory_spaces=xt.memory.Space.Device)
    >>> '_xla_compute_type = "host"' in xt.jit(double).lower(1.0).as_text()
    True
    """
    if f is None:
        return functools.partial(
            compute_on,
            compute_type=compute_type,
            out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )
    if not isinstance(compute_type, str):
        raise TypeError(f"`compute_on`'s compute_type argument must be a string, got {compute_type!r}")
    stream = compute_type.removeprefix("gpu_stream:")
    if compute_type not in ("device_host", "device", "tpu_sparsecore") and stream == compute_type:
        raise ValueError(
            f"Invalid compute type {compute_type}: it is 'device_host', 'device', 'tpu_sparsecore' or 'gpu_stream:#'"
        )
    options = None if compiler_options is None else json.dumps(dict(compiler_options))
    fun = f

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        jaxpr, operands, tree = staged(fun, "compute_on", args, kwargs)
        outs = compute_on_p.bind(*operands, jaxpr=jaxpr, compute_type=compute_type, compiler_options_json=options)
        spaces = pytree_prefixes.flatten_prefix(out_memory_spaces, tree, "compute_on out_memory_spaces")
        return tree.unflatten([device_put_p.bind(out, device=space) for out, space in zip(outs, spaces)])

    return wrapped
