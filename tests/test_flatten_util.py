"""ravel_pytree: values, dtypes and weak types against those recorded from JAX, and the way back."""

import numpy as np
import pytest

import xtrace.numpy as jnp
from xtrace import tree
from xtrace.flatten_util import ravel_pytree


def kind(x):
    return f"{np.dtype(x.dtype).name}{'*' * x.weak_type}{list(x.shape)}"


@pytest.mark.parametrize(
    ("make", "vector", "leaves"),
    [
        (lambda: [1, 2.0], "float32[2]", ["int32[]", "float32[]"]),
        (lambda: [1, 2], "int32*[2]", ["int32*[]", "int32*[]"]),
        (lambda: 1.0, "float32*[1]", ["float32*[]"]),
        (lambda: [np.float16(1), 2], "float16[2]", ["float16[]", "int32[]"]),
        (lambda: [np.arange(2), 1], "int32[3]", ["int32[2]", "int32[]"]),
        (lambda: [True, False], "bool[2]", ["bool[]", "bool[]"]),
        (
            lambda: [jnp.ones(2, "bfloat16"), jnp.ones(2, "float16")],
            "float32[4]",
            ["bfloat16[2]", "float16[2]"],
        ),
        (lambda: None, "float32[0]", []),
        (lambda: [jnp.ones((0, 3))], "float32[0]", ["float32[0, 3]"]),
        (lambda: [jnp.ones((2, 1)), 1 + 2j], "complex64[3]", ["float32[2, 1]", "complex64[]"]),
        (lambda: [np.int8(1), np.uint8(3)], "int16[2]", ["int8[]", "uint8[]"]),
    ],
)
def test_dtypes(make, vector, leaves):
    value = make()
    flat, unravel = ravel_pytree(value)
    again = unravel(flat)
    assert kind(flat) == vector
    assert [kind(x) for x in tree.leaves(again)] == leaves
    assert tree.structure(again) == tree.structure(value)
    for x, y in zip(tree.leaves(value), tree.leaves(again), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def test_order_is_that_of_the_leaves():
    flat, unravel = ravel_pytree({"w": np.arange(4.0).reshape(2, 2), "b": np.array([9.0])})
    np.testing.assert_array_equal(flat, [9, 0, 1, 2, 3])
    np.testing.assert_array_equal(unravel(flat * 2)["w"], [[0, 2], [4, 6]])


def test_unravel_takes_other_dtypes_if_the_leaves_agree():
    _, unravel = ravel_pytree([np.arange(2), np.arange(3)])
    assert [kind(x) for x in unravel(jnp.zeros(5))] == ["float32[2]", "float32[3]"]
    np.testing.assert_array_equal(unravel(np.arange(5))[1], [2, 3, 4])


def test_errors():
    _, unravel = ravel_pytree([1, 2.0])
    with pytest.raises(TypeError) as info:
        unravel(np.zeros(2, np.int32))
    assert str(info.value) == (
        "unravel needs a vector of dtype float32, to which the leaves' dtypes were promoted; got int32. "
        "Write unravel(vector.astype('float32'))."
    )
    for shape in ((3,), (1, 2), ()):
        with pytest.raises(ValueError) as info:
            unravel(np.zeros(shape, np.float32))
        assert str(info.value) == f"unravel needs a vector of shape (2,), that of the raveled tree; got {shape}"
    with pytest.raises(
        TypeError, match=r"ravel_pytree needs arrays and numbers as leaves; the one at \['b'\]\[0\] is a str"
    ):
        ravel_pytree({"a": 1, "b": ["x"]})


def test_unravel_functions_are_values():
    first, second = [ravel_pytree([i, 2.0])[1] for i in range(2)]
    assert first == second
    assert hash(first) == hash(second)
    assert first != ravel_pytree([1, 2])[1]
    assert repr(first) == "<unravel to PyTreeDef([*, *])>"
    assert ravel_pytree({})[1](jnp.zeros(0)) == {}
