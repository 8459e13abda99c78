"""The stages of compilation (jax.stages): Traced, Lowered, Compiled."""

from xtrace.api.stages import ArgInfo, Compiled, CompilerOptions, Lowered, Traced, Wrapped

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
