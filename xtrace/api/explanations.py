"""The report that `debug.explain` makes of the records of a jitted function (`xtrace.api.explaining` keeps them)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from xtrace.api import explaining
from xtrace.api.explaining import Change
from xtrace.core import functions, source

if TYPE_CHECKING:
    from xtrace.api.jit import JitFunction


class CompileReport(NamedTuple):
    """One compilation, as reported: why, where to, and the seconds it took."""

    reason: str
    changes: tuple[Change, ...]
    platform: str
    devices: int
    lowering_seconds: float
    compiling_seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "changes": [c._asdict() for c in self.changes]}


class TraceReport(NamedTuple):
    """One trace, as reported: where it was called, why, at which types, and the seconds it took."""

    file: str | None
    line: int | None
    function: str | None
    reason: str
    changes: tuple[Change, ...]
    arguments: dict[str, str]
    count: int
    tracing_seconds: float
    compiles: tuple[CompileReport, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            **self._asdict(),
            "changes": [c._asdict() for c in self.changes],
            "compiles": [c.to_dict() for c in self.compiles],
        }


class Explanation(NamedTuple):
    """What `explain` returns: print it, or read its fields. `traces` are in order, oldest first.

    num_traces: how often the function was traced, also where the records are no longer kept.
    """

    name: str
    file: str | None
    line: int | None
    num_traces: int
    traces: tuple[TraceReport, ...]

    @property
    def num_compiles(self) -> int:
        return sum([len(t.compiles) for t in self.traces])

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers."""
        return {
            **self._asdict(),
            "num_compiles": self.num_compiles,
            "traces": [t.to_dict() for t in self.traces],
        }

    def to_json(self, **options: Any) -> str:
        """The same as JSON; `options` go to json.dumps."""
        import json  # 3 ms that most programs never need

        return json.dumps(self.to_dict(), **options)

    def __str__(self) -> str:
        place = f" at {self.file}:{self.line}" if self.file else ""
        if not self.num_traces:
            return f"{self.name}{place}: not traced yet"
        lines = [f"{self.name}{place}: {_times(self.num_traces)} traced, {_times(self.num_compiles)} compiled"]
        if len(self.traces) < self.num_traces and len(self.traces) >= explaining.MAX_RECORDS:
            lines.append(f"  (of the earliest traces no records are kept; here are the last {len(self.traces)})")
        for i, t in enumerate(self.traces, 1):
            again = f", {_times(t.count)}" if t.count > 1 else ""
            called = f"{t.file}:{t.line} ({t.function})" if t.file else "an unknown place"
            lines.append(f"  trace {i}, called at {called}{again}, {_milliseconds(t.tracing_seconds)}")
            lines += [f"    {line}" for line in t.reason.split("\n")]
            for c in t.compiles:
                on = c.platform if c.devices == 1 else f"{c.devices} {c.platform} devices"
                cost = f"lowering {_milliseconds(c.lowering_seconds)}, XLA {_milliseconds(c.compiling_seconds)}"
                why = f": {c.reason}" if c.changes else ""
                lines.append(f"    compiled for {on}, {cost}{why}")
        return "\n".join(lines)

    __repr__ = __str__


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def explain(fun: Any) -> Explanation:
    """Report every trace and compilation of a jitted function: from which line, and what in the call was new.

    Args:
      fun: what `jit` returned.

    Returns:
      An `Explanation`: print it, read `.traces` (each with `.file`, `.line`, `.changes`, `.tracing_seconds`,
      `.compiles`), or take `.to_dict()` or `.to_json()`. A change names the argument leaf (`params['w']`) and what is
      new about it: dtype, shape, weak type, static value, structure, flag, sharding, device.

    Raises:
      TypeError: `fun` is not a jitted function.

    Example:
      >>> import xtrace as xt, numpy as np
      >>> from xtrace.debug import explain
      >>> f = xt.jit(lambda x: 2 * x)
      >>> _ = f(np.ones(3)), f(np.ones(4)), f(np.zeros(4))
      >>> [str(change) for change in explain(f).traces[1].changes]
      ['x: shape was (3,), is now (4,)']
    """
    function = getattr(fun, "_function", None)
    if function is None or not hasattr(function, "cache"):
        raise TypeError(f"explain takes a function made by jit, got {fun!r} of type {type(fun).__name__}")
    records: explaining.Records = function.cache.records
    code = functions.code_of(function.fun)
    reports, earlier = [], explaining.Records()
    for record in list(records.traces):
        reports.append(_trace_report(function, record, earlier))
        earlier.traces.append(record)
        earlier.count += record.count
    file, line = (None, None) if code is None else (code.co_filename, code.co_firstlineno)
    return Explanation(function.name, file, line, records.count, tuple(reports))


def _trace_report(function: JitFunction, record: explaining.TraceRecord, earlier: explaining.Records) -> TraceReport:
    names = record.leaf_names()
    changes: list[Change] = []
    near = earlier.nearest(record.signature)
    if near is None:
        reason = "first trace"
        if record.siblings:
            reason += (
                f" of this function object; {record.siblings} other{'s' * (record.siblings > 1)} made from the same "
                "code had been traced before:\ncall jit once, outside of the loop or function that makes them"
            )
    else:
        changes = explaining.differences(near.signature, near.leaf_names(), record.signature, names, record.parameters)
        reason = "\n".join(map(str, changes))
    if record.count > 1:
        reason += f"\n{explaining.dropped(record)}"
    compiles = []
    for i, c in enumerate(record.compiles):
        before = record.compiles[i - 1].placement if i else None
        found = [] if before is None else explaining.placement_changes(before, c.placement, names)
        why = "; ".join(map(str, found)) if before is not None else "first call at these types"
        size = len(c.placement.devices)
        compiles.append(
            CompileReport(why, tuple(found), c.placement.platform, size, c.lowering_seconds, c.compiling_seconds)
        )
    place = source.resolve(record.position)
    arguments = {n: a.str_short() for n, a in zip(names, record.signature.avals)}
    for name, (_, value) in explaining.static_by_name(record.signature.static, record.parameters).items():
        arguments[name] = repr(value)
    where = (None, None, None) if place is None else (place.file, place.line, place.function)
    return TraceReport(*where, reason, tuple(changes), arguments, record.count, record.seconds, tuple(compiles))
