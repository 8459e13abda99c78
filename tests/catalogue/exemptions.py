"""Public names that need no catalogue entry, each with its reason."""

_OPTIONS = "an option's values, not an operation"

_COLLECTIVES = (
    "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute pshuffle psum psum_scatter "
    "pswapaxes ragged_all_to_all"
)

EXEMPT: dict[str, str] = {
    "lax.AccuracyMode": _OPTIONS,
    "numpy.__array_namespace_info__": "an object that describes the library; tested in tests/numpy/test_array_api.py",
    "numpy.einsum_path": "of shapes, not arrays; tested in tests/numpy/test_dots.py",
    "lax.RoundingMethod": _OPTIONS,
    "lax.Tolerance": _OPTIONS,
    **dict.fromkeys(
        [f"numpy.{name}" for name in "array_repr array_str get_printoptions printoptions set_printoptions".split()],
        "text, not arrays; tested in tests/numpy/test_inspecting.py",
    ),
    **dict.fromkeys(
        [f"numpy.{name}" for name in "can_cast isdtype issubdtype promote_types result_type".split()],
        "of dtypes, not arrays; tested in tests/numpy/test_dtypes.py",
    ),
    **dict.fromkeys(
        [f"numpy.{name}" for name in "from_dlpack frombuffer fromfile fromiter fromstring load save savez".split()],
        "of buffers, texts and files, not arrays; tested in tests/numpy/test_creation.py",
    ),
    **dict.fromkeys(
        ["numpy.empty", "numpy.empty_like"], "their values are not specified; tested in tests/numpy/test_creation.py"
    ),
    **dict.fromkeys(
        [
            f"lax.{name}"
            for name in (
                "conv_dimension_numbers conv_general_permutations conv_general_shape_tuple conv_shape_tuple "
                "conv_transpose_shape_tuple padtype_to_pads reduce_window_shape_tuple"
            ).split()
        ],
        "of shapes, not arrays; tested in tests/lax/test_convolutions.py and their doctests",
    ),
    "lax.with_sharding_constraint": "needs several devices; tested in tests/runtime/sharding_constraint_cases.py",
    **dict.fromkeys(
        ["lax.ConvGeneralDilatedDimensionNumbers", "lax.DotDimensionNumbers", "lax.PrecisionLike"],
        "a type for annotations",
    ),
    "lax.dtype": "of dtypes, not arrays; tested in tests/lax/test_conversions.py",
    "random.Key": "a type for annotations",
    **dict.fromkeys(
        ["random.multivariate_normal", "random.orthogonal"],
        "of decompositions, whose signs may differ; tested in tests/random/test_distributions.py",
    ),
    "random.key_dtype": "of dtypes, not arrays; tested in tests/random/test_keys.py",
    "random.key_impl": "the name of an implementation, not an array; tested in tests/random/test_keys.py",
    **dict.fromkeys(
        [f"lax.{name}" for name in _COLLECTIVES.split()],
        "between the elements of a named axis; tested in tests/lax/test_collectives.py",
    ),
    "lax.broadcast_shapes": "of shapes, not arrays; tested in tests/lax/test_slicing.py",
    "lax.shape_as_value": "of shapes, not arrays; tested in its example",
    **dict.fromkeys(
        [f"nn.{name}" for name in "get_scaled_dot_general_config scaled_dot_general scaled_matmul".split()],
        "quantizing takes whole blocks, and its derivative is not the limit; tested in tests/nn/test_block_scaling.py",
    ),
    "lax.composite": "a maker of functions; tested in tests/lax/test_composites.py",
    "lax.scaled_dot": "it rounds to bfloat16; tested in tests/lax/test_scaled_dots.py",
    "lax.create_token": "tokens hold no elements; tested in tests/lax/test_tokens.py",
    "lax.after_all": "tokens hold no elements; tested in tests/lax/test_tokens.py",
    "lax.dce_sink": "it has no results; tested in tests/lax/test_sinks.py",
    "lax.stage": "no operation; tested in tests/lax/test_identities.py",
    "lax.empty": "its values are not specified; tested in tests/lax/test_creation.py",
}

#: Primitives that no catalogue entry reaches.
EXEMPT_PRIMITIVES: dict[str, str] = {
    "device_put": "a transfer; tested in tests/runtime/test_transfers.py",
    "sharding_constraint": "needs several devices; tested in tests/runtime/sharding_constraint_cases.py",
    "solver_call": "bound by lowering rules alone; tested in tests/lax/test_linalg.py",
    **dict.fromkeys(
        (
            "cholesky eig eigh hessenberg householder_product lu lu_pivots_to_permutation qr schur svd "
            "triangular_solve tridiagonal tridiagonal_solve"
        ).split(),
        "values, derivatives, batching and lowering are tested in tests/lax/test_linalg.py",
    ),
    **dict.fromkeys("cholesky_update ormqr symmetric_product".split(), "tested in tests/lax/test_linalg_products.py"),
    "check": "it raises; tested in tests/experimental/test_checkify.py",
    "eq_to": "total order: bound by sort alone; tested in tests/lax/test_elementwise.py",
    "le_to": "total order: bound by sort alone; tested in tests/lax/test_elementwise.py",
    "lt_to": "total order: bound by sort alone; tested in tests/lax/test_elementwise.py",
    **dict.fromkeys(
        "all_gather all_to_all axis_index pbroadcast pmax pmin ppermute psum ragged_all_to_all reduce_scatter".split(),
        "between the elements of a named axis; tested in tests/lax/test_collectives.py",
    ),
    **dict.fromkeys(
        ["select_and_gather_add", "select_and_scatter", "select_and_scatter_add"],
        "derivatives of reductions over windows; tested in tests/lax/test_windows.py",
    ),
    "after_all": "tokens hold no elements; tested in tests/lax/test_tokens.py",
    "create_token": "tokens hold no elements; tested in tests/lax/test_tokens.py",
    "dce_sink": "it has no results; tested in tests/lax/test_sinks.py",
    "ffi_call": "what is called differs by platform; tested in tests/test_ffi.py",
    "composite": "tested in tests/lax/test_composites.py",
    "copy": "bound by numpy.array and numpy.copy; tested in tests/lax/test_identities.py",
}
