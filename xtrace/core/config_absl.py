"""Flags on the command line by way of absl, for programs that use it. Nothing else needs absl."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xtrace.core.config import Configuration


def define(config: Configuration) -> None:
    """Make each flag an absl flag, unless there is one of that name, and take the values when absl has parsed."""
    absl_flags = importlib.import_module("absl.flags")
    for name, flag in config.flags.items():
        absl_name = "jax_" + name
        if flag.internal or absl_name in absl_flags.FLAGS:
            continue
        value = flag.state.get_global()
        if flag.choices is not None:
            choices = [c for c in flag.choices if c is not None]
            absl_flags.DEFINE_enum(absl_name, value, choices, flag.help)
        elif bool in flag.types:
            absl_flags.DEFINE_bool(absl_name, value, flag.help)
        elif float in flag.types:  # before int: such a flag may take both
            absl_flags.DEFINE_float(absl_name, value, flag.help)
        elif int in flag.types:
            absl_flags.DEFINE_integer(absl_name, value, flag.help)
        else:
            absl_flags.DEFINE_string(absl_name, None if value is None else str(value), flag.help)
    importlib.import_module("absl.app").call_after_init(lambda: complete(config, absl_flags.FLAGS))


def complete(config: Configuration, absl_flags: Any) -> None:
    """Take the values of the flags that the command line has set."""
    for name, flag in config.flags.items():
        found = absl_flags["jax_" + name] if "jax_" + name in absl_flags else None
        if not flag.internal and found is not None and found.present:
            config.update(name, found.value)


def parse(config: Configuration) -> None:
    """Define the absl flags, and read those of sys.argv that are ours; without absl, nothing."""
    try:
        absl_flags = importlib.import_module("absl.flags")  # by name: absl is nobody's dependency here
    except ImportError:
        return
    define(config)
    absl_flags.FLAGS([sys.argv[0], *[a for a in sys.argv[1:] if a.startswith(("--jax_", "--nojax_"))]], known_only=True)
    complete(config, absl_flags.FLAGS)
