"""Re-rolling: steps that were written out one after the other, each the same as the last, become a loop again.

An unrolled recurrence (cells of a recurrent network, steps of an integrator) is a run of blocks of equations of one
form. They are one `scan` where each operand of a block is, in all blocks: computed in the block; computed at one place
of the block before (a carry); the same value; a number, or a slice of one length, that may differ from block to block;
or a row of an array or of the results of another such loop, one after the other, forward or backward. Blocks that read
values of their own (layers with weights of their own) stay as they are: to stack these would copy them.

A loop compiles in the time of one step. It often runs slower: what was one kernel over several steps is several
kernels a step, and results that the backward pass reads are written to stacked arrays. So this pass runs where it is
asked for.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any, NamedTuple

from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, literal
from xtrace.lax.control_flow.scans import scan_p
from xtrace.lax.creation import iota_p
from xtrace.lax.joining import concatenate_p, unstack_p
from xtrace.lax.shapes import broadcast_in_dim_p, rev_p, squeeze_p
from xtrace.lax.slicing import dynamic_slice_p, slice_p
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.common_subexpressions import params_key
from xtrace.lowering.passes.pipeline import Note, Target

#: Fewest blocks, and fewest equations in all of them together, that become a loop.
FEWEST, _LEAST = 4, 16
#: At how many places the next block is looked for.
_PLACES = 64
#: Values that are no results of loops, of those that blocks read one after the other: an end or two.
_SINGLE = 2


class _Row(NamedTuple):
    """A value that is row number `place` of `stack`: a loop has written it, or an array was taken apart."""

    stack: Any
    place: int


class _Unlike(Exception):
    """The blocks turn out not to be steps of one loop. place: of the equation that shows it, in the first block."""

    place = 0


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with such runs of blocks as loops, bodies of loops and branches too."""
    notes: list[Note] = []
    return _rolled(jaxpr, notes), notes


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("rolled", lambda: _rolled(jaxpr, None))


def _rolled(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    eqns = jaxpr.eqns
    if bodies.any_held(jaxpr):
        eqns = [bodies.rewritten(e, _body) if e.primitive.holds_jaxprs else e for e in eqns]
    walk = _Walk(eqns, jaxpr.outvars)
    program = _Program()
    tried: dict[int, int] = {}  # period -> the equation that is no step of a loop of this period
    i = 0
    while i < len(eqns):
        rolled = 0
        for period, count in walk.runs(i):
            if i <= tried.get(period, -1):
                continue
            try:
                loop = _Loop(walk, i, period, count, program.rows)
            except _Unlike as unlike:
                tried[period] = unlike.place
                continue
            made = loop.emit(program)
            rolled = period * count
            if notes is not None:
                reason = f"{count} steps of {period} equations that are alike are a loop"
                notes.append(Note("scan", made.position, reason))
            break
        if not rolled:
            program.add(eqns[i])
        i += rolled or 1
    for v in jaxpr.outvars:
        program.read(v)
    if program.loops:
        return bodies.without_dead(bodies.with_eqns(jaxpr, program.eqns))
    return bodies.with_eqns(jaxpr, eqns) if eqns != jaxpr.eqns else jaxpr


def _forms(eqns: Sequence[JaxprEqn]) -> list[int]:
    """A number for each equation: equal where only variables, values of literals and beginnings of slices differ."""
    known: dict[Any, int] = {}
    forms = []
    for eqn in eqns:
        literals = tuple([type(v) is Literal for v in eqn.invars])
        params = {} if _slides(eqn) else eqn.params
        key: Any = (eqn.primitive, literals, *[v.aval for v in (*eqn.invars, *eqn.outvars)], *params_key(params))
        try:
            forms.append(known.setdefault(key if not eqn.effects else object(), len(known)))
        except TypeError:  # an unhashable parameter
            forms.append(known.setdefault(object(), len(known)))
    return forms


def _slides(eqn: JaxprEqn) -> bool:
    return eqn.primitive is slice_p and eqn.params["strides"] is None


class _Walk:
    """A program's equations, and what is known of them all."""

    def __init__(self, eqns: list[JaxprEqn], outvars: Sequence[Any]) -> None:
        self.eqns = eqns
        self.forms = _forms(eqns)
        self.places: dict[int, list[int]] = {}
        for i, form in enumerate(self.forms):
            self.places.setdefault(form, []).append(i)
        #: Variable -> the place of the equation that computes it, and which of its results it is.
        self.source = {v: (i, o) for i, eqn in enumerate(eqns) for o, v in enumerate(eqn.outvars)}
        #: Variable -> the place of the last equation that reads it; results are read behind all.
        self.last_read = {v: i for i, eqn in enumerate(eqns) for v in eqn.invars}
        self.last_read.update(dict.fromkeys(outvars, len(eqns)))
        #: Period -> up to where equations are like those a period later.
        self._alike: dict[int, int] = {}

    def runs(self, start: int) -> list[tuple[int, int]]:
        """The (period, count) of runs of equal blocks from `start` on, those that cover most first."""
        found = []
        places = self.places[self.forms[start]]
        after = bisect.bisect_right(places, start)
        for place in places[after : after + _PLACES]:
            period = place - start
            count = (self._until(start, period) - start) // period + 1
            if count >= FEWEST and count * period >= _LEAST:
                found.append((period, count))
        return sorted(found, key=lambda run: (-run[0] * run[1], run[0])) if len(found) > 1 else found

    def _until(self, start: int, period: int) -> int:
        end = self._alike.get(period, -1)
        if end < start:
            forms, end, last = self.forms, start, len(self.forms) - period
            while end < last and forms[end] == forms[end + period]:
                end += 1
            self._alike[period] = end
        return end


class _Program:
    """The program that is being made: equations, and values that are rows of what loops have written."""

    def __init__(self) -> None:
        self.eqns: list[JaxprEqn] = []
        self.rows: dict[Any, _Row] = {}
        #: Those of the variables in `rows` that have their value.
        self.known: set[Any] = set()
        self.loops = 0

    def add(self, eqn: JaxprEqn) -> None:
        for v in eqn.invars:
            self.read(v)
        self.eqns.append(eqn)
        if eqn.primitive is unstack_p and eqn.params["axis"] == 0:
            self.rows.update({v: _Row(eqn.invars[0], i) for i, v in enumerate(eqn.outvars)})
            self.known.update(eqn.outvars)

    def read(self, v: Any) -> None:
        """See to it that a variable that stands for a row has its value."""
        row = self.rows.get(v)
        if row is not None and v not in self.known:
            self.known.add(v)
            piece = self.slice(row.stack, row.place, row.place + 1)
            self.eqns.append(JaxprEqn(squeeze_p, [piece], [v], {"dimensions": (0,)}))

    def apply(self, primitive: Any, operands: list[Any], aval: ShapedArray, **params: Any) -> Var:
        made = Var(aval)
        self.eqns.append(JaxprEqn(primitive, operands, [made], params))
        return made

    def slice(self, x: Any, start: int, stop: int) -> Any:
        """Rows `start` to `stop` - 1; the array itself if these are all."""
        shape = x.aval.shape
        if (start, stop) == (0, shape[0]):
            return x
        aval = x.aval.update(shape=(stop - start, *shape[1:]))
        starts, limits = (start, *[0 for _ in shape[1:]]), (stop, *shape[1:])
        return self.apply(slice_p, [x], aval, start_indices=starts, limit_indices=limits, strides=None)

    def row_of(self, v: Any) -> Any:
        """A value as an array of one row."""
        self.read(v)
        aval = v.aval.update(shape=(1, *v.aval.shape))
        dims = tuple(range(1, len(aval.shape)))
        return self.apply(broadcast_in_dim_p, [v], aval, shape=aval.shape, broadcast_dimensions=dims, sharding=None)

    def joined(self, pieces: list[Any]) -> Any:
        if len(pieces) == 1:
            return pieces[0]
        first = pieces[0].aval
        aval = first.update(shape=(sum([p.aval.shape[0] for p in pieces]), *first.shape[1:]))
        return self.apply(concatenate_p, pieces, aval, dimension=0)

    def stacked(self, values: list[Any]) -> Any:
        """The values as rows of one array, in their order."""
        if all([type(v) is int for v in values]):
            if values == list(range(len(values))):
                aval = ShapedArray((len(values),), bodies.INDEX.dtype)
                return self.apply(iota_p, [], aval, dtype=aval.dtype, shape=aval.shape, dimension=0, sharding=None)
            values = [literal(v, bodies.INDEX) for v in values]
        pieces: list[Any] = []
        i = 0
        for n, by in _stretches(values, self.rows):
            row = self.rows.get(values[i])
            if row is None or n == 1:
                pieces.append(self.row_of(values[i]))
            else:
                low = min(row.place, row.place + by * (n - 1))
                piece = self.slice(row.stack, low, low + n)
                pieces.append(piece if by > 0 else self.apply(rev_p, [piece], piece.aval, dimensions=(0,)))
            i += n
        return self.joined(pieces)


def _stretches(values: Sequence[Any], rows: dict[Any, _Row]) -> list[tuple[int, int]]:
    """Values in stretches that are rows of one array, one after the other: how many, and in which direction (1, -1)."""
    found: list[tuple[int, int]] = []
    i = 0
    while i < len(values):
        n, by, row = 1, 0, rows.get(values[i])
        while row is not None and i + n < len(values):
            following = rows.get(values[i + n])
            if following is None or following.stack is not row.stack:
                break
            step = following.place - row.place - by * (n - 1)
            if step not in (1, -1) or by not in (0, step):
                break
            n, by = n + 1, step
        found.append((n, by))
        i += n
    return found


class _Loop:
    """A run of blocks as a loop. Raises _Unlike if it is none."""

    def __init__(self, walk: _Walk, start: int, period: int, count: int, rows: dict[Any, _Row]) -> None:
        eqns = walk.eqns[start : start + period * count]
        self.blocks = [eqns[t * period : (t + 1) * period] for t in range(count)]
        self.start, self.period, self.count, self.rows, self.source = start, period, count, rows, walk.source
        self.consts: dict[Any, Var] = {}
        self.carries: dict[tuple[tuple[int, int], Any], Var] = {}
        self.sequences: list[tuple[list[Any], Var]] = []
        self.inside: dict[Any, Any] = {}  # what stands in the body for results of equations, by their places in a block
        self.made: list[JaxprEqn] = []
        for q in range(period):
            try:
                self._add(q)
            except _Unlike as unlike:
                unlike.place = start + q
                raise
        end = start + len(eqns)
        #: Places in a block whose values are read behind the loop, and by which blocks they are computed.
        self.kept: dict[tuple[int, int], list[int]] = {}
        for i, eqn in enumerate(eqns):
            for o, v in enumerate(eqn.outvars):
                if walk.last_read.get(v, -1) >= end:
                    if v.aval.sharding is not None:
                        raise _Unlike
                    self.kept.setdefault((i % period, o), []).append(i // period)

    def _computed(self, v: Any) -> tuple[int, tuple[int, int]] | None:
        """The block that computes a variable, and the place in it; None for what is computed elsewhere."""
        i, o = self.source.get(v, (-1, 0))
        if not self.start <= i < self.start + self.period * self.count:
            return None
        t, q = divmod(i - self.start, self.period)
        return t, (q, o)

    def _add(self, q: int) -> None:
        first = self.blocks[0][q]
        eqns = [block[q] for block in self.blocks]
        if _slides(first) and any([e.params["start_indices"] != first.params["start_indices"] for e in eqns]):
            primitive, operands, params = self._sliding(eqns)
        else:
            primitive, params = first.primitive, first.params
            operands = [self._operand([e.invars[j] for e in eqns]) for j in range(len(first.invars))]
        outs = [Var(v.aval) for v in first.outvars]
        self.inside.update({(q, o): v for o, v in enumerate(outs)})
        self.made.append(JaxprEqn(primitive, operands, outs, params, first.position, name_stack=first.name_stack))

    def _sliding(self, eqns: list[JaxprEqn]) -> tuple[Any, list[Any], dict[str, Any]]:
        """Slices of one size that begin at different places: beginnings are operands."""
        places: list[Any] = []
        for starts in zip(*[e.params["start_indices"] for e in eqns]):
            same = len(set(starts)) == 1
            places.append(literal(starts[0], bodies.INDEX) if same else self._sequence(list(starts), bodies.INDEX))
        sizes = eqns[0].outvars[0].aval.shape
        return dynamic_slice_p, [self._operand([e.invars[0] for e in eqns]), *places], {"slice_sizes": sizes}

    def _operand(self, values: list[Any]) -> Any:
        """What an equation of the body reads where those of the blocks read `values`."""
        first = values[0]
        if type(first) is Literal:
            return first if all([v is first for v in values]) else self._sequence(values, first.aval)
        if all([v is first for v in values]) and self._computed(first) is None:
            return self.consts.setdefault(first, Var(first.aval))
        found = [self._computed(v) for v in values]
        if found[0] is not None:  # computed in the block
            place = found[0][1]
            if found != [(t, place) for t in range(self.count)]:
                raise _Unlike
            return self.inside[place]
        if found[1] is not None:  # computed in the block before
            place = found[1][1]
            q, o = place
            if found[1:] != [(t, place) for t in range(self.count - 1)]:
                raise _Unlike
            if self.blocks[0][q].outvars[o].aval is not first.aval:
                raise _Unlike
            return self.carries.setdefault((place, first), Var(first.aval))
        if found != [None] * self.count:
            raise _Unlike
        if sum([n == 1 for n, _ in _stretches(values, self.rows)]) > _SINGLE:
            raise _Unlike
        return self._sequence(values, first.aval)

    def _sequence(self, values: list[Any], aval: ShapedArray) -> Any:
        """The variable of the body that stands for a value of its own in every step."""
        for known, v in self.sequences:
            if all([a is b or type(a) is int and a == b for a, b in zip(known, values)]):
                return v
        if aval.sharding is not None:
            raise _Unlike
        v = Var(aval)
        self.sequences.append((values, v))
        return v

    def emit(self, program: _Program) -> JaxprEqn:
        """Append the loop, and keep what later equations read of it."""
        count = self.count
        down = sum([n * by for values, _ in self.sequences for n, by in _stretches(values, program.rows)]) < 0
        order = -1 if down else 1
        xs = [program.stacked(values[::order]) for values, _ in self.sequences]
        for v in (*self.consts, *[init for _, init in self.carries]):
            program.read(v)
        results = [self.inside[place] for place, _ in self.carries]
        outvars: list[Var] = []
        last = self.blocks[-1]
        bound: set[Any] = set()
        for (q, o), _ in self.carries:
            v = last[q].outvars[o]
            outvars.append(v if v not in bound else Var(v.aval))
            bound.add(v)
        for place, steps in self.kept.items():
            q, o = place
            if last[q].outvars[o] in bound and steps == [count - 1]:
                continue
            aval = self.inside[place].aval
            stack = Var(aval.update(shape=(count, *aval.shape)))
            results.append(self.inside[place])
            outvars.append(stack)
            for t, block in enumerate(self.blocks):
                v = block[q].outvars[o]
                program.rows[v] = _Row(stack, count - 1 - t if down else t)
        program.known.update(bound)
        body_inputs = [*self.consts.values(), *self.carries.values(), *[v for _, v in self.sequences]]
        body = Jaxpr((), body_inputs, results, self.made)
        params = {
            "jaxpr": body, "length": count, "num_consts": len(self.consts), "num_carry": len(self.carries),
            "reverse": down, "unroll": 1, "_split_transpose": False,
        }  # fmt: skip
        first = self.blocks[0][0]
        operands = [*self.consts, *[init for _, init in self.carries], *xs]
        made = JaxprEqn(scan_p, operands, outvars, params, first.position, name_stack=first.name_stack)
        program.eqns.append(made)
        program.loops += 1
        return made
