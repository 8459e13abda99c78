"""Catalogue entries of the distributions and of other statistics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from tests.catalogue.catalogue import BF16, Bad, Draw, Op, Sample

SAMPLED = True

_FLOATS = (np.dtype("float32"), np.dtype("float64"), BF16)


class _Family(NamedTuple):
    """A distribution: its functions, where its points lie, and where its shape parameters do.

    Ranges are (low, high); of whole numbers where a third member says so. moves: whether it has a location, and, if
    continuous, a scale. fixed: the parameters, by position, with respect to which its integrals have no derivatives.
    """

    functions: str
    points: tuple[Any, ...]
    parameters: tuple[tuple[Any, ...], ...] = ()
    moves: bool = True
    fixed: tuple[int, ...] = ()
    tolerance: float = 8


_PDFS, _PMFS, _CDFS = "logpdf pdf", "logpmf pmf", "cdf logcdf sf logsf"
_SHAPE, _PART, _COUNT = (1.2, 3.0), (0.2, 0.8), (6, 9, "whole")
_INTEGERS = (0, 5, "whole")

FAMILIES = {
    "bernoulli": _Family(f"{_PMFS} cdf ppf", (0, 1, "whole"), (_PART,)),
    "beta": _Family(f"{_PDFS} {_CDFS}", _PART, (_SHAPE, _SHAPE), fixed=(0, 1), tolerance=32),
    "betabinom": _Family(_PMFS, _INTEGERS, (_COUNT, _SHAPE, _SHAPE), fixed=(0,), tolerance=32),
    "binom": _Family(_PMFS, _INTEGERS, (_COUNT, _PART), fixed=(0,), tolerance=32),
    "cauchy": _Family(f"{_PDFS} {_CDFS} ppf isf", (-3, 3)),
    "chi2": _Family(f"{_PDFS} {_CDFS}", (0.5, 4), (_SHAPE,)),
    "expon": _Family(f"{_PDFS} {_CDFS} ppf", (0.5, 4)),
    "gamma": _Family(f"{_PDFS} {_CDFS}", (0.5, 4), (_SHAPE,)),
    "gennorm": _Family(f"{_PDFS} cdf", (0.5, 2), (_SHAPE,), moves=False),
    "geom": _Family(_PMFS, (1, 5, "whole"), (_PART,), tolerance=16),
    "gumbel_l": _Family(f"{_PDFS} {_CDFS} ppf", (-2, 2)),
    "gumbel_r": _Family(f"{_PDFS} {_CDFS} ppf", (-2, 2)),
    "laplace": _Family(f"{_PDFS} cdf", (2.2, 4)),
    "logistic": _Family(f"{_PDFS} cdf sf ppf isf", (-3, 3)),
    "nbinom": _Family(_PMFS, _INTEGERS, ((2.2, 5), _PART), tolerance=32),
    "norm": _Family(f"{_PDFS} {_CDFS} ppf isf", (-3, 3)),
    "pareto": _Family(f"{_PDFS} {_CDFS} ppf", (2.5, 5), (_SHAPE,)),
    "poisson": _Family(f"{_PMFS} cdf", _INTEGERS, (_SHAPE,), tolerance=16),
    "t": _Family(_PDFS, (-3, 3), (_SHAPE,), tolerance=16),
    "truncnorm": _Family(f"{_PDFS} {_CDFS}", (-0.5, 0.5), ((-2, -1), (1.2, 2)), tolerance=16),
    "uniform": _Family(f"{_PDFS} cdf ppf", _PART),
    "vonmises": _Family(_PDFS, (-3, 3), (_SHAPE,), moves=False),
    "wrapcauchy": _Family(_PDFS, (0.3, 3), (_PART,), moves=False),
}


def _skipped(name: str, integral: bool, quantile: bool) -> dict[str, str]:
    if name == "norm" and quantile:
        return {"types": "JAX widens float32 to float64 here when that is on"}
    if name in ("gamma", "chi2", "gennorm") and integral:
        return {"second": "by the shape there is a first derivative alone"}
    return {}


def _entry(name: str, family: _Family, function: str) -> Op:
    quantile, discrete = function in ("ppf", "isf"), "whole" in family.points
    points = _PART if quantile else family.points
    by_number = not discrete or quantile  # with respect to integers nothing is differentiated
    moving = [0] if by_number else []
    integral = "pdf" not in function and "pmf" not in function
    moving += [1 + i for i, p in enumerate(family.parameters)
               if "whole" not in p and not (integral and i in family.fixed)]  # fmt: skip
    if discrete and quantile:
        moving = []  # it has steps

    def operand(draw: Draw, limits: tuple[Any, ...], shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return draw.array(shape, "int32" if limits[2:] else dtype, *limits[:2])

    moved = [] if not family.moves else [(1, 1, "whole")] if discrete else [(-0.1, 0.1), (0.9, 1.1)]
    if discrete and function not in ("logpmf", "pmf"):
        moved = moved if function == "cdf" and name == "poisson" else []
    elif not discrete:
        moving += [1 + len(family.parameters) + i for i in range(len(moved))]

    def samples(draw: Draw) -> Any:
        for dtype in _FLOATS:
            for shape in ((), (2, 3)):
                yield Sample(*[operand(draw, limits, () if i else shape, dtype)
                               for i, limits in enumerate((points, *family.parameters))])  # fmt: skip
            if moved:
                shapes = ((3,), *[(2, 1)] * len(family.parameters), (), (3,))
                moved_points = (points[0] + 1, points[1] + 1, "whole") if discrete else points
                ranges = (moved_points, *family.parameters, *moved)
                yield Sample(*[operand(draw, limits, shape, dtype) for limits, shape in zip(ranges, shapes)])

    return Op(
        f"scipy.stats.{name}.{function}",
        samples,
        getattr(getattr(scipy.stats, name), function),
        differentiable=tuple(moving),
        tolerance=family.tolerance,
        skip=_skipped(name, integral, quantile),
        python_scalars=not discrete,  # the results that JAX has for them differ from distribution to distribution
        superset=True,  # bfloat16, of which JAX refuses some
        bad=[Bad(ValueError, f"{name}.{function} does not support complex", 1j, *[0.5 for _ in family.parameters])],
    )


def _points_on_simplex(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        x = draw.array((3, 2), dtype, 0.2, 1)
        yield Sample(x / x.sum(0), draw.array((3,), dtype, 1.2, 3))
        yield Sample((x / x.sum(0))[:2], draw.array((3,), dtype, 1.2, 3))


def _summing_to_one(x: Any, alpha: Any) -> Any:
    return x / x.sum(0) if len(x) == len(alpha) else x


def _draws_of_kinds(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        p = draw.array((3,), dtype, 0.2, 1)
        yield Sample(np.array([[1, 2, 0], [0, 1, 2]], np.int32), np.array(3, np.int32), p / p.sum())


def _normals(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        factor = draw.array((2, 2), dtype)
        yield Sample(draw.array((3, 2), dtype), draw.array((2,), dtype), factor @ factor.T + np.eye(2, dtype=dtype))
        yield Sample(draw.array((2,), dtype), draw.array((2,), dtype), factor @ factor.T + np.eye(2, dtype=dtype))


def _rows(*calls: dict[str, Any], dtypes: tuple[Any, ...] = ("float32", "float64", "int32"), high: int = 9) -> Any:
    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for params in calls:
                yield Sample(draw.array((3, 4), dtype, -high, high), **params)

    return samples


def _clouds(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        yield Sample(draw.array((2, 6), dtype), draw.array((2, 3), dtype), draw.array((6,), dtype, 0.2, 1))


def _kernels(method: str, *rest: Any) -> Op:
    def function(stats: Any) -> Any:
        return lambda data, points, weights: getattr(stats.gaussian_kde(data, weights=weights), method)(points, *rest)

    return Op(
        f"scipy.stats.gaussian_kde.{method}",
        _clouds,
        function(scipy.stats),
        lambda root: function(root.scipy.stats),
        tolerance=64,
    )


OPS = [
    *[_entry(name, family, f) for name, family in FAMILIES.items() for f in family.functions.split()],
    Op(
        "scipy.stats.poisson.entropy",
        lambda draw: (Sample(draw.array(shape, d, 0.5, 9)) for d in ("float32", "float64") for shape in ((), (2, 3))),
        scipy.stats.poisson.entropy,
        tolerance=16,
    ),
    *[
        Op(
            f"scipy.stats.dirichlet.{function}",
            _points_on_simplex,
            lambda x, alpha, name=function: getattr(scipy.stats.dirichlet, name)(_summing_to_one(x, alpha), alpha),
            differentiable=(1,),  # off the simplex there is no density
            tolerance=16,
            bad=[Bad(ValueError, "alpha must have one dimension", np.ones((2, 2)) / 2, np.ones((2, 2)))],
        )
        for function in ("logpdf", "pdf")
    ],
    *[
        Op(
            f"scipy.stats.multinomial.{function}",
            _draws_of_kinds,
            lambda x, n, p, name=function: getattr(scipy.stats.multinomial, name)(x, n, p / p.sum()),
            tolerance=16,
            bad=[Bad(ValueError, "x must be of integer dtype", np.ones(2), 2, np.ones(2) / 2)],
        )
        for function in ("logpmf", "pmf")
    ],
    *[
        Op(
            f"scipy.stats.multivariate_normal.{function}",
            _normals,
            getattr(scipy.stats.multivariate_normal, function),
            lambda root, name=function: (
                lambda x, mean, cov: getattr(root.scipy.stats.multivariate_normal, name)(x, mean, (cov + cov.T) / 2)
            ),
            tolerance=64,
        )
        for function in ("logpdf", "pdf")
    ],
    *[_kernels(method) for method in ("evaluate", "pdf", "logpdf")],
    Op(
        "scipy.stats.mode",
        _rows({}, {"axis": 1}, {"axis": None}, {"axis": 0, "keepdims": True}, high=1),
        lambda a, **params: tuple(scipy.stats.mode(a, **params)),
        lambda root: lambda a, **params: tuple(root.scipy.stats.mode(a, **params)),
        differentiable=(),
        bad=[Bad(ValueError, "nan_policy", np.zeros(3), nan_policy="drop")],
    ),
    Op(
        "scipy.stats.rankdata",
        _rows({}, {"method": "dense", "axis": 1}, {"method": "min", "axis": 0}, high=2),
        scipy.stats.rankdata,
        differentiable=(),
        bad=[Bad(ValueError, "unknown method", np.zeros(3), "mean")],
    ),
    Op(
        "scipy.stats.sem",
        _rows({}, {"axis": None}, {"axis": 1, "ddof": 0, "keepdims": True}),
        scipy.stats.sem,
        tolerance=4,
        bad=[Bad(ValueError, "nan_policy", np.zeros(3), nan_policy="raise")],
    ),
]
