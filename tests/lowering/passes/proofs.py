"""Proofs that passes leave values as they are: each changed program beside the one before it, compiled and run."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

import xtrace as xt
from xtrace.core.jaxpr import Literal, eval_jaxpr, subjaxprs
from xtrace.lowering.passes import bodies, constants, fusion_barriers, padded_sums, pipeline, reroll, stacked_slices

#: Thresholds at which passes act on small programs.
LOW = (
    (constants, "FEWEST", 1),
    (stacked_slices, "FEWEST", 1),
    (padded_sums, "FEWEST", 2),
    (reroll, "FEWEST", 2),
    (reroll, "_LEAST", 2),
    (fusion_barriers, "_CONE", 2),
    (fusion_barriers, "_GAIN", 0.0),
)


@contextmanager
def recorded(monkeypatch):
    """Passes act wherever they can; yields a list that fills with their records."""
    records = []
    run = pipeline.run

    def running(*args):
        report = run(*args)
        records.extend(report.records)
        return report

    with monkeypatch.context() as m:
        for module, name, value in LOW:
            m.setattr(module, name, value)
        m.setattr(pipeline, "run", running)
        yield records


def prove(records, most):
    """Up to `most` programs that each pass has changed compute the same bits.

    Compiled, sums may be taken in another order; then their operations compute the same one by one.

    Returns the names of the passes that were proved.
    """
    counts: dict[str, int] = {}
    values: dict[int, list] = {}
    for record in records:
        assert record.error is None
        if record.changed and counts.get(record.name, 0) < most and _can_run(record.before):
            counts[record.name] = counts.get(record.name, 0) + 1
            _prove(record, values)
    return set(counts)


def _can_run(jaxpr):
    avals = [v.aval for v in jaxpr.all_invars]
    return not jaxpr.effects and not any([a.extended or a.dtype.kind not in "bifuc" for a in avals])


def _prove(record, values):
    """values: what programs computed before, by identity; a pass starts from the program that the last one made."""
    rng = np.random.default_rng(0)
    args = [
        np.asarray(
            rng.integers(0, 2, v.aval.shape) if v.aval.dtype.kind in "biu" else rng.uniform(0.2, 1, v.aval.shape)
        )
        for v in record.before.all_invars
    ]
    args = [a.astype(v.aval.dtype) for a, v in zip(args, record.before.all_invars)]
    for jaxpr in (record.before, record.after):
        if id(jaxpr) not in values:
            values[id(jaxpr)] = _run(jaxpr, args)
    what = f"{record!r}\n{record.before}\n{record.after}"
    before, after = values[id(record.before)], values[id(record.after)]
    if _same(before, after):
        return
    # Sums are compiled in another order where other values are fused into them.
    assert _holds_kernels(record.before), what
    for a, b in zip(before, after, strict=True):
        scale = np.max(np.abs(a[np.isfinite(a)]), initial=1e-6)
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5 * scale, err_msg=what)
    one_by_one = [operation_by_operation(jaxpr, args) for jaxpr in (record.before, record.after)]
    assert _same(*one_by_one) or _holds_loops(record.before), what  # loops are compiled in one piece


def _same(one, other):
    return all([np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(one, other, strict=True)])


def _run(jaxpr, args):
    n = len(jaxpr.constvars)
    with _types_of(jaxpr):
        return list(map(np.asarray, xt.jit(lambda *xs: eval_jaxpr(jaxpr, xs[:n], *xs[n:]), passes=())(*args)))


def operation_by_operation(jaxpr, args):
    """The results, every operation compiled by itself, those in loops that the passes make too."""
    with _types_of(jaxpr):
        return list(map(np.asarray, _evaluated(jaxpr, args)))


def _evaluated(jaxpr, args):
    env = dict(zip(jaxpr.all_invars, args, strict=True))
    for eqn in jaxpr.eqns:
        values = [v.operand if type(v) is Literal else env[v] for v in eqn.invars]
        step = _steps if eqn.primitive.name == "scan" else eqn.primitive.bind
        outs = step(*values, **eqn.params)
        env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs], strict=True))
    return [v.operand if type(v) is Literal else env[v] for v in jaxpr.outvars]


def _steps(*values, jaxpr, length, num_consts, num_carry, reverse, **_):
    ahead = num_consts + num_carry
    consts, carry, xs = values[:num_consts], values[num_consts:ahead], values[ahead:]
    rows = []
    for i in reversed(range(length)) if reverse else range(length):
        outs = _evaluated(jaxpr, [*consts, *carry, *[x[i] for x in xs]])
        carry = outs[:num_carry]
        rows.append(outs[num_carry:])
    return [*carry, *[np.stack(y) for y in zip(*(reversed(rows) if reverse else rows))]]


def _types_of(jaxpr):
    return xt.enable_x64(any([v.aval.dtype.itemsize == 8 for v in (*jaxpr.all_invars, *jaxpr.outvars)]))


def _holds_kernels(jaxpr):
    return _holds(jaxpr, bodies.KERNELS)


def _holds_loops(jaxpr):
    return _holds(jaxpr, ("scan", "while", "cond"))


def _holds(jaxpr, names):
    inner = [j for e in jaxpr.eqns if e.primitive.holds_jaxprs for j in subjaxprs(e.params)]
    return bool(bodies.count_of(jaxpr, names)) or any([_holds(j, names) for j in inner])
