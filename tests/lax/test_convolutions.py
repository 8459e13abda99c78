"""Convolutions against loops: groups, dilations, strides, layouts; their transposes and batching; what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from tests.lax.window_references import convolution
from xtrace import lax

GROUPS = [(1, 1), (3, 1), (1, 2)]
GEOMETRY = [
    ((1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    ((2, 1), ((1, 2), (0, 1)), (1, 2), (2, 1)),
    ((1, 3), ((-1, 2), (1, -1)), (2, 1), (1, 2)),
]

DTYPES = ["float32", "complex64", "int32"]


def _arrays(dtype, *shapes):
    rng = np.random.default_rng(0)
    return [(rng.normal(size=s) * 5).astype(dtype) for s in shapes]


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("geometry", GEOMETRY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_batching_and_transposes(groups, geometry, dtype):
    strides, padding, lhs_dilation, rhs_dilation = geometry
    x, w = _arrays(dtype, (4, 6, 5, 6), (6, 6 // groups[0], 2, 3))

    def f(x, w):
        return lax.conv_general_dilated(x, w, strides, padding, lhs_dilation, rhs_dilation, None, *groups)

    expected = convolution(x, w, strides, padding, lhs_dilation, rhs_dilation, *groups)
    np.testing.assert_allclose(f(x, w), expected, rtol=1e-4, atol=2e-3)
    xs, ws = _arrays(dtype, (3, *x.shape), (3, *w.shape))
    # All nine ways to map, three in each case: over each of the axes 0, 1 and 4, and each of the operands and both.
    turn = GROUPS.index(groups) + GEOMETRY.index(geometry) + DTYPES.index(dtype)
    for place, (left, right) in enumerate(((True, False), (False, True), (True, True))):
        d = (0, 1, 4)[(place + turn) % 3]
        each = [f(xs[i] if left else x, ws[i] if right else w) for i in range(3)]
        axes = (d if left else None, d if right else None)
        got = xt.vmap(f, axes)(np.moveaxis(xs, 0, d) if left else x, np.moveaxis(ws, 0, d) if right else w)
        np.testing.assert_allclose(got, np.stack(each), rtol=1e-4, atol=4e-3)
    if dtype != "int32":
        dx, dw, ct = _arrays(dtype, x.shape, w.shape, expected.shape)
        tangent = xt.jvp(f, (x, w), (dx, dw))[1]
        gx, gw = xt.vjp(f, x, w)[1](ct)
        np.testing.assert_allclose(np.vdot(ct.conj(), tangent), np.sum(gx * dx) + np.sum(gw * dw), rtol=2e-3, atol=1)


@pytest.mark.parametrize("shape, kernel", [((0, 3, 4), (2, 3, 2)), ((1, 3, 1), (2, 3, 2)), ((1, 3, 0), (2, 3, 1)),
                                           ((1, 0, 4), (2, 0, 2)), ((1, 3, 4), (0, 3, 2))])  # fmt: skip
def test_sizes_of_zero(shape, kernel):
    x, w = _arrays("float32", shape, kernel)
    out = lax.conv(x, w, (1,), "VALID")
    np.testing.assert_array_equal(out, convolution(x, w, (1,), "VALID"))
    gx, gw = xt.grad(lambda x, w: lax.conv(x, w, (1,), "VALID").sum(), (0, 1))(x, w)
    assert gx.shape == shape and gw.shape == kernel


def test_layouts_are_transpositions():
    x, w = _arrays("float32", (2, 8, 9, 4), (3, 3, 4, 6))
    got = lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NWHC"))
    expected = convolution(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), (2, 1), "SAME")
    np.testing.assert_allclose(got, expected.transpose(0, 3, 2, 1), rtol=1e-4, atol=1e-3)
    assert lax.conv_general_shape_tuple(x.shape, w.shape, (2, 1), "SAME", ("NHWC", "HWIO", "NWHC")) == got.shape


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1,), (2,), (3,)])
def test_transposed_convolution_is_the_transpose(padding, strides):
    x, w = _arrays("float32", (2, 12, 3), (3, 3, 4))
    layout = ("NHC", "HIO", "NHC")
    out, vjp = xt.vjp(lambda x: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout), x)
    got = lax.conv_transpose(out, w, strides, padding, transpose_kernel=True)
    np.testing.assert_allclose(got, vjp(out)[0][:, : got.shape[1]], rtol=1e-4, atol=1e-2)


def test_cotangents_of_a_wider_preferred_type():
    x, w = xt.numpy.ones((1, 8, 4), "bfloat16"), xt.numpy.ones((3, 4, 8), "bfloat16")

    def f(x, w):
        layout = ("NLC", "LIO", "NLC")
        out = lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=layout, preferred_element_type="float32")
        return out.sum()

    gx, gw = xt.grad(f, (0, 1))(x, w)
    assert gx.dtype == gw.dtype == "bfloat16"
    assert (float(gx[0, 0, 0]), float(gw[0, 0, 0])) == (8, 6)


def test_unshared_weights_and_patches():
    x, w = _arrays("float32", (2, 3, 6), (4, 3 * 2, 5))
    got = lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
    patches = np.stack([x[:, :, i : i + 2].reshape(2, -1) for i in range(5)], -1)
    np.testing.assert_allclose(got, np.einsum("nps,ops->nos", patches, w), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(lax.conv_general_dilated_patches(x, (2,), (1,), "VALID"), patches)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_complex_ones_are_real_ones_where_libraries_have_no_others(platform):
    x, w = _arrays("complex64", (2, 3, 6), (4, 3, 2))
    traced = xt.jit(lambda x, w: lax.conv(x, w, (1,), "VALID")).trace(x, w)
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    assert text.count("stablehlo.convolution") == (3 if platform == "cuda" else 1)


@pytest.mark.parametrize(
    "error, message, call",
    [
        (TypeError, "same dtypes, got float32, float64", lambda x, w: lax.conv(x, w.astype("float16"), (1,), "SAME")),
        (ValueError, "window_strides must have the same number", lambda x, w: lax.conv(x, w, (1, 1), "SAME")),
        (ValueError, "must divide lhs feature", lambda x, w: lax.conv_general_dilated(
            x, w, (1,), "SAME", feature_group_count=2)),
        (ValueError, "string or a sequence", lambda x, w: lax.conv_general_dilated(x, w, (1,), (1,))),
        (RuntimeError, "Unrecognized padding", lambda x, w: lax.conv(x, w, (1,), "SAM")),
        (TypeError, "exactly once", lambda x, w: lax.conv_general_dilated(
            x, w, (1,), "SAME", dimension_numbers=("NHH", "HIO", "NHC"))),
        (ValueError, "larger than the size", lambda x, w: lax.conv_general_dilated(x, w, (1,), [(-9, 0)])),
    ],
)  # fmt: skip
def test_refusals(error, message, call):
    x, w = _arrays("float32", (2, 3, 6), (4, 3, 2))
    with pytest.raises(error, match=message.replace("float64", "float16")):
        call(x, w)


@pytest.mark.parametrize(
    ("dtype", "accepted"),
    [
        ("float16", "float16 bfloat16 float32"),
        ("float32", "float32"),
        ("int8", "float16 bfloat16 float32 int8 int32"),
        ("int32", "float32 int32"),
        ("uint8", "float16 bfloat16 float32 int8 int32 uint32"),
        ("complex64", "complex64"),
    ],
)
def test_types_of_sums(dtype, accepted):
    """Which types JAX sums convolutions of a type in."""
    x, w = xt.ShapeDtypeStruct((1, 1, 4), dtype), xt.ShapeDtypeStruct((1, 1, 2), dtype)
    for name in "float16 bfloat16 float32 int8 int32 uint32 complex64".split():
        call = lambda x, w: lax.conv(x, w, (1,), "SAME", preferred_element_type=name)  # noqa: B023, E731
        if name in accepted.split():
            assert xt.eval_shape(call, x, w).dtype == name
        else:
            with pytest.raises(TypeError, match="preferred_element_type.*" + dtype):
                xt.eval_shape(call, x, w)
