"""Long short-term memory networks (jax.experimental.rnn), as scans over time.

The weights of a network are one flat array: for each layer, and in it for each direction, the matrices of the inputs
[4 hidden, inputs] and of the state [4 hidden, hidden], then for each layer and direction again the two biases
[4 hidden]. The four blocks of rows are the input gate, the forget gate, the candidate and the output gate.

Source: Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 9(8), 1997; forget gates: Gers,
Schmidhuber and Cummins, Learning to forget, Neural Computation 12(10), 2000.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from xtrace import lax, nn
from xtrace import numpy as xnp
from xtrace import random as _random
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped

__all__ = [
    "get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_ref", "swap_lstm_gates", "unpack_lstm_weights",
]  # fmt: skip


def _pieces(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """(kind, layer and direction as one number, shape) of the pieces of the weights, in order.

    The kinds are 0: of the inputs, 1: of the state, 2 and 3: their biases.
    """
    directions, rows = 1 + bool(bidirectional), 4 * hidden_size
    for kinds in ((0, 1), (2, 3)):
        for place in range(num_layers * directions):
            inputs = input_size if place < directions else directions * hidden_size
            for kind in kinds:
                yield kind, place, ((rows, inputs), (rows, hidden_size), (rows,), (rows,))[kind]


def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> int:
    """The number of weights of a network.

    >>> get_num_params_in_lstm(4, 3, 2, True)
    480
    """
    return sum(math.prod(shape) for _, _, shape in _pieces(input_size, hidden_size, num_layers, bidirectional))


def init_lstm_weight(rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Any:
    """Weights drawn from the uniform distribution between -1 / sqrt(hidden_size) and 1 / sqrt(hidden_size).

    Args:
      rng: a key. input_size, hidden_size, num_layers, bidirectional: of the network.

    Returns:
      float32[number of weights].

    >>> import xtrace as xt
    >>> init_lstm_weight(xt.random.key(0), 4, 3, 1, False).shape
    (108,)
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = np.sqrt(1.0 / hidden_size)
    return _random.uniform(rng, (count,), np.float32, -bound, bound)


def unpack_lstm_weights(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any], dict[int, Any]]:
    """The matrices and biases in the flat array of weights.

    Args:
      weights: [number of weights]. The others: of the network.

    Returns:
      Matrices of the inputs, of the state, and their biases: dictionaries from layer and direction, as one number,
      to arrays.

    >>> import numpy as np
    >>> of_inputs, of_state, *biases = unpack_lstm_weights(np.zeros(480), 4, 3, 2, True)
    >>> [of_inputs[i].shape for i in range(4)]
    [(12, 4), (12, 4), (12, 6), (12, 6)]
    """
    found: tuple[dict[int, Any], ...] = ({}, {}, {}, {})
    start = 0
    for kind, place, shape in _pieces(input_size, hidden_size, num_layers, bidirectional):
        size = math.prod(shape)
        found[kind][place] = weights[start : start + size].reshape(shape)
        start += size
    return found  # type: ignore[return-value]


def swap_lstm_gates(weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Any:
    """The weights with the candidate and the output gate of each piece exchanged, as other libraries order them.

    Args:
      weights: [number of weights]. The others: of the network.

    Returns:
      An array like `weights`.

    >>> import numpy as np
    >>> swap_lstm_gates(np.arange(16), 1, 1, 1, False)
    Array([ 0,  1,  3,  2,  4,  5,  7,  6,  8,  9, 11, 10, 12, 13, 15, 14],      dtype=int32)
    """
    weights = xnp.asarray(weights)
    swapped, start = [], 0
    for _, _, shape in _pieces(input_size, hidden_size, num_layers, bidirectional):
        size = math.prod(shape)
        gates = weights[start : start + size].reshape(4, -1)
        swapped.append(gates[np.array([0, 1, 3, 2])].ravel())
        start += size
    return xnp.concatenate(swapped)


def _reversed(x: Any, lengths: Any) -> Any:
    """[time, batch, ...] with the first lengths[b] steps of each sequence in the opposite order."""
    time = xnp.arange(shaped(x).shape[0])[:, None]
    index = xnp.where(time < lengths, lengths - 1 - time, time)
    return xnp.take_along_axis(x, index[..., None], axis=0)


def _one_direction(x: Any, h: Any, c: Any, lengths: Any, weights: tuple[Any, ...], precision: Any) -> tuple[Any, ...]:
    """One layer over [time, batch, inputs]: its outputs, which are 0 after the end, and the state at the end."""
    of_inputs, of_state, bias_inputs, bias_state = weights
    # All inputs at once are one product; only that of the state waits for the step before.
    drive = xnp.matmul(x, of_inputs.T, precision=precision) + (bias_inputs + bias_state)

    def step(state: tuple[Any, Any], now: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        (h, c), (drive, time) = state, now
        i, f, g, o = xnp.split(drive + xnp.matmul(h, of_state.T, precision=precision), 4, axis=-1)
        new_c = nn.sigmoid(f) * c + nn.sigmoid(i) * xnp.tanh(g)
        new_h = nn.sigmoid(o) * xnp.tanh(new_c)
        going = (time < lengths)[:, None]
        return (xnp.where(going, new_h, h), xnp.where(going, new_c, c)), xnp.where(going, new_h, 0)

    (h, c), y = lax.scan(step, (h, c), (drive, xnp.arange(shaped(x).shape[0])))
    return y, h, c


def lstm_ref(
    x: Any,
    h_0: Any,
    c_0: Any,
    W_ih: dict[int, Any],
    W_hh: dict[int, Any],
    b_ih: dict[int, Any],
    b_hh: dict[int, Any],
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Any, Any, Any]:
    """`lstm` with its weights unpacked.

    Args:
      W_ih, W_hh, b_ih, b_hh: as `unpack_lstm_weights` gives them. The others: as of `lstm`.

    Returns:
      (y, h_n, c_n), as of `lstm`.

    Raises:
      NotImplementedError: seq_lengths aren't int32, or dropout isn't 0.
    """
    pieces = (W_ih, W_hh, b_ih, b_hh)
    return _lstm(
        x, h_0, c_0, pieces, seq_lengths, layers=num_layers, dropout=dropout, backwards=bidirectional, precision=None
    )


def lstm(
    x: Any,
    h_0: Any,
    c_0: Any,
    weights: Any,
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a long short-term memory network over a batch of sequences.

    Args:
      x: [batch, time, input_size].
      h_0, c_0: [layers * directions, batch, hidden_size], the first states.
      weights: [number of weights], see `init_lstm_weight`.
      seq_lengths: int32[batch], the number of steps of each sequence.
      input_size, hidden_size, num_layers: of the network.
      dropout: 0; a mask of random zeros between layers is not applied.
      bidirectional: whether each layer also runs backwards in time.
      precision: of matrix products.

    Returns:
      (y, h_n, c_n): outputs [batch, time, directions * hidden_size], 0 after the end of a sequence, and the states at
      its end, like h_0 and c_0.

    Raises:
      NotImplementedError: seq_lengths aren't int32, or dropout isn't 0.

    >>> import numpy as np, xtrace as xt
    >>> weights, state = init_lstm_weight(xt.random.key(0), 4, 3, 1, False), np.zeros((1, 2, 3), np.float32)
    >>> y, h, c = lstm(np.ones((2, 5, 4), np.float32), state, state, weights, np.array([5, 2], np.int32), 4, 3, 1, 0.0,
    ...                False)
    >>> y.shape, bool((y[1, 1] == h[0, 1]).all()), bool((y[1, 2:] == 0).all())
    ((2, 5, 3), True, True)
    """
    pieces = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _lstm(
        x,
        h_0,
        c_0,
        pieces,
        seq_lengths,
        layers=num_layers,
        dropout=dropout,
        backwards=bidirectional,
        precision=precision,
    )


@composite(static_argnames=("layers", "dropout", "backwards", "precision"))
def _lstm(
    x: Any,
    h_0: Any,
    c_0: Any,
    pieces: Any,
    lengths: Any,
    *,
    layers: int,
    dropout: float,
    backwards: bool,
    precision: Any,
) -> tuple[Any, Any, Any]:
    x, lengths = xnp.asarray(x), xnp.asarray(lengths)
    if shaped(lengths).dtype != np.int32:
        raise NotImplementedError(f"`seq_lengths` can only be int32, got {shaped(lengths).dtype}")
    if dropout != 0.0:
        raise NotImplementedError(f"lstm applies no dropout, got dropout={dropout}: apply it between layers by hand")
    directions = 1 + bool(backwards)
    y = xnp.swapaxes(x, 0, 1)
    states: list[tuple[Any, Any]] = []
    for layer in range(layers):
        outs = []
        for direction in range(directions):
            place = layer * directions + direction
            given = _reversed(y, lengths) if direction else y
            weights = tuple([piece[place] for piece in pieces])
            out, h, c = _one_direction(given, h_0[place], c_0[place], lengths, weights, precision)
            outs.append(_reversed(out, lengths) if direction else out)
            states.append((h, c))
        y = xnp.concatenate(outs, axis=-1)
    return xnp.swapaxes(y, 0, 1), xnp.stack([h for h, _ in states]), xnp.stack([c for _, c in states])
