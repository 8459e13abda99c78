"""What operations do with sparse operands: the tables that sparsify goes by."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.api.inspecting import eval_shape
from xtrace.api.jit import jit
from xtrace.core import pytree
from xtrace.core.primitive import Primitive
from xtrace.experimental.sparse import bcoo_layouts as layouts
from xtrace.experimental.sparse import bcoo_products as products
from xtrace.experimental.sparse import bcsr
from xtrace.experimental.sparse.bcoo_array import BCOO
from xtrace.experimental.sparse.bcsr import BCSR
from xtrace.experimental.sparse.transform import (
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    call_sparse,
    densifying,
    eval_sparse,
    sparse_rules_bcoo,
    sparse_rules_bcsr,
    spvalues_to_arrays,
)
from xtrace.transforms.call import jit_p
from xtrace.transforms.custom import custom_jvp_call_p, custom_vjp_call_p

#: f(0) = 0: done to the stored elements.
_LINEAR = "conj copy imag neg real"
_ZERO_PRESERVING = (
    "abs asin asinh atan atanh bessel_i1e cbrt convert_element_type erf expm1 log1p reduce_precision sign sin sinh "
    "sqrt square tan tanh"
)
_DENSIFYING = "acos acosh bessel_i0e cos cosh eq exp ge gt le log lt ne xor"


def _primitives(names: str) -> list[Primitive]:
    found = [getattr(lax, f"{name}_p", None) for name in names.split()]
    return [p for p in found if p is not None]


def _with_data(spenv: SparsifyEnv, v: SparsifyValue, data: Any) -> SparsifyValue:
    """The sparse value with other elements."""
    return spenv.sparse(
        v.shape,
        data,
        indices_ref=v.indices_ref,
        indptr_ref=v.indptr_ref,
        indices_sorted=v.indices_sorted,
        unique_indices=v.unique_indices,
    )


def _unique(spenv: SparsifyEnv, v: SparsifyValue) -> SparsifyValue:
    if v.is_dense() or v.unique_indices:
        return v
    arr = spvalues_to_arrays(spenv, v)
    arr = arr.sum_duplicates(nse=arr.nse, remove_zeros=False)
    if isinstance(arr, BCSR):
        arr = BCSR(arr._bufs, shape=arr.shape, indices_sorted=True, unique_indices=True)
    return arrays_to_spvalues(spenv, arr)


def _unary(primitive: Primitive, linear: bool) -> Callable[..., Any]:
    def rule(spenv: SparsifyEnv, v: SparsifyValue, **params: Any) -> Any:
        v = v if linear else _unique(spenv, v)
        return (_with_data(spenv, v, primitive.bind(spenv.data(v), **params)),)

    return rule


for _names, _linear in ((_LINEAR, True), (_ZERO_PRESERVING, False)):
    for _p in _primitives(_names):
        sparse_rules_bcoo[_p] = sparse_rules_bcsr[_p] = _unary(_p, _linear)
densifying.update(_primitives(_DENSIFYING))


def _integer_pow(spenv: SparsifyEnv, v: SparsifyValue, *, y: int, **params: Any) -> Any:
    if y <= 0:
        raise NotImplementedError(
            f"sparse rule for integer_pow with non-positive exponent {y} is not implemented because it would result in "
            "dense output. If this is your intent, use sparse.todense() to convert your argument to a dense array."
        )
    return _unary(lax.integer_pow_p, False)(spenv, v, y=y, **params)


sparse_rules_bcoo[lax.integer_pow_p] = sparse_rules_bcsr[lax.integer_pow_p] = _integer_pow


def _by(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of an operation of one result that `function` does to arrays."""

    def rule(spenv: SparsifyEnv, *values: SparsifyValue, **params: Any) -> Any:
        return arrays_to_spvalues(spenv, [function(*spvalues_to_arrays(spenv, values), **params)])

    return rule


def _named(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """`function` given those of its parameters alone."""
    return lambda *args, **params: function(*args, **{n: params[n] for n in names if n in params})


def _concatenate(function: Callable[..., Any], kind: type) -> Callable[..., Any]:
    def joined(*operands: Any, dimension: int, **_: Any) -> Any:
        if not all([isinstance(x, kind) for x in operands]):
            raise NotImplementedError("concatenation of sparse and dense arrays")
        return function(operands, dimension=dimension)

    return joined


def _stack(broadcast: Callable[..., Any], concatenate: Callable[..., Any]) -> Callable[..., Any]:
    def stacked(*operands: Any, axis: int, **_: Any) -> Any:
        first = operands[0]
        shape = (*first.shape[:axis], 1, *first.shape[axis:])
        dims = [d + (d >= axis) for d in range(first.ndim)]
        return concatenate(*[broadcast(x, shape=shape, broadcast_dimensions=dims) for x in operands], dimension=axis)

    return stacked


def _bcsr_dot(lhs: Any, rhs: Any, **params: Any) -> Any:
    if isinstance(rhs, BCSR) and not isinstance(lhs, (BCOO, BCSR)):
        return products.bcoo_dot_general(lhs, rhs.to_bcoo(), **params)
    return bcsr.bcsr_dot_general(lhs, rhs, **params)


def _gather(operand: Any, starts: Any, **params: Any) -> Any:
    if not isinstance(operand, BCOO) or isinstance(starts, (BCOO, BCSR)):
        raise NotImplementedError("indexing with sparse arrays")
    names = ("dimension_numbers", "slice_sizes", "mode")
    return layouts.bcoo_gather(operand, starts, **{n: params[n] for n in names})


def _dynamic_slice(operand: Any, *starts: Any, **params: Any) -> Any:
    return layouts.bcoo_dynamic_slice(operand, starts, params["slice_sizes"])


_DOT = ("dimension_numbers", "preferred_element_type")
_concatenate_bcoo = _concatenate(layouts.bcoo_concatenate, BCOO)
_concatenate_bcsr = _concatenate(bcsr.bcsr_concatenate, BCSR)
_BCOO: dict[Primitive, Callable[..., Any]] = {
    lax.broadcast_in_dim_p: _named(layouts.bcoo_broadcast_in_dim, "shape", "broadcast_dimensions"),
    lax.concatenate_p: _concatenate_bcoo,
    lax.conv_general_dilated_p: products.bcoo_conv_general_dilated,
    lax.dot_general_p: _named(products.bcoo_dot_general, *_DOT),
    lax.dynamic_slice_p: _dynamic_slice,
    lax.gather_p: _gather,
    lax.reshape_p: _named(layouts.bcoo_reshape, "new_sizes", "dimensions"),
    lax.rev_p: layouts.bcoo_rev,
    lax.slice_p: _named(layouts.bcoo_slice, "start_indices", "limit_indices", "strides"),
    lax.squeeze_p: _named(layouts.bcoo_squeeze, "dimensions"),
    lax.stack_p: _stack(layouts.bcoo_broadcast_in_dim, _concatenate_bcoo),
}
_BCSR: dict[Primitive, Callable[..., Any]] = {
    lax.broadcast_in_dim_p: _named(bcsr.bcsr_broadcast_in_dim, "shape", "broadcast_dimensions"),
    lax.concatenate_p: _concatenate_bcsr,
    lax.dot_general_p: _named(_bcsr_dot, *_DOT),
    lax.stack_p: _stack(bcsr.bcsr_broadcast_in_dim, _concatenate_bcsr),
}
sparse_rules_bcoo.update({p: _by(f) for p, f in _BCOO.items()})
sparse_rules_bcsr.update({p: _by(f) for p, f in _BCSR.items()})


def _transpose(spenv: SparsifyEnv, v: SparsifyValue, *, permutation: Sequence[int]) -> Any:
    """Buffers that stay as they are stay shared."""
    mat = spvalues_to_arrays(spenv, v)
    out = layouts.bcoo_transpose(mat, permutation=permutation)
    n, n_sparse = mat.n_batch, mat.n_sparse
    stays = [p == i for i, p in enumerate(permutation)]
    batch, sparse, dense = all(stays[:n]), all(stays[n : n + n_sparse]), all(stays[n + n_sparse :])
    parts: dict[str, Any] = {}
    parts.update({"data_ref": v.data_ref} if batch and dense else {"data": out.data})
    parts.update({"indices_ref": v.indices_ref} if batch and sparse else {"indices": out.indices})
    flags = {"indices_sorted": out.indices_sorted, "unique_indices": out.unique_indices}
    return (spenv.sparse(out.shape, **parts, **flags),)


def _same_pattern(x: SparsifyValue, y: SparsifyValue) -> bool:
    return x.indices_ref == y.indices_ref and x.shape == y.shape


def _add(spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **_: Any) -> Any:
    if x.is_sparse() and y.is_sparse():
        if x.shape != y.shape:
            raise NotImplementedError("Addition between sparse matrices of different shapes.")
        if _same_pattern(x, y):
            return (_with_data(spenv, x, lax.add(spenv.data(x), spenv.data(y))),)
        a, b = spvalues_to_arrays(spenv, (x, y))
        if (a.n_batch, a.n_dense) != (b.n_batch, b.n_dense):
            raise NotImplementedError("Addition between sparse matrices with different batch/dense dimensions.")
        batch = lax.broadcast_shapes(*[z.shape[: a.n_batch] for m in (a, b) for z in m._bufs])
        data, indices = [
            lax.concatenate([xnp.broadcast_to(z, (*batch, *z.shape[a.n_batch :])) for z in pair], a.n_batch)
            for pair in zip(a._bufs, b._bufs)
        ]
        return (spenv.sparse(x.shape, data, indices),)
    if y.is_sparse():
        x, y = y, x
    if y.shape != tuple(lax.broadcast_shapes(x.shape, y.shape)):
        raise NotImplementedError(
            "Addition between a sparse array X and a dense array Y is not implemented when the output shape is larger "
            "than Y.shape. This is to prevent silent densification of a large sparse array. If this is your intent, "
            "you can explicitly cast the sparse array to a dense matrix."
        )
    a, b = spvalues_to_arrays(spenv, (x, y))
    return (spenv.dense(a.todense() + b),)


def _sub(spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **_: Any) -> Any:
    if not (x.is_sparse() and y.is_sparse()):
        raise NotImplementedError("Subtraction between sparse and dense array.")
    return _add(spenv, x, _with_data(spenv, y, lax.neg(spenv.data(y))))


def _mul(spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **_: Any) -> Any:
    if x.is_sparse() and y.is_sparse():
        if _same_pattern(x, y) and x.unique_indices:
            return (_with_data(spenv, x, lax.mul(spenv.data(x), spenv.data(y))),)
        out = products.bcoo_multiply_sparse(*spvalues_to_arrays(spenv, (x, y)))
        return (spenv.sparse(out.shape, out.data, out.indices),)
    if y.is_sparse():
        x, y = y, x
    return (_with_data(spenv, x, _times(spenv, x, spenv.data(y))),)


def _times(spenv: SparsifyEnv, x: SparsifyValue, factor: Any) -> Any:
    return products.bcoo_multiply_dense(spvalues_to_arrays(spenv, x), factor)


def _div(spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **_: Any) -> Any:
    if y.is_sparse():
        raise NotImplementedError(
            "Division by a sparse array is not implemented because it would result in dense output. If this is your "
            "intent, use sparse.todense() to convert your arguments to a dense array."
        )
    divisor = spenv.data(y)
    mat = spvalues_to_arrays(spenv, x)
    ones = BCOO((xnp.ones_like(mat.data), mat.indices), shape=mat.shape)
    # Each stored element by the element of the divisor that it meets; where it meets none, it is padding.
    met = products.bcoo_multiply_dense(ones, divisor)
    if xnp.ndim(divisor):
        inside = products.bcoo_multiply_dense(ones, xnp.ones_like(divisor))
        met = xnp.where(inside != 0, met, xnp.ones((), met.dtype))
    return (_with_data(spenv, x, lax.div(*xnp.broadcast_arrays(mat.data, met))),)


def _reduce_sum(spenv: SparsifyEnv, v: SparsifyValue, *, axes: Sequence[int], **_: Any) -> Any:
    out = layouts.bcoo_reduce_sum(spvalues_to_arrays(spenv, v), axes=axes)
    if out.shape == ():
        return (spenv.dense(out.data.sum(dtype=out.data.dtype)),)
    return (spenv.sparse(out.shape, out.data, out.indices),)


sparse_rules_bcoo.update(
    {
        lax.transpose_p: _transpose,
        lax.add_p: _add,
        lax.sub_p: _sub,
        lax.mul_p: _mul,
        lax.div_p: _div,
        lax.reduce_sum_p: _reduce_sum,
    }
)

# Operations that hold jaxprs: the public function on the pytrees that sparse arrays are.


def _unflagged(values: Any) -> Any:
    """Sparse arrays of which nothing is known: what is carried keeps its type."""

    def plain(x: Any) -> Any:
        return type(x)(x._bufs, shape=x.shape) if isinstance(x, (BCOO, BCSR)) else x

    return pytree.tree_map(plain, values, is_leaf=lambda x: isinstance(x, (BCOO, BCSR)))


def _jit(spenv: SparsifyEnv, *values: SparsifyValue, jaxpr: Any, name: str = "", **_: Any) -> Any:
    run = jaxpr.memo("sparsified", lambda: jit(lambda *args: call_sparse(jaxpr, args)))
    return arrays_to_spvalues(spenv, run(*spvalues_to_arrays(spenv, values)))


def _while(
    spenv: SparsifyEnv,
    *values: SparsifyValue,
    cond_jaxpr: Any,
    cond_nconsts: int,
    body_jaxpr: Any,
    body_nconsts: int,
    **_: Any,
) -> Any:
    arrays = spvalues_to_arrays(spenv, list(values))
    cond_consts, arrays = arrays[:cond_nconsts], arrays[cond_nconsts:]
    body_consts, init = arrays[:body_nconsts], arrays[body_nconsts:]
    out = lax.while_loop(
        lambda carry: call_sparse(cond_jaxpr, [*cond_consts, *carry])[0],
        lambda carry: _unflagged(call_sparse(body_jaxpr, [*body_consts, *carry])),
        _unflagged(init),
    )
    return arrays_to_spvalues(spenv, out)


def _scan(
    spenv: SparsifyEnv,
    *values: SparsifyValue,
    jaxpr: Any,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: Any,
    **_: Any,
) -> Any:
    if any([v.is_sparse() for v in values[num_consts + num_carry :]]):
        raise NotImplementedError("sparse rule for scan with x values.")
    arrays = spvalues_to_arrays(spenv, list(values))
    consts, rest = arrays[:num_consts], arrays[num_consts:]

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        outs = _unflagged(call_sparse(jaxpr, [*consts, *carry, *x]))
        return outs[:num_carry], outs[num_carry:]

    init, xs = _unflagged(rest[:num_carry]), rest[num_carry:]
    carry, ys = lax.scan(step, init, xs, length=length, reverse=reverse, unroll=unroll)
    return arrays_to_spvalues(spenv, [*carry, *ys])


def _cond(spenv: SparsifyEnv, index: SparsifyValue, *values: SparsifyValue, branches: Any, **_: Any) -> Any:
    operands = spvalues_to_arrays(spenv, list(values))
    funs = [functools.partial(lambda jaxpr, *xs: _unflagged(call_sparse(jaxpr, xs)), b) for b in branches]
    trees = [pytree.tree_structure(eval_shape(f, *operands)) for f in funs]
    names = ["false_fun", "true_fun"] if len(funs) == 2 else [f"branch {i}" for i in range(len(funs))]
    for name, tree in zip(names, trees):
        if tree != trees[-1]:
            raise TypeError(
                f"sparsified {names[-1]} output must have same type structure as sparsified {name} output, "
                f"got {trees[-1]} and {tree}."
            )
    return arrays_to_spvalues(spenv, lax.switch(spenv.data(index), funs, *operands))


def _custom(spenv: SparsifyEnv, *values: SparsifyValue, call_jaxpr: Any, **_: Any) -> Any:
    return eval_sparse(call_jaxpr, call_jaxpr.consts, values, spenv)


_STRUCTURED = {
    jit_p: _jit, lax.while_p: _while, lax.scan_p: _scan, lax.cond_p: _cond,
    custom_jvp_call_p: _custom, custom_vjp_call_p: _custom,
}  # fmt: skip
sparse_rules_bcoo.update(_STRUCTURED)
sparse_rules_bcsr.update(_STRUCTURED)
