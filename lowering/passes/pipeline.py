"""Running passes, and reporting what they did.

A pass is `run(jaxpr, target) -> (jaxpr, notes)`. It returns the jaxpr it was given where it changes nothing. The inputs
stay the same variables, all of them; the outputs stay as many, of the same types.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from xtrace.core import config, source
from xtrace.core.jaxpr import Jaxpr, subjaxprs
from xtrace.lowering.passes import TABLE


class Target(NamedTuple):
    """What a pass may ask about: the platforms, and the values of the first constvars, which the program will hold."""

    platforms: tuple[str, ...]
    constants: Sequence[Any] = ()


class Note(NamedTuple):
    """One change: what was changed, the user's line it belongs to, and why it was."""

    value: str
    position: source.Position | None
    reason: str

    @property
    def where(self) -> str:
        """The user's line."""
        return source.describe(self.position)

    def __str__(self) -> str:
        return f"{self.value}, {self.where}: {self.reason}"


class PassRecord(NamedTuple):
    """What one pass did to one program.

    before, after: the program. error: what the pass raised; it was skipped then.
    """

    name: str
    before: Jaxpr
    after: Jaxpr
    seconds: float
    notes: list[Note]
    error: Exception | None = None

    @property
    def equations_before(self) -> int:
        return count_equations(self.before)

    @property
    def equations_after(self) -> int:
        return count_equations(self.after)

    @property
    def changed(self) -> bool:
        return self.after is not self.before

    def __repr__(self) -> str:
        return f"<pass {_summary(self)}>"


def _summary(record: PassRecord) -> str:
    if record.error is not None:
        return f"{record.name}: skipped, it raised {type(record.error).__name__}: {record.error}"
    counts = f"{record.equations_before} → {record.equations_after} equations"
    changes = f"{len(record.notes)} change{'s' * (len(record.notes) != 1)}"
    return f"{record.name}: {counts}, {changes}, {record.seconds * 1e3:.2f} ms"


class PassReport(NamedTuple):
    """What the passes did to a program: a record of each that ran, in order, and the program that was lowered."""

    name: str
    platforms: tuple[str, ...]
    records: tuple[PassRecord, ...]
    jaxpr: Jaxpr

    @property
    def names(self) -> tuple[str, ...]:
        """The passes that ran."""
        return tuple([r.name for r in self.records])

    @property
    def seconds(self) -> float:
        return sum(r.seconds for r in self.records)

    def of(self, name: str) -> PassRecord:
        """The record of the pass `name`. Raises KeyError if it did not run."""
        for record in self.records:
            if record.name == name:
                return record
        raise KeyError(f"the pass {name} did not run on this program; these did: {', '.join(self.names) or 'none'}")

    def __repr__(self) -> str:
        title = f"passes of {self.name} for {', '.join(self.platforms)}"
        if not self.records:
            return f"<{title}: none>"
        return "\n  ".join([f"<{title}:", *[_summary(r) for r in self.records]]) + ">"

    def text(self) -> str:
        """The program before and after each pass, with what it did and why."""
        helps = {p.name: p.help for p in TABLE}
        parts = []
        if self.records:
            parts.append(f"# before the passes\n{self.records[0].before}")
        for record in self.records:
            lines = [f"# {_summary(record)}", f"# {helps.get(record.name, '')}"]
            lines += [f"#   {note}" for note in record.notes]
            parts.append("\n".join(lines) + (f"\n{record.after}" if record.changed else "\n# the program is unchanged"))
        return "\n\n".join(parts) if parts else "# no pass ran"


def count_equations(jaxpr: Jaxpr) -> int:
    """How many equations a program has, each jaxpr that its equations hold counted once."""
    seen: set[int] = set()

    def walk(jaxprs: Iterator[Jaxpr]) -> int:
        total = 0
        for j in jaxprs:
            if id(j) not in seen:
                seen.add(id(j))
                total += len(j.eqns)
                for eqn in j.eqns:
                    if eqn.primitive.holds_jaxprs:
                        total += walk(subjaxprs(eqn.params))
        return total

    return walk(iter([jaxpr]))


def run(jaxpr: Jaxpr, name: str, target: Target, names: Sequence[str]) -> PassReport:
    """Run the passes `names` on the program called `name`, one after the other.

    A pass that raises is skipped with a warning: the program compiles without it.
    """
    import xtrace.lowering.rules.all  # noqa: F401  (passes may ask whose rules lower an operation)

    records = []
    for pass_name in names:
        before, error, notes = jaxpr, None, []
        start = time.perf_counter()
        try:
            module = importlib.import_module(f"xtrace.lowering.passes.{pass_name}")
            start = time.perf_counter()
            jaxpr, notes = module.run(jaxpr, target)
        except Exception as raised:
            error = raised
            warnings.warn(
                f"the pass {pass_name} is skipped in the program {name}: it raised {type(raised).__name__}: {raised}. "
                f"The program is right without it; jit(..., passes='-{pass_name}') leaves it out without this warning.",
                stacklevel=2,
            )
        seconds = time.perf_counter() - start
        if jaxpr is not before and config.check_jaxprs.value:
            from xtrace.core.check import check_jaxpr

            check_jaxpr(jaxpr)
        records.append(PassRecord(pass_name, before, jaxpr, seconds, notes, error))
    return PassReport(name, target.platforms, tuple(records), jaxpr)


__all__ = ["Note", "PassRecord", "PassReport", "Target", "count_equations", "run"]
