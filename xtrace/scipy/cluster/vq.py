"""Vector quantization."""

from __future__ import annotations

from typing import Any

from xtrace import numpy as xnp
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import promotion


@composite(static_argnames=("check_finite",))
def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest code of each observation.

    Args:
      obs: [m, d], or [m] numbers.
      code_book: [k, d], or [k].
      check_finite: has no effect.

    Returns:
      (codes, distances): [m], positions in the code book, and how far they are.

    Raises:
      ValueError: ranks that differ or are above 2.
      TypeError: numbers of features that differ.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.cluster.vq.vq(np.array([[0.0], [9.0]]), np.array([[1.0], [8.0]]))[0].tolist()
    [0, 1]
    """
    obs, code_book = promotion.promote("cluster.vq", (obs, code_book), "inexact", ranks=False)
    ranks = shaped(obs).ndim, shaped(code_book).ndim
    if ranks[0] != ranks[1]:
        raise ValueError(f"Observation and code_book should have the same rank, got {ranks[0]} and {ranks[1]}")
    if ranks[0] not in (1, 2):
        raise ValueError(f"ndim different than 1 or 2 are not supported, got {ranks[0]}")
    if ranks[0] == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    features = shaped(obs).shape[1], shaped(code_book).shape[1]
    if features[0] != features[1]:
        raise TypeError(f"cluster.vq: obs has {features[0]} features and code_book {features[1]}: they must agree.")
    distances = xnp.linalg.norm(obs[:, None] - code_book[None], axis=-1)
    return xnp.argmin(distances, axis=-1), xnp.min(distances, axis=-1)
