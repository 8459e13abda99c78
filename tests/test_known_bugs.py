"""Cases that array libraries with derivatives and compilers are known to have got wrong, here by the answer.

What is expected comes from mathematics, NumPy or SciPy, or is what the documentation promises.
"""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax

CASES: list[Any] = []


def case(title, expected, exact=False, rtol=1e-5, x64=False):
    """Enter a function, which returns what the library gives, beside what it should give."""

    def enter(function):
        CASES.append(pytest.param(function, expected, exact, rtol, x64, id=title))
        return function

    return enter


# -- derivatives where a formula is singular ---------------------------------------------------------------------


@case("log_sigmoid has slope 1/2 at 0", 0.5)
def _():
    return xt.grad(xt.nn.log_sigmoid)(0.0)


@case("second derivatives of x**y at y = 0", [[[0, 0.25], [0.25, np.log(4.0) ** 2]]] * 2)
def _():
    forward = xt.jacfwd(xt.jacfwd(lax.pow, (0, 1)), (0, 1))(4.0, 0.0)
    reverse = xt.jacrev(xt.jacrev(lax.pow, (0, 1)), (0, 1))(4.0, 0.0)
    return [[[h[i][j] for j in range(2)] for i in range(2)] for h in (forward, reverse)]


@case("derivative of z**0 + z**1, whether exponents are integers or floats", [1, 1, 1, 1])
def _():
    powers = [xt.grad(lambda z, t=t: xnp.sum(z ** xnp.arange(0, 2, dtype=t)))(3.14) for t in (int, float)]
    return [*powers, xt.grad(lambda z: z**0 + z)(3.14), xt.grad(lambda z: z**0.0 + z)(3.14)]


@case("sixth derivative of 1/x", 720 / 4.0**7)
def _():
    f = lambda x: 1 / x
    for _ in range(6):
        f = xt.grad(f)
    return f(np.float32(4))


@case("logsumexp of minus infinities has the derivative 0", 0.0)
def _():
    return xt.grad(lambda x: xt.nn.logsumexp(xnp.stack([-xnp.inf, -xnp.inf + x])))(1.0)


@case("arctan2 away from the origin", np.array([4.0, -3.0]) / 25)
def _():
    return xt.grad(xnp.arctan2, (0, 1))(3.0, 4.0)


@case("product over an empty axis: 1, with derivative 0", [[1, 1], [0, 0]])
def _():
    empty = xnp.ones((2, 0))
    return xt.jvp(lambda x: xnp.prod(x, axis=1), (empty,), (empty,))


@case(
    "variance and deviation without NaN",
    [[0, -0.75, -0.25, 0.25, 0.75], np.array([0, -0.75, -0.25, 0.25, 0.75]) / 5**0.5],
)
def _():
    x = xnp.arange(5.0).at[0].set(xnp.nan)
    return [xt.grad(xnp.nanvar)(x), xt.grad(xnp.nanstd)(x)]


@case("norms and deviations have slope 0 where they are 0", np.zeros((4, 2)))
def _():
    zero = xnp.zeros(2)
    return [
        xt.grad(xnp.linalg.norm)(zero),
        xt.grad(lambda x: xnp.linalg.norm(x) ** 2)(zero),
        xt.grad(xnp.std)(xnp.ones(2)),
        xt.grad(xnp.nanstd)(xnp.array([2.0, xnp.nan, 2.0]))[::2],
    ]


@case("x log y at x = 0", [np.log(3.0), 0.0])
def _():
    return xt.grad(xt.scipy.special.xlogy, (0, 1))(0.0, 3.0)


@case("a norm and a logsumexp, compiled or not", [[[65 / 14.4, 0], [-1.5 * 65 / 14.4, 0]]] * 2, rtol=1e-4)
def _():
    def energy(p):
        x = p["shift"] + p["scale"] * xnp.array([-1.5, 0.0])
        ring = 0.5 * ((xnp.linalg.norm(x, axis=-1) - 2) / 0.4) ** 2
        wells = -0.5 * ((x[..., :1] + xnp.array([-2.0, 2.0])) / 0.6) ** 2
        return ring - xt.nn.logsumexp(wells, axis=-1)

    p = {"shift": xnp.zeros(2), "scale": xnp.ones(2)}
    return [[g["shift"], g["scale"]] for g in (xt.grad(energy)(p), xt.jit(xt.grad(energy))(p))]


# -- derivatives of structural operations ------------------------------------------------------------------------


@case("cotangent of a broadcast from sizes of 1", np.full((1, 3, 1), 8.0))
def _():
    x = np.ones((1, 3, 1), np.float32)
    return xt.grad(lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 1, 2)).sum())(x)


@case("a clipped gather sends its cotangent to the clipped place, mapped or not", [1, 1])
def _():
    def pick(x, i):
        return x.at[i].get(mode="clip")

    x, i = xnp.array([1.0]), xnp.array([1])
    jacobians = xt.jacrev(pick)(x, i), xt.jacrev(xt.vmap(pick, (None, 0)))(x, i)
    return np.concatenate([np.ravel(j) for j in jacobians])


@case("conj of a value whose tangent is a symbolic zero", 1.0)
def _():
    first = xt.jit(lambda a, b: (a, b))
    return xt.grad(lambda x: first(x, lax.conj(x))[0])(3.0)


@case("auxiliary results of grad have values", [3.0, 4.0])
def _():
    _, aux = xt.grad(lambda x: (x**2, {"in": x, "next": x + 1}), has_aux=True)(3.0)
    return [float(aux["in"]), float(aux["next"])]


@case("gradient of abs of a complex number, in both spellings", np.array([1 - 0.5j] * 2) / np.sqrt(1.25))
def _():
    z = np.complex64(1 + 0.5j)
    return [
        xt.grad(lambda x: xnp.abs(x))(z),
        xt.grad(lambda x: xnp.sqrt(xnp.real(x) ** 2 + xnp.imag(x) ** 2))(z),
    ]


Z, T = 0.3 + 0.7j, -1.1 + 0.4j


@case("tangent of a function that isn't holomorphic", Z * T + np.conj(Z) ** 2 * np.conj(T))
def _():
    return xt.jvp(lambda z: 0.5 * z**2 + xnp.conj(z) ** 3 / 3, (np.complex64(Z),), (np.complex64(T),))[1]


@case("hessian of a rematerialized product of Python numbers", 2.0)
def _():
    return xt.hessian(xt.checkpoint(lambda x: lax.dot_general(x, x, (((), ()), ((), ())))))(1.0)


@case(
    "gradients of a bfloat16 convolution that sums in float32 are bfloat16", ([6.0, 8.0], ["bfloat16"] * 2), exact=True
)
def _():
    def total(x, w):
        layout = "NLC", "LIO", "NLC"
        y = lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=layout, preferred_element_type=xnp.float32)
        return y.sum()

    gx, gw = xt.grad(total, (0, 1))(xnp.ones((1, 8, 4), xnp.bfloat16), xnp.ones((3, 4, 8), xnp.bfloat16))
    return [float(gw[0, 0, 0]), float(gx[0, 0, 0])], [gx.dtype.name, gw.dtype.name]


@case("calling a pullback of a rematerialized compiled function again traces nothing", 0)
def _():
    traced = []

    @xt.jit
    def double(x):
        traced.append(1)
        return 2 * x

    _, pull = xt.vjp(xt.checkpoint(double), 1.0)
    pull(1.0)
    before = len(traced)
    for _ in range(3):
        pull(1.0)
    return len(traced) - before


# -- functions with derivatives of their own ---------------------------------------------------------------------


@case("custom_jvp whose rule meets zero tangents under jit", 18 * np.array([1.0, 2.0]))
def _():
    @xt.custom_jvp
    def apply(matrix, vector):
        return matrix @ vector

    apply.defjvp(lambda p, t: (apply(*p), p[0] @ t[1] + t[0] @ p[1]))
    matrix, vector = xnp.eye(2) * 3, xnp.array([1.0, 2.0])
    return xt.jit(xt.grad(lambda v: xnp.sum(apply(matrix, v) ** 2)))(vector)


@case("custom_vjp may return None for no cotangent", 0.5)
def _():
    @xt.custom_vjp
    def clip_gradient(low, high, x):
        return x

    clip_gradient.defvjp(lambda low, high, x: (x, (low, high)), lambda bounds, ct: (None, None, xnp.clip(ct, *bounds)))
    return xt.grad(lambda x: clip_gradient(-0.1, 0.1, x * 5.0))(2.0)


@case("custom_jvp of an index is the built-in rule", [0, 2, 0, 1])
def _():
    @xt.custom_jvp
    def pick(x, i):
        return x[i]

    pick.defjvp(lambda p, t: xt.jvp(lambda x, i: x[i], p, t))
    return xt.vjp(pick, xnp.arange(4.0), xnp.array([1, 1, 3]))[1](xnp.ones(3))[0]


@case("custom_vjp in a scan in a vmap, with a coefficient that isn't mapped", [12, 36])
def _():
    @xt.custom_vjp
    def scale(x, c):
        return x * c

    scale.defvjp(lambda x, c: (scale(x, c), (x, c)), lambda r, g: (g * r[1], (r[0] * g).sum()))

    def cubed(c, x):
        return lax.scan(lambda x, _: (scale(x, c), None), x, xnp.arange(3))[0]

    return xt.vmap(xt.grad(cubed), (None, 0))(2.0, xnp.array([1.0, 3.0]))


@case("custom_vjp may return None for a whole custom node", [6.0, 0.0])
def _():
    @xt.tree_util.register_pytree_node_class
    class Box:
        def __init__(self, content):
            self.content = content

        def tree_flatten(self):
            return (self.content,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    @xt.custom_vjp
    def double(x, box):
        return 2.0 * x

    double.defvjp(lambda x, box: (double(x, box), None), lambda _, ct: (2.0 * ct, None))
    x, box = xt.vjp(double, 3.0, Box(1.0))[1](3.0)
    return [float(x), float(box.content)]


# -- control flow ------------------------------------------------------------------------------------------------

FIVE = np.linspace(-1, 1, 5)


@case("gradient of a cond under vmap", np.where(FIVE > 0, 2 * FIVE, 3 * FIVE**2))
def _():
    return xt.vmap(xt.grad(lambda x: lax.cond(x > 0, lambda v: v**2, lambda v: v**3, x)))(xnp.linspace(-1, 1, 5))


@case("unit vectors by two conds, differentiated under vmap at zero", np.zeros((2, 3)))
def _():
    def norm(x):
        return lax.cond(xnp.all(x == 0), lambda x: xnp.zeros(1), lambda x: xnp.linalg.norm(x, keepdims=True), x)

    def unit(x):
        return lax.cond(xnp.all(x == 0), xnp.zeros_like, lambda x: x / norm(x), x)

    return xt.vmap(xt.grad(lambda x: unit(x).sum()))(xnp.zeros((2, 3)))


@case("loops with traced counts under two vmaps", np.arange(3)[:, None] + np.arange(4))
def _():
    count = lambda x, n: lax.fori_loop(0, n, lambda _, v: v + 1, x)
    return xt.vmap(xt.vmap(count, (None, 0)), (0, None))(xnp.arange(3), xnp.arange(4))


@case("a while_loop that rejects samples, mapped, equals the loop over keys", np.zeros(8))
def _():
    def sample(key):
        def body(state):
            following, _ = xt.random.split(state[1])
            return xt.random.uniform(state[1], ()), following

        return lax.while_loop(lambda state: state[0] > 0.5, body, (1.0, key))[0]

    keys = xt.random.split(xt.random.key(0), 8)
    return np.asarray(xt.vmap(sample)(keys)) - np.array([sample(k) for k in keys])


@case("while_loop under vmap with jit switched off", [10.0, 10.5])
def _():
    with xt.disable_jit():
        return xt.vmap(lambda y: lax.while_loop(lambda x: x < 10.0, lambda x: x + 1.0, y))(xnp.array([3.0, 4.5]))


@case("carries of a scan that become strongly typed one after the other", [[5, 10, 10], [1, 1, 1]])
def _():
    def body(carry, x):
        return [carry[0] + x] + [a + b for a, b in zip(carry[1:], carry[:-1], strict=True)], None

    carry, _ = lax.scan(body, [0.0] * 3, xnp.ones(5, "float16"))
    return [[float(c) for c in carry], [c.dtype == xnp.float16 for c in carry]]


@case("a scan that calls grad, differentiated", -1.5)
def _():
    def energy(p):
        step = lambda x, _: (x - 0.1 * xt.grad(lambda c: xnp.sum(c * p))(x), None)
        return lax.scan(step, xnp.array([1.0, 2.0, 3.0]), None, length=5)[0].sum()

    return xt.grad(energy)(1.0)


@case("a loop body that writes x += 1 computes the same with jit switched off", [2, 3, 2, 3])
def _():
    def body(state):
        x, y = state
        x += 1
        return x, y + x

    def run():
        return lax.while_loop(lambda state: state[1] < 3, body, (np.array(0), np.array(0)))

    compiled = run()
    with xt.disable_jit():
        plain = run()
    return [int(v) for v in (*compiled, *plain)]


@case("a predicate of None is an error that names the predicate", True, exact=True)
def _():
    with pytest.raises(TypeError, match="predicate"):
        lax.cond(None, lambda x: x, lambda x: x, 1.0)
    return True


@case("map over nothing", ((0,), "float32"), exact=True)
def _():
    out = lax.map(lambda x: x * x, xnp.array([]))
    return out.shape, out.dtype.name


@case("matrix norms of nothing are 0", np.zeros(8))
def _():
    wide, tall = xnp.zeros((0, 2)), xnp.zeros((2, 0))
    norms = [xnp.linalg.matrix_norm(x, ord=order) for x in (wide, tall) for order in (1, xnp.inf, "fro")]
    return [*norms, xnp.linalg.norm(wide, xnp.inf, axis=(0, 1)), xnp.linalg.vector_norm(wide[:, 0], ord=xnp.inf)]


@case("an image resized to nothing", (0, 4), exact=True)
def _():
    return xt.image.resize(xnp.ones((2, 3)), (0, 4), "linear").shape


# -- indexing ----------------------------------------------------------------------------------------------------


@case("a uint8 index above 127", 128)
def _():
    return xnp.arange(200)[np.array(128, "uint8")]


@case("a Python int that int8 can't hold beside an int8 index", [10000, 10000])
def _():
    x = xnp.arange(100000).reshape(10000, 10)
    return [x[1000, xnp.int8(0)], x[xnp.int32(1000), xnp.int8(0)]]


@case("take_along_axis with uint8 indices into a long axis", np.arange(200.0)[:, None] * 150 + 140)
def _():
    x = np.arange(200 * 150, dtype=np.float32).reshape(200, 150)
    return xnp.take_along_axis(x, np.full((200, 1), 140, np.uint8), axis=-1)


@case("a row set to its own roll, compiled", np.stack([np.roll(np.arange(100.0), 5), np.arange(100.0, 200.0)]))
def _():
    x = xnp.arange(200.0).reshape(2, 100)
    return xt.jit(lambda x: x.at[0].set(xnp.roll(x[0], 5)))(x)


@case("a function applied at one place", [1, 1, 2, 3, 4, 5, 6, 7, 8, 9])
def _():
    return xnp.arange(10.0).at[0].apply(xnp.cos)


def _updated(start):
    """NumPy's way to write 6, 7, 8 into 0 … 4 at a start that is clamped to fit."""
    out = np.arange(5)
    start = min(start, 2)
    out[start : start + 3] = [6, 7, 8]
    return out


@case("dynamic_update_slice mapped over its start", np.stack([_updated(i) for i in range(6)]))
def _():
    return xt.vmap(lax.dynamic_update_slice, (None, None, 0))(xnp.arange(5), xnp.arange(6, 9), (xnp.arange(6),))


ROWS, MASK = np.arange(6).reshape(2, 3), np.array([True, False, False])


@case(
    "masks beside None and an ellipsis",
    [np.asarray(a).tolist() for a in (ROWS[None, MASK[:2]], ROWS[None, ..., MASK], ROWS[..., None, MASK])],
    exact=True,
)
def _():
    x, mask = xnp.asarray(ROWS), xnp.asarray(MASK)
    return [a.tolist() for a in (x[None, mask[:2]], x[None, ..., mask], x[..., None, mask])]


@case("indices dropped when out of bounds: -1 counts from the end, -2 lies outside", [1, 0])
def _():
    x = xnp.zeros(1)
    return [x.at[xnp.array([i])].add(1.0, mode="drop")[0] for i in (-1, -2)]


@case("take outside an array of integers fills with the least, or with the largest if unsigned", [-(2**31), 255])
def _():
    return [int(xnp.take(xnp.arange(5), 10)), int(xnp.take(xnp.arange(5, dtype=xnp.uint8), 10))]


@case("column_stack of vectors", [[1, 2], [1, 2]])
def _():
    return xnp.column_stack((xnp.array([1.0, 1.0]), xnp.array([2.0, 2.0])))


@case("arange up to a fraction", [0, 1, 2, 0, 1, 2, 10])
def _():
    return np.concatenate([xnp.arange(2.5), xnp.arange(0.0, 2.5), [len(xnp.arange(0.0, 1.0, 0.1))]])


# -- dtypes and overflow -----------------------------------------------------------------------------------------


@case("a number that int32 can't hold is an error, not 0", "OverflowError", exact=True)
def _():
    try:
        return int(lax.neg(1 << 32))
    except OverflowError as e:
        return type(e).__name__


@case("a converted int16 scalar keeps its dtype beside a Python int", ("int16", 2), exact=True)
def _():
    out = lax.convert_element_type(xnp.asarray(1), xnp.int16) + 1
    return out.dtype.name, int(out)


@case("complex64 with a Python float and with float64", ["complex64", "complex128"], exact=True, x64=True)
def _():
    return [xnp.promote_types(np.complex64, other).name for other in (float, np.float64)]


@case("cumsum counts booleans, and as booleans means any", ([1, 1, 2, 3], "int32", [True, True, True]), exact=True)
def _():
    counts = xnp.cumsum(xnp.array([True, False, True, True]))
    return counts.tolist(), counts.dtype.name, xnp.cumsum(xnp.array([-1, 0, 1]), dtype=bool).tolist()


@case("clip of uint64 at a bound above int64", 5, x64=True)
def _():
    return int(xnp.clip(xnp.asarray(5, xnp.uint64), min=0, max=9223372036854775808))


@case("results of Python numbers stay weakly typed, compiled or not", ["float16"] * 3, exact=True)
def _():
    half = lambda x: x / 2
    values = xnp.array(half(1)), xt.jit(half)(1), xt.jit(xnp.array)(1.0)
    return [(v * xnp.float16(1)).dtype.name for v in values]


@case("the smallest of unsigned numbers, 0 and 255 among them", [0, 0, 1, 2])
def _():
    return np.sort(xnp.partition(xnp.array([6, 255, 0, 4, 3, 1, 0, 7, 5, 2], xnp.uint8), 3)[:4])


@case("rounding to a hundred places changes nothing", [1.25, -3.5])
def _():
    return xnp.round(xnp.array([1.25, -3.5], xnp.float32), 100)


HEAVISIDE = np.array([np.nan, -1, 0, 1])[:, None], np.array([np.nan, 0.5])[None]


@case("heaviside propagates NaN as NumPy does", np.heaviside(*HEAVISIDE))
def _():
    return xnp.heaviside(*(x.astype(np.float32) for x in HEAVISIDE))


@case("a percentile that is exact in float64", 3.5, exact=True, x64=True)
def _():
    return float(xnp.percentile(xnp.array([1, 2, 3, 4, 7, 10], xnp.float64), 50))


@case("floor division of floats by zero", np.inf)
def _():
    return xnp.floor_divide(5.0, 0.0)


@case("logsumexp with a weight of 0", -1000.0)
def _():
    return xt.scipy.special.logsumexp(xnp.array([-1000.0, -2.0]), b=xnp.array([1.0, 0.0]))


@case("quantiles of the exponential distribution scale", 1.5 + np.log(2) * np.array([0.5, 2.0, 10.0]))
def _():
    return [xt.scipy.stats.expon.ppf(0.5, loc=1.5, scale=s) for s in (0.5, 2.0, 10.0)]


@case("the logistic density far from 0 doesn't overflow", [-100.0, -100.0])
def _():
    return xt.scipy.stats.logistic.logpdf(np.array([-100.0, 100.0], np.float32))


SPECTRUM = np.array([[1, 2], [3, 4]], np.complex64)


@case("irfftn of a spectrum that isn't that of real numbers", np.fft.irfftn(SPECTRUM, s=(5, 1), axes=(0, 1)))
def _():
    return xnp.fft.irfftn(SPECTRUM, s=(5, 1), axes=(0, 1))


# Contested: IEEE 754 wants False and True, but XLA takes subnormal numbers for 0 on CPUs, by intent.
@case("a subnormal number is kept, and compared as 0", [1, True, False])
def _():
    x = xnp.asarray(1e-45, xnp.float32)
    return [float(x) / 2.0**-149, bool(x == 0), bool(x > 0)]


@case("positions in a shape of more elements than int32 counts", [0, 0])
def _():
    return [int(i) for i in xnp.unravel_index(0, (201_996, 201_996))]


# -- matrices ----------------------------------------------------------------------------------------------------


@case("powers of a matrix of booleans", [[True, True], [False, True]])
def _():
    return xnp.linalg.matrix_power(xnp.array([[True, True], [False, True]]), 2)


@case("eigenvalues of an infinite matrix are NaN", [True])
def _():
    return np.isnan(xnp.linalg.eigvals(xnp.array([[xnp.inf]])))


@case("LU factors of a matrix of zeros", np.zeros((2, 2)))
def _():
    return xt.scipy.linalg.lu(xnp.zeros((2, 2)))[2]


# -- jit, vmap and static arguments ------------------------------------------------------------------------------


@case("an unhashable static argument is an error that says so", True, exact=True)
def _():
    with pytest.raises((ValueError, TypeError), match="hash"):
        xt.jit(lambda x, v: x, static_argnums=1)(xnp.ones(2), xnp.arange(3))
    return True


@case("1, True and 1.0 are different static arguments", ["int32", "bool", "float32"], exact=True)
def _():
    f = xt.jit(lambda k: k, static_argnums=0)
    return [f(k).dtype.name for k in (1, True, 1.0)]


@case("static_argnums in any order", [-2, -2])
def _():
    f = lambda a, b, c: (a + c) - b * c
    return [xt.jit(f, static_argnums=s)(1, 2, 3) for s in ((1, 0), (0, 1))]


@case("0 times NaN stays NaN under jit", [np.nan, np.nan])
def _():
    f = lambda x: 1 + x * 0
    return [f(xnp.nan), xt.jit(f)(xnp.nan)]


@case("a jitted function called ten times in another is traced once", 1)
def _():
    traced = []

    @xt.jit
    def double(x):
        traced.append(1)
        return 2.0 * x

    @xt.jit
    def outer(x):
        for _ in range(10):
            x = double(x) / 2.0
        return x

    outer(xnp.float32(1))
    return len(traced)


@case("nested jitted functions of different result trees", [(), 2, ()], exact=True)
def _():
    nothing = xt.jit(lambda x: ())
    calls_nothing = xt.jit(lambda x: nothing(x))
    pair = xt.jit(lambda x: (x, x))
    calls_pair = xt.jit(lambda x: pair(x))
    calls_pair(7), calls_nothing(8)
    return [calls_nothing(8), len(calls_pair(7)), calls_nothing(9)]


@case("the size of a mapped axis isn't remembered by a compiled function or a scan", [2, 3, 2, 3])
def _():
    size = lambda: lax.axis_size("i")
    by_jit = xt.jit(lambda: size())
    by_scan = lambda: lax.scan(lambda c, _: (size(), None), 0, None, length=1)[0]
    return [xt.vmap(f, axis_name="i", axis_size=n, out_axes=None)() for f in (by_jit, by_scan) for n in (2, 3)]


@case("vmap of keyword arguments", [2, 6])
def _():
    return np.concatenate(xt.vmap(lambda a, b: (2 * a, 3 * b))(a=xnp.array([1]), b=xnp.array([2])))


@case("vmap names in_axes of a wrong kind when it is applied", True, exact=True)
def _():
    with pytest.raises(TypeError, match="in_axes"):
        xt.vmap(lambda x: x["a"], in_axes={"a": 0})
    return True


@case("in_axes may be a list", [5, 6, 7])
def _():
    return xt.vmap(lambda d, x: d["a"] + x, [None, 0])({"a": 5.0}, xnp.arange(3.0))


@case("vmap names each argument of different size with its type", True, exact=True)
def _():
    with pytest.raises(ValueError) as raised:
        xt.vmap(lambda left, right: left + right)(xnp.array([1]), right=xnp.array([1, 2]))
    return all(part in str(raised.value) for part in ("int32[1]", "int32[2]", "left", "right"))


@case("grad without positional arguments speaks of argnums", True, exact=True)
def _():
    with pytest.raises(TypeError, match="argnums"):
        xt.grad(lambda x, y: x + y)(x=0.0, y=1.0)
    return True


# -- pytrees -----------------------------------------------------------------------------------------------------


@case("treedef_tuple is the structure of a tuple", True, exact=True)
def _():
    t = xt.tree_util
    return t.tree_structure((3,)) == t.treedef_tuple((t.tree_structure(3),))


@case("vmap builds no node of the program's own types with leaves that aren't arrays", [3, 3])
def _():
    @xt.tree_util.register_pytree_node_class
    class Boxes:
        def __init__(self, corners):
            assert corners.ndim >= 1
            self.corners = corners

        def tree_flatten(self):
            return (self.corners,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    return xt.vmap(lambda boxes: boxes.corners.sum())(Boxes(xnp.ones((2, 3))))


@case("ravel_pytree brings every leaf's dtype back", ["float32", "int32", "float32"], exact=True)
def _():
    flat, unravel = xt.flatten_util.ravel_pytree([xnp.arange(3, dtype=xnp.int32), xnp.ones(2, xnp.float32)])
    return [x.dtype.name for x in (flat, *unravel(flat))]


@case("an array in static metadata is an error that says so", True, exact=True)
def _():
    @functools.partial(xt.tree_util.register_dataclass, data_fields=[], meta_fields=["x"])
    @dataclasses.dataclass
    class Static:
        x: object

    f = xt.jit(lambda t: 1)
    with pytest.raises((ValueError, TypeError), match="metadata|hash"):
        f(Static(xnp.arange(4)))
        f(Static(xnp.arange(4)))
    return True


# -- integers ----------------------------------------------------------------------------------------------------


@case("integers divided by 0 are 0, as in NumPy", [[0] * 5] * 4)
def _():
    signed, unsigned = xnp.arange(-2, 3), xnp.arange(5, dtype=xnp.uint8)
    zeros = xnp.zeros(5, xnp.int32)
    return [signed // zeros, signed // 0, xt.jit(xnp.floor_divide)(unsigned, zeros), xnp.divmod(signed, zeros)[0]]


# -- random numbers ----------------------------------------------------------------------------------------------


@case("splitting a key is folding in 0, 1, 2", True, exact=True)
def _():
    key = xt.random.key(72)
    folded = xt.vmap(lambda i: xt.random.fold_in(key, i))(xnp.arange(3))
    return bool((xt.random.key_data(folded) == xt.random.key_data(xt.random.split(key, 3))).all())


@case("rare events happen", True, exact=True)
def _():
    count = int(xt.random.bernoulli(xt.random.key(0), p=np.float32(1e-3), shape=(200_000,)).sum())
    return abs(count - 200) < 5.5 * np.sqrt(200)


@case("geometric numbers are finite", False, exact=True)
def _():
    x = np.asarray(xt.random.geometric(xt.random.key(0), xnp.bfloat16(0.1), shape=(256,)))
    return bool((x == np.iinfo(x.dtype).max).any())


@case("logarithms of gamma numbers of shape 0 are never NaN", 0)
def _():
    drawn = xt.random.loggamma(xt.random.key(0), 0.0, (4096,), dtype="float32")
    key = xt.random.wrap_key_data(xnp.array([3200590325, 713258242], xnp.uint32))
    return np.isnan(drawn).sum() + np.isnan(xt.random.loggamma(key, 0.0, dtype="float32"))


# -- donation ----------------------------------------------------------------------------------------------------


@case("a copy made before donating keeps its value", [0, 1])
def _():
    x = xnp.array([0, 1])
    copy = xnp.array(x, copy=True)
    xt.jit(lambda a: a.at[0].set(77), donate_argnums=0)(x)
    return copy


@case("one buffer passed twice, once donated, is an error", True, exact=True)
def _():
    x = xnp.zeros(10)
    with pytest.raises((ValueError, RuntimeError)):
        xt.jit(lambda x, y: x + y, donate_argnums=0)(x, x)
    return True


@pytest.mark.parametrize("function, expected, exact, rtol, x64", CASES)
def test_known_bug(function, expected, exact, rtol, x64):
    with xt.enable_x64(x64):
        got = function()
        if exact:
            assert got == expected
        else:
            got = np.asarray(got)
            assert got.shape == np.shape(expected)
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-6)


LINES = (Path(__file__).parent / "data" / "known_bugs.txt").read_text().splitlines()
REPORTS = [line.split("\t") for line in LINES if not line.startswith("#")]


def test_every_report_has_its_test():
    # The areas of the language, its transformations and the array library.
    areas = """
        complex-grad control-flow custom-derivatives donation dtype empty errors grad indexing int-overflow
        jit-semantics jnp linalg prng pytrees sorting static-args transform vmap
    """.split()
    assert sorted({area for _, area, _ in REPORTS}) == areas
    assert len({report for report, _, _ in REPORTS}) == len(REPORTS) == 93
    nodes = {f"tests/test_known_bugs.py::test_known_bug[{parameters.id}]" for parameters in CASES}
    assert {node for _, _, node in REPORTS} == nodes
