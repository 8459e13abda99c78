"""Catalogue entries of loops and branches, each with bodies that use its forms: carries, stacked values, indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.catalogue.catalogue import BF16, Draw, Op, Sample

_FEW = (np.dtype("float32"), np.dtype("float64"), BF16)


def _cond_samples(draw: Draw) -> Any:
    for dtype in _FEW:
        for shape in ((), (2, 3), (0,)):
            yield Sample(draw.array((), "bool"), draw.array(shape, dtype), draw.array(shape, dtype))


def _cond(root: Any) -> Any:
    lax = root.lax
    return lambda pred, x, y: lax.cond(pred, lambda x, y: lax.mul(lax.sin(x), y), lambda x, y: lax.sub(y, x), x, y)


def _switch_samples(draw: Draw) -> Any:
    for dtype in _FEW:
        for shape in ((), (3,)):
            yield Sample(draw.array((), "int32", -1, 4), draw.array(shape, dtype, 0.5, 2))  # out of bounds: clamped


def _switch(root: Any) -> Any:
    lax = root.lax
    return lambda index, x: lax.switch(index, [lax.sin, lax.log, lambda x: lax.mul(x, x)], x)


def _switch_reference(index: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (np.sin, np.log, np.square)[int(np.clip(index, 0, 2))](x)


def _scan_samples(draw: Draw) -> Any:
    for dtype in _FEW:
        for n in (0, 3):
            for reverse, unroll in ((False, 1), (True, 1), (False, 2)):
                arrays = [draw.array(s, dtype, -1, 1) for s in ((2,), (n, 2), (2,))]
                yield Sample(*arrays, reverse=reverse, unroll=unroll)


def _scan(root: Any) -> Any:
    lax = root.lax

    def call(init: Any, xs: Any, scale: Any, reverse: bool, unroll: int) -> Any:
        def step(carry: Any, x: Any) -> Any:
            carry = lax.add(lax.mul(scale, lax.sin(carry)), x)
            return carry, lax.mul(carry, x)

        return lax.scan(step, init, xs, reverse=reverse, unroll=unroll)

    return call


def _scan_reference(carry: np.ndarray, xs: np.ndarray, scale: np.ndarray, reverse: bool, unroll: int) -> Any:
    ys = np.zeros_like(xs)
    for i in reversed(range(len(xs))) if reverse else range(len(xs)):
        carry = scale * np.sin(carry) + xs[i]
        ys[i] = carry * xs[i]
    return carry, ys


def _fori_samples(draw: Draw) -> Any:
    for dtype in _FEW:
        for shape in ((), (3,)):
            for lower, upper in ((0, 3), (2, 5), (3, 3)):
                yield Sample(draw.array(shape, dtype, -1, 1), lower=lower, upper=upper)


def _fori(root: Any) -> Any:
    lax = root.lax

    def call(init: Any, lower: int, upper: int) -> Any:
        def body(i: Any, x: Any) -> Any:
            return lax.add(lax.sin(x), lax.full_like(x, 0.25) * lax.convert_element_type(i, x.dtype))

        return lax.fori_loop(lower, upper, body, init)

    return call


def _fori_reference(x: np.ndarray, lower: int, upper: int) -> np.ndarray:
    for i in range(lower, upper):
        x = np.sin(x) + 0.25 * i
    return x


def _while_samples(draw: Draw) -> Any:
    for dtype in _FEW:
        for shape in ((), (3,)):
            yield Sample(draw.array((), "int32", 0, 4), draw.array(shape, dtype, -1, 1))


def _while(root: Any) -> Any:
    lax = root.lax

    def call(count: Any, x: Any) -> Any:
        return lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, lax.mul(lax.cos(s[1]), s[1])), (count, x))

    return call


def _while_reference(count: np.ndarray, x: np.ndarray) -> Any:
    for _ in range(int(count)):
        x = np.cos(x) * x
    return np.zeros_like(count), x


def _map_samples(draw: Draw) -> Any:
    for dtype in _FEW:
        for size, batch in ((3, None), (5, 2), (0, None)):
            yield Sample(draw.array((size, 2), dtype), draw.array((size,), dtype), batch_size=batch)


def _map(root: Any) -> Any:
    lax = root.lax

    def call(x: Any, y: Any, batch_size: int | None) -> Any:
        return lax.map(lambda row: lax.sin(row[0]) * row[1], (x, y), batch_size=batch_size)

    return call


def _prefix_samples(draw: Draw) -> Any:
    for dtype in _FEW:
        for n in (0, 1, 4, 5):
            for reverse in (False, True):
                yield Sample(draw.array((2, n), dtype, 0.5, 1.5), reverse=reverse)


def _prefix(root: Any) -> Any:
    return lambda x, reverse: root.lax.associative_scan(root.lax.mul, x, reverse=reverse, axis=1)


def _prefix_reference(x: np.ndarray, reverse: bool) -> np.ndarray:
    return np.cumprod(x[:, ::-1], 1)[:, ::-1] if reverse else np.cumprod(x, 1)


def _solve_samples(draw: Draw) -> Any:
    for dtype in _FEW:
        for shape in ((), (3,), (0,)):
            yield Sample(draw.array(shape, dtype, 1, 2), draw.array(shape, dtype, 1, 2))


def _linear_solve(root: Any) -> Any:
    lax = root.lax
    divide = lambda a: lambda _, b: lax.div(b, a)  # noqa: E731
    return lambda a, b: lax.custom_linear_solve(lambda x: lax.mul(a, x), b, divide(a), symmetric=True)


def _root(root: Any) -> Any:
    lax = root.lax

    def call(a: Any, guess: Any) -> Any:
        def tangent_solve(g: Any, y: Any) -> Any:
            return lax.div(y, g(lax.full_like(y, 1)))

        return lax.custom_root(lambda x: lax.sub(lax.mul(x, x), a), guess, lambda f, x: lax.sqrt(a), tangent_solve)

    return call


def _platform(root: Any) -> Any:
    lax = root.lax
    return lambda x, y: lax.platform_dependent(x, y, tpu=lax.mul, cuda=lax.mul, default=lambda x, y: lax.mul(y, x))


OPS = [
    Op("lax.cond", _cond_samples, lambda pred, x, y: np.sin(x) * y if pred else y - x, function=_cond),
    Op("lax.switch", _switch_samples, _switch_reference, function=_switch, python_scalars=False),
    Op("lax.scan", _scan_samples, _scan_reference, function=_scan, tolerance=4, python_scalars=False),
    Op("lax.fori_loop", _fori_samples, _fori_reference, function=_fori, tolerance=4, python_scalars=False),
    # Forward derivatives of it are tested in tests/lax/test_control_flow.py; reverse ones don't exist.
    Op("lax.while_loop", _while_samples, _while_reference, function=_while, differentiable=(), tolerance=4,
       python_scalars=False),
    Op("lax.associative_scan", _prefix_samples, _prefix_reference, function=_prefix, tolerance=4),
    Op("lax.custom_linear_solve", _solve_samples, lambda a, b: b / a, function=_linear_solve, python_scalars=False),
    Op("lax.custom_root", _solve_samples, lambda a, guess: np.sqrt(a), function=_root, differentiable=(0,),
       python_scalars=False),
    Op("lax.platform_dependent", _solve_samples, np.multiply, function=_platform, python_scalars=False),
    Op("lax.map", _map_samples, lambda x, y, batch_size: np.sin(x) * y[:, None], function=_map),
]  # fmt: skip
