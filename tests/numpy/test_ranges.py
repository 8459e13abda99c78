"""arange, linspace, eye, meshgrid, windows and their like, against NumPy."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp


@pytest.mark.parametrize(
    "args",
    [
        (5,),
        (5.0,),
        (1, 5),
        (1, 5, 2),
        (5, 0, -1),
        (5, 0),
        (0.5, 3),
        (0, 1, 0.125),
        (0, -7, -3),
        (-3,),
        (5.5,),
    ],
)
def test_arange(args):
    want = np.arange(*args)
    for out in (xnp.arange(*args), xt.jit(lambda: xnp.arange(*args))()):
        np.testing.assert_allclose(np.asarray(out), want, rtol=1e-6)
        small = {"int64": "int32", "float64": "float32"}
        assert out.dtype.name == small.get(want.dtype.name, want.dtype.name)
        assert not out.weak_type


def test_arange_dtypes_and_large_ranges():
    assert xnp.arange(np.int8(5)).dtype == np.int8
    assert xnp.arange(5, dtype="bfloat16").tolist() == [0, 1, 2, 3, 4]
    assert xnp.arange(0, 10, 2.5, dtype=int).tolist() == [0, 2, 4, 6]
    assert xnp.arange(start=2, stop=5).tolist() == [2, 3, 4]
    assert xnp.arange(xnp.int32(4)).tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(np.asarray(xnp.arange(3, 3_000_000, 2)), np.arange(3, 3_000_000, 2))
    operations = [e.primitive.name for e in xt.make_jaxpr(lambda: xnp.arange(1, 5, 2))().eqns]
    assert operations == ["iota", "mul", "add"]


@pytest.mark.parametrize(
    ("args", "options", "error", "message"),
    [
        ((True,), {}, TypeError, "arange does not accept dtype bool"),
        ((3,), {"dtype": bool}, TypeError, "arange does not accept dtype bool"),
        ((1j,), {}, ValueError, "arange counts in real numbers"),
        ((None,), {}, TypeError, "`start` must be a number, got None"),
        (([3],), {}, TypeError, "arange requires ndarray or scalar arguments, got <class 'list'>"),
        ((np.array([3]),), {}, ValueError, r"argument `stop` of arange must be a scalar, got an array of shape \(1,\)"),
        ((0, 5, 0), {}, (ValueError, ZeroDivisionError), "zero"),
    ],
)
def test_arange_refuses(args, options, error, message):
    with pytest.raises(error, match=message):
        xnp.arange(*args, **options)


def test_arange_of_a_traced_end():
    with pytest.raises(xt.errors.ConcretizationTypeError, match="argument `stop` of arange"):
        xt.jit(lambda n: xnp.arange(n))(3)


@pytest.mark.parametrize("options", [{}, {"endpoint": False}, {"num": 1}, {"num": 0}, {"num": 7}, {"dtype": int}])
@pytest.mark.parametrize("limits", [(0, 1), (-2.5, 10), (3, -3), (0, [1.0, 2.0, 3.0])])
def test_linspace(limits, options):
    start, stop = limits
    stop = np.asarray(stop) if isinstance(stop, list) else stop
    out = xnp.linspace(start, stop, **options)
    np.testing.assert_allclose(np.asarray(out), np.linspace(start, stop, **options), rtol=1e-5, atol=1e-6)


def test_linspace_more():
    out, step = xnp.linspace(0, 1, 5, retstep=True)
    assert float(step) == 0.25
    assert xnp.linspace(0, xnp.arange(3), 4, axis=1).shape == (3, 4)
    assert xnp.linspace(0, 1j, 3).dtype == np.complex64
    assert xnp.linspace(0, 1, 3, dtype="bfloat16").dtype == xnp.bfloat16
    assert float(xt.grad(lambda v: xnp.linspace(0, v, 5)[1:2].sum())(4.0)) == 0.25
    with pytest.raises(ValueError, match="the number of samples can't be negative, got num=-1"):
        xnp.linspace(0, 1, -1)


def test_logspace_and_geomspace():
    np.testing.assert_allclose(xnp.logspace(0, 3, 4), np.logspace(0, 3, 4), rtol=1e-5)
    np.testing.assert_allclose(
        xnp.logspace(0, 3, 4, base=2, endpoint=False), np.logspace(0, 3, 4, base=2, endpoint=False), rtol=1e-5
    )
    np.testing.assert_allclose(xnp.geomspace(1, 1000, 4), np.geomspace(1, 1000, 4), rtol=1e-5)
    np.testing.assert_allclose(xnp.geomspace(-1, -100, 3), np.geomspace(-1, -100, 3), rtol=1e-5)


def test_matrices():
    with pytest.raises(OverflowError):
        xnp.tri(3, k=2**33)
    for args in ((3,), (2, 3), (3, 2, 1), (3, 3, -1), (0, 2)):
        np.testing.assert_array_equal(np.asarray(xnp.eye(*args)), np.eye(*args))
        np.testing.assert_array_equal(np.asarray(xnp.tri(*args)), np.tri(*args))
        np.testing.assert_array_equal(np.asarray(xt.jit(lambda a=args: xnp.eye(*a))()), np.eye(*args))
        np.testing.assert_array_equal(np.asarray(xt.jit(lambda a=args: xnp.tri(*a))()), np.tri(*args))
    np.testing.assert_array_equal(np.asarray(xnp.eye(300, k=2)), np.eye(300, k=2))
    np.testing.assert_array_equal(np.asarray(xt.jit(lambda k: xnp.eye(3, k=k))(1)), np.eye(3, k=1))
    x = np.arange(24.0).reshape(2, 3, 4).astype(np.float32)
    for k in (-1, 0, 2):
        np.testing.assert_array_equal(np.asarray(xnp.tril(x, k)), np.tril(x, k))
        np.testing.assert_array_equal(np.asarray(xnp.triu(x, k)), np.triu(x, k))
    np.testing.assert_array_equal(np.asarray(xt.grad(lambda v: (xnp.triu(v) ** 2).sum())(x)), 2 * np.triu(x))
    v = np.array([1, 2, 3])
    for options in ({}, {"N": 2}, {"increasing": True}):
        np.testing.assert_array_equal(np.asarray(xnp.vander(v, **options)), np.vander(v, **options))
    with pytest.raises(ValueError, match="triu takes matrices"):
        xnp.triu(xnp.ones(3))
    with pytest.raises(TypeError, match="eye: sizes can't be negative"):
        xnp.eye(-1)


@pytest.mark.parametrize("options", [{}, {"indexing": "ij"}, {"sparse": True}, {"sparse": True, "indexing": "ij"}])
def test_grids(options):
    axes = [np.arange(2), np.arange(3.0), np.arange(4)]
    for count in range(4):
        got, want = xnp.meshgrid(*axes[:count], **options), np.meshgrid(*axes[:count], **options)
        assert isinstance(got, tuple)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(np.asarray(g), w)


def test_index_grids():
    np.testing.assert_array_equal(np.asarray(xnp.indices((2, 3))), np.indices((2, 3)))
    np.testing.assert_array_equal(np.asarray(xnp.mgrid[0:2, 1:3]), np.mgrid[0:2, 1:3])
    np.testing.assert_allclose(np.asarray(xnp.mgrid[0:1:3j]), np.mgrid[0:1:3j])
    for g, w in zip(xnp.ogrid[0:2, 0:3], np.ogrid[0:2, 0:3], strict=True):
        np.testing.assert_array_equal(np.asarray(g), w)
    assert xnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int).tolist() == [[0, 1, 2], [10, 11, 12]]
    with pytest.raises(ValueError, match="Valid values for indexing are 'xy' and 'ij', got 'zz'"):
        xnp.meshgrid(xnp.arange(2), indexing="zz")
    with pytest.raises(ValueError, match=r"meshgrid takes arrays of one dimension, got shapes \(2, 2\)"):
        xnp.meshgrid(xnp.ones((2, 2)))


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_windows(name, size):
    np.testing.assert_allclose(getattr(xnp, name)(size), getattr(np, name)(size), atol=1e-6)


def test_kaiser():
    for size, beta in ((0, 1.0), (1, 2.0), (6, 0.0), (7, 14.0)):
        np.testing.assert_allclose(xnp.kaiser(size, beta), np.kaiser(size, beta), rtol=1e-5, atol=1e-6)
