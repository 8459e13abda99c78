"""Events of tracing and compiling for programs that watch them (jax.monitoring)."""

from xtrace.core.monitoring import *  # noqa: F403
from xtrace.core.monitoring import __all__ as __all__
