"""Medians, ratios and the table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bench import wanted

Samples = dict[tuple[str, str], dict[str, list[float]]]


@dataclass
class Row:
    """One metric of one case: medians of both sides, in seconds or bytes, their ratio, and the ratio wanted at most."""

    case: str
    metric: str
    ours: float | None
    jax: float | None
    ratio: float | None
    wanted: float | None
    samples: dict[str, list[float]] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the wanted ratio is reached; None where nothing is asked; a case that failed has not reached it."""
        if self.wanted is None:
            return None
        return self.ratio is not None and self.ratio <= self.wanted

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"met": self.met}


def rows(samples: Samples) -> list[Row]:
    """Turn what the workers measured, (case, metric) → side → seconds, into rows in the order of measuring."""
    result = []
    for (case, metric), sides in samples.items():
        ours, jax = (statistics.median(sides[side]) if sides.get(side) else None for side in ("ours", "jax"))
        ratio = ours / jax if ours is not None and jax else None
        result.append(Row(case, metric, ours, jax, ratio, wanted.wanted(case, metric), sides))
    growth = {row.metric: row for row in result if row.case == "growth"}
    if growth:
        last = max(i for i, row in enumerate(result) if row.case == "growth")
        result.insert(last + 1, _growth_of_itself(growth))
    for case in wanted.FUNCTIONS:
        ratios = [row.ratio for row in result if row.case == case and row.wanted and row.ratio is not None]
        if ratios:
            last = max(i for i, row in enumerate(result) if row.case == case)
            metric, median = f"{len(ratios)} functions, median of ratios", statistics.median(ratios)
            result.insert(last + 1, Row(case, metric, None, None, median, wanted.FUNCTIONS_MEDIAN.get(case)))
    for metric in ("compile", "run"):
        ratios = [row.ratio for row in result if row.metric == metric and row.case in wanted.COMPILED_WELL]
        if len(ratios) == len(wanted.COMPILED_WELL) and all(ratios):
            mean = statistics.geometric_mean(ratios)
            limit = wanted.COMPILED_WELL_MEAN if metric == "compile" else None
            result.append(Row("compiled well", f"{metric}, mean of ratios", None, None, mean, limit))
    return result


def summary(result: Iterable[Row]) -> list[Row]:
    """The rows without those of single functions that neither miss what is wanted nor are the highest of their case."""
    result = list(result)
    highest: dict[str, float] = {}
    for row in result:
        if row.case in wanted.FUNCTIONS and row.met is not None and row.ratio is not None and row.jax is not None:
            highest[row.case] = max(highest.get(row.case, 0.0), row.ratio)
    return [
        row
        for row in result
        if row.case not in wanted.FUNCTIONS or not row.met or row.jax is None or row.ratio == highest[row.case]
    ]


def difference(ours: Sequence[np.ndarray], jax: Sequence[np.ndarray]) -> tuple[float, int]:
    """How far apart two programs' results are at most, and at which result.

    A result's differences are relative to its largest value, or to a thousandth of the largest of all results: what
    is zero but for rounding has no digits to compare.
    """
    if [(a.shape, a.dtype) for a in ours] != [(b.shape, b.dtype) for b in jax]:
        return math.inf, 0
    wide = [
        tuple(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in pair) for pair in zip(ours, jax)
    ]
    largest = [float(np.max(np.abs(b), initial=0)) for _, b in wide]
    floor = 1e-3 * max(largest, default=0.0) or 1.0
    apart = [
        0.0 if np.array_equal(a, b, equal_nan=True) else float(np.max(np.abs(a - b))) / max(scale, floor)
        for (a, b), scale in zip(wide, largest)
    ]
    worst = max(range(len(apart)), key=lambda i: math.inf if math.isnan(apart[i]) else apart[i], default=0)
    return (apart[worst] if apart else 0.0), worst


class Spread(NamedTuple):
    """How far from one the ratios of a metric lie, of a library against itself.

    middle, high: the median and the 90th percentile of the distances of the cases' ratios of medians, as in the table
      of a comparison. worst: the largest. round: the median of the distances of single rounds' ratios.
    """

    cases: int
    middle: float
    high: float
    worst: float
    round: float


def _distance(ratio: float) -> float:
    """How far from one, so that a half and two are as far."""
    return max(ratio, 1 / ratio) - 1


def spreads(samples: Samples) -> dict[str, Spread]:
    """The spread by metric of what was measured of one library on both sides; metrics of time only."""
    ratios: dict[str, list[float]] = {}
    single: dict[str, list[float]] = {}
    for (case, metric), sides in samples.items():
        a, b = (sides.get(side, []) for side in ("ours", "jax"))
        if metric == "memory" or not a or not b or min(*a, *b) <= 0:
            continue
        kind = case if case in wanted.FUNCTIONS else metric
        ratios.setdefault(kind, []).append(_distance(statistics.median(a) / statistics.median(b)))
        single.setdefault(kind, []).extend([_distance(x / y) for x, y in zip(a, b)])
    return {
        kind: Spread(
            len(found),
            statistics.median(found),
            float(np.quantile(found, 0.9)),
            max(found),
            statistics.median(single[kind]),
        )
        for kind, found in ratios.items()
    }


def spread_table(found: dict[str, Spread], name: str) -> str:
    """The spreads as text, a line for each metric, in percent."""
    lines = [(f"{name} against itself", "cases", "median", "90%", "worst", "single round")]
    for metric, s in found.items():
        figures = [f"{100 * x:.1f}%" for x in (s.middle, s.high, s.worst, s.round)]
        lines.append((metric, str(s.cases), figures[0], figures[1], figures[2], figures[3]))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        " ".join([x.ljust(w) if i == 0 else x.rjust(w + 1) for i, (x, w) in enumerate(zip(line, widths))])
        for line in lines
    ]
    return "\n".join([texts[0], "-" * len(texts[0]), *texts[1:], ""])


def _growth_of_itself(growth: dict[str, Row]) -> Row:
    """How much dearer an operation gets in a long program, for each side alone: here the ratio is not to JAX."""
    long, short, limit = wanted.GROWTH_OF_ITSELF
    ours, jax = (
        getattr(growth[long], side) / getattr(growth[short], side) if getattr(growth[long], side) else None
        for side in ("ours", "jax")
    )
    return Row("growth", "100,000 against 1,000, of itself", ours, jax, ours, limit)


def seconds(value: float) -> str:
    """A duration with three figures and the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _show(metric: str, value: float | None) -> str:
    """A value in the unit of its metric."""
    if value is None:
        return "" if metric.endswith("of ratios") else "failed"
    if "of itself" in metric:
        return f"{value:.2f}"
    return f"{value / 1024:.1f} KiB" if metric == "memory" else seconds(value)


def table(result: Iterable[Row], name: str) -> str:
    """The rows as text, one line each; a case's name stands on its first line."""
    lines = [("case", "metric", name, "jax", "ratio", "wanted", "")]
    previous = None
    for row in result:
        lines.append(
            (
                row.case if row.case != previous else "",
                row.metric,
                _show(row.metric, row.ours),
                _show(row.metric, row.jax),
                "" if row.ratio is None else f"{row.ratio:.3f}",
                "" if row.wanted is None else f"≤ {row.wanted:.2f}",
                {None: "", True: "ok", False: "missed"}[row.met],
            )
        )
        previous = row.case
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        "  ".join(
            cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join([texts[0].rstrip(), "-" * len(texts[0]), *(text.rstrip() for text in texts[1:])])
