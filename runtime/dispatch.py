"""Eager operations: each primitive with its parameters is a small compiled program behind jaxlib's C++ call path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core import refs
from xtrace.core.jaxpr import DebugInfo, Jaxpr, JaxprEqn, Var, no_effects, subjaxprs
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.pytree import dispatch_registry
from xtrace.core.trace import Tracer
from xtrace.runtime import jaxlib_api
from xtrace.runtime.program import Executable, LoweredProgram, placement_of

#: Shared by all eager operations: how many (operation, signature) pairs stay compiled on the fast path.
_cache = jaxlib_api.PjitFunctionCache(capacity=8192)


def evaluate(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run one application of `primitive` on concrete values. What `Primitive.bind` does outside any trace."""
    key = tuple(params.items()) if params else None
    if primitive.holds_jaxprs:
        return _evaluate_jaxprs(primitive, args, params, key)
    try:
        run = primitive.eager_cache.get(key)
    except TypeError:  # an unhashable parameter
        return _runner(primitive, params)(*args)
    if run is None:
        if len(primitive.eager_cache) > 4096:
            primitive.eager_cache.clear()
        run = primitive.eager_cache[key] = primitive.impl_for(params) or _runner(primitive, params)
    return run(*args)


def apply_compiled(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run a primitive as a compiled program, whether or not it has an `impl` (which may be made of this)."""
    key = ("compiled", *params.items())
    run = primitive.eager_cache.get(key)
    if run is None:
        run = primitive.eager_cache[key] = _runner(primitive, params)
    return run(*args)


def _evaluate_jaxprs(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any], key: Any) -> Any:
    """What is compiled of a primitive that holds jaxprs lives as long as they do."""
    for jaxpr in subjaxprs(params):
        programs = jaxpr.memo(("eager", primitive), dict)
        run = programs.get(key)
        if run is None:
            run = programs[key] = primitive.impl_for(params) or _runner(primitive, params)
        return run(*args)
    return _runner(primitive, params)(*args)


def _runner(primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
    """The C++ callable that runs `primitive` with `params`."""
    executables: dict[Any, Executable] = {}

    def miss(*args: Any) -> tuple[Any, Any, bool]:
        for a in args:
            if isinstance(a, Tracer):
                # Nothing is being traced, so the tracer's trace is over, or set aside.
                from xtrace.core import errors

                raise errors.UnexpectedTracerError(a)
        avals = tuple([shaped(a) for a in args])
        for a in avals:
            if type(a) is refs.AbstractRef:
                raise refs.not_an_array(a)
        placement = placement_of(args)
        key = (avals, placement)
        executable = executables.get(key)
        if executable is None:
            if len(executables) >= 256:  # C++ keeps the recent ones
                executables.clear()
            jaxpr = one_equation(primitive, avals, params)
            program = LoweredProgram(
                jaxpr,
                primitive.name,
                (placement.platform,),
                keep_unused=True,
                arg_shardings=placement.arg_shardings,
            )
            executable = executables[key] = Executable(program, placement)
        outs = executable.call(args)
        result = outs if primitive.multiple_results else outs[0]
        return result, executable.fastpath(result), False

    def run_in_python(*args: Any) -> Any:  # what C++ calls under disable_jit
        return miss(*args)[0]

    key = (primitive.name, id(primitive), id(miss))
    return jaxlib_api.pjit(primitive.name, run_in_python, miss, [], [], key, dispatch_registry, shard_arg, _cache)


def shard_arg(x: Any, sharding: Any, layout: Any) -> Any:
    """C++ hands over here the arguments that it can't place by itself."""
    from xtrace.runtime import transfers

    return transfers.put(x, shaped(x), sharding, False)


def one_equation(primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]) -> Jaxpr:
    """The jaxpr that applies `primitive` once."""
    out = primitive.out_aval(avals, params)
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in out] if primitive.multiple_results else [Var(out)]
    effects = no_effects if primitive.effects is None else primitive.effects(avals, params)
    eqn = JaxprEqn(primitive, invars, outvars, params, None, effects)
    return Jaxpr([], invars, outvars, [eqn], effects, DebugInfo(primitive.name))
