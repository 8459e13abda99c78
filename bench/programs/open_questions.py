"""Programs for which it is not plain whether a pass pays: large arrays, deep bodies, narrow floats, many results."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.programs import transformer
from bench.programs.library import Library, Program, normal


def _layers(lib: Library, weights: Any, x: Any) -> list[Any]:
    """x after each of a chain of residual layers."""
    after = []
    for w in weights:
        x = x + lib.numpy.tanh(x @ w) * 0.5
        after.append(x)
    return after


def _square_weights(layers: int, width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [normal(rng, width**-0.5, width, width) for _ in range(layers)]


def large_arrays(lib: Library) -> Program:
    """Gradient of six elementwise residual layers on arrays of 100 MB."""

    def loss(scales: Any, x: Any) -> Any:
        for scale in scales:
            x = x + lib.numpy.tanh(x * scale)
        return (x**2).mean()

    x = normal(np.random.default_rng(1), 1.0, 25, 1 << 20)
    return lib.top.grad(loss, argnums=(0, 1)), ([np.float32(0.1 * i) for i in range(1, 7)], x)


def deep_loop_body(lib: Library) -> Program:
    """Gradient of a scan of eight steps, each of twenty residual layers."""

    def loss(weights: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            out = _layers(lib, weights, carry + x)[-1]
            return out, out.sum()

        carry, sums = lib.lax.scan(step, xs[0], xs)
        return carry.sum() + sums.sum()

    return lib.top.grad(loss), (_square_weights(20, 64), normal(np.random.default_rng(1), 1.0, 8, 32, 64))


def many_results(lib: Library) -> Program:
    """Twenty-four residual layers that return what each computes."""

    def forward(weights: Any, x: Any) -> Any:
        return _layers(lib, weights, x)

    return forward, (_square_weights(24, 64), normal(np.random.default_rng(1), 1.0, 64, 64))


def mixed_precision(lib: Library) -> Program:
    """The gradient of twelve transformer layers computed in bfloat16, parameters and gradient in float32."""
    gradient_of, (p, tokens, following) = transformer.gpt_loss(lib)

    def loss(p: Any, tokens: Any, following: Any) -> Any:
        narrow = lib.top.tree_util.tree_map(lambda x: x.astype(lib.numpy.bfloat16), p)
        return gradient_of(narrow, tokens, following).astype(lib.numpy.float32)

    return lib.top.value_and_grad(loss), (p, tokens, following)
