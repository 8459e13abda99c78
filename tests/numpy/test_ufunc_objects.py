"""Ufunc objects, against NumPy's."""

import copy
import pickle

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

RNG = np.random.default_rng(0)
BINARY = (
    "add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum "
    "multiply subtract"
).split()
X = RNG.normal(size=(3, 4))
BITS = RNG.integers(0, 16, (3, 4)).astype(np.int32)


def operand(name):
    return BITS if name.startswith("bitwise") else X


def check(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*BINARY, "negative"])
def test_facts(name):
    ours, theirs = getattr(xnp, name), getattr(np, name)
    assert isinstance(ours, xnp.ufunc)
    assert (ours.nin, ours.nout, ours.identity, ours.nargs) == (
        theirs.nin,
        theirs.nout,
        theirs.identity,
        theirs.nargs - 1,
    )
    for fact in ("nin", "nout", "nargs", "identity"):
        with pytest.raises(AttributeError):
            setattr(ours, fact, None)
    assert pickle.loads(pickle.dumps(ours)) is ours and copy.deepcopy(ours) is ours
    assert repr(ours) == f"<xtrace.numpy.ufunc '{name}'>" and ours.__doc__


def test_all_ufuncs():
    assert {n for n in xnp.__all__ if isinstance(getattr(xnp, n), xnp.ufunc)} == {*BINARY, "negative"}


@pytest.mark.parametrize("name", BINARY)
def test_reduce(name):
    x, ours, theirs = operand(name), getattr(xnp, name).reduce, getattr(np, name).reduce
    initial = x.dtype.type(1)
    check(ours(x, -1), theirs(x, -1))
    for axis in (0, 1):
        check(ours(x, axis), theirs(x, axis))
        check(ours(x, axis=axis, keepdims=True), theirs(x, axis=axis, keepdims=True))
        check(ours(x, axis, initial=initial), theirs(x, axis, initial=initial))
        check(ours(x, axis, initial=initial, where=x > 1), theirs(x, axis, initial=initial, where=x > 1))
        check(xt.jit(lambda x, axis=axis: ours(x, axis))(x), theirs(x, axis))
    if name != "subtract":
        check(ours(x, axis=None), theirs(x, axis=None))
        check(ours(x, axis=(0, 1)), theirs(x, axis=(0, 1)))
    if getattr(np, name).identity is None:
        with pytest.raises(ValueError, match="zero-size array"):
            ours(x[:0])
        with pytest.raises(ValueError, match="does not have an identity|initial"):
            ours(x, where=x > 1)
    else:
        check(ours(x[:0]), theirs(x[:0]))


@pytest.mark.parametrize("name", BINARY)
def test_accumulate_reduceat_outer(name):
    x, ours, theirs = operand(name), getattr(xnp, name), getattr(np, name)
    for axis in (0, 1):
        check(ours.accumulate(x, axis), theirs.accumulate(x, axis))
    places = [0, 2, 1, 3]
    if not name.startswith("logical"):
        check(ours.reduceat(x, np.array(places), 1), theirs.reduceat(x, places, 1))
    check(ours.outer(x, x[0]), theirs.outer(x, x[0]))


@pytest.mark.parametrize("name", BINARY)
def test_at(name):
    if name.startswith("logical"):
        x, b = X > 0, np.array([True, False, True])
    else:
        x, b = operand(name), operand(name)[0, :3]
    rows = np.array([0, 2, 0])
    columns = np.array([1, 1, 1])
    for indices, value in (((rows, columns), b), (rows, b[:, None]), ((slice(None), columns), b[0]), (1, b[0])):
        want = x.copy()
        getattr(np, name).at(want, indices, value)
        check(getattr(xnp, name).at(x, indices, value, inplace=False), want)
    with pytest.raises(NotImplementedError, match="inplace=False"):
        getattr(xnp, name).at(x, rows, b)


def test_unary_at():
    want = X.copy()
    np.negative.at(want, np.array([0, 0, 1]))
    check(xnp.negative.at(X, np.array([0, 0, 1]), inplace=False), want)
    for method in ("reduce", "accumulate"):
        with pytest.raises(ValueError, match="only supported for binary ufuncs"):
            getattr(xnp.negative, method)(X)


def test_of_python_functions():
    def hypotenuse(x, y):
        assert x.shape == y.shape == ()
        return (x * x + y * y) ** 0.5

    ours, theirs = xnp.frompyfunc(hypotenuse, 2, 1, identity=0), np.frompyfunc(hypotenuse, 2, 1, identity=0)
    scalars = np.frompyfunc(lambda x, y: (x * x + y * y) ** 0.5, 2, 1, identity=0)
    assert ours == xnp.frompyfunc(hypotenuse, 2, 1, identity=0) and ours != theirs
    assert hash(ours) == hash(xnp.frompyfunc(hypotenuse, 2, 1, identity=0))
    check(ours(X, X[0]), np.hypot(X, X[0]))
    check(ours.reduce(X, axis=1), scalars.reduce(X, axis=1).astype(float))
    check(ours.accumulate(X, axis=1), scalars.accumulate(X, axis=1).astype(float))
    check(ours.outer(X[0], X[1]), scalars.outer(X[0], X[1]).astype(float))
    check(xt.grad(lambda x: ours.reduce(x).sum())(X[0]), X[0] / np.linalg.norm(X[0]))
    assert xnp.frompyfunc(lambda x: (x, x), 1, 2)(1.0)[1].shape == ()


def test_bool_and_dtype():
    mask = np.array([[True, False, True], [False, False, True]])
    check(xnp.add.reduce(mask), np.add.reduce(mask))
    check(xnp.logical_xor.reduce(X), np.logical_xor.reduce(X))
    check(xnp.add.at(mask, (0, 1), True, inplace=False), [[True, True, True], [False, False, True]])
    assert xnp.add.reduce(np.ones(3, np.int8), dtype=np.float32).dtype == np.float32
    assert xnp.bitwise_or.reduce(BITS, dtype=np.int8).dtype == np.int8


def test_under_transformations():
    ones = xnp.ones(3)
    assert xt.jit(lambda f, x: f(x, x), static_argnums=0)(xnp.add, ones).tolist() == [2, 2, 2]
    assert xt.jit(xnp.add)(1, 2) == 3 and float(xt.grad(xnp.multiply)(2.0, 3.0)) == 3
    assert xt.vmap(xnp.subtract)(ones, ones).tolist() == [0, 0, 0]
    (eqn,) = xt.make_jaxpr(lambda x: xnp.add(x, 1))(ones).eqns
    assert str(eqn.primitive) == "add" and eqn.source_info is not None
