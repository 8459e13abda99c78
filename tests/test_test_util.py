"""check_grads passes right derivatives and refuses wrong ones."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.test_util import check_grads


@xt.custom_jvp
def wrong(x):
    return xnp.sin(x)


wrong.defjvp(lambda primals, tangents: (wrong(primals[0]), 2.0 * tangents[0]))

RIGHT = {
    "scalar": (xnp.sin, (0.7,)),
    "matrix product": (xnp.matmul, (np.eye(3, dtype="float32"), np.arange(6, dtype="float32").reshape(3, 2))),
    "tree": (lambda t: {"out": t["a"] * t["b"]}, ({"a": 1.5, "b": np.ones(2, "float32")},)),
    "integers are constants": (lambda x, n: x**n, (1.5, 3)),
    "complex": (lambda z: z * z + xnp.conj(z), (np.complex64(0.3 + 0.4j),)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name):
    f, args = RIGHT[name]
    check_grads(f, args, order=2, rtol=1e-1, atol=1e-1, eps=1e-2)


@pytest.mark.parametrize("modes", [["fwd"], ["rev"], "fwd", "rev"])
def test_a_wrong_derivative_fails(modes):
    with pytest.raises(AssertionError, match="JVP tangent|VJP cotangent"):
        check_grads(wrong, (1.3,), order=1, modes=modes)


def test_wrong_second_derivative_fails_at_order_two_only():
    @xt.custom_jvp
    def f(x):
        return x * x

    @xt.custom_jvp
    def twice(x):
        return 2 * x

    twice.defjvp(lambda p, t: (twice(p[0]), 0.0 * t[0]))
    f.defjvp(lambda p, t: (f(p[0]), twice(p[0]) * t[0]))
    check_grads(f, (1.3,), order=1, eps=1e-2)
    with pytest.raises(AssertionError, match="fwd of|rev of"):
        check_grads(f, (1.3,), order=2, eps=1e-2)


def test_unknown_mode():
    with pytest.raises(ValueError, match="sideways"):
        check_grads(xnp.sin, (1.0,), 1, modes=["sideways"])


def test_tolerance_of_small_floats():
    import ml_dtypes

    x = np.asarray([0.5, 1.0], ml_dtypes.bfloat16)
    check_grads(lambda x: x * 2, (x,), order=1, eps=0.5)
    with pytest.raises(AssertionError, match="JVP tangent"):
        check_grads(wrong, (x,), order=1, modes=["fwd"], eps=0.5)
