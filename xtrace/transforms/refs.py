"""References in staged programs: values go in when a program is bound, last values come out and are written back.

`trace_to_jaxpr(..., threads_refs=True)` gives a jaxpr in which references that the function closes over are constvars,
their consts CapturedRefs, and last values of the written ones are outputs at the end. Here is what its callers do with
it: calls (jit, checkpoint, custom rules) resolve the consts and write the last outputs back; loops carry the written
values; branches of conditionals return those that any of them writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xtrace.core import refs
from xtrace.core.jaxpr import Jaxpr
from xtrace.core.refs import AbstractRef, CapturedRef, Ref
from xtrace.core.trace import Tracer, current
from xtrace.transforms.batching import move_axis


def captures(consts: Sequence[Any]) -> bool:
    """Whether there are references among the consts of a staged function."""
    return any([type(c) is CapturedRef for c in consts])


def resolved(consts: Sequence[Any]) -> list[Any]:
    """Consts with the present values of the references among them."""
    return [refs.read(c.ref) if type(c) is CapturedRef else c for c in consts]


def transient(consts: Sequence[Any]) -> bool:
    """Whether what a program closes over belongs to a trace, so that it is good for this time only."""
    return any([isinstance(c, Tracer) or type(c) is CapturedRef and c.ref.owner is not None for c in consts])


def write_back(written: Sequence[Any], values: Sequence[Any]) -> None:
    """Set the references behind CapturedRefs to the last outputs of a program."""
    for c, value in zip(written, values):
        refs.write(c.ref, value)


def call_results(written: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
    """The results of a call without the last values of written references, which are written back."""
    if not written:
        return outs
    n = len(outs) - len(written)
    write_back(written, outs[n:])
    return outs[:n]


class ClosedOver:
    """Leaves of a call with the references taken out: functions that stage their arguments close over references.

    leaves: the arrays. restored(arrays): all leaves.
    """

    __slots__ = ("leaves", "_all", "_is_ref")

    def __init__(self, leaves: Sequence[Any]) -> None:
        self._all = list(leaves)
        self._is_ref = [isinstance(x, Ref) for x in leaves]
        self.leaves = [x for x, r in zip(leaves, self._is_ref) if not r]

    def arrays_of(self, leaves: Sequence[Any]) -> list[Any]:
        """Of one value for each leaf, those for arrays."""
        return [x for x, r in zip(leaves, self._is_ref) if not r]

    def references(self) -> list[Any]:
        return [x for x, r in zip(self._all, self._is_ref) if r]

    def restored(self, arrays: Sequence[Any]) -> list[Any]:
        it = iter(arrays)
        return [x if r else next(it) for x, r in zip(self._all, self._is_ref)]


Names = Callable[[], Sequence[str]]


def check_distinct(leaves: Sequence[Any], names: Names, name: str, traced_for: str) -> dict[Any, int]:
    """The positions of the references among leaves. Raises ValueError where two are the same."""
    seen: dict[Any, int] = {}
    for i, x in enumerate(leaves):
        if type(x) is Ref:
            if x in seen:
                raise ValueError(
                    "only one reference to a mutable array may be passed as an argument to a function, but when "
                    f"tracing {name} for {traced_for} the mutable array reference of type {x.aval} appeared at both "
                    f"{names()[seen[x]]} and {names()[i]}. Pass it once."
                )
            seen[x] = i
    return seen


def has_refs(leaves: Sequence[Any]) -> bool:
    """Whether there are references among the leaves of a call."""
    return any([type(x) is Ref for x in leaves])


def mark_rules() -> None:
    """Note that the function being staged hands a reference to a rule, which may write to it in the backward pass."""
    trace: Any = current.trace
    if trace is not None and trace.ref_cells is not None:
        trace.refs_in_rules = True


def differentiated_inline(rules_hold_refs: bool) -> bool:
    """Whether a call of a program, in which rules hold references, is to be made operation by operation.

    A rule that writes to a reference in the backward pass must find the reference itself, not a value in a program.
    """
    if not rules_hold_refs:
        return False
    trace: Any = current.trace
    if trace is None:
        return False
    if trace.ref_cells is not None:
        trace.refs_in_rules = True
        return False
    return True


# -- jit: references are arguments -----------------------------------------------------------------------------------


class OpenedArgs:
    """A flat function of arrays that makes references of some of its arguments while it is staged."""

    __slots__ = ("fun", "positions", "kinds", "names", "written")

    def __init__(
        self, fun: Callable[..., list[Any]], positions: Sequence[int], avals: Sequence[Any], names: Names
    ) -> None:
        self.fun = fun
        self.positions = positions
        self.kinds = [avals[i].kind for i in positions]
        self.names = names
        #: Positions of the references that the function wrote.
        self.written: list[int] = []

    def __call__(self, *leaves: Any) -> list[Any]:
        args = list(leaves)
        for i, kind in zip(self.positions, self.kinds):
            args[i] = refs.argument(args[i], lambda i=i: self.names()[i], kind)  # type: ignore[misc]
        outs = self.fun(*args)
        self.written = [i for i in self.positions if args[i].cell.written]
        return [*outs, *[args[i].cell.value for i in self.written]]


class RefPlan(NamedTuple):
    """How references go through a jitted program, whose inputs are the call's leaves and then the closed-over values.

    positions: leaves that are references. closed: those closed over. written: of both, as positions among the inputs;
    their last values are the outputs after the first `num_outs`.
    """

    positions: tuple[int, ...]
    closed: tuple[Ref, ...]
    written: tuple[int, ...]
    num_outs: int

    def values(self, leaves: Sequence[Any], names: Names, name: str) -> list[Any]:
        """All inputs. Raises ValueError where two of the references are the same."""
        seen = check_distinct(leaves, names, name, "jit")
        for ref in self.closed:
            if ref in seen:
                raise ValueError(
                    f"when calling {name}, a mutable array reference of type {ref.aval} was both closed over and "
                    f"passed as the argument {names()[seen[ref]]}. Use the argument in the function, or don't pass it."
                )
        inputs = list(leaves)
        for i in self.positions:
            if isinstance(leaves[i], Ref):
                inputs[i] = refs.read(leaves[i])
        return [*inputs, *[refs.read(r) for r in self.closed]]

    def results(self, leaves: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        """The function's own results; the others are written back."""
        everything = [*leaves, *self.closed]
        for i, value in zip(self.written, outs[self.num_outs :]):
            refs.write(everything[i], value)
        return outs[: self.num_outs]


def ref_positions(avals: Sequence[Any]) -> tuple[int, ...]:
    """Where references are among the types of a call's leaves."""
    return tuple([i for i, a in enumerate(avals) if type(a) is AbstractRef])


def inner_avals(avals: Sequence[Any]) -> list[Any]:
    """Types of arrays, those that references hold in place of theirs."""
    return [a.inner_aval if type(a) is AbstractRef else a for a in avals]


def planned(jaxpr: Jaxpr, positions: Sequence[int], written: Sequence[int]) -> tuple[Jaxpr, RefPlan]:
    """The jaxpr of a jitted function with the references it closes over as inputs at the end, and its plan."""
    n = len(jaxpr.invars)
    moved = [i for i, c in enumerate(jaxpr.consts) if type(c) is CapturedRef]
    place = {const: n + j for j, const in enumerate(moved)}
    kept = [i for i in range(len(jaxpr.consts)) if i not in place]
    made = jaxpr.replace(
        constvars=[jaxpr.constvars[i] for i in kept],
        consts=[jaxpr.consts[i] for i in kept],
        invars=[*jaxpr.invars, *[jaxpr.constvars[i] for i in moved]],
        debug_info=jaxpr.debug_info.replace(
            arg_names=lambda: (*jaxpr.debug_info.arg_names, *[f"closed-over reference {j}" for j in range(len(moved))])
        ),
    )
    made.refs_in_rules = jaxpr.refs_in_rules
    all_written = (*written, *[place[i] for i in jaxpr.written_refs])
    num_outs = len(jaxpr.outvars) - len(all_written)
    return made, RefPlan(tuple(positions), tuple([jaxpr.consts[i].ref for i in moved]), all_written, num_outs)


class MappedRefs:
    """A flat function over mapped references: inside, each is a reference to one element of what it holds."""

    __slots__ = ("fun", "outer", "dims", "mapped", "leaves", "names")

    def __init__(
        self, fun: Callable[..., list[Any]], leaves: Sequence[Any], dims: Sequence[int | None], names: Names, name: str
    ) -> None:
        check_distinct(leaves, names, name, "vmap")
        self.fun = fun
        self.names = names
        self.outer = leaves
        self.dims = dims
        self.mapped = [i for i, x in enumerate(leaves) if type(x) is Ref and dims[i] is not None]
        self.leaves = [refs.read(x) if i in self.mapped else x for i, x in enumerate(leaves)]

    def __call__(self, *leaves: Any) -> list[Any]:
        args = list(leaves)
        for i in self.mapped:
            args[i] = refs.argument(args[i], lambda i=i: self.names()[i], self.outer[i].kind)  # type: ignore[misc]
        outs = self.fun(*args)
        return [*outs, *[args[i].cell.value for i in self.mapped]]

    def results(self, outs: list[Any], found: list[Any], size: int) -> tuple[list[Any], list[Any]]:
        """The function's own results; last values of the references are written back, mapped as they were."""
        n = len(outs) - len(self.mapped)
        for i, value, dim in zip(self.mapped, outs[n:], found[n:]):
            refs.write(self.outer[i], move_axis(value, dim, self.dims[i], size))  # type: ignore[arg-type]
        return outs[:n], found[:n]


# -- derivatives with respect to what references hold ----------------------------------------------------------------


class DifferentiatedRefs:
    """A flat function of references to be differentiated with respect to what they hold first.

    values: its arguments, for references what they hold. It returns their last values after its own results.
    """

    __slots__ = ("fun", "outer", "where", "values", "names")

    def __init__(self, fun: Callable[..., list[Any]], leaves: Sequence[Any], names: Names, name: str) -> None:
        check_distinct(leaves, names, name, "vjp")
        self.fun = fun
        self.outer = leaves
        self.where = [i for i, x in enumerate(leaves) if type(x) is Ref]
        self.values = [refs.read(x) if type(x) is Ref else x for x in leaves]
        self.names = names

    def __call__(self, *leaves: Any) -> list[Any]:
        args = list(leaves)
        for i in self.where:
            args[i] = refs.argument(args[i], lambda i=i: self.names()[i])  # type: ignore[misc]
        outs = self.fun(*args)
        return [*outs, *[args[i].cell.value for i in self.where]]

    def results(self, outs: Sequence[Any]) -> list[Any]:
        """The function's own results; the references get their last values."""
        n = len(outs) - len(self.where)
        for i, value in zip(self.where, outs[n:]):
            refs.write(self.outer[i], value)
        return list(outs[:n])


# -- loops and branches ----------------------------------------------------------------------------------------------


def carried(jaxpr: Jaxpr, num_consts: int, written: Sequence[int]) -> Jaxpr:
    """A loop's body with written references carried in front.

    It takes (other consts, their values, the rest) and returns (their last values, the rest).
    """
    kept = [v for i, v in enumerate(jaxpr.invars[:num_consts]) if i not in written]
    values = [jaxpr.invars[i] for i in written]
    n = len(jaxpr.outvars) - len(written)
    invars = [*kept, *values, *jaxpr.invars[num_consts:]]
    return Jaxpr([], invars, [*jaxpr.outvars[n:], *jaxpr.outvars[:n]], jaxpr.eqns, jaxpr.effects, jaxpr.debug_info)
