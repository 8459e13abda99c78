"""The version of jaxlib that programs run on, where JAX tells it."""

from __future__ import annotations

from xtrace.runtime.jaxlib_api import jaxlib_version as __version__

__all__ = ["__version__"]
