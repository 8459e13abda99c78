"""What all sparse arrays have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xtrace.core import statics
from xtrace.core.trace import Tracer


class JAXSparse:
    """Base class of the sparse arrays. They are pytrees of their buffers; `data` comes first.

    Args:
      args: the buffers.
      shape: the shape of the array they stand for.
    """

    data: Any
    shape: tuple[int, ...]

    __hash__ = None  # type: ignore[assignment]
    # NumPy arrays and arrays of this library leave `dense @ sparse` and its like to the methods below.
    __array_priority__ = 2000
    __array_ufunc__ = None

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]) -> None:
        self.shape = statics.integers(shape, "shape")

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of specified elements (in each element of the batch)."""
        return self.data.size

    @property
    def size(self) -> int:
        """The number of elements of the dense array."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions of the dense array."""
        return len(self.shape)

    @property
    def T(self) -> Any:  # noqa: N802
        """The transposed array."""
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    def _description(self) -> dict[str, int]:
        return {"nse": self.nse}

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            details = ", ".join(f"{k}={v}" for k, v in self._description().items())
            text = f"{name}({self.dtype}{list(self.shape)}, {details})"
        except Exception:  # buffers that don't fit together, while someone looks for what is wrong with them
            text = f"{name}(<invalid>)"
        return f"{_tracer_name(self.data)}[{text}]" if isinstance(self.data, Tracer) else text

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        raise NotImplementedError(f"{type(self)}.tree_flatten")

    def transpose(self, axes: Any = None) -> Any:
        raise NotImplementedError(f"{type(self)}.transpose")

    def todense(self) -> Any:
        raise NotImplementedError(f"{type(self)}.todense")

    def block_until_ready(self) -> Any:
        """Wait for the buffers; return the array itself."""
        for x in self.tree_flatten()[0]:
            x.block_until_ready()
        return self


def _tracer_name(tracer: Tracer) -> str:
    name = type(tracer).__name__
    return {"StagedTracer": "DynamicJaxprTracer"}.get(name, name)


def _refuse(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self)}.{name}")

    method.__name__ = name
    return method


#: What not all kinds of sparse arrays have.
for _name in (
    "sum __neg__ __pos__ __matmul__ __rmatmul__ __mul__ __rmul__ __add__ __radd__ __sub__ __rsub__ __getitem__"
).split():
    setattr(JAXSparse, _name, _refuse(_name))
