"""Decompositions and solvers of matrices, one file per family. Modules load when a name of theirs is first used."""

from __future__ import annotations

import importlib
from typing import Any

#: Module -> the public names it defines.
_MODULES: dict[str, str] = {
    "cholesky_factors": "cholesky cholesky_p cholesky_update cholesky_update_p",
    "eigenvalues": "EigImplementation EighImplementation eig eig_p eigh eigh_p",
    "lu_factors": "lu lu_p lu_pivots_to_permutation lu_pivots_to_permutation_p",
    "orthogonal": "householder_product householder_product_p ormqr ormqr_p qr qr_p",
    "polar_factors": "qdwh",
    "products": "symmetric_product symmetric_product_p",
    "reductions": "hessenberg hessenberg_p schur schur_p tridiagonal tridiagonal_p",
    "singular_values": "SvdAlgorithm svd svd_p",
    "triangular": "triangular_solve triangular_solve_p",
    "tridiagonal_systems": "tridiagonal_solve tridiagonal_solve_p",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f"xtrace.lax.linalg.{module}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'xtrace.lax.linalg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
