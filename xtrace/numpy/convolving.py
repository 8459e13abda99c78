"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

from xtrace import lax
from xtrace.core import statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy.promotion import promote

_STATIC = ("mode", "precision", "preferred_element_type")


def _slide(name: str, a: Any, v: Any, mode: str, precision: Any, preferred: Any) -> Any:
    """The products of the longer vector with the shorter one, turned round by `convolve`, at every position."""
    a, v = promote(name, (a, v), "inexact" if preferred is None else "", ranks=False)
    left, right = shaped(a).shape, shaped(v).shape
    if len(left) != 1 or len(right) != 1:
        raise ValueError(f"{name}() only support 1-dimensional inputs; got shapes {left} and {right}")
    if not left[0] or not right[0]:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {left} and {right}.")
    correlate = name == "correlate"
    if correlate:
        from xtrace.numpy.elementwise_float import conj

        v = conj(v)
    swapped = left[0] < right[0]
    if swapped:
        a, v = v, a
    n = min(left[0], right[0])
    paddings = {"full": (n - 1, n - 1), "same": (n // 2, n - n // 2 - 1), "valid": (0, 0)}
    if not isinstance(mode, str) or mode not in paddings:
        raise ValueError(f"{name}: mode must be one of {list(paddings)}, got {statics.shown(mode)}")
    padding = paddings[mode]
    v = v if correlate else lax.rev(v, (0,))
    out = lax.conv_general_dilated(
        lax.expand_dims(a, (0, 1)),
        lax.expand_dims(v, (0, 1)),
        (1,),
        [padding],
        precision=precision,
        preferred_element_type=preferred,
    )
    out = lax.squeeze(out, (0, 1))
    return lax.rev(out, (0,)) if correlate and swapped else out


@composite(static_argnames=_STATIC)
def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Convolution of two vectors: out[k] = sum over i of a[i] * v[k - i].

    Args:
      a, v: shapes (n,) and (m,).
      mode: "full": wherever they overlap, n + m - 1 elements; "same": as many as the longer one has, in the middle;
        "valid": where they overlap completely.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.

    Returns:
      A floating vector.

    Raises:
      ValueError: empty operands or of other ranks, an unknown mode.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.convolve(np.array([1, 2, 3]), np.array([1, 1])).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    return _slide("convolve", a, v, mode, precision, preferred_element_type)


@composite(static_argnames=_STATIC)
def correlate(a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Correlation of two vectors: out[k] = sum over i of a[i + k] * conj(v[i]).

    Args:
      a, v: shapes (n,) and (m,).
      mode: "full": wherever they overlap, n + m - 1 elements; "same": as many as the longer one has, in the middle;
        "valid": where they overlap completely.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.

    Returns:
      A floating vector.

    Raises:
      ValueError: empty operands or of other ranks, an unknown mode.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.correlate(np.array([1, 2, 3]), np.array([0, 1, 0.5])).tolist()
    [3.5]
    """
    return _slide("correlate", a, v, mode, precision, preferred_element_type)


__all__ = ["convolve", "correlate"]
