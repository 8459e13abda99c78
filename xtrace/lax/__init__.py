"""The primitives, one file per family, and the functions over them. Modules load at the first use of one of their names."""

from __future__ import annotations

import importlib
from typing import Any

#: Module -> the public names it defines.
_MODULES: dict[str, str] = {
    "joining": ("concatenate concatenate_p pad pad_p split split_p stack stack_p unstack unstack_p"),
    "random_bits": (
        "RandomAlgorithm rng_bit_generator rng_bit_generator_p rng_uniform rng_uniform_p"
    ),
    "shapes": (
        "broadcast broadcast_in_dim broadcast_in_dim_p broadcast_shapes broadcast_to_rank collapse "
        "convert_element_type convert_element_type_p expand_dims full reshape reshape_p rev rev_p squeeze squeeze_p "
        "tile tile_p transpose transpose_p"
    ),
    "slicing": (
        "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_slice_p dynamic_update_index_in_dim "
        "dynamic_update_slice dynamic_update_slice_in_dim dynamic_update_slice_p index_in_dim slice slice_in_dim slice_p"
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f"xtrace.lax.{module}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'xtrace.lax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
