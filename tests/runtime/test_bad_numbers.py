"""debug_nans and debug_infs: the operation that made the first bad number, and its line."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax


def log(x):
    return xnp.log(x) / x


def here(fun, text):
    lines, first = inspect.getsourcelines(fun)
    return rf"{__file__}:{next(first + i for i, line in enumerate(lines) if text in line)} "


LOG = "log at " + here(log, "return")

CASES = {
    "eager": (log, -1.0, [LOG]),
    "jit": (xt.jit(log), -1.0, [LOG]),
    "nested jit": (xt.jit(lambda x: 2 * xt.jit(log)(x)), -1.0, [LOG, "in log, called at"]),
    "vmap": (xt.vmap(log), np.array([1.0, -1.0]), [LOG]),
    "jit of vmap": (xt.jit(xt.vmap(log)), np.array([1.0, -1.0]), [LOG]),
    "cond": (xt.jit(lambda x: lax.cond(x < 0, log, lambda x: x, x)), -1.0, [LOG, "branch 1 of cond"]),
    "scan": (xt.jit(lambda x: lax.scan(lambda c, e: (log(c), e), x, None, 3)[0]), 2.0, [LOG, "step 2 of 3 of scan"]),
    "map": (xt.jit(lambda x: lax.map(log, x)), np.array([1.0, -1.0]), [LOG, "step 1 of 2 of scan"]),
    "while": (
        xt.jit(lambda x: lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, log(s[1])), (0, x))[1]),
        2.0,
        [LOG, "step 2 of while"],
    ),
    "donated": (xt.jit(log, donate_argnums=0), -1.0, [LOG]),
    "forward derivative": (lambda x: xt.jvp(log, (x,), (1.0,)), -1.0, [LOG]),
    "compiled ahead": (lambda x: xt.jit(log).lower(x).compile()(x), -1.0, [LOG]),
    "composite": (xt.jit(lambda x: xnp.var(x)), np.array([np.inf, 1.0]), ["sub at"]),
}


@pytest.mark.parametrize("case", CASES)
def test_operation_and_line(case):
    f, x, told = CASES[case]
    x = xnp.asarray(x, "float32")
    with xt.debug_nans(True):
        with pytest.raises(FloatingPointError) as caught:
            f(x)
        message = str(caught.value)
        assert message.startswith("invalid value (nan) encountered in ")
        for part in told:
            assert part in message
        if case not in ("composite", "scan", "while"):
            f(xnp.abs(x) + 4)
    f(xnp.asarray(CASES[case][1], "float32"))


def root(x):
    return xnp.sqrt(x) * 0


@pytest.mark.parametrize(
    "f", [xt.grad(root), xt.jit(xt.grad(root)), xt.grad(xt.jit(root))], ids=["eager", "jit", "of jit"]
)
def test_derivatives_name_the_line_of_the_function(f):
    with xt.debug_nans(True):
        with pytest.raises(
            FloatingPointError, match="mul in the derivative of the operation at " + here(root, "return")
        ):
            f(0.0)
        f(1.0)
    assert np.isnan(f(0.0))


def test_lines_of_library_functions_are_those_of_this_call():
    with xt.debug_nans(True):
        xnp.var(xnp.ones(2))
        with pytest.raises(FloatingPointError, match=r"\(test_lines_of_library_functions_are_those_of_this_call\)"):
            xnp.var(xnp.array([xnp.inf, 1.0]))


def test_a_bad_number_that_is_masked_is_not_blamed():
    @xt.jit
    def f(x):
        masked = xnp.where(x > 0, xnp.log(x), 0.0)
        return masked, xnp.sqrt(x)

    with xt.debug_nans(True), pytest.raises(FloatingPointError, match="encountered in sqrt"):
        f(-1.0)


def test_inputs_and_literals():
    with xt.debug_nans(True):
        with pytest.raises(FloatingPointError, match="the de-optimized function did not .*input, the argument x"):
            xt.jit(lambda x: x * 3)(np.nan)
        with pytest.raises(FloatingPointError, match="the de-optimized function did not .*literal"):
            xt.jit(lambda x: (xnp.nan, x + 2))(3.0)


def test_infinities():
    with xt.debug_infs(True):
        with pytest.raises(FloatingPointError, match=r"invalid value \(inf\) encountered in div at"):
            xt.jit(lambda x: 1 / x)(0.0)
        xt.jit(lambda x: x - x)(1.0)


def test_programs_compiled_with_donation_say_so():
    f = xt.jit(log, donate_argnums=0).lower(xnp.float32(1)).compile()
    with xt.debug_nans(True), pytest.raises(FloatingPointError, match="arguments were donated"):
        f(xnp.float32(-1))
