"""Functions applied along axes, over broadcast dimensions, or piece by piece."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from xtrace import lax
from xtrace.core import dtypes, pytree, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import shapes as _shapes
from xtrace.numpy import manipulation
from xtrace.numpy.arguments import as_array, canonical_axis, common_shape
from xtrace.numpy.promotion import check_arraylike
from xtrace.transforms import batching

_registry = pytree.default_registry


def _map(function: Callable[..., Any], args: Sequence[Any], dims: Sequence[int | None], size: int, out_dim: int) -> Any:
    """`function` of each slice of the arguments along `dims`; the results stacked along `out_dim` of each leaf."""
    tree = None

    def flat(*leaves: Any) -> Sequence[Any]:
        nonlocal tree
        leaves, tree = _registry.flatten(function(*leaves))
        return leaves  # type: ignore[return-value]

    outs, found = batching.batch_flat(flat, batching.MappedAxis(size), args, dims)
    outs = [
        batching.move_axis(o, d, out_dim if out_dim >= 0 else shaped(o).ndim + out_dim + (d is None), size)
        for o, d in zip(outs, found, strict=True)
    ]
    return pytree.tree_unflatten(tree, outs)


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of one-dimensional arrays applied to every row along an axis.

    Args:
      func1d: takes a one-dimensional array; what it returns takes the place of the axis. It may return a pytree.
      axis: the axis along which the rows lie.
      arr: array with at least one dimension.
      *args, **kwargs: passed on to `func1d`.

    Returns:
      What `func1d` returns for the rows, stacked; or a pytree of such arrays.

    >>> import xtrace.numpy as xnp
    >>> xnp.apply_along_axis(lambda row: row[::-1] - row[0], 1, xnp.array([[1, 2], [5, 9]])).tolist()
    [[1, 0], [4, 0]]
    """
    statics.check_callable("apply_along_axis: func1d", func1d)
    x = as_array("apply_along_axis", arr)
    ndim = x.aval.ndim
    axis = canonical_axis(axis, ndim)

    def function(row: Any) -> Any:
        return func1d(row, *args, **kwargs)

    # Axes after the row's come back behind those of the result, axes before it in front of them.
    for i in range(1, ndim - axis):
        function = functools.partial(_map_one, function, i, x.aval.shape[axis + i], -1)
    for i in range(axis - 1, -1, -1):
        function = functools.partial(_map_one, function, 0, x.aval.shape[i], 0)
    return function(x)


def _map_one(function: Callable[[Any], Any], dim: int, size: int, out_dim: int, x: Any) -> Any:
    return _map(function, [x], [dim], size, out_dim)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Any:
    """A reduction applied along one axis after the other; reduced axes stay, with size 1.

    Args:
      func: called as func(array, axis); returns an array with the same number of dimensions, or one less.
      a: array of any shape.
      axes: the axes, in order.

    Returns:
      The reduced array.

    Raises:
      ValueError: `func` returned another number of dimensions.

    >>> import xtrace.numpy as xnp
    >>> xnp.apply_over_axes(lambda x, axis: x.sum(axis), xnp.ones((2, 3)), [0, 1])
    Array([[6.]], dtype=float32)
    """
    statics.check_callable("apply_over_axes: func", func)
    x = as_array("apply_over_axes", a)
    for axis in statics.integers(axes if hasattr(axes, "__iter__") else (axes,), "axes"):
        ndim = x.aval.ndim
        axis = canonical_axis(axis, ndim)
        out = as_array("apply_over_axes", func(x, axis))
        if out.aval.ndim == ndim - 1:
            out = manipulation.expand_dims(out, axis)
        elif out.aval.ndim != ndim:
            raise ValueError(
                f"function is not returning an array of the correct shape: from an array of {ndim} dimensions it made "
                f"one of {out.aval.ndim}, expected {ndim} or {ndim - 1}"
            )
        x = out
    return x


# -- vectorize ---------------------------------------------------------------------------------------------------

_NAME = r"\w+"
_CORE = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_SIGNATURE = re.compile(rf"{_CORE}(?:,{_CORE})*->{_CORE}(?:,{_CORE})*")

Core = tuple[str, ...]


def _parse(signature: str) -> tuple[list[Core], list[Core]]:
    """Core dimensions of the inputs and of the outputs, of a signature such as `(m,n),(n)->(m)`."""
    statics.check_instance(signature, str, "signature", "a string, such as '(m,n),(n)->(m)',")
    compact = "".join(signature.split())
    if not _SIGNATURE.fullmatch(compact):
        raise ValueError(f"not a valid gufunc signature: {signature!r}; one looks like '(m,n),(n)->(m)'")
    sides = [
        [tuple([name for name in core[1:-1].split(",") if name]) for core in re.findall(_CORE, side)]
        for side in compact.split("->")
    ]
    return sides[0], sides[1]


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """A function of small arrays as a function of arrays with any leading dimensions, which broadcast.

    Args:
      pyfunc: a function of scalars, or of arrays of the shapes that `signature` names.
      excluded: positions and names of arguments that are passed on whole.
      signature: core dimensions of inputs and outputs, such as "(m,n),(n)->(m)"; None means scalars.

    Returns:
      The broadcasting function. Keyword arguments are passed on whole.

    Raises:
      TypeError, ValueError: `excluded` or `signature` are malformed; on a call, arguments don't fit the signature.

    >>> import xtrace.numpy as xnp
    >>> dots = xnp.vectorize(lambda u, v: (u * v).sum(), signature="(n),(n)->()")
    >>> dots(xnp.ones((3, 2)), xnp.ones(2))
    Array([2., 2., 2.], dtype=float32)
    """
    statics.check_callable("vectorize: pyfunc", pyfunc)
    for e in statics.parts(excluded, "excluded", "a set of integers and strings"):
        if not isinstance(e, (int, str)):
            raise TypeError(
                f"numpy.vectorize can only exclude integer or string arguments, but excluded={set(excluded)!r}"
            )
        if isinstance(e, int) and e < 0:
            raise ValueError(f"excluded={set(excluded)!r} contains negative numbers")
    cores = None if signature is None else _parse(signature)
    context = f"on vectorized function with excluded={set(excluded) or '{}'} and signature={signature!r}"

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        mapped = [i for i in range(len(args)) if i not in excluded]
        in_cores = cores[0] if cores is not None else [()] * len(mapped)
        if len(in_cores) != len(mapped):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(in_cores)}, got {len(mapped)} {context}"
            )
        arrays = []
        for i in mapped:
            x = args[i]
            if isinstance(x, (list, tuple)):
                import xtrace.numpy as xnp

                x = xnp.asarray(x)
            arrays.append(None if x is None else as_array("vectorize", x))
        absent = {i for i, x in zip(mapped, arrays, strict=True) if x is None}
        if absent and cores is not None:
            raise ValueError(
                f"Cannot pass None at locations {absent} with signature={signature!r}: name them in excluded"
            )
        sizes: dict[str, int] = {}
        outer = [_outer_shape(x, core, sizes, context) for x, core in zip(arrays, in_cores, strict=True)]
        broadcast = common_shape(outer)

        def whole(*values: Any) -> Any:
            merged = list(args)
            for i, v in zip(mapped, values, strict=True):
                merged[i] = v
            out = pyfunc(*merged, **kwargs)
            return out if cores is None else _checked(out, cores[1], sizes, context)

        function: Callable[..., Any] = whole
        # One map for each broadcast dimension, the innermost first; where an argument has no such dimension, or one of
        # size 1, it isn't mapped.
        ranks = [len(s) for s in outer]
        squeezed = [
            x if x is None else manipulation.squeeze(x, tuple([i for i, d in enumerate(s) if d == 1]))
            for x, s in zip(arrays, outer, strict=True)
        ]
        for level in range(len(broadcast) - 1, -1, -1):
            places = [level - (len(broadcast) - r) for r in ranks]
            dims = [0 if p >= 0 and s[p] != 1 else None for p, s in zip(places, outer, strict=True)]
            if any(d is not None for d in dims):
                function = functools.partial(_map_many, function, dims, broadcast[level])
        out = function(*squeezed)
        ones = [level for level, d in enumerate(broadcast) if d == 1]
        return pytree.tree_map(lambda o: manipulation.expand_dims(o, tuple(ones)), out) if ones else out

    return functools.wraps(pyfunc)(vectorized) if hasattr(pyfunc, "__name__") else vectorized


def _map_many(function: Callable[..., Any], dims: Sequence[int | None], size: int, *args: Any) -> Any:
    present = [i for i, x in enumerate(args) if x is not None]

    def some(*values: Any) -> Any:
        merged: list[Any] = [None] * len(args)
        for i, v in zip(present, values, strict=True):
            merged[i] = v
        return function(*merged)

    return _map(some, [args[i] for i in present], [dims[i] for i in present], size, 0)


def _outer_shape(x: Any, core: Core, sizes: dict[str, int], context: str) -> tuple[int, ...]:
    """The dimensions of `x` before its core ones, whose sizes are entered in `sizes` and compared."""
    if x is None:
        return ()
    shape = x.aval.shape
    if len(shape) < len(core):
        raise ValueError(
            f"input with shape {shape} does not have enough dimensions for all core dimensions {core} {context}"
        )
    split = len(shape) - len(core)
    for name, size in zip(core, shape[split:], strict=True):
        known = sizes.setdefault(name, size)
        if known != size:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {size} vs {known} {context}")
    return shape[:split]


def _checked(out: Any, cores: list[Core], sizes: dict[str, int], context: str) -> Any:
    """What the function returned, compared with the outputs of the signature."""
    if len(cores) > 1 and not isinstance(out, tuple):
        raise TypeError(f"output must be a tuple when multiple outputs are expected, got: {out!r}\n{context}")
    outs = out if isinstance(out, tuple) else (out,)
    if len(outs) != len(cores):
        raise TypeError(f"wrong number of output arguments: expected {len(cores)}, got {len(outs)} {context}")
    for o, core in zip(outs, cores, strict=True):
        shape = shaped(o).shape
        if len(shape) != len(core):
            raise ValueError(f"output shape {shape} does not match core dimensions {core} {context}")
        for name, size in zip(core, shape, strict=True):
            known = sizes.setdefault(name, size)
            if known != size:
                raise ValueError(f"inconsistent size for core dimension {name!r}: {size} vs {known} {context}")
    return out


# -- choosing among values ---------------------------------------------------------------------------------------


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Elements from the first choice whose condition holds.

    Args:
      condlist: boolean arrays, one for each choice.
      choicelist: arrays to choose from; all broadcast together.
      default: where no condition holds.

    Returns:
      An array of the common shape and dtype.

    Raises:
      ValueError: the lists are empty or differ in length.

    >>> import xtrace.numpy as xnp
    >>> x = xnp.arange(5)
    >>> xnp.select([x < 2, x < 4], [x, x * 10], -1)
    Array([ 0,  1, 20, 30, -1], dtype=int32)
    """
    condlist = statics.parts(condlist, "condlist", "a sequence of arrays")
    choicelist = statics.parts(choicelist, "choicelist", "a sequence of arrays")
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)}): "
            "one condition a choice"
        )
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    return _select(list(condlist), list(choicelist), default)


@composite
def _select(conditions: list[Any], choices: list[Any], default: Any) -> Any:
    dtype, weak = dtypes.promote(tuple([dtypes.of_value(v) for v in (*choices, default)]))
    shape = common_shape([shaped(v).shape for v in (*conditions, *choices, default)])
    out = _spread(default, shape, dtype, weak)
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        out = lax.select_n(_truth(condition, shape), out, _spread(choice, shape, dtype, weak))
    return out


def _spread(x: Any, shape: tuple[int, ...], dtype: Any, weak: bool) -> Any:
    """`x` of the dtype given, broadcast to `shape`."""
    x = _shapes.convert(x, dtype, weak)
    old = shaped(x).shape
    return (
        x
        if old == shape and hasattr(x, "aval")
        else lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(old), len(shape))))
    )


def _truth(condition: Any, shape: tuple[int, ...]) -> Any:
    aval = shaped(condition)
    if not dtypes.is_bool(aval.dtype):
        condition = lax.ne(condition, lax.full(aval.shape, aval.dtype.type(0), aval.dtype))
    return _spread(condition, shape, dtypes.bool_, False)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """A function defined by pieces: where several conditions hold, the last one counts.

    Args:
      x: array of any shape.
      condlist: boolean arrays of the shape of `x`, or one such array for a single piece.
      funclist: for each condition a function of an element of `x`, or a number; one more is for where none holds (0).
      *args, **kw: passed on to the functions.

    Returns:
      An array of the shape and dtype of `x`.

    Raises:
      ValueError: there are as many functions as neither the conditions nor one more.

    >>> import xtrace.numpy as xnp
    >>> x = xnp.array([-2.0, 0.5, 3.0])
    >>> xnp.piecewise(x, [x < 0, x > 1], [-1, 1, lambda v: v * 10])
    Array([-1.,  5.,  1.], dtype=float32)
    """
    x = as_array("piecewise", x)
    if isinstance(condlist, (list, tuple)):
        conditions = [as_array("piecewise", c) for c in condlist]
    else:
        condition = as_array("piecewise", condlist)
        conditions = [condition] if condition.aval.shape == x.aval.shape else list(lax.unstack(condition, 0))
    count, functions = len(conditions), list(statics.parts(funclist, "funclist", "a sequence of functions and numbers"))
    if len(functions) == count:
        functions.append(0)
    elif len(functions) != count + 1:
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are expected; got {len(functions)}"
        )
    return _piecewise(x, conditions, functions, args, kw)


def _piecewise(x: Any, conditions: list[Any], functions: list[Any], args: Any, kw: Any) -> Any:
    aval = x.aval
    shape = aval.shape

    def piece(f: Any) -> Any:
        if not callable(f):
            return _spread(f, shape, aval.dtype, False)
        function = functools.partial(_convert_result, lambda v: f(v, *args, **kw), aval.dtype)
        for d in shape[::-1]:
            function = functools.partial(_map_one, function, 0, d, 0)
        return function(x)

    out = piece(functions[-1])
    for condition, f in zip(conditions, functions[:-1], strict=True):
        out = lax.select_n(_truth(condition, shape), out, piece(f))
    return out


def _convert_result(function: Callable[[Any], Any], dtype: Any, v: Any) -> Any:
    return _shapes.convert(function(v), dtype, False)


__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "select", "vectorize"]
