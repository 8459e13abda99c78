"""custom_root and custom_linear_solve: derivatives against those of explicit solutions, batching, messages."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax

MATRIX = np.array([[2.0, 1.0], [0.5, 3.0]], np.float32)
RIGHT = np.array([1.0, 2.0], np.float32)


def inverse(m):
    det = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    return xnp.stack([xnp.stack([m[1, 1], -m[0, 1]]), xnp.stack([-m[1, 0], m[0, 0]])]) / det


def solved(a, b):
    x = lax.custom_linear_solve(lambda x: a @ x, b, lambda _, b: inverse(a) @ b, lambda _, b: inverse(a).T @ b)
    return (x**2).sum()


def explicit(a, b):
    return ((inverse(a) @ b) ** 2).sum()


def close(got, want, tol=1e-5):
    for g, w in zip(xt.tree.leaves(got), xt.tree.leaves(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("derivative", [xt.grad, xt.jacfwd, xt.hessian])
def test_linear_solve_derivatives(derivative, jit):
    f, g = derivative(solved, (0, 1)), derivative(explicit, (0, 1))
    close((xt.jit(f) if jit else f)(MATRIX, RIGHT), g(MATRIX, RIGHT))


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_linear_solve_batched(axes):
    args = [np.stack([MATRIX, 2 * MATRIX, MATRIX.T]), np.stack([RIGHT, -RIGHT, 2 * RIGHT])]
    args = [x if d == 0 else x[0] for x, d in zip(args, axes)]
    close(xt.vmap(xt.grad(solved, (0, 1)), axes)(*args), xt.vmap(xt.grad(explicit, (0, 1)), axes)(*args))
    total = [lambda a, b, f=f: xt.vmap(f, axes)(a, b).sum() for f in (solved, explicit)]
    close(xt.grad(total[0], (0, 1))(*args), xt.grad(total[1], (0, 1))(*args))


def test_linear_solve_pytree_and_aux():
    def f(s):
        b = {"x": s, "y": 2 * s}
        matvec = lambda v: {"x": 2 * v["x"], "y": 4 * v["y"] * s}  # noqa: E731
        solve = lambda _, b: ({"x": b["x"] / 2, "y": b["y"] / (4 * s)}, {"steps": 3})  # noqa: E731
        x, aux = lax.custom_linear_solve(matvec, b, solve, symmetric=True, has_aux=True)
        return x["x"] + s * x["y"], aux

    value, aux = f(3.0)
    assert float(value) == 3.0 and int(aux["steps"]) == 3
    np.testing.assert_allclose(xt.grad(lambda s: f(s)[0])(3.0), 1.0, rtol=1e-6)  # s/2 + s * 1/2


def test_linear_solve_messages():
    same = lambda f, x: x  # noqa: E731
    for args, error, text in [
        ((lambda x: [x], 1.0, same, same), TypeError, r"^matvec\(\) output pytree structure must match b"),
        ((lambda x: x, 1.0, lambda f, x: [x], same), TypeError, r"^solve\(\) output pytree"),
        ((lambda x: x, 1.0, same, lambda f, x: [x]), TypeError, r"^transpose_solve\(\) output pytree"),
        ((lambda x: x, 1.0, lambda f, x: xnp.ones(2), same), ValueError, r"^solve\(\) output shapes must match b"),
    ]:
        with pytest.raises(error, match=text):
            lax.custom_linear_solve(*args)
    with pytest.raises(TypeError, match="transpose_solve required"):
        xt.grad(lambda b: lax.custom_linear_solve(lambda x: 2 * x, b, lambda f, b: b / 2))(1.0)


def root(a):
    newton = lambda f, x: lax.fori_loop(0, 8, lambda i, x: (x + a / x) / 2, x)  # noqa: E731
    return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))


def test_root_derivatives():
    close([root(4.0), xt.grad(root)(4.0), xt.jacfwd(root)(4.0), xt.jit(xt.grad(root))(4.0)], [2, 0.25, 0.25, 0.25])
    close(xt.grad(xt.grad(root))(4.0), -1 / 32)
    close(xt.vmap(xt.grad(root))(np.array([4.0, 9.0], np.float32)), np.array([1 / 4, 1 / 6]))


def test_root_messages():
    same = lambda f, x: x  # noqa: E731
    for args, text in [
        ((lambda x: (x, x), 0.0, same, same), r"^f\(\) output pytree"),
        ((lambda x: x, 0.0, lambda f, x: (x, x), same), r"^solve\(\) output pytree"),
        ((lambda x: x, 0.0, same, lambda f, x: (x, x)), r"^tangent_solve\(\) output pytree"),
    ]:
        with pytest.raises(TypeError, match=text):
            lax.custom_root(*args)
