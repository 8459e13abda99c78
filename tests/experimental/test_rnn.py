"""Long short-term memory networks, against values recorded from JAX 0.12."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace.experimental import rnn

NETWORK = (4, 3, 2, True)
LENGTHS = np.array([5, 3], np.int32)
STATE = np.zeros((4, 2, 3), np.float32)

#: Of the second sequence, whose last two steps are not there; and the states at the end, of layers and directions.
OUTPUTS = [
    [-0.01540817, -0.10114986, -0.01201503, -0.27085134, 0.15709747, 0.12256138],
    [-0.03231749, -0.16447064, 0.0286271, -0.21969977, 0.11747829, 0.06334931],
    [-0.03870025, -0.18876322, 0.07497811, -0.11766458, 0.07217804, 0.0632721],
    [0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0],
]
H = [[0.08387769, 0.09435543, -0.30610436], [-0.0112173, 0.19074863, -0.13983743],
     [-0.03870025, -0.18876322, 0.07497811], [-0.27085134, 0.15709747, 0.12256138]]  # fmt: skip
C = [[0.15913817, 0.22185938, -0.90856844], [-0.03035206, 0.3089945, -0.3539316],
     [-0.07638187, -0.542551, 0.11824606], [-0.50421983, 0.45864055, 0.23926917]]  # fmt: skip


@pytest.fixture(scope="module")
def weights():
    return rnn.init_lstm_weight(xt.random.key(0), *NETWORK)


def test_recorded_values(weights):
    x = xt.random.normal(xt.random.key(1), (2, 5, 4))
    y, h, c = rnn.lstm(x, STATE, STATE, weights, LENGTHS, *NETWORK[:3], 0.0, NETWORK[3])
    np.testing.assert_allclose(y[1], OUTPUTS, atol=1e-6)
    np.testing.assert_allclose(h[:, 1], H, atol=1e-6)
    np.testing.assert_allclose(c[:, 1], C, atol=1e-6)
    pieces = rnn.unpack_lstm_weights(weights, *NETWORK)
    shapes = xt.eval_shape(lambda *a: rnn.lstm_ref(*a, *NETWORK[:3], 0.0, True), x, STATE, STATE, *pieces, LENGTHS)
    assert [s.shape for s in shapes] == [y.shape, h.shape, c.shape]


def test_weights(weights):
    assert weights.shape == (480,) and rnn.get_num_params_in_lstm(*NETWORK) == 480
    np.testing.assert_allclose(weights[:2], [0.51692134, 0.5526164], rtol=1e-6)
    swapped = rnn.swap_lstm_gates(weights, *NETWORK)
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, *NETWORK), weights)
    for piece, other in zip(
        rnn.unpack_lstm_weights(weights, *NETWORK), rnn.unpack_lstm_weights(swapped, *NETWORK), strict=True
    ):
        np.testing.assert_array_equal(other[3][6:9], piece[3][9:12])


def test_refused(weights):
    x = np.zeros((2, 5, 4), np.float32)
    with pytest.raises(NotImplementedError, match="can only be int32"):
        rnn.lstm(x, STATE, STATE, weights, np.array([5.0, 3.0]), *NETWORK[:3], 0.0, True)
    with pytest.raises(NotImplementedError, match="dropout=0.5"):
        rnn.lstm(x, STATE, STATE, weights, LENGTHS, *NETWORK[:3], 0.5, True)
