"""Convolutional networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.programs.library import Library, Program, normal

_LAYOUT = ("NHWC", "HWIO", "NHWC")


def _conv(lib: Library, x: Any, kernel: Any, stride: int = 1) -> Any:
    return lib.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=_LAYOUT)


def residual_conv_gradient(lib: Library, blocks: int = 16, channels: int = 16) -> Program:
    """Blocks of convolution, batch norm and relu, each added to what it reads."""
    rng, xnp = np.random.default_rng(0), lib.numpy
    params = [
        (normal(rng, 0.05, 3, 3, channels, channels), np.ones(channels, np.float32), np.zeros(channels, np.float32))
        for _ in range(blocks)
    ]

    def loss(params: Any, x: Any) -> Any:
        for kernel, gain, bias in params:
            y = _conv(lib, x, kernel)
            mean, variance = xnp.mean(y, axis=(0, 1, 2)), xnp.var(y, axis=(0, 1, 2))
            x = x + lib.nn.relu((y - mean) * lib.lax.rsqrt(variance + 1e-5) * gain + bias)
        return xnp.mean(x**2)

    return lib.top.grad(loss), (params, normal(rng, 1.0, 4, 16, 16, channels))


def _group_norm(lib: Library, x: Any, gain: Any, groups: int = 4) -> Any:
    n, height, width, channels = x.shape
    grouped = x.reshape(n, height, width, groups, channels // groups)
    mean = lib.numpy.mean(grouped, axis=(1, 2, 4), keepdims=True)
    variance = lib.numpy.var(grouped, axis=(1, 2, 4), keepdims=True)
    return ((grouped - mean) * lib.lax.rsqrt(variance + 1e-5)).reshape(x.shape) * gain


def _unet_params(rng: np.random.Generator, channels: tuple[int, ...], inner: int, ends: int) -> dict[str, Any]:
    """Kernels of two convolutions a level, down and up; `inner` is the width of what is added to every level."""

    def pair(i: int, o: int) -> dict[str, np.ndarray]:
        return {
            "first": normal(rng, (2 / (9 * i)) ** 0.5, 3, 3, i, o),
            "second": normal(rng, (2 / (9 * o)) ** 0.5, 3, 3, o, o),
            "first gain": np.ones(o, np.float32),
            "second gain": np.ones(o, np.float32),
            "from inner": normal(rng, 0.1, inner, o),
        }

    widths = list(zip((ends, *channels[:-1]), channels, strict=True))
    return {
        "down": [pair(i, o) for i, o in widths],
        "up": [pair(low + high, high) for high, low in zip(channels[-2::-1], channels[:0:-1], strict=True)],
        "out": normal(rng, 0.1, 1, 1, channels[0], ends),
    }


def _unet(lib: Library, p: Any, x: Any, inner: Any) -> Any:
    """A U-Net (Ronneberger, Fischer and Brox 2015) whose levels are told `inner`, shape (batch, features)."""
    xnp, nn = lib.numpy, lib.nn

    def level(q: Any, x: Any) -> Any:
        x = nn.silu(_group_norm(lib, _conv(lib, x, q["first"]), q["first gain"]))
        x = x + (inner @ q["from inner"])[:, None, None, :]
        return nn.silu(_group_norm(lib, _conv(lib, x, q["second"]), q["second gain"]))

    kept = []
    for q in p["down"][:-1]:
        x = level(q, x)
        kept.append(x)
        x = lib.lax.reduce_window(x, -np.inf, lib.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = level(p["down"][-1], x)
    for q in p["up"]:
        n, height, width, channels = x.shape
        x = xnp.broadcast_to(x[:, :, None, :, None, :], (n, height, 2, width, 2, channels))
        x = xnp.concatenate([x.reshape(n, 2 * height, 2 * width, channels), kept.pop()], axis=-1)
        x = level(q, x)
    return _conv(lib, x, p["out"])


def unet_gradient(lib: Library) -> Program:
    """Segmentation: every pixel of an image told inside or outside."""
    rng, xnp = np.random.default_rng(0), lib.numpy
    params = _unet_params(rng, (8, 16, 32), 1, 1)

    def loss(p: Any, images: Any, inside: Any) -> Any:
        scores = _unet(lib, p, images, xnp.ones((images.shape[0], 1)))
        return xnp.mean(xnp.maximum(scores, 0) - scores * inside + xnp.log1p(xnp.exp(-xnp.abs(scores))))

    images = normal(rng, 1.0, 2, 32, 32, 1)
    return lib.top.value_and_grad(loss), (params, images, (images > 0.3).astype(np.float32))


def diffusion_step(lib: Library) -> Program:
    """A training step of a denoising diffusion model (Ho, Jain and Abbeel 2020): noise, U-Net, momentum, average."""
    rng, xnp, random, tree = np.random.default_rng(0), lib.numpy, lib.random, lib.top.tree
    features, steps = 32, 1000
    params = {
        "unet": _unet_params(rng, (8, 16, 32), features, 1),
        "time": normal(rng, 0.2, features, features),
    }
    kept = np.cumprod(1 - np.linspace(1e-4, 0.02, steps)).astype(np.float32)
    frequencies = np.exp(-np.log(1e4) * np.arange(features // 2) / (features // 2)).astype(np.float32)

    def loss(p: Any, images: Any, key: Any) -> Any:
        for_time, for_noise = random.split(key)
        time = random.randint(for_time, (images.shape[0],), 0, steps)
        noise = random.normal(for_noise, images.shape)
        part = xnp.asarray(kept)[time][:, None, None, None]
        angles = time[:, None] * frequencies
        inner = lib.nn.silu(xnp.concatenate([xnp.sin(angles), xnp.cos(angles)], axis=-1) @ p["time"])
        found = _unet(lib, p["unet"], xnp.sqrt(part) * images + xnp.sqrt(1 - part) * noise, inner)
        return xnp.mean((found - noise) ** 2)

    def step(state: Any, images: Any, key: Any) -> Any:
        params, velocity, average = state
        value, gradient = lib.top.value_and_grad(loss)(params, images, key)
        velocity = tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
        params = tree.map(lambda p, v: p - 1e-3 * v, params, velocity)
        average = tree.map(lambda a, p: 0.999 * a + 0.001 * p, average, params)
        return (params, velocity, average), value

    zeros = {
        "unet": {
            "down": [{k: np.zeros_like(v) for k, v in q.items()} for q in params["unet"]["down"]],
            "up": [{k: np.zeros_like(v) for k, v in q.items()} for q in params["unet"]["up"]],
            "out": np.zeros_like(params["unet"]["out"]),
        },
        "time": np.zeros_like(params["time"]),
    }
    return step, ((params, zeros, params), normal(rng, 1.0, 4, 16, 16, 1), np.array([0, 7], np.uint32))
