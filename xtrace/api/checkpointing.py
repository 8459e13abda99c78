"""checkpoint (remat), names of values, and what a derivative keeps."""

from __future__ import annotations

import functools
import logging
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xtrace.core import config, errors, functions, pytree, pytree_prefixes, signature, source
from xtrace.core.jaxpr import DebugInfo, Jaxpr, Literal
from xtrace.core.primitive import shaped
from xtrace.core.trace import current, use_trace
from xtrace.lax.control_flow import rematerialization as _rules  # noqa: F401  (its rules for scan and cond)
from xtrace.runtime import jaxlib_api
from xtrace.transforms import refs
from xtrace.transforms import remat as rematerialization
from xtrace.transforms.linearize import linearize_flat
from xtrace.transforms.remat import name_p, remat_p
from xtrace.transforms.staging import StagingTrace, closed_call_operands, trace_to_jaxpr

_flatten = pytree.default_registry.flatten
_trace_context = jaxlib_api.trace_context
_TRACED_FOR = "checkpoint / remat"
_MAX_SIGNATURES = 256

logger = logging.getLogger(__name__)


class _Staged:
    """A function staged at one signature: its closed jaxpr, its closed-over operands, its result's structure."""

    __slots__ = ("jaxpr", "consts", "out_tree", "captures", "written", "rules_hold_refs")

    #: Whether there are mutable references among the consts; those that the function writes, whose last values are the
    #: last outputs; whether rules of functions in it were given any.
    captures: bool
    written: tuple[Any, ...]
    rules_hold_refs: bool

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], out_tree: Any) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_tree = out_tree


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool | Sequence[Any] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[..., Any]:
    """`fun`, with a derivative that saves memory: intermediate results are computed again in the backward pass.

    Args:
      fun: a function of arrays or pytrees. It is traced, so its Python code can't branch on values of its arguments,
        unless they are static.
      prevent_cse: whether the compiler is kept from merging the recomputation with the forward pass. False is right
        inside scan, which does that by itself. A tuple, or pytree prefix of the arguments, says so for each.
      policy: which results may be saved all the same: one of `checkpoint_policies`, or a function
        `(primitive, *avals, **params)` that returns a bool. None: nothing but the inputs is saved.
      static_argnums, static_argnames: arguments that are Python values: an int or a tuple of them, a name or several.

    Returns:
      A function with the arguments and results of `fun`.

    Raises:
      TypeError, ValueError: an option names no argument, or is of the wrong type.

    >>> import xtrace as xt
    >>> @xt.checkpoint
    ... def twice(x):
    ...     return xt.lax.sin(xt.lax.sin(x))
    >>> print(xt.make_jaxpr(xt.grad(twice))(2.0))
    { lambda ; a:f32[]. let
        _:f32[] = remat2[
          differentiated=False
          jaxpr={ lambda ; b:f32[]. let c:f32[] = sin b; d:f32[] = sin c in (d,) }
          policy=None
          prevent_cse=True
        ] a
        e:f32[] = remat2[
          differentiated=True
          jaxpr={ lambda ; f:f32[] g:f32[]. let
              h:f32[] = sin f
              i:f32[] = cos f
              j:f32[] = cos h
              k:f32[] = mul g j
              l:f32[] = mul k i
            in (l,) }
          policy=None
          prevent_cse=True
        ] a 1.0:f32[]
      in (e,) }
    """
    if not callable(fun):
        raise TypeError(f"checkpoint takes a function, got {fun!r} of type {type(fun)}")
    if isinstance(prevent_cse, list):
        prevent_cse = tuple(prevent_cse)
    if not isinstance(prevent_cse, (bool, tuple)):
        raise TypeError(f"prevent_cse must be a bool or tuple of bools, got type(prevent_cse)={type(prevent_cse)}")
    if policy is not None and not callable(policy):
        raise TypeError(
            f"the policy of checkpoint must be a function (primitive, *avals, **params), got {policy!r} of type "
            f"{type(policy)}; checkpoint_policies has some"
        )
    nums = _checked_argnums(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if names:
        inferred, _ = signature.infer_argnums_and_argnames(fun, None, names, "static")
        nums = (*nums, *inferred)
    own: dict[Any, Any] = {}

    def fun_remat(*args: Any, **kwargs: Any) -> Any:
        static, dynamic, dynamic_kwargs = _split_static(fun, nums, names, static_argnums, args, kwargs)
        leaves, tree = _flatten((dynamic, dynamic_kwargs))
        if refs.has_refs(leaves):
            told = functools.partial(_leaf_names, fun, args, kwargs, static)
            refs.check_distinct(leaves, told, functions.fun_name(fun), _TRACED_FOR)
            closed = refs.ClosedOver(leaves)

            def closing(*arrays: Any) -> Any:
                a, k = tree.unflatten(closed.restored(arrays))
                return fun(*_merged(static, a), **k, **_named(static))

            functools.update_wrapper(closing, fun)
            return checkpoint(closing, prevent_cse=bool(prevent_cse), policy=policy)(*closed.leaves)
        staged = _staged(fun, own, static, args, kwargs, leaves, tree)
        if staged.rules_hold_refs and refs.differentiated_inline(True):
            return fun(*args, **kwargs)
        flags: Any = prevent_cse
        if not isinstance(flags, bool):
            against = (dynamic, dynamic_kwargs) if dynamic_kwargs else dynamic
            given = pytree_prefixes.broadcast_prefix(flags, against)
            flags = (*[False] * len(staged.consts), *[bool(f) for f in given])
        consts = refs.resolved(staged.consts) if staged.captures else staged.consts
        outs = remat_p.bind(
            *consts, *leaves, jaxpr=staged.jaxpr, prevent_cse=flags, policy=policy, differentiated=False
        )
        if staged.written:
            outs = refs.call_results(staged.written, outs)
        return staged.out_tree.unflatten(outs)

    return functools.wraps(fun, updated=())(source.boundary(fun_remat))


def remat(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool | Sequence[Any] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | tuple[int, ...] = (),
) -> Callable[..., Any]:
    """Another name of `checkpoint`.

    >>> import xtrace as xt
    >>> float(xt.grad(xt.remat(lambda x: x * x))(3.0))
    6.0
    """
    return checkpoint(fun, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums)


def _checked_argnums(static_argnums: Any) -> tuple[int, ...]:
    if type(static_argnums) is int:
        return (static_argnums,)
    if isinstance(static_argnums, (tuple, list)) and all([type(n) is int for n in static_argnums]):
        return tuple(static_argnums)
    raise TypeError(
        "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be an int, tuple of ints or, bool, but "
        f"got value {static_argnums}"
    )


class _Static:
    """A static value as part of a key: one that can't be hashed equals itself alone."""

    __slots__ = ("value", "key")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            hash(value)
            self.key: Any = (type(value), value)
        except TypeError:
            self.key = None

    def __hash__(self) -> int:
        return hash(self.key) if self.key is not None else id(self.value)

    def __eq__(self, other: Any) -> bool:
        if self.key is None:
            return self is other
        return isinstance(other, _Static) and bool(self.key == other.key)


def _split_static(
    fun: Any, nums: tuple[int, ...], names: tuple[str, ...], given: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    """(static values with their places, other positional arguments, other keyword arguments)."""
    if not nums and not names:
        return (), args, kwargs
    n = len(args)
    explicit = (given,) if type(given) is int else given
    if not all([-n <= i < n for i in explicit]):
        raise ValueError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater than "
            f"or equal to `-len(args)` and less than `len(args)`, but got {tuple(explicit)}, while `len(args)` = {n} "
            f"in this call of {functions.fun_name(fun)}: pass the argument by position, or use static_argnames"
        )
    places = sorted({i % n for i in nums if -n <= i < n})
    static: list[tuple[Any, _Static]] = [(i, _Static(args[i])) for i in places]
    static += [(name, _Static(kwargs[name])) for name in names if name in kwargs]
    dynamic = tuple([x for i, x in enumerate(args) if i not in places])
    return tuple(static), dynamic, {k: v for k, v in kwargs.items() if k not in names}


def _staged(
    fun: Any, own: dict[Any, Any], static: tuple[Any, ...], args: Any, kwargs: Any, leaves: list[Any], tree: Any
) -> _Staged:
    """The function at the types of `leaves`, traced unless it was before."""
    avals = []
    for i, x in enumerate(leaves):
        aval = getattr(x, "aval", None)
        if aval is None:
            names = functools.partial(_leaf_names, fun, args, kwargs, static)
            aval = signature.check_arg(
                x, lambda i=i, names=names: names()[i], f"checkpoint of {functions.fun_name(fun)}"
            )
        avals.append(aval)
    key = (_TRACED_FOR, tree, tuple(avals), static, _trace_context())
    # What a method's object holds may change: its program lives as long as this wrapper, not as the object.
    cache = own if type(fun) is types.MethodType else functions.cache_of(fun)
    found: _Staged | None = cache.get(key)
    if found is not None:
        return found
    out_trees: list[Any] = []
    name = functions.fun_name(fun)

    def flat(*xs: Any) -> list[Any]:
        dynamic, dynamic_kwargs = tree.unflatten(xs)
        outs, out_tree = _flatten(fun(*_merged(static, dynamic), **dynamic_kwargs, **_named(static)))
        out_trees.append(out_tree)
        return signature.check_results(outs, out_tree, name, _TRACED_FOR)

    info = DebugInfo(
        name, _TRACED_FOR, functools.partial(_leaf_names, fun, args, kwargs, static), code=functions.code_of(fun)
    )
    try:
        traced = trace_to_jaxpr(flat, avals, info, threads_refs=True)
        jaxpr, consts = closed_call_operands(traced)
    except errors.ConcretizationTypeError as error:
        (message,) = error.args
        if f"for {_TRACED_FOR}" in message:
            error.args = (
                f"{message}\n\nConsider using the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`: "
                "arguments that Python code branches on, or `jax.ensure_compile_time_eval` for values computed of "
                "static arguments.",
            )
        raise
    info._arg_names = tuple(info.arg_names)  # the arguments themselves are not to be kept alive
    staged = _Staged(jaxpr, consts, out_trees[0])
    staged.captures = refs.captures(consts)
    staged.written = tuple([consts[i] for i in traced.written_refs])
    staged.rules_hold_refs = traced.refs_in_rules
    if not (refs.transient(consts) or staged.rules_hold_refs) and all([s.key is not None for _, s in static]):
        if len(cache) >= _MAX_SIGNATURES and cache is own:
            cache.clear()
        cache[key] = staged
    return staged


def _merged(static: tuple[Any, ...], dynamic: Any) -> list[Any]:
    """All positional arguments, static values in their places."""
    rest = iter(dynamic)
    places = {place: s.value for place, s in static if type(place) is int}
    return [places[i] if i in places else next(rest) for i in range(len(dynamic) + len(places))]


def _named(static: tuple[Any, ...]) -> dict[str, Any]:
    """Static values passed by keyword."""
    return {place: s.value for place, s in static if type(place) is str}


def _leaf_names(fun: Any, args: Any, kwargs: Any, static: tuple[Any, ...]) -> list[str]:
    places = [p for p, _ in static]
    return signature.leaf_names(fun, args, {k: v for k, v in kwargs.items() if k not in places}, places)


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, under a name by which policies of `checkpoint` know it.

    Args:
      x: an array or a pytree of arrays.
      name: a string.

    Returns:
      The same values.

    >>> import xtrace as xt
    >>> from xtrace.ad_checkpoint import checkpoint_name
    >>> policy = xt.checkpoint_policies.save_only_these_names("root")
    >>> f = xt.checkpoint(lambda x: xt.lax.sin(checkpoint_name(xt.lax.sqrt(x), "root")), policy=policy)
    >>> round(float(xt.grad(f)(4.0)), 4)
    -0.104
    """
    return pytree.tree_map(functools.partial(name_p.bind, name=name), x)


checkpoint_name_fwd = checkpoint_name


# -- what is saved ---------------------------------------------------------------------------------------------------


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """What the backward pass of `f` at `args` gets from the forward pass: (aval, where it comes from) for each."""
    leaves, tree = _flatten((args, kwargs))
    info = DebugInfo(functions.fun_name(f), "saved_residuals", code=functions.code_of(f))

    def flat(*xs: Any) -> list[Any]:
        call_args, call_kwargs = tree.unflatten(xs)
        return _flatten(f(*call_args, **call_kwargs))[0]

    from xtrace.core import dtypes

    trace = StagingTrace(current.trace, info)
    xs = [trace.new_arg(shaped(x)) for x in leaves]
    with use_trace(trace):
        _, lin = linearize_flat(flat, xs, [dtypes.is_inexact(x.aval.dtype) for x in xs])
        _, residuals = lin.jaxpr(info)
        jaxpr = trace.finish(residuals)
    return _described(jaxpr, jaxpr.outvars, signature.leaf_names(f, args, kwargs))


def _described(jaxpr: Jaxpr, wanted: Sequence[Any], arg_names: Sequence[str]) -> list[tuple[Any, str]]:
    out: list[tuple[Any, str]] = [(v.aval, "from a literal") for v in wanted if type(v) is Literal]
    variables = {v for v in wanted if type(v) is not Literal}
    out += [(v.aval, "from a constant") for v in jaxpr.constvars if v in variables]
    out += [(v.aval, f"from the argument {n}") for v, n in zip(jaxpr.invars, arg_names) if v in variables]
    for eqn in jaxpr.eqns:
        for i, v in enumerate(eqn.outvars):
            if v in variables:
                out.append((v.aval, _producer(eqn, i)))
    return out


def _producer(eqn: Any, i: int) -> str:
    """What made output number `i` of an equation."""
    if eqn.primitive is remat_p:  # the function is the user's: the operation in it that made the value is meant
        inner: Jaxpr = eqn.params["jaxpr"]
        var = inner.outvars[i]
        for e in inner.eqns:
            for j, v in enumerate(e.outvars):
                if v is var:
                    return _producer(e, j)
    where = source.describe(eqn.position)
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {where}"
    if eqn.primitive.name == "jit":
        return f"output of jitted function '{eqn.params['name']}' from {where}"
    return f"output of {eqn.primitive.name} from {where}"


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what the backward pass of `f` at `args` gets from the forward pass, one value a line.

    >>> import xtrace as xt
    >>> from xtrace.ad_checkpoint import print_saved_residuals
    >>> print_saved_residuals(xt.checkpoint(lambda x: xt.lax.sin(xt.lax.sin(x))), 2.0)
    f32[] from the argument x
    """
    for aval, text in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {text}")


def _log_residuals(jaxpr: Jaxpr, halves: Any) -> None:
    """Log what a checkpointed function saves, as a warning where the option log_checkpoint_residuals asks for it."""
    level = logging.WARNING if config.log_checkpoint_residuals.value else logging.DEBUG
    if not logger.isEnabledFor(level):
        return
    forward = halves.forward
    inputs = [v for v, used in zip(forward.invars, halves.used) if used]
    results = forward.outvars[len(forward.outvars) - halves.num_saved :]
    made = _described(forward, results, [""] * len(forward.invars))
    lines = []
    if inputs:
        lines += ["saving inputs with shapes:", *[f"  {v.aval.str_short()}" for v in inputs]]
    if made:
        lines += [f"{'and ' if inputs else ''}saving these intermediates:"]
        lines += [f"  {aval.str_short()} from {text}" for aval, text in made]
    logger.log(level, "remat-decorated function %s", "\n".join(lines))


rematerialization.set_observer(_log_residuals)

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_name_fwd", "print_saved_residuals", "remat", "saved_residuals"]
