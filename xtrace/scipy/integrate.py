"""Integrals of sampled functions."""

from __future__ import annotations

from xtrace.numpy import trapezoid

__all__ = ["trapezoid"]
