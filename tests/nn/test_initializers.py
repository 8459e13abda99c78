"""Initializers against values recorded from JAX (tests/data/record_random.py), their variances and errors."""

from __future__ import annotations

import importlib.util
import json
import pathlib

import jaxlib
import numpy as np
import pytest

import xtrace as xt
from xtrace import random
from xtrace.core import dtypes
from xtrace.nn import initializers

HERE = pathlib.Path(__file__).parent
_spec = importlib.util.spec_from_file_location("random_cases", HERE.parent / "random" / "cases.py")
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)

RECORDED = np.load(HERE.parent / "data" / "random.npz")
ABOUT = json.loads(str(RECORDED["about"]))


needs_qr = pytest.mark.skipif(not hasattr(xt.numpy.linalg, "qr"), reason="there is no QR decomposition yet")


@pytest.mark.parametrize("made", ["initializers", pytest.param("orthogonal_initializers", marks=needs_qr)])
def test_values(made):
    for name, got in getattr(cases, made)(initializers, random.key(3)).items():
        want = RECORDED[f"initializers/{name}"]
        dtype = dtypes.as_dtype(ABOUT["dtypes"][f"initializers/{name}"])
        got = np.asarray(got)
        assert got.dtype == dtype, name
        want = want if want.dtype == dtype else want.view(dtype)
        if jaxlib.__version__ == ABOUT["jaxlib"] and "orthogonal" not in name:
            np.testing.assert_array_equal(got, want, err_msg=name)
        else:
            eps = float(dtypes.finfo(dtype).eps) if dtypes.is_inexact(dtype) else 0
            kind = np.complex128 if got.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(got.astype(kind), want.astype(kind), rtol=32 * eps, atol=8 * eps, err_msg=name)


@pytest.mark.parametrize("kind", ["normal", "uniform", "truncated_normal"])
def test_variance(kind):
    for dtype in (np.float32, np.complex64):
        x = np.asarray(initializers.variance_scaling(3.0, "fan_in", kind)(random.key(1), (200, 500), dtype))
        variance = (np.abs(x) ** 2).mean()
        assert abs(variance - 3.0 / 200) < 0.02 * 3 / 200, (kind, dtype, variance)
        assert abs(x.mean()) < 0.002


@needs_qr
def test_orthogonal_matrices_are():
    for shape in ((4, 4), (3, 5), (5, 3)):
        q = np.asarray(initializers.orthogonal()(random.key(0), shape), np.float64)
        small = q @ q.T if shape[0] <= shape[1] else q.T @ q
        np.testing.assert_allclose(small, np.eye(min(shape)), atol=1e-6)
    kernel = np.array(initializers.delta_orthogonal()(random.key(0), (3, 3, 2, 4)))
    np.testing.assert_allclose(kernel[1, 1] @ kernel[1, 1].T, np.eye(2), atol=1e-6)
    kernel[1, 1] = 0
    assert not kernel.any()


REFUSED = [
    (lambda i, k: i.glorot_normal()(k, (3,)), "at least 2D"),
    (lambda i, k: i.orthogonal()(k, (3,)), "at least a 2D shape"),
    (lambda i, k: i.delta_orthogonal()(k, (3,)), "3D, 4D or 5D"),
    (lambda i, k: i.delta_orthogonal()(k, (3, 5, 4)), "less or equal"),
    (lambda i, k: i.variance_scaling(1.0, "foo", "normal")(k, (2, 2)), "invalid mode.*foo"),
    (lambda i, k: i.variance_scaling(1.0, "fan_in", "foo")(k, (2, 2)), "invalid distribution.*foo"),
    (lambda i, k: i.normal()(k, (2,), int), "float or complex dtype, got int32"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    call, message = REFUSED[number]
    with pytest.raises(ValueError, match=message):
        call(initializers, random.key(0))
