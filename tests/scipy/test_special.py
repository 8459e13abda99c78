"""Special functions against SciPy, and their derivatives at the edges."""

import numpy as np
import pytest
from scipy import special as reference

import xtrace as xt
from xtrace.scipy import special

X, Y = np.float32([0, 0.5, 2, 1]), np.float32([0, 2, 0.1, 3])
CASES = {
    "xlogy": (X, Y),
    "xlog1py": (X, Y),
    "entr": (np.float32([-1, 0, 0.5, 1, 2]),),
    "rel_entr": (np.float32([0, 0.5, 2, -1, 1]), np.float32([1, 2, 0, 1, -1])),
    "kl_div": (X, Y + 1),
    "expit": (np.float32([-100, -1, 0, 2, 100]),),
    "logit": (np.float32([0, 0.1, 0.5, 1, 2]),),
    "erf": (X,),
    "erfc": (X,),
    "erfinv": (X / 2,),
    "gammaln": (X + 0.5,),
    "digamma": (X + 0.5,),
    "zeta": (X + 1.5, Y + 1),
    "i0": (X - 1,),
    "i0e": (X - 1,),
    "i1": (X - 1,),
    "i1e": (X - 1,),
    "gammainc": (X + 0.5, Y),
    "gammaincc": (X + 0.5, Y),
    "betainc": (X + 0.5, Y + 1, np.float32([0.1, 0.4, 0.5, 0.9])),
    "betaln": (X + 0.5, Y + 1),
    "logsumexp": (X,),
    "softmax": (X.reshape(2, 2),),
    "log_softmax": (X.reshape(2, 2),),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    out = getattr(special, name)(*CASES[name])
    np.testing.assert_allclose(out, getattr(reference, name)(*CASES[name]), rtol=2e-5, atol=1e-6)
    np.testing.assert_array_equal(xt.vmap(getattr(special, name))(*CASES[name]).shape, CASES[name][0].shape) if (
        name not in ("logsumexp", "softmax", "log_softmax")
    ) else None


# Function, point, gradient: from d/dx x log(y) = log(y), d/dy x log(y) = x / y, and so on.
GRADIENTS = [
    ("xlogy", (0.0, 2.0), (np.log(2.0), 0.0)),
    ("xlogy", (0.0, 0.0), (-np.inf, 0.0)),
    ("xlogy", (1.0, 0.0), (-np.inf, np.inf)),
    ("xlogy", (2.0, 3.0), (np.log(3.0), 2 / 3)),
    ("xlog1py", (0.0, -1.0), (-np.inf, 0.0)),
    ("xlog1py", (2.0, 3.0), (np.log(4.0), 0.5)),
    ("entr", (0.0,), (np.inf,)),
    ("entr", (1.0,), (-1.0,)),
    ("logit", (0.25,), (16 / 3,)),
    ("expit", (0.0,), (0.25,)),
    ("rel_entr", (2.0, 3.0), (np.log(2 / 3) + 1, -2 / 3)),
    ("rel_entr", (0.0, 0.0), (0.0, 0.0)),
]


@pytest.mark.parametrize("name, point, gradient", GRADIENTS)
def test_gradients(name, point, gradient):
    out = xt.grad(getattr(special, name), tuple(range(len(point))))(*point)
    np.testing.assert_allclose(out, gradient, rtol=1e-5)


def test_second_derivative_and_broadcasting():
    assert float(xt.grad(xt.grad(special.xlogy, 1))(2.0, 3.0)) == pytest.approx(1 / 3)
    assert float(xt.grad(xt.grad(special.xlogy, 1))(0.0, 3.0)) == pytest.approx(1 / 3)
    assert float(xt.grad(xt.grad(special.xlog1py, 1))(0.0, 3.0)) == pytest.approx(1 / 4)
    for f in ("xlogy", "xlog1py"):
        assert np.isnan(reference.__dict__[f](0.0, np.nan)) and np.isnan(getattr(special, f)(0.0, np.nan))
    x = np.float32([[1], [2]])
    np.testing.assert_allclose(special.xlogy(x, Y), reference.xlogy(x, Y))
    _, back = xt.vjp(special.xlogy, x, Y + 1)
    assert [c.shape for c in back(np.ones((2, 4), np.float32))] == [(2, 1), (4,)]
    np.testing.assert_allclose(xt.jit(special.xlogy)(X, 2.0), X * np.log(np.float32(2)), rtol=1e-6)
