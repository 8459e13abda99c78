"""Every operation inside every composition of transformations: one table, each row an expected equality.

The value, the tangent and the gradient of the operation at two points come from one compiled program (whose own
correctness is what the other checks are about). A composition has to give the same numbers. Differentiated operations
run in float64, where a program rearranged by the compiler still agrees to about twelve digits.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xtrace as xt
from tests.catalogue.catalogue import Op, Sample, is_complex, is_inexact, pick
from tests.catalogue.checks import assert_close, function_of, leaves, widen, x64

lax = xt.lax
_PER_OPERATION = 1
_RTOL = 1e-9


@dataclasses.dataclass
class Case:
    """An operation of arrays alone, at two points, with directions; and what base quantities it has there."""

    fun: Callable[..., list[Any]]
    points: list[list[np.ndarray]]
    moving: list[int]
    second: bool

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)

        def direction(x: Any) -> np.ndarray:
            t = rng.uniform(-1, 1, x.shape)
            return np.asarray(t + 1j * rng.uniform(-1, 1, x.shape) if is_complex(x.dtype) else t).astype(x.dtype)

        outs = xt.eval_shape(self.fun, *self.points[0])
        self.smooth = [i for i, o in enumerate(outs) if is_inexact(o.dtype)]
        if not self.smooth:
            self.moving = []
        self.tangents = tuple([direction(self.points[0][i]) for i in self.moving])
        self.cotangents = [direction(outs[i]) for i in self.smooth]

    # -- forms of the operation ------------------------------------------------------------------------------------

    def at(self, k: int) -> tuple[np.ndarray, ...]:
        return tuple([self.points[k][i] for i in self.moving])

    def with_moving(self, k: int) -> Callable[..., list[Any]]:
        """The inexact results at a point as a function of the operands that are differentiated."""
        return self.of_moving(self.points[k])

    def of_moving(self, operands: Any, fun: Callable[..., Any] | None = None) -> Callable[..., list[Any]]:
        """The inexact results of `fun` as a function of the operands that are differentiated, the others given."""

        def call(*moving: Any) -> list[Any]:
            args = list(operands)
            for i, x in zip(self.moving, moving):
                args[i] = x
            outs = (fun or self.fun)(*args)
            return [outs[i] for i in self.smooth]

        return call

    def total(self, outs: Any) -> Any:
        """A real number made of the results: its gradient is the base gradient."""
        return sum(
            (xt.numpy.sum(xt.numpy.real(o * c)) for o, c in zip(outs, self.cotangents)), np.zeros((), np.float64)
        )

    def loss(self, k: int, fun: Any = None) -> Callable[..., Any]:
        fun = fun or self.with_moving(k)
        return lambda *moving: self.total(fun(*moving))

    def gradient(self, loss: Any, *args: Any) -> Any:
        return xt.grad(loss, tuple(range(len(self.moving))))(*args)

    # -- what compositions are compared with -------------------------------------------------------------------------

    @functools.cached_property
    def _values(self) -> Any:
        program = xt.jit(self.fun)
        return [program(*p) for p in self.points]

    @functools.cached_property
    def _derivatives(self) -> Any:
        def both(points: list[Any]) -> Any:
            fun = self.of_moving(points)
            at = tuple([points[i] for i in self.moving])
            tangents = xt.jvp(fun, at, self.tangents)[1]
            return tangents, self.gradient(lambda *m: self.total(fun(*m)), *at)

        program = xt.jit(both)
        return [program(p) for p in self.points]

    def value(self, k: int) -> Any:
        return self._values[k]

    def tangent(self, k: int) -> Any:
        return self._derivatives[k][0]

    def slope(self, k: int) -> Any:
        return self._derivatives[k][1]

    def stacked(self, of: Callable[[int], Any], axes: Any = None) -> list[np.ndarray]:
        rows = [[np.asarray(x) for x in leaves(of(k))] for k in range(2)]
        return [np.stack(pair, 0 if axes is None else axes[i]) for i, pair in enumerate(zip(*rows))]

    def batch(self) -> list[np.ndarray]:
        return self.stacked(lambda k: self.points[k])

    def moving_batch(self) -> list[np.ndarray]:
        return self.stacked(self.at)

    def of_batch(self, fun: Callable[..., Any], moving: Any) -> Any:
        """`fun(*points)` where the operands that move are `moving`, and the others those of the batch."""
        return self.of_moving(self.batch(), fun)(*moving)


# -- the table: name -> (case) -> (got, wanted) ----------------------------------------------------------------------


def _jit(c: Case) -> Any:
    return c.fun(*c.points[0]), c.value(0)  # operation by operation, against the compiled one


def _vmap(axis: int) -> Callable[[Case], Any]:
    def run(c: Case) -> Any:
        axes = tuple([min(axis, x.ndim) for x in c.points[0]])
        args = c.stacked(lambda k: c.points[k], axes)
        got = xt.jit(xt.vmap(c.fun, in_axes=axes))(*args)
        return got, c.stacked(c.value)

    return run


def _vmap_out_axes(c: Case) -> Any:
    values = c.stacked(c.value)
    axes = [x.ndim - 1 for x in values]
    got = xt.jit(xt.vmap(c.fun, in_axes=-1, out_axes=axes))(*c.stacked(lambda k: c.points[k], [-1] * len(c.points[0])))
    return got, [np.moveaxis(v, 0, a) for v, a in zip(values, axes)]


def _scan(c: Case) -> Any:
    return lax.scan(lambda n, xs: (n + 1, c.fun(*xs)), 0, c.batch())[1], c.stacked(c.value)


def _scan_closed_over(c: Case) -> Any:
    def outer(points: Any) -> Any:
        return lax.scan(lambda n, _: (n + 1, c.fun(*points)), 0, None, length=2)[1]

    return xt.jit(outer)(c.points[0]), [np.stack([np.asarray(x)] * 2) for x in leaves(c.value(0))]


def _cond(c: Case) -> Any:
    def run(pred: Any, args: Any) -> Any:
        zeros = lambda *xs: [xt.numpy.zeros(o.shape, o.dtype) for o in xt.eval_shape(c.fun, *xs)]
        return lax.cond(pred, c.fun, zeros, *args)

    return xt.jit(run)(True, c.points[0]), c.value(0)


def _mapped_cond(c: Case) -> Any:
    def run(pred: Any, *args: Any) -> Any:
        zeros = lambda *xs: [xt.numpy.zeros(o.shape, o.dtype) for o in xt.eval_shape(c.fun, *xs)]
        return lax.cond(pred, c.fun, zeros, *args)

    got = xt.jit(xt.vmap(run))(np.array([True, False]), *c.batch())
    return got, [np.stack([np.asarray(v), np.zeros_like(np.asarray(v))]) for v in leaves(c.value(0))]


def _while(c: Case) -> Any:
    zeros = [xt.numpy.zeros(o.shape, o.dtype) for o in xt.eval_shape(c.fun, *c.points[0])]
    run = lambda n, args: lax.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, s[2], c.fun(*args)), (0, zeros, zeros)
    )
    return xt.jit(run)(2, c.points[0])[1:], [c.value(0), c.value(0)]


def _jvp(c: Case) -> Any:
    return xt.jvp(c.with_moving(0), c.at(0), c.tangents)[1], c.tangent(0)


def _vjp(c: Case) -> Any:
    return xt.vjp(c.with_moving(0), *c.at(0))[1](list(c.cotangents)), c.slope(0)


def _linearize(c: Case) -> Any:
    _, push = xt.linearize(c.with_moving(0), *c.at(0))
    back = xt.linear_transpose(push, *c.at(0))
    return [push(*c.tangents), back(list(c.cotangents))], [c.tangent(0), c.slope(0)]


def _jit_grad(c: Case) -> Any:
    return xt.jit(lambda *m: c.gradient(c.loss(0), *m))(*c.at(0)), c.slope(0)


def _grad_jit(c: Case) -> Any:
    return c.gradient(c.loss(0, xt.jit(c.with_moving(0))), *c.at(0)), c.slope(0)


def _vmap_grad(c: Case) -> Any:
    def one(fixed: Any, moving: Any) -> Any:
        fun = c.of_moving(fixed)
        return c.gradient(lambda *m: c.total(fun(*m)), *moving)

    return xt.jit(xt.vmap(one))(c.batch(), tuple(c.moving_batch())), c.stacked(c.slope)


def _mapped_loss(c: Case, fun: Callable[..., Any]) -> Callable[..., Any]:
    """The losses at both points added up, `fun` being the operation on the batch."""
    return lambda *moving: xt.numpy.sum(xt.vmap(c.total)(c.of_batch(fun, moving)))


def _grad_vmap(c: Case) -> Any:
    run = lambda *moving: c.gradient(_mapped_loss(c, xt.vmap(c.fun)), *moving)
    return xt.jit(run)(*c.moving_batch()), c.stacked(c.slope)


def _grad_scan(c: Case) -> Any:
    scan = lambda *args: lax.scan(lambda n, xs: (n + 1, c.fun(*xs)), 0, args)[1]
    run = lambda *moving: c.gradient(_mapped_loss(c, scan), *moving)
    return xt.jit(run)(*c.moving_batch()), c.stacked(c.slope)


def _grad_of_repeated(c: Case) -> Any:
    """The gradient with respect to values a loop closes over: twice the one of a single step."""

    def repeated(*moving: Any) -> Any:
        def step(total: Any, _: Any) -> Any:
            return total + c.loss(0)(*moving), None

        return lax.scan(step, np.zeros((), np.float64), None, length=2)[0]

    return xt.jit(lambda *m: c.gradient(repeated, *m))(*c.at(0)), [2 * np.asarray(g) for g in leaves(c.slope(0))]


def _grad_cond(c: Case) -> Any:
    def loss(pred: Any) -> Any:
        fun = c.with_moving(0)
        zeros = lambda *xs: [xt.numpy.zeros(o.shape, o.dtype) for o in xt.eval_shape(fun, *xs)]
        return c.loss(0, lambda *m: lax.cond(pred, fun, zeros, *m))

    run = lambda pred, m: c.gradient(loss(pred), *m)
    return xt.jit(run)(True, c.at(0)), c.slope(0)


def _jvp_while(c: Case) -> Any:
    def run(*moving: Any) -> Any:
        fun = c.with_moving(0)
        zeros = [xt.numpy.zeros(o.shape, o.dtype) for o in xt.eval_shape(fun, *moving)]
        return lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, fun(*moving)), (0, zeros))[1]

    return xt.jit(lambda m, t: xt.jvp(run, m, t)[1])(c.at(0), c.tangents), c.tangent(0)


def _vmap_jvp(c: Case) -> Any:
    def one(fixed: Any, moving: Any) -> Any:
        return xt.jvp(c.of_moving(fixed), moving, c.tangents)[1]

    return xt.jit(xt.vmap(one))(c.batch(), tuple(c.moving_batch())), c.stacked(c.tangent)


def _remat_grad(c: Case) -> Any:
    fun = xt.checkpoint(c.with_moving(0))
    return xt.jit(lambda *m: c.gradient(c.loss(0, fun), *m))(*c.at(0)), c.slope(0)


def _second_orders(c: Case) -> Any:
    """Forward over reverse against reverse over forward: both are the Hessian of `total`, applied to the tangents."""
    loss = c.loss(0)
    forward = lambda *m: xt.jvp(lambda *p: c.gradient(loss, *p), m, c.tangents)[1]
    reverse = lambda *m: c.gradient(lambda *p: xt.jvp(loss, p, c.tangents)[1], *m)
    return xt.jit(lambda *m: forward(*m))(*c.at(0)), xt.jit(lambda *m: reverse(*m))(*c.at(0))


VALUES = {
    "jit": _jit,
    "vmap axis 0": _vmap(0),
    "vmap axis 1": _vmap(1),
    "vmap axis 2": _vmap(2),
    "vmap last axis": _vmap_out_axes,
    "scan": _scan,
    "scan closed over": _scan_closed_over,
    "cond": _cond,
    "vmap∘cond": _mapped_cond,
    "while": _while,
}
DERIVATIVES = {
    "jvp": _jvp,
    "vjp": _vjp,
    "linearize, transpose": _linearize,
    "jit∘grad": _jit_grad,
    "grad∘jit": _grad_jit,
    "vmap∘grad": _vmap_grad,
    "grad∘vmap": _grad_vmap,
    "vmap∘jvp": _vmap_jvp,
    "grad∘scan": _grad_scan,
    "grad∘scan closed over": _grad_of_repeated,
    "grad∘cond": _grad_cond,
    "jvp∘while": _jvp_while,
    "jvp∘vjp": _second_orders,
}
if hasattr(xt, "checkpoint"):
    DERIVATIVES["remat∘grad"] = _remat_grad
#: Compositions that map, for entries that cannot be mapped against a loop.
_MAPS = ("vmap axis 0", "vmap axis 1", "vmap axis 2", "vmap last axis", "vmap∘cond")


def _case(op: Op, samples: list[Sample]) -> Case:
    base = samples[0]
    arrays = base.arrays
    function = function_of(op, base)

    def fun(*xs: Any) -> list[Any]:
        args = list(base.args)
        for i, x in zip(arrays, xs):
            args[i] = x
        return leaves(function(*args))

    wanted = arrays if op.differentiable is None else op.differentiable
    moving = [k for k, i in enumerate(arrays) if i in wanted and is_inexact(base.args[i].dtype)]
    if "derivative" in op.skip:
        moving = []
    return Case(fun, [[s.args[i] for i in arrays] for s in samples], moving, "second" not in op.skip)


def _applicable(op: Op, sample: Sample, differentiable: bool) -> list[str]:
    names = list(VALUES)
    if differentiable:
        names += DERIVATIVES
    if "second" in op.skip:
        names = [n for n in names if n != "jvp∘vjp"]
    if "vmap" in op.skip:
        names = [n for n in names if n not in _MAPS]
    ranks = [sample.args[i].ndim for i in sample.arrays]
    return [n for n in names if not (n.startswith("vmap axis") and int(n[-1]) > max(ranks, default=0))]


def _small(op: Op, samples: list[Sample]) -> int:
    """The sample to run: with numbers in it, of rank as high as there is, small, floating where some are."""

    def rank(i: int) -> Any:
        s = samples[i]
        arrays = [s.args[k] for k in s.arrays]
        inexact = any(is_inexact(a.dtype) for a in arrays)
        return (
            all(a.size for a in arrays),
            inexact,
            max((min(a.ndim, 2) for a in arrays), default=0),
            -sum(a.size for a in arrays),
        )

    return max(range(len(samples)), key=rank)


def check(op: Op, samples: list[Sample], names: list[str], seed: int) -> None:
    """The compositions `names` of an operation, at two samples of the same types."""
    wide = [s.with_args([widen(a) if isinstance(a, np.ndarray) else a for a in s.args]) for s in samples]
    with x64(wide[0].needs_x64):
        case = _case(op, wide)
        for name in names:
            if name in DERIVATIVES and not case.moving:
                continue
            got, wanted = (VALUES.get(name) or DERIVATIVES[name])(case)
            what = f"{name} of {op.name}({wide[0].label}), seed {seed}"
            narrow = any(
                is_inexact(d) and ml_dtypes.finfo(d).bits < 64 for d in [np.asarray(x).dtype for x in leaves(wanted)]
            )
            assert_close(got, wanted, what, op.tolerance, None if narrow else _RTOL)


def test_compositions(op: Op, sampling):
    batches = [op.all_samples(sampling.seed + k) for k in range(2)]
    with_arrays = [i for i, s in enumerate(batches[0]) if s.arrays]
    if not with_arrays:
        pytest.skip("no operands")
    pairs = [[b[i] for b in batches] for i in with_arrays]
    chosen = [_small(op, [p[0] for p in pairs])]
    if sampling.full:
        chosen = sorted({*chosen, *pick(sampling.seed, False, op, "compositions", range(len(pairs)), 3)})
    for i in chosen:
        base = pairs[i][0]
        inexact = any(is_inexact(base.args[k].dtype) for k in base.arrays)
        candidates = _applicable(op, base, inexact)
        count = len(candidates) if sampling.full else _PER_OPERATION
        check(op, pairs[i], pick(sampling.seed, False, op, "compositions of", candidates, count), sampling.seed)


test_compositions.check = "compositions"


def test_the_table_sees_a_wrong_rule():
    """An operation whose derivative depends on how it is reached fails."""

    def wrong(root):
        @root.custom_jvp
        def f(x):
            return root.lax.sin(x)

        @f.defjvp
        def rule(primals, tangents):
            slope = 1.0 if "Batch" in type(primals[0]).__name__ else 2.0
            return f(primals[0]), tangents[0] * slope

        return f

    op = Op("wrong", lambda draw: iter([Sample(draw.array((3,), "float64", 1.0, 2.0))]), function=wrong)
    with pytest.raises(AssertionError, match="grad∘vmap of wrong"):
        check(op, [op.all_samples(k)[0] for k in range(2)], ["grad∘vmap"], 0)
