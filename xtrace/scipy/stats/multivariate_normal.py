"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace import numpy as xnp
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import linalg
from xtrace.numpy import promotion
from xtrace.scipy.special.declare import arrays

_LOG_2PI = math.log(2 * math.pi)


@composite(static_argnames=("allow_singular",))
def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density of the multivariate normal distribution.

    Args:
      x: array [..., n]: points.
      mean: array [..., n], or a scalar: then all is of one dimension, and elementwise.
      cov: array [..., n, n], symmetric and positive definite; or a scalar: the variance of every coordinate.
      allow_singular: only None: the covariance must not be singular.

    Returns:
      An array [...] of floating dtype; nan where `cov` is not positive definite.

    Raises:
      ValueError: the shapes don't fit.
      NotImplementedError: `allow_singular` is not None.

    >>> import numpy as np, xtrace as xt
    >>> print(f"{xt.scipy.stats.multivariate_normal.logpdf(np.ones(2), np.zeros(2), np.eye(2)):.4f}")
    -2.8379
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "multivariate_normal.logpdf: allow_singular is not supported; add a small multiple of the identity to cov."
        )
    x, mean, cov = arrays(*promotion.promote("multivariate_normal.logpdf", (x, mean, cov), "inexact", ranks=False))
    offset = x - mean
    of_mean, of_cov = shaped(mean).shape, shaped(cov).shape
    if not of_mean:
        return -0.5 * (offset * offset / cov + _LOG_2PI + el.log(cov))
    n = of_mean[-1]
    if not of_cov:
        return -0.5 * (xnp.sum(offset * offset, axis=-1) / cov + n * (_LOG_2PI + el.log(cov)))
    if len(of_cov) < 2 or of_cov[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal.logpdf got incompatible shapes: mean of shape {of_mean} asks for cov of shape "
            f"[..., {n}, {n}], got {of_cov}."
        )
    factor = linalg.cholesky(cov)
    half_log_determinant = xnp.sum(el.log(xnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    of_offset = shaped(offset).shape
    if len(of_cov) == 2:
        # All points are columns of one system.
        columns = xnp.reshape(offset, (-1, n)).T
        white = linalg.triangular_solve(factor, columns, left_side=True, lower=True)
        squares = xnp.reshape(xnp.sum(white * white, axis=0), of_offset[:-1])
    else:
        batch = xnp.broadcast_shapes(of_offset[:-1], of_cov[:-2])
        factor = xnp.broadcast_to(factor, (*batch, n, n))
        column = xnp.expand_dims(xnp.broadcast_to(offset, (*batch, n)), -1)
        white = linalg.triangular_solve(factor, column, left_side=True, lower=True)
        squares = xnp.sum(white * white, axis=(-2, -1))
    return -0.5 * (squares + n * _LOG_2PI) - half_log_determinant


@composite
def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density of the multivariate normal distribution.

    Args:
      x: array [..., n]: points.
      mean: array [..., n], or a scalar: then all is of one dimension, and elementwise.
      cov: array [..., n, n], symmetric and positive definite; or a scalar: the variance of every coordinate.

    Returns:
      An array [...] of floating dtype; nan where `cov` is not positive definite.

    Raises:
      ValueError: the shapes don't fit.
      NotImplementedError: `allow_singular` is not None.

    >>> import numpy as np, xtrace as xt
    >>> print(f"{xt.scipy.stats.multivariate_normal.pdf(np.ones(2), np.zeros(2), np.eye(2)):.4f}")
    0.0585
    """
    return el.exp(logpdf(x, mean, cov))


__all__ = ["logpdf", "pdf"]
