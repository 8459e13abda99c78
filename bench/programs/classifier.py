"""Networks of dense layers, their optimizer, and dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.programs.library import Library, Program, normal


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


def adam(lib: Library, size: int = 1 << 20) -> Program:
    """A step of Adam with weight decay for one array of parameters."""

    def step(p: Any, first: Any, second: Any, gradient: Any) -> Any:
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient * gradient
        change = (first / 0.1) / (lib.numpy.sqrt(second / 0.001) + 1e-8)
        return p - 1e-3 * change - 1e-4 * p, first, second

    rng = np.random.default_rng(0)
    p, first, gradient = (normal(rng, 1.0, size) for _ in range(3))
    return step, (p, first, first * first, gradient)


def dropout(lib: Library, layers: int = 8) -> Program:
    """Dropout after dropout, each with bits of its own."""
    random = lib.random

    def drop(key: Any, x: Any) -> Any:
        for _ in range(layers):
            key, own = random.split(key)
            x = x * random.bernoulli(own, 0.9, x.shape) / 0.9
        return x

    return drop, (np.array([0, 1], np.uint32), normal(np.random.default_rng(0), 1.0, 256, 256))


def residual_mlp_gradient(lib: Library, layers: int = 30, width: int = 128) -> Program:
    rng, xnp = np.random.default_rng(0), lib.numpy
    params = [(normal(rng, 0.05, width, width), np.ones(width, np.float32)) for _ in range(layers)]

    def loss(params: Any, x: Any) -> Any:
        for weight, gain in params:
            normed = x * lib.lax.rsqrt(xnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gain
            x = x + lib.nn.silu(normed @ weight)
        return xnp.mean(x**2)

    return lib.top.grad(loss), (params, normal(rng, 1.0, 32, width))


def blocks_of_one_constant_each(lib: Library, blocks: int = 100) -> Program:
    """Blocks that are the same but for a number in their text."""
    rng, xnp = np.random.default_rng(0), lib.numpy

    def apply(x: Any, weight: Any) -> Any:
        for i in range(blocks):
            x = x + xnp.tanh(x @ weight) * (0.1 + 0.001 * i)
            x = x - xnp.mean(x, axis=-1, keepdims=True)
        return x

    return apply, (normal(rng, 1.0, 32, 64), normal(rng, 0.1, 64, 64))


def coupling_flow_gradient(lib: Library) -> Program:
    """Likelihood under a normalizing flow of twelve affine couplings (Dinh, Sohl-Dickstein and Bengio 2017)."""
    rng, xnp = np.random.default_rng(0), lib.numpy
    width, hidden = 16, 64
    params = [
        {
            "in": normal(rng, 0.2, width // 2, hidden),
            "middle": normal(rng, 0.1, hidden, hidden),
            "out": normal(rng, 0.02, hidden, width),
            "bias": np.zeros(hidden, np.float32),
        }
        for _ in range(12)
    ]

    def loss(params: Any, x: Any) -> Any:
        logarithm = xnp.zeros(x.shape[0])
        for p in params:
            kept, moved = x[:, : width // 2], x[:, width // 2 :]
            inner = xnp.tanh(xnp.tanh(kept @ p["in"] + p["bias"]) @ p["middle"])
            scale, shift = xnp.split(inner @ p["out"], 2, axis=-1)
            scale = 2 * xnp.tanh(scale / 2)
            logarithm = logarithm + xnp.sum(scale, axis=-1)
            x = xnp.concatenate([moved * xnp.exp(scale) + shift, kept], axis=-1)
        density = -0.5 * xnp.sum(x**2, axis=-1) - 0.5 * width * np.log(2 * np.pi)
        return -xnp.mean(density + logarithm)

    return lib.top.value_and_grad(loss), (params, normal(rng, 1.0, 256, width))
