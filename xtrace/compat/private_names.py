"""JAX's private modules that programs import from, and where their names are in xtrace.

Read by `xtrace.compat._src`.
"""

from __future__ import annotations

#: Module below `jax._src` -> the modules below xtrace (or xtrace itself) that are searched for its names.
SEARCHED: dict[str, tuple[str, ...]] = {
    "abstract_arrays": (),
    "ad_checkpoint": ("ad_checkpoint",),
    "ad_util": ("interpreters.ad",),
    "api": ("xtrace", "ad"),
    "api_util": ("api_util",),
    "array": ("runtime.array",),
    "basearray": ("xtrace",),
    "callback": ("xtrace", "experimental"),
    "checkify": ("experimental.checkify",),
    "compute_on": ("experimental.compute_on",),
    "config": ("core.config", "xtrace", "core.options"),
    "core": ("core", "extend.core"),
    "custom_batching": ("custom_batching",),
    "custom_derivatives": ("custom_derivatives",),
    "debugger": ("debug",),
    "debugging": ("debug",),
    "dispatch": (),
    "dlpack": ("dlpack",),
    "dtypes": ("dtypes", "core.dtypes", "numpy"),
    "errors": ("errors",),
    "export._export": ("export",),
    "export.shape_poly": (),
    "flatten_util": ("flatten_util",),
    "image.scale": ("image",),
    "interpreters.ad": ("interpreters.ad",),
    "interpreters.batching": ("interpreters.batching",),
    "interpreters.mlir": ("interpreters.mlir",),
    "interpreters.partial_eval": ("interpreters.partial_eval",),
    "interpreters.pxla": ("interpreters.pxla",),
    "interpreters.xla": ("interpreters.xla",),
    "lax": ("lax",),
    "lax.control_flow": ("lax",),
    "lax.convolution": ("lax",),
    "lax.eval_jaxpr": (),
    "lax.lax": ("lax",),
    "lax.linalg": ("lax.linalg",),
    "lax.parallel": ("compat.collectives", "lax"),
    "lax.slicing": ("lax",),
    "lax.windowed_reductions": ("compat.windows", "lax"),
    "layout": ("experimental.layout",),
    "linear_util": ("extend.linear_util",),
    "mesh": ("sharding",),
    "monitoring": ("monitoring",),
    "named_sharding": ("sharding",),
    "nn.functions": ("nn",),
    "nn.initializers": ("nn.initializers",),
    "numpy": ("numpy",),
    "numpy.lax_numpy": ("numpy",),
    "numpy.util": (),
    "ops.scatter": ("ops",),
    "partition_spec": ("sharding",),
    "pjit": ("experimental.pjit",),
    "profiler": ("profiler",),
    "random": ("random",),
    "random.prng": (),
    "random.threefry2x32": (),
    "scipy.special": ("scipy.special",),
    "shard_map": ("xtrace",),
    "sharding": ("sharding",),
    "sharding_impls": ("sharding",),
    "source_info_util": ("extend.source_info_util",),
    "stages": ("stages",),
    "state.primitives": ("ref",),
    "state.types": ("ref",),
    "tpu.linalg.qdwh": (),
    "traceback_util": (),
    "tree": ("tree",),
    "tree_util": ("tree_util", "compat.trees"),
    "typing": ("typing",),
    "util": ("compat.functions", "compat.lists", "api_util"),
    "xla_bridge": ("extend.backend", "runtime.backends"),
    "xla_metadata": (),
}

#: The names that are not found so: module below `jax._src` -> private name -> the same thing, below xtrace.
RENAMED: dict[str, dict[str, str]] = {
    "abstract_arrays": {
        "array_types": "extend.core.array_types",
    },
    "ad_checkpoint": {
        "custom_remat": "custom_remat",
        "saved_residuals": "api.checkpointing.saved_residuals",
    },
    "api": {
        "NotNeeded": "api.vjp_function.NotNeeded",
        "NotSaveable": "api.vjp_function.NotSaveable",
        "clear_backends": "extend.backend.clear_backends",
    },
    "array": {
        "ArrayImpl": "runtime.jaxlib_api.ArrayImpl",
        "make_array_from_callback": "make_array_from_callback",
    },
    "config": {
        "parse_flags_with_absl": "config.parse_flags_with_absl",
        "update": "config.update",
    },
    "core": {
        "InconclusiveDimensionOperation": "errors.InconclusiveDimensionOperation",
        "JaxprTypeError": "errors.JaxprTypeError",
        "ManualAxisType": "sharding.ManualAxisType",
        "UnexpectedTracerError": "errors.UnexpectedTracerError",
        "call_p": "extend.core.primitives.call_p",
        "closed_call_p": "extend.core.primitives.call_p",
        "eval_jaxpr_p": "extend.core.primitives.call_p",
        "freeze": "freeze",
        "get_aval": "core.primitive.shaped",
        "new_ref": "ref.new_ref",
        "shaped_abstractify": "api_util.shaped_abstractify",
        "typeof": "typeof",
    },
    "custom_derivatives": {
        "closure_convert": "closure_convert",
    },
    "debugging": {
        "debug_callback": "debug.callback",
        "debug_print": "debug.print",
    },
    "dispatch": {
        "apply_primitive": "interpreters.xla.apply_primitive",
    },
    "dtypes": {
        "is_weakly_typed": "compat.values.is_weakly_typed",
        "DType": "numpy.dtype",
        "dtype": "lax.dtype",
        "primal_tangent_dtype": "experimental.primal_tangent_dtype",
    },
    "export.shape_poly": {
        "SymbolicScope": "export.SymbolicScope",
        "symbolic_shape": "export.symbolic_shape",
    },
    "interpreters.mlir": {
        "LoweringRuleContext": "extend.lowering.LoweringRuleContext",
    },
    "interpreters.partial_eval": {
        "DynamicJaxprTrace": "transforms.staging.StagingTrace",
        "eval_jaxpr_p": "extend.core.primitives.call_p",
    },
    "lax.eval_jaxpr": {
        "eval_jaxpr_p": "extend.core.primitives.call_p",
    },
    "mesh": {
        "get_abstract_mesh": "get_abstract_mesh",
        "use_abstract_mesh": "use_abstract_mesh",
    },
    "random.prng": {
        "random_seed": "extend.random.random_seed",
        "seed_with_impl": "extend.random.seed_with_impl",
    },
    "random.threefry2x32": {
        "threefry2x32_p": "extend.core.primitives.threefry2x32_p",
        "threefry_2x32": "extend.random.threefry_2x32",
    },
    "sharding_impls": {
        "GSPMDSharding": "extend.sharding.GSPMDSharding",
        "NamedSharding": "NamedSharding",
        "PartitionSpec": "P",
    },
    "state.primitives": {
        "get_p": "extend.core.primitives.get_p",
        "ref_addupdate": "ref.addupdate",
        "ref_get": "ref.get",
        "ref_set": "ref.set",
        "ref_swap": "ref.swap",
        "swap_p": "extend.core.primitives.swap_p",
    },
    "tpu.linalg.qdwh": {
        "qdwh": "lax.linalg.qdwh",
    },
    "traceback_util": {
        "api_boundary": "core.source.boundary",
    },
    "tree_util": {
        "default_registry": "core.pytree.default_registry",
        "broadcast_prefix": "core.pytree_prefixes.broadcast_prefix",
        "flatten_one_level": "core.pytree.flatten_one_level",
        "prefix_errors": "core.pytree_prefixes.prefix_errors",
    },
    "typing": {
        "Array": "Array",
        "DType": "numpy.dtype",
    },
    "xla_metadata": {
        "set_xla_metadata": "experimental.xla_metadata.set_xla_metadata",
    },
}
