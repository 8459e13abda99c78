"""Forward derivatives against differences, reverse against forward, second derivatives against differences of first.

All in float64 and complex128, where central differences are good to about 1e-9. One program is compiled per sample.
"""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from tests.catalogue.catalogue import Op, Sample, is_complex, is_inexact, pick
from tests.catalogue.checks import function_of, leaves, widen, x64

_STEP = 1e-5
_RTOL = 2e-7


def _moving(op: Op, sample: Sample) -> list[int]:
    """Positions of the operands to differentiate."""
    inexact = [i for i in sample.arrays if is_inexact(sample.args[i].dtype)]
    return inexact if op.differentiable is None else [i for i in inexact if i in op.differentiable]


def _scaled_difference(got, wanted) -> float:
    """The largest deviation, in units of the largest number."""
    got, wanted = [widen(np.asarray(x)) for x in leaves(got)], [widen(np.asarray(x)) for x in leaves(wanted)]
    assert [x.shape for x in got] == [x.shape for x in wanted]
    size = max([float(np.max(np.abs(x), initial=1e-2)) for x in [*got, *wanted]], default=1.0)
    return max([float(np.max(np.abs(g - w), initial=0.0)) for g, w in zip(got, wanted)], default=0.0) / size


def test_derivative(op: Op, sampling):
    candidates = [s for s in op.all_samples(sampling.seed) if _moving(op, s) and all(s.args[i].size for i in s.arrays)]
    # Samples that differ in precision alone are the same here.
    distinct = list({s.with_args([widen(a) for a in s.args]).label: s for s in candidates}.values())
    for sample in pick(sampling.seed, sampling.full, op, "derivative", distinct, 2):
        with x64(True):
            _check(op, sample.with_args([widen(a) for a in sample.args]), sampling.seed)


test_derivative.check = "derivative"


def _check(op: Op, sample: Sample, seed: int) -> None:
    what = f"{op.name}({sample.label}), seed {seed}"
    positions = _moving(op, sample)
    function = function_of(op, sample)

    def fun(*moving):
        args = list(sample.args)
        for i, x in zip(positions, moving):
            args[i] = x
        return [o for o in leaves(function(*args)) if is_inexact(o.dtype)]

    point = [sample.args[i] for i in positions]
    outs = xt.eval_shape(fun, *point)
    if not outs:
        return
    rng = np.random.default_rng(seed)

    def direction(x):
        t = rng.uniform(-1, 1, x.shape)
        return np.asarray(t + 1j * rng.uniform(-1, 1, x.shape) if is_complex(x.dtype) else t).astype(x.dtype)

    ts, cts = [direction(x) for x in point], [direction(o) for o in outs]

    def pull_back(*moving):
        return xt.vjp(fun, *moving)[1](list(cts))

    @xt.jit
    def everything(moving, ts):
        value, tangent = xt.jvp(fun, moving, ts)
        if "second" in op.skip:
            return value, tangent, pull_back(*moving), []
        gradient, second = xt.jvp(pull_back, moving, ts)
        return value, tangent, gradient, second

    _, tangent, gradient, second = everything(point, ts)
    above = everything([x + _STEP * t for x, t in zip(point, ts)], ts)
    below = everything([x - _STEP * t for x, t in zip(point, ts)], ts)

    def slope(k):
        return [(np.asarray(a) - np.asarray(b)) / (2 * _STEP) for a, b in zip(above[k], below[k])]

    error = _scaled_difference(tangent, slope(0))
    assert error < _RTOL * op.tolerance, f"jvp of {what} is off by {error:.1e}: {tangent}, differences give {slope(0)}"
    forward = sum(np.sum(np.asarray(c) * np.asarray(t)).real for c, t in zip(cts, tangent))
    reverse = sum(np.sum(np.asarray(g) * t).real for g, t in zip(gradient, ts))
    terms = sum(np.sum(np.abs(np.asarray(c) * np.asarray(t))) for c, t in zip(cts, tangent))
    assert abs(forward - reverse) <= 1e-10 * op.tolerance * max(terms, 1e-2), (
        f"vjp of {what} disagrees with its jvp: {reverse} against {forward}"
    )
    for name, kinds in (("jvp", zip(outs, tangent)), ("vjp", zip(point, gradient))):
        for x, t in kinds:
            assert (x.shape, x.dtype) == (t.shape, t.dtype), f"{name} of {what} is {t.dtype}{t.shape}"
    if "second" not in op.skip:
        error = _scaled_difference(second, slope(2))
        assert error < _RTOL * op.tolerance, f"second derivative of {what} is off by {error:.1e}: {second}, {slope(2)}"


def test_derivative_dtypes(op: Op, sampling):
    """Tangents have the dtypes of outputs, cotangents those of operands, in every precision."""
    candidates = [s for s in op.all_samples(sampling.seed) if _moving(op, s)]
    for sample in pick(sampling.seed, sampling.full, op, "derivative dtypes", candidates, 4):
        with x64(sample.needs_x64):
            positions, function = _moving(op, sample), function_of(op, sample)

            def fun(*moving, positions=positions, sample=sample, function=function):
                args = list(sample.args)
                for i, x in zip(positions, moving):
                    args[i] = x
                return [o for o in leaves(function(*args)) if is_inexact(o.dtype)]

            point = [sample.args[i] for i in positions]

            def both(*moving, fun=fun):
                value, pull_back = xt.vjp(fun, *moving)
                return value, xt.jvp(fun, moving, moving)[1], pull_back(value)

            value, tangent, gradient = xt.eval_shape(both, *point)
            for x, t in [*zip(value, tangent), *zip(point, gradient)]:
                assert (x.shape, x.dtype) == (t.shape, t.dtype), (
                    f"{op.name}({sample.label}): {x} has the derivative {t}"
                )


test_derivative_dtypes.check = "derivative"


@pytest.mark.parametrize("differentiable", [True, False])
def test_the_check_sees_a_wrong_rule(differentiable):
    """A derivative that is wrong, or stopped, fails the check."""

    def wrong(root):
        if differentiable:
            return lambda x: root.lax.stop_gradient(x) * x
        return lambda x: root.lax.stop_gradient(root.lax.sin(x))

    op = Op("wrong", lambda draw: iter([Sample(draw.array((3,), "float64", 1.0, 2.0))]), function=wrong)
    with x64(True), pytest.raises(AssertionError, match="jvp of wrong"):
        _check(op, op.all_samples()[0], 0)
