"""Functions of all formats: conversion to dense arrays, empty arrays, identity matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace import numpy as xnp
from xtrace.api.autodiff import linear_transpose
from xtrace.api.batching import vmap
from xtrace.api.struct import ShapeDtypeStruct
from xtrace.core import pytree, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive
from xtrace.experimental.sparse._base import JAXSparse
from xtrace.experimental.sparse.bcoo_array import BCOO
from xtrace.experimental.sparse.bcsr import BCSR
from xtrace.experimental.sparse.coo import COO
from xtrace.experimental.sparse.csr import CSC, CSR
from xtrace.experimental.sparse.transform import (
    sparse_rules_bcoo,
    sparse_rules_bcsr,
    spvalues_to_arrays,
)
from xtrace.transforms.zeros import Zero, zero_tangent

_FORMATS: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


# A primitive, since sparsify has to see it: `todense(x)` of what is dense in the traced function, but sparse when the
# rules are applied. To everything else it is what it is made of.


def _dense(*bufs: Any, tree: Any) -> Any:
    arr = pytree.tree_unflatten(tree, bufs)
    return arr.todense() if isinstance(arr, JAXSparse) else xnp.asarray(arr)


def _todense_aval(*avals: Any, tree: Any) -> ShapedArray:
    arr = pytree.tree_unflatten(tree, avals)
    if isinstance(arr, JAXSparse):
        return ShapedArray(arr.shape, avals[0].dtype, avals[0].weak_type)
    return arr


def _todense_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, tree: Any) -> Any:
    out = todense_p.bind(*primals, tree=tree)
    if type(tangents[0]) is Zero:
        return out, zero_tangent(out)
    return out, todense_p.bind(tangents[0], *primals[1:], tree=tree)


def _todense_transpose(ct: Any, data: Any, *rest: Any, tree: Any) -> Any:
    like = ShapeDtypeStruct(data.aval.shape, data.aval.dtype)
    (out,) = linear_transpose(lambda d: _dense(d, *rest, tree=tree), like)(ct)
    return [out, *[None] * len(rest)]


def _todense_batch(axis: Any, args: Any, dims: Any, *, tree: Any) -> Any:
    return vmap(lambda *bufs: _dense(*bufs, tree=tree), tuple(dims))(*args), 0


def _todense_lower(ctx: Any, eqn: Any, *operands: Any) -> Any:
    tree = eqn.params["tree"]
    return ctx.inline(lambda *bufs: _dense(*bufs, tree=tree), [v.aval for v in eqn.invars], *operands)[0]


todense_p = Primitive("todense", _todense_aval)
todense_p.jvp = _todense_jvp
todense_p.transpose = _todense_transpose
todense_p.batch = _todense_batch
todense_p.lower = _todense_lower


def _todense_rule(spenv: Any, value: Any, *, tree: Any) -> Any:
    return (spenv.dense(spvalues_to_arrays(spenv, value).todense()),)


sparse_rules_bcoo[todense_p] = sparse_rules_bcsr[todense_p] = _todense_rule


def todense(arr: Any) -> Any:
    """Make a dense array of a sparse one; dense arrays stay as they are.

    Args:
      arr: an array or sparse array.

    Returns:
      an array.

    >>> from xtrace.experimental import sparse
    >>> sparse.todense(sparse.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    bufs, tree = pytree.tree_flatten(arr)
    return todense_p.bind(*bufs, tree=tree)


def _format(name: str, formats: Sequence[str]) -> Any:
    if name not in formats:
        raise ValueError(f"sparse_format={name!r} not recognized; must be one of {list(formats)}")
    return _FORMATS[name]


def empty(
    shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo", **kwds: Any
) -> JAXSparse:
    """A sparse array of zeros.

    Args:
      shape: its shape.
      dtype: its dtype; None: the default float.
      index_dtype: the dtype of its indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      kwds: n_batch, n_dense and nse of batched formats.

    Returns:
      a sparse array.

    Raises:
      ValueError: the format is unknown, or doesn't fit the shape.

    >>> from xtrace.experimental import sparse
    >>> sparse.empty((3, 4))
    BCOO(float32[3, 4], nse=0)
    """
    cls = _format(sparse_format, tuple(_FORMATS))
    return cls._empty(statics.integers(shape, "shape"), dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:
    """A sparse matrix with ones on a diagonal.

    Args:
      N: the number of rows.
      M: the number of columns; None: as many.
      k: which diagonal: 0 is the main one, positive ones are above.
      dtype: its dtype; None: the default float.
      index_dtype: the dtype of its indices.
      sparse_format: "bcoo", "coo", "csr" or "csc".
      kwds: n_batch and n_dense of the format bcoo.

    Returns:
      a sparse matrix.

    >>> from xtrace.experimental import sparse
    >>> sparse.eye(2, 3, 1).indices.tolist()
    [[0, 1], [1, 2]]
    """
    cls = _format(sparse_format, ("bcoo", "coo", "csr", "csc"))
    rows, k = statics.integer(N, "N"), statics.integer(k, "k")
    columns = rows if M is None else statics.integer(M, "M")
    return cls._eye(N=rows, M=columns, k=k, dtype=dtype, index_dtype=index_dtype, **kwds)
