"""Universal functions as objects: `add(x, y)`, and `add.reduce`, `accumulate`, `at`, `outer`, `reduceat`.

The functions themselves are those of `elementwise` and its neighbours; the methods are in `ufunc_methods`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from xtrace.core import statics
from xtrace.core.composite import composite
from xtrace.numpy import elementwise, elementwise_logic, elementwise_math


class ufunc(functools.partial):  # noqa: N801  (NumPy's name)
    """A function of scalars applied elementwise to broadcast arrays, with methods that apply it along an axis.

    Calling one is calling the function it wraps: `partial` does that in C, in 0.02 µs, where a method `__call__` of a
    Python class takes 0.08.

    Args:
      func: the function of scalars.
      nin, nout: how many arguments it takes and results it returns.
      name: its name; by default that of `func`.
      nargs: how many arguments count as operands; by default `nin`.
      identity: the value that changes nothing, or None.
      call: what is called with arrays; by default `func`, vectorized.
      reduce, accumulate, at, reduceat: functions that do what the methods of these names do, in place of loops.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.add.reduce(np.array([1, 2, 3])).item(), xt.numpy.multiply.outer(np.arange(2), np.arange(3)).shape
    (6, (2, 3))
    """

    def __new__(
        cls,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        identity: Any = None,
        nargs: int | None = None,
        name: str | None = None,
        at: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        call: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
    ) -> ufunc:
        self = super().__new__(cls, _vectorized(func) if call is None else call)
        self.__name__ = self.__qualname__ = name or getattr(func, "__name__", "ufunc")
        self.__doc__ = getattr(func, "__doc__", None)
        nin = statics.integer(nin, "nin")
        self._facts = (func, nin, statics.integer(nout, "nout"), statics.integer(nargs or nin, "nargs"), identity)
        self._ways = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}
        return self

    _func = property(lambda self: self._facts[0])
    nin = property(lambda self: self._facts[1], doc="How many arguments it takes.")
    nout = property(lambda self: self._facts[2], doc="How many results it returns.")
    nargs = property(lambda self: self._facts[3], doc="How many arguments count as operands.")
    identity = property(lambda self: self._facts[4], doc="The value that changes nothing, or None.")

    def __hash__(self) -> int:
        return hash((self.__name__, self._facts))

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            isinstance(other, ufunc) and self.__name__ == other.__name__ and self._facts == other._facts
        )

    def __repr__(self) -> str:
        return f"<xtrace.numpy.ufunc '{self.__name__}'>"

    def __reduce__(self) -> Any:
        if self is globals().get(self.__name__):
            return self.__name__
        func, nin, nout, nargs, identity = self._facts
        return functools.partial(ufunc, name=self.__name__, nargs=nargs, identity=identity), (func, nin, nout)

    def _operates_on_pairs(self, method: str, out: Any = None) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs; {self.__name__} takes {self.nin} arguments")
        if self.nout != 1:
            raise ValueError(
                f"{method} only supported for functions returning a single value; {self.__name__} returns {self.nout}"
            )
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.{method}(): arrays can't be written to")

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """Combine the elements along an axis, from the first to the last.

        Args:
          a: array.
          axis: axis, tuple of axes, or None for all.
          dtype: dtype to compute in and return.
          out: not supported.
          keepdims: whether reduced axes stay, with size 1.
          initial: value to begin with.
          where: boolean array that broadcasts with `a`: which elements take part.

        Raises:
          ValueError: nothing to combine and no identity or `initial`; a function that doesn't take two arguments.
        """
        from xtrace.numpy import ufunc_methods

        self._operates_on_pairs("reduce", out)
        return ufunc_methods.reduce(self, a, axis, dtype, keepdims, initial, where)

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """Combine the elements along an axis, and return every result on the way: an array of the shape of `a`.

        Args:
          a: array.
          axis: which axis.
          dtype: dtype to compute in and return.
          out: not supported.

        Raises:
          ValueError: several axes, or a function that doesn't take two arguments.
        """
        from xtrace.numpy import ufunc_methods

        self._operates_on_pairs("accumulate", out)
        return ufunc_methods.accumulate(self, a, axis, dtype)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """A copy of `a` with the function applied to the elements at `indices`, once for each time they occur.

        Args:
          a: array.
          indices: as in `a[indices]`.
          b: the second operand of binary functions, which broadcasts with `a[indices]`.
          inplace: must be False: arrays can't be written to.
        """
        from xtrace.numpy import ufunc_methods

        if inplace:
            raise NotImplementedError(
                f"numpy.{self.__name__}.at can't write into an array: pass inplace=False and take the result, as in "
                f"a = {self.__name__}.at(a, indices, ..., inplace=False)"
            )
        return ufunc_methods.at(self, a, indices, b)

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """Combine the elements of parts of an axis: from each index to the next (or that element alone).

        Args:
          a: array.
          indices: vector of integers: where the parts begin.
          axis: which axis.
          dtype: dtype of the result.
          out: not supported.
        """
        from xtrace.numpy import ufunc_methods

        self._operates_on_pairs("reduceat", out)
        return ufunc_methods.reduceat(self, a, indices, axis, dtype)

    def outer(self, A: Any, B: Any, /) -> Any:
        """Apply the function to all pairs of elements: an array of shape (*A.shape, *B.shape)."""
        from xtrace.numpy import ufunc_methods

        self._operates_on_pairs("outer")
        return ufunc_methods.outer(self, A, B)


def _vectorized(func: Callable[..., Any]) -> Callable[..., Any]:
    made: Callable[..., Any] | None = None

    def call(*args: Any) -> Any:
        nonlocal made
        if made is None:
            from xtrace.numpy.mapping import vectorize

            made = composite(vectorize(func))
        return made(*args)

    return call


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Make a ufunc of a function of scalars.

    Args:
      func: takes `nin` scalars and returns `nout` of them.
      nin, nout: how many.
      identity: the value that changes nothing when combined with another, if there is one.

    Returns:
      The ufunc.

    >>> import numpy as np, xtrace as xt
    >>> longest = xt.numpy.frompyfunc(lambda x, y: xt.numpy.sqrt(x * x + y * y), nin=2, nout=1, identity=0)
    >>> longest.reduce(np.float32([2, 3, 6])).item()
    7.0
    """
    return ufunc(func, nin, nout, identity=identity)


def _way(module: str, name: str) -> Callable[..., Any]:
    """The function `name` of another module of numpy, which is loaded at the first call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        import importlib

        return getattr(importlib.import_module(f"xtrace.numpy.{module}"), name)(*args, **kwargs)

    return call


#: Function -> (identity, the function that reduces, the one that accumulates, the update of `x.at[...]`).
_TABLE: dict[str, tuple[Any, str | None, str | None, str | None]] = {
    "add": (0, "reductions.sum", "cumulative.cumsum", "add"),
    "multiply": (1, "reductions.prod", "cumulative.cumprod", "multiply"),
    "maximum": (None, "ufunc_methods.reduce_max", None, "max"),
    "minimum": (None, "ufunc_methods.reduce_min", None, "min"),
    "subtract": (None, None, None, "subtract"),
    "bitwise_and": (-1, "ufunc_methods.reduce_and", None, None),
    "bitwise_or": (0, "ufunc_methods.reduce_or", None, None),
    "bitwise_xor": (0, "ufunc_methods.reduce_xor", None, None),
    "logaddexp": (-math.inf, "ufunc_methods.reduce_logaddexp", None, None),
    "logaddexp2": (-math.inf, "ufunc_methods.reduce_logaddexp2", None, None),
    "logical_and": (True, "ufunc_methods.reduce_all", None, None),
    "logical_or": (False, "ufunc_methods.reduce_any", None, None),
    "logical_xor": (False, "ufunc_methods.reduce_parity", None, None),
}


def _binary(name: str, function: Callable[..., Any]) -> Any:
    identity, reduce, accumulate, update = _TABLE[name]
    made = ufunc(
        function,
        2,
        1,
        identity=identity,
        call=function,
        reduce=None if reduce is None else _way(*reduce.split(".")),
        accumulate=None if accumulate is None else _way(*accumulate.split(".")),
        at=None if update is None else functools.partial(_way("ufunc_methods", "update"), update),
    )
    made.__module__ = __name__
    return made


add = _binary("add", elementwise.add)
bitwise_and = _binary("bitwise_and", elementwise.bitwise_and)
bitwise_or = _binary("bitwise_or", elementwise.bitwise_or)
bitwise_xor = _binary("bitwise_xor", elementwise.bitwise_xor)
logaddexp = _binary("logaddexp", elementwise_math.logaddexp)
logaddexp2 = _binary("logaddexp2", elementwise_math.logaddexp2)
logical_and = _binary("logical_and", elementwise_logic.logical_and)
logical_or = _binary("logical_or", elementwise_logic.logical_or)
logical_xor = _binary("logical_xor", elementwise_logic.logical_xor)
maximum = _binary("maximum", elementwise.maximum)
minimum = _binary("minimum", elementwise.minimum)
multiply = _binary("multiply", elementwise.multiply)
negative = ufunc(elementwise.negative, 1, 1, call=elementwise.negative)
negative.__module__ = __name__
subtract = _binary("subtract", elementwise.subtract)
