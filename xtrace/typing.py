"""Types for annotations of programs: what a function on arrays takes and returns."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from xtrace.runtime.array import Array

__all__ = ["Array", "ArrayLike", "DTypeLike"]


@runtime_checkable
class SupportsDType(Protocol):
    """Whatever has a dtype."""

    @property
    def dtype(self) -> np.dtype: ...


#: What functions accept as an array: an Array (or a tracer, which stands for one), a numpy array or scalar, a Python
#: number. No lists: they are refused, since each element would become an operation.
#:
#: >>> import xtrace.typing as xtt
#: >>> [isinstance(x, xtt.ArrayLike) for x in (1.0, [1.0])]
#: [True, False]
ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex

#: What functions accept as a dtype: a name, a scalar or Python type, a numpy dtype, or something that has a dtype.
#: None is not among them.
DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType
