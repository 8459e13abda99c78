"""What the formats share: the description of a sparse array, warnings, and functions over batch dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.api.batching import vmap
from xtrace.core import errors, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.core.pytree_nodes import register_pytree_node_class
from xtrace.core.trace import Tracer


class SparseEfficiencyError(ValueError):
    """What was asked for would store a sparse array as if it were dense."""


class SparseEfficiencyWarning(UserWarning):
    """What was asked for stores or computes more than a sparse array should."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A product doesn't run by cuSPARSE. Kept for programs that filter it: nothing here runs by cuSPARSE."""


class SparseInfo(NamedTuple):
    """What is known of a sparse array beside its buffers."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


def split_shape(shape: Sequence[Any], n_batch: int, n_sparse: int) -> tuple[tuple[Any, ...], ...]:
    """The batch, sparse and dense parts of a shape, or of anything else with one item a dimension."""
    items = tuple(shape)
    return items[:n_batch], items[n_batch : n_batch + n_sparse], items[n_batch + n_sparse :]


def buffers(kind: str, names: tuple[str, ...], args: Any) -> list[Any]:
    """The arrays that a sparse array of class `kind` is made of."""
    parts = statics.parts(args, "args", f"({', '.join(names)})")
    if len(parts) != len(names):
        raise ValueError(f"{kind} is made of ({', '.join(names)}), got {len(parts)} values")
    return [xnp.asarray(x) for x in parts]


def check_format(value: Any, kind: str, name: str) -> None:
    """Raise TypeError unless the argument `name` is a sparse array of class `kind`."""
    if kind not in [c.__name__ for c in type(value).__mro__]:
        statics.refuse(name, value, f"a {kind} array")


def concrete_size(value: Any, message: str, name: str = "nse") -> int:
    """`value`, a size, as an int. Raises ConcretizationTypeError for a traced one."""
    if isinstance(value, Tracer) and value.to_concrete_value() is None:
        raise errors.ConcretizationTypeError(value, message, wanted="size of an array")
    if isinstance(value, Tracer):
        value = value.to_concrete_value()
    return statics.integer(value, name)


def broadcasting_vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """`vmap` where mapped axes of size 1 count as of any size, as batch dimensions of sparse arrays may."""

    def batched(*args: Any) -> Any:
        axes = (in_axes,) * len(args) if in_axes is None or isinstance(in_axes, int) else tuple(in_axes)
        sizes = [shaped(x).shape[a] for x, a in zip(args, axes) if a is not None]
        size = next((s for s in sizes if s != 1), 1)
        if any([s not in (1, size) for s in sizes]):
            raise ValueError(f"broadcasting_vmap: mismatched input shapes: mapped axes have the sizes {sizes}")
        if size != 1:
            stretched = [a is not None and shaped(x).shape[a] == 1 for x, a in zip(args, axes)]
            args = tuple([lax.squeeze(x, (a,)) if s else x for x, a, s in zip(args, axes, stretched)])
            axes = tuple([None if s else a for a, s in zip(axes, stretched)])
        return vmap(fun, axes, out_axes)(*args)

    return batched


def nfold_vmap(fun: Callable[..., Any], N: int, *, broadcasted: bool = True, in_axes: Any = 0) -> Callable[..., Any]:  # noqa: N803
    """`fun` mapped over N leading axes, which broadcast against each other."""
    for _ in range(N):
        fun = broadcasting_vmap(fun, in_axes) if broadcasted else vmap(fun, in_axes)
    return fun


def batch_grid(shape: Sequence[int], n_after: int = 1, of: Sequence[int] | None = None) -> tuple[np.ndarray, ...]:
    """Indices of all positions of a batch, to be used together with indices of `n_after` more dimensions.

    Where `of`, the batch dimensions of the array that is indexed, is 1, the index is 0.
    """
    rank = len(shape) + n_after
    of = shape if of is None else of
    return tuple(
        [
            (np.arange(s, dtype=np.int32) if o == s else np.zeros(1, np.int32)).reshape(
                [-1 if d == i else 1 for d in range(rank)]
            )
            for i, (s, o) in enumerate(zip(shape, of))
        ]
    )


def gather_or_zero(x: Any, where: tuple[Any, ...]) -> Any:
    """x at index arrays for its leading dimensions; 0 where they are out of bounds, as all are of an empty array."""
    if 0 in x.shape[: len(where)]:
        shape = np.broadcast_shapes(*[i.shape for i in where])
        return xnp.zeros((*shape, *x.shape[len(where) :]), x.dtype)
    return x.at[where].get(mode="fill", fill_value=0)


def scatter(x: Any, where: tuple[Any, ...], y: Any, kind: str = "add") -> Any:
    """x with `y` added (or set) at index arrays for its leading dimensions; dropped where they are out of bounds."""
    if 0 in x.shape[: len(where)]:
        return x
    return getattr(x.at[where], kind)(y, mode="drop")


def _csr_to_coo(indices: Any, indptr: Any) -> tuple[Any, Any]:
    """The rows and columns of CSR indices. Rows of padding, beyond the last pointer, are out of bounds."""
    position = lax.iota(shaped(indices).dtype, shaped(indices).shape[-1])
    row = xnp.searchsorted(xnp.asarray(indptr), position.astype(shaped(indptr).dtype), side="right") - 1
    return row.astype(shaped(indices).dtype), indices


def _coo_extract(row: Any, col: Any, mat: Any) -> Any:
    """The elements of a dense matrix at rows and columns; 0 out of bounds."""
    return gather_or_zero(xnp.asarray(mat), (row, col))


def _csr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The elements of a dense matrix at CSR indices."""
    return _coo_extract(*_csr_to_coo(indices, indptr), mat)


@composite(static_argnames=("n_batch", "n_dense"))
def _count_stored_elements_per_batch(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    """How many elements have to be stored of each element of the batch."""
    mask = xnp.asarray(mat) != 0
    mask = mask.any(tuple(range(mask.ndim - n_dense, mask.ndim)))
    return mask.sum(tuple(range(n_batch, mask.ndim)))


def _count_stored_elements(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    """How many elements have to be stored of a dense array, at most, in an element of the batch."""
    return _count_stored_elements_per_batch(mat, n_batch, n_dense).max(initial=0)


def validated_dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, preferred_element_type: Any) -> Any:
    """The type (shape, dtype) of the product of two arrays of which `shape` and `dtype` are known; checks them."""
    from xtrace.api.inspecting import eval_shape
    from xtrace.api.struct import ShapeDtypeStruct

    def product(x: Any, y: Any) -> Any:
        return lax.dot_general(x, y, dimension_numbers, preferred_element_type=preferred_element_type)

    return eval_shape(product, ShapeDtypeStruct(lhs.shape, lhs.dtype), ShapeDtypeStruct(rhs.shape, rhs.dtype))


def canonical_dot_dimensions(dimension_numbers: Any) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """`dimension_numbers` of dot_general as tuples of ints."""

    def axes(x: Any) -> Any:
        return x if hasattr(x, "__len__") else (x,)

    try:
        listed = [[axes(x) for x in pair] for pair in dimension_numbers]
    except TypeError:
        listed = dimension_numbers
    return statics.pairs(listed, "dimension_numbers")


def is_sparse(x: Any) -> bool:
    """Whether `x` is a sparse array."""
    from xtrace.experimental.sparse._base import JAXSparse

    return isinstance(x, JAXSparse)


def register(cls: type) -> type:
    """Class decorator: register with the pytrees by its tree_flatten and tree_unflatten."""
    return register_pytree_node_class(cls)
