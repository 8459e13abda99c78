"""LAPACK for programs on CPUs: jaxlib's kernels, which call the routines of SciPy.

SciPy is loaded when the first program that needs it is made, not before: that takes as long as importing xtrace.
"""

from __future__ import annotations

import threading

from xtrace.runtime import jaxlib_api

_lock = threading.Lock()
_ready = False


def ensure() -> None:
    """Register the kernels and find SciPy's routines; a program that runs before that would crash."""
    global _ready
    if _ready:
        return
    with _lock:
        if not _ready:
            jaxlib_api.load_lapack()
            _ready = True


def ensure_for(program: bytes) -> None:
    """`ensure`, if a serialized program names a kernel."""
    if b"lapack_" in program or b"tridiagonal_solve_perturbed" in program:
        ensure()
