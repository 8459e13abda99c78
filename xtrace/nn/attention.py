"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.nn.normalization import softmax
from xtrace.nn.operands import broadcast_to, filled
from xtrace.numpy.promotion import check_arraylike


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: Any = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(scale * query · key + bias) · value, for each head.

    B is the batch, T and S the lengths of the query and of key and value, N and K their numbers of heads, H the size of
    a head. K divides N: groups of query heads share a key head.

    Args:
      query: [B, T, N, H], or without B.
      key, value: [B, S, K, H], or without B.
      bias: added to the logits; broadcasts to [B, N, T, S].
      mask: booleans that broadcast to [B, N, T, S]: which keys a query sees.
      scale: of the logits; None: 1 / sqrt(H).
      is_causal: whether a query sees only keys at its own position and before.
      query_seq_lengths, key_value_seq_lengths: int32[B], where sequences end; what lies behind is ignored, and zero in
        the result.
      local_window_size: how many positions to the left and to the right a query sees: an int, or (left, right).
      implementation: None or "xla": the operations as they are. There is no cuDNN implementation here.
      return_residual: whether to return (output, log-sum-exp of the logits as [B, T, N], of the dtype of `query`).

    Returns:
      [B, T, N, H], or without B, in the dtype of `query`.

    Raises:
      ValueError: shapes or dtypes don't fit; the message names the argument.
      NotImplementedError: another implementation is asked for.

    Source: Vaswani et al., "Attention is all you need", 2017.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> q = np.ones((2, 5, 4, 8), np.float32)
      >>> xt.nn.dot_product_attention(q, q, q, is_causal=True).shape
      (2, 5, 4, 8)
    """
    check_arraylike("dot_product_attention", query, key, value)
    if implementation not in (None, "xla"):
        if implementation == "cudnn":
            raise NotImplementedError(
                "dot_product_attention: implementation='cudnn' isn't available; use 'xla' or None"
            )
        raise ValueError(f"Unsupported implementation option: {implementation}")
    window = local_window_size
    if isinstance(window, int):
        window = (window, window)
    _check_shapes(query, key, value, bias, mask, query_seq_lengths, key_value_seq_lengths)
    if scale is None:
        scale = 1.0 / math.sqrt(shaped(query).shape[-1])
    out, residual = _attention(
        query, key, value, bias, mask, query_seq_lengths, key_value_seq_lengths, scale,
        is_causal=bool(is_causal), window=None if window is None else tuple(window), residual=bool(return_residual),
    )  # fmt: skip
    return (out, residual) if return_residual else out


def _check_shapes(query: Any, key: Any, value: Any, bias: Any, mask: Any, q_lengths: Any, kv_lengths: Any) -> None:
    q, k, v = [shaped(x) for x in (query, key, value)]
    if q.ndim not in (3, 4):
        raise ValueError(f"query must have 3 or 4 dimensions, [B, T, N, H] or [T, N, H], got shape {q.shape}")
    if not q.dtype == k.dtype == v.dtype:
        raise ValueError(f"query, key and value must have one dtype, got {q.dtype}, {k.dtype} and {v.dtype}")
    if k.ndim != q.ndim or v.shape != k.shape:
        raise ValueError(
            f"key and value must have one shape, of the rank of query; got query {q.shape}, key {k.shape}, value "
            f"{v.shape}"
        )
    batch = q.shape[:-3]
    if k.shape[:-3] != batch or k.shape[-1] != q.shape[-1]:
        raise ValueError(f"key must have the batch and head size of query, got key {k.shape} for query {q.shape}")
    if k.shape[-2] == 0 or q.shape[-2] % k.shape[-2]:
        raise ValueError(
            f"The number of query heads must be a multiple of key/value heads, but got {q.shape[-2]} vs {k.shape[-2]}"
        )
    full = (batch[0] if batch else 1, q.shape[-2], q.shape[-3], k.shape[-3])
    for name, x in (("bias", bias), ("mask", mask)):
        if x is not None:
            shape = shaped(x).shape
            shape = (1,) * (4 - len(shape)) + shape
            if len(shape) != 4 or any(a not in (1, b) for a, b in zip(shape, full, strict=True)):
                raise ValueError(f"{name} of shape {shaped(x).shape} doesn't broadcast to [B, N, T, S] = {full}")
    if mask is not None and shaped(mask).dtype != dtypes.bool_:
        raise ValueError(f"Mask must be boolean dtype, but got {shaped(mask).dtype}.")
    for name, x in (("query_seq_lengths", q_lengths), ("key_value_seq_lengths", kv_lengths)):
        if x is not None and (shaped(x).shape != full[:1] or shaped(x).dtype != dtypes.int32):
            raise ValueError(f"{name} must be int32[{full[0]}], got {shaped(x).str_short()}")


@composite(static_argnames=("is_causal", "window", "residual"))
def _attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    mask: Any,
    q_lengths: Any,
    kv_lengths: Any,
    scale: Any,
    *,
    is_causal: bool,
    window: Any,
    residual: bool,
) -> Any:
    out_shape, dtype = shaped(query).shape, shaped(query).dtype
    if len(out_shape) == 3:
        query, key, value = [shapes.expand_dims(x, (0,)) for x in (query, key, value)]
    b, t, n, h = shaped(query).shape
    s, k = shaped(key).shape[1:3]
    groups = n // k
    logits_dtype = dtypes.float32 if dtype in (dtypes.bfloat16, dtypes.float16) else dtype
    # [B, K, T, G, S]
    logits = lax.dot_general(
        shapes.reshape(query, (b, t, k, groups, h)), key, (((4,), (3,)), ((0, 2), (0, 2))),
        preferred_element_type=logits_dtype,
    )  # fmt: skip
    logits = el.mul_p.bind(logits, _scalar(scale, logits_dtype))
    logits = shapes.transpose(logits, (0, 1, 3, 2, 4))  # [B, K, G, T, S]
    full = (b, k, groups, t, s)
    if bias is not None:
        bias = shapes.convert_element_type(_by_group(bias, full), logits_dtype)
        logits = el.add_p.bind(logits, bias)
    seen = _visible(full, mask, is_causal, window, q_lengths, kv_lengths)
    if seen is not None:
        unseen = filled(logits, -0.7 * float(dtypes.finfo(logits_dtype).max))
        logits = lax.select_n(broadcast_to(seen, full), unseen, logits)
    weights = shapes.convert_element_type(softmax(logits, axis=-1), dtype)
    # [B, K, H, G, T]
    out = lax.dot_general(value, weights, (((1,), (4,)), ((0, 2), (0, 1))), preferred_element_type=dtype)
    out = shapes.reshape(shapes.transpose(out, (0, 4, 1, 3, 2)), (b, t, n, h))
    if q_lengths is not None:
        kept = shapes.convert_element_type(_before(q_lengths, t), dtype)
        out = el.mul_p.bind(out, shapes.expand_dims(kept, (2, 3)))
    out = shapes.reshape(out, out_shape)
    if not residual:
        return out, None
    from xtrace.nn.normalization import logsumexp

    sums = shapes.transpose(logsumexp(logits, axis=-1), (0, 3, 1, 2))
    return out, shapes.convert_element_type(shapes.reshape(sums, out_shape[:-1]), dtype)


def _scalar(x: Any, dtype: Any) -> Any:
    if isinstance(x, (int, float)):
        return np.asarray(x).astype(dtype)[()]
    return shapes.convert_element_type(x, dtype)


def _by_group(x: Any, full: tuple[int, ...]) -> Any:
    """What broadcasts to [B, N, T, S] as what broadcasts to [B, K, G, T, S]."""
    shape = shaped(x).shape
    shape = (1,) * (4 - len(shape)) + shape
    b, n, t, s = shape
    return shapes.reshape(x, (b, 1, 1, t, s) if n == 1 else (b, full[1], full[2], t, s))


def _before(lengths: Any, size: int) -> Any:
    """[B, size]: which positions lie before the end of their sequence."""
    count = shaped(lengths).shape[0]
    positions = lax.broadcasted_iota(dtypes.int32, (1, size), 1)
    ends = shapes.broadcast_in_dim(lengths, (count, 1), (0,))
    return el.lt_p.bind(positions, ends)


def _visible(full: tuple[int, ...], mask: Any, causal: bool, window: Any, q_lengths: Any, kv_lengths: Any) -> Any:
    """Which keys a query sees, or None for all of them: broadcasts to [B, K, G, T, S]."""
    t, s = full[3:]
    parts = []
    if mask is not None:
        parts.append(_by_group(mask, full))
    if causal or window is not None:
        queries = lax.broadcasted_iota(dtypes.int32, (1, 1, 1, t, 1), 3)
        keys = lax.broadcasted_iota(dtypes.int32, (1, 1, 1, 1, s), 4)
        if causal:
            parts.append(el.ge_p.bind(queries, keys))
        if window is not None:
            left, right = statics.integers(window, "local_window_size")
            parts.append(el.le_p.bind(queries, el.add_p.bind(keys, np.int32(left))))
            parts.append(el.ge_p.bind(queries, el.sub_p.bind(keys, np.int32(right))))
    if q_lengths is not None:
        parts.append(shapes.expand_dims(_before(q_lengths, t), (1, 2, 4)))
    if kv_lengths is not None:
        parts.append(shapes.expand_dims(_before(kv_lengths, s), (1, 2, 3)))
    seen = None
    for part in parts:
        seen = part if seen is None else el.and_p.bind(seen, part)
    return seen
