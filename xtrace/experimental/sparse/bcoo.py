"""The format BCOO (batched coordinates): all its functions, under the name that JAX has them by."""

# ruff: noqa: F401

from xtrace.experimental.sparse.bcoo_array import (
    BCOO,
    BCOOProperties,
    _bcoo_extract,
    _bcoo_fromdense,
    _bcoo_sum_duplicates,
    _bcoo_todense,
    bcoo_eliminate_zeros,
    bcoo_extract,
    bcoo_fromdense,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_todense,
)
from xtrace.experimental.sparse.bcoo_layouts import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_gather,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_transpose,
    bcoo_update_layout,
)
from xtrace.experimental.sparse.bcoo_products import (
    _bcoo_dot_general,
    _bcoo_rdot_general,
    _bcoo_spdot_general,
    bcoo_conv_general_dilated,
    bcoo_dot_general,
    bcoo_dot_general_sampled,
    bcoo_multiply_dense,
    bcoo_multiply_sparse,
)
from xtrace.experimental.sparse.util import (
    CuSparseEfficiencyWarning,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    SparseInfo,
    nfold_vmap,
)
