"""Functions of sampled curves: linear interpolation and the unwrapping of angles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import composite, dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import shapes
from xtrace.numpy import elementwise as ew
from xtrace.numpy.arguments import canonical_axis
from xtrace.numpy.creation import asarray
from xtrace.numpy.elementwise_logic import where
from xtrace.numpy.elementwise_math import remainder
from xtrace.numpy.promotion import check_arraylike, promote
from xtrace.numpy.scalars import scalar


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Interpolate a curve linearly between samples.

    Args:
      x: where to evaluate, of any shape.
      xp: increasing positions of the samples, shape (n,).
      fp: values of the samples, shape (n,), real or complex.
      left, right: values below xp[0] and above xp[-1]; by default fp[0] and fp[-1]; "extrapolate" continues the line.
      period: the curve repeats after this length; `xp` need not be sorted then, and `left` and `right` are ignored.

    Returns:
      A floating array of the shape of `x`.

    Raises:
      ValueError: `xp` and `fp` aren't of one shape (n,), or `period` is 0.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.interp(xnp.array([0.5, 3.0]), xnp.array([0.0, 1.0, 2.0]), xnp.array([0.0, 10.0, 20.0]))
      Array([ 5., 20.], dtype=float32)
    """
    modes = []
    for name, given in (("left", left), ("right", right)):
        if isinstance(given, str) and given != "extrapolate":
            raise ValueError(f"interp: the only text that `{name}` takes is 'extrapolate', got {given!r}")
        modes.append("default" if given is None else "extrapolate" if isinstance(given, str) else "value")
    numbers = [v for v, m in zip((left, right), modes, strict=True) if m == "value"]
    check_arraylike("interp", x, xp, fp, *numbers)
    if shaped(xp).shape != shaped(fp).shape or shaped(xp).ndim != 1:
        raise ValueError(f"interp: xp and fp must have one shape (n,), got {shaped(xp).shape} and {shaped(fp).shape}")
    if period is not None:
        check_arraylike("interp", period)
        if shaped(period).shape:
            raise ValueError(f"interp: the period must be a scalar, got shape {shaped(period).shape}")
        modes = ["default", "default"]
    return _interp(
        x,
        xp,
        fp,
        *[v if m == "value" else None for v, m in zip((left, right), modes, strict=True)],
        period,
        tuple(modes),
    )


@composite.composite(static_argnames=("modes",))
def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, modes: tuple[str, str]) -> Any:
    from xtrace import numpy as xnp

    x, xp = promote("interp", (x, xp), "inexact", ranks=False)
    (fp,) = promote("interp", (fp,), "inexact")
    x, xp, fp = asarray(x), asarray(xp), asarray(fp)
    if period is not None:
        period = lax.abs(shapes.convert(period, xp.dtype, False))
        x, xp = remainder(x, period), remainder(xp, period)
        xp, fp = lax.sort((xp, fp), num_keys=1)
        xp = lax.concatenate([xp[-1:] - period, xp, xp[:1] + period], 0)
        fp = lax.concatenate([fp[-1:], fp, fp[:1]], 0)
    size = xp.shape[0]
    if size == 1:
        out = lax.full(x.shape, 0, fp.dtype) + fp[0]
    else:
        found = xnp.searchsorted(xp, x, side="right")
        i = lax.clamp(scalar(1, found), found, scalar(size - 1, found))
        f0, x0 = fp[i - 1], xp[i - 1]
        rise, run = fp[i] - f0, xp[i] - x0
        # Samples that coincide: the first of them counts, and nothing is divided by 0.
        flat = lax.abs(run) <= scalar(float(np.spacing(np.finfo(np.float32).eps)), run)
        part = (x - x0) / where(flat, scalar(1, run), run)
        out = where(flat, f0, f0 + part * rise)
    if period is None:
        if modes[0] != "extrapolate":
            out = where(x < xp[0], fp[0] if left is None else left, out)
        if modes[1] != "extrapolate":
            out = where(x > xp[-1], fp[-1] if right is None else right, out)
    return out


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Any:
    """Remove jumps of whole periods from a sequence of angles.

    Args:
      p: real array.
      discont: jumps up to this size are left alone; by default, and at least, half a period.
      axis: along which the angles follow each other.
      period: 2 pi for radians.

    Returns:
      An array like `p`, floating unless `p` and `period` are of integers.

    Raises:
      ValueError: `p` is complex.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.unwrap(xnp.array([0.0, 3.0, -3.0]))
      Array([0.       , 3.       , 3.2831855], dtype=float32)
    """
    check_arraylike("unwrap", p)
    if dtypes.is_complex(dtypes.of_value(p)[0]):
        raise ValueError("unwrap takes real angles; numpy.angle gives those of complex numbers")
    return _unwrap(p, discont, period, canonical_axis(axis, shaped(p).ndim))


@composite.composite(static_argnames=("axis",))
def _unwrap(p: Any, discont: Any, period: Any, axis: int) -> Any:
    p, period = promote("unwrap", (p, period), "", ranks=False)
    p = asarray(p)
    size = p.shape[axis]
    if size < 2:
        return p
    if dtypes.is_integer(p.dtype):
        half, odd = period // 2, remainder(period, 2)
        low, ambiguous = -half, remainder(odd + 1, 2) == 1
    else:
        half = ew.true_divide(period, 2)
        low, ambiguous = -half, np.bool_(True)
    step = lax.slice_in_dim(p, 1, size, axis=axis) - lax.slice_in_dim(p, 0, size - 1, axis=axis)
    turned = remainder(step - low, period) + low
    # A jump of just half a period goes the way that it went.
    turned = where(ew.bitwise_and(ew.bitwise_and(turned == low, step > 0), ambiguous), half, turned)
    if discont is not None:
        check_arraylike("unwrap", discont)
    limit = half if discont is None else discont
    correction = where(lax.abs(step) < limit, 0, turned - step)
    first = lax.slice_in_dim(p, 0, 1, axis=axis)
    rest = lax.slice_in_dim(p, 1, size, axis=axis) + lax.cumsum(correction, axis=axis)
    return lax.concatenate([shapes.convert(first, rest.dtype, False), shapes.convert(rest, rest.dtype, False)], axis)


__all__ = ["interp", "unwrap"]
