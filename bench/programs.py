"""The programs that are measured.

Each builder makes its program anew (fresh function objects, so that nothing traced before is found again) out of the
module it is given, `xtrace` or `jax`: both run the same text. It returns the function and NumPy arguments for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

Program = tuple[Callable[..., Any], tuple[Any, ...]]

LAYERS, WIDTH, HEADS, VOCABULARY, CONTEXT = 12, 64, 4, 128, 32


class Library:
    """The parts of `xtrace` or `jax` that the programs use, each loaded when it is first used."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.top: Any = importlib.import_module(name)

    def __getattr__(self, part: str) -> Any:
        module = importlib.import_module(f"{self.name}.{part}")
        setattr(self, part, module)
        return module


def normal(rng: np.random.Generator, scale: float, *shape: int) -> np.ndarray:
    return (scale * rng.standard_normal(shape)).astype(np.float32)


# Long straight-line code


def numpy_chain(lib: Library, operations: int = 1000) -> Program:
    xnp = lib.numpy

    def chain(x: Any) -> Any:
        for _ in range(operations // 4):
            x = xnp.sin(x)
            x = x * 1.01
            x = x + x
            x = xnp.tanh(x)
        return x

    return chain, (np.ones(16, np.float32),)


def lax_chain(lib: Library, operations: int = 1000) -> Program:
    lax = lib.lax

    def chain(x: Any) -> Any:
        for _ in range(operations // 4):
            x = lax.sin(x)
            x = lax.mul(x, x)
            x = lax.add(x, x)
            x = lax.tanh(x)
        return x

    return chain, (np.ones(16, np.float32),)


def chain_gradient(lib: Library, operations: int = 5000) -> Program:
    chain, args = numpy_chain(lib, operations)
    return lib.top.grad(lambda x: lib.numpy.sum(chain(x))), args


# A small classifier and its training step


def _classifier(lib: Library) -> tuple[Callable[..., Any], list[dict[str, np.ndarray]], np.random.Generator]:
    rng = np.random.default_rng(0)
    sizes = (784, 256, 128, 10)
    params = [
        {"weight": normal(rng, (2 / rows) ** 0.5, rows, columns), "bias": np.zeros(columns, np.float32)}
        for rows, columns in zip(sizes[:-1], sizes[1:], strict=True)
    ]

    def loss(params: Any, x: Any, target: Any) -> Any:
        for layer in params[:-1]:
            x = lib.nn.relu(x @ layer["weight"] + layer["bias"])
        scores = lib.nn.log_softmax(x @ params[-1]["weight"] + params[-1]["bias"])
        return -lib.numpy.mean(lib.numpy.sum(scores * target, axis=-1))

    return loss, params, rng


def _labelled(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    return normal(rng, 1.0, count, 784), np.eye(10, dtype=np.float32)[rng.integers(0, 10, count)]


def mlp_adam(lib: Library) -> Program:
    loss, params, rng = _classifier(lib)
    tree = lib.top.tree

    def step(state: Any, x: Any, target: Any) -> Any:
        params, first, second, t = state
        value, grads = lib.top.value_and_grad(loss)(params, x, target)
        first = tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
        unbias_first, unbias_second = 1 / (1 - 0.9**t), 1 / (1 - 0.999**t)
        params = tree.map(
            lambda p, m, v: p - 1e-3 * m * unbias_first / (lib.numpy.sqrt(v * unbias_second) + 1e-8),
            params,
            first,
            second,
        )
        return (params, first, second, t + 1), value

    zeros = [{name: np.zeros_like(value) for name, value in layer.items()} for layer in params]
    return step, ((params, zeros, zeros, np.float32(1)), *_labelled(rng, 64))


def per_example_gradients(lib: Library) -> Program:
    loss, params, rng = _classifier(lib)
    return lib.top.vmap(lib.top.grad(loss), in_axes=(None, 0, 0)), (params, *_labelled(rng, 16))


# A 12-layer transformer


def _transformer_params() -> dict[str, Any]:
    rng = np.random.default_rng(0)

    def dense(rows: int, columns: int) -> dict[str, np.ndarray]:
        return {"weight": normal(rng, 0.02, rows, columns), "bias": np.zeros(columns, np.float32)}

    def norm() -> dict[str, np.ndarray]:
        return {"gain": np.ones(WIDTH, np.float32), "bias": np.zeros(WIDTH, np.float32)}

    layers = [
        {
            "attention norm": norm(),
            "queries keys values": dense(WIDTH, 3 * WIDTH),
            "attention out": dense(WIDTH, WIDTH),
            "mlp norm": norm(),
            "mlp in": dense(WIDTH, 4 * WIDTH),
            "mlp out": dense(4 * WIDTH, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    return {
        "tokens": normal(rng, 0.02, VOCABULARY, WIDTH),
        "positions": normal(rng, 0.02, CONTEXT, WIDTH),
        "layers": layers,
        "final norm": norm(),
    }


def _transformer(lib: Library, checkpointed: bool = False) -> Callable[..., Any]:
    xnp = lib.numpy

    def dense(p: Any, x: Any) -> Any:
        return x @ p["weight"] + p["bias"]

    def layer_norm(p: Any, x: Any) -> Any:
        centred = x - xnp.mean(x, axis=-1, keepdims=True)
        return centred * lib.lax.rsqrt(xnp.var(x, axis=-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]

    def attention(p: Any, x: Any) -> Any:
        batch, length, width = x.shape

        def heads(a: Any) -> Any:
            return a.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

        queries, keys, values = map(heads, xnp.split(dense(p["queries keys values"], x), 3, axis=-1))
        scores = xnp.einsum("bhqd,bhkd->bhqk", queries, keys) / (width // HEADS) ** 0.5
        causal = xnp.tril(xnp.ones((length, length), bool))
        weights = lib.nn.softmax(xnp.where(causal, scores, -1e9), axis=-1)
        mixed = xnp.einsum("bhqk,bhkd->bhqd", weights, values)
        return dense(p["attention out"], mixed.transpose(0, 2, 1, 3).reshape(batch, length, width))

    def block(layer: Any, x: Any) -> Any:
        x = x + attention(layer, layer_norm(layer["attention norm"], x))
        hidden = lib.nn.gelu(dense(layer["mlp in"], layer_norm(layer["mlp norm"], x)))
        return x + dense(layer["mlp out"], hidden)

    apply = lib.top.checkpoint(block) if checkpointed else block

    def forward(p: Any, tokens: Any) -> Any:
        x = p["tokens"][tokens] + p["positions"][: tokens.shape[1]]
        for layer in p["layers"]:
            x = apply(layer, x)
        return layer_norm(p["final norm"], x) @ p["tokens"].T

    return forward


def _text() -> np.ndarray:
    return np.random.default_rng(1).integers(0, VOCABULARY, (2, CONTEXT)).astype(np.int32)


def gpt_forward(lib: Library) -> Program:
    return _transformer(lib), (_transformer_params(), _text())


def gpt_gradient(lib: Library, checkpointed: bool = False) -> Program:
    forward = _transformer(lib, checkpointed)

    def loss(p: Any, tokens: Any, following: Any) -> Any:
        scores = lib.nn.log_softmax(forward(p, tokens), axis=-1)
        return -lib.numpy.mean(lib.numpy.take_along_axis(scores, following[..., None], axis=-1))

    return lib.top.value_and_grad(loss), (_transformer_params(), _text(), _text())


def gpt_checkpointed(lib: Library) -> Program:
    return gpt_gradient(lib, checkpointed=True)


# A recurrent network


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


# Control flow in control flow


def nested_control_flow(lib: Library) -> Program:
    """Jit in cond in scan, six levels of each inside the other."""
    lax, xnp = lib.lax, lib.numpy

    def nest(depth: int) -> Callable[[Any], Any]:
        if depth == 0:
            return lambda x: xnp.tanh(x) * 1.01
        inner = nest(depth - 1)

        def step(x: Any, _: Any) -> Any:
            compiled = lib.top.jit(lambda x: inner(x) + 0.1)
            return lax.cond(xnp.sum(x) > 0, compiled, lambda x: xnp.sin(x), x), None

        return lambda x: lax.scan(step, x, None, length=2)[0]

    program = nest(6)
    return lib.top.grad(lambda x: xnp.sum(program(x))), (np.ones(16, np.float32),)


def twenty_operations(lib: Library) -> Program:
    """A function of a vector in twenty operations, for eager gradients."""
    xnp = lib.numpy

    def energy(x: Any) -> Any:
        for _ in range(4):
            x = xnp.sin(x)
            x = x * 1.01
            x = xnp.tanh(x)
            x = x + 0.5
        y = xnp.exp(-x)
        y = y * x
        y = y / 2.0
        return xnp.sum(y)

    return energy, (np.linspace(0, 1, 16, dtype=np.float32),)


# Many small arrays


def leaves(count: int) -> dict[str, np.ndarray]:
    return {f"leaf {i}": np.ones(4, np.float32) for i in range(count)}


def tree_in_and_out(lib: Library, count: int = 100) -> Program:
    return lambda tree: {name: value + 1 for name, value in tree.items()}, (leaves(count),)


PROGRAMS: dict[str, Callable[[Library], Program]] = {
    "numpy_chain": numpy_chain,
    "lax_chain": lax_chain,
    "mlp_adam": mlp_adam,
    "gpt_forward": gpt_forward,
    "gpt_gradient": gpt_gradient,
    "gpt_checkpointed": gpt_checkpointed,
    "rnn_forward": rnn_forward,
    "rnn_gradient": rnn_gradient,
    "nested_control_flow": nested_control_flow,
    "tree_100": tree_in_and_out,
    "per_example": per_example_gradients,
}
