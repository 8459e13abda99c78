"""jit: trace a function once per signature, compile it once per placement, call it through jaxlib's C++ path."""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.api import explaining, stages
from xtrace.api.struct import ShapeDtypeStruct
from xtrace.core import config, functions, monitoring, pytree, pytree_prefixes, signature, source
from xtrace.core.errors import UnexpectedTracerError
from xtrace.core.jaxpr import DebugInfo, Jaxpr, eval_jaxpr
from xtrace.core.trace import Tracer, current
from xtrace.lowering import passes as pass_table
from xtrace.runtime import dispatch, jaxlib_api, layouts
from xtrace.runtime.program import Executable, LoweredProgram, Placement, placement_of
from xtrace.transforms import refs
from xtrace.transforms.call import jit_p
from xtrace.transforms.placement import constraining_sharding
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr

_flatten = pytree.default_registry.flatten
_trace_context = jaxlib_api.trace_context
#: jit's own signatures compiled on the C++ path, for all functions together.
_fast_cache = jaxlib_api.PjitFunctionCache(capacity=8192)


#: Signatures of one function that are kept; beyond it the oldest is dropped.
_MAX_SIGNATURES = 4096


class _Unspecified:
    """Default of in_shardings and out_shardings: the arguments and the compiler decide."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED = _Unspecified()


class TracedProgram:
    """A function traced at one signature: its jaxpr, result structure, and the programs compiled of it."""

    __slots__ = ("jaxpr", "out_tree", "closed", "operands", "executables", "lowered", "cacheable", "record", "refs")

    def __init__(self, jaxpr: Jaxpr, out_tree: Any, plan: refs.RefPlan | None = None) -> None:
        self.jaxpr = jaxpr
        self.out_tree = out_tree
        #: The jaxpr and operands for a call inside another trace.
        self.closed, self.operands = closed_call_operands(jaxpr)
        self.executables: dict[Any, Executable] = {}
        #: What it closes over belongs to a trace outside: good for this call only.
        self.cacheable = not any(isinstance(c, Tracer) for c in jaxpr.consts)
        #: How mutable references go through it; None where there are none.
        self.refs = plan
        if plan is not None and any(r.owner is not None for r in plan.closed):
            self.cacheable = False
        self.record: explaining.TraceRecord


class _Options:
    """What a call of jit was given, checked and in order."""

    __slots__ = (
        "static_argnums", "static_argnames", "donate_argnums", "donate_argnames", "keep_unused", "device", "inline",
        "in_shardings", "out_shardings", "compiler_options", "max_traces",
        "passes",
    )  # fmt: skip

    def __init__(self, fun: Callable[..., Any], **given: Any) -> None:
        infer = signature.infer_argnums_and_argnames
        self.static_argnums, self.static_argnames = infer(
            fun, given["static_argnums"], given["static_argnames"], "static"
        )
        self.donate_argnums, self.donate_argnames = infer(
            fun, given["donate_argnums"], given["donate_argnames"], "donate"
        )
        both = set(self.static_argnums) & set(self.donate_argnums)
        if both:
            raise ValueError(f"arguments {sorted(both)} of {signature.fun_name(fun)} are both static and donated")
        self.keep_unused = bool(given["keep_unused"])
        self.inline = bool(given["inline"])
        self.device = given["device"]
        if given["backend"] is not None:
            if self.device is not None:
                raise ValueError("jit takes a device or a backend, not both")
            from xtrace.runtime import backends

            self.device = backends.devices(given["backend"])[0]
        self.in_shardings = given["in_shardings"]
        self.out_shardings = given["out_shardings"]
        self.compiler_options = dict(given["compiler_options"]) if given["compiler_options"] else None
        self.max_traces = given["max_traces"]
        if self.max_traces is not None and (not isinstance(self.max_traces, int) or self.max_traces < 1):
            raise ValueError(f"max_traces must be a positive int or None, got {self.max_traces!r}")
        self.passes = pass_table.words(given["passes"], "passes of jit")

    def key(self) -> tuple[Any, ...]:
        """Hashable form: functions jitted with equal options share what was compiled."""
        return tuple([_hashable(getattr(self, name)) for name in self.__slots__])


def _hashable(x: Any) -> Any:
    try:
        hash(x)
        return x
    except TypeError:
        leaves, tree = pytree.tree_flatten(x)
        return (tuple(leaves), tree)


class _Cache:
    """All that was traced of one function with one set of options. Holds no reference to the function."""

    __slots__ = ("programs", "records", "__weakref__")

    def __init__(self) -> None:
        self.programs: dict[Any, TracedProgram] = {}
        self.records = explaining.Records()


_caches: weakref.WeakKeyDictionary[Callable[..., Any], dict[Any, _Cache]] = weakref.WeakKeyDictionary()


def _cache_of(fun: Callable[..., Any], key: Any) -> _Cache:
    """The cache shared by every jit of the same function object with the same options."""
    try:
        by_options = _caches.get(fun)
        if by_options is None:
            by_options = _caches.setdefault(fun, {})
        cache = by_options.get(key)
        if cache is None:
            cache = by_options.setdefault(key, _Cache())  # atomic: two threads share one
        return cache
    except TypeError:  # unhashable, or without weak references: the wrapper keeps its own
        return _Cache()


class Call:
    """One call of a jitted function, taken apart: static values, dynamic leaves, their avals."""

    __slots__ = ("args", "kwargs", "static_nums", "static_key", "leaves", "in_tree", "avals")


class JitFunction:
    """The Python side of a jitted function: what C++ asks when it has no compiled program for a call."""

    #: Under a trace the function is just called, its operations recorded one by one (composite functions).
    transparent = False

    def __init__(self, fun: Callable[..., Any], options: _Options) -> None:
        self.fun = fun
        self.options = options
        self.name = signature.fun_name(fun)
        self.cache = _cache_of(fun, options.key())

    # -- taking a call apart -----------------------------------------------------------------------------------

    def parse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        options = self.options
        call = Call()
        call.args, call.kwargs = args, kwargs
        call.static_nums = ()
        call.static_key = None
        dynamic_args: Sequence[Any] = args
        dynamic_kwargs = kwargs
        if options.static_argnums or options.static_argnames:
            call.static_nums = signature.resolve_argnums(options.static_argnums, len(args))
            static = []
            for i in call.static_nums:
                value = signature.check_hashable_static(self.fun, f"number {i}", args[i])
                static.append((i, type(value), value))
            for name in options.static_argnames:
                if name in kwargs:
                    value = signature.check_hashable_static(self.fun, name, kwargs[name])
                    static.append((name, type(value), value))
            call.static_key = tuple(static)
            dynamic_args = tuple([a for i, a in enumerate(args) if i not in call.static_nums])
            dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in options.static_argnames}
        call.leaves, call.in_tree = _flatten((dynamic_args, dynamic_kwargs))
        avals = []
        for i, x in enumerate(call.leaves):
            aval = getattr(x, "aval", None)
            if aval is None:
                aval = signature.check_arg(x, lambda i=i: self.leaf_names(call)[i], f"jit of {self.name}")
            avals.append(aval)
        call.avals = tuple(avals)
        return call

    def leaf_names(self, call: Call) -> list[str]:
        kwargs = {k: v for k, v in call.kwargs.items() if k not in self.options.static_argnames}
        return signature.leaf_names(self.fun, call.args, kwargs, call.static_nums)

    # -- tracing -----------------------------------------------------------------------------------------------

    def traced(self, call: Call) -> TracedProgram:
        """The program of this call's signature, traced now if it is the first of its kind."""
        key = (call.in_tree, call.avals, call.static_key, _trace_context())
        programs = self.cache.programs
        program = programs.get(key)
        if program is None:
            with explaining.timed_trace(self, call, key) as record:
                program = self.trace(call)
            program.record = record
            info = program.jaxpr.debug_info
            record.names = lambda: info.arg_names
            if program.cacheable:
                if len(programs) >= _MAX_SIGNATURES:
                    programs.pop(next(iter(programs)))
                programs[key] = program
        return program

    def trace(self, call: Call) -> TracedProgram:
        fun, in_tree, static_nums = self.fun, call.in_tree, call.static_nums
        static_args = [call.args[i] for i in static_nums]
        static_kwargs = {k: v for k, v in call.kwargs.items() if k in self.options.static_argnames}
        out_trees = []
        n_args = len(call.args)

        reference = _weak_reference(fun)  # the cache lives as long as the function: it must not keep it alive

        def names() -> list[str]:
            try:  # of the structure of the call, without its arrays
                positional, by_name = in_tree.unflatten([_Leaf] * in_tree.num_leaves)
            except Exception:  # a class of the user's that looks at its contents
                return [f"argument leaf {i}" for i in range(in_tree.num_leaves)]
            dynamic = iter(positional)
            args = [None if i in static_nums else next(dynamic) for i in range(n_args)]
            return signature.leaf_names(reference(), args, by_name, static_nums)

        def flat(*leaves: Any) -> list[Any]:
            args, kwargs = in_tree.unflatten(leaves)
            if static_nums or static_kwargs:
                dynamic, static = iter(args), iter(static_args)
                args = [next(static) if i in static_nums else next(dynamic) for i in range(n_args)]
                kwargs = {**kwargs, **static_kwargs}
            outs, out_tree = _flatten(fun(*args, **kwargs))
            out_trees.append(out_tree)
            return signature.check_results(outs, out_tree, self.name, "jit")

        positions = refs.ref_positions(call.avals)
        avals: Sequence[Any] = call.avals
        opened = None
        if positions:
            avals, opened = refs.inner_avals(avals), refs.OpenedArgs(flat, positions, avals, names)
        info = DebugInfo(self.name, "jit", names, lambda: signature.result_names(out_trees[0]), signature.code_of(fun))
        start = time.perf_counter()
        jaxpr = trace_to_jaxpr(opened or flat, avals, info, threads_refs=True)
        monitoring.record_event_duration_secs(
            "/jax/core/compile/jaxpr_trace_duration", time.perf_counter() - start, fun_name=self.name
        )
        if opened is None and not jaxpr.refs_in_rules and not refs.captures(jaxpr.consts):
            return TracedProgram(jaxpr, out_trees[0])
        jaxpr, plan = refs.planned(jaxpr, positions, opened.written if opened else ())
        return TracedProgram(jaxpr, out_trees[0], plan)

    # -- calling -----------------------------------------------------------------------------------------------

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Called by C++ for a signature that it can't run: (result, data for the next time, no removal)."""
        tracing = current.trace is not None
        if tracing and self.transparent:
            return self.fun(*args, **kwargs), None, False
        call = self.parse(args, kwargs)
        if not tracing:
            for x in call.leaves:
                if isinstance(x, Tracer):  # its trace is over, or set aside: a custom rule's closed-over value
                    raise UnexpectedTracerError(x)
                elif type(x) is ShapeDtypeStruct:
                    raise TypeError(
                        f"{self.name} was called with a ShapeDtypeStruct, which has no values: call it with arrays, or "
                        "use .lower(...) or .eval_shape(...) to look at it without running it."
                    )
        program = self.traced(call)
        if program.refs is not None:
            if tracing and refs.differentiated_inline(program.jaxpr.refs_in_rules):
                return self.fun(*args, **kwargs), None, False
            return self.call_with_refs(program, call), None, False
        if tracing:
            return self.call_traced(program, call), None, False
        executable = self.executable(program, call)
        result = program.out_tree.unflatten(executable.call(call.leaves))
        return result, executable.fastpath(result) if program.cacheable else None, False

    def call_traced(self, program: TracedProgram, call: Call) -> Any:
        """The call inside another trace: it stays a call in the jaxpr, unless jit was told to inline it."""
        return program.out_tree.unflatten(self.traced_results(program, call))

    def traced_results(self, program: TracedProgram, call: Call) -> Any:
        operands = [*program.operands, *call.leaves]
        if self.options.inline:
            return eval_jaxpr(program.closed, (), *operands)
        return jit_p.bind(*operands, jaxpr=program.closed, name=self.name)

    def call_with_refs(self, program: TracedProgram, call: Call, executable: Executable | None = None) -> Any:
        """A call of a program that reads or writes mutable references."""
        plan = program.refs
        assert plan is not None
        opened = self.opened(program, call)
        if current.trace is not None:
            outs = self.traced_results(program, opened)
        else:
            outs = (executable or self.executable(program, opened)).call(opened.leaves)
        return program.out_tree.unflatten(plan.results(call.leaves, outs))

    def opened(self, program: TracedProgram, call: Call) -> Call:
        """The call with all inputs of a program with references among its leaves, their values in place of them."""
        plan = program.refs
        if plan is None:
            return call
        opened = Call()
        opened.args, opened.kwargs, opened.static_nums = call.args, call.kwargs, call.static_nums
        opened.static_key, opened.in_tree = call.static_key, call.in_tree
        opened.leaves = plan.values(call.leaves, lambda: self.leaf_names(call), self.name)
        opened.avals = tuple(program.jaxpr.in_avals)
        return opened

    def placement(self, call: Call, program: TracedProgram) -> Placement:
        """Where the call runs, and the shardings that jit was told of."""
        options = self.options
        if options.in_shardings is UNSPECIFIED and options.out_shardings is UNSPECIFIED:
            constraint = constraining_sharding(program.jaxpr)
            if constraint is None or options.device is not None:
                return placement_of(call.leaves, options.device)
            return self._constrained(placement_of(call.leaves), constraint, call)
        ins = _spread(
            options.in_shardings,
            pytree.tree_structure(call.in_tree.unflatten(call.avals[: call.in_tree.num_leaves])[0]),
            "in_shardings",
        )
        ins += [None] * (len(call.leaves) - len(ins))  # keyword arguments have none
        outs = _spread(options.out_shardings, program.out_tree, "out_shardings")
        outs += [None] * (len(program.jaxpr.outvars) - len(outs))  # last values of references
        ins, arg_layouts = layouts.split(ins)
        outs, out_layouts = layouts.split(outs)
        given = next((s for s in (*ins, *outs) if s is not None), options.device)
        placement = placement_of(call.leaves, given)._replace(arg_layouts=arg_layouts, out_layouts=out_layouts)
        if placement.arg_shardings is None:
            return placement
        ins = [own if s is None else s for own, s in zip(placement.arg_shardings, ins)]
        return placement._replace(arg_shardings=tuple(ins), out_shardings=tuple(outs))

    def _constrained(self, placement: Placement, constraint: Any, call: Call) -> Placement:
        """The placement of a program that holds values to the sharding `constraint`."""
        if not placement.committed:
            return placement_of(call.leaves, constraint)
        if set(placement.devices) != constraint.device_set:
            raise ValueError(
                f"{self.name} holds values to {constraint}, but its arguments are committed to "
                f"{[str(d) for d in placement.devices]}. Put them on the devices of the mesh with device_put"
            )
        return placement

    def executable(self, program: TracedProgram, call: Call) -> Executable:
        placement = self.placement(call, program)
        key = (placement, self.passes((placement.platform,)))
        found = program.executables.get(key)
        if found is None:
            lowered = self.lower(program, call, (placement.platform,), placement)
            found = program.executables[key] = Executable(lowered, placement, self.options.compiler_options)
            program.record.compiled(found)
        return found

    def passes(self, platforms: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the passes that a program for these platforms goes through."""
        return pass_table.selected(self.options.passes, platforms)

    def lower(
        self, program: TracedProgram, call: Call, platforms: tuple[str, ...], placement: Placement | None = None
    ) -> LoweredProgram:
        return LoweredProgram(
            program.jaxpr,
            self.name,
            platforms,
            donated=self.donated(call),
            keep_unused=self.options.keep_unused,
            **({} if placement is None else placement.of_values()),
            passes=self.passes(platforms),
        )

    def donated(self, call: Call) -> list[bool]:
        """For each leaf, whether its argument is donated."""
        options = self.options
        if not options.donate_argnums and not options.donate_argnames:
            return []
        if config.debug_nans.value or config.debug_infs.value:  # a bad result is looked into by running again
            return []
        given = signature.resolve_argnums(options.donate_argnums, len(call.args))
        out: list[bool] = []
        for i, arg in enumerate(call.args):
            if i not in call.static_nums:
                out += [i in given] * len(_flatten(arg)[0])
        for name in sorted(k for k in call.kwargs if k not in options.static_argnames):
            out += [name in options.donate_argnames] * len(_flatten(call.kwargs[name])[0])
        return out + [False] * (len(call.leaves) - len(out))  # values of references that it closes over


def _weak_reference(fun: Callable[..., Any]) -> Callable[[], Any]:
    try:
        return weakref.ref(fun)
    except TypeError:  # such a function has no entry in the shared cache
        return lambda: fun


def _spread(given: Any, tree: Any, option: str) -> list[Any]:
    """One sharding, or None, for each leaf of `tree`."""
    if given is UNSPECIFIED or given is None:
        return [None] * tree.num_leaves
    return pytree_prefixes.flatten_prefix(given, tree, f"jit {option}")  # type: ignore[no-any-return]


class _LeafType:
    """Stands for an array where only the structure of a call matters."""


_Leaf = _LeafType()


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
    max_traces: int | None = None,
    passes: str | Sequence[str] | None = None,
) -> Any:
    """Compile a function of arrays with XLA: it is traced once per signature, then runs as one program.

    Args:
      fun: a function whose arguments and results are arrays, numbers, or pytrees of them. Without it, a decorator
        with the other options is returned.
      in_shardings, out_shardings: placement of arguments and results, pytree prefixes of shardings.
      static_argnums, static_argnames: arguments that are Python values, part of the signature; each is inferred
        from the other where only one is given. They must be hashable.
      donate_argnums, donate_argnames: arguments whose memory results may take over; don't use them after the call.
      keep_unused: pass unused arguments to the program instead of dropping them.
      device, backend: where to run; by default where the arguments are.
      inline: inside another trace, write the operations out instead of a call.
      compiler_options: XLA options by name.
      max_traces: how many signatures may be traced; a call that would need one more raises. None: any number.
      passes: names of the passes that prepare the program for the compiler; "all", () for none, or None: those that
        the flag `passes` says. Inside another jitted function, the outermost one decides.

    Returns:
      A function with the same arguments and results, with `.trace`, `.lower`, `.eval_shape` and `.clear_cache`.

    Raises:
      TypeError: an argument is no array, or the options are of the wrong type.
      ValueError: options name arguments that `fun` doesn't have, or a static argument can't be hashed.
      TraceLimitError: a call needs one more trace than `max_traces` allows; the message says what is new about it.

    >>> import xtrace as xt
    >>> @xt.jit
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    Array(42, dtype=int32, weak_type=True)
    """
    given = dict(locals())
    given.pop("fun")
    if fun is None:
        return functools.partial(jit, **given)
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}: jit takes a function")
    function = JitFunction(fun, _Options(fun, **given))
    options = function.options
    key = (options.key(),)
    try:
        hash(key)
        weakref.ref(fun)
        hash(fun)
        target: Callable[..., Any] = fun
    except TypeError:
        key = (id(function),)
        target = functools.partial(fun)
    wrapped = jaxlib_api.pjit(
        function.name,
        target,
        source.boundary(function.miss),
        list(options.static_argnums),
        list(options.static_argnames),
        key,
        pytree.dispatch_registry,
        dispatch.shard_arg,
        _fast_cache,
    )
    functools.update_wrapper(wrapped, fun)
    wrapped._function = function
    wrapped.trace = functools.partial(stages.trace_call, function)
    wrapped.lower = functools.partial(stages.lower_call, function)
    wrapped.eval_shape = functools.partial(stages.eval_shape_call, function)
    wrapped.clear_cache = functools.partial(_clear_cache, function, weakref.ref(wrapped))
    return wrapped


def jit_composite(fun: Callable[..., Any], static_argnames: tuple[str, ...] | None = None) -> Any:
    """`jit` for composite functions: compiled outside any trace, plain Python inside."""
    wrapped = jit(fun, static_argnames=static_argnames)
    wrapped._function.transparent = True
    return wrapped


def _clear_cache(function: JitFunction, wrapped: Any) -> None:
    """Forget what was traced and compiled."""
    function.cache.programs.clear()
    target = wrapped()
    if target is not None:
        jaxlib_api.clear_pjit_cache(target)


def clear_caches() -> None:
    """Forget everything that was traced and compiled, of all functions."""
    for by_options in list(_caches.values()):
        for cache in by_options.values():
            cache.programs.clear()
    functions.clear_caches()
    _fast_cache.clear()


__all__ = ["UNSPECIFIED", "JitFunction", "clear_caches", "jit", "jit_composite"]
