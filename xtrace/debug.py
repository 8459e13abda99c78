"""Looking at running programs (jax.debug), and at why they were traced and compiled."""

from xtrace.api.explaining import explain

__all__ = ["explain"]
