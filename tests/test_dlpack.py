"""Arrays of other libraries through DLPack."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import dlpack


def test_round_trip_shares_memory():
    x = xt.numpy.arange(3.0)
    y = dlpack.from_dlpack(x)
    np.testing.assert_array_equal(y, [0, 1, 2])
    assert y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert dlpack.from_dlpack(x, copy=True).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


def test_numpy_reads_ours():
    np.testing.assert_array_equal(np.from_dlpack(xt.numpy.arange(3)), [0, 1, 2])


@pytest.mark.parametrize(("dtype", "known"), [("float32", True), ("bfloat16", True), (xt.dtypes.float0, False)])
def test_supported(dtype, known):
    assert dlpack.is_supported_dtype(dtype) is known


def test_what_is_no_array():
    with pytest.raises(TypeError, match="__dlpack__"):
        dlpack.from_dlpack(3)
