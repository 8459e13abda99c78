"""Functions with derivative rules of their own: custom_jvp and custom_vjp."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, errors, pytree, signature
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import DebugInfo
from xtrace.core.primitive import as_array, placed, shaped
from xtrace.core.refs import Ref, cannot_return
from xtrace.core.trace import Tracer, current
from xtrace.lax.identities import stop_gradient
from xtrace.runtime import jaxlib_api
from xtrace.transforms import logs, optimized_forward, refs
from xtrace.transforms.custom import CustomCall, CustomJVPCall, CustomVJPCall, StagedBody
from xtrace.transforms.zeros import Zero, instantiate

_flatten = pytree.default_registry.flatten
_trace_context = jaxlib_api.trace_context

#: What rules with symbolic_zeros get for tangents and cotangents known to be zero: `.aval`, `.shape`, `.dtype`.
SymbolicZero = Zero


class CustomVJPPrimal:
    """What a fwd rule with symbolic_zeros gets for each array: its `value`, and whether it is differentiated."""

    __slots__ = ("value", "perturbed")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values in a pytree of CustomVJPPrimal, which a fwd rule with symbolic_zeros gets."""

    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf of type {type(leaf)} in a pytree of CustomVJPPrimal")
        return leaf.value

    return pytree.tree_map(value, tree)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of `val`: an array, or with `symbolic_zeros` a SymbolicZero."""
    zero = Zero(shaped(val).tangent())
    return zero if symbolic_zeros else as_array(instantiate(zero))


def positional_arguments(
    kind: str, fun: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments of a call of a function with rules by position, defaults filled in."""
    found = signature.signature_of(fun)
    if found is None:
        if kwargs:
            raise TypeError(f"{kind} function {name} has no signature to resolve keyword arguments with")
        return args
    try:
        bound = found.bind(*args, **kwargs)
        bound.apply_defaults()
        passed = [k for k in bound.kwargs if k in kwargs]
        if passed:
            raise TypeError(f"The following keyword arguments could not be resolved to positions: {', '.join(passed)}")
    except TypeError as e:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function {name} could not be resolved to positional-only "
            f"arguments, as its rules take them. Binding failed with the error:\n{e}"
        ) from None
    return bound.args


#: Methods that set rules: a function wrapped twice takes those of both kinds.
_RULE_METHODS = frozenset(["def_vmap", "defjvp", "defjvps", "defvjp"])


def forwarded_method(outer: Any, name: str) -> Any:
    """The method `name`, which sets a rule of another kind, of the function with rules inside `outer`."""
    if name in _RULE_METHODS and "fun" in outer.__dict__ and hasattr(type(outer.fun), "__getattr__"):
        return getattr(outer.fun, name)
    raise AttributeError(f"{type(outer).__name__!r} object has no attribute {name!r}")


class _Rules:
    """What custom_jvp and custom_vjp share: the function, and which arguments are Python values."""

    kind = ""
    symbolic_zeros = False

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        if not callable(fun):
            raise TypeError(f"{self.kind} takes a function, got {fun!r} of type {type(fun)}")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.name = signature.fun_name(fun)
        nums = signature.as_tuple(nondiff_argnums, int, "nondiff_argnums")
        names = signature.as_tuple(nondiff_argnames, str, "nondiff_argnames")
        if names:
            positions = {p.name: i for i, p in enumerate(self._parameters())}
            nums += tuple([positions[name] for name in names if name in positions])
        self.nondiff_argnums: tuple[int, ...] = tuple(sorted(set(nums)))
        self._bodies: dict[Any, StagedBody] = {}
        self._plain: int | None = None

    def __getattr__(self, name: str) -> Any:
        return forwarded_method(self, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<{self.kind} function {self.name}>"

    def _parameters(self) -> list[Any]:
        found = signature.signature_of(self.fun)
        return [] if found is None else list(found.parameters.values())

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults filled in: the form that rules take."""
        if not kwargs:
            if self._plain is None:  # how many arguments a call has that needs no defaults; -1: can't say
                parameters = self._parameters()
                self._plain = len(parameters) if all(p.kind in signature._POSITIONAL for p in parameters) else -1
            if len(args) == self._plain:
                return args
        return positional_arguments(self.kind, self.fun, self.name, args, kwargs)

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...], tuple[Any, ...]]:
        """(differentiable arguments, positions of the others, the others)."""
        n = len(args)
        nums = tuple([i % n if i < 0 else i for i in self.nondiff_argnums])
        if any(i >= n for i in nums):
            raise ValueError(
                f"{self.kind} function {self.name} has nondiff_argnums={self.nondiff_argnums} but was called with {n} "
                "arguments"
            )
        return tuple([a for i, a in enumerate(args) if i not in nums]), nums, tuple([args[i] for i in nums])

    def _call(
        self, kind: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[Any], Any, tuple[int, ...], tuple[Any, ...]]:
        """(call without its rules, leaves, tree, positions of the fixed arguments, the fixed arguments)."""
        args = self._positional(args, kwargs)
        nums: tuple[int, ...] = ()
        fixed: tuple[Any, ...] = ()
        if self.nondiff_argnums:
            args, nums, fixed = self._split(args)
            fixed = self._fix(nums, fixed)
        leaves, tree = self._leaves(args)
        holds_refs = refs.has_refs(leaves)
        if holds_refs:
            refs.check_distinct(leaves, lambda: signature.leaf_names(self.fun, args, {}), self.name, self.kind)
            closed = refs.ClosedOver(leaves)
            leaves, tree = closed.leaves, _TreeWithRefs(tree, closed)
        key = None if holds_refs else self._staging_key(tree, fixed)
        box: list[CustomCall] = []
        fun = self._flat_fun(tree, nums, fixed, box)
        bodies = None if key is None else self._bodies
        call = kind(fun, self.name, self.symbolic_zeros, self._debug_info(), bodies, key)
        box.append(call)
        call.holds_refs = holds_refs
        return call, leaves, tree, nums, fixed

    def _fix(self, nums: tuple[int, ...], fixed: tuple[Any, ...]) -> tuple[Any, ...]:
        """The non-differentiable arguments as the rules may have them."""
        raise NotImplementedError

    def _staging_key(self, tree: Any, fixed: tuple[Any, ...]) -> Any:
        """What, beside the arguments' types, the staged function depends on; None if that can't be compared."""
        key = (tree, tuple([(type(x), x) for x in fixed]), _trace_context())
        try:
            hash(key)
        except TypeError:
            return None
        return None if any(isinstance(x, Tracer) for x in fixed) else key

    def _debug_info(self) -> DebugInfo:
        return DebugInfo(self.name, f"{self.kind} fun", code=signature.code_of(self.fun))

    def _leaves(self, args: tuple[Any, ...]) -> tuple[list[Any], Any]:
        leaves, tree = _flatten(args)
        for i, x in enumerate(leaves):
            if getattr(x, "aval", None) is None:
                signature.check_arg(
                    x, lambda i=i: signature.leaf_names(self.fun, args, {})[i], f"{self.kind} function {self.name}"
                )
        return leaves, tree

    def _flat_fun(self, tree: Any, nums: tuple[int, ...], fixed: tuple[Any, ...], box: list[CustomCall]) -> Any:
        fun, name, kind = self.fun, self.name, self.kind

        def flat(*leaves: Any) -> list[Any]:
            outs, out_tree = _flatten(fun(*_insert(tree.unflatten(leaves), nums, fixed)))
            box[0].out_tree = out_tree
            return signature.check_results(outs, out_tree, name, kind)

        return flat


def _insert(args: tuple[Any, ...], nums: tuple[int, ...], fixed: tuple[Any, ...]) -> tuple[Any, ...]:
    """`args` with the values `fixed` put in at positions `nums` of the result."""
    if not nums:
        return args
    rest, values = iter(args), dict(zip(nums, fixed))
    return tuple([values[i] if i in values else next(rest) for i in range(len(args) + len(nums))])


def _rule_name(rule: Any) -> str:
    return signature.fun_name(rule)


def _structure(tree: Any) -> str:
    """A structure as the user writes it, leaves as *."""
    return str(tree).removeprefix("PyTreeDef(").removesuffix(")")


def _typed_structure(tree: Any, values: Sequence[Any]) -> str:
    """A structure as the user writes it, with the types of its leaves where they are known."""
    if len(values) != tree.num_leaves:
        return _structure(tree)
    names = [(v if isinstance(v, ShapedArray) else shaped(v)).str_short(False) for v in values]
    return str(tree.unflatten([_Shown(n) for n in names]))


class _Shown(str):
    """A text that shows without quotes."""

    __repr__ = str.__str__


# -- forward rules -----------------------------------------------------------------------------------------------------


class custom_jvp(_Rules):
    """A function with a forward derivative rule of its own, for all of differentiation.

    Args:
      fun: a function of arrays or pytrees.
      nondiff_argnums, nondiff_argnames: arguments that are Python values (functions, flags); the rule gets them first.

    Returns:
      A function like `fun`, whose methods `defjvp` and `defjvps` set the rule.

    Raises:
      AttributeError: called before a rule is set.
      TypeError: the rule's results don't fit.

    >>> import xtrace as xt
    >>> @xt.custom_jvp
    ... def f(x):
    ...     return x ** 2
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), 10.0 * t
    >>> float(xt.grad(f)(3.0))
    10.0
    """

    kind = "custom_jvp"
    jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: `jvp(*nondiff_args, primals, tangents)` returns (out, out_tangent).

        With `symbolic_zeros`, tangents known to be zero are SymbolicZero objects instead of arrays, and may be
        returned. Returns `jvp`, so that it serves as a decorator.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        self._bodies.clear()
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule by one function for each argument, `(tangent, out, *args) -> term`; None: no derivative."""
        if self.nondiff_argnums:
            raise TypeError(
                f"defjvps can't be used with nondiff_argnums; give custom_jvp function {self.name} one rule with defjvp"
            )

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
            from xtrace.transforms.accumulate import add_tangents

            out = self(*primals)
            terms = [rule(t, out, *primals) for rule, t in zip(jvps, tangents) if rule is not None]
            if not terms:
                return out, pytree.tree_map(zero_from_primal, out)
            return out, functools.reduce(lambda a, b: pytree.tree_map(add_tangents, a, b), terms)

        jvp.__name__ = f"{self.name}_jvp"
        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {self.name} using defjvp.")
        trace = current.trace
        if trace is None:
            return self.fun(*self._positional(args, kwargs))
        call, leaves, tree, _, fixed = self._call(CustomJVPCall, args, kwargs)
        call.rule = _ForwardRule(self.jvp, self, tree, fixed, call)
        outs = trace.process_custom_jvp(call, tuple(leaves))
        return call.out_tree.unflatten(outs)

    def _fix(self, nums: tuple[int, ...], fixed: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([stop_gradient(x) if isinstance(x, Tracer) else x for x in fixed])


class _TreeWithRefs:
    """The structure of arguments of which the references are closed over, and the other leaves passed."""

    __slots__ = ("full", "closed", "num_leaves")

    def __init__(self, full: Any, closed: refs.ClosedOver) -> None:
        self.full = full
        self.closed = closed
        self.num_leaves = len(closed.leaves)

    def unflatten(self, arrays: Sequence[Any]) -> Any:
        return self.full.unflatten(self.closed.restored(arrays))

    def __str__(self) -> str:
        return str(self.full)


class _FlatRule:
    """A rule of the user's, with what it takes to call it on flat lists: the structures on both sides."""

    __slots__ = ("rule", "fun_name", "symbolic_zeros", "tree", "fixed", "call", "__name__")

    def __init__(self, rule: Any, owner: _Rules, tree: Any, fixed: tuple[Any, ...], call: Any) -> None:
        self.rule = rule
        self.fun_name = owner.name
        self.symbolic_zeros = owner.symbolic_zeros
        self.tree = tree
        self.fixed = fixed
        self.call = call
        self.__name__ = _rule_name(rule)


class _ForwardRule(_FlatRule):
    """The user's rule as a flat function (primals, tangents) -> (outs, out_tangents)."""

    __slots__ = ()

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if not self.symbolic_zeros:
            tangents = [_array(instantiate(t)) for t in tangents]
        unflatten = self.tree.unflatten
        pair = self.rule(*self.fixed, unflatten(primals), unflatten(tangents))
        who = f"Custom JVP rule {self.__name__} for function {self.fun_name}"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"{who} must produce a pair (list or tuple of length two) representing primal and tangent outputs, "
                f"but got {pair}."
            )
        outs, out_tree = _flatten(pair[0])
        out_tangents, tangent_tree = _flatten(pair[1])
        if tangent_tree != out_tree:
            raise TypeError(
                f"{who} must produce primal and tangent outputs with equal container (pytree) structures, but got "
                f"{out_tree} and {tangent_tree} respectively."
            )
        if self.call.out_tree is None:
            self.call.out_tree = out_tree
        elif self.call.out_tree != out_tree:
            raise TypeError(
                f"{who} must produce a pair (list or tuple of length two) where the first element represents the "
                f"primal output (equal in value to the output of the custom_jvp-decorated function {self.fun_name}, "
                "and in particular of the same container/pytree structure), but instead the JVP rule output's first "
                f"element had container/pytree structure:\n    {_typed_structure(out_tree, outs)}\n"
                f"while the custom_jvp-decorated function {self.fun_name} had output container/pytree structure:\n"
                f"    {_typed_structure(self.call.out_tree, self.call.out_avals or ())}."
            )
        return outs, [self._tangent(i, o, t, out_tree) for i, (o, t) in enumerate(zip(outs, out_tangents))]

    def _tangent(self, i: int, out: Any, tangent: Any, out_tree: Any) -> Any:
        aval = shaped(out)
        expected = aval.tangent()
        if type(tangent) is Zero:
            return Zero(expected)
        got = shaped(tangent)
        if expected.dtype == dtypes.float0 and got.shape == expected.shape:
            return Zero(expected)
        if got.shape != expected.shape or got.dtype != expected.dtype:
            if type(tangent) in dtypes.PYTHON_SCALARS and not expected.shape:
                return _array(np.asarray(tangent, expected.dtype)[()])
            where = signature.result_names(out_tree)[i]
            raise TypeError(
                "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. "
                f"Expected "
                f"{expected.str_short(False)} (tangent type of {aval.str_short(False)}) but got "
                f"{got.str_short(False)}. That is {where} of the rule {self.__name__} for function {self.fun_name}."
            )
        return _array(tangent)


def _array(x: Any) -> Any:
    """Rules and what follows them get arrays, not scalars of Python or numpy."""
    if getattr(x, "aval", None) is not None or getattr(x, "dtype", None) == dtypes.float0:
        return x
    return as_array(x)


# -- reverse rules -----------------------------------------------------------------------------------------------------


class custom_vjp(_Rules):
    """A function with a reverse derivative rule of its own; forward mode is not available for it.

    Args:
      fun: a function of arrays or pytrees.
      nondiff_argnums, nondiff_argnames: arguments that are Python values (functions, flags), never arrays being traced.
        `fwd` takes them where `fun` does, `bwd` takes them first.

    Returns:
      A function like `fun`, whose method `defvjp` sets the rules.

    Raises:
      AttributeError: called before rules are set.
      TypeError, ValueError: what the rules return doesn't fit.

    >>> import xtrace as xt
    >>> @xt.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda res, g: (xt.lax.min(g, 0.5),))
    >>> float(xt.grad(lambda x: clip_gradient(x) * 3.0)(1.0))
    0.5
    """

    kind = "custom_vjp"
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    optimize_remat = False
    #: Whether bwd returns (cotangents, logs).
    logs = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules.

        Args:
          fwd: takes the arguments of the function, returns (out, residuals).
          bwd: `bwd(*nondiff_args, residuals, out_cotangent)` returns a tuple with a cotangent for each argument; None
            stands for zero.
          symbolic_zeros: `fwd` gets CustomVJPPrimal objects, and `bwd` SymbolicZero for cotangents known to be zero.
          optimize_remat: in a compiled program that reads the results alone, as the forward pass of `checkpoint` does,
            the function itself is computed instead of `fwd`. Not to be had together with symbolic_zeros.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat
        if optimize_remat and symbolic_zeros:
            raise NotImplementedError(
                f"custom_vjp function {self.name}: optimize_remat can't go with symbolic_zeros; set one of them"
            )
        self.logs = False
        self._bodies.clear()

    def defvjp_with_logs(self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False) -> None:
        """Set rules as `defvjp` does, where `bwd` also logs what `vjp_fun.with_logs(cotangent)` returns.

        Args:
          fwd, symbolic_zeros: as for `defvjp`.
          bwd: returns a pair of the tuple of cotangents and a dict of pytrees, or None. Inside scan, entries are
            stacked; inside cond they are dropped.

        >>> import xtrace as xt
        >>> f = xt.custom_vjp(lambda x: x)
        >>> f.defvjp_with_logs(lambda x: (x, None), lambda _, g: ((g,), {"seen": g}))
        >>> out, pull = xt.vjp(f, 1.0)
        >>> pull.with_logs(2.0)[1]
        {'seen': Array(2., dtype=float32, weak_type=True)}
        """
        self.defvjp(fwd, bwd, symbolic_zeros)
        self.logs = True

    defvjps = defvjp

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {self.name} using defvjp.")
        trace = current.trace
        if trace is None:
            out = self.fun(*self._positional(args, kwargs))
            if type(out) is not jaxlib_api.ArrayImpl:
                self._check_no_refs(out)
            return out
        call, leaves, tree, nums, fixed = self._call(CustomVJPCall, args, kwargs)
        call.fwd = _ReverseForward(self.fwd, self, tree, fixed, call, nums)
        avals = tuple([shaped(x) for x in leaves])
        call.bwd = _ReverseBackward(self.bwd, self, tree, fixed, call, avals)
        outs = trace.process_custom_vjp(call, tuple(leaves))
        return call.out_tree.unflatten(outs)

    def _check_no_refs(self, out: Any) -> None:
        """Raise ValueError for a reference among the results of the function, as where it is traced."""
        outs, out_tree = _flatten(out)
        for i, x in enumerate(outs):
            if type(x) is Ref:
                raise cannot_return(x, signature.result_names(out_tree)[i], self.name, self.kind)

    def _fix(self, nums: tuple[int, ...], fixed: tuple[Any, ...]) -> tuple[Any, ...]:
        for i, value in zip(nums, fixed):
            if any(isinstance(x, Tracer) for x in pytree.tree_leaves(value)):
                raise errors.UnexpectedTracerError(
                    f"The custom_vjp function {self.name} got a traced array for its argument number {i}, which "
                    "nondiff_argnums marks as non-differentiable. Such arguments are Python values that rules close "
                    "over, e.g. functions; pass arrays as ordinary arguments, and return None as their cotangent from "
                    "the bwd rule."
                )
        return fixed


class _ReverseForward(_FlatRule):
    """The user's fwd rule as a flat function (primals, perturbed) -> (outs, residuals, residual structure)."""

    __slots__ = ("nums", "optimize_remat")

    def __init__(
        self, rule: Any, owner: custom_vjp, tree: Any, fixed: tuple[Any, ...], call: Any, nums: tuple[int, ...]
    ) -> None:
        super().__init__(rule, owner, tree, fixed, call)
        self.nums = nums
        self.optimize_remat = owner.optimize_remat

    def __call__(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Any]:
        if self.optimize_remat and current.trace is not None and not self.call.holds_refs:
            body = self.call.body(primals)
            if not body.written:
                return optimized_forward.bind(body, self.fun_name, lambda xs: self.run(xs, perturbed), primals)
        return self.run(primals, perturbed)

    def run(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Any]:
        """The rule itself, under the current trace."""
        if self.symbolic_zeros:
            primals = [CustomVJPPrimal(x, p) for x, p in zip(primals, perturbed)]
        pair = self.rule(*_insert(self.tree.unflatten(primals), self.nums, self.fixed))
        name = self.fun_name
        must = (
            f"Custom VJP fwd rule {self.__name__} for function {name} must produce a pair (list or tuple of length "
            "two) where the first element represents the primal output (equal to the output of the "
            f"custom_vjp-decorated function {name}) and the second element represents residuals (i.e. values stored "
            "from the forward pass for use on the backward pass), but instead "
        )
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{must}of a pair the fwd rule {self.__name__} produced {pair}.")
        outs, out_tree = _flatten(pair[0])
        if self.call.out_tree is None:
            self.call.out_tree = out_tree
        elif self.call.out_tree != out_tree:
            raise TypeError(
                f"{must}the fwd rule output's first element had container/pytree structure:\n"
                f"    {_typed_structure(out_tree, outs)}\nwhile the custom_vjp-decorated function {name} had output "
                f"container/pytree structure:\n    {_typed_structure(self.call.out_tree, self.call.out_avals or ())}."
            )
        residuals, residual_tree = _flatten(pair[1])
        self._refuse_refs(outs, out_tree, residuals, pair[1])
        # Residuals may be any objects (names, functions): only arrays travel through programs.
        is_array = tuple([_is_array(r) for r in residuals])
        others = tuple([r for r, a in zip(residuals, is_array) if not a])
        return outs, [r for r, a in zip(residuals, is_array) if a], _Residuals(residual_tree, is_array, others)

    def _refuse_refs(self, outs: Sequence[Any], out_tree: Any, residuals: Sequence[Any], tree: Any) -> None:
        """Raise ValueError for a reference among results, or among residuals where it isn't an argument."""
        who = f"custom_vjp fwd function {self.__name__} of {self.fun_name} returned a mutable array reference of type"
        for i, x in enumerate(outs):
            if type(x) is Ref:
                raise ValueError(
                    f"{who} {x.aval} at {signature.result_names(out_tree)[i]} of its first element, but mutable array "
                    "references cannot be returned there. Return its value, ref[...]."
                )
        if refs.has_refs(residuals):
            given = [*pytree.tree_leaves(self.fixed)]
            if type(self.tree) is _TreeWithRefs:
                given += self.tree.closed.references()
            for path, x in pytree.tree_flatten_with_path(tree)[0]:
                if type(x) is Ref and not any([x is g for g in given]):
                    raise ValueError(
                        f"{who} {x.aval} among its residuals (residuals{pytree.keystr(path)}) that was not an "
                        "argument. Return its value, ref[...], or let the bwd rule close over the reference."
                    )


class _Residuals:
    """The structure of a fwd rule's residuals: where arrays go among the other leaves."""

    __slots__ = ("tree", "is_array", "others")

    def __init__(self, tree: Any, is_array: tuple[bool, ...], others: tuple[Any, ...]) -> None:
        self.tree = tree
        self.is_array = is_array
        self.others = others

    def unflatten(self, arrays: Sequence[Any]) -> Any:
        if not self.others:
            return self.tree.unflatten(arrays)
        it, others = iter(arrays), iter(self.others)
        return self.tree.unflatten([next(it) if a else next(others) for a in self.is_array])


def _is_array(x: Any) -> bool:
    if type(x) is Ref:  # stays itself: it's for the bwd rule to read or write
        return False
    if getattr(x, "aval", None) is not None:
        return True
    try:
        shaped(x)
        return True
    except TypeError:
        return False


class _ReverseBackward(_FlatRule):
    """The user's bwd rule as a flat function (residual structure, residuals, cotangents) -> cotangents."""

    __slots__ = ("avals", "logs")

    def __init__(
        self, rule: Any, owner: Any, tree: Any, fixed: tuple[Any, ...], call: Any, avals: tuple[ShapedArray, ...]
    ) -> None:
        super().__init__(rule, owner, tree, fixed, call)
        self.avals = avals
        self.logs = owner.logs

    def __call__(self, info: _Residuals, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        if not self.symbolic_zeros:
            cotangents = [_array(instantiate(c)) for c in cotangents]
            if not any([isinstance(x, Tracer) for x in (*residuals, *cotangents)]):
                # Under a trace scalars stay numbers, for they become literals; but Python's 1.0 / 0.0 is an error.
                cotangents = [c if getattr(c, "dtype", None) == dtypes.float0 else placed(c) for c in cotangents]
        with logs.into(None):  # derivatives that the rule itself takes log nothing
            result = self.rule(*self.fixed, info.unflatten(residuals), self.call.out_tree.unflatten(cotangents))
        if self.logs:
            result, entries = pair_with_logs(result, f"Custom VJP bwd rule {self.__name__} for {self.fun_name}")
            logs.log(entries)
        if isinstance(result, list):
            result = tuple(result)
        leaves, result_tree = pytree.none_leaf_registry.flatten(result)
        expanded: list[Any] = []
        tree = self.tree
        full = tree.full if type(tree) is _TreeWithRefs else tree
        if not isinstance(result, tuple) or not _match(expanded, result_tree, full, iter(leaves)):
            raise TypeError(
                f"Custom VJP bwd rule {self.__name__} for function {self.fun_name} must produce an output with the "
                "same container (pytree) structure as the args tuple of the primal function, and in particular must "
                "produce a tuple of length equal to the number of arguments to the primal function, but got bwd "
                f"output structure {_structure(pytree.tree_structure(result))} for primal input structure "
                f"{_structure(full)}."
            )
        if type(tree) is _TreeWithRefs:
            expanded = tree.closed.arrays_of(expanded)
        return [self._cotangent(i, c, a) for i, (c, a) in enumerate(zip(expanded, self.avals))]

    def _cotangent(self, i: int, ct: Any, aval: ShapedArray) -> Any:
        expected = aval.tangent()
        if ct is None or expected.dtype == dtypes.float0:
            return Zero(expected)
        symbolic = type(ct) is Zero
        got = ct.aval if symbolic else shaped(ct)
        if got.shape != aval.shape:
            dummy = self.tree.unflatten(range(self.tree.num_leaves))
            path = pytree.keystr(pytree.tree_flatten_with_path(dummy)[0][i][0])
            hint = (
                " That is a SymbolicZero of another argument's type. Consider just returning a None here."
                if symbolic
                else ""
            )
            raise ValueError(
                "Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal "
                f"function, but at output{path} the bwd rule attached to {self.fun_name} ({self.__name__}) produced an "
                f"output of type {got.str_short(False)} corresponding to an input of type {aval.str_short(False)}, so "
                f"the shapes do not match.{hint}"
            )
        if symbolic:
            return Zero(expected)
        if got.dtype == dtypes.float0:
            return Zero(expected)
        if got.dtype != expected.dtype:
            from xtrace.lax import shapes

            return shapes.convert(_array(ct), expected.dtype, False)
        return _array(ct)


def pair_with_logs(result: Any, who: str) -> tuple[Any, dict[Any, Any] | None]:
    """What a rule that logs returned: (cotangents, logs). Raises TypeError if it is something else."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(f"{who} must produce a pair (cotangents, logs), but it returned {result}.")
    cotangents, entries = result
    if entries is not None and not isinstance(entries, dict):
        raise TypeError(
            f"{who} must produce, as the second element of its pair, None or a dict of logs, but got "
            f"{type(entries).__name__}."
        )
    return cotangents, entries


def _match(out: list[Any], given: Any, full: Any, leaves: Any) -> bool:
    """Line up what bwd returned with the arguments' leaves: what is no container stands for all leaves of a subtree."""
    node = given.node_data()
    if node is None:
        leaf = next(leaves)
        out += [leaf] * full.num_leaves
        return True
    if node != full.node_data():
        return False
    ours, theirs = given.children(), full.children()
    return len(ours) == len(theirs) and all([_match(out, g, f, leaves) for g, f in zip(ours, theirs)])


__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]
