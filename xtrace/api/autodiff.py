"""Derivatives: grad, value_and_grad, vjp, jvp, linearize, linear_transpose, jacobians."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.api.batching import vmap
from xtrace.api.vjp_function import NotNeeded, NotSaveable, VJPFunction, distinct, tree_of_flags
from xtrace.core import dtypes, pytree, pytree_nodes, signature, source
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import DebugInfo, Jaxpr, eval_jaxpr
from xtrace.core.primitive import as_array, scalar_of, shaped
from xtrace.core.refs import Ref
from xtrace.core.trace import current, use_trace
from xtrace.transforms import refs
from xtrace.transforms.jvp import jvp_flat
from xtrace.transforms.linearize import Linearized, Tape, backward, linearize_flat
from xtrace.transforms.zeros import Zero, instantiate

_flatten = pytree.default_registry.flatten


def _check_callable(fun: Any, name: str) -> None:
    if not callable(fun):
        raise TypeError(f"{name} takes a function, got {fun!r} of type {type(fun)}")


def _flat_function(
    fun: Callable[..., Any], tree: Any, name: str, traced_for: str
) -> tuple[Callable[..., list[Any]], list[Any]]:
    """`fun` as a function of flat leaves; the list receives the structure of its result."""
    out_trees: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        outs, out_tree = _flatten(fun(*tree.unflatten(leaves)))
        out_trees.append(out_tree)
        return signature.check_results(outs, out_tree, name, traced_for)

    return flat, out_trees


def _with_aux(fun: Callable[..., Any], aux_box: list[Any], name: str) -> Callable[..., Any]:
    """`fun`, which returns (out, aux), as a function of out; aux goes to the box."""

    def main(*args: Any, **kwargs: Any) -> Any:
        result = fun(*args, **kwargs)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"expected function with aux output to return a two-element tuple, but got type {type(result)}: {name} "
                "with has_aux=True takes a function that returns (out, aux)"
            )
        out, aux = result
        aux_box.append(aux)
        return out

    return main


def _strip(x: Any, trace_type: Any) -> Any:
    """The primal of an auxiliary output."""
    return x.primal if isinstance(x, trace_type) else x


# -- reverse mode ------------------------------------------------------------------------------------------------


def _check_input_dtype(name: str, x: Any, holomorphic: bool, allow_int: bool) -> None:
    dtype = shaped(x).dtype
    kind = dtypes.kind(dtype)
    if holomorphic:
        if kind != "c":
            raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, but got {dtype}.")
    elif kind in "biu" and not allow_int:
        raise TypeError(
            f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got "
            f"{dtype}. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True; "
            "or pass a float (1.0 in place of 1)."
        )
    elif kind == "X" and not allow_int:
        raise TypeError(
            f"{name} requires real- or complex-valued inputs, but got {dtype}: random keys have no derivative; "
            "differentiate in another argument (argnums), or set allow_int to True for a gradient of float0."
        )


def _check_output_dtype(name: str, x: Any, holomorphic: bool) -> None:
    dtype = shaped(x).dtype
    kind = dtypes.kind(dtype)
    if holomorphic:
        if kind != "c":
            raise TypeError(f"{name} with holomorphic=True requires outputs with complex dtype, but got {dtype}.")
    elif kind == "c":
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got {dtype}. "
            "For holomorphic differentiation, pass holomorphic=True. For differentiation of non-holomorphic functions "
            "involving complex outputs, use vjp directly."
        )
    elif kind != "f":
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got {dtype}. "
            "For differentiation of functions with integer outputs, use vjp directly."
        )


def _argnums(fun: Callable[..., Any], argnums: Any, args: Sequence[Any], name: str) -> tuple[int, ...]:
    nums = signature.as_tuple(argnums, int, "argnums")
    for n in nums:
        if not -len(args) <= n < len(args):
            raise TypeError(
                f"{name} of {signature.fun_name(fun)} differentiates with respect to argnums={argnums}, but only "
                f"{len(args)} positional arguments were passed. Pass that argument by position, not by keyword."
            )
    return tuple([n % len(args) for n in nums])


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that returns both the value of `fun` and its gradient.

    Args:
      fun: returns a scalar (or (scalar, aux) with has_aux).
      argnums: which positional arguments to differentiate, an int or a sequence of ints.
      has_aux: whether `fun` returns (out, aux), aux being any pytree that is handed through.
      holomorphic: whether `fun` is holomorphic (complex in, complex out).
      allow_int: whether integer arguments are allowed; their gradients have dtype float0.

    Returns:
      A function with the arguments of `fun` that returns (value, gradient); ((value, aux), gradient) with has_aux.
      The gradient has the structure of the argument, or is a tuple where argnums is a sequence.

    Raises:
      TypeError: the output is not a real scalar, or an input is not real.

    >>> import xtrace as xt
    >>> value, slope = xt.value_and_grad(lambda x: x ** 2)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """
    _check_callable(fun, "value_and_grad")
    signature.as_tuple(argnums, int, "argnums")

    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        return _value_and_grad(fun, args, kwargs, argnums, has_aux, holomorphic, allow_int, "value_and_grad")

    return _named(value_and_grad_f, fun, "value_and_grad")


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that returns the gradient of the scalar function `fun`. Arguments are those of `value_and_grad`.

    Returns:
      A function that returns the gradient; (gradient, aux) with has_aux.

    >>> import xtrace as xt
    >>> float(xt.grad(lambda x: x ** 2)(3.0))
    6.0
    """
    _check_callable(fun, "grad")
    signature.as_tuple(argnums, int, "argnums")

    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, gradient = _value_and_grad(fun, args, kwargs, argnums, has_aux, holomorphic, allow_int, "grad")
        return (gradient, value[1]) if has_aux else gradient

    return _named(grad_f, fun, "grad")


def _named(wrapper: Callable[..., Any], fun: Callable[..., Any], prefix: str) -> Callable[..., Any]:
    wrapper = source.boundary(wrapper)
    try:
        functools.update_wrapper(wrapper, fun)
        wrapper.__name__ = fun.__name__ if hasattr(fun, "__name__") else prefix
        if fun.__doc__:
            wrapper.__doc__ = f"{prefix} of {signature.fun_name(fun)}.\n\n{fun.__doc__}"
    except (AttributeError, TypeError):
        pass
    return wrapper


def _value_and_grad(
    fun: Any, args: Any, kwargs: Any, argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool, name: str
) -> Any:
    nums = (
        (argnums % len(args),)
        if type(argnums) is int and 0 <= argnums < len(args)
        else _argnums(fun, argnums, args, name)
    )
    # All leaves are looked at, those of `nums` differentiated.
    leaves, tree = _flatten(tuple([args[i] for i in nums]))
    for x in leaves:
        _check_leaf(x, name, fun)
        _check_input_dtype(name, x, holomorphic, allow_int)
    aux_box: list[Any] = []
    main = _with_aux(fun, aux_box, name) if has_aux else fun
    if kwargs or len(nums) != len(args):
        fixed = list(args)

        def partial(*chosen: Any) -> Any:
            for i, x in zip(nums, chosen):
                fixed[i] = x
            return main(*fixed, **kwargs)

    else:
        partial = main
    flat, out_trees = _flat_function(partial, tree, signature.fun_name(fun), name)
    differentiated = [dtypes.is_inexact(shaped(x).dtype) for x in leaves]
    outs, lin = linearize_flat(flat, leaves, differentiated, (fun, name))
    if len(outs) != 1 or shaped(outs[0]).shape != () or not pytree.treedef_is_leaf(out_trees[0]):
        _raise_not_scalar(outs, out_trees[0], fun, name)
    (out,) = outs
    _check_output_dtype(name, out, holomorphic)
    one = scalar_of(1, shaped(out))
    gradients = _fill_in(leaves, differentiated, lin.pull_back([one]))
    result = tree.unflatten([as_array(g) for g in gradients])
    if type(argnums) is int or hasattr(argnums, "__index__"):
        result = result[0]
    out = as_array(out)
    return ((out, _without_tracers(aux_box[0], lin)), result) if has_aux else (out, result)


def _check_leaf(x: Any, name: str, fun: Any) -> None:
    if type(x) is Ref and name != "vjp":
        raise TypeError(
            f"{name} cannot differentiate {signature.fun_name(fun)} with respect to a Ref-typed argument, because the "
            "gradient for a ref must itself be accumulated into a ref. Instead, use `jax.vjp` and bind a gradient ref "
            "using the returned VJP function's `with_refs` method. (Other arguments may be references.)"
        )
    if getattr(x, "aval", None) is None:
        signature.check_arg(x, lambda: "(see the value)", f"{name} of {signature.fun_name(fun)}")


def _without_tracers(aux: Any, lin: Linearized) -> Any:
    """Auxiliary outputs are primal values: take them out of this differentiation's tracers."""
    from xtrace.transforms.linearize import LinearizeTracer

    def strip(x: Any) -> Any:
        if type(x) is LinearizeTracer and x.tangent._trace is lin.tape:
            return as_array(x.primal)
        return x  # what no derivative went through is the function's own, numbers and NumPy arrays too

    return pytree.tree_map(strip, aux)


def _raise_not_scalar(outs: list[Any], out_tree: Any, fun: Any, name: str) -> None:
    if len(outs) == 1 and not pytree.treedef_is_leaf(out_tree):
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output of {signature.fun_name(fun)} was a container "
            f"of one array, {out_tree}. Return the array itself."
        )
    if len(outs) == 1:
        shape = shaped(outs[0]).shape
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output had shape: {shape}. {signature.fun_name(fun)} "
            "must return one number: reduce its output (out.sum(), out.mean()), or use jacobian for all of them."
        )
    raise TypeError(
        f"Gradient only defined for scalar-output functions. Output of {signature.fun_name(fun)} was a pytree with "
        f"{len(outs)} arrays. Return one scalar (and the rest as aux, with has_aux=True)."
    )


def _fill_in(primals: Sequence[Any], differentiated: Sequence[bool], cts: Sequence[Any]) -> list[Any]:
    """One cotangent per primal: zeros where none arrived, float0 zeros for what has no derivative."""
    rest = iter(cts)
    out = []
    for p, d in zip(primals, differentiated):
        if d:
            ct = next(rest)
            out.append(instantiate(ct) if type(ct) is Zero else ct)
        else:
            out.append(np.zeros(shaped(p).shape, dtypes.float0))
    return out


def _differentiable(leaves: Sequence[Any], tree: Any, in_nzs: Any) -> list[bool]:
    """Which leaves to differentiate with respect to: those with derivatives that `in_nzs` does not leave out."""
    out = [dtypes.is_inexact(shaped(x).dtype) for x in leaves]
    if in_nzs is None:
        return out
    return [d and nz for d, nz in zip(out, tree_of_flags(in_nzs, tree, "in_nzs"))]


def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
    saveable_args: Any = True,
    in_nzs: Any = None,
) -> Any:
    """The value of `fun` at `primals` and its pullback (reverse-mode derivative).

    Args:
      fun: a function of arrays or pytrees; it returns (out, aux) with has_aux.
      primals: where to evaluate it.
      saveable_args: a bool or nested tuples of bools, a prefix of `primals`: arguments marked False are not kept by
        vjp_fun, and must be put back into `vjp_fun.args_res` before it is called.
      in_nzs: likewise; arguments marked False are not differentiated, and their cotangents are zero. Which outputs
        depend on the others says vjp_fun.out_nzs.

    Returns:
      (out, vjp_fun), or (out, vjp_fun, aux): vjp_fun maps a cotangent with the structure of `out` to a tuple of
      cotangents, one for each primal. Integers have cotangents of dtype float0.

    Raises:
      ValueError: saveable_args or in_nzs is no such prefix.

    >>> import xtrace as xt
    >>> out, pull = xt.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> [float(v) for v in pull(1.0)]
    [3.0, 2.0]
    """
    _check_callable(fun, "vjp")
    leaves, tree = _flatten(primals)
    for x in leaves:
        _check_leaf(x, "vjp", fun)
    leaves = [distinct(x) for x in leaves]
    name = signature.fun_name(fun)
    aux_box: list[Any] = []
    main = _with_aux(fun, aux_box, "vjp") if has_aux else fun
    flat, out_trees = _flat_function(main, tree, name, "vjp")
    saveable = None if saveable_args is True else tree_of_flags(saveable_args, tree, "saveable_args")
    differentiated = _differentiable(leaves, tree, in_nzs)
    opened = None
    if refs.has_refs(leaves):
        opened = refs.DifferentiatedRefs(flat, leaves, lambda: signature.leaf_names(fun, primals, {}), name)
        leaves = opened.values
    all_outs, lin = linearize_flat(opened or flat, leaves, differentiated, (fun, "vjp"))
    outs = all_outs if opened is None else opened.results(all_outs)
    out = out_trees[0].unflatten([as_array(o) for o in outs])
    pull = VJPFunction(leaves, differentiated, lin, tree, out_trees[0], outs, name)
    if opened is not None:
        pull._ref_args = tuple(opened.where)
        pull._last_avals = tuple([shaped(x) for x in all_outs[len(outs) :]])
    if saveable is not None:
        pull.separate(saveable)
    return (out, pull, _without_tracers(aux_box[0], lin)) if has_aux else (out, pull)


# -- forward mode ------------------------------------------------------------------------------------------------


def _check_tangent(name: str, p: Any, t: Any) -> Any:
    """The tangent of one leaf, weak if its primal is; Zero for float0. Raises TypeError where it doesn't fit."""
    from xtrace.lax import shapes

    wanted = shaped(p).tangent()
    if wanted.dtype == dtypes.float0:
        if getattr(t, "dtype", None) != dtypes.float0:
            raise TypeError(
                f"primal and tangent arguments to {name} do not match; dtypes must be equal, or in case of int/bool "
                f"primal dtype the tangent dtype must be float0. Got primal dtype {shaped(p).dtype} and so expected "
                f"tangent dtype float0, but got tangent dtype {shaped(t).dtype} instead."
            )
        return Zero(wanted)
    if type(t) is Zero:
        return t
    got = shaped(t)
    if got.dtype != wanted.dtype:
        raise TypeError(
            f"primal and tangent arguments to {name} do not match; dtypes must be equal, or in case of int/bool primal "
            f"dtype the tangent dtype must be float0. Got primal dtype {wanted.dtype} and so expected tangent dtype "
            f"{wanted.dtype}, but got tangent dtype {got.dtype} instead."
        )
    if got.shape != wanted.shape:
        raise ValueError(
            f"{name} called with different primal and tangent shapes; got primal shape {wanted.shape} and tangent "
            f"shape {got.shape}"
        )
    return shapes.convert(t, wanted.dtype, True) if wanted.weak_type and not got.weak_type else t


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of `fun` at `primals` and its derivative along `tangents` (forward mode).

    Args:
      fun: a function of arrays or pytrees; it returns (out, aux) with has_aux.
      primals: tuple or list of arguments. tangents: the same structure; float0 zeros for integers.

    Returns:
      (out, out_tangent), or (out, out_tangent, aux).

    Raises:
      TypeError, ValueError: primals and tangents differ in structure, dtype or shape.

    >>> import xtrace as xt
    >>> out, slope = xt.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(out), float(slope)
    (9.0, 6.0)
    """
    _check_callable(fun, "jvp")
    for what, value in (("primal", primals), ("tangent", tangents)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(
                f"primal and tangent arguments to jvp must be tuples or lists; found {what}s of type {type(value)}"
            )
    leaves, tree = _flatten(tuple(primals))
    tangent_leaves, tangent_tree = _flatten(tuple(tangents))
    if isinstance(primals, list) != isinstance(tangents, list):
        raise TypeError(
            "primal and tangent arguments to jvp must have the same tree structure; primals are a "
            f"{type(primals).__name__}, tangents a {type(tangents).__name__}"
        )
    if tree != tangent_tree:
        raise TypeError(
            f"primal and tangent arguments to jvp must have the same tree structure; primals have {tree}, tangents "
            f"{tangent_tree}"
        )
    for x in leaves:
        _check_leaf(x, "jvp", fun)
    checked = [_check_tangent("jvp", p, t) for p, t in zip(leaves, tangent_leaves)]
    aux_box: list[Any] = []
    main = _with_aux(fun, aux_box, "jvp") if has_aux else fun
    flat, out_trees = _flat_function(main, tree, signature.fun_name(fun), "jvp")
    outs, out_tangents = jvp_flat(flat, leaves, checked, (fun, "jvp"))
    out = out_trees[0].unflatten([as_array(o) for o in outs])
    tangent = out_trees[0].unflatten([as_array(instantiate(t)) for t in out_tangents])
    if has_aux:
        from xtrace.transforms.jvp import JVPTracer

        return out, tangent, pytree.tree_map(lambda x: _strip(x, JVPTracer), aux_box[0])
    return out, tangent


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, in_nzs: Any = None) -> Any:
    """The value of `fun` at `primals` and the linear function of tangents there, computed once for many uses.

    Args:
      fun: a function of arrays or pytrees; it returns (out, aux) with has_aux.
      primals: where to evaluate it.
      in_nzs: a bool or nested tuples of bools, a prefix of `primals`: arguments marked False are not differentiated,
        and their tangents are not read.

    Returns:
      (out, f_jvp), or (out, f_jvp, aux): f_jvp takes tangents like `primals` and returns a tangent like `out`. It is a
      `tree_util.Partial`, a pytree of what it keeps of the forward pass: it may be passed to and returned from `jit`.

    >>> import xtrace as xt
    >>> out, f_jvp = xt.linearize(lambda x: x * x, 3.0)
    >>> float(f_jvp(2.0))
    12.0
    """
    _check_callable(fun, "linearize")
    leaves, tree = _flatten(primals)
    for x in leaves:
        _check_leaf(x, "linearize", fun)
    aux_box: list[Any] = []
    main = _with_aux(fun, aux_box, "linearize") if has_aux else fun
    flat, out_trees = _flat_function(main, tree, signature.fun_name(fun), "linearize")
    differentiated = _differentiable(leaves, tree, in_nzs)
    outs, lin = linearize_flat(flat, leaves, differentiated, (fun, "linearize"))
    jaxpr, residuals = lin.jaxpr(DebugInfo(signature.fun_name(fun), "linearize"))
    avals = [shaped(x) for x in leaves]

    nonzeros = tuple([type(t) is not Zero for t in lin.outs])
    linear = _LinearFunction(jaxpr, tree, avals, differentiated, out_trees[0], [shaped(o) for o in outs], nonzeros)
    f_jvp = pytree_nodes.Partial(linear, [as_array(r) for r in residuals])
    f_jvp.jaxpr = jaxpr  # type: ignore[attr-defined]
    out = out_trees[0].unflatten([as_array(o) for o in outs])
    return (out, f_jvp, _without_tracers(aux_box[0], lin)) if has_aux else (out, f_jvp)


class _LinearFunction:
    """What `linearize` returns, without the residuals: a function of those and of the tangents."""

    __slots__ = ("jaxpr", "tree", "avals", "differentiated", "out_tree", "out_avals", "nonzeros")

    def __init__(
        self,
        jaxpr: Jaxpr,
        tree: Any,
        avals: Sequence[ShapedArray],
        differentiated: Sequence[bool],
        out_tree: Any,
        out_avals: Sequence[ShapedArray],
        nonzeros: tuple[bool, ...],
    ) -> None:
        self.jaxpr = jaxpr
        self.tree, self.avals, self.differentiated = tree, avals, differentiated
        self.out_tree, self.out_avals, self.nonzeros = out_tree, out_avals, nonzeros

    def __call__(self, residuals: Sequence[Any], *tangents: Any) -> Any:
        given, given_tree = _flatten(tangents)
        if given_tree != self.tree:
            raise TypeError(f"linearized function called with tangents of structure {given_tree}, expected {self.tree}")
        try:
            checked = [_check_tangent("the linearized function", _Typed(a), t) for a, t in zip(self.avals, given)]
        except TypeError as error:
            raise ValueError(
                f"linearized function called on tangent values inconsistent with the original primal values: {error}"
            ) from None
        inputs = [t for t, d in zip(checked, self.differentiated) if d]
        results = iter(eval_jaxpr(self.jaxpr, (), *residuals, *inputs))
        full = [next(results) if nz else Zero(a.tangent()) for a, nz in zip(self.out_avals, self.nonzeros)]
        return self.out_tree.unflatten([as_array(instantiate(t)) for t in full])

    def __repr__(self) -> str:
        return f"<linear function {self.jaxpr.in_avals} -> {self.jaxpr.out_avals}>"


class _Typed:
    """Stands for a value of which only the type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval


#: Operations that are linear in each operand, but not in two together; of div the second is none that it is linear in.
_PRODUCTS = frozenset(["mul", "dot_general", "conv_general_dilated"])


class _LinearOnly(Tape):
    """A tape of a function that its caller says is linear: a product of two of its arguments shows that it isn't."""

    __slots__ = ("name",)

    def record(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        product = primitive.name in _PRODUCTS and all([self.owns(a) for a in args])
        if product or primitive.name == "div" and self.owns(args[1]):
            raise TypeError(
                f"linear_transpose: {self.name} is not linear in its arguments: it applies {primitive.name} to "
                f"{'two values that depend on them' if product else 'a divisor that depends on them'}, at "
                f"{source.describe(source.here(2))}. Close over what is to be held constant, or use vjp for the "
                "derivative of a function that isn't linear."
            )
        return super().record(primitive, args, params)


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """The transpose of a function that is linear: maps cotangents of its output to cotangents of its inputs.

    Args:
      fun: a linear function. primals: arrays or ShapeDtypeStructs of the argument types.

    Raises:
      TypeError: `fun` multiplies two of its arguments, or divides by one.

    >>> import xtrace as xt
    >>> transposed = xt.linear_transpose(lambda x: 3.0 * x, 1.0)
    >>> [float(v) for v in transposed(2.0)]
    [6.0]
    """
    leaves, tree = _flatten(primals)
    avals = [shaped(x) for x in leaves]
    for a in avals:
        if not dtypes.is_inexact(a.dtype):
            raise TypeError(
                "linear_transpose only supports [float or complex -> float or complex] functions; got an input of "
                f"type {a.str_short()}"
            )
    tape = _LinearOnly(current.trace)
    tape.name = signature.fun_name(fun)
    values = [tape.new_value(a) for a in avals]
    flat, out_trees = _flat_function(fun, tree, tape.name, "linear_transpose")
    with use_trace(tape):
        outs = flat(*values)
    out_avals = [shaped(o) for o in outs]

    def transposed(ct: Any) -> Any:
        cts, ct_tree = _flatten(ct)
        if ct_tree != out_trees[0]:
            raise TypeError(f"cotangent tree does not match function output, expected {out_trees[0]} but got {ct_tree}")
        for c, a in zip(cts, out_avals):
            if shaped(c).shape != a.shape or shaped(c).dtype != a.dtype:
                raise TypeError(
                    f"cotangent type does not match function output, expected {a.str_short()} but got "
                    f"{shaped(c).str_short()}"
                )
        results = backward(tape, outs, cts, values)
        return tree.unflatten([as_array(instantiate(r)) for r in results])

    return transposed


# -- jacobians -----------------------------------------------------------------------------------------------------


def _basis(leaves: Sequence[Any]) -> list[Any]:
    """Unit tangents of flat arrays, stacked: one row for each element."""
    from xtrace.lax import shapes

    sizes = [shaped(x).size for x in leaves]
    total, start, out = sum(sizes), 0, []
    for x, n in zip(leaves, sizes):
        aval = shaped(x)
        rows = np.zeros((total, n), aval.dtype)
        rows[start : start + n] = np.eye(n, dtype=aval.dtype)
        rows = shapes.reshape(rows.reshape((total, *aval.shape)), (total, *aval.shape))
        out.append(shapes.convert(rows, aval.dtype, aval.weak_type))
        start += n
    return out


def _split_last(x: Any, leaves: Sequence[Any], axis: int, like: Any) -> list[Any]:
    """Cut `axis` of `x` (one entry per element of the leaves) into one array per leaf, with the leaf's shape.

    The arrays are weakly typed if `like` is: the other end of the derivative.
    """
    from xtrace.lax import shapes, slicing

    aval = shaped(x)
    out, start = [], 0
    for leaf in leaves:
        shape, n = shaped(leaf).shape, shaped(leaf).size
        piece = slicing.slice_in_dim(x, start, start + n, axis=axis)
        piece = shapes.reshape(piece, (*aval.shape[:axis], *shape, *aval.shape[axis + 1 :]))
        out.append(shapes.convert(piece, aval.dtype, shaped(like).weak_type))
        start += n
    return out


def _zeros_for_float0(rows: Any, x: Any) -> Any:
    """The rows of a Jacobian; zeros of the argument's own dtype where it has no derivative (allow_int)."""
    from xtrace.lax import shapes

    aval = shaped(rows)
    return shapes.full(aval.shape, 0, shaped(x).dtype) if aval.dtype == dtypes.float0 else rows


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column in forward mode: best where outputs outnumber inputs.

    Returns:
      A function whose result has the structure of the output of `fun`, with at each leaf the structure of the
      argument, with arrays of shape output.shape + input.shape; (jacobian, aux) with has_aux.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> xt.jacfwd(lambda x: x * x)(xnp.array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    _check_callable(fun, "jacfwd")

    def jacfun(*args: Any, **kwargs: Any) -> Any:
        nums = _argnums(fun, argnums, args, "jacfwd")
        chosen, tree = _flatten(tuple([args[i] for i in nums]))
        for x in chosen:
            _check_leaf(x, "jacfwd", fun)
            _check_jac_input("jacfwd", x, holomorphic)

        def flat(*leaves: Any) -> Any:
            full = list(args)
            for i, x in zip(nums, tree.unflatten(leaves)):
                full[i] = x
            return fun(*full, **kwargs)

        flat.stands_for = fun  # type: ignore[attr-defined]

        def push(*tangents: Any) -> Any:
            return jvp(flat, tuple(chosen), tangents, has_aux=has_aux)

        out, result, *aux = vmap(push, out_axes=(None, -1, None) if has_aux else (None, -1))(*_basis(chosen))

        def per_output(value: Any, columns: Any) -> Any:
            pieces = _split_last(columns, chosen, shaped(columns).ndim - 1, value)
            structured = tree.unflatten(pieces)
            return structured[0] if not isinstance(argnums, (tuple, list)) else structured

        jacobian_tree = pytree.tree_map(per_output, out, result)
        return (jacobian_tree, aux[0]) if has_aux else jacobian_tree

    return _named(jacfun, fun, "jacfwd")


def _check_jac_input(name: str, x: Any, holomorphic: bool) -> None:
    dtype = shaped(x).dtype
    if holomorphic and not dtypes.is_complex(dtype):
        raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, but got {dtype}.")
    if not holomorphic and not dtypes.is_floating(dtype):
        raise TypeError(
            f"{name} requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got {dtype}. "
            "For holomorphic differentiation, pass holomorphic=True; pass floats in place of integers."
        )


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `fun`, row by row in reverse mode: best where inputs outnumber outputs. Result as `jacfwd`'s.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> xt.jacrev(lambda x: x * x)(xnp.array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    _check_callable(fun, "jacrev")

    def jacfun(*args: Any, **kwargs: Any) -> Any:
        nums = _argnums(fun, argnums, args, "jacrev")
        chosen = tuple([args[i] for i in nums])
        for x in pytree.tree_leaves(chosen):
            _check_leaf(x, "jacrev", fun)
            _check_input_dtype("jacrev", x, holomorphic, allow_int)

        def partial(*parts: Any) -> Any:
            full = list(args)
            for i, x in zip(nums, parts):
                full[i] = x
            return fun(*full, **kwargs)

        partial.stands_for = fun  # type: ignore[attr-defined]
        out, pull, *aux = vjp(partial, *chosen, has_aux=has_aux)
        outs, out_tree = _flatten(out)
        for o in outs:
            _check_output_dtype("jacrev", o, holomorphic)
        basis = _basis(outs)
        rows = vmap(lambda *cts: pull(out_tree.unflatten(cts)))(*basis)
        row_leaves, in_tree = _flatten(rows)
        inputs = pytree.tree_leaves(chosen)
        row_leaves = [_zeros_for_float0(r, x) for r, x in zip(row_leaves, inputs)]
        # row_leaves[j]: (all output elements, *input j). Cut into outputs, each a tree of inputs.
        pieces = [_split_last(r, outs, 0, x) for r, x in zip(row_leaves, inputs)]
        per_output = []
        for i in range(len(outs)):
            structured = in_tree.unflatten([p[i] for p in pieces])
            per_output.append(structured[0] if not isinstance(argnums, (tuple, list)) else structured)
        jacobian_tree = out_tree.unflatten(per_output)
        return (jacobian_tree, aux[0]) if has_aux else jacobian_tree

    return _named(jacfun, fun, "jacrev")


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Hessian of `fun`: forward mode over reverse mode.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> xt.hessian(lambda x: (x ** 3).sum())(xnp.array([1.0, 2.0]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


__all__ = [
    "Jaxpr", "NotNeeded", "NotSaveable", "VJPFunction", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jvp",
    "linear_transpose", "linearize", "value_and_grad", "vjp",
]  # fmt: skip
