"""platform_dependent: code that differs between platforms, chosen when the program is lowered for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive
from xtrace.core.trace import Tracer
from xtrace.lax.control_flow import conditionals

#: For each branch the platforms it is for; None: all that no other branch names.
Platforms = tuple[tuple[str, ...] | None, ...]

_INDEX = ShapedArray((), np.dtype(np.int32))

platform_index_p = Primitive("platform_index", lambda *, platforms: _INDEX)


def branch_for(platform: str, platforms: Platforms) -> int | None:
    """Which branch is for `platform`; None: none is."""
    for i, names in enumerate(platforms):
        if names is not None and platform in names:
            return i
    return platforms.index(None) if None in platforms else None


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """The result of the function given for the platform where the program runs.

    All functions are traced; the choice is made when the program is lowered for a platform, and those not chosen are
    never compiled. In a program lowered for several platforms a conditional on the platform remains.

    Args:
      args: arrays or pytrees that the functions take.
      default: the function for platforms that aren't named.
      per_platform: functions by platform: cpu, cuda, rocm, tpu.

    Returns:
      What the chosen function returns. All return the same structure of arrays of the same types.

    Raises:
      TypeError: a branch is not a function, or results differ. ValueError: no branch, or one for "gpu".
      NotImplementedError: the program is lowered for a platform that has no branch.

    Example:
      >>> import xtrace as xt
      >>> float(xt.lax.platform_dependent(3.0, tpu=lambda x: -x, default=lambda x: 2 * x))
      6.0
    """
    functions: list[Callable[..., Any]] = []
    names: list[tuple[str, ...] | None] = []
    for platform, fun in per_platform.items():
        if not callable(fun):
            raise TypeError(f"lax.platform_dependent: the '{platform}' branch must be a callable, got {fun!r}.")
        if platform == "gpu":
            raise ValueError("Use 'cuda', 'rocm', or 'oneapi' for lax.platform_dependent: 'gpu' names no one platform.")
        same = [i for i, other in enumerate(functions) if other == fun]
        if same:
            names[same[0]] = (*(names[same[0]] or ()), platform)
        else:
            functions.append(fun)
            names.append((platform,))
    if default is not None:
        if not callable(default):
            raise TypeError(f"lax.platform_dependent: the 'default' branch must be a callable, got {default!r}.")
        functions.append(default)
        names.append(None)
    if not functions:
        raise ValueError("lax.platform_dependent: give a function for at least one platform, or default.")
    platforms = tuple(names)
    index = platform_index_p.bind(platforms=platforms)
    if not isinstance(index, Tracer):
        return functions[int(index)](*args)
    labels = ["the default branch" if n is None else f"the branch for {' and '.join(n)}" for n in names]
    what = "platform_dependent"
    return conditionals.conditional(what, index, labels, functions, args, labels, branches_platforms=platforms)


__all__ = ["branch_for", "platform_dependent", "platform_index_p"]
