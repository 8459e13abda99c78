"""Simulation, filtering, inference and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.programs.library import Library, Program, normal


def runge_kutta(lib: Library, steps: int = 20, count: int = 4096) -> Program:
    """Lorenz systems, integrated by the classical method of order four; the steps are in the program."""

    def slope(s: Any) -> Any:
        x, y, z = s
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.667 * z

    def moved(s: Any, k: Any, by: Any) -> Any:
        return tuple(a + by * b for a, b in zip(s, k, strict=True))

    def integrate(x: Any, y: Any, z: Any) -> Any:
        s, h = (x, y, z), np.float32(0.01)
        for _ in range(steps):
            k1 = slope(s)
            k2 = slope(moved(s, k1, h / 2))
            k3 = slope(moved(s, k2, h / 2))
            k4 = slope(moved(s, k3, h))
            s = tuple(a + h / 6 * (p + 2 * q + 2 * r + t) for a, p, q, r, t in zip(s, k1, k2, k3, k4, strict=True))
        return s

    ones = np.ones(count, np.float32)
    return integrate, (ones, ones * np.float32(1.1), ones * np.float32(0.9))


def polynomial(lib: Library, steps: int = 50, count: int = 1 << 20) -> Program:
    """Descent on a double well, which is a polynomial of its start."""

    def descend(x: Any) -> Any:
        for _ in range(steps):
            x = x - 0.1 * (x * x * x - x)
        return x

    return descend, (np.linspace(-1, 1, count, dtype=np.float32),)


def polynomial_gradient(lib: Library, steps: int = 50) -> Program:
    descend, args = polynomial(lib, steps)
    return lib.top.grad(lambda x: lib.numpy.sum(descend(x))), args


def bodies(lib: Library, count: int = 128, steps: int = 20) -> Program:
    """Bodies that attract each other, moved by velocity Verlet; returns the energy too."""
    rng, xnp = np.random.default_rng(0), lib.numpy
    soft = np.float32(0.05)

    def apart(x: Any) -> Any:
        between = x[None, :, :] - x[:, None, :]
        return between, xnp.sum(between**2, axis=-1) + soft**2

    def pull(x: Any, mass: Any) -> Any:
        between, squared = apart(x)
        return xnp.einsum("ijd,ij->id", between, mass * squared**-1.5)

    def simulate(x: Any, v: Any, mass: Any) -> Any:
        h = np.float32(0.01)

        def step(state: Any, _: Any) -> Any:
            x, v, a = state
            v = v + 0.5 * h * a
            x = x + h * v
            a = pull(x, mass)
            return (x, v + 0.5 * h * a, a), None

        (x, v, _), _ = lib.lax.scan(step, (x, v, pull(x, mass)), None, length=steps)
        moving = 0.5 * xnp.sum(mass * xnp.sum(v**2, axis=-1))
        held = 0.5 * xnp.sum(mass * mass[:, None] * lib.lax.rsqrt(apart(x)[1]))
        return x, v, moving - held

    mass = (rng.uniform(0.5, 1.5, count) / count).astype(np.float32)
    return simulate, (normal(rng, 1.0, count, 3), normal(rng, 0.3, count, 3), mass)


def kalman(lib: Library, steps: int = 100, tracks: int = 32) -> Program:
    """Log-likelihood gradient of a constant-velocity Kalman filter with respect to its noise, over many tracks."""
    rng, xnp = np.random.default_rng(0), lib.numpy
    move = np.kron(np.float32([[1, 0.1], [0, 1]]), np.eye(2, dtype=np.float32))
    see = np.eye(2, 4, dtype=np.float32)

    def likelihood(noise: Any, track: Any) -> Any:
        process, sensor = xnp.exp(noise[:4]) * xnp.eye(4), xnp.exp(noise[4:]) * xnp.eye(2)

        def step(state: Any, y: Any) -> Any:
            mean, spread = state
            mean, spread = move @ mean, move @ spread @ move.T + process
            off, own = y - see @ mean, see @ spread @ see.T + sensor
            determinant = own[0, 0] * own[1, 1] - own[0, 1] * own[1, 0]
            inverse = xnp.array([[own[1, 1], -own[0, 1]], [-own[1, 0], own[0, 0]]]) / determinant
            gain = spread @ see.T @ inverse
            mean, spread = mean + gain @ off, (xnp.eye(4) - gain @ see) @ spread
            return (mean, spread), -0.5 * (off @ inverse @ off + xnp.log(determinant))

        _, terms = lib.lax.scan(step, (xnp.zeros(4), xnp.eye(4)), track)
        return xnp.sum(terms)

    def loss(noise: Any, seen: Any) -> Any:
        return -xnp.mean(lib.top.vmap(likelihood, in_axes=(None, 0))(noise, seen))

    seen = np.cumsum(0.1 * rng.standard_normal((tracks, steps, 2)), axis=1) + 0.1 * rng.standard_normal((1, steps, 2))
    return lib.top.value_and_grad(loss), (np.full(6, -2, np.float32), seen.astype(np.float32))


def gaussian_process_gradient(lib: Library, count: int = 128) -> Program:
    """Marginal likelihood of a Gaussian process, differentiated with respect to its kernel's parameters."""
    rng, xnp = np.random.default_rng(0), lib.numpy
    triangular = lib.top.lax.linalg.triangular_solve

    def loss(p: Any, x: Any, y: Any) -> Any:
        scaled = x * xnp.exp(-p["lengths"])
        squares = xnp.sum(scaled**2, axis=-1)
        apart = xnp.maximum(squares[:, None] + squares - 2 * scaled @ scaled.T, 0)
        covariance = xnp.exp(p["amplitude"] - 0.5 * apart) + (xnp.exp(p["noise"]) + 1e-5) * xnp.eye(count)
        factor = xnp.linalg.cholesky(covariance)
        white = triangular(factor, y[:, None], left_side=True, lower=True)
        return 0.5 * xnp.sum(white**2) + xnp.sum(xnp.log(xnp.diag(factor)))

    x = normal(rng, 1.0, count, 4)
    y = np.sin(x.sum(axis=1)).astype(np.float32) + normal(rng, 0.1, count)
    params = {"lengths": np.zeros(4, np.float32), "amplitude": np.float32(0), "noise": np.float32(-2)}
    return lib.top.value_and_grad(loss), (params, x, y)


def graph_network_gradient(lib: Library, nodes: int = 200, edges: int = 800, rounds: int = 4) -> Program:
    """Messages along the edges of a graph, summed at its nodes, round by round (Battaglia et al. 2018)."""
    rng, xnp, nn = np.random.default_rng(0), lib.numpy, lib.nn
    width = 32

    def mlp(i: int) -> dict[str, np.ndarray]:
        return {
            "in": normal(rng, i**-0.5, i, width),
            "bias": np.zeros(width, np.float32),
            "out": normal(rng, 0.2, width, width),
        }

    params = {
        "rounds": [{"edge": mlp(3 * width), "node": mlp(2 * width)} for _ in range(rounds)],
        "read": normal(rng, 0.1, width, 1),
    }

    def apply(p: Any, x: Any) -> Any:
        return nn.relu(x @ p["in"] + p["bias"]) @ p["out"]

    def loss(p: Any, node: Any, edge: Any, sender: Any, receiver: Any, target: Any) -> Any:
        for q in p["rounds"]:
            edge = edge + apply(q["edge"], xnp.concatenate([edge, node[sender], node[receiver]], axis=-1))
            gathered = xnp.zeros_like(node).at[receiver].add(edge)
            node = node + apply(q["node"], xnp.concatenate([node, gathered], axis=-1))
        return xnp.mean(((node @ p["read"])[:, 0] - target) ** 2)

    ends = [rng.integers(0, nodes, edges).astype(np.int32) for _ in range(2)]
    args = (normal(rng, 1.0, nodes, width), normal(rng, 1.0, edges, width), *ends, normal(rng, 1.0, nodes))
    return lib.top.value_and_grad(loss), (params, *args)
