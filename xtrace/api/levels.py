"""Choices that programs name when they compile."""

import enum


class CompilerEffortLevel(enum.Enum):
    """How long the compiler may take to make a program faster."""

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


class Inline(enum.Enum):
    """When a jitted function that is called by another becomes part of it."""

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"
