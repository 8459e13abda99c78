"""Linear systems given by products: see `linalg`."""

from __future__ import annotations

from xtrace.scipy.sparse import linalg as linalg

__all__ = ["linalg"]
