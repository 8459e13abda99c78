"""sparsify: functions of dense arrays applied to sparse ones, operation by operation.

The function is traced as if all arrays were dense (or run with tracers, `use_tracer=True`); each operation with a
sparse operand is done by its rule, others as they are. Values are named by the buffers they are made of
(`SparsifyValue`), so that rules see which arrays share their indices.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace import numpy as xnp
from xtrace.core import pytree
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, Literal
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import Trace, Tracer, current, use_trace
from xtrace.experimental.sparse.bcoo_array import BCOO
from xtrace.experimental.sparse.bcsr import BCSR
from xtrace.transforms.staging import trace_to_jaxpr

#: Which buffer of an environment, if any.
Number = int | None


class SparsifyValue(NamedTuple):
    """A dense or sparse array, by the numbers of its buffers in a SparsifyEnv."""

    shape: tuple[int, ...]
    data_ref: Number
    indices_ref: Number = None  # of coordinates, or of columns
    indptr_ref: Number = None
    indices_sorted: bool = False
    unique_indices: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def is_sparse(self) -> bool:
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        return self.is_sparse() and self.indptr_ref is not None


class SparsifyEnv:
    """The buffers that SparsifyValues are made of; sparse values may share some."""

    def __init__(self, bufs: Sequence[Any] = ()) -> None:
        self._buffers = list(bufs)

    def _push(self, x: Any) -> int:
        # Python numbers stay numbers: they don't decide dtypes.
        self._buffers.append(x if isinstance(x, (bool, int, float, complex)) else xnp.asarray(x))
        return len(self._buffers) - 1

    def data(self, value: SparsifyValue) -> Any:
        """The buffer of elements."""
        return self._buffers[value.data_ref]  # type: ignore[index]

    def indices(self, value: SparsifyValue) -> Any:
        """The buffer of indices."""
        return self._buffers[value.indices_ref]  # type: ignore[index]

    def indptr(self, value: SparsifyValue) -> Any:
        """The buffer of row pointers, of the format BCSR."""
        return self._buffers[value.indptr_ref]  # type: ignore[index]

    def dense(self, data: Any) -> SparsifyValue:
        """A new dense value."""
        return SparsifyValue(np.shape(data), self._push(data))

    def sparse(
        self,
        shape: Sequence[int],
        data: Any = None,
        indices: Any = None,
        indptr: Any = None,
        *,
        data_ref: int | None = None,
        indices_ref: int | None = None,
        indptr_ref: int | None = None,
        indices_sorted: bool | None = False,
        unique_indices: bool | None = False,
    ) -> SparsifyValue:
        """A new sparse value, of new buffers or of those with given numbers."""
        data_ref = data_ref if data is None else self._push(data)
        indices_ref = indices_ref if indices is None else self._push(indices)
        indptr_ref = indptr_ref if indptr is None else self._push(indptr)
        return SparsifyValue(tuple(shape), data_ref, indices_ref, indptr_ref, indices_sorted, unique_indices)


def _is_array(x: Any) -> bool:
    return isinstance(x, (BCOO, BCSR))


def _is_value(x: Any) -> bool:
    return isinstance(x, SparsifyValue)


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """Put the arrays of a pytree into an environment; the same pytree of SparsifyValues."""

    def value(x: Any) -> SparsifyValue:
        if _is_array(x):
            flags = {"indices_sorted": x.indices_sorted, "unique_indices": x.unique_indices}
            return spenv.sparse(x.shape, *x._bufs, **flags)
        return spenv.dense(x)

    return pytree.tree_map(value, args, is_leaf=_is_array)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The arrays that the SparsifyValues of a pytree stand for."""

    def array(v: SparsifyValue) -> Any:
        if v.is_dense():
            return spenv.data(v)
        flags = {"indices_sorted": v.indices_sorted, "unique_indices": v.unique_indices}
        if v.is_bcoo():
            return BCOO((spenv.data(v), spenv.indices(v)), shape=v.shape, **flags)
        return BCSR((spenv.data(v), spenv.indices(v), spenv.indptr(v)), shape=v.shape, **flags)

    return pytree.tree_map(array, spvalues, is_leaf=_is_value)


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The types of the dense arrays that the SparsifyValues of a pytree stand for."""

    def aval(v: SparsifyValue) -> ShapedArray:
        data = shaped(spenv.data(v))
        return ShapedArray(v.shape, data.dtype, data.weak_type)

    return pytree.tree_map(aval, spvalues, is_leaf=_is_value)


#: Primitive -> (spenv, *spvalues, **params) -> SparsifyValues of the results: see sparsify_rules.
sparse_rules_bcoo: dict[Primitive, Callable[..., Sequence[SparsifyValue]]] = {}
sparse_rules_bcsr: dict[Primitive, Callable[..., Sequence[SparsifyValue]]] = {}
#: Those whose results would not be sparse.
densifying: set[Primitive] = set()


def _rule(primitive: Primitive, values: Sequence[SparsifyValue]) -> Callable[..., Sequence[SparsifyValue]] | None:
    """The rule for an operation on `values`; None if all are dense."""
    kinds = [v.is_bcsr() for v in values if v.is_sparse()]
    if not kinds:
        return None
    rule = (sparse_rules_bcsr if any(kinds) else sparse_rules_bcoo).get(primitive)
    if rule is None:
        message = f"sparse rule for {primitive} is not implemented"
        if primitive in densifying:
            message += (
                " because it would result in dense output. If this is your intent, use sparse.todense() to convert "
                "your arguments to dense matrices"
            )
        raise NotImplementedError(f"{message}.")
    return rule


def eval_sparse(
    jaxpr: Jaxpr, consts: Sequence[Any], spvalues: Sequence[SparsifyValue], spenv: SparsifyEnv
) -> list[SparsifyValue]:
    """Interpret a jaxpr on dense and sparse values.

    Args:
      jaxpr: the jaxpr.
      consts: the arrays it closes over.
      spvalues: its arguments.
      spenv: the environment they are in; results come into it.

    Returns:
      its results.
    """
    env: dict[Any, SparsifyValue] = {v: spenv.dense(c) for v, c in zip(jaxpr.constvars, consts)}
    env.update(zip(jaxpr.invars, spvalues))

    def read(v: Any) -> SparsifyValue:
        return spenv.dense(v.operand) if type(v) is Literal else env[v]

    for eqn in jaxpr.eqns:
        values = [read(v) for v in eqn.invars]
        rule = _rule(eqn.primitive, values)
        if rule is not None:
            outs = rule(spenv, *values, **eqn.params)
        else:
            out = eqn.primitive.bind(*[spenv.data(v) for v in values], **eqn.params)
            outs = [spenv.dense(x) for x in (out if eqn.primitive.multiple_results else [out])]
        env.update(zip(eqn.outvars, outs))
    return [read(v) for v in jaxpr.outvars]


def call_sparse(jaxpr: Jaxpr, values: Sequence[Any]) -> list[Any]:
    """Interpret a closed jaxpr on arrays and sparse arrays."""
    spenv = SparsifyEnv()
    outs = eval_sparse(jaxpr, jaxpr.consts, arrays_to_spvalues(spenv, list(values)), spenv)
    return spvalues_to_arrays(spenv, outs)


def sparsify_raw(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` on SparsifyValues: (spenv, *spvalues, **params) -> (SparsifyValues of the results, their tree)."""

    def wrapped(spenv: SparsifyEnv, *spvalues: Any, **params: Any) -> tuple[list[SparsifyValue], Any]:
        flat, in_tree = pytree.tree_flatten(spvalues, is_leaf=_is_value)
        out_tree = None

        def flat_fun(*args: Any) -> Sequence[Any]:
            nonlocal out_tree
            outs, out_tree = pytree.tree_flatten(f(*pytree.tree_unflatten(in_tree, args), **params))
            return outs

        jaxpr = trace_to_jaxpr(flat_fun, [spvalues_to_avals(spenv, v) for v in flat])
        return eval_sparse(jaxpr, jaxpr.consts, flat, spenv), out_tree

    return wrapped


# With tracers.


class SparseTracer(Tracer):
    """A dense or sparse array while a function runs under `sparsify(f, use_tracer=True)`."""

    __slots__ = ("_spvalue",)

    def __init__(self, trace: SparseTrace, *, spvalue: SparsifyValue) -> None:
        self._trace = trace
        self.aval = spvalues_to_avals(trace.spenv, spvalue)
        self._spvalue = spvalue

    @property
    def spenv(self) -> SparsifyEnv:
        """The environment of its buffers."""
        return self._trace.spenv  # type: ignore[attr-defined]


class SparseTrace(Trace):
    """Does operations by the rules for sparse operands as a function runs."""

    __slots__ = ("spenv",)

    def __init__(self, parent: Trace | None, spenv: SparsifyEnv) -> None:
        self.parent = parent
        self.spenv = spenv

    def value(self, x: Any) -> SparsifyValue:
        """The SparsifyValue of any value."""
        if isinstance(x, SparseTracer) and x._trace is self:
            return x._spvalue
        with use_trace(self.parent):
            return arrays_to_spvalues(self.spenv, x)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values = [self.value(x) for x in args]
        with use_trace(self.parent):
            rule = _rule(primitive, values)
            if rule is not None:
                outs = rule(self.spenv, *values, **params)
            else:
                out = primitive.bind(*[self.spenv.data(v) for v in values], **params)
                outs = [self.spenv.dense(x) for x in (out if primitive.multiple_results else [out])]
        tracers = [SparseTracer(self, spvalue=v) for v in outs]
        return tracers if primitive.multiple_results else tracers[0]

    def process_custom_jvp(self, call: Any, args: tuple[Any, ...]) -> Any:
        with use_trace(self):
            return call.run(args)

    process_custom_vjp = process_custom_jvp


def _with_tracers(f: Callable[..., Any], args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    leaves, tree = pytree.tree_flatten(args, is_leaf=_is_array)
    spenv = SparsifyEnv()
    trace = SparseTrace(current.trace, spenv)
    tracers = [SparseTracer(trace, spvalue=v) for v in arrays_to_spvalues(spenv, leaves)]
    with use_trace(trace):
        outs, out_tree = pytree.tree_flatten(f(*pytree.tree_unflatten(tree, tracers), **params), is_leaf=_is_array)
    # A sparse array that the function itself made holds tracers; what it holds is dense.
    done = []
    for x in outs:
        inner, inner_tree = pytree.tree_flatten(x)
        done.append(pytree.tree_unflatten(inner_tree, [spvalues_to_arrays(spenv, trace.value(y)) for y in inner]))
    return pytree.tree_unflatten(out_tree, done)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Let a function of arrays take sparse arrays (BCOO, BCSR) in place of any of them.

    Args:
      f: a function of arrays or pytrees of them.
      use_tracer: do operations while the function runs, instead of tracing it first.

    Returns:
      a function of the same arguments. Results are sparse where operations on sparse arrays give such.

    Raises:
      NotImplementedError: (when called) an operation has no rule for sparse operands.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> @sparse.sparsify
    ... def f(m, v):
    ...     return 2 * xnp.sin(m).T @ v
    >>> m = sparse.BCOO.fromdense(xnp.eye(2))
    >>> [round(x, 2) for x in f(m, xnp.array([1., 0.])).tolist()]
    [1.68, 0.0]
    """

    @functools.wraps(f)
    def wrapped(*args: Any, **params: Any) -> Any:
        if use_tracer:
            return _with_tracers(f, args, params)
        spenv = SparsifyEnv()
        outs, out_tree = sparsify_raw(f)(spenv, *arrays_to_spvalues(spenv, args), **params)
        return pytree.tree_unflatten(out_tree, spvalues_to_arrays(spenv, outs))

    return wrapped


# Methods of the classes that are functions of arrays.


def _swapped(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: f(y, x)


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return sparsify(lambda x: getattr(x, name)(*args, **kwargs))(self)

    method.__name__ = name
    method.__doc__ = f"`{name}` as of arrays."
    return method


def _operator(f: Callable[..., Any]) -> Callable[..., Any]:
    run = sparsify(f)
    return lambda *args: run(*args)


def _getitem(self: Any, idx: Any) -> Any:
    out = sparsify(lambda x: x[idx])(self)
    if not isinstance(out, type(self)) and isinstance(self, BCOO) and np.size(out) == 0:
        return BCOO.fromdense(out, nse=0)  # nothing was read of the array
    return out


def _iter(self: Any) -> Any:
    return iter([self[i] for i in range(self.shape[0])])


_BINARY = {
    "matmul": xnp.matmul, "mul": xnp.multiply, "truediv": xnp.divide, "add": xnp.add, "sub": xnp.subtract,
}  # fmt: skip
_COMPARISONS = {
    "gt": xnp.greater, "ge": xnp.greater_equal, "lt": xnp.less, "le": xnp.less_equal, "eq": xnp.equal,
    "ne": xnp.not_equal,
}  # fmt: skip

for _name, _fun in _BINARY.items():
    setattr(BCOO, f"__{_name}__", _operator(_fun))
    setattr(BCOO, f"__r{_name}__", _operator(_swapped(_fun)))
for _name, _fun in _COMPARISONS.items():
    setattr(BCOO, f"__{_name}__", _operator(_fun))
for _name, _fun in {"abs": xnp.abs, "neg": xnp.negative, "pos": xnp.positive}.items():
    setattr(BCOO, f"__{_name}__", _operator(_fun))
for _name in ("astype", "reshape", "sum"):
    setattr(BCOO, _name, _method(_name))
BCOO.__pow__ = lambda self, y: sparsify(lambda x: operator.pow(x, y))(self)  # type: ignore[attr-defined]
BCOO.__rpow__ = _operator(_swapped(operator.pow))  # type: ignore[attr-defined]
BCOO.__getitem__ = _getitem  # type: ignore[attr-defined]
BCOO.__iter__ = _iter  # type: ignore[attr-defined]
BCSR.__matmul__ = _operator(xnp.matmul)  # type: ignore[attr-defined]
BCSR.__rmatmul__ = _operator(_swapped(xnp.matmul))  # type: ignore[attr-defined]
BCSR.__getitem__ = _getitem  # type: ignore[attr-defined]
