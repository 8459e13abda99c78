"""The public module xtrace.typing."""

import typing

import numpy as np
import pytest

import xtrace.typing as xtt
from xtrace.core import avals
from xtrace.runtime import array, transfers


@pytest.mark.parametrize(
    "x", [1, 1.0, 1j, True, np.float32(1), np.bool_(True), np.zeros(2), np.zeros((), np.int8)], ids=repr
)
def test_array_likes(x):
    assert isinstance(x, xtt.ArrayLike)


@pytest.mark.parametrize("x", [[1], (1,), None, "a", {}, object], ids=repr)
def test_no_array_likes(x):
    assert not isinstance(x, xtt.ArrayLike)


def test_arrays():
    x = transfers.put(np.zeros(2, np.float32), avals.ShapedArray((2,), np.float32))
    assert isinstance(x, xtt.Array)
    assert isinstance(x, xtt.ArrayLike)
    assert xtt.Array is array.Array


def test_dtype_likes():
    members = typing.get_args(xtt.DTypeLike)
    assert str in members
    assert np.dtype in members
    assert isinstance(np.zeros(2), xtt.SupportsDType)
    assert not isinstance(3, xtt.SupportsDType)


def test_annotations_resolve():
    def f(x: xtt.ArrayLike, dtype: xtt.DTypeLike | None = None) -> xtt.Array: ...

    assert typing.get_type_hints(f)["return"] is xtt.Array
