"""What is written in brackets: index_exp and s_ return it, r_ and c_ make arrays of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core.primitive import shaped
from xtrace.numpy.creation import array
from xtrace.numpy.joining import concatenate
from xtrace.numpy.manipulation import expand_dims
from xtrace.numpy.ranges import arange, linspace

#: NumPy's own: they are of indices alone.
index_exp = np.index_exp
s_ = np.s_


class _Concatenation:
    """Arrays and ranges in brackets, joined along an axis.

    A slice is a range, of which a complex step is a number of points, both ends included. A first entry "axis",
    "axis,ndmin" or "axis,ndmin,trans1d" says along which axis, how many dimensions the parts get at least, and at which
    position the given dimensions of parts that have fewer come. "r" and "c" make a row or column of vectors.
    """

    def __init__(self, name: str, axis: int, ndmin: int, position: int, doc: str) -> None:
        self.name = name
        self.defaults = (axis, ndmin, position)
        self.__doc__ = f"{doc}\n\n    {type(self).__doc__}"

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        (axis, ndmin, position), matrix = self.defaults, None
        if isinstance(parts[0], str):
            directive = parts.pop(0)
            if directive in ("r", "c"):
                matrix = 0 if directive == "r" else 1
            else:
                try:
                    given = tuple([int(s) for s in directive.split(",")])[:3]
                except ValueError:
                    raise ValueError(f"{self.name}: could not understand directive {directive!r}") from None
                axis, ndmin, position = given + self.defaults[len(given) :]
        if any([isinstance(x, str) for x in parts]):
            raise ValueError(f"{self.name}: string directive must be placed at the beginning")
        out = concatenate([self._part(x, ndmin, position) for x in parts], axis)
        return expand_dims(out, matrix) if matrix is not None and shaped(out).ndim == 1 else out

    def _part(self, x: Any, ndmin: int, position: int) -> Any:
        if isinstance(x, slice):
            start, step = (0 if x.start is None else x.start), (1 if x.step is None else x.step)
            if x.stop is None:
                raise ValueError(f"{self.name}: a slice must have an end, got {x}")
            x = linspace(start, x.stop, int(abs(step))) if isinstance(step, complex) else arange(start, x.stop, step)
        else:
            x = array(x)
        given = x.ndim
        if given >= ndmin:
            return x
        x = lax.reshape(x, (*[1] * (ndmin - given), *x.shape))
        # Position -1 is the last one that the given dimensions can begin at, and leaves them there.
        added = ndmin - given
        first = position if position >= 0 else position + added + 1
        order = list(range(ndmin))
        return lax.transpose(x, order[:first] + order[added:] + order[first:added])

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"xtrace.numpy.{self.name}"


r_ = _Concatenation("r_", 0, 1, -1, "Join along the first axis: r_[0, 1:3, x] is a vector.")
c_ = _Concatenation("c_", -1, 2, 0, "Join vectors as columns: c_[x, y] has shape (n, 2).")

__all__ = ["c_", "index_exp", "r_", "s_"]
