"""What the checks share: comparing values, walking trees of results, calling an entry's function."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

import xtrace as xt
from tests.catalogue.catalogue import BF16, Op, Sample, is_complex, is_inexact

#: Relative tolerance of each dtype, after a few operations.
RTOL = {
    np.dtype("float64"): 1e-11,
    np.dtype("complex128"): 1e-11,
    np.dtype("float32"): 1e-5,
    np.dtype("complex64"): 1e-5,
    np.dtype("float16"): 4e-3,
    BF16: 3e-2,
}


def x64(wanted: bool) -> Any:
    return xt.enable_x64(True) if wanted else contextlib.nullcontext()


def function_of(op: Op, sample: Sample) -> Any:
    """The entry's function of the sample's operands alone, its parameters bound."""
    function, params = op.resolve(xt), sample.params

    def call(*args: Any) -> Any:
        return function(*args, **params)

    call.__name__ = op.name.rpartition(".")[2]
    return call


def leaves(tree: Any) -> list[Any]:
    return xt.tree_util.tree_leaves(tree)


def widen(x: Any) -> Any:
    """Floats as float64, complex numbers as complex128: exact, and what references are computed in."""
    if isinstance(x, (np.ndarray, np.generic)) and is_inexact(x.dtype):
        return np.asarray(x).astype(np.complex128 if is_complex(x.dtype) else np.float64)
    return x


def assert_close(got: Any, wanted: Any, what: str, tolerance: float = 1.0, rtol: float | None = None) -> None:
    """Compare trees of arrays. `wanted` may be wider; it is rounded to the dtype of `got`."""
    got, wanted = leaves(got), leaves(wanted)
    assert len(got) == len(wanted), f"{what}: {len(got)} results, the reference has {len(wanted)}"
    for i, (g, w) in enumerate(zip(got, wanted)):
        g = np.asarray(g)
        w = np.asarray(w)
        where = f"{what}, result {i}" if len(got) > 1 else what
        assert g.shape == w.shape, f"{where}: shape {g.shape}, the reference has {w.shape}"
        if not is_inexact(g.dtype):
            np.testing.assert_array_equal(g, w, err_msg=where)
            continue
        limit = (RTOL[g.dtype] if rtol is None else rtol) * tolerance
        with np.errstate(all="ignore"):
            g, w = widen(g), widen(w.astype(g.dtype))
            finite = np.abs(w[np.isfinite(w)])
        # The absolute tolerance is that of the typical result: values near a zero of the function lose digits.
        scale = float(np.median(finite)) if finite.size else 0.0
        np.testing.assert_allclose(g, w, rtol=limit, atol=limit * max(scale, 1e-3), err_msg=where)
