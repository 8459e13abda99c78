"""The persistent compile cache (jax.experimental.compilation_cache)."""

from xtrace.experimental.compilation_cache import compilation_cache as compilation_cache
