"""What is known of a value without computing: shape, size, whether it is complex, a scalar, iterable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.numpy.arguments import as_array, canonical_axes

iterable = np.iterable


def shape(a: Any) -> tuple[int, ...]:
    """The size of each dimension of an array, a number, or nested lists of them.

    Args:
      a: array, number, or nested lists of them.

    Returns:
      A tuple of ints.

    >>> import xtrace.numpy as xnp
    >>> xnp.shape([[1, 2, 3]])
    (1, 3)
    """
    found = getattr(a, "shape", None)
    return found if type(found) is tuple else np.shape(a)


def ndim(a: Any) -> int:
    """The number of dimensions of an array, a number, or nested lists of them.

    Args:
      a: array, number, or nested lists of them.

    Returns:
      The number.

    >>> import xtrace.numpy as xnp
    >>> xnp.ndim([[1, 2, 3]])
    2
    """
    return len(shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of an array, altogether or along axes.

    Args:
      a: array, number, or nested lists of them.
      axis: axis or axes; None: all.

    Returns:
      The number.

    >>> import xtrace.numpy as xnp
    >>> xnp.size(xnp.ones((2, 3, 4)), (0, 2))
    8
    """
    sizes = shape(a)
    count = 1
    for i in range(len(sizes)) if axis is None else canonical_axes(axis, len(sizes)):
        count *= sizes[i]
    return count


def isscalar(element: Any) -> bool:
    """Whether a value is a number, a string, or an array without dimensions.

    Args:
      element: any value.

    Returns:
      True or False.

    >>> import xtrace.numpy as xnp
    >>> xnp.isscalar(xnp.array(1.0)), xnp.isscalar([1.0])
    (True, False)
    """
    return np.isscalar(element) or getattr(element, "ndim", None) == 0


def iscomplexobj(x: Any) -> bool:
    """Whether a value has a complex dtype (or is a list with a complex number in it), whatever its values.

    Args:
      x: array, number, or list.

    Returns:
      True or False.

    >>> import xtrace.numpy as xnp
    >>> xnp.iscomplexobj(xnp.array(1.0)), xnp.iscomplexobj(1j)
    (False, True)
    """
    if x is None:
        return False
    dtype = getattr(x, "dtype", None)
    return dtypes.kind(dtype) == "c" if dtype is not None else bool(np.iscomplexobj(x))


def isrealobj(x: Any) -> bool:
    """Whether a value has a dtype that isn't complex.

    Args:
      x: array, number, or list.

    Returns:
      True or False.

    >>> import xtrace.numpy as xnp
    >>> xnp.isrealobj(xnp.array(1.0))
    True
    """
    return not iscomplexobj(x)


def iscomplex(x: Any) -> Any:
    """For each element, whether it has a nonzero imaginary part.

    Args:
      x: array.

    Returns:
      A boolean array.

    >>> import xtrace.numpy as xnp
    >>> xnp.iscomplex(xnp.array([1 + 0j, 2j]))
    Array([False,  True], dtype=bool)
    """
    return _imaginary_is_zero(as_array("iscomplex", x), wanted=False)


def isreal(x: Any) -> Any:
    """For each element, whether its imaginary part is zero.

    Args:
      x: array.

    Returns:
      A boolean array.

    >>> import xtrace.numpy as xnp
    >>> xnp.isreal(xnp.array([1 + 0j, 2j]))
    Array([ True, False], dtype=bool)
    """
    return _imaginary_is_zero(as_array("isreal", x), wanted=True)


@composite(static_argnames=("wanted",))
def _imaginary_is_zero(x: Any, wanted: bool) -> Any:
    if not dtypes.is_complex(x.dtype):
        return lax.full(x.shape, np.bool_(wanted), np.dtype(bool))
    part = lax.imag(x)
    zero = lax.full(x.shape, part.dtype.type(0), part.dtype)
    return lax.eq(part, zero) if wanted else lax.ne(part, zero)


__all__ = ["iscomplex", "iscomplexobj", "isreal", "isrealobj", "isscalar", "iterable", "ndim", "shape", "size"]
