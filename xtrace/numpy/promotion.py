"""Operands of numpy-level functions: what counts as an array, and promotion of dtypes and ranks.

What a set of operands needs (conversions, leading dimensions) depends on their avals alone: it is worked out once and
kept as a plan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import config, dtypes, statics, warned
from xtrace.core.primitive import aval_of, check_int_range, shaped
from xtrace.core.trace import Tracer
from xtrace.lax import shapes
from xtrace.runtime.jaxlib_api import ArrayImpl

#: Types taken as they are; anything else is asked for `__jax_array__`, or refused.
ARRAY_TYPES = (ArrayImpl, Tracer, np.ndarray, np.generic, bool, int, float, complex)

_PYTHON_TYPES = frozenset([bool, int, float, complex])
_enable_x64 = config.enable_x64.state
_dtype_promotion = config.numpy_dtype_promotion
_rank_promotion = config.numpy_rank_promotion


def is_arraylike(x: Any) -> bool:
    """Whether `x` is an array, a tracer, a number, or says how it becomes an array."""
    return isinstance(x, ARRAY_TYPES) or hasattr(x, "__jax_array__") or hasattr(x, "aval")


def check_arraylike(name: str, *args: Any) -> None:
    """Raise TypeError unless every argument is an array, a number or a tracer (lists and tuples are not)."""
    for i, x in enumerate(args):
        if not is_arraylike(x):
            hint = " Convert it with numpy.asarray(...)." if isinstance(x, (list, tuple)) else ""
            from xtrace.core.errors import ArgumentError  # only on the way to an error

            raise ArgumentError(f"{name} requires ndarray or scalar arguments, got {type(x)} at position {i}.{hint}")


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


def check_rank_promotion(name: str, found: list[tuple[int, ...]]) -> None:
    """Warn or raise where operands of different ranks meet and `numpy_rank_promotion` says so."""
    mode = _rank_promotion.value
    if mode == "allow":
        return
    message = (
        f"Operands could not be broadcast together for {name} on shapes {' '.join(map(str, found))} and with the "
        f"config option numpy_rank_promotion={mode!r}: give the smaller array explicit dimensions of size 1."
    )
    if mode == "raise":
        raise ValueError(message)
    warned.warn(message)


def check_broadcast(name: str, found: list[tuple[int, ...]]) -> None:
    """Raise ValueError, with the shapes as they were given, where those of different ranks don't broadcast together."""
    rank = max(map(len, found))
    for sizes in zip(*[(1,) * (rank - len(s)) + s for s in found]):
        if len({d for d in sizes if d != 1}) > 1:
            message = f"Incompatible shapes for broadcasting: {name} got shapes={found}."
            raise ValueError(statics.told(message))


def promote_shapes(name: str, *args: Any) -> list[Any]:
    """Arguments of lower rank get leading dimensions of size 1; scalars stay scalars."""
    found = [shaped(a).shape for a in args]
    ranks = {len(s) for s in found if s}
    if len(ranks) <= 1:
        return list(args)
    check_rank_promotion(name, found)
    check_broadcast(name, found)
    rank = max(ranks)
    return [
        shapes.broadcast_in_dim(a, (1,) * (rank - len(s)) + s, range(rank - len(s), rank)) if s and len(s) < rank else a
        for a, s in zip(args, found, strict=True)
    ]


# -- plans -----------------------------------------------------------------------------------------------------------

#: What one operand needs: (dtype and weak type to convert to, or None; parameters of broadcast_in_dim, or None).
_Step = tuple[Any, Any]
_plans: dict[Any, tuple[_Step, ...]] = {}


def _plan(name: str, described: list[Any], to: str, ranks: bool, beside: tuple[int, ...] | None) -> tuple[_Step, ...]:
    """The steps for operands described by their avals, or by their types where they are Python numbers."""
    typed = [
        (dtypes.canonicalize(dtypes.PYTHON_SCALARS[d]), d is not bool) if d in _PYTHON_TYPES else (d.dtype, d.weak_type)
        for d in described
    ]
    given = {d for d, _ in typed}
    if len(given) > 1 and any([isinstance(d, dtypes.ExtendedDtype) for d in given]):
        listed = ", ".join([str(d) for d, _ in typed])
        raise TypeError(
            f"{name} does not accept dtypes {listed}: random keys are no numbers; random.key_data has theirs"
        )
    dtype, weak = dtypes.promote(tuple(typed)) if len(typed) > 1 else typed[0]
    if to == "inexact":
        dtype = dtypes.canonicalize(dtypes.to_inexact(dtype))
    elif to == "numeric" and dtype == dtypes.bool_:
        dtype = dtypes.canonicalize(dtypes.int64)
    found = [() if d in _PYTHON_TYPES else d.shape for d in described]
    rank = max([len(s) for s in found]) if ranks else 0
    if ranks and len({len(s) for s in found if s}) > 1:
        check_rank_promotion(name, found)
        check_broadcast(name, found)
    common = None if beside is None else _common_shape(name, [beside, *found])
    steps: list[_Step] = []
    for d, shape in zip(described, found, strict=True):
        same = d not in _PYTHON_TYPES and d.dtype == dtype and d.weak_type == weak
        missing = rank - len(shape)
        widened = None
        if common is not None and shape != common:
            dims = tuple(range(len(common) - len(shape), len(common)))
            widened = {"shape": common, "broadcast_dimensions": dims, "sharding": None}
            steps.append((None if same else (dtype, weak), widened))
            continue
        if shape and missing > 0:
            widened = {
                "shape": (1,) * missing + shape,
                "broadcast_dimensions": tuple(range(missing, rank)),
                "sharding": None,
            }
        steps.append((None if same else (dtype, weak), widened))
    return tuple(steps)


def _common_shape(name: str, found: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to."""
    rank = max([len(s) for s in found])
    out = []
    for sizes in zip(*[(1,) * (rank - len(s)) + s for s in found], strict=True):
        wide = {d for d in sizes if d != 1}
        if len(wide) > 1:
            raise ValueError(f"{name}: incompatible shapes for broadcasting: {', '.join(map(str, found))}")
        out.append(wide.pop() if wide else 1)
    return tuple(out)


def promote(
    name: str, args: tuple[Any, ...], to: str = "", ranks: bool = True, beside: tuple[int, ...] | None = None
) -> list[Any]:
    """Check that the arguments are arrays or numbers, and bring them to one dtype and rank (scalars stay scalars).

    to: "" for their common dtype; "numeric": bool becomes int; "inexact": bool and integers become floats.
    ranks: False leaves the ranks alone. beside: broadcast all, scalars too, to their common shape with this one.
    """
    values = []
    described = []
    for i, x in enumerate(args):
        kind = type(x)
        aval = getattr(x, "aval", None)
        if aval is None:
            if kind in _PYTHON_TYPES:
                if kind is int:
                    check_int_range(x)
                aval = kind
            elif hasattr(x, "__jax_array__"):
                x = x.__jax_array__()
                aval = shaped(x)
            elif isinstance(x, ARRAY_TYPES):
                aval = aval_of(x)
            else:
                check_arraylike(name, *args[:i], x)
                aval = aval_of(x)
        values.append(x)
        described.append(aval)
    key = (*described, to, ranks, beside, _enable_x64.value, _dtype_promotion.value, _rank_promotion.value)
    steps = _plans.get(key)
    if steps is None:
        steps = _plan(name, described, to, ranks, beside)
        if _rank_promotion.value != "warn":  # a warning comes every time
            if len(_plans) > 10_000:
                _plans.clear()
            _plans[key] = steps
    for i, (converted, widened) in enumerate(steps):
        if converted is not None:
            values[i] = shapes.convert(values[i], *converted)
        if widened is not None:
            values[i] = shapes.broadcast_in_dim_p.bind(values[i], **widened)
    return values


def promote_args(name: str, *args: Any) -> list[Any]:
    """Check, promote dtypes and ranks."""
    return promote(name, args)


def promote_args_numeric(name: str, *args: Any) -> list[Any]:
    """Check, promote dtypes, bool to int, and ranks."""
    return promote(name, args, "numeric")


def promote_args_inexact(name: str, *args: Any) -> list[Any]:
    """Check, promote dtypes to an inexact one, and ranks."""
    return promote(name, args, "inexact")


__all__ = [
    "ARRAY_TYPES", "check_arraylike", "check_rank_promotion", "is_arraylike", "operand", "promote", "promote_args",
    "promote_args_inexact", "promote_args_numeric", "promote_dtypes", "promote_dtypes_inexact", "promote_shapes",
]  # fmt: skip
