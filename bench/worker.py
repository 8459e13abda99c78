"""Measure one case for one library in this process, and print one JSON object: metric → seconds, or what went wrong.

python -m bench.worker CASE LIBRARY [--values FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench import functions, programs
from bench.programs import Library, chains, classifier

#: Seconds by metric; text where that metric alone failed.
Measurements = dict[str, float | str]


def once(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that one run of `action` takes, and its result."""
    gc.collect()
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def repeated(action: Callable[[], Any], budget: float = 0.15, batches: int = 7) -> float:
    """Median seconds per run over batches that together take about `budget` seconds; the first runs don't count."""
    result = action()
    start = time.perf_counter()
    for _ in range(3):
        result = action()
    estimate = (time.perf_counter() - start) / 3
    count = max(1, int(budget / batches / max(estimate, 1e-7)))
    samples = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(count):
            result = action()
        wait(result)
        samples.append((time.perf_counter() - start) / count)
    return statistics.median(samples)


def wait(result: Any) -> None:
    """Block until every array in `result` is there."""
    match result:
        case tuple() | list():
            for part in result:
                wait(part)
        case dict():
            for part in result.values():
                wait(part)
        case _ if hasattr(result, "block_until_ready"):
            result.block_until_ready()


def each(metrics: dict[str, Callable[[], float]]) -> Measurements:
    """Take independent measurements: one that fails does not cost the others."""
    measured: Measurements = {}
    for name, metric in metrics.items():
        try:
            measured[name] = metric()
        except Exception as error:
            measured[name] = f"{type(error).__name__}: {error}"
    return measured


def fresh_trace(lib: Library, build: Callable[[Library], programs.Program]) -> tuple[float, Any, Any, Any]:
    """Build a program from new function objects and trace it: seconds, traced, the jitted function, its arguments."""
    function, args = build(lib)
    jitted = lib.top.jit(function)
    seconds, traced = once(lambda: jitted.trace(*args))
    return seconds, traced, jitted, args


#: Elements kept of each result, evenly spread.
_KEPT = 1 << 14


def leaves_of(result: Any) -> list[np.ndarray]:
    """The arrays in `result`, in order."""
    match result:
        case tuple() | list():
            return [leaf for part in result for leaf in leaves_of(part)]
        case dict():
            return [leaf for name in sorted(result) for leaf in leaves_of(result[name])]
    return [np.asarray(result)]


def keep(result: Any, path: str) -> None:
    """Write the values that the driver compares between the libraries."""
    flat = [leaf.ravel() for leaf in leaves_of(result)]
    np.savez(path, *[leaf[:: max(1, leaf.size // _KEPT)] for leaf in flat])


def program(name: str, lib: Library, values: str | None = None) -> Measurements:
    """Trace, lower, compile and run one program; the first trace and lowering of the process, and later ones.

    `values` names a file for what the program computes.
    """
    build = programs.PROGRAMS[name]
    first_trace, traced, jitted, args = fresh_trace(lib, build)
    first_lower, lowered = once(traced.lower)
    compile_seconds, compiled = once(lowered.compile)
    placed = lib.top.device_put(args)
    result = jitted(*placed)
    wait(result)
    if values is not None:
        keep(result, values)
    run_seconds = repeated(lambda: wait(jitted(*placed)), budget=0.5)
    traces, lowerings = [], []
    for _ in range(3):
        seconds, traced, _, _ = fresh_trace(lib, build)
        traces.append(seconds)
        lowerings.append(once(traced.lower)[0])
    return {
        "trace, first": first_trace,
        "trace, warm": statistics.median(traces),
        "lower, first": first_lower,
        "lower, warm": statistics.median(lowerings),
        "compile": compile_seconds,
        "run": run_seconds,
        "memory": float(compiled.memory_analysis().temp_size_in_bytes),
    }


def first_call(lib: Library) -> Measurements:
    """One training step from nothing: the driver takes the time of the whole process."""
    function, args = classifier.mlp_adam(lib)
    wait(lib.top.jit(function)(*args))
    return {}


def dispatch(lib: Library) -> Measurements:
    """Calls of programs that are compiled already."""

    def one_array() -> float:
        function = lib.top.jit(lambda x: x + 1)
        x = lib.top.device_put(np.ones(4, np.float32))
        return repeated(lambda: function(x))

    def hundred_leaves() -> float:
        function, args = chains.tree_in_and_out(lib)
        function = lib.top.jit(function)
        (tree,) = lib.top.device_put(args)
        return repeated(lambda: function(tree))

    return each({"one array": one_array, "100 leaves in and out": hundred_leaves})


def eager(lib: Library) -> Measurements:
    """Operations outside jit, on small arrays."""
    top, xnp = lib.top, lib.numpy
    x = top.device_put(np.linspace(0, 1, 16, dtype=np.float32))
    y = top.device_put(np.ones(16, np.float32))
    matrix = top.device_put(np.ones((16, 16), np.float32))
    host = np.ones(16, np.float32)
    actions: dict[str, Callable[[], Any]] = {
        "x + y": lambda: x + y,
        "sin(x)": lambda: xnp.sin(x),
        "dot(m, m)": lambda: xnp.dot(matrix, matrix),
        "x[3]": lambda: x[3],
        "x[2:5]": lambda: x[2:5],
        "x.at[3].set(1.)": lambda: x.at[3].set(1.0),
        "zeros(16)": lambda: xnp.zeros(16),
        "relu(x)": lambda: lib.nn.relu(x),
        "device_put(small)": lambda: top.device_put(host),
        "grad(sin)(1.)": lambda: top.grad(xnp.sin)(1.0),
        "vmap(sin)(x)": lambda: top.vmap(xnp.sin)(x),
        "grad of 20 operations": partial(top.grad(chains.twenty_operations(lib)[0]), x),
    }
    return each({name: partial(repeated, action) for name, action in actions.items()})


def fresh_jit(lib: Library) -> Measurements:
    """jit and trace a one-operation function that has never been seen."""
    xnp = lib.numpy
    x = np.ones(4, np.float32)
    return {"jit and trace": repeated(lambda: lib.top.jit(lambda x: xnp.sin(x)).trace(x))}


def growth(lib: Library) -> Measurements:
    """What an operation costs in programs of growing length, and a leaf in growing trees."""

    def per_operation(build: Callable[..., programs.Program], operations: int) -> float:
        return fresh_trace(lib, partial(build, operations=operations))[0] / operations

    def short() -> float:
        per_operation(chains.numpy_chain, 1_000)  # fills the caches that any program fills
        return statistics.median(per_operation(chains.numpy_chain, 1_000) for _ in range(5))

    def per_leaf() -> float:
        (tree,) = lib.top.device_put((chains.leaves(10_000),))
        touch = lib.top.jit(lambda tree: tree["leaf 0"] + 1, keep_unused=True)
        return repeated(lambda: touch(tree)) / 10_000

    return each(
        {
            "trace per operation, 1,000": short,
            "trace per operation, 100,000": lambda: per_operation(chains.numpy_chain, 100_000),
            "gradient trace per operation, 5,000": lambda: per_operation(chains.chain_gradient, 5_000),
            "dispatch per leaf, 10,000 leaves": per_leaf,
        }
    )


#: How often the functions of a case are gone through.
_PASSES = 3

#: Calls per traced function: enough that starting and ending a trace count for little.
_CALLS = 20


def lowest(actions: dict[str, Callable[[], Any]], budget: float = 0.15) -> Measurements:
    """Seconds per run of many short actions, each the lowest of passes over all of them.

    The actions of one process are measured at different times, so that a load from outside falls on some of them only:
    on few in every pass.
    """
    passes = [each({name: partial(repeated, action, budget / _PASSES, 5) for name, action in actions.items()})]
    working = {name: action for name, action in actions.items() if not isinstance(passes[0][name], str)}
    for _ in range(_PASSES - 1):
        passes.append(each({name: partial(repeated, action, budget / _PASSES, 5) for name, action in working.items()}))
    return {name: min(one[name] for one in passes if name in one) for name in actions}


def functions_eager(lib: Library) -> Measurements:
    """Calls of the most used functions on small arrays, from the second on; and what all the first ones cost."""
    values = functions.arguments(functions.small(lib))
    actions = {name: partial(apply, functions.named(lib, name), values) for name, apply in functions.MOST_USED.items()}
    first = each({name: lambda action=action: once(lambda: wait(action()))[0] for name, action in actions.items()})
    return lowest(actions) | {
        "first calls of all": sum(spent for spent in first.values() if not isinstance(spent, str))
    }


def functions_traced(lib: Library) -> Measurements:
    """What a call of each of the most used functions adds to a trace."""
    values = functions.small(lib)

    def trace(name: str, apply: functions.Call) -> Any:
        function = functions.named(lib, name)

        def calls(values: dict[str, Any]) -> Any:
            tracers = functions.arguments(values)
            return [apply(function, tracers) for _ in range(_CALLS)]

        return lib.top.make_jaxpr(calls)(values)

    measured = lowest({name: partial(trace, name, apply) for name, apply in functions.MOST_USED.items()})
    return {name: took if isinstance(took, str) else took / _CALLS for name, took in measured.items()}


def functions_run(lib: Library) -> Measurements:
    """Heavy functions at real sizes, compiled."""
    values = functions.large(lib)

    def compiled(name: str, apply: functions.Call) -> Callable[[], Any]:
        function = functions.named(lib, name)
        jitted = lib.top.jit(lambda values: apply(function, functions.arguments(values)))
        return lambda: wait(jitted(values))

    return lowest({label: compiled(*heavy) for label, heavy in functions.HEAVY.items()}, budget=0.5)


CASES: dict[str, Callable[[Library], Measurements]] = {
    "first_call": first_call,
    "warm_start": first_call,  # the driver sets a compile cache that has the program
    "dispatch": dispatch,
    "eager": eager,
    "fresh_jit": fresh_jit,
    "growth": growth,
    "functions_eager": functions_eager,
    "functions_traced": functions_traced,
    "functions_run": functions_run,
    **{name: partial(program, name) for name in programs.PROGRAMS},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("library", help="xtrace or jax")
    parser.add_argument("--values", metavar="FILE", help="where to write what a program computes")
    args = parser.parse_args()
    case = CASES[args.case]
    if args.values is not None and args.case in programs.PROGRAMS:
        case = partial(case, values=args.values)
    print(json.dumps(case(Library(args.library))))


if __name__ == "__main__":
    main()
