"""Reshaping, permuting, broadcasting, reversing and rotating against NumPy; their messages in full."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
FLAT = np.arange(6, dtype=np.int32).reshape(2, 3)
ONES = np.ones((1, 3, 1), np.float32)

#: Function name -> calls (arguments after the array) that NumPy understands in the same way.
SAME_AS_NUMPY = [
    ("reshape", CUBE, ((4, 6),), {}),
    ("reshape", CUBE, (-1,), {}),
    ("reshape", CUBE, ((3, -1, 2),), {}),
    ("reshape", CUBE, ([np.int64(6), 4],), {}),
    ("reshape", CUBE, ((4, 6),), {"order": "F"}),
    ("reshape", CUBE, ((24,),), {"order": "A"}),
    ("reshape", np.zeros((0, 3), np.float32), ((-1, 3),), {}),
    ("ravel", CUBE, (), {}),
    ("ravel", CUBE, ("F",), {}),
    ("transpose", CUBE, (), {}),
    ("transpose", CUBE, ((1, -1, 0),), {}),
    ("permute_dims", CUBE, ((2, 0, 1),), {}),
    ("matrix_transpose", CUBE, (), {}),
    ("swapaxes", CUBE, (0, -1), {}),
    ("moveaxis", CUBE, (0, -1), {}),
    ("moveaxis", CUBE, ((0, 1), (-1, 0)), {}),
    ("rollaxis", CUBE, (2,), {}),
    ("rollaxis", CUBE, (0, 3), {}),
    ("rollaxis", CUBE, (1, -1), {}),
    ("squeeze", ONES, (), {}),
    ("squeeze", ONES, (0,), {}),
    ("squeeze", ONES, ((0, -1),), {}),
    ("squeeze", CUBE, (), {}),
    ("expand_dims", CUBE, (1,), {}),
    ("expand_dims", CUBE, ((0, -1),), {}),
    ("broadcast_to", ONES, ((2, 1, 3, 4),), {}),
    ("broadcast_to", np.float32(2), (3,), {}),
    ("flip", CUBE, (), {}),
    ("flip", CUBE, ((0, 2),), {}),
    ("flipud", CUBE, (), {}),
    ("fliplr", CUBE, (), {}),
    ("rot90", CUBE, (), {}),
    ("rot90", CUBE, (2, (0, 2)), {}),
    ("rot90", CUBE, (-1, (2, 1)), {}),
    ("rot90", CUBE, (4,), {}),
    ("roll", CUBE, (5,), {}),
    ("roll", CUBE, (-1, 2), {}),
    ("roll", CUBE, ((1, -2), (0, 2)), {}),
    ("roll", CUBE, ((1, 2), 0), {}),
    ("roll", CUBE, (1, (0, 1)), {}),
    ("roll", np.zeros((0, 2), np.float32), (1, 0), {}),
    ("atleast_1d", np.float32(1), (), {}),
    ("atleast_2d", FLAT[0], (), {}),
    ("atleast_3d", FLAT[0], (), {}),
    ("atleast_3d", FLAT, (), {}),
    ("copy", CUBE, (), {}),
    ("astype", CUBE, (np.int32,), {}),
    ("astype", CUBE, (bool,), {}),
]


@pytest.mark.parametrize("name, x, args, kwargs", SAME_AS_NUMPY, ids=lambda v: v if isinstance(v, str) else "")
def test_as_numpy_eager_jitted_and_batched(name, x, args, kwargs):
    function = getattr(xnp, name)
    # Functions that older NumPy releases lack.
    reference = getattr(np, name, None) or {
        "permute_dims": np.transpose, "matrix_transpose": lambda x: np.swapaxes(x, -1, -2), "astype": np.ndarray.astype,
    }[name]  # fmt: skip
    expected = np.asarray(reference(x, *args, **kwargs))
    for out in (function(x, *args, **kwargs), xt.jit(lambda x: function(x, *args, **kwargs))(x)):
        assert isinstance(out, xt.Array)
        assert out.dtype == expected.dtype and out.shape == expected.shape
        np.testing.assert_array_equal(out, expected)
    both = np.stack([x, x + 1])
    mapped = xt.vmap(lambda x: function(x, *args, **kwargs))(both)
    for i in range(2):
        np.testing.assert_array_equal(np.asarray(mapped)[i], reference(both[i], *args, **kwargs))


def test_what_changes_nothing_returns_its_argument():
    x = xt.device_put(CUBE)
    for same in (
        xnp.reshape(x, CUBE.shape),
        xnp.transpose(x, (0, 1, 2)),
        xnp.broadcast_to(x, CUBE.shape),
        xnp.squeeze(x),
        xnp.expand_dims(x, ()),
        xnp.atleast_2d(x),
        xnp.astype(x, "float32"),
    ):
        assert same is x
    assert xnp.copy(x) is not x
    assert xnp.astype(x, "float32", copy=True) is not x


def test_methods():
    x = xt.device_put(CUBE)
    calls = [
        (lambda x: x.reshape(4, 6), CUBE.reshape(4, 6)),
        (lambda x: x.reshape((4, -1)), CUBE.reshape(4, 6)),
        (lambda x: x.reshape(4, 6, order="F"), CUBE.reshape(4, 6, order="F")),
        (lambda x: x.transpose(1, 0, 2), CUBE.transpose(1, 0, 2)),
        (lambda x: x.transpose([1, 0, 2]), CUBE.transpose(1, 0, 2)),
        (lambda x: x.transpose(), CUBE.T),
        (lambda x: x.T, CUBE.T),
        (lambda x: x.mT, np.swapaxes(CUBE, 1, 2)),
        (lambda x: x.flatten(), CUBE.ravel()),
        (lambda x: x.ravel(), CUBE.ravel()),
        (lambda x: x.swapaxes(0, 1), np.swapaxes(CUBE, 0, 1)),
        (lambda x: x.astype("int32"), CUBE.astype("int32")),
        (lambda x: x.copy(), CUBE),
        (lambda x: x.view("int32"), CUBE.view("int32")),
        (lambda x: x.view("uint8"), CUBE.view("uint8")),
        (lambda x: x.view("uint8").view("float32"), CUBE),
        (lambda x: x.repeat(2, axis=1), CUBE.repeat(2, axis=1)),
    ]
    for call, expected in calls:
        for out in (call(x), xt.jit(call)(x)):
            assert out.dtype == expected.dtype
            np.testing.assert_array_equal(out, expected)
    with pytest.raises(NotImplementedError, match="consider arr.flatten"):
        x.flat  # noqa: B018


def test_broadcasting_together():
    a, b, c = xnp.broadcast_arrays(np.ones((2, 1), np.float32), np.arange(3), 1)
    assert a.shape == b.shape == c.shape == (2, 3)
    assert (a.dtype, b.dtype, c.weak_type) == (np.float32, np.int32, True)
    assert xnp.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    assert xnp.broadcast_shapes() == ()
    assert xnp.broadcast_shapes((0, 1), (1, 5)) == (0, 5)


def test_roll_by_a_traced_shift():
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    roll = xt.jit(xnp.roll, static_argnames="axis")
    for shift in (0, 1, -1, 5, -9):
        np.testing.assert_array_equal(roll(x, shift, axis=1), np.roll(x, shift, 1))
        np.testing.assert_array_equal(roll(x, shift), np.roll(x, shift))
        np.testing.assert_array_equal(xnp.roll(x, xt.device_put(shift), 0), np.roll(x, shift, 0))
    np.testing.assert_array_equal(roll(x, np.array([1, -2]), axis=(0, 1)), np.roll(x, (1, -2), (0, 1)))


def test_gradients_are_the_inverse_permutations():
    weight = np.arange(24, dtype=np.float32).reshape(4, 6)

    def check(f):
        grad = xt.grad(lambda x: xnp_sum(f(x) * weight))(CUBE)
        # f permutes elements, so the gradient at each is the weight of where it went.
        np.testing.assert_array_equal(f(grad), weight)

    def xnp_sum(x):
        return xt.lax.reduce_sum(x, (0, 1))

    check(lambda x: xnp.reshape(x, (4, 6)))
    check(lambda x: xnp.reshape(xnp.roll(x, 3), (4, 6)))
    check(lambda x: xnp.reshape(xnp.rot90(x, 3, (1, 2)), (4, 6)))
    check(lambda x: xnp.reshape(x, (4, 6), order="F"))


X = FLAT.astype(np.float32)
MESSAGES = [
    (
        lambda: xnp.reshape(X, (4, 2)),
        TypeError,
        "cannot reshape array of shape (2, 3) (size 6) into shape (4, 2) (size 8)",
    ),
    (
        lambda: xnp.reshape(X, (4, 2), order="F"),
        TypeError,
        "cannot reshape array of shape (2, 3) (size 6) into shape (4, 2) (size 8)",
    ),
    (
        lambda: xnp.reshape(X, (-1, 4)),
        TypeError,
        "cannot reshape array of shape (2, 3) (size 6) into shape (-1, 4) because the product of specified axis sizes "
        "(4) does not evenly divide 6",
    ),
    (
        lambda: xnp.reshape(X, (-1, -1)),
        TypeError,
        "can only specify one unknown axis size with a `-1` value, got (-1, -1)",
    ),
    (
        lambda: xnp.reshape(X, (3, 2.0)),
        TypeError,
        "reshape: Shapes must be 1D sequences of concrete values of integer type, got (3, 2.0).",
    ),
    (lambda: xnp.reshape(X, (-2, -3)), TypeError, "reshape new_sizes must all be positive, got (-2, -3)."),
    (
        lambda: xnp.reshape(X, (2, 3), order="Q"),
        ValueError,
        "Unexpected value for 'order' argument: Q. It is 'C', 'F' or 'A'.",
    ),
    (
        lambda: xnp.reshape([1, 2], (2,)),
        TypeError,
        "reshape requires ndarray or scalar arguments, got <class 'list'> at position 0. "
        "Convert it with numpy.asarray(...).",
    ),
    (lambda: xnp.swapaxes(X, 0, 3), ValueError, "swapaxes: axis 3 is out of bounds for array of dimension 2"),
    (lambda: xnp.swapaxes(X, 0, 3), IndexError, "swapaxes: axis 3 is out of bounds for array of dimension 2"),
    (lambda: xnp.moveaxis(X, (0, 1), 0), ValueError, "Inconsistent number of elements: 2 vs 1"),
    (
        lambda: xnp.moveaxis(X, (0, 0), (0, 1)),
        ValueError,
        "repeated source axis: (0, 0) names a dimension of an array of dimension 2 twice",
    ),
    (lambda: xnp.rollaxis(X, 0, 3), ValueError, "start=3 must satisfy -2<=start<=2"),
    (
        lambda: xnp.transpose(X, (0, 0)),
        TypeError,
        "transpose permutation isn't a permutation of operand dimensions, got permutation (0, 0) "
        "for operand shape (2, 3)",
    ),
    (
        lambda: xnp.matrix_transpose(X[0]),
        ValueError,
        "x must be at least two-dimensional for matrix_transpose; got ndim=1",
    ),
    (
        lambda: xnp.squeeze(X, 0),
        ValueError,
        "cannot select an axis to squeeze out which has size not equal to one, got shape=(2, 3) and dimensions=(0,)",
    ),
    (lambda: xnp.expand_dims(X, 7), ValueError, "expand_dims: axis 7 is out of bounds for array of dimension 3"),
    (
        lambda: xnp.broadcast_to(X, (2, 4)),
        ValueError,
        "Incompatible types for broadcasting: input type=float32[2,3] and requested type=float32[2,4]",
    ),
    (
        lambda: xnp.broadcast_to(X, (3,)),
        ValueError,
        "Cannot broadcast to shape with fewer dimensions: arr_shape=(2, 3) shape=(3,)",
    ),
    (
        lambda: xnp.broadcast_arrays(X, np.ones(4)),
        ValueError,
        "broadcast_arrays: Incompatible shapes for broadcasting: shapes=[(2, 3), (4,)]",
    ),
    (
        lambda: xnp.rot90(X[0]),
        ValueError,
        "rot90 requires its first argument to have ndim at least two, but got first argument of shape (3,), which has "
        "ndim 1",
    ),
    (
        lambda: xnp.rot90(X, axes=(0, -2)),
        ValueError,
        "Axes must be different, got axes=(0, -2) of an array of dimension 2",
    ),
    (
        lambda: xnp.roll(X, (1, 2, 3), axis=(0, 1)),
        ValueError,
        "roll takes one shift for all axes or one for each: got shift=(1, 2, 3) and axis=(0, 1)",
    ),
    (lambda: xnp.roll(X, 1.5), TypeError, "roll shifts by integers, got shift=1.5 of type float"),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_a_traced_size_is_refused():
    with pytest.raises(TypeError, match="A traced value can't be a size: pass it as static"):
        xt.jit(lambda x, n: xnp.reshape(x, (n, 3)))(X, 2)


def test_jaxprs():
    def primitives(f):
        return [e.primitive.name for e in xt.make_jaxpr(f)(CUBE).eqns]

    assert primitives(lambda x: xnp.reshape(x, (4, 6))) == ["reshape"]
    assert primitives(lambda x: x.T) == ["transpose"]
    assert primitives(lambda x: xnp.expand_dims(x, 0)) == ["broadcast_in_dim"]
    assert primitives(lambda x: xnp.squeeze(xnp.expand_dims(x, 0))) == ["broadcast_in_dim", "squeeze"]
    assert primitives(lambda x: xnp.flip(x)) == ["rev"]
    assert primitives(lambda x: xnp.rot90(x)) == ["rev", "transpose"]
    assert primitives(lambda x: xnp.reshape(x, CUBE.shape)) == []
