"""Programs for IFRT clients, jaxlib's own (jax.extend.ifrt_programs)."""

from xtrace.runtime.jaxlib_api import ifrt_programs as ifrt_programs

__all__ = ["ifrt_programs"]
