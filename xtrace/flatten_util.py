"""Pytrees of arrays as one vector and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from xtrace.core import dtypes
from xtrace.core.pytree import PyTreeDef, keystr, tree_flatten, tree_leaves_with_path

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Lay the arrays of a tree end to end in one vector.

    Args:
      pytree: a tree of arrays and scalars. Different dtypes are promoted to one, as `xtrace.numpy.concatenate` does.

    Returns:
      (vector, unravel): the vector, shape (total size,), and a function from such a vector to a tree of the original
      structure, shapes and dtypes. If the leaves have one dtype, `unravel` takes vectors of any dtype and gives arrays
      of that dtype; if not, the vector must have the promoted one. Two `unravel` functions of equal trees are equal.

    Raises:
      TypeError: a leaf is not an array; `unravel` gets another dtype than the promoted one.
      ValueError: `unravel` gets another shape.

    Example:
      >>> import numpy as np
      >>> from xtrace.flatten_util import ravel_pytree
      >>> vector, unravel = ravel_pytree({"w": np.ones((2, 2), np.float32), "b": np.zeros(1, np.float32)})
      >>> vector
      Array([0., 1., 1., 1., 1.], dtype=float32)
      >>> unravel(vector)["w"].shape
      (2, 2)
    """
    # The libraries load at the first call: this module is imported by name lists that must stay cheap.
    import xtrace.lax as lax
    import xtrace.numpy as jnp

    leaves, treedef = tree_flatten(pytree)
    if not leaves:
        return jnp.zeros(0, dtypes.float32), Unravel(treedef, (), (), None)
    arrays = []
    for index, leaf in enumerate(leaves):
        try:
            arrays.append(jnp.asarray(leaf))
        except (TypeError, ValueError) as error:
            path = tree_leaves_with_path(pytree)[index][0]
            raise TypeError(
                f"ravel_pytree needs arrays and numbers as leaves; the one at {keystr(path) or 'the root'} "
                f"is a {type(leaf).__name__}: {error}"
            ) from None
    shapes = tuple([a.shape for a in arrays])
    kinds = tuple([a.dtype for a in arrays])
    if len(set(kinds)) == 1:
        vector = jnp.concatenate([jnp.ravel(a) for a in arrays])
        return vector, Unravel(treedef, shapes, kinds, None)
    common = dtypes.result_type(*arrays)
    vector = jnp.concatenate([jnp.ravel(lax.convert_element_type(a, common)) for a in arrays])
    return vector, Unravel(treedef, shapes, kinds, common)


class Unravel:
    """The way back from a vector to a tree; equal and hashed by what it does, so that it may be a static argument."""

    __slots__ = ("treedef", "shapes", "dtypes", "vector_dtype", "_ends")

    def __init__(
        self,
        treedef: PyTreeDef,
        shapes: tuple[tuple[int, ...], ...],
        dtypes: tuple[Any, ...],
        vector_dtype: Any | None,
    ) -> None:
        self.treedef = treedef
        self.shapes = shapes
        self.dtypes = dtypes
        self.vector_dtype = vector_dtype  # None: any will do
        self._ends = tuple(itertools.accumulate([math.prod(shape) for shape in shapes]))

    def __call__(self, vector: Any) -> Any:
        import xtrace.lax as lax
        import xtrace.numpy as jnp

        if not self.shapes:
            return self.treedef.unflatten(())
        vector = jnp.asarray(vector)
        size = self._ends[-1]
        if vector.shape != (size,):
            raise ValueError(f"unravel needs a vector of shape ({size},), that of the raveled tree; got {vector.shape}")
        if self.vector_dtype is not None and vector.dtype != self.vector_dtype:
            raise TypeError(
                f"unravel needs a vector of dtype {self.vector_dtype}, to which the leaves' dtypes were promoted; "
                f"got {vector.dtype}. Write unravel(vector.astype({str(self.vector_dtype)!r}))."
            )
        leaves = []
        for start, end, shape, dtype in zip((0, *self._ends[:-1]), self._ends, self.shapes, self.dtypes, strict=True):
            piece = lax.reshape(lax.slice(vector, (start,), (end,)), shape)
            leaves.append(piece if self.vector_dtype is None else lax.convert_element_type(piece, dtype))
        return self.treedef.unflatten(leaves)

    def _key(self) -> tuple[Any, ...]:
        return (self.treedef, self.shapes, self.dtypes, self.vector_dtype)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Unravel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<unravel to {self.treedef}>"
