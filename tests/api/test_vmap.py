"""vmap: axes, pytrees, sizes, and errors that list the arguments."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

M = np.arange(12, dtype=np.float32).reshape(3, 4)
V = np.arange(3, dtype=np.float32)


def test_axes():
    np.testing.assert_allclose(xt.vmap(xnp.sin)(M), np.sin(M), rtol=1e-6)
    np.testing.assert_allclose(xt.vmap(lambda r, s: r * s)(M, V), M * V[:, None])
    np.testing.assert_allclose(xt.vmap(lambda r, s: r * s, in_axes=(0, None))(M, 2.0), 2 * M)
    np.testing.assert_allclose(xt.vmap(lambda c: c + 1, in_axes=1, out_axes=1)(M), M + 1)
    np.testing.assert_allclose(xt.vmap(lambda c: c + 1, in_axes=-1)(M), (M + 1).T)
    np.testing.assert_allclose(xt.vmap(lambda c: c + 1, out_axes=-1)(M), (M + 1).T)


def test_pytrees_and_keywords():
    f = lambda p, x, scale: p["w"] * x * scale  # noqa: E731
    out = xt.vmap(f, in_axes=({"w": None}, 0, 0))({"w": 2.0}, V, V)
    np.testing.assert_allclose(out, 2 * V * V)
    np.testing.assert_allclose(xt.vmap(lambda x, *, k: x + k)(V, k=V), 2 * V)
    out = xt.vmap(lambda x: {"a": x, "b": x + 1}, out_axes={"a": 0, "b": 0})(V)
    np.testing.assert_allclose(out["b"], V + 1)


def test_unmapped_outputs_and_axis_size():
    np.testing.assert_allclose(xt.vmap(lambda x: 3.0)(V), [3, 3, 3])
    assert float(xt.vmap(lambda x: 3.0, out_axes=None)(V)) == 3.0
    np.testing.assert_allclose(xt.vmap(lambda: 2.0, axis_size=4)(), [2, 2, 2, 2])
    assert xt.vmap(lambda x: x)(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_nested():
    np.testing.assert_allclose(xt.vmap(xt.vmap(lambda a, b: a * b), in_axes=(None, 0))(V, M[:, :3]), V * M[:, :3])
    np.testing.assert_allclose(
        xt.vmap(lambda r: xt.vmap(lambda x, y: x * y, in_axes=(0, None))(r, r[0]))(M), M * M[:, :1]
    )


def test_under_and_over_jit():
    f = lambda r, s: xnp.sin(r) * s  # noqa: E731
    expected = np.sin(M) * V[:, None]
    np.testing.assert_allclose(xt.jit(xt.vmap(f))(M, V), expected, rtol=1e-6)
    np.testing.assert_allclose(xt.vmap(xt.jit(f))(M, V), expected, rtol=1e-6)


def test_sizes_that_differ_are_listed():
    def f(params, x):
        return x

    with pytest.raises(ValueError) as caught:
        xt.vmap(f)({"a": np.ones(3, np.float32), "b": np.ones((3, 2), np.float32)}, np.ones(5, np.int32))
    assert str(caught.value) == "\n".join(
        [
            "vmap got inconsistent sizes for array axes to be mapped (function f):",
            "  * 2 axes had size 3: axis 0 of argument params['a'] of type float32[3]; axis 0 of argument params['b'] "
            "of type float32[3,2]",
            "  * one axis had size 5: axis 0 of argument x of type int32[5]",
            "Give arguments that are not mapped the axis None in in_axes.",
        ]
    )


def test_argument_errors():
    with pytest.raises(ValueError, match=r"len\(in_axes\)=2, len\(args\)=1"):
        xt.vmap(lambda x: x, in_axes=(0, 0))(V)
    with pytest.raises(
        ValueError, match=r"rank should be at least 2, but is only 1 \(its shape is \(3,\)\): argument x"
    ):
        xt.vmap(lambda x: x, in_axes=1)(V)
    with pytest.raises(ValueError, match="nothing is mapped"):
        xt.vmap(lambda x: x, in_axes=None)(V)
    with pytest.raises(ValueError, match="mapped output but out_axes is None: result"):
        xt.vmap(lambda x: x, out_axes=None)(V)
    with pytest.raises(TypeError, match="in_axes must be an int, None"):
        xt.vmap(lambda x: x, in_axes="a")(V)
    with pytest.raises(TypeError, match="vmap takes a function"):
        xt.vmap(3)
    with pytest.raises(TypeError, match="argument x"):
        xt.vmap(lambda x: x)("text")


def test_sum_match_sums_results_that_are_not_to_be_mapped():
    f = xt.vmap(lambda x: (x, 2.0), out_axes=None, sum_match=True)
    summed, constant = f(xnp.asarray(M))
    np.testing.assert_allclose(summed, M.sum(0), rtol=1e-6)
    assert constant == 2.0


@pytest.mark.parametrize("axes", [True, "a", 0.5, (True,)])
def test_axes_that_are_no_integers(axes):
    with pytest.raises(TypeError, match="vmap in_axes must be an int, None, or"):
        xt.vmap(lambda x: x, in_axes=axes)
