"""Long straight-line code, control flow in control flow, and many small arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.programs.library import Library, Program


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


def leaves(count: int) -> dict[str, np.ndarray]:
    return {f"leaf {i}": np.ones(4, np.float32) for i in range(count)}


def tree_in_and_out(lib: Library, count: int = 100) -> Program:
    return lambda tree: {name: value + 1 for name, value in tree.items()}, (leaves(count),)
