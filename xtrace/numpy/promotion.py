"""Operands of numpy-level functions: what counts as an array, and promotion of dtypes and ranks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import config, dtypes
from xtrace.core.primitive import check_int_range, shaped
from xtrace.core.trace import Tracer
from xtrace.lax import shapes
from xtrace.runtime.jaxlib_api import ArrayImpl

#: Types taken as they are; anything else is asked for `__jax_array__`, or refused.
ARRAY_TYPES = (ArrayImpl, Tracer, np.ndarray, np.generic, bool, int, float, complex)


def check_arraylike(name: str, *args: Any) -> None:
    """Raise TypeError unless every argument is an array, a number or a tracer (lists and tuples are not)."""
    for i, x in enumerate(args):
        if not isinstance(x, ARRAY_TYPES) and not hasattr(x, "__jax_array__") and not hasattr(x, "aval"):
            hint = " Convert it with numpy.asarray(...)." if isinstance(x, (list, tuple)) else ""
            raise TypeError(f"{name} requires ndarray or scalar arguments, got {type(x)} at position {i}.{hint}")


def operand(x: Any) -> Any:
    """`x` with `__jax_array__` resolved, and Python ints checked against the default integer type."""
    if isinstance(x, (ArrayImpl, Tracer)):
        return x
    if type(x) is int:
        check_int_range(x)
        return x
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return convert()
    return x


def promote_dtypes(*args: Any) -> list[Any]:
    """Arguments converted to their common dtype and weak type."""
    if len(args) < 2:
        (x,) = args
        dtype, weak = dtypes.of_value(x)
        return [shapes.convert(x, dtype, weak)]
    dtype, weak = dtypes.promote(tuple([dtypes.of_value(a) for a in args]))
    return [shapes.convert(a, dtype, weak) for a in args]


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Arguments converted to their common inexact dtype: integers become floats."""
    dtype, weak = dtypes.promote(tuple([dtypes.of_value(a) for a in args]))
    dtype = dtypes.canonicalize(dtypes.to_inexact(dtype))
    return [shapes.convert(a, dtype, weak) for a in args]


def promote_shapes(name: str, *args: Any) -> list[Any]:
    """Arguments of lower rank get leading dimensions of size 1; scalars stay scalars."""
    found = [shaped(a).shape for a in args]
    ranks = {len(s) for s in found if s}
    if len(ranks) <= 1:
        return list(args)
    rank = max(ranks)
    mode = config.numpy_rank_promotion.value
    if mode != "allow":
        message = f"Operands could not be broadcast together for {name} on shapes {' '.join(map(str, found))} and with the config option numpy_rank_promotion={mode!r}: give the smaller array explicit dimensions of size 1."
        if mode == "raise":
            raise ValueError(message)
        warnings.warn(message, stacklevel=3)
    return [
        shapes.broadcast_in_dim(a, (1,) * (rank - len(s)) + s, range(rank - len(s), rank)) if s and len(s) < rank else a
        for a, s in zip(args, found)
    ]


def promote_args(name: str, *args: Any) -> list[Any]:
    """Check, promote dtypes and ranks."""
    check_arraylike(name, *args)
    return promote_shapes(name, *promote_dtypes(*map(operand, args)))


def promote_args_inexact(name: str, *args: Any) -> list[Any]:
    """Check, promote dtypes to an inexact one, and ranks."""
    check_arraylike(name, *args)
    return promote_shapes(name, *promote_dtypes_inexact(*map(operand, args)))


__all__ = [
    "ARRAY_TYPES", "Sequence", "check_arraylike", "operand", "promote_args", "promote_args_inexact", "promote_dtypes",
    "promote_dtypes_inexact", "promote_shapes",
]  # fmt: skip
