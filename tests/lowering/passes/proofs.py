"""Proofs that passes leave values as they are: each changed program beside the one before it, compiled and run."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

import xtrace as xt
from xtrace.core.jaxpr import eval_jaxpr, subjaxprs
from xtrace.lowering.passes import bodies, constants, fusion_barriers, padded_sums, pipeline, stacked_slices

#: Thresholds at which passes act on small programs.
LOW = (
    (constants, "FEWEST", 1),
    (stacked_slices, "FEWEST", 1),
    (padded_sums, "FEWEST", 2),
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
    """Up to `most` programs that each pass has changed compute the same bits, or almost where barriers move sums.

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
    before, after = values[id(record.before)], values[id(record.after)]
    loose = record.name == "fusion_barriers" and _holds_kernels(record.before)
    for a, b in zip(before, after, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        what = f"{record!r}\n{record.before}\n{record.after}"
        if loose and a.dtype.kind in "fc":
            scale = np.max(np.abs(a[np.isfinite(a)]), initial=1e-6)
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5 * scale, err_msg=what)
        else:
            np.testing.assert_array_equal(b, a, err_msg=what)


def _run(jaxpr, args):
    n = len(jaxpr.constvars)
    with xt.enable_x64(any([v.aval.dtype.itemsize == 8 for v in (*jaxpr.all_invars, *jaxpr.outvars)])):
        return xt.jit(lambda *xs: eval_jaxpr(jaxpr, xs[:n], *xs[n:]), passes=())(*args)


def _holds_kernels(jaxpr):
    if bodies.count_of(jaxpr, bodies.KERNELS):
        return True
    return any([_holds_kernels(j) for e in jaxpr.eqns if e.primitive.holds_jaxprs for j in subjaxprs(e.params)])
