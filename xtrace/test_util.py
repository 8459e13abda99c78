"""Checks of derivatives against finite differences (jax.test_util)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.api import autodiff
from xtrace.core import dtypes, pytree

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_STEP = 1e-4

#: Tolerance by the name of a dtype: what central differences with a step of 1e-4 reach there.
_TOLERANCE = {"float16": 1e-2, "float32": 2e-3, "float64": 1e-5, "complex64": 1e-3, "complex128": 1e-5}
_TOLERANCE_OF_SMALL_FLOATS = 1e-1


def _is_inexact(x: Any) -> bool:
    return dtypes.is_inexact(np.asarray(x).dtype)


def _wide(*values: np.ndarray) -> Any:
    """The double precision dtype in which arrays are compared: complex if one of them is."""
    return np.complex128 if any([dtypes.kind(v.dtype) == "c" for v in values]) else np.float64


def _tolerance(given: Any, *values: Any) -> float:
    """The tolerance for comparing arrays: as given (a number, or a table by dtype), or that of their roughest dtype."""
    names = [np.asarray(v).dtype for v in values]
    if given is not None and not isinstance(given, dict):
        return float(given)
    by_name = {np.dtype(k).name: v for k, v in (given or {}).items()}
    found = [
        by_name.get(d.name, _TOLERANCE.get(d.name, _TOLERANCE_OF_SMALL_FLOATS)) for d in names if d != dtypes.float0
    ]
    return max(found, default=0.0)


def _compare(actual: Any, desired: Any, atol: Any, rtol: Any, message: str) -> None:
    a_leaves, a_tree = pytree.tree_flatten(actual)
    d_leaves, d_tree = pytree.tree_flatten(desired)
    if a_tree != d_tree:
        raise AssertionError(f"{message}: the structures differ: {a_tree} and {d_tree}")
    for a, d in zip(a_leaves, d_leaves):
        a, d = np.asarray(a), np.asarray(d)
        if dtypes.float0 in (a.dtype, d.dtype):
            if a.dtype != d.dtype and np.any(a if d.dtype == dtypes.float0 else d):
                raise AssertionError(f"{message}: a value of type float0 is compared with one that is not zero")
            continue
        wide = _wide(a, d)
        np.testing.assert_allclose(
            a.astype(wide),
            d.astype(wide),
            atol=_tolerance(atol, a, d),
            rtol=_tolerance(rtol, a, d),
            err_msg=message,
        )


def _random_like(rng: np.random.RandomState, x: Any) -> Any:
    """A random tangent of an array: float0 for integers."""
    x = np.asarray(x)
    if not _is_inexact(x):
        return np.zeros(x.shape, dtypes.float0)
    draw = rng.randn(*x.shape)
    if dtypes.kind(x.dtype) == "c":
        draw = draw + 1j * rng.randn(*x.shape)
    return np.asarray(draw).astype(x.dtype)


def _moved(primals: Any, tangents: Any, step: float) -> Any:
    def move(x: Any, t: Any) -> Any:
        return (np.asarray(x) + np.asarray(step, np.asarray(x).dtype) * t) if _is_inexact(x) else x

    return pytree.tree_map(move, primals, tangents)


def _numerical_jvp(f: Callable[..., Any], primals: Any, tangents: Any, step: float) -> Any:
    """The derivative of f along `tangents`, by central differences."""
    ahead, behind = f(*_moved(primals, tangents, step)), f(*_moved(primals, tangents, -step))

    def slope(p: Any, m: Any) -> Any:
        p, m = np.asarray(p), np.asarray(m)
        if not _is_inexact(p):
            return np.zeros(p.shape, dtypes.float0)
        wide = _wide(p)
        return ((p.astype(wide) - m.astype(wide)) / (2 * step)).astype(p.dtype)

    return pytree.tree_map(slope, ahead, behind)


def _inner(x: Any, y: Any) -> Any:
    """The real bilinear product of two trees, in double precision; float0 counts nothing."""
    total: Any = 0.0
    for a, b in zip(pytree.tree_leaves(x), pytree.tree_leaves(y)):
        a, b = np.asarray(a), np.asarray(b)
        if dtypes.float0 not in (a.dtype, b.dtype):
            wide = _wide(a, b)
            total = total + np.sum(a.astype(wide) * b.astype(wide))
    return np.real(total)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[[Any, Any], tuple[Any, Any]],
    args: Sequence[Any],
    atol: Any = None,
    rtol: Any = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Compare a forward derivative with central differences along one random direction.

    Args:
      f: a function of arrays or trees of them.
      f_jvp: (primals, tangents) -> (value, tangent of the value).
      args: the point. eps: the step of the differences.
      atol, rtol: tolerances, a number or a table by dtype; by default by the dtypes of what is compared.
      err_msg: put in front of the message of a difference.

    Raises:
      AssertionError: value or derivative differ.

    >>> import functools, xtrace as xt
    >>> from xtrace.test_util import check_jvp
    >>> check_jvp(xt.numpy.sin, functools.partial(xt.jvp, xt.numpy.sin), (0.5,))
    """
    rng = np.random.RandomState(0)
    args = tuple(args)
    tangents = pytree.tree_map(lambda x: _random_like(rng, x), args)
    value, tangent = f_jvp(args, tangents)
    prefix = f"{err_msg} " if err_msg else ""
    _compare(value, f(*args), None, None, f"{prefix}JVP primal")
    _compare(tangent, _numerical_jvp(f, args, tangents, eps), atol, rtol, f"{prefix}JVP tangent")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple[Any, Callable[[Any], Any]]],
    args: Sequence[Any],
    atol: Any = None,
    rtol: Any = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Compare a reverse derivative with central differences along one random direction.

    Args:
      f: a function of arrays or trees of them.
      f_vjp: (*primals) -> (value, function from the cotangent of the value to those of the arguments).
      args, atol, rtol, eps, err_msg: as in `check_jvp`.

    Raises:
      AssertionError: value or derivative differ.

    >>> import functools, xtrace as xt
    >>> from xtrace.test_util import check_vjp
    >>> check_vjp(xt.numpy.sin, functools.partial(xt.vjp, xt.numpy.sin), (0.5,))
    """
    rng = np.random.RandomState(0)
    args = tuple(args)
    prefix = f"{err_msg} " if err_msg else ""
    value, pull = f_vjp(*args)
    _compare(value, f(*args), None, None, f"{prefix}VJP primal")
    tangents = pytree.tree_map(lambda x: _random_like(rng, x), args)
    out_tangents = _numerical_jvp(f, args, tangents, eps)
    cotangents = pytree.tree_map(lambda x: _random_like(rng, x), value)
    # <J t, c> = <t, J^T c>: xtrace's and JAX's convention has no conjugation in it.
    _compare(
        _inner(tangents, pull(cotangents)),
        _inner(out_tangents, cotangents),
        _tolerance(atol, *pytree.tree_leaves((args, value))),
        _tolerance(rtol, *pytree.tree_leaves((args, value))),
        f"{prefix}VJP cotangent projection",
    )


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Any = None,
    rtol: Any = None,
    eps: float | None = None,
) -> None:
    """Compare the derivatives of a function up to some order with central differences along a random direction each.

    Args:
      f: a function of arrays or trees of them.
      args: the point. order: how often to differentiate.
      modes: "fwd", "rev", or both. atol, rtol, eps: as in `check_jvp`.

    Raises:
      AssertionError: a derivative differs.

    >>> import xtrace as xt
    >>> from xtrace.test_util import check_grads
    >>> check_grads(xt.numpy.sin, (0.5,), order=2)
    """
    step = _STEP if eps is None else eps
    args = tuple(args)
    for mode in (modes,) if isinstance(modes, str) else modes:
        if mode not in ("fwd", "rev"):
            raise ValueError(f"modes are 'fwd' and 'rev', got {mode!r}")
    _check(f, args, order, modes, atol, rtol, step, np.random.RandomState(0), "")


def _check(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    modes: Sequence[str],
    atol: Any,
    rtol: Any,
    step: float,
    rng: np.random.RandomState,
    path: str,
) -> None:
    if "fwd" in modes:
        check_jvp(f, functools.partial(autodiff.jvp, f), args, atol, rtol, step, f"{path}fwd")
        if order > 1:
            tangents = pytree.tree_map(lambda x: _random_like(rng, x), args)

            def pushed(*xs: Any) -> Any:
                return autodiff.jvp(f, xs, tangents)

            _check(pushed, args, order - 1, modes, atol, rtol, step, rng, f"{path}fwd of ")
    if "rev" in modes:
        check_vjp(f, functools.partial(autodiff.vjp, f), args, atol, rtol, step, f"{path}rev")
        if order > 1:
            cotangents = pytree.tree_map(lambda x: _random_like(rng, x), f(*args))

            def pulled(*xs: Any) -> Any:
                value, pull = autodiff.vjp(f, *xs)
                return value, pull(cotangents)

            _check(pulled, args, order - 1, modes, atol, rtol, step, rng, f"{path}rev of ")
