"""Transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.programs.library import Library, Program, normal


@dataclass(frozen=True)
class Size:
    """Layers, the width of the residual stream, attention heads, tokens known, and tokens in a row."""

    layers: int = 12
    width: int = 64
    heads: int = 4
    vocabulary: int = 128
    context: int = 32


def _parameters(size: Size) -> dict[str, Any]:
    rng, width = np.random.default_rng(0), size.width

    def dense(rows: int, columns: int) -> dict[str, np.ndarray]:
        return {"weight": normal(rng, 0.02, rows, columns), "bias": np.zeros(columns, np.float32)}

    def norm() -> dict[str, np.ndarray]:
        return {"gain": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}

    layers = [
        {
            "attention norm": norm(),
            "queries keys values": dense(width, 3 * width),
            "attention out": dense(width, width),
            "mlp norm": norm(),
            "mlp in": dense(width, 4 * width),
            "mlp out": dense(4 * width, width),
        }
        for _ in range(size.layers)
    ]
    return {
        "tokens": normal(rng, 0.02, size.vocabulary, width),
        "positions": normal(rng, 0.02, size.context, width),
        "layers": layers,
        "final norm": norm(),
    }


def dense(p: Any, x: Any) -> Any:
    return x @ p["weight"] + p["bias"]


def layer_norm(lib: Library, p: Any, x: Any) -> Any:
    xnp = lib.numpy
    centred = x - xnp.mean(x, axis=-1, keepdims=True)
    return centred * lib.lax.rsqrt(xnp.var(x, axis=-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]


def attention(lib: Library, p: Any, x: Any, heads: int, causal: bool) -> Any:
    """Self-attention of x, shape (batch, length, width)."""
    xnp = lib.numpy
    batch, length, width = x.shape

    def split(a: Any) -> Any:
        return a.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    queries, keys, values = map(split, xnp.split(dense(p["queries keys values"], x), 3, axis=-1))
    scores = xnp.einsum("bhqd,bhkd->bhqk", queries, keys) / (width // heads) ** 0.5
    if causal:
        scores = xnp.where(xnp.tril(xnp.ones((length, length), bool)), scores, -1e9)
    mixed = xnp.einsum("bhqk,bhkd->bhqd", lib.nn.softmax(scores, axis=-1), values)
    return dense(p["attention out"], mixed.transpose(0, 2, 1, 3).reshape(batch, length, width))


def block(lib: Library, p: Any, x: Any, heads: int, causal: bool = True) -> Any:
    """A layer of a transformer: attention and a small network, each on what a norm leaves and added to x."""
    x = x + attention(lib, p, layer_norm(lib, p["attention norm"], x), heads, causal)
    return x + dense(p["mlp out"], lib.nn.gelu(dense(p["mlp in"], layer_norm(lib, p["mlp norm"], x))))


def _forward(lib: Library, size: Size, checkpointed: bool = False) -> Callable[..., Any]:
    def one(layer: Any, x: Any) -> Any:
        return block(lib, layer, x, size.heads)

    apply = lib.top.checkpoint(one) if checkpointed else one

    def forward(p: Any, tokens: Any) -> Any:
        x = p["tokens"][tokens] + p["positions"][: tokens.shape[1]]
        for layer in p["layers"]:
            x = apply(layer, x)
        return layer_norm(lib, p["final norm"], x) @ p["tokens"].T

    return forward


def _text(size: Size) -> np.ndarray:
    return np.random.default_rng(1).integers(0, size.vocabulary, (2, size.context)).astype(np.int32)


def gpt_forward(lib: Library, size: Size = Size()) -> Program:
    return _forward(lib, size), (_parameters(size), _text(size))


def gpt_loss(lib: Library, size: Size = Size(), checkpointed: bool = False) -> Program:
    forward = _forward(lib, size, checkpointed)

    def loss(p: Any, tokens: Any, following: Any) -> Any:
        scores = lib.nn.log_softmax(forward(p, tokens), axis=-1)
        return -lib.numpy.mean(lib.numpy.take_along_axis(scores, following[..., None], axis=-1))

    return loss, (_parameters(size), _text(size), _text(size))


def gpt_gradient(lib: Library, size: Size = Size(), checkpointed: bool = False) -> Program:
    loss, args = gpt_loss(lib, size, checkpointed)
    return lib.top.value_and_grad(loss), args


def gpt_checkpointed(lib: Library) -> Program:
    return gpt_gradient(lib, checkpointed=True)


def gpt24_gradient(lib: Library) -> Program:
    return gpt_gradient(lib, Size(layers=24))


def gpt_gradient_38m(lib: Library) -> Program:
    """Twelve layers of width 512, 38 million parameters."""
    return gpt_gradient(lib, Size(width=512, heads=8))


def vision_transformer_gradient(lib: Library) -> Program:
    """Images of 32 by 32 cut into 64 patches, six layers, ten classes."""
    size = Size(layers=6, width=96, heads=3, context=64)
    patch, rng = 4, np.random.default_rng(2)
    params = _parameters(size)
    del params["tokens"]
    params["patches"] = {"weight": normal(rng, 0.1, patch * patch * 3, size.width), "bias": np.zeros(96, np.float32)}
    params["head"] = {"weight": normal(rng, 0.02, size.width, 10), "bias": np.zeros(10, np.float32)}

    def loss(p: Any, images: Any, target: Any) -> Any:
        n, side, _, channels = images.shape
        grid = images.reshape(n, side // patch, patch, side // patch, patch, channels)
        patches = grid.transpose(0, 1, 3, 2, 4, 5).reshape(n, -1, patch * patch * channels)
        x = dense(p["patches"], patches) + p["positions"]
        for layer in p["layers"]:
            x = block(lib, layer, x, size.heads, causal=False)
        pooled = lib.numpy.mean(layer_norm(lib, p["final norm"], x), axis=1)
        scores = lib.nn.log_softmax(dense(p["head"], pooled))
        return -lib.numpy.mean(lib.numpy.sum(scores * target, axis=-1))

    images, target = normal(rng, 1.0, 4, 32, 32, 3), np.eye(10, dtype=np.float32)[rng.integers(0, 10, 4)]
    return lib.top.value_and_grad(loss), (params, images, target)


def mixture_of_experts_gradient(lib: Library) -> Program:
    """Eight experts, two for each token, with capacity: tokens are sent and fetched by one-hot products."""
    xnp, lax, nn = lib.numpy, lib.lax, lib.nn
    tokens, width, hidden, experts, chosen = 256, 64, 128, 8, 2
    capacity = tokens * chosen // experts * 5 // 4
    rng = np.random.default_rng(0)
    params = {
        "router": normal(rng, 0.1, width, experts),
        "in": normal(rng, 0.1, experts, width, hidden),
        "gate": normal(rng, 0.1, experts, width, hidden),
        "out": normal(rng, 0.1, experts, hidden, width),
    }

    def layer(p: Any, x: Any) -> Any:
        shares = nn.softmax(x @ p["router"])
        top, which = lax.top_k(shares, chosen)
        top = top / xnp.sum(top, axis=-1, keepdims=True)
        sent = nn.one_hot(which, experts)  # token, choice, expert
        flat = sent.transpose(1, 0, 2).reshape(chosen * tokens, experts)  # first choices go first
        place = (xnp.cumsum(flat, axis=0) - flat).reshape(chosen, tokens, experts).transpose(1, 0, 2)
        place = xnp.sum(place * sent, axis=-1).astype(xnp.int32)
        slots = sent[..., None] * nn.one_hot(place, capacity)[:, :, None, :]
        combine = xnp.einsum("tc,tces->tes", top, slots)
        fed = xnp.einsum("tes,td->esd", xnp.sum(slots, axis=1), x)
        inner = nn.silu(xnp.einsum("esd,edh->esh", fed, p["gate"])) * xnp.einsum("esd,edh->esh", fed, p["in"])
        mixed = xnp.einsum("tes,esd->td", combine, xnp.einsum("esh,ehd->esd", inner, p["out"]))
        load = xnp.mean(shares, axis=0) * xnp.mean(sent[:, 0], axis=0)
        return mixed, experts * xnp.sum(load)

    def loss(p: Any, x: Any, y: Any) -> Any:
        mixed, balance = layer(p, x)
        return xnp.mean((x + mixed - y) ** 2) + 0.01 * balance

    return lib.top.value_and_grad(loss), (params, normal(rng, 1.0, tokens, width), normal(rng, 1.0, tokens, width))
