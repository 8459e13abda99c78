"""Values between the points of grids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import numpy as xnp
from xtrace.core import statics
from xtrace.core.primitive import shaped
from xtrace.numpy import promotion
from xtrace.tree_util import register_pytree_node

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")


def _check_method(method: str) -> None:
    if method not in _METHODS:
        raise ValueError(f"method {method!r} is not defined: RegularGridInterpolator has 'linear' and 'nearest'")


class RegularGridInterpolator:
    """A function that interpolates values given on a rectangular grid; a tree of its arrays.

    Args:
      points: for each axis of the grid its coordinates [n_i], strictly increasing.
      values: [n_1, ..., n_d, ...].
      method: "linear" or "nearest".
      bounds_error: must be false: a compiled program cannot raise.
      fill_value: the value outside the grid; None: extrapolate.

    Raises:
      ValueError: an unknown method, more axes than values have, or a fill_value of another kind of dtype.
      NotImplementedError: bounds_error.

    >>> import numpy as np, xtrace as xt
    >>> grid = (np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    >>> at = xt.scipy.interpolate.RegularGridInterpolator(grid, np.array([[0.0, 2.0], [1.0, 3.0]]))
    >>> at(np.array([[0.5, 1.0]])).tolist()
    [1.5]
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        _check_method(method)
        if bounds_error:
            raise NotImplementedError("bounds_error has no effect in a compiled program; compare the points before")
        points = statics.parts(points, "points", "a sequence of arrays")
        promotion.check_arraylike("RegularGridInterpolator", values, *points)
        (values,) = promotion.promote_dtypes_inexact(values)
        if len(points) > shaped(values).ndim:
            raise ValueError(f"there are {len(points)} point arrays, but values has {shaped(values).ndim} dimensions")
        if fill_value is not None:
            promotion.check_arraylike("RegularGridInterpolator", fill_value)
            fill_value = xnp.asarray(fill_value)
            if not xnp.can_cast(fill_value.dtype, shaped(values).dtype, casting="same_kind"):
                raise ValueError("fill_value must be either 'None' or of a type compatible with values")
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self.grid = tuple(xnp.asarray(p) for p in points)
        self.values = values

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """Values at points xi: [..., d], or a tuple of d arrays that broadcast."""
        method = self.method if method is None else method
        _check_method(method)
        axes = len(self.grid)
        if isinstance(xi, tuple) and len(xi) == 1:
            xi = xi[0]
        if isinstance(xi, tuple):
            xi = xnp.stack(xnp.broadcast_arrays(*xi), -1)
        else:
            promotion.check_arraylike("RegularGridInterpolator", xi)
            xi = xnp.asarray(xi)
            xi = xi.reshape(-1, axes) if shaped(xi).ndim == 1 else xi
        if not shaped(xi).ndim:
            raise ValueError(f"RegularGridInterpolator takes points xi of shape [..., {axes}], got a scalar")
        *shape, found = shaped(xi).shape
        if found != axes:
            raise ValueError(
                f"the requested sample points xi have dimension {found}, but this RegularGridInterpolator has "
                f"dimension {axes}"
            )
        xi = xi.reshape(-1, axes)
        cells, parts, outside = [], [], xnp.zeros(shaped(xi).shape[:1], bool)
        for axis, grid in enumerate(self.grid):
            x = xi[:, axis]
            cell = xnp.clip(xnp.searchsorted(grid, x) - 1, 0, shaped(grid).size - 2)
            cells.append(cell)
            parts.append((x - grid[cell]) / (grid[cell + 1] - grid[cell]))
            outside = outside | (x < grid[0]) | (x > grid[-1])
        beyond = (slice(None), *[None] * (shaped(self.values).ndim - axes))  # the axes of values that are no grid's
        if method == "nearest":
            at = tuple(xnp.where(part <= 0.5, cell, cell + 1) for cell, part in zip(cells, parts, strict=True))
            out = self.values[at]
        else:
            out = 0
            for corner in itertools.product((0, 1), repeat=axes):
                weight = 1
                for up, part in zip(corner, parts, strict=True):
                    weight = weight * (part if up else 1 - part)
                at = tuple(cell + up for cell, up in zip(cells, corner, strict=True))
                out = out + self.values[at] * weight[beyond]
        if self.fill_value is not None:
            out = xnp.where(outside[beyond], self.fill_value, out)
        return out.reshape(*shape, *shaped(self.values).shape[axes:])


def _from_leaves(aux: Any, leaves: Any) -> RegularGridInterpolator:
    # Leaves of a tree may be anything, so none are checked.
    made = object.__new__(RegularGridInterpolator)
    made.grid, made.values, made.fill_value = leaves
    made.method, made.bounds_error = aux
    return made


register_pytree_node(
    RegularGridInterpolator, lambda r: ((r.grid, r.values, r.fill_value), (r.method, r.bounds_error)), _from_leaves
)
