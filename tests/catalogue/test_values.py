"""Values against the references; compiled against eager; known-bad calls against their errors."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from tests.catalogue.catalogue import Op, pick
from tests.catalogue.checks import assert_close, function_of, widen, x64


def test_value(op: Op, sampling):
    samples = pick(sampling.seed, sampling.full, op, "value", op.all_samples(sampling.seed), 3)
    for number, sample in enumerate(samples):
        with x64(sample.needs_x64):
            fun = function_of(op, sample)
            eager = fun(*sample.args)
            what = f"{op.name}({sample.label}), seed {sampling.seed}"
            if op.reference is not None:
                args = [widen(a) for a in sample.args] if op.wide else sample.args
                with np.errstate(all="ignore"):
                    wanted = op.reference(*args, **sample.params)
                assert_close(eager, wanted, what, op.tolerance)
            # Of three samples two are compiled.
            if "jit" not in op.skip and (sampling.full or number < 2):
                assert_close(xt.jit(fun)(*sample.args), eager, f"jit of {what} against eager", op.tolerance)


test_value.check = "value"


def test_bad_calls(op: Op):
    for bad in op.bad:
        with pytest.raises(bad.error) as raised:
            op.resolve(xt)(*bad.args, **bad.params)
        assert bad.match in str(raised.value), f"{op.name}: expected {bad.match!r} in {str(raised.value)!r}"
