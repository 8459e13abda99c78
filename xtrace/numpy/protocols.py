"""NumPy's functions called on tracers: `np.sin(tracer)` and `np.sum(tracer)` are traced, where JAX refuses them.

On concrete arrays NumPy's functions keep NumPy's meaning: they fetch the value and return NumPy arrays.
"""

from __future__ import annotations

import importlib
from typing import Any

from xtrace.core.trace import Tracer

#: Names of NumPy's that numpy of this package has under another one.
_RENAMED = {"conjugate": "conj", "absolute": "abs", "round_": "round", "product": "prod", "cumproduct": "cumprod"}


def _counterpart(function: Any) -> Any:
    """Our function of the same name and module (np.linalg, np.fft or np itself), or None."""
    module = getattr(function, "__module__", None) or "numpy"
    name = getattr(function, "__name__", "")
    ours = "xtrace.numpy"
    for part in ("linalg", "fft"):
        if module in (f"numpy.{part}", f"numpy.{part}._{part}", f"numpy.{part}._pocketfft"):
            ours = f"xtrace.numpy.{part}"
    found = getattr(importlib.import_module(ours), name, None)
    if found is None and name in _RENAMED:
        found = getattr(importlib.import_module(ours), _RENAMED[name], None)
    return found if callable(found) else None


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if kwargs.get("out") is not None:
        raise TypeError(
            f"numpy.{ufunc.__name__}: a traced array can't be written into a NumPy array (`out`); use the result"
        )
    function = _counterpart(ufunc)
    if function is None:
        return NotImplemented
    kwargs = {k: v for k, v in kwargs.items() if not (k == "where" and v is True) and v is not None}
    dtype = kwargs.pop("dtype", None)
    if method != "__call__":
        function = getattr(function, method, None)
        if function is None:
            return NotImplemented
        return function(*inputs, **kwargs, **({} if dtype is None else {"dtype": dtype}))
    if kwargs:
        raise TypeError(f"numpy.{ufunc.__name__} of a traced array takes no argument {', '.join(map(repr, kwargs))}")
    out = function(*inputs)
    return out if dtype is None else out.astype(dtype)


def _array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    function = _counterpart(func)
    if function is None:
        return NotImplemented
    return function(*args, **kwargs)


def install() -> None:
    """Set NumPy's protocols on tracers."""
    Tracer.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
    Tracer.__array_function__ = _array_function  # type: ignore[attr-defined]
