"""Random sparse arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace import numpy as xnp
from xtrace import random
from xtrace.api.batching import vmap
from xtrace.core import statics
from xtrace.experimental.sparse.bcoo_array import BCOO
from xtrace.experimental.sparse.util import split_shape


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = float,
    indices_dtype: Any = None,
    nse: float | int = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """A BCOO array with random indices and elements.

    Args:
      key: a key.
      shape: the shape of the array.
      dtype: its dtype.
      indices_dtype: the dtype of its indices; None: the default integer.
      nse: how many elements it stores (in each element of the batch); below 1: which part of the sparse dimensions.
      n_batch: the number of leading dimensions that are a batch.
      n_dense: the number of trailing dimensions that are dense.
      unique_indices: no index occurs twice.
      sorted_indices: the indices are in order.
      generator: what makes the elements, of (key, shape=, dtype=, **kwds).
      kwds: options of `generator`.

    Returns:
      a BCOO array.

    Raises:
      ValueError: nse or the layout don't fit the shape.

    >>> import xtrace as xt
    >>> from xtrace.experimental import sparse
    >>> sparse.random_bcoo(xt.random.key(0), (5, 4), nse=0.25)
    BCOO(float32[5, 4], nse=5)
    """
    shape = statics.integers(shape, "shape")
    n_batch, n_dense = statics.integer(n_batch, "n_batch"), statics.integer(n_dense, "n_dense")
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > len(shape):
        raise ValueError(f"Invalid n_batch={n_batch}, n_dense={n_dense} for shape={shape}")
    batch, sparse, dense = split_shape(shape, n_batch, len(shape) - n_batch - n_dense)
    size = math.prod(sparse)
    statics.check_callable("random_bcoo: generator", generator)
    if not 0 <= statics.number(nse, "nse") < size:
        raise ValueError(f"got nse={nse}, expected to be between 0 and {size}")
    nse = math.ceil(nse * size) if 0 < nse < 1 else operator.index(int(nse) if nse == int(nse) else nse)
    indices_dtype = xnp.zeros(0, int if indices_dtype is None else indices_dtype).dtype
    if size > np.iinfo(indices_dtype).max:
        raise ValueError(
            f"indices_dtype={indices_dtype} does not have enough range to generate sparse indices of size {size}."
        )

    def indices_of(key: Any) -> Any:
        if not sparse:
            return xnp.zeros((nse, 0), indices_dtype)
        flat = random.choice(key, size, shape=(nse,), replace=not unique_indices)
        return xnp.stack(xnp.unravel_index(flat, sparse), axis=-1).astype(indices_dtype)

    keys = random.split(key, math.prod(batch) + 1)
    data = generator(keys[0], shape=(*batch, nse, *dense), dtype=dtype, **kwds)
    indices = vmap(indices_of)(keys[1:]).reshape(*batch, nse, len(sparse))
    mat = BCOO((data, indices), shape=shape)
    return mat.sort_indices() if sorted_indices else mat
