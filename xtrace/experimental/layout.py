"""In which order the axes of arrays lie in memory (jax.experimental.layout)."""

from xtrace.placement import with_layout_constraint
from xtrace.runtime.layouts import Format, Layout

__all__ = ["Format", "Layout", "with_layout_constraint"]
