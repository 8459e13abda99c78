"""JAX's public names that are not here, each with its reason, and functions whose parameters differ on purpose."""

from __future__ import annotations

_SHARDED = "sharded execution is not there yet"
_PROCESSES = "programs of several processes are not there yet"
_IMPLEMENTATION = "part of how JAX is built, of which nothing corresponds to it here"
_OTHER_PROJECT = "a language or system of its own"

_COMPOSED = "no primitive: the function is a composition of gather, scatter, sort and dot, which shows in jaxprs"

#: Module -> name -> why it is not there.
ABSENT: dict[str, dict[str, str]] = {
    "jax": {
        "distributed": _PROCESSES,
        "example_libraries": "examples for other libraries, which JAX advises against",
        "pmap": _SHARDED,
        "shard_map": _SHARDED,
        "smap": _SHARDED,
        "tools": "command line tools; see the command xtrace",
    },
    "jax.experimental": {
        "EArray": _IMPLEMENTATION,
        "colocated_python": _PROCESSES,
        "key_reuse": "an empty module: the flag debug_key_reuse is its interface",
        "primal_tangent_dtype": _IMPLEMENTATION,
        "source_mapper": "`xtrace dump-hlo` shows the lines that operations come from",
    },
    "jax.experimental.layout": {"explicit_layout": "the types of arrays carry no layouts: formats say how they lie"},
    "jax.experimental.sparse": dict.fromkeys(
        (
            "bcoo_dot_general_p bcoo_dot_general_sampled_p bcoo_extract_p bcoo_fromdense_p bcoo_sort_indices_p "
            "bcoo_spdot_general_p bcoo_sum_duplicates_p bcoo_todense_p bcoo_transpose_p bcsr_dot_general_p "
            "bcsr_extract_p bcsr_fromdense_p bcsr_todense_p coo_fromdense_p coo_matmat_p coo_matvec_p coo_todense_p "
            "csr_fromdense_p csr_matmat_p csr_matvec_p csr_todense_p"
        ).split(),
        _COMPOSED,
    ),
    "jax.experimental.sparse.linalg": {"spsolve_p": _COMPOSED},
    "jax.export": dict.fromkeys(
        "SymbolicScope is_symbolic_dim symbolic_args_specs symbolic_dim_bounds symbolic_shape".split(),
        "shapes are static",
    ),
    "jax.extend": {"lowering": _IMPLEMENTATION, "pallas": _OTHER_PROJECT, "xla": _IMPLEMENTATION},
    "jax.extend.core.primitives": {
        **dict.fromkeys("empty2_p get_p swap_p".split(), "a mutable reference shows in jaxprs as its values"),
    },
    "jax.extend.mlir": {"lower_with_sharding_in_types": _IMPLEMENTATION},
    "jax.interpreters": {"traceback_util": _IMPLEMENTATION},
    "jax.interpreters.ad": {"backward_pass": _IMPLEMENTATION, "linearize": _IMPLEMENTATION},
    "jax.interpreters.batching": {"batch_subtrace": _IMPLEMENTATION, "zero_if_mapped": _IMPLEMENTATION},
    "jax.interpreters.partial_eval": dict.fromkeys(
        (
            "Val abstract_eval_fun custom_partial_eval_rules dce_jaxpr_call_rule dce_jaxpr_closed_call_rule dce_rules "
            "lower_jaxpr lower_jaxpr2 move_binders_to_back new_eqn_recipe partial_eval_jaxpr_custom_rules "
            "partial_eval_jaxpr_nounits prune_closed_jaxpr_outputs"
        ).split(),
        _IMPLEMENTATION,
    ),
    "jax.interpreters.xla": {"Backend": _IMPLEMENTATION, "canonicalize_dtype_handlers": _IMPLEMENTATION},
    "jax.lax": {
        "psum_scatter_start": _SHARDED,
        "stage_p": "stage lifts values without an operation",
    },
    "jax.profiler": {
        "ProfileSession": "recordings are begun by start_trace and trace",
        "export_profile_data": "recordings are written by stop_trace",
    },
    "jax.sharding": {
        **dict.fromkeys("ManualAxisType auto_axes explicit_axes".split(), _SHARDED),
        "no_collectives": _IMPLEMENTATION,
    },
}

#: Functions whose parameters have other names or are fewer: JAX calls them by position, or they say how JAX works.
OTHER_PARAMETERS = {
    "jax.core.eval_jaxpr",
    "jax.core.max_dim",
    "jax.core.min_dim",
    "jax.extend.core.concrete_or_error",
    "jax.extend.core.jaxpr_as_fun",
    "jax.extend.core.new_jaxpr_eqn",
    "jax.extend.core.unmapped_aval",
    "jax.interpreters.ad.instantiate_zeros",
    "jax.interpreters.ad.jvp",
    "jax.lax.random_gamma_grad",
    # By position alone, as NumPy's.
    "jax.numpy.fmax",
    "jax.numpy.fmin",
    "jax.numpy.i0",
    "jax.numpy.trunc",
}
