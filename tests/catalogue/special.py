"""Catalogue entries of the special functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from tests.catalogue.catalogue import BF16, Bad, Draw, Op, Sample, between_integers

SAMPLED = True

_WIDENED = {"types": "JAX widens float32 to float64 here when that is on"}
_FLOATS = (np.dtype("float32"), np.dtype("float64"), BF16)
_INT = np.dtype("int32")
_TEXT = [Bad(TypeError, "", "text")]
_ONCE = {"second": "by the first operand there is a first derivative alone"}
_STEPS = {"derivative": "a function of whole numbers"}


def _of(*ranges: Any, dtypes: Any = (*_FLOATS, _INT), **params: Any) -> Callable[[Draw], Any]:
    """Samples of a function of as many operands as there are ranges: (low, high), or a maker of values.

    A range (low, high, "whole") is of whole numbers, in floats too; (low, high, "int") of integers.
    """

    def operand(draw: Draw, limits: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        if callable(limits):
            return np.asarray(limits(draw, shape, dtype))
        values = draw.array(shape, "int32" if limits[2:] else dtype, *limits[:2])
        return values if limits[2:] == ("int",) else values.astype(dtype)

    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            yield Sample(*[operand(draw, limits, (), dtype) for limits in ranges], **params)
            shapes = [(2, 1) if i else (2, 3) for i in range(len(ranges))]
            yield Sample(*[operand(draw, limits, s, dtype) for limits, s in zip(ranges, shapes)], **params)
        yield Sample(*[operand(draw, limits, (0, 2), dtypes[0]) for limits in ranges], **params)

    return samples


def _op(name: str, *ranges: Any, dtypes: Any = (*_FLOATS, _INT), params: Any = None, **options: Any) -> Op:
    options = {"reference": getattr(scipy.special, name, None), "bad": _TEXT[: len(ranges) == 1]} | options
    return Op(f"scipy.special.{name}", _of(*ranges, dtypes=dtypes, **(params or {})), **options)


def _reduction(name: str, *calls: dict[str, Any], **options: Any) -> Op:
    def samples(draw: Draw) -> Any:
        for dtype in (*_FLOATS, _INT):
            for params in calls:
                yield Sample(draw.array((2, 3), dtype), **params)

    return Op(f"scipy.special.{name}", samples, getattr(scipy.special, name), bad=_TEXT, **options)


_POSITIVE, _PART = (0.3, 4.0), (0.15, 0.85)

ONE = [
    _op("dawsn", (-3, 3)),
    _op("digamma", (0.4, 6), tolerance=4),
    _op("entr", _POSITIVE),
    _op("erf", (-2, 2)),
    _op("erfc", (-2, 2)),
    _op("erfcinv", _PART, dtypes=_FLOATS, tolerance=4),
    _op("erfcx", (-2, 3)),
    _op("erfinv", _PART, dtypes=_FLOATS, tolerance=4),
    _op("exp1", (0.3, 4)),
    _op("expi", (0.5, 4), tolerance=4),
    _op("expit", (-3, 3)),
    _op("factorial", (0, 6, "whole"), skip=_STEPS),
    _op("fresnel", (-3, 3), tolerance=4),
    _op("gamma", (0.3, 5), tolerance=4),
    _op("gammaln", (2.2, 6), tolerance=4),
    _op("gammasgn", between_integers(-4, 4), dtypes=_FLOATS),
    _op("i0", (-3, 3)),
    _op("i0e", (-3, 3)),
    _op("i1", (-3, 3)),
    _op("i1e", (-3, 3)),
    _op("log_ndtr", (-4, 2), tolerance=4, superset=True),
    _op("loggamma", (2.2, 6), tolerance=4),
    _op("logit", _PART, dtypes=_FLOATS, tolerance=4),
    _op("multigammaln", (2.2, 6), params={"d": 3}, tolerance=8),
    _op("ndtr", (-3, 3), tolerance=4, superset=True),
    _op("ndtri", _PART, dtypes=_FLOATS, tolerance=4, superset=True),
    _op("sici", (0.3, 6), tolerance=4),
    _op("spence", (1.3, 4), dtypes=_FLOATS[:2]),
    _op("wofz", (-2, 2), tolerance=4),
]

SEVERAL = [
    _op("beta", _POSITIVE, _POSITIVE, tolerance=4),
    _op("betainc", (1, 3), (1, 3), _PART, dtypes=_FLOATS, differentiable=(2,), tolerance=8),
    _op("betaln", _POSITIVE, _POSITIVE, tolerance=16),
    _op("boxcox", _POSITIVE, (-2, 2), dtypes=_FLOATS, tolerance=4),
    _op("boxcox1p", _POSITIVE, (-2, 2), dtypes=_FLOATS, tolerance=4),
    _op("comb", (4, 8, "whole"), (1, 3, "whole"), skip=_STEPS, tolerance=4),
    _op("expn", (1, 4, "whole"), _POSITIVE, differentiable=(1,), tolerance=4),
    _op("gammainc", _POSITIVE, _POSITIVE, tolerance=8, skip=_ONCE),
    _op("gammaincc", _POSITIVE, _POSITIVE, tolerance=8, skip=_ONCE),
    _op("hyp1f1", (0.5, 2), (0.5, 2), (-1, 1), dtypes=_FLOATS, tolerance=8),
    _op("hyp2f1", (0.3, 1.2), (0.3, 1.2), (1.6, 2.4), (-0.4, 0.4), dtypes=_FLOATS, tolerance=16),
    _op("kl_div", _POSITIVE, _POSITIVE, tolerance=16),
    _op("owens_t", (0.3, 2), (-2, 2), tolerance=4, skip=_WIDENED),
    _op("poch", _POSITIVE, _POSITIVE, tolerance=16),
    _op("polygamma", (1, 3, "int"), (0.5, 4), differentiable=(1,), tolerance=8),
    _op("rel_entr", _POSITIVE, _POSITIVE, tolerance=16),
    _op("xlog1py", _POSITIVE, _POSITIVE),
    _op("xlogy", _POSITIVE, (1.3, 4)),
    _op("zeta", (1.5, 4), (0.5, 4), dtypes=_FLOATS, differentiable=(1,), tolerance=8),
]

REDUCTIONS = [
    _reduction("log_softmax", {}, {"axis": 0}),
    _reduction("logsumexp", {}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}),
    _reduction("softmax", {}, {"axis": 1}),
]


def _harmonics(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        yield Sample(
            np.array([0, 1, 3, 3], np.int32), np.array([0, -1, 2, -3], np.int32),
            draw.array((4,), dtype, 0.3, 2.5), draw.array((4,), dtype, 0.3, 2.5), n_max=3,
        )  # fmt: skip


def _bessel(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        for shape in ((), (2, 3)):
            yield Sample(draw.array(shape, dtype, 0.5, 6), v=2)


OPS = [
    *ONE,
    *SEVERAL,
    *REDUCTIONS,
    Op(
        "scipy.special.bernoulli",
        lambda draw: (Sample(n=n) for n in (0, 1, 7)),
        scipy.special.bernoulli,
        bad=[Bad(ValueError, "", n=-1)],
    ),
    Op(
        "scipy.special.bessel_jn",
        _bessel,
        lambda z, v: np.stack([scipy.special.jv(k, z) for k in range(v + 1)]),
        tolerance=8,
        bad=[Bad(ValueError, "complex input not supported", np.complex64(1), v=2)],
    ),
    Op(
        "scipy.special.sph_harm_y",
        _harmonics,
        lambda n, m, theta, phi, n_max: scipy.special.sph_harm_y(n, m, theta, phi),
        tolerance=8,
        skip=_WIDENED,
    ),
]
