"""Catalogue entries of iterations and of objects: Krylov methods, minimization, rotations, differential equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import transform

from tests.catalogue.catalogue import Draw, Op, Sample, find
from tests.catalogue.matrices import positive, square

SAMPLED = True

_REAL = ("float32", "float64")
_ONCE = {"second": "the iterations end by a tolerance"}


def _systems(maker: Callable[[Draw, str], Any]) -> Callable[[Draw], Any]:
    def samples(draw: Draw) -> Any:
        for dtype in _REAL:
            yield Sample(maker(draw, dtype), draw.array((3,), dtype))

    return samples


def _krylov(name: str, maker: Callable[[Draw, str], Any], **settings: Any) -> Op:
    def function(root: Any) -> Any:
        method = find(root, f"scipy.sparse.linalg.{name}")
        return lambda a, b: method(a, b, tol=1e-6 if a.dtype == np.float32 else 1e-14, **settings)[0]

    return Op(f"scipy.sparse.linalg.{name}", _systems(maker), np.linalg.solve, function, tolerance=64, skip=_ONCE)


def _minimum(root: Any) -> Callable[..., Any]:
    def minimize(a: Any, b: Any) -> Any:
        fun = lambda x: 0.5 * x @ a @ x - b @ x  # noqa: E731
        return find(root, "scipy.optimize.minimize")(fun, root.numpy.zeros_like(b), method="BFGS").x

    return minimize


def _rotations(draw: Draw) -> Any:
    for dtype in _REAL:
        quaternions = draw.array((2, 4), dtype, 0.2, 1)
        yield Sample(quaternions, draw.array((2, 3), dtype))


def _rotation(name: str, of: Callable[[Any, Any, Any], Any], **options: Any) -> Op:
    """A method of rotations: `of` (Rotation, quaternions, vectors) -> its results."""
    return Op(
        f"scipy.spatial.transform.Rotation.{name}",
        _rotations,
        lambda q, v: of(transform.Rotation, q, v),
        lambda root: lambda q, v: of(find(root, "scipy.spatial.transform.Rotation"), q, v),
        **{"tolerance": 16} | options,
    )


ROTATIONS = [
    _rotation("apply", lambda r, q, v: r.from_quat(q).apply(v)),
    _rotation("as_euler", lambda r, q, v: r.from_quat(q).as_euler("xyz")),
    _rotation("as_matrix", lambda r, q, v: r.from_quat(q).as_matrix()),
    _rotation("as_mrp", lambda r, q, v: r.from_quat(q).as_mrp()),
    _rotation("as_quat", lambda r, q, v: r.from_quat(q).as_quat()),
    _rotation("as_rotvec", lambda r, q, v: r.from_quat(q).as_rotvec()),
    _rotation("concatenate", lambda r, q, v: r.concatenate([r.from_quat(q), r.from_rotvec(v)]).as_matrix()),
    _rotation("from_euler", lambda r, q, v: r.from_euler("zyx", v).as_matrix()),
    _rotation("from_matrix", lambda r, q, v: r.from_matrix(r.from_rotvec(v / 4).as_matrix()).as_quat(canonical=True)),
    _rotation("from_mrp", lambda r, q, v: r.from_mrp(v).as_matrix()),
    _rotation("from_quat", lambda r, q, v: r.from_quat(q).as_quat(canonical=True)),
    _rotation("from_rotvec", lambda r, q, v: r.from_rotvec(v).as_matrix()),
    _rotation("inv", lambda r, q, v: r.from_quat(q).inv().as_matrix()),
    _rotation("magnitude", lambda r, q, v: r.from_quat(q).magnitude()),
    _rotation("mean", lambda r, q, v: r.from_rotvec(v / 4).mean().as_matrix(), tolerance=256, skip={"lowering":
              "eigenvectors have no lowering for TPU yet"}),
    _rotation("__mul__", lambda r, q, v: (r.from_quat(q) * r.from_rotvec(v)).as_matrix()),
]  # fmt: skip


def _between(np: Any, module: Any, make: Callable[..., Any]) -> Callable[..., Any]:
    def interpolated(v: Any, t: Any) -> Any:
        return make(module)(np.asarray([0.0, 1.0, 2.0]), module.Rotation.from_rotvec(v))(t).as_matrix()

    return interpolated


def _halves(draw: Draw) -> Any:
    for dtype in _REAL:
        yield Sample(draw.array((3, 3), dtype, -0.8, 0.8), draw.array((4,), dtype, 0.1, 0.9))


def _decays(draw: Draw) -> Any:
    for dtype in _REAL:
        yield Sample(draw.array((2,), dtype, 0.5, 2), draw.array((), dtype, 0.5, 1.5))


OPS = [
    _krylov("cg", positive),
    _krylov("bicgstab", square),
    _krylov("gmres", square),
    Op(
        "scipy.optimize.minimize",
        _systems(positive),
        np.linalg.solve,
        _minimum,
        tolerance=2000,  # it ends where the gradient is 1e-5
        skip={
            "derivative": "loops that end by a condition have none in reverse",
            "compositions": "it ends at another step in another program, within its own tolerance",
        },
    ),
    *ROTATIONS,
    Op(
        "scipy.spatial.transform.Slerp",
        _halves,
        _between(np, transform, lambda m: m.Slerp),
        lambda root: _between(root.numpy, find(root, "scipy.spatial.transform"), lambda m: m.Slerp.init),
        tolerance=16,
    ),
    Op(
        "experimental.ode.odeint",
        _decays,
        lambda y0, rate: y0 * np.exp(-rate * np.array([0.0, 0.5, 1.5]))[:, None],
        lambda root: (
            lambda y0, rate: find(root, "experimental.ode.odeint")(
                lambda y, t, rate: -rate * y,
                y0,
                root.numpy.asarray([0.0, 0.5, 1.5], y0.dtype),
                rate,
                rtol=1e-9,
                atol=1e-9,
            )
        ),
        differentiable=(),  # in reverse alone, by a method of its own: tests/experimental/test_ode.py
        tolerance=512,
    ),
]
