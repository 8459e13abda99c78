"""Distributions of vectors and matrices."""

from __future__ import annotations

from typing import Any

from xtrace.core import statics
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.random.arguments import broadcast_shapes, canonical_shape, float_dtype, inexact_dtype, placed, sampler
from xtrace.random.uniform_floats import gaussian

mul = el.mul_p.bind

# -- normal vectors ----------------------------------------------------------------------------------------------------


def _factor(cov: Any, method: str, dtype: Any) -> Any:
    """A matrix whose product with its transpose is `cov`."""
    from xtrace import numpy as xnp

    if method == "svd":
        u, s, _ = xnp.linalg.svd(cov)
        return mul(u, el.sqrt_p.bind(shapes.expand_dims(s, (shaped(s).ndim - 1,))))
    if method == "cholesky":
        return xnp.linalg.cholesky(cov)
    w, v = xnp.linalg.eigh(cov)
    return mul(v, el.sqrt_p.bind(shapes.expand_dims(w, (shaped(w).ndim - 1,))))


@sampler("shape", "dtype", "method")
def _multivariate_normal(key: Any, mean: Any, cov: Any, *, shape: Any, dtype: Any, method: str) -> Any:
    from xtrace import numpy as xnp

    mean, cov = [shapes.convert_element_type(x, dtype) for x in (mean, cov)]
    factor = _factor(cov, method, dtype)
    return xnp.add(xnp.broadcast_to(mean, shape), xnp.einsum("...ij,...j->...i", factor, gaussian(key, shape, dtype)))


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Normal vectors with a mean and a covariance.

    Args:
      key: a single key.
      mean: [..., n].
      cov: [..., n, n], symmetric and positive (semi)definite.
      shape: of the batch, which those of the parameters broadcast to; None: just that.
      dtype: a floating type; None: the default float.
      method: how the covariance is decomposed: "cholesky", "eigh" or "svd". The last two take semidefinite ones.
      out_sharding: how the result is laid out over devices.

    Returns:
      shape + (n,).

    Raises:
      ValueError: shapes don't fit, or there is no such method.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> mean, cov = np.zeros(2, np.float32), np.eye(2, dtype=np.float32)
      >>> xt.random.multivariate_normal(xt.random.key(0), mean, cov, (3,)).shape
      (3, 2)
    """
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError(f"method must be one of {{'svd', 'eigh', 'cholesky'}}, got {method!r}")
    dtype = float_dtype("multivariate_normal", dtype)
    means, covs = shaped(mean).shape, shaped(cov).shape
    if not means:
        raise ValueError("multivariate_normal requires mean.ndim >= 1, got mean.ndim == 0")
    n = means[-1]
    if covs[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got cov.shape == {covs}."
        )
    batch = broadcast_shapes("multivariate_normal", means[:-1], covs[:-2])
    if shape is not None:
        shape = canonical_shape("multivariate_normal", shape)
        if broadcast_shapes("multivariate_normal", shape, batch) != shape:
            raise ValueError(f"multivariate_normal: shape {shape} doesn't hold the parameters' batch shape {batch}")
        batch = shape
    out = _multivariate_normal("multivariate_normal", key, mean, cov, shape=(*batch, n), dtype=dtype, method=method)
    return placed(out, out_sharding)


# -- orthogonal matrices -----------------------------------------------------------------------------------------------


@sampler("shape", "dtype", "n", "m")
def _orthogonal(key: Any, *, shape: Any, dtype: Any, n: int, m: int) -> Any:
    from xtrace import numpy as xnp

    tall = (*shape, max(n, m), min(n, m))
    q, r = xnp.linalg.qr(gaussian(key, tall, dtype))
    # Signs of R's diagonal make the decomposition unique, and Q uniform.
    signs = el.sign_p.bind(xnp.diagonal(r, axis1=-2, axis2=-1))
    q = mul(q, shapes.expand_dims(signs, (len(shape),)))
    return q if n >= m else shapes.transpose(q, [*range(len(shape)), len(shape) + 1, len(shape)])


def orthogonal(
    key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None, *, out_sharding: Any = None
) -> Any:
    """Uniform orthogonal (or unitary) matrices, or ones with orthonormal rows or columns.

    Args:
      key: a single key.
      n, m: numbers of rows and columns; m None: n.
      shape: of the batch.
      dtype: a floating or complex type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      shape + (n, m).

    Source: Mezzadri, "How to generate random matrices from the classical compact groups", 2007.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> q = xt.random.orthogonal(xt.random.key(0), 3)
      >>> np.allclose(q @ q.T, np.eye(3), atol=1e-5)
      True
    """
    dtype = inexact_dtype("orthogonal", dtype)
    shape = canonical_shape("orthogonal", shape)
    n = statics.integer(n, "n")
    m = n if m is None else statics.integer(m, "m")
    return placed(_orthogonal("orthogonal", key, shape=shape, dtype=dtype, n=n, m=m), out_sharding)
