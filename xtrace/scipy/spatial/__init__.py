"""Geometry in space."""

from __future__ import annotations

from xtrace.scipy.spatial import transform as transform

__all__ = ["transform"]
