"""Covariances and correlation coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import elementwise as ew
from xtrace.numpy import reductions as red
from xtrace.numpy.dtypes import canonical
from xtrace.numpy.elementwise_float import conj, imag, real
from xtrace.numpy.promotion import check_arraylike, promote
from xtrace.numpy.scalars import scalar


def _variables(m: Any, y: Any, rowvar: bool) -> Any:
    """All variables as rows."""
    given = promote("cov", (m,) if y is None else (m, y), "inexact", ranks=False)
    rows = []
    for name, x in zip("my", given):
        shape = shaped(x).shape
        if len(shape) > 2:
            raise ValueError(f"cov: {name} has more than 2 dimensions: its shape is {shape}")
        row = lax.reshape(x, (1,) * (2 - len(shape)) + shape)
        turned = not rowvar and (len(shape) == 2 if name == "m" else shaped(row).shape[0] != 1)
        rows.append(lax.transpose(row, (1, 0)) if turned else row)
    return rows[0] if y is None or not shaped(rows[0]).shape[0] else lax.concatenate(rows, 0)


def _weights(name: str, w: Any, count: int) -> Any:
    check_arraylike("cov", w)
    aval = shaped(w)
    if aval.ndim > 1:
        raise RuntimeError(f"cov: cannot handle multidimensional {name}; got shape {aval.shape}")
    if aval.shape != (count,):
        raise RuntimeError(f"cov: incompatible numbers of samples and {name}: {count} and shape {aval.shape}")
    if name == "fweights" and not dtypes.is_integer(aval.dtype):
        raise TypeError(f"cov: fweights must be integer, got dtype {aval.dtype}")
    return ew.abs(w)


@composite(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """Covariances of variables.

    Args:
      m: observations: shape (variables, observations), or a vector for one variable.
      y: more variables, in the same form.
      rowvar: False: variables are columns.
      bias: whether to divide by the number n of observations instead of n - 1.
      ddof: what to subtract from n instead.
      fweights: how often each observation was made, integers of shape (observations,).
      aweights: how much each observation counts, shape (observations,).
      dtype: a floating or complex dtype to compute in.

    Returns:
      The matrix of covariances, shape (variables, variables); a scalar for one variable.

    Raises:
      ValueError: more than two dimensions, a dtype of integers.
      RuntimeError: weights of another shape.
      TypeError: fweights that aren't integers.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.cov(np.array([[0, 1, 2], [2, 1, 0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    dtype = None if dtype is None else canonical(dtype, "cov")
    if dtype is not None and not dtypes.is_inexact(dtype):
        raise ValueError(f"cov: dtype must be a subclass of float or complex; got dtype={dtype}")
    x = _variables(m, y, rowvar)
    variables, count = shaped(x).shape
    if not variables:
        return lax.full((0, 0), scalar(0, x))
    if not count:
        return lax.full(() if variables == 1 else (variables, variables), np.full((), np.nan, shaped(x).dtype)[()])
    ddof = (0 if bias else 1) if ddof is None else statics.number(ddof, "ddof")
    w = None
    if fweights is not None:
        w = _weights("fweights", fweights, count)
    if aweights is not None:
        aweights = _weights("aweights", aweights, count)
        w = aweights if w is None else ew.multiply(w, aweights)
    if dtype is not None:
        x = lax.convert_element_type(x, dtype)
        w = None if w is None else lax.convert_element_type(w, dtype)
    if w is None:
        mean, divisor = red.mean(x, axis=1, keepdims=True), count - ddof
        x = ew.subtract(x, mean)
        weighted = x
    else:
        spread = lax.expand_dims(w, (0,))
        total = red.sum(w)
        mean = ew.true_divide(red.sum(ew.multiply(x, spread), axis=1, keepdims=True), total)
        divisor = total
        if ddof:
            lost = ddof if aweights is None else ew.true_divide(red.sum(ew.multiply(w, aweights)), total)
            divisor = ew.subtract(total, lost if aweights is None else ew.multiply(lost, ddof))
        x = ew.subtract(x, mean)
        weighted = ew.multiply(x, spread)
    product = lax.dot_general(x, conj(weighted), (((1,), (1,)), ((), ())))
    out = ew.true_divide(product, divisor)
    return lax.reshape(out, ()) if variables == 1 else out


@composite(static_argnames=("rowvar", "dtype"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Correlation coefficients of variables: covariances over the products of standard deviations.

    Args:
      x, y, rowvar, dtype: as in `cov`.

    Returns:
      The matrix of coefficients, between -1 and 1; a scalar for one variable.

    Raises:
      ValueError: more than two dimensions, a dtype of integers.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.corrcoef(np.array([[0, 1, 2], [2, 1, 0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    check_arraylike("corrcoef", x)
    c = cov(x, y, rowvar, dtype=dtype)
    if not shaped(c).ndim:
        return ew.true_divide(c, c)
    from xtrace.numpy.elementwise_logic import clip
    from xtrace.numpy.positions import diag

    deviation = lax.convert_element_type(ew.sqrt(real(diag(c))), shaped(c).dtype)
    c = ew.true_divide(ew.true_divide(c, lax.expand_dims(deviation, (1,))), lax.expand_dims(deviation, (0,)))
    if dtypes.is_complex(shaped(c).dtype):
        return lax.complex(clip(real(c), -1, 1), clip(imag(c), -1, 1))
    return clip(c, -1, 1)


__all__ = ["corrcoef", "cov"]
