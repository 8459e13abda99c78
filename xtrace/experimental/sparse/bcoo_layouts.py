"""BCOO arrays by other shapes: permutations, layouts, broadcasting, joining, slices, sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.api.batching import vmap
from xtrace.core import statics, warned
from xtrace.experimental.sparse.bcoo_array import (
    BCOO,
    _bcoo_set_nse,
    _bcoo_sum_duplicates,
    _validate_bcoo,
    as_row,
    in_bounds,
    with_dense,
)
from xtrace.experimental.sparse.util import (
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    SparseInfo,
    check_format,
    nfold_vmap,
    split_shape,
)


def _split_permutation(mat: BCOO, permutation: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    if not isinstance(permutation, (tuple, list, np.ndarray)):
        raise TypeError(f"transpose permutation must be a tuple/list/ndarray, got {type(permutation)}.")
    if sorted(permutation) != list(range(mat.ndim)):
        raise TypeError(
            "transpose permutation isn't a permutation of operand dimensions, "
            f"got permutation {permutation} for shape {mat.shape}."
        )
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    batch, sparse, dense = split_shape([int(p) for p in permutation], n_batch, n_sparse)
    if sorted(batch) != list(range(n_batch)):
        raise NotImplementedError(
            "transpose permutation cannot permute batch axes with non-batch axes; "
            f"got permutation {permutation}, with n_batch={n_batch}."
        )
    if dense and min(dense) < n_batch + n_sparse:
        raise NotImplementedError(
            "transpose permutation cannot permute dense axes with non-dense axes; "
            f"got permutation {permutation}, with n_dense={mat.n_dense}."
        )
    return batch, tuple([p - n_batch for p in sparse]), tuple([p - n_batch - n_sparse for p in dense])


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Permute the dimensions of a BCOO array; batch, sparse and dense ones each among themselves.

    Args:
      mat: a BCOO array.
      permutation: for each dimension of the result, which of `mat` it is.

    Returns:
      a BCOO array.

    Raises:
      NotImplementedError: dimensions of different kinds are exchanged.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_transpose(sparse.eye(2, 3), permutation=(1, 0)).shape
    (3, 2)
    """
    check_format(mat, "BCOO", "mat")
    batch, sparse, dense = _split_permutation(mat, permutation)
    n = mat.n_batch
    data = mat.data.transpose((*batch, n, *[n + 1 + d for d in dense]))
    indices = mat.indices.transpose((*batch, n, n + 1))
    moved = sparse != tuple(range(mat.n_sparse))
    if moved:
        indices = indices[..., np.array(sparse, np.int32)]
    return BCOO(
        (data, indices),
        shape=[mat.shape[p] for p in permutation],
        indices_sorted=mat.indices_sorted and not moved,
        unique_indices=mat.unique_indices,
    )


# Layouts.


def _check_layout(mat: BCOO, n_batch: int, n_dense: int, on_inefficient: str | None) -> None:
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"on_inefficient={on_inefficient!r}; expected one of ['error', 'warn', None].")
    if n_batch < 0 or n_dense < 0:
        raise ValueError(f"n_batch and n_dense must be non-negative; got n_batch={n_batch}, n_dense={n_dense}")
    if n_batch + n_dense > mat.ndim:
        raise ValueError(f"sum of n_batch={n_batch} and n_dense={n_dense} cannot be larger than mat.ndim={mat.ndim}.")
    for name, old, new, dims in (
        ("n_dense", mat.n_dense, n_dense, mat.shape[mat.ndim - n_dense : mat.ndim - mat.n_dense]),
        ("n_batch", mat.n_batch, n_batch, mat.shape[mat.n_batch : n_batch]),
    ):
        if new > old and any([d > 1 for d in dims]):
            message = (
                f"For matrix of shape {mat.shape}, increasing {name} from {old} to {new} results in inefficient "
                "storage."
            )
            if on_inefficient == "error":
                raise SparseEfficiencyError(
                    f"{message} To disable this error, set the on_inefficient argument of bcoo_update_layout to "
                    "'warn' or None."
                )
            if on_inefficient == "warn":
                warned.warn(
                    f"{message} To disable this warning, set the on_inefficient argument of bcoo_update_layout to "
                    "None.",
                    SparseEfficiencyWarning,
                )


def bcoo_update_layout(
    mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
) -> BCOO:
    """The same array with other numbers of batch and dense dimensions.

    Args:
      mat: a BCOO array.
      n_batch: the number of batch dimensions; None: as it is.
      n_dense: the number of dense dimensions; None: as it is.
      on_inefficient: what to do where a dimension of more than one element would have to be stored whole: "error",
        "warn", or None.

    Returns:
      a BCOO array.

    Raises:
      SparseEfficiencyError: see on_inefficient.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> x = sparse.BCOO.fromdense(xnp.eye(3), n_batch=1)
    >>> sparse.bcoo_update_layout(x, n_batch=0)
    BCOO(float32[3, 3], nse=3)
    """
    check_format(mat, "BCOO", "mat")
    n_batch = mat.n_batch if n_batch is None else statics.integer(n_batch, "n_batch")
    n_dense = mat.n_dense if n_dense is None else statics.integer(n_dense, "n_dense")
    if (n_batch, n_dense) == (mat.n_batch, mat.n_dense):
        return mat
    _check_layout(mat, n_batch, n_dense, on_inefficient)
    bufs = mat._bufs
    at_batch, at_dense = mat.n_batch, mat.n_dense
    if n_dense < at_dense:
        bufs = nfold_vmap(lambda d, i: _dense_to_sparse(d, i, at_dense - n_dense), at_batch)(*bufs)
        at_dense = n_dense
    if n_batch < at_batch:
        bufs = nfold_vmap(lambda d, i: _batch_to_sparse(d, i, mat.shape[n_batch:at_batch]), n_batch)(*bufs)
        at_batch = n_batch
    if n_dense > at_dense:
        dense = mat.shape[mat.ndim - n_dense :]
        bufs = nfold_vmap(lambda d, i: _sparse_to_dense(d, i, dense, n_dense - at_dense), at_batch + 1)(*bufs)
    if n_batch > at_batch:
        batch = mat.shape[at_batch:n_batch]
        bufs = nfold_vmap(lambda d, i: _sparse_to_batch(d, i, batch), at_batch)(*bufs)
    return BCOO(bufs, shape=mat.shape)


def _dense_to_sparse(data: Any, indices: Any, n: int) -> tuple[Any, Any]:
    sizes = data.shape[1 : n + 1]
    nse, total = data.shape[0], math.prod(sizes)
    new = np.stack(np.unravel_index(np.arange(total), sizes), axis=-1).astype(indices.dtype)
    indices = xnp.concatenate(
        [
            xnp.broadcast_to(indices[:, None], (nse, total, indices.shape[1])),
            xnp.broadcast_to(new[None], (nse, total, n)),
        ],
        axis=-1,
    )
    return data.reshape(nse * total, *data.shape[n + 1 :]), indices.reshape(nse * total, indices.shape[-1])


def _batch_to_sparse(data: Any, indices: Any, batch: Sequence[int]) -> tuple[Any, Any]:
    n, total = len(batch), math.prod(batch)
    nse = indices.shape[n]
    data = xnp.broadcast_to(data, (*batch, *data.shape[n:]))
    indices = xnp.broadcast_to(indices, (*batch, *indices.shape[n:])).reshape(total, *indices.shape[n:])
    new = np.stack(np.unravel_index(np.arange(total), batch), axis=-1).astype(indices.dtype)
    indices = xnp.concatenate([xnp.broadcast_to(new[:, None], (total, nse, n)), indices], axis=-1)
    return data.reshape(total * nse, *data.shape[n + 1 :]), indices.reshape(total * nse, indices.shape[-1])


def _sparse_to_dense(data: Any, index: Any, dense: Sequence[int], n: int) -> tuple[Any, Any]:
    """Of one stored element: put it into zeros of shape `dense`, at the last `n` components of its index."""
    left = index.shape[0] - n
    where = tuple([index[left + i] for i in range(n)])
    return xnp.zeros(dense, data.dtype).at[where].set(data, mode="drop"), index[:left]


def _sparse_to_batch(data: Any, indices: Any, batch: Sequence[int]) -> tuple[Any, Any]:
    n, nse = len(batch), indices.shape[0]
    where = (*[indices[:, i] for i in range(n)], np.arange(nse))
    out = xnp.zeros((*batch, nse, *data.shape[1:]), data.dtype).at[where].set(data, mode="drop")
    return out, xnp.broadcast_to(indices[:, n:], (*batch, nse, indices.shape[1] - n))


# Shapes.


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """Put the dimensions of a BCOO array among new ones, as lax.broadcast_in_dim does.

    Args:
      mat: a BCOO array.
      shape: the shape of the result.
      broadcast_dimensions: for each dimension of `mat`, which of the result it is. New ones before all sparse ones are
        batch dimensions and may have any size, others must have size 1.
      sharding: has no effect.

    Returns:
      a BCOO array.

    Raises:
      ValueError: dimensions of different kinds would mix.
      NotImplementedError: a new sparse dimension is longer than 1.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_broadcast_in_dim(sparse.eye(2), shape=(5, 2, 2), broadcast_dimensions=(1, 2))
    BCOO(float32[5, 2, 2], nse=2, n_batch=1)
    """
    check_format(mat, "BCOO", "mat")
    dims, shape = statics.integers(broadcast_dimensions, "broadcast_dimensions"), statics.integers(shape, "shape")
    if mat.ndim != len(dims):
        raise ValueError(f"mat.shape={mat.shape} and broadcast_dimensions={dims} must have the same length")
    batch, sparse, dense = split_shape(dims, mat.n_batch, mat.n_sparse)
    if max(batch, default=0) > min(sparse, default=len(shape)):
        raise ValueError("Cannot mix batch and sparse dimensions during broadcast_in_dim")
    if max(sparse, default=0) > min(dense, default=len(shape)):
        raise ValueError("Cannot mix sparse and dense dimensions during broadcast_in_dim")
    n_batch = min((*sparse, *dense), default=len(shape))
    n_dense = len(shape) - min(dense) if dense else 0
    n_sparse = len(shape) - n_batch - n_dense
    if math.prod(mat.shape[mat.n_batch : mat.n_batch + mat.n_sparse]) != math.prod(shape[n_batch : n_batch + n_sparse]):
        raise NotImplementedError("Adding sparse dimensions with lengths != 1")
    data, indices = mat._bufs
    if (n_batch, n_dense) != (mat.n_batch, mat.n_dense) or shape[:n_batch] != mat.shape[: mat.n_batch]:
        data = lax.broadcast_in_dim(
            data,
            (*shape[:n_batch], mat.nse, *shape[n_batch + n_sparse :]),
            (*batch, n_batch, *[d + 1 - n_sparse for d in dense]),
        )
        indices = lax.broadcast_in_dim(
            indices, (*shape[:n_batch], mat.nse, mat.n_sparse), (*batch, n_batch, n_batch + 1)
        )
    if n_sparse != mat.n_sparse:
        old = {d - n_batch: i for i, d in enumerate(sparse)}
        zero = xnp.zeros(indices.shape[:-1], indices.dtype)
        columns = [indices[..., old[i]] if i in old else zero for i in range(n_sparse)]
        indices = xnp.stack(columns, axis=-1) if columns else xnp.zeros((*indices.shape[:-1], 0), indices.dtype)
    return BCOO((data, indices), shape=shape)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Join BCOO arrays along a batch or sparse dimension.

    Args:
      operands: BCOO arrays of one layout, with shapes that differ along the dimension only.
      dimension: the dimension.

    Returns:
      a BCOO array.

    Raises:
      ValueError: the layouts differ.
      NotImplementedError: the dimension is dense.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_concatenate([sparse.eye(2), sparse.eye(2)], dimension=0).indices.tolist()
    [[0, 0], [1, 1], [2, 0], [3, 1]]
    """
    for mat in statics.parts(operands, "operands", "a sequence of BCOO arrays"):
        check_format(mat, "BCOO", "operands")
    dimension = statics.integer(dimension, "dimension")
    operands = list(operands)
    if not operands or not all([isinstance(op, BCOO) for op in operands]):
        raise ValueError(f"bcoo_concatenate: expected operands to be a sequence of BCOO arrays. Got {operands}")
    first = operands[0]
    others = {(op.ndim, op.shape[:dimension], op.shape[dimension + 1 :]) for op in operands}
    if not 0 <= dimension < first.ndim or len(others) > 1:
        raise TypeError(
            f"Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: "
            f"concatenating along dimension {dimension} for shapes {', '.join([str(op.shape) for op in operands])}."
        )
    if len({op.n_dense for op in operands}) > 1:
        raise ValueError("bcoo_concatenate requires inputs to have matching dense dimensions.")
    layouts = {op.n_batch for op in operands}
    if layouts == {0, 1}:  # what x[None] gave a batch dimension, beside what has none
        for n in (1, 0):
            if all([op.shape[0] == 1 for op in operands if op.n_batch != n]):
                operands = [bcoo_update_layout(op, n_batch=n) for op in operands]
                break
        layouts = {op.n_batch for op in operands}
    if len(layouts) != 1:
        raise ValueError("bcoo_concatenate requires inputs to have matching batch dimensions.")
    n_batch, n_sparse = operands[0].n_batch, operands[0].n_sparse

    def batches(x: Any) -> tuple[int, ...]:
        return tuple([s for i, s in enumerate(x.shape[:n_batch]) if i != dimension])

    if len({(batches(op.data), batches(op.indices)) for op in operands}) != 1:
        raise NotImplementedError("concatenation of arrays with broadcasted batch indices")
    shape = list(operands[0].shape)
    shape[dimension] = sum([op.shape[dimension] for op in operands])
    if dimension < n_batch:
        nse = max([op.nse for op in operands])
        operands = [_bcoo_set_nse(op, nse) for op in operands]
        along, bufs = dimension, [op._bufs for op in operands]
        bufs = [
            tuple([xnp.broadcast_to(x, _replaced(x.shape, along, op.shape[along])) for x in op._bufs])
            for op in operands
        ]
    elif dimension < n_batch + n_sparse:
        along, bufs, offset = n_batch, [], 0
        for op in operands:
            step = [offset if n_batch + i == dimension else 0 for i in range(n_sparse)]
            sparse = op.shape[n_batch : n_batch + n_sparse]
            inside = in_bounds(op.indices, sparse)[..., None]
            out = as_row(shape[n_batch : n_batch + n_sparse], op.indices)
            bufs.append((op.data, xnp.where(inside, op.indices + as_row(step, op.indices), out)))
            offset += op.shape[dimension]
    else:
        raise NotImplementedError("Concatenation along dense dimensions.")
    data, indices = [lax.concatenate(xs, along) for xs in zip(*bufs)]
    return BCOO((data, indices), shape=shape)


def _replaced(shape: Sequence[int], i: int, size: int) -> tuple[int, ...]:
    return (*shape[:i], size, *shape[i + 1 :])


def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: Any = None
) -> BCOO:
    """Give a BCOO array another shape; batch, sparse and dense dimensions each among themselves.

    Args:
      mat: a BCOO array.
      new_sizes: the shape.
      dimensions: the order in which the dimensions are read; None: as they are.
      sharding: has no effect.

    Returns:
      a BCOO array.

    Raises:
      ValueError: dimensions of different kinds would mix.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_reshape(sparse.eye(4, 6), new_sizes=(2, 12)).indices.tolist()
    [[0, 0], [0, 7], [1, 2], [1, 9]]
    """
    check_format(mat, "BCOO", "mat")
    new_sizes = statics.integers(new_sizes, "new_sizes")
    if math.prod(new_sizes) != mat.size:
        raise TypeError(f"reshape total size must be unchanged, got new_sizes {new_sizes} for shape {mat.shape}.")
    batch_perm, sparse_perm, dense_perm = _split_permutation(mat, dimensions or tuple(range(mat.ndim)))
    n, nse = mat.n_batch, mat.nse
    batch, sparse, _ = split_shape(mat.shape, n, mat.n_sparse)
    ends = np.cumprod(np.array(new_sizes, np.int64)) if new_sizes else np.zeros(0, np.int64)
    n_batch_elements, n_elements = math.prod(batch), math.prod(batch) * math.prod(sparse)
    if n_batch_elements != 1 and n_batch_elements not in ends:
        raise ValueError(
            "bcoo_reshape: new shape cannot mix batch and sparse dimensions; "
            f"got shape={mat.shape} new_shape={new_sizes} with n_batch={n}"
        )
    if math.prod(sparse) != 1 and n_elements not in ends:
        raise ValueError(
            "bcoo_reshape: new shape cannot mix sparse and dense dimensions; "
            f"got shape={mat.shape} new_shape={new_sizes} with n_dense={mat.n_dense}"
        )
    i, j = [int(ends.searchsorted(e, side="right")) for e in (n_batch_elements, n_elements)]
    new_batch, new_sparse, new_dense = new_sizes[:i], new_sizes[i:j], new_sizes[j:]
    data = xnp.broadcast_to(mat.data, (*batch, *mat.data.shape[n:]))
    data = data.transpose((*batch_perm, n, *[n + 1 + d for d in dense_perm])).reshape(*new_batch, nse, *new_dense)
    indices = xnp.broadcast_to(mat.indices, (*batch, nse, mat.n_sparse))
    indices = indices.transpose((*batch_perm, n, n + 1)).reshape(*new_batch, nse, mat.n_sparse)
    if not new_sparse:
        indices = xnp.zeros((*new_batch, nse, 0), indices.dtype)
    elif sparse:
        inside = in_bounds(indices, sparse)
        total = math.prod(sparse)
        flat = xnp.zeros(indices.shape[:-1], np.int32 if total < 2**31 else np.int64)
        for p in sparse_perm:
            flat = flat * np.array(sparse[p], flat.dtype) + indices[..., p].astype(flat.dtype)
        columns = []
        for size in reversed(new_sparse):
            columns.append(xnp.where(inside, flat % max(size, 1), size))
            flat = flat // max(size, 1)
        indices = xnp.stack(columns[::-1], axis=-1).astype(indices.dtype)
    else:
        indices = xnp.zeros((*new_batch, nse, len(new_sparse)), indices.dtype)
    return BCOO((data, indices), shape=new_sizes)


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """Reverse dimensions of a BCOO array.

    Args:
      operand: a BCOO array.
      dimensions: the dimensions, not negative.

    Returns:
      a BCOO array.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_rev(sparse.eye(2), (0,)).todense().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    check_format(operand, "BCOO", "operand")
    dimensions = statics.integers(dimensions, "dimensions")
    if len(set(dimensions)) != len(dimensions) or not all([0 <= d < operand.ndim for d in dimensions]):
        raise ValueError(
            f"rev dimensions must be unique and within the {operand.ndim} of the operand, got {dimensions}"
        )
    n, n_sparse = operand.n_batch, operand.n_sparse
    data, indices = operand._bufs
    batch = tuple([d for d in dimensions if d < n])
    dense = tuple([d + 1 - n_sparse for d in dimensions if d >= n + n_sparse])
    if batch:
        indices = lax.rev(indices, batch)
    if batch or dense:
        data = lax.rev(data, (*batch, *dense))
    sparse = operand.shape[n : n + n_sparse]
    turned = [n + i in dimensions for i in range(n_sparse)]
    if any(turned):
        last = as_row([s - 1 for s in sparse], indices)
        turn = as_row(turned, indices).astype(bool)
        inside = in_bounds(indices, sparse)[..., None]
        indices = xnp.where(inside, xnp.where(turn, last - indices, indices), as_row(sparse, indices))
    return BCOO((data, indices), shape=operand.shape)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Drop dimensions of size 1 of a BCOO array.

    Args:
      arr: a BCOO array.
      dimensions: the dimensions.

    Returns:
      a BCOO array.

    Raises:
      ValueError: a dimension has another size.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_squeeze(sparse.BCOO.fromdense(xnp.ones((1, 3))), dimensions=(0,))
    BCOO(float32[3], nse=3)
    """
    check_format(arr, "BCOO", "arr")
    dims = {d + (arr.ndim if d < 0 else 0) for d in statics.integers(dimensions, "dimensions")}
    if any([not 0 <= d < arr.ndim or arr.shape[d] != 1 for d in dims]):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, "
            f"got shape={arr.shape} and dimensions={tuple(dimensions)}"
        )
    n, n_sparse = arr.n_batch, arr.n_sparse
    batch = tuple([d for d in dims if d < n])
    dense = tuple([d + 1 - n_sparse for d in dims if d >= n + n_sparse])
    kept = [i for i in range(n_sparse) if n + i not in dims]
    indices = arr.indices
    if len(kept) != n_sparse:
        # What lies out of bounds of a dropped dimension stays padding. (Without sparse dimensions there is none.)
        sparse = arr.shape[n : n + n_sparse]
        inside = in_bounds(indices, sparse)
        data = xnp.where(with_dense(inside, arr.n_dense), arr.data, xnp.zeros((), arr.dtype))
        indices = indices[..., np.array(kept, np.int32)]
        indices = xnp.where(inside[..., None], indices, as_row([sparse[i] for i in kept], indices))
    else:
        data = arr.data
    shape = [s for i, s in enumerate(arr.shape) if i not in dims]
    info = arr._info._replace(shape=tuple(shape))
    return BCOO((lax.squeeze(data, (*batch, *dense)), lax.squeeze(indices, batch)), **info._asdict())


# Parts.


def _kept(data: Any, indices: Any, keep: Any, moved: Any, sizes: Sequence[int], shape: Sequence[int]) -> BCOO:
    """The elements of a slice: those to `keep`, at indices `moved`; others become padding."""
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    indices = xnp.where(keep[..., None], moved, as_row(sizes, indices))
    n_dense = data.ndim - n_batch - 1
    data = xnp.where(with_dense(keep, n_dense), data, xnp.zeros((), data.dtype))
    most = math.prod(sizes)
    if n_sparse and indices.shape[-2] > most:
        data, indices = _bcoo_sum_duplicates(data, indices, spinfo=SparseInfo(tuple(shape)), nse=most)
    return BCOO((data, indices), shape=shape)


def bcoo_slice(
    mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> BCOO:
    """A slice of a BCOO array, as lax.slice takes it.

    Args:
      mat: a BCOO array.
      start_indices: where the slice begins, by dimension.
      limit_indices: where it ends.
      strides: its steps; None: 1.

    Returns:
      a BCOO array that stores no more elements than the slice has.

    Raises:
      ValueError: the slice doesn't lie within the array.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_slice(sparse.eye(4), start_indices=(1, 0), limit_indices=(3, 2)).todense().tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    check_format(mat, "BCOO", "mat")
    if not isinstance(mat, BCOO):
        raise TypeError(f"bcoo_slice: input should be BCOO array, got type(mat)={type(mat)}")
    starts = list(statics.integers(start_indices, "start_indices"))
    limits = list(statics.integers(limit_indices, "limit_indices"))
    steps = [1] * mat.ndim if strides is None else list(statics.integers(strides, "strides"))
    if not len(starts) == len(limits) == len(steps) == mat.ndim:
        raise ValueError(f"bcoo_slice: indices must have size mat.ndim={mat.ndim}")
    if any([s <= 0 for s in steps]):
        raise ValueError(f"strides must be a sequence of positive integers; got {steps}")
    if not all([0 <= a <= b <= s for a, b, s in zip(starts, limits, mat.shape)]):
        raise ValueError(
            f"bcoo_slice: invalid indices. Got start_indices={starts}, limit_indices={limits} and shape={mat.shape}"
        )
    n, n_sparse = mat.n_batch, mat.n_sparse
    whole = [slice(*t) for t in zip(starts, limits, steps)]

    def of_batch(x: Any) -> list[slice]:
        return [slice(None) if x.shape[i] != mat.shape[i] else whole[i] for i in range(n)]

    data = mat.data[(*of_batch(mat.data), slice(None), *whole[n + n_sparse :])]
    indices = mat.indices[tuple(of_batch(mat.indices))]
    shape = [max(0, -(-(b - a) // s)) for a, b, s in zip(starts, limits, steps)]
    if not n_sparse:
        return BCOO((data, indices), shape=shape)
    a, b, s = [as_row(x[n : n + n_sparse], indices) for x in (starts, limits, steps)]
    keep = ((indices >= a) & (indices < b) & ((indices - a) % s == 0)).all(-1)
    return _kept(data, indices, keep, (indices - a) // s, shape[n : n + n_sparse], shape)


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """A slice of a BCOO array at a place that may be traced, as lax.dynamic_slice takes it.

    Args:
      mat: a BCOO array.
      start_indices: where the slice begins, one scalar a dimension; moved so that the slice lies within the array.
      slice_sizes: its shape.

    Returns:
      a BCOO array.

    Raises:
      TypeError: the slice is larger than the array, or there are not as many indices as dimensions.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_dynamic_slice(sparse.eye(4), (1, 0), (2, 2)).todense().tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    check_format(mat, "BCOO", "mat")
    if not isinstance(mat, BCOO):
        raise TypeError(f"bcoo_dynamic_slice: input should be BCOO array, got type(mat)={type(mat)}")
    sizes = statics.integers(slice_sizes, "slice_sizes")
    starts = [xnp.asarray(i) for i in statics.parts(start_indices, "start_indices", "a sequence of integers")]
    if not len(starts) == len(sizes) == mat.ndim:
        raise TypeError(
            f"bcoo_dynamic_slice: start_indices and slice_sizes must have size mat.ndim={mat.ndim}, "
            f"got {len(starts)} and {len(sizes)}"
        )
    if any([i.shape != () or not xnp.issubdtype(i.dtype, np.integer) for i in starts]):
        raise TypeError(f"bcoo_dynamic_slice: start_indices must be integer scalars, got {start_indices}")
    if not all([0 <= s <= d for s, d in zip(sizes, mat.shape)]):
        raise TypeError(
            "slice_sizes must be less than or equal to operand shape, "
            f"got slice_sizes {sizes} for operand shape {mat.shape}"
        )
    n, n_sparse, nse = mat.n_batch, mat.n_sparse, mat.nse
    zero = np.int32(0)

    def of_batch(x: Any) -> tuple[list[Any], list[int]]:
        shared = [x.shape[i] != mat.shape[i] for i in range(n)]
        return (
            [zero if s else starts[i] for i, s in enumerate(shared)],
            [1 if s else sizes[i] for i, s in enumerate(shared)],
        )

    where, extent = of_batch(mat.data)
    data = _dynamic_slice(mat.data, (*where, zero, *starts[n + n_sparse :]), (*extent, nse, *sizes[n + n_sparse :]))
    where, extent = of_batch(mat.indices)
    indices = _dynamic_slice(mat.indices, (*where, zero, zero), (*extent, nse, n_sparse))
    if not n_sparse:
        return BCOO((data, indices), shape=sizes)
    begin = xnp.stack([i.astype(indices.dtype) for i in starts[n : n + n_sparse]])
    begin = begin.reshape((1,) * (n + 1) + (n_sparse,))
    extent, whole = [as_row(x[n : n + n_sparse], indices) for x in (sizes, mat.shape)]
    begin = xnp.where(begin < 0, begin + whole, begin)
    begin = xnp.minimum(xnp.maximum(begin, np.zeros_like(whole)), whole - extent)
    keep = ((indices >= begin) & (indices < begin + extent)).all(-1)
    return _kept(data, indices, keep, indices - begin, sizes[n : n + n_sparse], sizes)


def _dynamic_slice(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    kinds = {np.dtype(i.dtype) for i in starts}
    if len(kinds) > 1:  # one type for all
        common = np.result_type(*kinds)
        starts = [xnp.asarray(i).astype(common) for i in starts]
    return lax.dynamic_slice(x, tuple(starts), tuple(sizes))


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Sum a BCOO array over dimensions.

    Args:
      mat: a BCOO array.
      axes: the dimensions.

    Returns:
      a BCOO array; sums over sparse dimensions are left to the duplicates.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_reduce_sum(sparse.eye(3), axes=(0,)).todense().tolist()
    [1.0, 1.0, 1.0]
    """
    check_format(mat, "BCOO", "mat")
    n, n_sparse, _, nse = _validate_bcoo(mat.data, mat.indices, mat.shape)
    axes = tuple(sorted(set(statics.integers(axes, "axes"))))
    if any([not 0 <= a < mat.ndim for a in axes]):
        raise ValueError(f"bcoo_reduce_sum: axes {axes} out of range for an array of shape {mat.shape}")
    data, indices = mat._bufs
    data = data.sum(tuple([a + 1 - n_sparse for a in axes if a >= n + n_sparse]), dtype=data.dtype)
    if n_sparse:
        inside = in_bounds(indices, mat.shape[n : n + n_sparse])
        data = xnp.where(with_dense(inside, data.ndim - n - 1), data, xnp.zeros((), data.dtype))
    kept = [i for i in range(n_sparse) if n + i not in axes]
    if len(kept) != n_sparse:
        indices = indices[..., np.array(kept, np.int32)]
    summed = [a for a in axes if a < n]
    for a in summed:  # summed batch dimensions become elements: both buffers need them
        data = xnp.broadcast_to(data, _replaced(data.shape, a, mat.shape[a]))
        indices = xnp.broadcast_to(indices, _replaced(indices.shape, a, mat.shape[a]))
    if summed:
        batch = [i for i in range(n) if i not in summed]
        count = nse * math.prod([mat.shape[a] for a in summed])

        def flat(x: Any) -> Any:
            sizes = [x.shape[i] for i in batch]
            return x.transpose((*batch, *summed, *range(n, x.ndim))).reshape(*sizes, count, *x.shape[n + 1 :])

        data, indices = flat(data), flat(indices)
    return BCOO((data, indices), shape=[s for i, s in enumerate(mat.shape) if i not in axes])


def bcoo_gather(
    operand: BCOO,
    start_indices: Any,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> BCOO:
    """Slices of a BCOO array at many places, as lax.gather takes them.

    Args:
      operand: a BCOO array.
      start_indices: where the slices begin, of shape (..., number of indexed dimensions).
      dimension_numbers: a lax.GatherDimensionNumbers.
      slice_sizes: the shape of a slice.
      unique_indices: has no effect, nor have indices_are_sorted and fill_value.
      indices_are_sorted: see there.
      mode: promise_in_bounds, or None: the same.
      fill_value: see there.

    Returns:
      a BCOO array.

    Raises:
      NotImplementedError: another mode.
    """
    check_format(operand, "BCOO", "operand")
    parsed = lax.GatherScatterMode.from_any(mode) if mode is not None else lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if parsed != lax.GatherScatterMode.PROMISE_IN_BOUNDS:
        raise NotImplementedError(f"bcoo_gather: mode={mode} not yet supported.")
    numbers = dimension_numbers
    if getattr(numbers, "operand_batching_dims", ()):
        raise NotImplementedError("bcoo_gather with operand_batching_dims")
    start_indices = xnp.asarray(start_indices)
    places = start_indices.shape[:-1]
    zero = np.zeros((), start_indices.dtype)
    starts: list[Any] = [zero] * operand.ndim
    axes: list[Any] = [None] * operand.ndim
    sizes = list(statics.integers(slice_sizes, "slice_sizes"))
    statics.check_instance(numbers, lax.GatherDimensionNumbers, "dimension_numbers", "GatherDimensionNumbers")
    for i, d in enumerate(numbers.start_index_map):
        starts[d], axes[d] = start_indices[..., i].ravel(), 0

    def one(*where: Any) -> BCOO:
        part = bcoo_dynamic_slice(operand, where, sizes)
        return bcoo_squeeze(part, dimensions=numbers.collapsed_slice_dims)

    if any([a == 0 for a in axes]):
        result = vmap(one, tuple(axes))(*starts)
    else:
        one_slice = one(*starts)
        shape = (math.prod(places), *one_slice.shape)
        result = bcoo_broadcast_in_dim(one_slice, shape=shape, broadcast_dimensions=range(1, len(shape)))
    result = bcoo_reshape(result, new_sizes=(*places, *result.shape[1:]))
    offset = tuple(numbers.offset_dims)
    order = [*[d for d in range(result.ndim) if d not in offset], *offset]  # where the result's dimensions go
    permutation = tuple(np.argsort(order).tolist())
    if permutation != tuple(range(result.ndim)):
        if set(permutation[: result.n_batch]) != set(range(result.n_batch)):
            result = bcoo_update_layout(result, n_batch=0)
        result = bcoo_transpose(result, permutation=permutation)
    return result
