"""Names and values of options that JAX has and programs set; plain data."""

from __future__ import annotations

from typing import Any

#: Other names of our flags.
ALIASES = {
    "enable_checks": "check_jaxprs",
    "platform_name": "platforms",
}

#: Algorithms of dots by name, as they can be asked for in place of a precision.
DOT_ALGORITHMS = (
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
)
MATMUL_PRECISIONS = ("default", "high", "highest", "bfloat16", "tensorfloat32", "float32", *DOT_ALGORITHMS)

#: Options with which JAX chooses between its own implementations, prints, or logs. They change no value that a program
#: computes, and there is nothing here that they could change: they are accepted, kept, and have no effect. The values
#: are JAX's defaults.
WITHOUT_EFFECT: dict[str, Any] = {
    "auto_pcast": True,
    "backend_target": "",
    "bcoo_cusparse_lowering": False,
    "captured_constants_report_frames": 0,
    "captured_constants_warn_bytes": 2_000_000_000,
    "check_proxy_envs": True,
    "compilation_cache_expect_pgle": False,
    "compiler_detailed_logging_min_ops": 10,
    "compiler_enable_remat_pass": True,
    "cpu_get_global_topology_timeout_minutes": 5,
    "cpu_get_local_topology_timeout_minutes": 2,
    "cross_host_transfer_socket_address": "",
    "cross_host_transfer_timeout_seconds": None,
    "cross_host_transfer_transfer_size": None,
    "cross_host_transport_addresses": "",
    "custom_jvp3": False,
    "custom_vjp3": False,
    "debug_leaked_clients_on_clear_backends": False,
    "debug_log_modules": "",
    "disable_bwd_checks": False,
    "disable_vmap_shmap_error": False,
    "disallow_mesh_context_manager": False,
    "distributed_debug": False,
    "distributed_verify_secure_credentials": False,
    "eager_constant_folding": False,
    "embedded_constants_max_bytes": 32,
    "enable_pgle": False,
    "enable_preemption_service": True,
    "enable_recoverability": False,
    "experimental_unsafe_xla_runtime_errors": False,
    "export_calling_convention_version": 10,
    "export_deserialize_expired_versions": False,
    "export_ignore_forward_compatibility": False,
    "force_dcn_cross_host_transfers": False,
    "hlo_source_file_canonicalization_regex": None,
    "include_debug_info_in_dumps": True,
    "include_full_tracebacks_in_locations": True,
    "jax2tf_associative_scan_reductions": False,
    "jax2tf_default_native_serialization": True,
    "logging_level": "NOTSET",
    "mock_gpu_topology": "",
    "mock_num_gpu_processes": 0,
    "mosaic_allow_hlo": False,
    "mosaic_unzip_debug_locations": True,
    "mtls_ca_file": None,
    "mtls_cert_file": None,
    "mtls_key_file": None,
    "mtls_peer_uri_prefix": None,
    "mutable_array_checks": True,
    "oneapi_visible_devices": "all",
    "pallas_auto_assign_collective_ids": "no",
    "pallas_auto_assign_collective_ids_limit": 25,
    "pallas_enable_debug_checks": False,
    "pallas_poison_buffers": False,
    "pallas_verbose_errors": False,
    "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "pgle_aggregation_percentile": 90,
    "pgle_profiling_runs": 3,
    "pprint_use_color": True,
    "ragged_dot_use_ragged_dot_instruction": True,
    "raise_on_ppermute_sort_diff": True,
    "raise_persistent_cache_errors": False,
    "remat3": False,
    "remat_barrier_no_cotangents": False,
    "remove_custom_partitioning_ptr_from_cache_key": False,
    "remove_size_one_mesh_axis_from_type": False,
    "scan3": False,
    "send_traceback_to_runtime": "off",
    "serialization_version": 0,
    "share_binary_between_hosts": False,
    "share_binary_between_hosts_timeout_ms": 1_200_000,
    "softmax_custom_jvp": False,
    "sort_devices_by_process_index": True,
    "source_url_schema": None,
    "threefry_gpu_kernel_lowering": False,
    "traceback_in_locations_limit": 100,
    "tracer_error_num_traceback_frames": 5,
    "use_cpp_shard_args": False,
    "use_direct_linearize": True,
    "use_emit_pipeline_primitive": False,
    "use_hlo_logistic_lowering": None,
    "use_magma": "auto",
    "use_rgv3": True,
    "use_shardy_partitioner": True,
    "use_simplified_jaxpr_constants": False,
    "xla_backend": "",
    "xla_profile_version": 0,
}

_UNPREFIXED = (
    "eager_constant_folding",
    "jax2tf_associative_scan_reductions",
    "jax2tf_default_native_serialization",
    "mock_num_gpu_processes",
)


def jax_name(name: str) -> str:
    """The full name of an option, which for all but a few begins with jax_."""
    return name if name in _UNPREFIXED else "jax_" + name
