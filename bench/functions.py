"""The array functions whose single calls are measured: the 60 most used, on small arrays, and heavy ones at real sizes.

The order is that of use, counted over the source of widely used libraries; left out are those that return no arrays
(`shape`, `result_type`, …) and collectives. A call is written once, for either library and for arrays and tracers.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench.programs.library import Library, normal

#: A call: the function and the arguments by name in, the result out.
Call = Callable[[Any, Any], Any]


def small(lib: Library) -> dict[str, Any]:
    """The arrays that `MOST_USED` calls functions on, by name."""
    host = {
        "x": np.linspace(0.1, 0.9, 16, dtype=np.float32),
        "y": np.ones(16, np.float32),
        "matrix": np.ones((16, 16), np.float32),
        "batch": np.ones((4, 1, 16), np.float32),
        "mask": np.arange(16) % 2 == 0,
        "indices": np.arange(8, dtype=np.int32),
        "one": np.int32(1),
        "true": np.bool_(True),
    }
    return lib.top.device_put(host) | {"key": lib.random.key(0)}


def _twice(x: Any) -> Any:
    return x * 2


def _same(x: Any) -> Any:
    return x


def _below_three(count: Any) -> Any:
    return count < 3


def _next(count: Any) -> Any:
    return count + 1


def _running_sum(carry: Any, x: Any) -> Any:
    return carry + x, carry


MOST_USED: dict[str, Call] = {
    "numpy.asarray": lambda f, a: f(a.x),
    "numpy.array": lambda f, a: f(a.x),
    "numpy.zeros": lambda f, a: f((16, 4)),
    "numpy.concatenate": lambda f, a: f([a.x, a.y]),
    "numpy.stack": lambda f, a: f([a.x, a.y]),
    "numpy.where": lambda f, a: f(a.mask, a.x, 0.0),
    "numpy.expand_dims": lambda f, a: f(a.x, 0),
    "numpy.ones": lambda f, a: f((16, 4)),
    "numpy.sqrt": lambda f, a: f(a.x),
    "numpy.arange": lambda f, a: f(16),
    "numpy.zeros_like": lambda f, a: f(a.x),
    "lax.stop_gradient": lambda f, a: f(a.x),
    "lax.while_loop": lambda f, a: f(_below_three, _next, a.one),
    "numpy.broadcast_to": lambda f, a: f(a.x, (4, 16)),
    "numpy.sum": lambda f, a: f(a.matrix, axis=-1),
    "numpy.maximum": lambda f, a: f(a.x, 0.5),
    "lax.cond": lambda f, a: f(a.true, _twice, _same, a.x),
    "lax.scan": lambda f, a: f(_running_sum, a.x, a.matrix),
    "numpy.isfinite": lambda f, a: f(a.x),
    "numpy.max": lambda f, a: f(a.matrix, axis=-1, keepdims=True),
    "random.split": lambda f, a: f(a.key),
    "numpy.reshape": lambda f, a: f(a.x, (4, 4)),
    "numpy.dot": lambda f, a: f(a.matrix, a.matrix),
    "random.normal": lambda f, a: f(a.key, (16,)),
    "numpy.logical_and": lambda f, a: f(a.mask, a.mask),
    "numpy.all": lambda f, a: f(a.mask),
    "lax.select": lambda f, a: f(a.mask, a.x, a.y),
    "numpy.squeeze": lambda f, a: f(a.batch, 1),
    "numpy.abs": lambda f, a: f(a.x),
    "numpy.mean": lambda f, a: f(a.matrix, axis=-1),
    "numpy.minimum": lambda f, a: f(a.x, a.y),
    "numpy.ones_like": lambda f, a: f(a.x),
    "numpy.eye": lambda f, a: f(16),
    "numpy.einsum": lambda f, a: f("ij,kj->ik", a.matrix, a.matrix),
    "numpy.any": lambda f, a: f(a.mask),
    "numpy.repeat": lambda f, a: f(a.x, 2),
    "numpy.split": lambda f, a: f(a.x, 4),
    "numpy.square": lambda f, a: f(a.x),
    "numpy.clip": lambda f, a: f(a.x, 0.2, 0.8),
    "numpy.matmul": lambda f, a: f(a.batch, a.matrix),
    "numpy.full": lambda f, a: f((16,), 2.0),
    "nn.relu": lambda f, a: f(a.x),
    "numpy.sign": lambda f, a: f(a.x),
    "random.PRNGKey": lambda f, a: f(7),
    "numpy.pad": lambda f, a: f(a.x, 2),
    "numpy.exp": lambda f, a: f(a.x),
    "random.uniform": lambda f, a: f(a.key, (16,)),
    "numpy.moveaxis": lambda f, a: f(a.batch, 0, -1),
    "numpy.diag": lambda f, a: f(a.matrix),
    "random.bernoulli": lambda f, a: f(a.key, 0.5, (16,)),
    "numpy.take": lambda f, a: f(a.x, a.indices, axis=0),
    "random.key": lambda f, a: f(7),
    "numpy.cos": lambda f, a: f(a.x),
    "numpy.transpose": lambda f, a: f(a.matrix),
    "numpy.isinf": lambda f, a: f(a.x),
    "lax.switch": lambda f, a: f(a.one, (_twice, _same), a.x),
    "numpy.log": lambda f, a: f(a.x),
    "numpy.power": lambda f, a: f(a.x, a.y),
    "numpy.isnan": lambda f, a: f(a.x),
    "nn.sigmoid": lambda f, a: f(a.x),
}


def large(lib: Library) -> dict[str, Any]:
    """The arrays that `HEAVY` calls functions on, by name."""
    rng = np.random.default_rng(0)
    square = normal(rng, 1.0, 256, 256)
    host = {
        "long": normal(rng, 1.0, 1_000_000),
        "unit": rng.uniform(-0.99, 0.99, 1_000_000).astype(np.float32),
        "list": normal(rng, 1.0, 200_000),
        "order": np.sort(normal(rng, 1.0, 100_000)),
        "wide": normal(rng, 1.0, 1024, 1024),
        "square": square,
        "definite": square @ square.T + 256 * np.eye(256, dtype=np.float32),
        "column": normal(rng, 1.0, 256, 8),
        "queries": normal(rng, 1.0, 4, 8, 256, 64),
        "keys": normal(rng, 1.0, 4, 8, 256, 64),
        "images": normal(rng, 1.0, 8, 32, 32, 32),
        "kernel": normal(rng, 0.1, 64, 32, 3, 3),
        "table": normal(rng, 1.0, 10_000, 64),
        "rows": rng.integers(0, 10_000, 20_000).astype(np.int32),
        "updates": normal(rng, 1.0, 20_000, 64),
        "counts": rng.integers(0, 1000, 200_000).astype(np.int32),
        "signal": (normal(rng, 1.0, 1 << 18) + 1j * normal(rng, 1.0, 1 << 18)).astype(np.complex64),
    }
    return lib.top.device_put(host) | {"key": lib.random.key(0)}


#: Each by a label, the function's name, and the call.
HEAVY: dict[str, tuple[str, Call]] = {
    "einsum": ("numpy.einsum", lambda f, a: f("bhqd,bhkd->bhqk", a.queries, a.keys)),
    "dot": ("numpy.dot", lambda f, a: f(a.wide, a.wide)),
    "dot, matrix and vectors": ("numpy.dot", lambda f, a: f(a.wide, a.wide[0])),
    "matmul, batched": ("numpy.matmul", lambda f, a: f(a.queries, a.keys.mT)),
    "conv": ("lax.conv", lambda f, a: f(a.images, a.kernel, (1, 1), "SAME")),
    "sort": ("numpy.sort", lambda f, a: f(a.list)),
    "argsort": ("numpy.argsort", lambda f, a: f(a.list)),
    "top_k": ("lax.top_k", lambda f, a: f(a.wide, 16)),
    "median": ("numpy.median", lambda f, a: f(a.wide, axis=0)),
    "unique, sized": ("numpy.unique", lambda f, a: f(a.counts, size=1000)),
    "searchsorted": ("numpy.searchsorted", lambda f, a: f(a.order, a.list)),
    "cumsum": ("numpy.cumsum", lambda f, a: f(a.long)),
    "cumsum, rows": ("numpy.cumsum", lambda f, a: f(a.wide, axis=1)),
    "cummax": ("lax.cummax", lambda f, a: f(a.long)),
    "sum": ("numpy.sum", lambda f, a: f(a.wide, axis=0)),
    "var": ("numpy.var", lambda f, a: f(a.wide, axis=1)),
    "argmax": ("numpy.argmax", lambda f, a: f(a.wide, axis=1)),
    "norm": ("numpy.linalg.norm", lambda f, a: f(a.wide, axis=1)),
    "gather": ("numpy.take", lambda f, a: f(a.table, a.rows, axis=0)),
    "scatter-add": ("numpy.asarray", lambda f, a: f(a.table).at[a.rows].add(a.updates)),
    "segment_sum": ("ops.segment_sum", lambda f, a: f(a.updates, a.rows, num_segments=10_000)),
    "bincount, sized": ("numpy.bincount", lambda f, a: f(a.counts, length=1000)),
    "nonzero, sized": ("numpy.nonzero", lambda f, a: f(a.list > 0, size=100_000)),
    "where": ("numpy.where", lambda f, a: f(a.long > 0, a.long, 0.0)),
    "transpose": ("numpy.transpose", lambda f, a: f(a.wide)),
    "svd": ("numpy.linalg.svd", lambda f, a: f(a.square)),
    "qr": ("numpy.linalg.qr", lambda f, a: f(a.square)),
    "cholesky": ("numpy.linalg.cholesky", lambda f, a: f(a.definite)),
    "eigh": ("numpy.linalg.eigh", lambda f, a: f(a.definite)),
    "solve": ("numpy.linalg.solve", lambda f, a: f(a.definite, a.column)),
    "inv": ("numpy.linalg.inv", lambda f, a: f(a.definite)),
    "fft": ("numpy.fft.fft", lambda f, a: f(a.signal)),
    "rfft2": ("numpy.fft.rfft2", lambda f, a: f(a.wide)),
    "exp": ("numpy.exp", lambda f, a: f(a.unit)),
    "erf_inv": ("lax.erf_inv", lambda f, a: f(a.unit)),
    "lgamma": ("lax.lgamma", lambda f, a: f(a.long)),
    "gelu": ("nn.gelu", lambda f, a: f(a.wide)),
    "softmax": ("nn.softmax", lambda f, a: f(a.wide)),
    "logsumexp": ("nn.logsumexp", lambda f, a: f(a.wide, axis=-1)),
    "normal": ("random.normal", lambda f, a: f(a.key, (1_000_000,))),
    "uniform": ("random.uniform", lambda f, a: f(a.key, (1_000_000,))),
    "permutation": ("random.permutation", lambda f, a: f(a.key, a.list)),
    "categorical": ("random.categorical", lambda f, a: f(a.key, a.wide)),
    "gamma": ("random.gamma", lambda f, a: f(a.key, 2.0, (10_000,))),
}


def named(lib: Library, name: str) -> Any:
    """The function of a library by its dotted name, `"numpy.sqrt"`."""
    part, *attributes = name.split(".")
    found = getattr(lib, part)
    for attribute in attributes:
        found = getattr(found, attribute)
    return found


def arguments(values: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(**values)
