"""Catalogue entries of the functions that neural networks are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.catalogue.catalogue import BF16, Bad, Draw, Op, Sample, between_integers, unary

_FLOATING = (np.dtype("float32"), np.dtype("float64"), BF16)
_SHAPES = ((), (2, 3), (0,))
#: Clear of the whole numbers, where several activations have corners.
_SMOOTH = between_integers(-5, 5)
_TEXT = [Bad(TypeError, "", "text")]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _gelu(x: np.ndarray, approximate: bool = True) -> np.ndarray:
    if approximate:
        return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2
    import scipy.special

    return x * scipy.special.ndtr(x)


def _elu(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(x))


def _celu(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


def _activation(
    name: str, reference: Callable[..., Any], *calls: dict[str, Any], integers: bool = True, **options: Any
) -> Op:
    dtypes = (*_FLOATING, np.dtype("int32")) if integers else _FLOATING

    def samples(draw: Draw) -> Any:
        for params in calls or ({},):
            yield from unary(dtypes, _SMOOTH, 0, _SHAPES, **params)(draw)

    return Op(f"nn.{name}", samples, reference, bad=_TEXT, **options)


ACTIVATIONS = [
    _activation("relu", lambda x: np.maximum(x, 0)),
    _activation("relu6", lambda x: np.clip(x, 0, 6)),
    _activation("leaky_relu", lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x), {},
                {"negative_slope": 0.5}),
    _activation("elu", _elu, {}, {"alpha": 0.5}),
    _activation("celu", _celu, {}, {"alpha": 0.5}),
    _activation("selu", lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772)),
    _activation("gelu", _gelu, {}, {"approximate": False}, tolerance=4),
    _activation("sigmoid", _sigmoid, integers=False),
    _activation("log_sigmoid", lambda x: -np.logaddexp(0, -x)),
    _activation("softplus", lambda x: np.logaddexp(0, x)),
    _activation("soft_sign", lambda x: x / (1 + np.abs(x))),
    _activation("silu", lambda x: x * _sigmoid(x), aliases=("nn.swish",), integers=False),
    _activation("mish", lambda x: x * np.tanh(np.logaddexp(0, x)), tolerance=2),
    _activation("tanh", lambda x: np.tanh(x)),
    _activation("hard_tanh", lambda x: np.clip(x, -1, 1)),
    _activation("hard_sigmoid", lambda x: np.clip(x + 3.0, 0, 6) / 6),
    _activation("hard_silu", lambda x: x * np.clip(x + 3.0, 0, 6) / 6, aliases=("nn.hard_swish",)),
    _activation("squareplus", lambda x, b=4: (x + np.sqrt(x * x + b)) / 2, {}, {"b": 2}, tolerance=8),
    _activation("sparse_plus", lambda x: np.where(x >= 1, x, np.where(x <= -1, 0, (x + 1.0) ** 2 / 4))),
    _activation("sparse_sigmoid", lambda x: np.clip((x + 1.0) / 2, 0, 1)),
    _activation("identity", lambda x: x),
]  # fmt: skip


def _glu(x: np.ndarray, axis: int = -1) -> np.ndarray:
    a, b = np.split(x, 2, axis)
    return a * _sigmoid(b)


def _on(*calls: tuple[tuple[int, ...], dict[str, Any]]) -> Callable[[Draw], Any]:
    """Samples of one floating array of each shape with its parameters."""

    def samples(draw: Draw) -> Any:
        for dtype in _FLOATING:
            for shape, params in calls:
                yield Sample(draw.array(shape, dtype), **params)

    return samples


_MASK = np.array([[True, False, True], [False, True, True]])


def _with_mask(*calls: tuple[tuple[int, ...], dict[str, Any]]) -> Callable[[Draw], Any]:
    """The same, and with a mask."""

    def samples(draw: Draw) -> Any:
        yield from _on(*calls)(draw)
        for dtype in _FLOATING:
            yield Sample(draw.array((2, 3), dtype), where=_MASK, axis=-1)

    return samples


def _logsumexp(x: np.ndarray, axis: Any = None, keepdims: bool = False, where: Any = None) -> np.ndarray:
    raised = np.exp(x) if where is None else np.where(where, np.exp(x), 0)
    return np.log(np.sum(raised, axis=axis, keepdims=keepdims))


def _softmax(x: np.ndarray, axis: Any = -1, where: Any = None) -> np.ndarray:
    raised = np.exp(x) if where is None else np.where(where, np.exp(x), 0)
    return raised / np.sum(raised, axis=axis, keepdims=True)


def _log_softmax(x: np.ndarray, axis: Any = -1, where: Any = None) -> np.ndarray:
    out = x - _logsumexp(x, axis, True, where)
    return out if where is None else np.where(where, out, -np.inf)


def _logmeanexp(x: np.ndarray, axis: Any = None, keepdims: bool = False, where: Any = None) -> np.ndarray:
    count = np.sum(np.ones(x.shape) if where is None else where, axis=axis, keepdims=keepdims)
    return _logsumexp(x, axis, keepdims, where) - np.log(count)


def _standardize(
    x: np.ndarray, axis: Any = -1, epsilon: float = 1e-5, where: Any = None, algorithm: str = "fast"
) -> np.ndarray:
    masked = np.ma.array(x, mask=np.zeros(x.shape, bool) if where is None else ~where)
    mean, variance = masked.mean(axis=axis, keepdims=True), masked.var(axis=axis, keepdims=True)
    return (x - np.asarray(mean)) / np.sqrt(np.asarray(variance) + epsilon)


def _weighted_samples(draw: Draw) -> Any:
    yield from _with_mask(((2, 3), {}), ((2, 3), {"axis": 1}), ((2, 3), {"axis": (0, 1), "keepdims": True}))(draw)
    yield from _on(((), {}), ((4,), {"axis": 0}))(draw)


def _log1mexp_samples(draw: Draw) -> Any:
    yield from unary(_FLOATING, 0.1, 3, _SHAPES)(draw)


NORMALISATION = [
    Op("nn.glu", _on(((4,), {}), ((2, 4), {"axis": 0}), ((2, 0), {})), _glu, bad=[
        Bad(ValueError, "", np.ones(3, np.float32)),
    ]),
    Op("nn.softmax", _with_mask(((3,), {}), ((2, 3), {}), ((2, 3), {"axis": 0}), ((2, 3), {"axis": (0, 1)})), _softmax,
       tolerance=2, bad=_TEXT),
    Op("nn.log_softmax", _with_mask(((3,), {}), ((2, 3), {}), ((2, 3), {"axis": 0})), _log_softmax, tolerance=2,
       bad=_TEXT, skip={"derivative": "-inf behind a mask has no differences", "second": "as the first"}),
    Op("nn.logsumexp", _weighted_samples, _logsumexp, bad=_TEXT),
    Op("nn.logmeanexp", _weighted_samples, _logmeanexp, tolerance=2, bad=_TEXT),
    Op("nn.log1mexp", _log1mexp_samples, lambda x: np.log(-np.expm1(-x)), bad=_TEXT),
    Op("nn.standardize", _with_mask(((3,), {}), ((2, 3), {}), ((2, 3), {"axis": 0}), ((2, 3), {"axis": (0, 1)})),
       _standardize, tolerance=8, bad=_TEXT),
]  # fmt: skip


def _one_hot_samples(draw: Draw) -> Any:
    for dtype in ("int32", "uint8"):
        for shape in _SHAPES:
            yield Sample(draw.array(shape, dtype, 0, 5), num_classes=4)
            yield Sample(draw.array(shape, dtype, 0, 3), num_classes=4, dtype="int32", axis=0)


def _one_hot(x: np.ndarray, num_classes: int, dtype: str = "float32", axis: int = -1) -> np.ndarray:
    return np.moveaxis((x[..., None] == np.arange(num_classes)).astype(dtype), -1, axis)


def _attention_samples(draw: Draw) -> Any:
    for dtype in _FLOATING:
        for heads, params in ((2, {}), (1, {"is_causal": True}), (2, {"scale": 0.5, "local_window_size": (1, 1)})):
            query = draw.array((1, 3, 2, 4), dtype, -1, 1)
            yield Sample(query, *[draw.array((1, 3, heads, 4), dtype, -1, 1) for _ in range(2)], **params)


def _attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    is_causal: bool = False,
    scale: float | None = None,
    local_window_size: tuple[int, int] | None = None,
) -> np.ndarray:
    key, value = [np.repeat(x, query.shape[2] // x.shape[2], 2) for x in (key, value)]
    scores = np.einsum("btnh,bsnh->bnts", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    t, s = np.indices(scores.shape[-2:])
    seen = t >= s if is_causal else np.ones(t.shape, bool)
    if local_window_size is not None:
        seen &= (s >= t - local_window_size[0]) & (s <= t + local_window_size[1])
    return np.einsum("bnts,bsnh->btnh", _softmax(scores, where=seen), value)


LAYERS = [
    Op("nn.one_hot", _one_hot_samples, _one_hot),
    Op("nn.dot_product_attention", _attention_samples, _attention, tolerance=4, bad=[
        Bad(ValueError, "", np.ones((1, 2, 1, 4), np.float32), np.ones((1, 2, 1, 3), np.float32),
            np.ones((1, 2, 1, 3), np.float32)),
    ]),
]  # fmt: skip

OPS = [*ACTIVATIONS, *NORMALISATION, *LAYERS]
