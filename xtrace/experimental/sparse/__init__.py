"""Sparse arrays: BCOO and BCSR with batch and dense dimensions, the matrices COO, CSR and CSC, and sparsify.

They are pytrees of dense buffers; their functions are compositions of gather, scatter, sort and dot, so jit, vmap and
derivatives (with respect to the stored elements) work throughout.
"""

# ruff: noqa: F401

from xtrace.experimental.sparse import ad, api, bcoo, bcsr, coo, csr, linalg, random, transform, util
from xtrace.experimental.sparse import sparsify_rules as _sparsify_rules
from xtrace.experimental.sparse._base import JAXSparse
from xtrace.experimental.sparse.ad import (
    grad,
    jacfwd,
    jacobian,
    jacrev,
    value_and_grad,
)
from xtrace.experimental.sparse.api import (
    empty,
    eye,
    todense,
    todense_p,
)
from xtrace.experimental.sparse.bcoo_array import (
    BCOO,
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
    bcoo_conv_general_dilated,
    bcoo_dot_general,
    bcoo_dot_general_sampled,
    bcoo_multiply_dense,
    bcoo_multiply_sparse,
)
from xtrace.experimental.sparse.bcsr import (
    BCSR,
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_dot_general,
    bcsr_extract,
    bcsr_fromdense,
    bcsr_sum_duplicates,
    bcsr_todense,
)
from xtrace.experimental.sparse.coo import (
    COO,
    coo_fromdense,
    coo_matmat,
    coo_matvec,
    coo_todense,
)
from xtrace.experimental.sparse.csr import (
    CSC,
    CSR,
    csr_fromdense,
    csr_matmat,
    csr_matvec,
    csr_todense,
)
from xtrace.experimental.sparse.random import (
    random_bcoo,
)
from xtrace.experimental.sparse.transform import (
    SparseTracer,
    sparsify,
)
from xtrace.experimental.sparse.util import (
    CuSparseEfficiencyWarning,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
)
