"""NumPy's interface on traced arrays. Modules load at the first use of one of their names."""

from __future__ import annotations

import importlib
from typing import Any

#: Module -> the public names it defines.
_MODULES: dict[str, str] = {
    "bits": "packbits unpackbits",
    "differences": "diff ediff1d gradient",
    "elementwise": (
        "abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh "
        "bitwise_and bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor cbrt ceil "
        "cos cosh divide equal exp exp2 expm1 fabs floor greater greater_equal invert left_shift less less_equal log "
        "log1p maximum minimum multiply negative nextafter not_equal positive right_shift sign sin sinh sqrt square "
        "subtract tan tanh true_divide"
    ),
    "inspecting": "iscomplex iscomplexobj isreal isrealobj isscalar iterable ndim shape size",
    "joining": (
        "append array_split block column_stack concat concatenate dsplit dstack hsplit hstack repeat resize split "
        "stack tile unstack vsplit vstack"
    ),
    "manipulation": (
        "astype atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to copy expand_dims flip "
        "fliplr flipud matrix_transpose moveaxis permute_dims ravel reshape roll rollaxis rot90 squeeze swapaxes "
        "transpose"
    ),
    "mapping": "apply_along_axis apply_over_axes piecewise select vectorize",
    "padding": "pad trim_zeros",
    "printing": "array_repr array_str get_printoptions printoptions set_printoptions",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
#: Modules that are public themselves.
_SUBMODULES = ("fft", "linalg")

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f"xtrace.numpy.{module}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"xtrace.numpy.{name}")
    raise AttributeError(f"module 'xtrace.numpy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_SUBMODULES})
