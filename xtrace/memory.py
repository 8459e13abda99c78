"""Memories of devices (jax.memory)."""

from xtrace.runtime.memory import Space

__all__ = ["Space"]
