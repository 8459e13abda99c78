"""Every parameter of every numpy function is given a value of its own at least once, and the result is NumPy's.

A call is text, evaluated with NumPy as `np` and then with xtrace.numpy as `np`, outside of jit. Where NumPy has no
such parameter, what it should give stands beside the call.
"""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from tests import parameters

jnp = xt.numpy
pytestmark = pytest.mark.filterwarnings("ignore")

_draw = np.random.default_rng(0)
VALUES = {
    "x": _draw.standard_normal((2, 3, 4)),
    "n": np.where(_draw.random((2, 3, 4)) < 0.3, np.nan, _draw.standard_normal((2, 3, 4))),
    "m": _draw.random((2, 3, 4)) < 0.6,
    "i": _draw.integers(-5, 6, (3, 4)),
    "j": _draw.integers(-5, 6, (3, 4)),
    "v": _draw.standard_normal(6),
    "w": np.arange(1.0, 7.0),
    "s": np.array([3, 1, 2, 1, 3, 3]),
    "t": np.array([2, 5, 3, 9]),
    "a": _draw.standard_normal((3, 3)),
    "b": _draw.standard_normal((3, 3)),
    "u": np.array([0, 1, 0, 3, 0, 5]),
    "bits": _draw.integers(0, 256, (2, 3), dtype=np.uint8),
}

#: Calls; NumPy's beside those that it spells otherwise.
CALLS: list[str | tuple[str, str]] = [
    *[
        f"np.{name}({operand}, axis=(0, -1), keepdims=True, where=m{rest})"
        for name, operand, rest in [
            *[(name, "x", "") for name in "mean std var".split()],
            *[(name, "x > 0", "") for name in "all any".split()],
            *[(name, "x", ", initial=2.0") for name in "sum prod max min amax amin".split()],
            *[(name, "n", ", initial=2.0") for name in "nansum nanprod nanmax nanmin".split()],
            *[(name, "n", "") for name in "nanmean nanstd nanvar".split()],
        ]
    ],
    *[f"np.{name}(i, axis=-1, dtype='float32')"
      for name in "sum prod mean nansum nanprod nanmean cumsum cumprod".split()],
    *[f"np.{name}(i, axis=0, dtype='float32')" for name in "nancumsum nancumprod std var nanstd nanvar".split()],
    *[f"np.{name}(n, axis=1, ddof=1, mean=np.nanmean(n, axis=1, keepdims=True))" for name in ("nanstd", "nanvar")],
    *[f"np.{name}(x, axis=1, ddof=1, mean=np.mean(x, axis=1, keepdims=True))" for name in ("std", "var")],
    *[f"np.{name}(x, axis=1, correction=1)" for name in ("std", "var")],
    *[
        (f"np.{name}(np.int8([100, 100]), promote_integers=False)", f"np.{name}(np.int8([100, 100]), dtype=np.int8)")
        for name in ("sum", "prod")
    ],
    ("np.minmax(x, axis=(0, 2), keepdims=True, initial=0.0, where=m)",
     "(np.min(x, (0, 2), None, True, 0.0, m), np.max(x, (0, 2), None, True, 0.0, m))"),
    *[f"np.{name}(x, axis=-2, keepdims=True)" for name in "argmax argmin median ptp nanargmax nanargmin".split()],
    "np.nanmedian(n, axis=(0, 1), keepdims=True)",
    "np.median(x, axis=0, overwrite_input=True)",
    "np.nanmedian(n, axis=0, overwrite_input=True)",
    "np.count_nonzero(m, axis=(0, 2), keepdims=True)",
    "np.average(x, axis=1, weights=np.abs(x), returned=True, keepdims=True)",
    *[
        f"np.{name}({operand}, {q}, axis=(0, 2), method='{method}', keepdims=True)"
        for name, operand, q in [
            ("quantile", "x", 0.33), ("percentile", "x", 33), ("nanquantile", "n", 0.33), ("nanpercentile", "n", 33)
        ]
        for method in "linear lower higher nearest midpoint inverted_cdf".split()
    ],
    *[
        f"np.{name}({operand}, {q}, axis=0, method='inverted_cdf', weights=np.abs(x), overwrite_input=True)"
        for name, operand, q in [
            ("quantile", "x", 0.33), ("percentile", "x", 33), ("nanquantile", "n", 0.33), ("nanpercentile", "n", 33)
        ]
    ],
    *[
        f"np.cumulative_{name}(i, axis=1, dtype='float32', include_initial=True)" for name in ("sum", "prod")
    ],
    "np.allclose(v, v + 0.01, rtol=0.0, atol=0.1)",
    "np.allclose(v, v * 1.01, rtol=0.1)",
    "np.allclose(n, n, equal_nan=True)",
    "np.isclose(n, n + 0.01, rtol=0.01, atol=0.005, equal_nan=True)",
    "np.array_equal(n, n, equal_nan=True)",
    "np.angle(x + 1j, deg=True)",
    "np.append(i, j, axis=1)",
    "np.arange(2, stop=9, step=3, dtype='float32')",
    "np.argpartition(v, 2, axis=0)[:2].sum()",
    "np.partition(x, 2, axis=1)[:, 2]",
    "np.argsort(s, axis=0, kind=None, stable=True)",
    "np.argsort(s, order=None, stable=True)",
    ("np.argsort(s, descending=True)", "np.array([0, 4, 5, 2, 1, 3])"),
    ("np.argsort(s, dtype='int32')", "np.argsort(s, stable=True)"),
    "np.sort(x, axis=0, kind=None, stable=True)",
    "np.sort(x, axis=None)",
    "np.sort(v, order=None, stable=True)",
    ("np.sort(x, axis=1, descending=True)", "-np.sort(-x, axis=1)"),
    *[
        (f"np.{name}(u, size=5, fill_value=7)", expected)
        for name, expected in [
            ("argwhere", "np.array([[1], [3], [5], [7], [7]])"),
            ("flatnonzero", "np.array([1, 3, 5, 7, 7])"),
            ("nonzero", "(np.array([1, 3, 5, 7, 7]),)"),
            ("where", "(np.array([1, 3, 5, 7, 7]),)"),
        ]
    ],
    ("np.nonzero(u, size=2)", "(np.array([1, 3]),)"),
    "np.where(m, x, 2.0)",
    *[f"np.{name}(x * 100, decimals=-1)" for name in ("around", "round")],
    "np.array(i, dtype='float32', copy=True, order='C', ndmin=4)",
    "np.asarray(i, dtype='float32', order='C', copy=True)",
    "np.astype(v, 'int32', copy=True)",
    "np.array_repr(np.array([1.0, 1e-9]), max_line_width=20, precision=3, suppress_small=True) is not None",
    "np.array_str(np.array([1.0, 1e-9]), max_line_width=9, precision=3, suppress_small=True)",
    "np.array_split(v, 4, axis=0)",
    "np.split(x, [1, 3], axis=-1)",
    "np.bincount(s, weights=w, minlength=6)",
    ("np.bincount(s, length=3)", "np.bincount(s)[:3]"),
    "np.broadcast_to(v, (2, 6))",
    "np.can_cast('int32', 'int8', casting='same_kind')",
    "np.choose(s, [v, w, v * w, -v], mode='clip')",
    "np.choose(s + 2, [v, w, v * w, -v], mode='wrap')",
    "np.clip(v, min=-0.5, max=0.5)",
    "np.compress(np.array([True, False, True]), x, axis=1)",
    ("np.compress(u > 0, v, size=4, fill_value=9)", "np.append(v[u > 0], 9)"),
    ("np.extract(u > 0, v, size=4, fill_value=9)", "np.append(v[u > 0], 9)"),
    "np.concat([x, x], axis=-1)",
    "np.concatenate([i, j], axis=1, dtype='float32')",
    *[f"np.{name}([i, j], dtype='float32')" for name in "hstack vstack stack".split()],
    "np.stack([i, j], axis=-1)",
    ("np.dstack([i, j], dtype='float32')", "np.dstack([i, j]).astype(np.float32)"),
    *[f"np.{name}(v, w[:3], mode='{mode}')"
      for name in ("convolve", "correlate") for mode in ("same", "valid", "full")],
    "np.copy(i, order='C')",
    "np.corrcoef(a, y=b, rowvar=False, dtype='float32')",
    "np.cov(a, y=b, rowvar=False, bias=True, dtype='float32')",
    "np.cov(i, ddof=0, fweights=np.abs(s[:4]), aweights=w[:4])",
    "np.cross(a, b, axisa=0, axisb=1, axisc=0)",
    "np.cross(a, b, axis=0)",
    "np.delete(x, 1, axis=2)",
    ("np.delete(v, np.array([1, 3]), assume_unique_indices=True)", "np.delete(v, [1, 3])"),
    "np.diag(a, k=1)",
    "np.diagflat(v, k=-1)",
    "np.diag_indices(2, ndim=3)",
    "np.diagonal(x, offset=1, axis1=2, axis2=0)",
    "np.trace(x, offset=1, axis1=2, axis2=0, dtype='float32')",
    "np.diff(x, n=2, axis=1, prepend=0.0, append=1.0)",
    *[(f"np.digitize(v, np.sort(w), right=True, method='{method}')", "np.digitize(v, np.sort(w), right=True)")
      for method in "scan scan_unrolled sort compare_all".split()],
    *[(f"np.searchsorted(w, v, side='right', method='{method}')", "np.searchsorted(w, v, side='right')")
      for method in "scan scan_unrolled sort compare_all".split()],
    "np.searchsorted(s, v, sorter=np.argsort(s))",
    "np.ediff1d(v, to_end=np.array([1.0]), to_begin=np.array([2.0, 3.0]))",
    "np.einsum('ij,jk->ik', a, b, optimize='greedy')",
    "np.empty((2, 3), dtype='int32').shape",
    "np.empty_like(v, dtype='int32', shape=(2,)).shape",
    "np.eye(2, M=4, k=1, dtype='int32')",
    ("np.fill_diagonal(a, 5.0, wrap=True, inplace=False)", "np.where(np.eye(3) > 0, 5.0, a)"),
    "np.flip(x, axis=(0, -1))",
    "np.frombuffer(b'\\x00\\x01\\x02\\x03\\x04\\x05', dtype='uint8', count=2, offset=1)",
    "np.fromstring('1,2,3', dtype='int32', count=2, sep=',')",
    "np.fromfunction(lambda p, q, c: p + q * c, (2, 3), dtype='float32', c=2)",
    "np.frompyfunc(lambda p, q: p + q, 2, 1, identity=0)(1, 2)",
    "np.full((2, 3), 4, dtype='float32')",
    "np.full_like(v, 4, dtype='int32', shape=(2,))",
    "np.geomspace(1.0, 8.0, num=3, endpoint=False, dtype='float32')",
    "np.geomspace(w[:2], 8.0, num=3, axis=-1)",
    "np.logspace(1.0, 3.0, num=4, endpoint=False, base=2.0, dtype='float32')",
    "np.logspace(w[:2], 3.0, num=4, axis=1)",
    "np.linspace(0, 6, num=3, endpoint=False, retstep=True, dtype='int32')",
    "np.linspace(w[:2], 8.0, num=3, axis=-1)",
    "np.gradient(x, 2.0, axis=1)",
    "np.histogram(v, bins=4, range=(-1.0, 1.0), weights=w, density=True)",
    "np.histogram2d(v, w, bins=3, range=((-1.0, 1.0), (0.0, 5.0)), weights=w, density=True)",
    "np.histogramdd(a, bins=3, range=((-1.0, 1.0),) * 3, weights=w[:3], density=True)",
    "np.histogram_bin_edges(v, bins=4, range=(-1.0, 1.0), weights=w)",
    "np.identity(3, dtype='int32')",
    "np.indices((2, 3), dtype='float32')",
    "np.indices((2, 3), sparse=True)",
    "np.insert(x, 1, 5.0, axis=1)",
    "np.interp(np.array([-1.0, 2.5, 9.0]), w, v, left=-7.0, right=7.0)",
    "np.interp(np.array([-1.0, 2.5, 9.0]), w, v, period=6.0)",
    "np.intersect1d(t, np.array([3, 2, 8]), assume_unique=True, return_indices=True)",
    ("np.intersect1d(t, s, size=4, fill_value=0)", "np.array([2, 3, 0, 0])"),
    *[(f"np.isin(s, t, assume_unique=False, invert=True, method='{method}')", "np.isin(s, t, invert=True)")
      for method in "auto sort compare_all binary_search".split()],
    "np.lexsort((v, s), axis=-1)",
    ("np.lexsort((v, s), batch_size=1)", "np.lexsort((v, s))"),
    "np.mask_indices(3, np.triu, k=1)",
    ("np.mask_indices(3, np.triu, k=1, size=2)", "tuple(r[:2] for r in np.mask_indices(3, np.triu, k=1))"),
    "np.meshgrid(v, w[:2], copy=True, sparse=True, indexing='ij')",
    "np.nan_to_num(n / 0, copy=True, nan=1.0, posinf=2.0, neginf=3.0)",
    "np.ones((2,), dtype='int32')",
    "np.zeros((2,), dtype='int32')",
    "np.ones_like(v, dtype='int32', shape=(2, 2))",
    "np.zeros_like(v, dtype='int32', shape=(2, 2))",
    "np.packbits(m, axis=0, bitorder='little')",
    "np.unpackbits(bits, axis=1, count=11, bitorder='little')",
    "np.pad(x, ((1, 0), (0, 2), (1, 1)), mode='constant', constant_values=3.0)",
    *[f"np.pad(v, (2, 9), mode='{mode}')" for mode in "edge reflect symmetric wrap linear_ramp mean maximum".split()],
    "np.pad(v, 2, mode='reflect', reflect_type='odd')",
    "np.pad(v, 2, mode='mean', stat_length=3)",
    "np.pad(v, 2, mode='linear_ramp', end_values=4.0)",
    "np.polyder(v, m=2)",
    "np.polyint(v, m=2, k=np.array([1.0, 2.0]))",
    ("np.polydiv(v, w[:3], trim_leading_zeros=True)", "np.polydiv(v, w[:3])"),
    ("np.polymul(v, w, trim_leading_zeros=True)", "np.polymul(v, w)"),
    ("np.polyval(v, w, unroll=4)", "np.polyval(v, w)"),
    "np.polyfit(w, v, 2, rcond=1e-8, w=w, cov=True)",
    "np.polyfit(w, v, 2, full=True)[:2]",
    ("np.roots(np.array([1.0, -3.0, 2.0]), strip_zeros=False)", "np.array([2.0, 1.0]) + 0j"),
    ("np.place(v, v > 0, w, inplace=False)", "(lambda c: (np.place(c, v > 0, w), c)[1])(v.copy())"),
    *[(f"np.put(v, np.array([1, 8]), w, mode='{mode}', inplace=False)",
       f"(lambda c: (np.put(c, [1, 8], w, mode='{mode}'), c)[1])(v.copy())") for mode in ("clip", "wrap")],
    ("np.put_along_axis(a, s[:3][None] - 1, 9.0, 0, inplace=False, mode='clip')",
     "(lambda c: (np.put_along_axis(c, s[:3][None] - 1, 9.0, 0), c)[1])(a.copy())"),
    "np.ravel(x, order='F')",
    "np.reshape(x, (4, 6), order='F', copy=True)",
    *[f"np.ravel_multi_index((s, u), (3, 4), mode='{mode}', order='F')" for mode in ("clip", "wrap")],
    ("np.ravel_multi_index((s, u), (4, 6), dtype='int32')", "np.ravel_multi_index((s, u), (4, 6))"),
    "np.repeat(x, 2, axis=1)",
    ("np.repeat(v, s, axis=0, total_repeat_length=15)", "np.append(np.repeat(v, s), [v[-1]] * 2)"),
    "np.roll(x, (1, -2), axis=(0, 2))",
    "np.rollaxis(x, 2, start=1)",
    "np.rot90(x, k=3, axes=(2, 0))",
    "np.select([v > 0.5, v < -0.5], [v, w], default=7.0)",
    "np.setdiff1d(t, np.array([3, 2, 8]), assume_unique=True)",
    "np.setxor1d(t, np.array([3, 2, 8]), assume_unique=True)",
    ("np.setdiff1d(t, s, size=4, fill_value=0)", "np.array([5, 9, 0, 0])"),
    ("np.setxor1d(t, s, size=4, fill_value=0)", "np.array([1, 5, 9, 0])"),
    ("np.union1d(t, s, size=7, fill_value=0)", "np.array([1, 2, 3, 5, 9, 0, 0])"),
    "np.size(x, axis=1)",
    "np.squeeze(x[:, :1], axis=-2)",
    "np.take(x, np.array([2, 0, -1]), axis=1)",
    *[f"np.take(v, np.array([8, -9]), mode='{mode}')" for mode in ("clip", "wrap")],
    ("np.take(v, np.array([1, 9]), mode='fill', fill_value=4.0)", "np.array([v[1], 4.0])"),
    ("np.take(v, np.array([1, 3]), unique_indices=True, indices_are_sorted=True)", "v[[1, 3]]"),
    "np.take_along_axis(x, np.argsort(x, axis=1), axis=1)",
    ("np.take_along_axis(v, np.array([1, 9]), axis=0, mode='fill', fill_value=4.0)", "np.array([v[1], 4.0])"),
    ("np.take_along_axis(v, np.array([1, -2]), axis=0, mode='clip', wrap_negative_indices=False)", "v[[1, 0]]"),
    "np.tensordot(x, x, axes=((0, 2), (0, 2)))",
    ("np.top_k(x, 2, axis=1, mode='smallest', sorted=True)[0]", "np.sort(x, axis=1)[:, :2]"),
    "np.transpose(x, axes=(2, 0, -2))",
    "np.trapezoid(x, x=w[:3], axis=1)",
    "np.trapezoid(v, dx=0.5)",
    "np.tri(3, M=4, k=1, dtype='int32')",
    "np.tril(x, k=-1)",
    "np.triu(x, k=1)",
    "np.tril_indices(3, k=1, m=4)",
    "np.triu_indices(3, k=1, m=4)",
    "np.tril_indices_from(a, k=1)",
    "np.triu_indices_from(a, k=1)",
    "np.trim_zeros(u, trim='b')",
    "np.trim_zeros(u[:5], trim='f', axis=0)",
    "np.unique(s, return_index=True, return_inverse=True, return_counts=True)",
    "np.unique(np.array([[1, 2], [1, 2], [0, 5]]), axis=0)",
    "np.unique(np.array([np.nan, 1.0, np.nan]), equal_nan=False)",
    ("np.unique(s, size=5, fill_value=9)", "np.array([1, 2, 3, 9, 9])"),
    ("np.unique(s, sorted=True)", "np.unique(s)"),
    *[
        (f"np.unique_{name}(s, size=4, fill_value=9)", expected)
        for name, expected in [
            ("values", "np.array([1, 2, 3, 9])"),
            ("counts", "(np.array([1, 2, 3, 9]), np.array([2, 1, 3, 0]))"),
            ("inverse", "(np.array([1, 2, 3, 9]), np.array([2, 0, 1, 0, 2, 2]))"),
        ]
    ],
    ("np.unique_all(s, size=4, fill_value=9)[0]", "np.array([1, 2, 3, 9])"),
    ("np.unstack(x, axis=1)", "tuple(np.moveaxis(x, 1, 0))"),
    "np.unwrap(v * 9, discont=4.0, period=5.0)",
    "np.unwrap(x * 9, axis=0)",
    "np.vander(v, N=3, increasing=True)",
    "np.vecdot(x, x, axis=1)",
    "np.vectorize(lambda p, q: p + q, excluded={1})(v, 2)",
    "np.vectorize(lambda p, q: np.dot(p, q), signature='(k),(k)->()')(x, x)",
]  # fmt: skip

#: Parameters that no call gives, with the reason.
ELSEWHERE = {
    "out": "not supported, as in JAX",
    "out_sharding": "not swept: needs several devices",
    "device": "not swept: needs several devices",
    "precision": "not swept: no effect on values on CPU",
    "preferred_element_type": "not swept: changes dtypes, not values",
    "_dot_general": "private",
}
#: The same for parameters of one function.
ELSEWHERE_OF = {
    ("einsum_path", "optimize"): "NumPy's own function",
    ("gradient", "edge_order"): "not supported, as in JAX",
    ("from_dlpack", "copy"): "tests/test_dlpack.py",
    ("save", "allow_pickle"): "NumPy's own function",
    ("savez", "allow_pickle"): "NumPy's own function",
}


CASES = [c if isinstance(c, tuple) else (c, c) for c in CALLS]


@pytest.mark.parametrize(("call", "numpy_call"), CASES, ids=[c[0] for c in CASES])
def test_value(call, numpy_call):
    values = {name: jnp.asarray(value) for name, value in VALUES.items()}
    parameters.check(
        parameters.evaluate(call, {"np": jnp}, values), parameters.evaluate(numpy_call, {"np": np}, VALUES)
    )


def test_every_parameter_is_given():
    given = set().union(*[parameters.given(call, {"np": "jax.numpy"}) for call, _ in CASES])
    ufuncs = {name for name, value in vars(jnp).items() if isinstance(value, jnp.ufunc)}
    wanted = parameters.optional(["jax.numpy"], {**ELSEWHERE, **ELSEWHERE_OF})
    assert not {pair for pair in wanted if pair[0] not in ufuncs} - given
