"""Functions that neural networks are made of: activations, normalisation, attention, initializers.

Modules load at the first use of one of their names.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Module -> the public names it defines.
_MODULES: dict[str, str] = {
    "activations": (
        "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid mish relu relu6 "
        "selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh"
    ),
    "attention": "dot_product_attention",
    "block_scaling": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
    "encoding": "one_hot",
    "normalization": "log1mexp log_softmax logmeanexp logsumexp softmax standardize",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
#: Modules that are public themselves.
_SUBMODULES = ("initializers",)

__all__ = sorted([*_HOME, *_SUBMODULES])


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f"xtrace.nn.{module}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"xtrace.nn.{name}")
    raise AttributeError(f"module 'xtrace.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_SUBMODULES})
