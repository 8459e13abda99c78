"""Density estimation with Gaussian kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xtrace import numpy as xnp
from xtrace import random, tree_util
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import linalg
from xtrace.numpy import promotion
from xtrace.scipy import linalg as scipy_linalg
from xtrace.scipy import special

_FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


def _reject_complex(what: str, x: Any) -> None:
    if shaped(x).dtype.kind == "c":
        raise NotImplementedError(f"gaussian_kde does not support complex {what}: stack real and imaginary parts.")


@tree_util.register_pytree_node_class
class gaussian_kde:
    """The density of a sample, as a mixture of normal distributions around its points. A pytree.

    Args:
      dataset: array [n] or [d, n]: n points of d dimensions.
      bw_method: the width of the kernels relative to the data's: 'scott' (also None), 'silverman', a number, or a
        function of this object.
      weights: array [n]; None for equal ones.

    Attributes:
      dataset [d, n], weights [n] of sum 1, neff: the effective number of points, covariance [d, d] of a kernel and its
      inverse inv_cov.

    Raises:
      ValueError: fewer than two elements, weights of another shape, an unknown `bw_method`.
      NotImplementedError: complex data.

    >>> import numpy as np, xtrace as xt
    >>> kde = xt.scipy.stats.gaussian_kde(np.array([0.0, 1.0, 2.0]))
    >>> print(f"{kde(1.0)[0]:.3f}")
    0.318
    """

    __slots__ = _FIELDS

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: str | float | Callable[..., Any] | None = None, weights: Any = None):
        dataset = xnp.atleast_2d(dataset)
        _reject_complex("data", dataset)
        d, n = shaped(dataset).shape
        if d * n < 2:
            raise ValueError(f"`dataset` input should have multiple elements, got shape {(d, n)}.")
        if weights is None:
            (dataset,) = promotion.promote_args_inexact("gaussian_kde", dataset)
            weights = xnp.full(n, 1.0 / n, shaped(dataset).dtype)
        else:
            dataset, weights = promotion.promote("gaussian_kde", (dataset, weights), "inexact", ranks=False)
            weights = xnp.atleast_1d(weights)
            of_weights = shaped(weights).shape
            if len(of_weights) != 1:
                raise ValueError(f"`weights` input should be one-dimensional, got shape {of_weights}.")
            if of_weights[0] != n:
                raise ValueError(f"`weights` input should be of length n = {n}, got {of_weights[0]}.")
            weights = weights / xnp.sum(weights)
        self._set("dataset", dataset)
        self._set("weights", weights)
        self._set("neff", 1 / xnp.sum(weights * weights))
        factor = self._factor(bw_method)
        spread = xnp.atleast_2d(xnp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        self._set("covariance", spread * factor**2)
        self._set("inv_cov", xnp.linalg.inv(spread) / factor**2)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"gaussian_kde cannot be changed: {name!r} is set by its constructor.")

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            return xnp.power(self.neff, -1.0 / (self.d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return xnp.power(self.neff * (self.d + 2) / 4.0, -1.0 / (self.d + 4))
        if callable(bw_method):
            return bw_method(self)
        if not isinstance(bw_method, str) and xnp.isscalar(bw_method):
            return bw_method
        raise ValueError(f"`bw_method` should be 'scott', 'silverman', a scalar, or a callable, got {bw_method!r}.")

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return tuple(getattr(self, name) for name in _FIELDS), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Any) -> gaussian_kde:
        kde = cls.__new__(cls)
        for name, child in zip(_FIELDS, children):
            kde._set(name, child)
        return kde

    @property
    def d(self) -> int:
        return shaped(self.dataset).shape[0]

    @property
    def n(self) -> int:
        return shaped(self.dataset).shape[1]

    def _log_kernels(self, points: Any) -> Any:
        """[m, n]: the logarithm of every kernel at every point."""
        points = xnp.atleast_2d(points)
        _reject_complex("points", points)
        d, m = shaped(points).shape
        if d != self.d:
            if (d, m) != (1, self.d):
                raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
            points = xnp.reshape(points, (self.d, 1))
        points, dataset = promotion.promote("gaussian_kde", (points, self.dataset), "inexact", ranks=False)
        # precision = L L^T: L^T maps to coordinates in which the kernels are standard.
        whitening = xnp.swapaxes(linalg.cholesky(self.inv_cov), -1, -2)
        offset = xnp.expand_dims(whitening @ points, 2) - xnp.expand_dims(whitening @ dataset, 1)
        log_norm = xnp.sum(el.log(xnp.diagonal(whitening))) - 0.5 * self.d * math.log(2 * math.pi)
        return log_norm - 0.5 * xnp.sum(offset * offset, axis=0)

    def evaluate(self, points: Any) -> Any:
        """The density at `points` [d, m], or one point [d]; an array [m]."""
        return xnp.sum(el.exp(self._log_kernels(points)) * self.weights, axis=1)

    def __call__(self, points: Any) -> Any:
        """As `evaluate`."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """As `evaluate`."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points [d, m], which doesn't underflow far from the data; an array [m]."""
        return special.logsumexp(self._log_kernels(x) + xnp.log(self.weights), axis=1)

    def _overlap(self, covariance: Any, means: Any) -> Any:
        """[m]: the sum over the data of weight times the normal density of that covariance around means [d, m]."""
        factor, lower = scipy_linalg.cho_factor(covariance)
        offset = xnp.expand_dims(self.dataset, 2) - xnp.expand_dims(means, 1)
        flat = xnp.reshape(offset, (self.d, -1))
        square = xnp.sum(flat * scipy_linalg.cho_solve((factor, lower), flat), axis=0)
        norm = (2 * math.pi) ** (0.5 * self.d) * xnp.prod(xnp.diagonal(factor))
        kernels = xnp.reshape(el.exp(-0.5 * square), shaped(offset).shape[1:])
        return xnp.sum(kernels * xnp.expand_dims(self.weights, 1), axis=0) / norm

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times the normal density of `mean` [d] and `cov` [d, d]."""
        mean, cov = xnp.atleast_1d(xnp.squeeze(mean)), xnp.atleast_2d(cov)
        if shaped(mean).shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}: its shape is {shaped(mean).shape}.")
        if shaped(cov).shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}: its shape is {shaped(cov).shape}.")
        return self._overlap(self.covariance + cov, xnp.expand_dims(mean, 1))[0]

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability between two numbers, of one-dimensional data."""
        if self.d != 1:
            raise ValueError(f"integrate_box_1d() only handles 1D pdfs, and the data have {self.d} dimensions.")
        if xnp.ndim(low) != 0 or xnp.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        width = el.sqrt(self.covariance[0, 0])
        upper, lower = (special.ndtr((end - self.dataset[0]) / width) for end in (high, low))
        return xnp.sum(self.weights * (upper - lower))

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product of this density and another."""
        if other.d != self.d:
            raise ValueError(f"KDEs are not the same dimensionality: {self.d} and {other.d}.")
        return xnp.sum(self._overlap(self.covariance + other.covariance, other.dataset) * other.weights)

    def resample(self, key: Any, shape: Any = ()) -> Any:
        """Random points of the density: an array [d, *shape]."""
        of_point, of_kernel = random.split(key)
        chosen = random.choice(of_point, self.n, shape=shape, p=self.weights)
        dtype = shaped(self.dataset).dtype
        center = xnp.zeros(self.d, dtype)
        noise = random.multivariate_normal(of_kernel, center, self.covariance, shape=shape, dtype=dtype)
        return self.dataset[:, chosen] + xnp.moveaxis(noise, -1, 0)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Not supported: only `integrate_box_1d` is."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not supported: an estimate doesn't change; make another."""
        raise NotImplementedError(
            "dynamically changing the bandwidth method is not supported; give it to a new gaussian_kde"
        )
