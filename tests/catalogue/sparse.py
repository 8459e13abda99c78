"""Catalogue entries of sparse arrays: what they give, made dense again, is what the dense arrays give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.catalogue.catalogue import Draw, Op, Sample, away_from_zero, find

SAMPLED = True

_NUMBERS = (((1,), (0,)), ((), ()))
_nonzero = away_from_zero(0.5, 2)


def _of(*shapes: tuple[int, ...]) -> Callable[[Draw], Any]:
    """All elements are there, so that slopes are those of the dense operation."""

    def samples(draw: Draw) -> Any:
        for dtype in ("float32", "float64"):
            yield Sample(*[_nonzero(draw, shape, dtype) for shape in shapes])

    return samples


def _op(name: str, shapes: tuple[tuple[int, ...], ...], call: Callable[..., Any], dense: Callable[..., Any]) -> Op:
    """`call` (module, function, *dense operands) -> a dense result."""

    def function(root: Any) -> Any:
        sparse = find(root, "experimental.sparse")
        return lambda *xs: call(sparse, getattr(sparse, name), *xs)

    return Op(f"experimental.sparse.{name}", _of(*shapes), dense, function, tolerance=8)


def _bcoo(sparse: Any, x: Any, **layout: Any) -> Any:
    return sparse.BCOO.fromdense(x, nse=x.size, **layout) if not layout else sparse.BCOO.fromdense(x, **layout)


def _bcsr(sparse: Any, x: Any) -> Any:
    return sparse.BCSR.fromdense(x, nse=x.size)


_M, _N, _V, _CUBE = (2, 3), (3, 2), (3,), (2, 3, 2)
_BCOO = {
    "bcoo_broadcast_in_dim": ((_V,), lambda s, f, x: f(_bcoo(s, x), shape=(2, 3), broadcast_dimensions=(1,)).todense(),
                              lambda x: np.broadcast_to(x, (2, 3))),
    "bcoo_concatenate": ((_M, _M), lambda s, f, x, y: f([_bcoo(s, x), _bcoo(s, y)], dimension=1).todense(),
                         lambda x, y: np.concatenate([x, y], 1)),
    "bcoo_dot_general": ((_M, _N), lambda s, f, x, y: f(_bcoo(s, x), y, dimension_numbers=_NUMBERS), np.matmul),
    "bcoo_dynamic_slice": ((_M,), lambda s, f, x: f(_bcoo(s, x), [0, 1], [2, 2]).todense(), lambda x: x[:, 1:]),
    "bcoo_fromdense": ((_M,), lambda s, f, x: f(x, nse=6).todense(), lambda x: x),
    "bcoo_multiply_dense": ((_M, _M), lambda s, f, x, y: f(_bcoo(s, x), y), lambda x, y: (x * y).ravel()),
    "bcoo_multiply_sparse": ((_M, _M), lambda s, f, x, y: f(_bcoo(s, x), _bcoo(s, y)).todense(), np.multiply),
    "bcoo_reduce_sum": ((_CUBE,), lambda s, f, x: f(_bcoo(s, x), axes=(0, 2)).todense(), lambda x: x.sum((0, 2))),
    "bcoo_reshape": ((_M,), lambda s, f, x: f(_bcoo(s, x), new_sizes=(3, 2)).todense(), lambda x: x.reshape(3, 2)),
    "bcoo_rev": ((_M,), lambda s, f, x: f(_bcoo(s, x), dimensions=(1,)).todense(), lambda x: x[:, ::-1]),
    "bcoo_slice": ((_M,), lambda s, f, x: f(_bcoo(s, x), start_indices=(0, 0), limit_indices=(2, 3), strides=(1, 2)
                                            ).todense(), lambda x: x[:, ::2]),
    "bcoo_sort_indices": ((_M,), lambda s, f, x: f(_bcoo(s, x)).todense(), lambda x: x),
    "bcoo_squeeze": (((2, 1, 3),), lambda s, f, x: f(_bcoo(s, x), dimensions=(1,)).todense(), lambda x: x[:, 0]),
    "bcoo_sum_duplicates": ((_M,), lambda s, f, x: f(_bcoo(s, x), nse=6).todense(), lambda x: x),
    "bcoo_todense": ((_M,), lambda s, f, x: f(_bcoo(s, x)), lambda x: x),
    "bcoo_transpose": ((_CUBE,), lambda s, f, x: f(_bcoo(s, x), permutation=(2, 0, 1)).todense(),
                       lambda x: x.transpose(2, 0, 1)),
    "bcoo_update_layout": ((_M,), lambda s, f, x: f(_bcoo(s, x), n_batch=1, on_inefficient=None).todense(),
                           lambda x: x),
    "bcoo_extract": ((_M, _M), lambda s, f, x, y: f(_bcoo(s, x), y).todense(), lambda x, y: y),
    "bcoo_gather": ((_M,), lambda s, f, x: f(
        _bcoo(s, x), np.array([1], np.int32), find(_root_of(s), "lax.GatherDimensionNumbers")((0, 1), (), (1,)), (2, 2)
        ).todense(), lambda x: x[:, 1:]),
    "bcoo_conv_general_dilated": (((1, 1, 5), (1, 1, 3)), lambda s, f, x, y: f(
        _bcoo(s, x), _bcoo(s, y), window_strides=(1,), padding="VALID").todense(),
        lambda x, y: np.correlate(x[0, 0], y[0, 0], "valid")[None, None]),
    "bcoo_dot_general_sampled": ((_M, _N), lambda s, f, x, y: f(
        x, y, np.array([[0, 1], [1, 1]], np.int32), dimension_numbers=_NUMBERS), lambda x, y: (x @ y)[:, 1]),
}  # fmt: skip
_OTHERS = {
    "bcsr_broadcast_in_dim": ((_M,), lambda s, f, x: f(_bcsr(s, x), shape=(2, 2, 3), broadcast_dimensions=(1, 2)
                                                       ).todense(), lambda x: np.broadcast_to(x, (2, 2, 3))),
    "bcsr_concatenate": ((_M, _M), lambda s, f, x, y: f([_bcsr(s, x), _bcsr(s, y)], dimension=0).todense(),
                         lambda x, y: np.concatenate([x, y])),
    "bcsr_dot_general": ((_M, _N), lambda s, f, x, y: f(_bcsr(s, x), y, dimension_numbers=_NUMBERS), np.matmul),
    "bcsr_fromdense": ((_M,), lambda s, f, x: f(x, nse=6).todense(), lambda x: x),
    "bcsr_todense": ((_M,), lambda s, f, x: f(_bcsr(s, x)), lambda x: x),
    "bcsr_sum_duplicates": ((_M,), lambda s, f, x: f(_bcsr(s, x), nse=6).todense(), lambda x: x),
    "bcsr_extract": ((_M, _M), lambda s, f, x, y: f(_bcsr(s, x).indices, _bcsr(s, x).indptr, y).reshape(2, 3),
                     lambda x, y: y),
    "coo_fromdense": ((_M,), lambda s, f, x: f(x, nse=6).todense(), lambda x: x),
    "coo_matmat": ((_M, _N), lambda s, f, x, y: f(s.COO.fromdense(x, nse=6), y), np.matmul),
    "coo_matvec": ((_M, _V), lambda s, f, x, y: f(s.COO.fromdense(x, nse=6), y), np.matmul),
    "coo_todense": ((_M,), lambda s, f, x: f(s.COO.fromdense(x, nse=6)), lambda x: x),
    "csr_fromdense": ((_M,), lambda s, f, x: f(x, nse=6).todense(), lambda x: x),
    "csr_matmat": ((_M, _N), lambda s, f, x, y: f(s.CSR.fromdense(x, nse=6), y), np.matmul),
    "csr_matvec": ((_M, _V), lambda s, f, x, y: f(s.CSR.fromdense(x, nse=6), y), np.matmul),
    "csr_todense": ((_M,), lambda s, f, x: f(s.CSR.fromdense(x, nse=6)), lambda x: x),
    "todense": ((_M,), lambda s, f, x: f(_bcoo(s, x)), lambda x: x),
    "sparsify": ((_M, _N), lambda s, f, x, y: f(lambda a, b: (a * 2) @ b)(_bcoo(s, x), y), lambda x, y: 2 * x @ y),
}  # fmt: skip


def _root_of(sparse: Any) -> Any:
    import importlib

    return importlib.import_module(sparse.__name__.partition(".")[0])


OPS = [_op(name, *entry) for name, entry in (_BCOO | _OTHERS).items()]
