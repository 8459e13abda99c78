"""Einstein summation: parsed once for each subscripts and shapes, carried out as contractions of two operands."""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import composite, config, dtypes, statics
from xtrace.core.primitive import shaped
from xtrace.core.records import Record
from xtrace.core.trace import current
from xtrace.lax import comparisons, creation, selection, shapes
from xtrace.lax import dots as lax_dots
from xtrace.lax import elementwise as el
from xtrace.lax.precision import canonical_precision
from xtrace.numpy import reductions as red
from xtrace.numpy.contraction import Contraction, contract, plan_contraction, sizes_of, sum_over
from xtrace.numpy.dots import product_dtype
from xtrace.numpy.reductions import operand
from xtrace.transforms.placement import held

_enable_x64 = config.enable_x64.state
_dtype_promotion = config.numpy_dtype_promotion
#: How numpy names the ways to look for a contraction order. Others have no counterpart: the best way that is quick.
_METHODS = {"greedy": "greedy", "optimal": "optimal"}
_FEW = 6  # operands for which all orders can be tried


class _Pair(Record):
    __slots__ = ("positions", "contraction")

    positions: tuple[int, int]
    contraction: Contraction


class _Single(Record):
    __slots__ = ("position", "diagonals", "squeezed", "summed", "permutation")

    position: int
    diagonals: tuple[tuple[int, ...], ...]  # groups of dimensions with one label
    squeezed: tuple[int, ...]
    summed: tuple[int, ...]
    permutation: tuple[int, ...] | None


class _Program(Record):
    __slots__ = ("steps", "dtype", "weak", "broadcast")

    steps: tuple[_Pair | _Single, ...]
    dtype: Any
    weak: bool
    broadcast: tuple[int, ...] | None


_programs: dict[Any, _Program] = {}
_compiled: dict[Any, Callable[..., Any]] = {}


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Callable[..., Any] = lax_dots.dot_general,
    out_sharding: Any = None,
) -> Any:
    """Sum of products of elements, described by a letter for each dimension.

    Args:
      subscripts: letters of the operands' dimensions, then of the result's, as in "ij,jk->ik". Letters that the result
        lacks are summed over; without "->" it has those that occur once, in alphabetical order. "..." stands for any
        number of dimensions, which broadcast. The operands may also come with lists of integers in place of letters:
        `einsum(x, [0, 1], y, [1, 2], [0, 2])`.
      operands: arrays.
      out: not supported.
      optimize: how to choose the order of contractions: "auto", "optimal", "greedy", False (from left to right), or a
        list of tuples of positions as `einsum_path` returns it.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.
      out_sharding: sharding of the result, if it should have a particular one.

    Returns:
      The result.

    Raises:
      ValueError: subscripts that are malformed, or don't fit the operands.
      NotImplementedError: `out` is given.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.einsum("ij,j->i", np.array([[1, 2], [3, 4]]), np.array([1, 1])).tolist()
    [3, 7]
    """
    if out is not None:
        red.refuse_out("einsum", out)
    if type(subscripts) is not str:
        subscripts, operands = _as_string(subscripts, operands)
    method = optimize
    if isinstance(optimize, (list, tuple)):
        method = tuple([statics.integers(p, "optimize") for p in optimize if p != "einsum_path"])
    elif not isinstance(optimize, (bool, str)):
        statics.refuse("optimize", optimize, "True, False, the name of a method or a path")
    if preferred_element_type is not None:
        preferred_element_type = dtypes.canonical_dtype(preferred_element_type)
    custom = None if _dot_general is lax_dots.dot_general else _dot_general
    if custom is not None:
        statics.check_callable("einsum: _dot_general", custom)
    if current.trace is not None:
        out = _evaluate(subscripts, operands, method, precision, preferred_element_type, custom)
        return held("einsum", out, out_sharding)
    key = (subscripts, method, precision, preferred_element_type, custom)
    run = _compiled.get(key)
    if run is None:

        def einsum(*operands: Any) -> Any:
            return _evaluate(subscripts, operands, method, precision, preferred_element_type, custom)

        if len(_compiled) > 4096:
            _compiled.clear()
        run = _compiled[key] = composite.compiled(einsum)
    for x in operands:
        operand("einsum", x)
    out = run(*operands)
    return out if out_sharding is None else held("einsum", out, out_sharding)


def _evaluate(
    subscripts: str,
    operands: Sequence[Any],
    method: Any,
    precision: Any,
    preferred: Any,
    custom: Callable[..., Any] | None,
) -> Any:
    values = [x if hasattr(x, "aval") else operand("einsum", x) for x in operands]
    avals = tuple([shaped(x) for x in values])
    key = (subscripts, avals, method, preferred, _enable_x64.value, _dtype_promotion.value)
    program = _programs.get(key)
    if program is None:
        if len(_programs) > 10_000:
            _programs.clear()
        dtype, weak = product_dtype(preferred, *values)
        program = _programs[key] = _compile(subscripts, [a.shape for a in avals], method, dtype, weak)
    precision = canonical_precision(precision)
    for step in program.steps:
        if type(step) is _Pair:
            i, j = step.positions
            a, b = values[i], values[j]
            del values[j], values[i]
            values.append(contract(step.contraction, a, b, precision, program.dtype, custom))
        else:
            values[step.position] = _single(step, values[step.position])  # type: ignore[union-attr,call-overload,arg-type]
    (result,) = values
    if program.broadcast is not None:
        result = red.broadcast(result, program.broadcast)
    return shapes.convert(result, program.dtype, program.weak)


def _single(step: _Single, x: Any) -> Any:
    """Diagonals, squeezed and summed dimensions, then the permutation."""
    for group in step.diagonals:
        shape = shaped(x).shape
        first, *others = group
        zeros = red.filled(shape, el.scalar_like(x, 0))
        for d in others:
            row, column = (creation.broadcasted_iota(dtypes.uint32, shape, k) for k in (first, d))
            x = selection.select(comparisons.eq(row, column), x, zeros)
    if step.squeezed:
        x = shapes.squeeze(x, step.squeezed)
    if step.summed:
        x = sum_over(x, step.summed)
    return x if step.permutation is None else shapes.transpose(x, step.permutation)


# -- parsing -----------------------------------------------------------------------------------------------------------


def _as_string(first: Any, rest: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """The other way to call einsum, operands and lists of integers in turn, as subscripts and operands."""
    arguments = [first, *rest]
    result = arguments.pop() if len(arguments) % 2 else None
    operands, lists = arguments[::2], arguments[1::2]
    letters = string.ascii_letters

    def text(labels: Any) -> str:
        try:
            return "".join(["..." if x is Ellipsis else letters[x.__index__()] for x in labels])
        except (TypeError, AttributeError, IndexError):
            raise ValueError(
                f"einsum: labels must be integers from 0 to {len(letters) - 1} or Ellipsis, got {labels}"
            ) from None

    subscripts = ",".join([text(x) for x in lists])
    return subscripts if result is None else f"{subscripts}->{text(result)}", tuple(operands)


def _parse(subscripts: str, given: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """Labels of each operand and of the result, ellipses replaced by letters."""
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(given):
        raise ValueError(
            f"Number of einsum subscripts, {len(terms)}, must be equal to the number of operands, {len(given)}: "
            f"{subscripts!r}."
        )
    for term in (*terms, result):
        rest = term.replace("...", "", 1)
        if not all([c.isalpha() for c in rest]):
            bad = next(c for c in rest if not c.isalpha())
            raise ValueError(f"einsum subscripts are letters, '...', ',' and '->'; got {bad!r} in {subscripts!r}.")
    unused = [c for c in string.ascii_letters if c not in text]
    hidden = []
    for i, (term, shape) in enumerate(zip(terms, given)):
        missing = len(shape) - len(term.replace("...", ""))
        if missing < 0 or (missing and "..." not in term):
            raise ValueError(
                f"Einstein sum subscript {term!r} does not contain the correct number of indices for operand {i}, of "
                f"shape {shape}."
            )
        hidden.append(missing)
    rank = max(hidden, default=0)
    if rank > len(unused):
        raise ValueError(
            f"einsum: {subscripts!r} leaves too few letters for the {rank} dimensions that '...' stands for."
        )
    # Ellipses broadcast from the right.
    ellipsis = "".join(unused[:rank])
    expanded = [t.replace("...", ellipsis[rank - n :]) for t, n in zip(terms, hidden)]
    if arrow:
        result = result.replace("...", ellipsis)
    else:
        letters = "".join(terms).replace(".", "")
        result = ellipsis + "".join(sorted([c for c in set(letters) if letters.count(c) == 1]))
    for c in result:
        if result.count(c) > 1:
            raise ValueError(f"Output character {c!r} appeared more than once in the output of {subscripts!r}.")
        if not any([c in t for t in expanded]):
            raise ValueError(f"Output character {c!r} of {subscripts!r} did not appear in the input.")
    return expanded, result


def _compile(subscripts: str, given: Sequence[tuple[int, ...]], method: Any, dtype: Any, weak: bool) -> _Program:
    terms, result = _parse(subscripts, given)
    sizes = sizes_of(list(zip(terms, given)), "einsum")
    shapes_ = [list(s) for s in given]
    steps: list[_Pair | _Single] = []
    for i, term in enumerate(terms):  # diagonals first: afterwards, labels of an operand are distinct
        if len(set(term)) < len(term):
            step, terms[i], shapes_[i] = _diagonal(i, term, shapes_[i], sizes)
            steps.append(step)
    live = [(t, tuple(s)) for t, s in zip(terms, shapes_)]
    for group in _path(live, result, method):
        while len(group) > 1:
            i, j = sorted(group[:2])
            (left, left_shape), (right, right_shape) = live[i], live[j]
            others = [t for k, (t, _) in enumerate(live) if k not in (i, j)]
            needed = set(result).union(*others)
            kept = [c for c in dict.fromkeys(left + right) if c in needed]
            if len(live) == 2:
                kept = list(result)
            contraction = plan_contraction(left, left_shape, right, right_shape, kept, "einsum")
            if not others:
                kept = [c for c in kept]
            elif contraction.permutation is not None:  # the order doesn't matter in between
                order = [kept[k] for k in np.argsort(contraction.permutation)]
                kept, contraction = order, contraction.replace(permutation=None)
            steps.append(_Pair((i, j), contraction))
            both: dict[str, int] = {}
            for c, d in (*zip(left, left_shape), *zip(right, right_shape)):
                both[c] = d if both.get(c, 1) == 1 else both[c]
            del live[j], live[i]
            live.append(("".join(kept), tuple([both[c] for c in kept])))
            # Positions after the two that went move down; what they became is last.
            group = [g - (g > i) - (g > j) for g in group if g not in (i, j)]
            group = [len(live) - 1, *group]
    ((term, shape),) = live
    if term != result:
        squeezed = tuple([k for k, c in enumerate(term) if shape[k] == 1 and c not in result])
        rest = [c for k, c in enumerate(term) if k not in squeezed]
        summed = tuple([k for k, c in enumerate(rest) if c not in result])
        rest = [c for c in rest if c in result]
        permutation = tuple([rest.index(c) for c in result])
        identity = permutation == tuple(range(len(result)))
        steps.append(_Single(0, (), squeezed, summed, None if identity else permutation))
    expected = tuple([sizes[c] for c in result])
    actual = tuple([dict(zip(term, shape))[c] for c in result])
    return _Program(tuple(steps), dtype, weak, None if expected == actual else expected)


def _diagonal(position: int, term: str, shape: list[int], sizes: dict[str, int]) -> tuple[_Single, str, list[int]]:
    """The step that brings the dimensions with one label together."""
    # Of dimensions with one label, those of size 1 say nothing if another size is there.
    squeezed = tuple(
        [
            k
            for k, c in enumerate(term)
            if term.count(c) > 1 and shape[k] == 1 and (sizes_here(term, shape, c) != 1 or term.index(c) != k)
        ]
    )
    if squeezed:
        rest = [k for k in range(len(term)) if k not in squeezed]
        smaller, small_shape = "".join([term[k] for k in rest]), [shape[k] for k in rest]
    else:
        smaller, small_shape = term, shape
    groups, drop = [], []
    for c in dict.fromkeys(smaller):
        places = [k for k, x in enumerate(smaller) if x == c]
        if len(places) > 1:
            groups.append(tuple(places))
            drop += places[1:]
    out = [k for k in range(len(smaller)) if k not in drop]
    # `_single` takes diagonals before it squeezes, so their positions count the squeezed dimensions.
    back = [k for k in range(len(term)) if k not in squeezed]
    diagonals = tuple([tuple([back[k] for k in g]) for g in groups])
    step = _Single(position, diagonals, squeezed, tuple(sorted(drop)), None)
    return step, "".join([smaller[k] for k in out]), [small_shape[k] for k in out]


def sizes_here(term: str, shape: Sequence[int], label: str) -> int:
    """The size of a label within one operand."""
    return max([d for c, d in zip(term, shape) if c == label])


def _path(live: Sequence[tuple[str, tuple[int, ...]]], result: str, method: Any) -> list[list[int]]:
    """The order of contractions: groups of positions; what they become goes to the end.

    NumPy looks for it: a dependency that we have in any case, and one order is found per subscripts and shapes.
    """
    n = len(live)
    if n < 2:
        return []
    if n == 2:
        return [[0, 1]]
    if isinstance(method, tuple):
        return [list(p) for p in method]
    if method is False:
        return [[0, 1], *[[0, n - 1 - k] for k in range(1, n - 1)]]
    how = _METHODS.get(method) if isinstance(method, str) else None
    how = how or ("optimal" if n <= _FEW else "greedy")
    path = _numpy_path(",".join([t for t, _ in live]) + "->" + result, tuple([s for _, s in live]), how)
    return [list(p) for p in path]


@functools.lru_cache(1024)
def _numpy_path(subscripts: str, given: tuple[tuple[int, ...], ...], how: str) -> list[tuple[int, ...]]:
    stand_ins = [np.broadcast_to(np.float32(0), s) for s in given]
    path, _ = np.einsum_path(subscripts, *stand_ins, optimize=how)
    return path[1:]


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list[tuple[int, ...]], Any]:
    """The order in which `einsum` contracts its operands, and a printable report of its cost.

    Args:
      subscripts, operands: as in `einsum`.
      optimize: how to choose the order, as in `einsum`.

    Returns:
      (list of the positions contracted at each step, report).

    >>> import numpy as np, xtrace as xt
    >>> path, report = xt.numpy.einsum_path("ij,jk,kl->il", np.ones((2, 9)), np.ones((9, 9)), np.ones((9, 2)))
    >>> path
    [(0, 1), (0, 1)]
    """
    if type(subscripts) is not str:
        subscripts, operands = _as_string(subscripts, operands)
    given = [shaped(operand("einsum_path", x)).shape for x in operands]
    terms, result = _parse(subscripts, given)
    text = ",".join(terms) + "->" + result
    how = (
        optimize
        if isinstance(optimize, (bool, list, tuple))
        else _METHODS.get(optimize, "optimal" if len(given) <= _FEW else "greedy")
    )
    if isinstance(how, (list, tuple)) and (not how or how[0] != "einsum_path"):
        how = ["einsum_path", *how]
    path, report = np.einsum_path(text, *[np.broadcast_to(np.float32(0), s) for s in given], optimize=how)
    return path[1:], report
