"""pjit, the old name of jit (jax.experimental.pjit)."""

from xtrace.api.jit import jit as pjit

__all__ = ["pjit"]
