"""Jaxprs of an operation, its derivatives and its batched version are well formed, and evaluate to the same values."""

from __future__ import annotations

import xtrace as xt
from tests.catalogue.catalogue import Op, is_inexact, pick
from tests.catalogue.checks import assert_close, function_of, leaves, x64
from xtrace.core.check import check_jaxpr
from xtrace.core.jaxpr import eval_jaxpr
from xtrace.transforms.staging import StagingTrace


def test_jaxpr(op: Op, sampling, monkeypatch):
    for sample in pick(sampling.seed, sampling.full, op, "jaxpr", op.all_samples(sampling.seed), 2):
        with x64(sample.needs_x64):
            fun, args = function_of(op, sample), sample.args
            jaxpr = xt.make_jaxpr(fun)(*args)
            check_jaxpr(jaxpr)
            assert str(jaxpr).startswith(("{ lambda ", "let "))  # a jaxpr that occurs twice is named first

            @xt.jit
            def both(*args, jaxpr=jaxpr, fun=fun):
                return eval_jaxpr(jaxpr, jaxpr.consts, *leaves(args)), leaves(fun(*args))

            got, wanted = both(*args)
            assert_close(got, wanted, f"jaxpr of {op.name}({sample.label}) evaluated", op.tolerance)
            _check_transformed(op, sample, fun)
    _check_copied(fun, args, monkeypatch)


def _check_copied(fun, args, monkeypatch) -> None:
    """What was recorded once and is copied from then on (transforms.replay) is what the function records."""

    def recorded() -> str:
        return str(xt.make_jaxpr(lambda *args: fun(*args))(*args))  # a function traced before is not traced again

    copied = {recorded() for _ in range(2)}
    with monkeypatch.context() as patch:
        patch.setattr(StagingTrace, "inline", lambda self, kept, fun, args, kwargs: fun(*args, **kwargs))
        assert copied == {recorded()}


test_jaxpr.check = "jaxpr"


def _check_transformed(op, sample, fun) -> None:
    if "vmap" not in op.skip and sample.arrays:
        axes = tuple(0 if i in sample.arrays and sample.args[i].ndim else None for i in range(len(sample.args)))
        sizes = {sample.args[i].shape[0] for i, a in enumerate(axes) if a == 0}
        if len(sizes) == 1:
            try:
                xt.eval_shape(
                    fun, *[a if d is None else a[0] for a, d in zip(sample.args, axes)] if sizes > {0} else []
                )
            except Exception:  # one row alone is not a valid call of every operation
                return
            check_jaxpr(xt.make_jaxpr(xt.vmap(fun, in_axes=axes))(*sample.args))
    moving = [i for i in sample.arrays if is_inexact(sample.args[i].dtype)]
    moving = moving if op.differentiable is None else [i for i in moving if i in op.differentiable]
    if "derivative" in op.skip or not moving:
        return

    def gradient(*args):
        def of_moving(*xs):
            full = list(args)
            for i, x in zip(moving, xs):
                full[i] = x
            return [o for o in leaves(fun(*full)) if is_inexact(o.dtype)]

        outs, pull_back = xt.vjp(of_moving, *[args[i] for i in moving])
        return pull_back(outs)

    check_jaxpr(xt.make_jaxpr(gradient)(*sample.args))
