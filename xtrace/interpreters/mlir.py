"""Rules of lowering, and what they are written with (jax.interpreters.mlir)."""

from xtrace.lowering.registered import *  # noqa: F403
from xtrace.lowering.registered import __all__ as __all__
