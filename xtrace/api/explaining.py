"""Why a jitted function was traced and compiled: records kept where it happens (`explanations` reports them).

A record holds what the cache key holds anyway (types, structure, static values) and a code position. Names, lines and
differences are worked out when somebody asks. What is kept of one function is bounded and dies with it.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from xtrace.core import config, errors, functions, pytree, source

if TYPE_CHECKING:
    from xtrace.api.jit import Call, JitFunction
    from xtrace.runtime.program import Executable, Placement

logger = logging.getLogger("xtrace.tracing")

#: Traces of one function of which the records are kept; the counts go on.
MAX_RECORDS = 256

_no_tracing = config.no_tracing.state
_log_compiles = config.log_compiles.state
_explain_misses = config.explain_cache_misses.state

#: How many jitted functions of the same code have been traced: a function made anew for each call shows up here.
_functions_of_code: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


class Change(NamedTuple):
    """One part of a signature that is new.

    where: an argument leaf (`params['w']`), a static argument, a flag, or empty for the call as a whole.
    what: dtype, weak type, shape, static value, structure, flag, named axes, mesh, sharding, device, or cache.
    """

    where: str
    what: str
    before: str
    now: str

    def __str__(self) -> str:
        if self.what == "cache":
            return self.now
        subject = f"{self.where}: {self.what}" if self.where else self.what
        return f"{subject} was {self.before}, is now {self.now}"


class Signature(NamedTuple):
    """What a trace is kept by."""

    in_tree: Any
    avals: tuple[Any, ...]
    static: Any
    context: Any


class CompileRecord(NamedTuple):
    """One compilation: what for, and what it took."""

    placement: Placement
    lowering_seconds: float
    compiling_seconds: float


class TraceRecord:
    """One signature that was traced, how often, and what was compiled of it."""

    __slots__ = ("signature", "position", "names", "parameters", "seconds", "count", "siblings", "compiles")

    def __init__(self, given: Signature, position: Any, siblings: int) -> None:
        self.signature = given
        self.position = position
        #: Names of the leaves, or what makes them.
        self.names: Sequence[str] | Callable[[], Sequence[str]] = ()
        self.parameters: tuple[str, ...] = ()
        self.seconds = 0.0
        self.count = 1
        #: Functions of the same code that had been traced before the first trace of this one.
        self.siblings = siblings
        self.compiles: list[CompileRecord] = []

    def leaf_names(self) -> list[str]:
        if callable(self.names):
            self.names = list(self.names())
        return list(self.names)

    def compiled(self, executable: Executable) -> None:
        """Note that an executable was made of this trace."""
        if len(self.compiles) < MAX_RECORDS:
            record = CompileRecord(executable.placement, executable.program.seconds, executable.seconds)
            self.compiles.append(record)


class Records:
    """What was traced of one function with one set of options."""

    __slots__ = ("traces", "count")

    def __init__(self) -> None:
        self.traces: deque[TraceRecord] = deque(maxlen=MAX_RECORDS)
        self.count = 0

    def nearest(self, given: Signature) -> TraceRecord | None:
        """The earlier trace that has most in common with this signature; the later of two."""
        best, least = None, 1 << 30
        for record in self.traces:
            distance = _distance(record.signature, given)
            if distance <= least:
                best, least = record, distance
        return best


def _distance(a: Signature, b: Signature) -> int:
    """How many parts of two signatures differ."""
    other = (a.static != b.static) + (a.context != b.context)
    if a.in_tree != b.in_tree or len(a.avals) != len(b.avals):
        return 1000 + other
    pairs = [(x, y) for x, y in zip(a.avals, b.avals) if x is not y]
    return sum([part(x) != part(y) for x, y in pairs for part in _PARTS.values()]) + other


class timed_trace:
    """Context manager around the tracing of one call: makes its record, and raises where no more traces are allowed."""

    __slots__ = ("function", "record", "start")

    def __init__(self, function: JitFunction, call: Call, key: tuple[Any, ...]) -> None:
        self.function = function
        records = function.cache.records
        given = Signature(*key)
        position = source.here(3)
        if _no_tracing.value and not function.transparent:
            raise RuntimeError(
                f"re-tracing function {functions.described(function.fun)} for `jit`, called at "
                f"{source.describe(position)}, but 'no_tracing' is set"
            )
        limit = function.options.max_traces
        if limit is not None and records.count >= limit:
            raise _over_limit(function, call, given, position, limit)
        again = next((r for r in reversed(records.traces) if r.signature == given), None)
        if _explain_misses.value:
            lines = "\n  ".join(_reasons(function, records, given, again, function.leaf_names(call)))
            logger.warning("TRACING CACHE MISS at %s because:\n  %s", source.describe(position), lines)
        records.count += 1
        if again is not None:
            again.count += 1
            self.record = again
            return
        siblings = 0
        if records.count == 1:
            code = functions.code_of(function.fun)
            if code is not None:
                siblings = _functions_of_code.get(code, 0)
                _functions_of_code[code] = siblings + 1
        self.record = TraceRecord(given, position, siblings)
        self.record.parameters = functions.parameter_names(functions.code_of(function.fun))
        records.traces.append(self.record)

    def __enter__(self) -> TraceRecord:
        self.start = time.perf_counter()
        return self.record

    def __exit__(self, *exc: object) -> None:
        seconds = time.perf_counter() - self.start
        self.record.seconds += seconds
        level = logging.WARNING if _log_compiles.value else logging.DEBUG
        logger.log(level, "Finished tracing %s for jit in %.9f sec", self.function.name, seconds)


def _over_limit(
    function: JitFunction, call: Call, given: Signature, position: Any, limit: int
) -> errors.TraceLimitError:
    records = function.cache.records
    again = next((r for r in reversed(records.traces) if r.signature == given), None)
    lines = [
        f"{function.name} has been traced {records.count} time{'s' * (records.count != 1)}, and max_traces={limit} "
        "allows no more.",
        f"  called at  {source.describe(position)}",
    ]
    lines += [f"  {line}" for line in _reasons(function, records, given, again, function.leaf_names(call))]
    lines.append(
        "Instead: call it with arguments of the types it was traced for (pad shapes to a few sizes, keep dtypes, pass "
        "changing numbers as arrays and not as static arguments), or allow more with max_traces."
    )
    return errors.TraceLimitError("\n".join(lines))


# -- reasons ---------------------------------------------------------------------------------------------------------


def _reasons(
    function: JitFunction, records: Records, given: Signature, again: TraceRecord | None, names: list[str]
) -> list[str]:
    """Why a call with this signature has to be traced, line by line."""
    where = functions.described(function.fun)
    if not records.traces and not records.count:
        return [f"never seen function: {where}"]
    if again is not None:
        return [f"for {where}", "  " + str(dropped(again))]
    near = records.nearest(given)
    if near is None:
        return [f"for {where}", "  the records of its earlier traces were dropped"]
    changes = differences(near.signature, near.leaf_names(), given, names, near.parameters)
    head = f"for {where}, compared with its nearest trace (at {source.describe(near.position)}):"
    return [head, *[f"  {c}" for c in changes]]


def dropped(record: TraceRecord) -> Change:
    told = (
        "this signature was traced before, but not kept: the function closes over values of a trace around it, or "
        "caches were cleared"
    )
    return Change("", "cache", "", told)


def differences(
    before: Signature, before_names: Sequence[str], now: Signature, names: Sequence[str], parameters: Sequence[str] = ()
) -> list[Change]:
    """The parts of the signature `now` that differ from `before`."""
    out: list[Change] = []
    if before.in_tree != now.in_tree:
        out += _tree_changes(before, before_names, now, names)
    else:
        for i, (a, b) in enumerate(zip(before.avals, now.avals)):
            if a is not b:
                out += _aval_changes(names[i] if i < len(names) else f"argument {i}", a, b)
    if before.static != now.static:
        out += _static_changes(before.static, now.static, parameters)
    if before.context != now.context:
        out += _context_changes(before.context, now.context)
    return out or [Change("", "cache", "", "the signatures compare as different, but show no difference")]


class _Side(NamedTuple):
    """A part of a signature's structure, with the names and types of its leaves."""

    tree: Any
    names: Sequence[str]
    avals: Sequence[Any]

    def children(self) -> list[_Side]:
        out, start = [], 0
        for child in self.tree.children():
            end = start + child.num_leaves
            out.append(_Side(child, self.names[start:end], self.avals[start:end]))
            start = end
        return out

    def is_leaf(self) -> bool:
        return bool(pytree.treedef_is_strict_leaf(self.tree))

    def name(self) -> str | None:
        """What the call's argument says for this part; None where no leaf tells."""
        if not self.names:
            return None
        ((path, _), *_) = pytree.tree_flatten_with_path(self.tree.unflatten(self.names))[0]
        return self.names[0].removesuffix(pytree.keystr(path))

    def shown(self) -> str:
        if self.is_leaf():
            return str(self.avals[0].str_short())
        data = self.tree.node_data()
        if data is None or data[0] is type(None):
            return "None"
        kind, n = data[0].__name__, len(self.tree.children())
        if isinstance(data[1], (list, tuple)) and len(data[1]) == n and issubclass(data[0], dict):
            return f"a {kind} with keys {', '.join(map(repr, data[1]))}" if n else f"an empty {kind}"
        return f"a {kind} of {n}"


def _tree_changes(
    before: Signature, before_names: Sequence[str], now: Signature, names: Sequence[str]
) -> Iterator[Change]:
    sides = _Side(before.in_tree, before_names, before.avals), _Side(now.in_tree, names, now.avals)
    if any([len(side.names) != side.tree.num_leaves for side in sides]):
        yield Change("", "structure", str(before.in_tree), str(now.in_tree))
        return
    yield from _part_changes(*sides)


def _part_changes(old: _Side, new: _Side) -> Iterator[Change]:
    """What differs between the same part of two calls, which may have become another kind of thing."""
    if old.is_leaf() and new.is_leaf():
        if old.avals[0] is not new.avals[0]:
            yield from _aval_changes(new.names[0], old.avals[0], new.avals[0])
        return
    a, b = old.tree.node_data(), new.tree.node_data()
    if old.is_leaf() or new.is_leaf() or a is None or b is None or a[0] is not b[0]:
        if old.tree != new.tree:
            yield Change(new.name() or old.name() or "", "structure", old.shown(), new.shown())
        return
    olds, news = old.children(), new.children()
    keyed = isinstance(a[1], list) and isinstance(b[1], list)
    if keyed:
        was, now = dict(zip(a[1], olds)), dict(zip(b[1], news))
    else:
        was, now = dict(enumerate(olds)), dict(enumerate(news))
    found = False
    for key in {**was, **now}:
        before, after = was.get(key), now.get(key)
        for change in (
            _absent_changes(before, after) if before is None or after is None else _part_changes(before, after)
        ):
            found = True
            yield change
    if not found and old.tree != new.tree:  # what a registered container holds beside its children
        yield Change(new.name() or old.name() or "", "structure", str(old.tree), str(new.tree))


def _absent_changes(before: _Side | None, after: _Side | None) -> Iterator[Change]:
    side = after if before is None else before
    assert side is not None
    for name, aval in zip(side.names, side.avals):
        shown = aval.str_short()
        yield Change(name, "structure", *(("absent", shown) if before is None else (shown, "absent")))


def _aval_changes(name: str, a: Any, b: Any) -> Iterator[Change]:
    count = 0
    for what, part in _PARTS.items():
        x, y = part(a), part(b)
        if x != y:
            count += 1
            yield Change(name, what, str(x), str(y))
    if not count:
        yield Change(name, "type", str(a), str(b))


_PARTS: dict[str, Callable[[Any], Any]] = {
    "dtype": lambda a: getattr(a, "dtype", type(a).__name__),
    "shape": lambda a: getattr(a, "shape", None),
    "weak type": lambda a: getattr(a, "weak_type", None),
    "sharding": lambda a: getattr(a, "sharding", None),
}


def _static_changes(before: Any, now: Any, parameters: Sequence[str]) -> Iterator[Change]:
    old, new = static_by_name(before, parameters), static_by_name(now, parameters)
    for name in {**old, **new}:
        a, b = old.get(name), new.get(name)
        if a != b:
            shown = [("absent" if x is None else repr(x[1])) for x in (a, b)]
            if shown[0] == shown[1] and a is not None and b is not None:
                same_type = a[0] is b[0]
                note = " (not equal: its class defines no __eq__ and __hash__ by value)" if same_type else ""
                shown = [shown[0] if same_type else f"{shown[0]} ({a[0].__name__})", shown[1] + note]
                shown[1] += "" if same_type else f" ({b[0].__name__})"
            yield Change(name, "static value", *shown)


def static_by_name(static: Any, parameters: Sequence[str]) -> dict[str, tuple[type, Any]]:
    """Static arguments, which are keyed by position or name, as name -> (type, value)."""
    return {_static_name(key, parameters): (kind, value) for key, kind, value in static or ()}


def _static_name(key: Any, parameters: Sequence[str]) -> str:
    if isinstance(key, int):
        return parameters[key] if key < len(parameters) else f"argument {key}"
    return str(key)


def _context_changes(before: Any, now: Any) -> Iterator[Change]:
    names = [f"jax_{f.name}" for f in config.config.flags.values() if f.in_trace_context]
    rest = len(before) - len(names)
    names += [("mesh", "abstract mesh")[i] if i < 2 else f"context {i}" for i in range(rest)]
    for name, a, b in zip(names, before, now):
        if a != b and name == "jax_mapped_axes":
            shown = [", ".join([f"{n!r} of size {size}" for n, size in axes]) or "none" for axes in (a, b)]
            yield Change("", "named axes", *shown)
        elif a != b:
            what = "flag" if name.startswith("jax_") else "mesh"
            yield Change(name, what, str(a), str(b))


def placement_changes(before: Placement, now: Placement, names: Sequence[str]) -> list[Change]:
    out = []
    if before.devices != now.devices:
        out.append(Change("", "device", *[", ".join(map(str, p.devices[:4])) for p in (before, now)]))
    shardings = before.arg_shardings, now.arg_shardings
    if shardings[0] is not None and shardings[1] is not None:
        for i, (a, b) in enumerate(zip(*shardings)):
            if a != b:
                out.append(Change(names[i] if i < len(names) else f"argument {i}", "sharding", str(a), str(b)))
    elif not out and before.sharding != now.sharding:
        out.append(Change("", "sharding", str(before.sharding), str(now.sharding)))
    if before.committed != now.committed and not out:
        words = {True: "committed to their device", False: "uncommitted"}
        out.append(Change("", "arguments", words[before.committed], words[now.committed]))
    if before.out_shardings != now.out_shardings and not out:
        out.append(Change("results", "sharding", str(before.out_shardings), str(now.out_shardings)))
    return out
