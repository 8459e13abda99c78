"""Recurrent networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.programs.library import Library, Program, normal


def rnn_forward(lib: Library) -> Program:
    rng = np.random.default_rng(0)
    params = {"state": normal(rng, 0.1, 32, 32), "input": normal(rng, 0.1, 16, 32), "bias": np.zeros(32, np.float32)}

    def energy(p: Any, state: Any, inputs: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            state = lib.numpy.tanh(state @ p["state"] + x @ p["input"] + p["bias"])
            return state, state

        _, states = lib.lax.scan(cell, state, inputs)
        return lib.numpy.mean(states**2)

    return energy, (params, np.zeros((8, 32), np.float32), normal(rng, 1.0, 100, 8, 16))


def rnn_gradient(lib: Library) -> Program:
    energy, args = rnn_forward(lib)
    return lib.top.grad(energy), args


def lstm_gradient(lib: Library, steps: int = 40, width: int = 64) -> Program:
    """Unrolled: every step is in the program."""
    rng, xnp, nn = np.random.default_rng(0), lib.numpy, lib.nn

    def loss(weight: Any, bias: Any, inputs: Any) -> Any:
        h = c = xnp.zeros((8, width))
        for t in range(steps):
            gates = xnp.concatenate([inputs[t], h], axis=-1) @ weight + bias
            i, f, g, o = xnp.split(gates, 4, axis=-1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * xnp.tanh(g)
            h = nn.sigmoid(o) * xnp.tanh(c)
        return xnp.mean(h**2)

    weight, bias = normal(rng, 0.1, 2 * width, 4 * width), np.zeros(4 * width, np.float32)
    return lib.top.grad(loss, argnums=(0, 1)), (weight, bias, normal(rng, 1.0, steps, 8, width))


def translation_gradient(lib: Library) -> Program:
    """Gated recurrent units that read a sentence and write another, with attention at every word written."""
    rng, xnp, nn, lax = np.random.default_rng(0), lib.numpy, lib.nn, lib.lax
    width, vocabulary, batch, length = 64, 96, 8, 20

    def unit() -> dict[str, np.ndarray]:
        return {
            "input": normal(rng, 0.1, width, 3 * width),
            "state": normal(rng, 0.1, width, 3 * width),
            "bias": np.zeros(3 * width, np.float32),
        }

    params = {
        "read": normal(rng, 0.1, vocabulary, width),
        "written": normal(rng, 0.1, vocabulary, width),
        "encoder": unit(),
        "decoder": unit(),
        "mix": normal(rng, 0.1, 2 * width, width),
    }

    def cell(p: Any, h: Any, x: Any) -> Any:
        from_input = xnp.split(x @ p["input"] + p["bias"], 3, axis=-1)
        from_state = xnp.split(h @ p["state"], 3, axis=-1)
        reset, update = (nn.sigmoid(a + b) for a, b in zip(from_input[:2], from_state[:2], strict=True))
        return (1 - update) * xnp.tanh(from_input[2] + reset * from_state[2]) + update * h

    def loss(p: Any, read: Any, written: Any) -> Any:
        def encode(h: Any, x: Any) -> Any:
            h = cell(p["encoder"], h, x)
            return h, h

        def decode(h: Any, x: Any) -> Any:
            h = cell(p["decoder"], h, x)
            weights = nn.softmax(xnp.einsum("bd,tbd->bt", h, memory) / width**0.5)
            seen = xnp.einsum("bt,tbd->bd", weights, memory)
            return h, xnp.tanh(xnp.concatenate([h, seen], axis=-1) @ p["mix"])

        h, memory = lax.scan(encode, xnp.zeros((batch, width)), p["read"][read])
        _, out = lax.scan(decode, h, p["written"][written[:-1]])
        scores = nn.log_softmax(out @ p["written"].T)
        return -xnp.mean(xnp.take_along_axis(scores, written[1:, :, None], axis=-1))

    words = [rng.integers(0, vocabulary, (length + extra, batch)).astype(np.int32) for extra in (0, 1)]
    return lib.top.value_and_grad(loss), (params, *words)
