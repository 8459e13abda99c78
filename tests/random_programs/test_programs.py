"""Random programs under every order of transformations, against each other and against NumPy.

What a transformed program means is what NumPy makes of its jaxpr (numpy_interpreter.py): the derivatives so found are
compared with differences of values, and all others with those. One of each program's jaxprs is compiled, and one of
every other program's run operation by operation (of all, and two compiled, in a full run): they must give what NumPy
gives.
"""

from __future__ import annotations

import random
import zlib
from typing import Any

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from tests.random_programs.numpy_interpreter import evaluate
from tests.random_programs.programs import MODES, Program, Step, draw, minimized, num

_STEP = 1e-6


def _point(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, 3), rng.uniform(-2, 2, (2, 3)), np.asarray(rng.uniform(-2, 2))


def _plus(x: Any, y: Any, scale: float) -> Any:
    return tuple([a + scale * b for a, b in zip(x, y)])


def close(got: Any, wanted: Any, what: str, rtol: float = 1e-8) -> None:
    got, wanted = [np.asarray(x) for x in got], [np.asarray(x) for x in wanted]
    assert [x.shape for x in got] == [x.shape for x in wanted], what
    for g, w in zip(got, wanted):
        size = max(float(np.max(np.abs(w), initial=0.0)), 1e-3)
        assert np.max(np.abs(g - w), initial=0.0) <= rtol * size, f"{what}:\n{g}\nexpected\n{w}"


class Checker:
    """Evaluates transformed versions of one program; compiles some of them on the way."""

    def __init__(self, seed: int, full: bool) -> None:
        self.full = full
        self.random = random.Random(seed)
        self.seen: list[tuple[str, Any, Any, Any]] = []

    def run(self, name: str, fun: Any, *args: Any) -> list[np.ndarray]:
        """What NumPy makes of the jaxpr of `fun`."""
        jaxpr = xt.make_jaxpr(fun)(*args)
        out = evaluate(jaxpr, *xt.tree_util.tree_leaves(args))
        assert all(np.all(np.isfinite(x)) for x in out), f"{name}: {out}"
        self.seen.append((name, fun, args, out))
        return out

    def compile_some(self) -> None:
        for name, fun, args, out in self.random.sample(self.seen, 2 if self.full else 1):
            close(xt.tree_util.tree_leaves(xt.jit(fun)(*args)), out, f"{name}, compiled")
        for name, fun, args, out in self.random.sample(self.seen, 1 if self.full else self.random.randrange(2)):
            close(xt.tree_util.tree_leaves(fun(*args)), out, f"{name}, operation by operation")


def check(program: Program, full: bool) -> None:
    """Every order of transformations that the program's mode allows."""
    f = program.function()
    seed = zlib.crc32(program.source.encode())
    c = Checker(seed, full)
    forward, reverse = program.mode != "reverse", program.mode != "forward"
    x, y, t = _point(1), _point(2), _point(3)
    batch = [np.stack([a, b, b - a], axis) for axis, a, b in zip((1, 0, 0), x, y)]
    rows = [x, y, _plus(y, x, -1.0)]
    axes = (1, 0, 0)
    ct = np.cos(1.0 + np.arange(3.0))  # the cotangent that `num` stands for

    value = c.run("value", f, *x)
    value_jaxpr = xt.make_jaxpr(f)(*x)

    def slope(jaxpr: Any, point: Any, direction: Any) -> list[np.ndarray]:
        above, below = [evaluate(jaxpr, *_plus(point, direction, h)) for h in (_STEP, -_STEP)]
        return [(a - b) / (2 * _STEP) for a, b in zip(above, below)]

    close(c.run("jit", xt.jit(f), *x), value, "jit")
    every = [np.stack(v) for v in zip(*[evaluate(value_jaxpr, *r) for r in rows])]
    close(c.run("vmap", xt.vmap(f, axes), *batch), every, "vmap")
    close(c.run("vmap of jit", xt.vmap(xt.jit(f), axes, 1), *batch), [np.moveaxis(e, 0, 1) for e in every], "vmap")
    if forward:
        push = lambda *p: xt.jvp(f, p, t)[1]
        tangent = c.run("jvp", push, *x)
        close(tangent, slope(value_jaxpr, x, t), "jvp against differences", 1e-4)
        close(c.run("jvp of jit", lambda *p: xt.jvp(xt.jit(f), p, t)[1], *x), tangent, "jvp of jit")
        close(
            c.run("jacfwd", lambda s: xt.jacfwd(lambda s: f(x[0], x[1], s))(s), x[2]),
            c.run("jvp of a number", lambda s: xt.jvp(lambda s: f(x[0], x[1], s), (s,), (1.0,))[1], x[2]),
            "jacfwd",
        )
        pushes = xt.make_jaxpr(push)(*x)
        close(
            c.run("vmap of jvp", xt.vmap(push, axes), *batch),
            np.stack([evaluate(pushes, *r)[0] for r in rows])[None],
            "vmap of jvp",
        )
        close(
            c.run("jvp of vmap", lambda *p: xt.jvp(xt.vmap(f, axes), p, batch_of(t))[1], *batch),
            np.stack([evaluate(pushes, *r)[0] for r in rows])[None],
            "jvp of vmap",
        )
    if reverse:
        loss = lambda *p: num(f(*p))
        gradient = xt.grad(loss, (0, 1, 2))
        slopes = c.run("grad", gradient, *x)
        along = sum(np.sum(g * d) for g, d in zip(slopes, t))
        close([along], [np.sum(ct * slope(value_jaxpr, x, t)[0])], "grad against differences", 1e-4)
        close(c.run("vjp", lambda *p: xt.vjp(f, *p)[1](ct), *x), slopes, "vjp")
        close(c.run("jit of grad", xt.jit(gradient), *x), slopes, "jit of grad")
        close(c.run("grad of jit", xt.grad(xt.jit(loss), (0, 1, 2)), *x), slopes, "grad of jit")
        gradients = xt.make_jaxpr(gradient)(*x)
        per_row = [np.stack(g) for g in zip(*[evaluate(gradients, *r) for r in rows])]
        close(c.run("vmap of grad", xt.vmap(gradient, axes), *batch), per_row, "vmap of grad")
        total = lambda *p: xnp.sum(xt.vmap(loss, axes)(*p))
        moved = [np.moveaxis(g, 0, a) for g, a in zip(per_row, axes)]
        close(c.run("grad of vmap", xt.grad(total, (0, 1, 2)), *batch), moved, "grad of vmap")
    if forward and reverse:
        close([along], [np.sum(ct * tangent[0])], "grad against jvp")

        def both(*p: Any) -> Any:
            _, linear = xt.linearize(f, *p)
            return linear(*t), xt.linear_transpose(linear, *p)(ct)

        close(c.run("linearize, transpose", both, *x), [*tangent, *slopes], "linearize, transpose")
        second = c.run("jvp of vjp", lambda *p: xt.jvp(gradient, p, t)[1], *x)
        close(second, slope(gradients, x, t), "second derivative against differences", 2e-4)
        derivative = lambda *p: xt.jvp(loss, p, t)[1]
        close(c.run("vjp of jvp", xt.grad(derivative, (0, 1, 2)), *x), second, "vjp of jvp", 1e-7)
        h = c.run("hessian", lambda v: xt.hessian(lambda v: loss(v, x[1], x[2]))(v), x[0])[0]
        close(
            c.run("grad of grad", lambda v: xt.grad(lambda v: xnp.sum(t[0] * xt.grad(loss)(v, x[1], x[2])))(v), x[0]),
            [h @ t[0]],
            "grad of grad against hessian",
            1e-7,
        )
        close([h], [h.T], "symmetry of the hessian", 1e-7)
    c.compile_some()


def batch_of(t: Any) -> tuple[np.ndarray, ...]:
    return tuple([np.stack([d] * 3, axis) for d, axis in zip(t, (1, 0, 0))])


def _failure(program: Program, full: bool) -> BaseException | None:
    try:
        with xt.enable_x64(True):
            check(program, full)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("part", range(8))
def test_random_programs(part, sampling, request):
    for i in range(part, request.config.option.programs, 8):
        program = draw(f"{sampling.seed}:{i}")
        error = _failure(program, sampling.full)
        if error is not None:
            kind = type(error)
            small = minimized(program, lambda p, kind=kind: isinstance(_failure(p, True), kind))
            message = f"program {i} of --seed {sampling.seed} fails. Minimized:\n\n{small}"
            raise AssertionError(message) from (_failure(small, True) or error)


def test_a_failing_program_is_printed_small():
    """Where one primitive is wrong, what remains of a failing program is that primitive."""

    def fails(program: Program) -> bool:
        with xt.enable_x64(True):
            return "sort[" in str(xt.make_jaxpr(program.function())(*_point(1)))

    found = [p for p in map(draw, map(str, range(60))) if fails(p)]
    assert found
    for program in found[:5]:
        assert minimized(program, fails).source.count("\n") == 2, program


def test_every_operation_alone():
    """Each operation of the generator in a program of its own: all are valid, and NumPy knows their primitives."""
    body = (Step("xnp.sin({a}) + {b} * 0.3", (0, 1, 2), 0),)
    for mode, families in MODES.items():
        for template in {t for family in families for t in family}:
            program = Program(mode, (Step(template, (0, 1, 2), 1, (body, body)),))
            with xt.enable_x64(True):
                jaxpr = xt.make_jaxpr(program.function())(*_point(1))
                wanted = program.function()(*_point(1))
                close(evaluate(jaxpr, *_point(1)), [wanted], program.source)
