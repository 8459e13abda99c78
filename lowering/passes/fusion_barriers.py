"""Fusion barriers."""

from __future__ import annotations


def run(jaxpr, target):
    return jaxpr, []
