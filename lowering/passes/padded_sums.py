"""Sums of padded parts: a sum of arrays that are zero but for a part each, the parts apart, is their concatenation.

The transpose of taking slices out of a stacked array: each slice's cotangent is padded to the whole array, and all are
added, which takes time and kernels quadratic in their number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, literal
from xtrace.lax.joining import concatenate_p
from xtrace.lax.shapes import broadcast_in_dim_p
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target

#: Fewer terms are left to the compiler.
FEWEST = 3


class _Part(NamedTuple):
    """A term of a sum: `value`, at `start` of `axis` of an array that is zero elsewhere."""

    axis: int
    start: int
    stop: int
    value: Any


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with such sums as concatenations, bodies of loops and branches too."""
    notes: list[Note] = []
    return _concatenated(jaxpr, notes), notes


def _concatenated(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    if bodies.count_of(jaxpr, ("pad",)) < FEWEST and not bodies.any_held(jaxpr):
        return jaxpr
    sums: dict[Any, list[_Part]] = {}
    inner: set[Any] = set()  # sums that are terms of another sum and nothing else
    changed: dict[int, list[JaxprEqn]] = {}
    uses: dict[Any, int] | None = None
    for i, eqn in enumerate(jaxpr.eqns):
        name = eqn.primitive.name
        if name == "pad":
            part = _part_of(eqn)
            if part is not None:
                sums[eqn.outvars[0]] = [part]
        elif name == "add_any" or name == "add":
            if not sums:
                continue
            a, b = eqn.invars
            if type(a) is Literal or type(b) is Literal or a not in sums or b not in sums:
                continue
            if uses is None:
                uses = bodies.count_reads(jaxpr)
            if uses[a] == uses[b] == 1 and sums[a][0].axis == sums[b][0].axis:
                inner.update((a, b))
                longer, shorter = (a, b) if len(sums[a]) >= len(sums[b]) else (b, a)
                sums[longer] += sums[shorter]  # in place: nobody else reads it
                sums[eqn.outvars[0]] = sums[longer]
        elif eqn.primitive.holds_jaxprs:
            made = bodies.rewritten(eqn, _body)
            if made is not eqn:
                changed[i] = [made]
    whole = {v: parts for v, parts in sums.items() if len(parts) >= FEWEST and v not in inner}
    if whole:
        for i, eqn in enumerate(jaxpr.eqns):
            parts = whole.get(eqn.outvars[0]) if eqn.outvars else None
            if parts is not None:
                made_eqns = _concatenation(eqn, parts)
                if made_eqns is not None:
                    changed[i] = made_eqns
                    if notes is not None:
                        notes.append(
                            Note(f"a sum of {len(parts)} padded parts", eqn.position, "they are apart: concatenated")
                        )
    if not changed:
        return jaxpr
    eqns: list[JaxprEqn] = []
    for i, eqn in enumerate(jaxpr.eqns):
        eqns += changed.get(i) or [eqn]
    return bodies.without_dead(bodies.with_eqns(jaxpr, eqns))


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("padded sums", lambda: _concatenated(jaxpr, None))


def _part_of(eqn: JaxprEqn) -> _Part | None:
    """A pad equation as a part, if it puts an array into zeros along one axis."""
    operand, fill = eqn.invars
    if type(fill) is not Literal or fill.val != 0 or type(operand) is Literal:
        return None
    config = eqn.params["padding_config"]
    padded = [i for i, (low, high, inside) in enumerate(config) if low or high or inside]
    if len(padded) != 1:
        return None
    (axis,) = padded
    low, high, inside = config[axis]
    if inside or low < 0 or high < 0:
        return None
    return _Part(axis, low, low + operand.aval.shape[axis], operand)


def _concatenation(eqn: JaxprEqn, parts: list[_Part]) -> list[JaxprEqn] | None:
    """Equations that compute the sum `eqn` of these parts, or None if they overlap."""
    (out,) = eqn.outvars
    axis, whole = parts[0].axis, out.aval
    made: list[JaxprEqn] = []
    pieces: list[Any] = []
    end = 0
    for part in sorted(parts, key=lambda p: p.start):
        if part.start < end:
            return None
        if part.start > end:
            pieces.append(_zeros(whole, axis, part.start - end, eqn, made))
        pieces.append(part.value)
        end = part.stop
    if end < whole.shape[axis]:
        pieces.append(_zeros(whole, axis, whole.shape[axis] - end, eqn, made))
    params = {"dimension": axis}
    made.append(JaxprEqn(concatenate_p, pieces, [out], params, eqn.position, eqn.effects, eqn.name_stack))
    return made


def _zeros(whole: Any, axis: int, size: int, eqn: JaxprEqn, made: list[JaxprEqn]) -> Var:
    shape = (*whole.shape[:axis], size, *whole.shape[axis + 1 :])
    v = Var(whole.update(shape=shape))
    zero = literal(whole.dtype.type(0), whole.update(shape=()))
    params = {"shape": shape, "broadcast_dimensions": (), "sharding": None}
    made.append(JaxprEqn(broadcast_in_dim_p, [zero], [v], params, eqn.position, eqn.effects, eqn.name_stack))
    return v
