"""SciPy's linear algebra on arrays and tracers. Modules load when a name of theirs is first used."""

from __future__ import annotations

import importlib
from typing import Any

#: Module -> the public names it defines.
_MODULES: dict[str, str] = {
    "decompositions": "eigh hessenberg lu polar qr qr_multiply",
    "functions": "expm expm_frechet funm rsf2csf solve_sylvester sqrtm",
    "solvers": "cho_factor cho_solve cholesky det inv lu_factor lu_solve schur solve solve_triangular svd",
    "special_matrices": (
        "block_diag circulant companion convolution_matrix dft fiedler fiedler_companion hadamard hankel helmert "
        "hilbert invhilbert invpascal leslie pascal toeplitz"
    ),
    "tridiagonal": "eigh_tridiagonal",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f"xtrace.scipy.linalg.{module}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'xtrace.scipy.linalg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
