"""Clustering."""

from __future__ import annotations

from xtrace.scipy.cluster import vq as vq

__all__ = ["vq"]
