"""The flags debug_nans and debug_infs: which operation made the first bad number, and on which line of the user's.

Results of programs are looked at where a flag is on. For a bad one the program is run again, operation by operation,
and the bad number is followed back from the result to the operation that made it out of good ones: into calls and
branches, and through the steps of loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import config, dtypes, source
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, live_eqns, subjaxprs
from xtrace.core.primitive import shaped
from xtrace.core.trace import current

#: Runs a jaxpr on values as one compiled program.
Runner = Callable[[Jaxpr, Sequence[Any]], Sequence[Any]]


class Origin(NamedTuple):
    """The operation that made a bad number, and the loops, calls and branches around it, innermost first."""

    eqn: JaxprEqn
    inside: tuple[str, ...] = ()


def count_bad(x: Any) -> dict[str, int]:
    """How many NaNs and infinities `x` has, of the kinds that the flags ask for."""
    dtype = shaped(x).dtype
    if not dtypes.is_inexact(dtype):
        return {}
    values = np.asarray(x)
    if dtype.itemsize < 4:
        values = values.astype(np.float32)
    kinds = (("nan", config.debug_nans, np.isnan), ("inf", config.debug_infs, np.isinf))
    counts = {what: int(test(values).sum()) for what, flag, test in kinds if flag.value}
    return {what: n for what, n in counts.items() if n}


def check(name: str, jaxpr: Jaxpr, env: dict[Any, Any] | None, results: Sequence[Any], compiled: Runner) -> None:
    """Raise FloatingPointError for a result of a program that has bad numbers.

    env: the values of the jaxpr's inputs; None where they are gone, because the program has taken over their memory.
    """
    for i, result in enumerate(results):
        counts = count_bad(result)
        if counts:
            what = next(iter(counts))
            told = f"result {i} of {name}, of type {shaped(result).str_short()}, has {counts[what]} of them"
            raise FloatingPointError(_message(name, jaxpr, env, i, what, told, compiled))


def _message(
    name: str, jaxpr: Jaxpr, env: dict[Any, Any] | None, out: int, what: str, told: str, compiled: Runner
) -> str:
    head = f"invalid value ({what}) encountered in "
    if env is None:
        return (
            f"{head}{name}: {told}. Its arguments were donated, so it can't be run again to find the operation: "
            "compile it while the flag is on, and nothing is donated."
        )
    is_bad = _tester(what)
    try:
        with config.debug_nans(False), config.debug_infs(False):
            found = _follow(jaxpr, dict(env), out, is_bad, compiled)
    except Exception as error:  # an operation that only makes sense within its program (a named axis, a callback)
        return f"{head}{name}: {told}. (It could not be run operation by operation: {type(error).__name__}: {error})"
    own = jaxpr.debug_info.code is not None and source.is_own_file.get(jaxpr.debug_info.code.co_filename, False)
    position = current.position or source.here(2)
    if isinstance(found, Origin):
        # Operations of library functions have the line of the call that was traced first: this call's is the one.
        if found.eqn.position is not None and not own:
            position = found.eqn.position
        primal = " in the derivative of the operation" if type(position) is source.Backward else ""
        lines = [f"{head}{found.eqn.primitive.name}{primal} at {source.describe(position)}"]
        lines += [f"  in {where}" for where in found.inside]
        return "\n".join([*lines, f"  ({told})"])
    if jaxpr.debug_info.code is None and len(jaxpr.eqns) == 1:  # an operation by itself
        return f"{head}{name} at {source.describe(position)}: an operand has it already ({told})"
    names = jaxpr.debug_info.arg_names
    came = "a literal or closed-over value of the function"
    if isinstance(found, int):
        came = f"an input, the argument {names[found] if found < len(names) else found}"
    return (
        f"{head}{name} at {source.describe(position)}: {told}. Run operation by operation, the de-optimized function "
        f"did not make a bad number out of good ones: it came with {came} (an input or literal is not checked itself)."
    )


def _tester(what: str) -> Callable[[Any], bool]:
    def is_bad(x: Any) -> bool:
        dtype = shaped(x).dtype
        if not dtypes.is_inexact(dtype):
            return False
        values = np.asarray(x)
        values = values.astype(np.float32) if dtype.itemsize < 4 else values
        return bool((np.isnan if what == "nan" else np.isinf)(values).any())

    return is_bad


#: What following back comes to: an operation, the number of an input, or None (a literal, a constant).
Found = Origin | int | None


def _follow(jaxpr: Jaxpr, env: dict[Any, Any], out: int, is_bad: Callable[[Any], bool], compiled: Runner) -> Found:
    """Where the bad number in output `out` comes from. `env` has the inputs' values."""
    env.update(zip(jaxpr.constvars, jaxpr.consts))
    made_by: dict[Any, JaxprEqn] = {}

    def read(v: Any) -> Any:
        return v.val if type(v) is Literal else env[v]

    for eqn in live_eqns(jaxpr):
        if eqn.effects and not eqn.outvars:
            continue
        result = eqn.primitive.bind(*[read(v) for v in eqn.invars], **eqn.params)
        results = result if eqn.primitive.multiple_results else [result]
        env.update(zip(eqn.outvars, results))
        made_by.update(dict.fromkeys(eqn.outvars, eqn))
    var = jaxpr.outvars[out]
    while type(var) is not Literal:
        eqn = made_by.get(var)  # type: ignore[assignment]
        if eqn is None:
            return jaxpr.invars.index(var) if var in jaxpr.invars else None
        values = [read(v) for v in eqn.invars]
        if eqn.primitive.holds_jaxprs:
            inner = _enter(eqn, values, eqn.outvars.index(var), is_bad, compiled)
            if not isinstance(inner, int):
                return inner or Origin(eqn)
            var = eqn.invars[inner]
            continue
        operand = next((v for v, x in zip(eqn.invars, values) if is_bad(x)), None)
        if operand is None:
            return Origin(eqn)
        var = operand
    return None


def _enter(eqn: JaxprEqn, values: list[Any], out: int, is_bad: Callable[[Any], bool], compiled: Runner) -> Found:
    """`_follow` into an operation that holds jaxprs; the number of an operand where the bad number came with it."""
    params, place = eqn.params, source.describe(eqn.position)
    name = eqn.primitive.name
    if name == "cond":
        branches = params["branches"]
        which = min(max(int(values[0]), 0), len(branches) - 1)
        branch = branches[which]
        found = _follow(branch, dict(zip(branch.invars, values[1:])), out, is_bad, compiled)
        return found + 1 if isinstance(found, int) else _within(found, f"branch {which} of cond at {place}")
    if name == "scan":
        return _scan(params, values, place, is_bad, compiled)
    if name == "while":
        body, lead = params["body_jaxpr"], params["cond_nconsts"]
        consts, carry = values[lead : lead + params["body_nconsts"]], values[lead + params["body_nconsts"] :]
        step = 0
        while bool(compiled(params["cond_jaxpr"], [*values[:lead], *carry])[0]):
            new = compiled(body, [*consts, *carry])
            bad = next((i for i, x in enumerate(new) if is_bad(x)), None)
            if bad is not None:
                found = _follow(body, dict(zip(body.invars, [*consts, *carry])), bad, is_bad, compiled)
                return found + lead if isinstance(found, int) else _within(found, f"step {step} of while at {place}")
            carry, step = list(new), step + 1
        return len(values) - len(carry) + out
    inner = list(subjaxprs(params))
    if len(inner) == 1 and len(inner[0].invars) == len(values) and len(inner[0].outvars) == len(eqn.outvars):
        (jaxpr,) = inner
        if all([v.aval.shape == shaped(x).shape for v, x in zip(jaxpr.invars, values)]):
            found = _follow(jaxpr, dict(zip(jaxpr.invars, values)), out, is_bad, compiled)
            return _within(found, f"{params.get('name', name)}, called at {place}")
    return next((i for i, x in enumerate(values) if is_bad(x)), None)


def _scan(
    params: dict[str, Any], values: list[Any], place: str, is_bad: Callable[[Any], bool], compiled: Runner
) -> Found:
    body, n_consts, n_carry, length = [params[k] for k in ("jaxpr", "num_consts", "num_carry", "length")]
    consts, carry = values[:n_consts], values[n_consts : n_consts + n_carry]
    xs = [np.asarray(x) for x in values[n_consts + n_carry :]]
    for step in reversed(range(length)) if params["reverse"] else range(length):
        args = [*consts, *carry, *[x[step] for x in xs]]
        outs = compiled(body, args)
        bad = next((i for i, x in enumerate(outs) if is_bad(x)), None)
        if bad is not None:
            found = _follow(body, dict(zip(body.invars, args)), bad, is_bad, compiled)
            return _within(found, f"step {step} of {length} of scan at {place}")
        carry = list(outs[:n_carry])
    return None


def _within(found: Found, where: str) -> Found:
    return Origin(found.eqn, (*found.inside, where)) if isinstance(found, Origin) else found
