"""Batching rules of one's own."""

from xtrace.lax.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
