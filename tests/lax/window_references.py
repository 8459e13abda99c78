"""Convolutions and reductions over windows by the definition: loops over windows, in NumPy."""

from __future__ import annotations

import itertools

import numpy as np


def padded(x, fill, padding, dilation):
    """`x` with its elements `dilation` apart and (low, high) padding; negative padding cuts off."""
    out = np.full([(d - 1) * s + 1 if d else 0 for d, s in zip(x.shape, dilation)], fill, x.dtype)
    if x.size:
        out[tuple(slice(None, None, s) for s in dilation)] = x
    out = np.pad(out, [(max(lo, 0), max(hi, 0)) for lo, hi in padding], constant_values=fill)
    return out[tuple(slice(max(-lo, 0), d - max(-hi, 0)) for d, (lo, hi) in zip(out.shape, padding))]


def same(sizes, windows, strides):
    """SAME padding."""
    totals = [max((-(-d // s) - 1) * s + w - d, 0) for d, w, s in zip(sizes, windows, strides)]
    return [(t // 2, t - t // 2) for t in totals]


def positions(sizes, windows, strides, dilation):
    """The number of windows along each dimension; and for each one its index and its slices."""
    extents = [(w - 1) * d + 1 for w, d in zip(windows, dilation)]
    counts = [(d - e) // s + 1 if d >= e else 0 for d, e, s in zip(sizes, extents, strides)]

    def slices():
        for index in itertools.product(*map(range, counts)):
            yield index, tuple(slice(i * s, i * s + e, d) for i, s, e, d in zip(index, strides, extents, dilation))

    return counts, slices()


def convolution(x, w, strides, padding, lhs_dilation=None, rhs_dilation=None, groups=1, batch_groups=1):
    """Convolution of (batch, feature, spatial...) with (output feature, input feature, spatial...)."""
    n = x.ndim - 2
    lhs_dilation, rhs_dilation = lhs_dilation or (1,) * n, rhs_dilation or (1,) * n
    if isinstance(padding, str):
        extents = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], rhs_dilation)]
        padding = same(x.shape[2:], extents, strides) if padding == "SAME" else [(0, 0)] * n
    x = padded(x, 0, [(0, 0), (0, 0), *padding], (1, 1, *lhs_dilation))
    batch, (out_features, in_features) = x.shape[0] // batch_groups, w.shape[:2]
    counts, windows = positions(x.shape[2:], w.shape[2:], strides, rhs_dilation)
    out = np.zeros((batch, out_features, *counts), np.result_type(x, w))
    for index, window in windows:
        for o in range(out_features):
            g = o * max(groups, batch_groups) // out_features
            part = x[g * batch :][:batch] if batch_groups > 1 else x[:, g * in_features :][:, :in_features]
            out[(slice(None), o, *index)] = (part[(..., *window)] * w[o]).sum(tuple(range(1, x.ndim)))
    return out


def reduction(x, init, combine, windows, strides, padding, base_dilation=None, window_dilation=None):
    """Windows over `x` reduced by the NumPy ufunc `combine`."""
    ones = (1,) * x.ndim
    if isinstance(padding, str):
        padding = same(x.shape, windows, strides) if padding == "SAME" else [(0, 0)] * x.ndim
    x = padded(x, init, padding, base_dilation or ones)
    counts, each = positions(x.shape, windows, strides, window_dilation or ones)
    out = np.zeros(counts, x.dtype)
    for index, window in each:
        out[index] = combine.reduce(x[window], axis=None, initial=init)
    return out
