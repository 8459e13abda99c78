"""The primitives, one file per family, and functions over them. Modules load when a name of theirs is first used."""

from __future__ import annotations

import importlib
from typing import Any

#: Module -> the public names it defines.
_MODULES: dict[str, str] = {
    "accuracy": "AccuracyMode RoundingMethod Tolerance",
    "approximate_top_k": "approx_max_k approx_min_k approx_top_k_p",
    "bessel": "bessel_i0e bessel_i0e_p bessel_i1e bessel_i1e_p",
    "bitwise": (
        "bitwise_and bitwise_not bitwise_or bitwise_xor clz mulhi population_count shift_left "
        "shift_right_arithmetic shift_right_logical"
    ),
    "collectives": (
        "all_gather all_gather_p axis_index axis_index_p axis_size pbroadcast pcast pmax pmax_p pmean pmin pmin_p "
        "ppermute ppermute_p pshuffle psum psum_p"
    ),
    "comparisons": "eq ge gt is_finite le lt ne",
    "composites": "composite",
    "control_flow.associative": "associative_scan",
    "control_flow.conditionals": "cond cond_p switch",
    "control_flow.loops": "fori_loop while_loop while_p",
    "control_flow.platforms": "platform_dependent platform_index_p",
    "control_flow.scans": "map scan scan_p",
    "control_flow.solves": "custom_linear_solve custom_root linear_solve_p",
    "conversions": "bitcast_convert_type bitcast_convert_type_p dtype reduce_precision reduce_precision_p",
    "convolutions": (
        "ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv conv_dimension_numbers conv_general_dilated "
        "conv_general_dilated_local conv_general_dilated_p conv_general_dilated_patches conv_general_permutations "
        "conv_general_shape_tuple conv_shape_tuple conv_transpose conv_transpose_shape_tuple conv_with_general_padding"
    ),
    "creation": "broadcasted_iota empty full_like iota iota_p",
    "cumulative": ("cumlogsumexp cumlogsumexp_p cummax cummax_p cummin cummin_p cumprod cumprod_p cumsum cumsum_p"),
    "dot_algorithms": "DotAlgorithm DotAlgorithmPreset PrecisionLike",
    "dots": "DotDimensionNumbers batch_matmul dot dot_general dot_general_p",
    "elementwise": (
        "abs abs_p acos acos_p acosh acosh_p add add_p and_p asin asin_p asinh asinh_p atan atan2 atan2_p atan_p "
        "atanh atanh_p cbrt cbrt_p ceil ceil_p clz_p complex complex_p conj conj_p cos cos_p cosh cosh_p div "
        "div_p eq_p eq_to_p exp exp2 exp2_p exp_p expm1 expm1_p floor floor_p ge_p gt_p imag imag_p integer_pow "
        "integer_pow_p is_finite_p le_p le_to_p log log1p log1p_p log2 log2_p log_p logistic logistic_p lt_p "
        "lt_to_p max max_p min min_p mul mul_p mulhi_p ne_p neg neg_p nextafter nextafter_p not_p "
        "one_minus_square one_minus_square_p or_p population_count_p pow pow_p real real_p reciprocal rem rem_p "
        "round round_p rsqrt rsqrt_p shift_left_p shift_right_arithmetic_p shift_right_logical_p sign sign_p sin "
        "sin_p sinh sinh_p sqrt sqrt_p square square_p sub sub_p tan tan_p tanh tanh_p xor_p"
    ),
    "exchanges": ("all_to_all all_to_all_p psum_scatter pswapaxes ragged_all_to_all ragged_all_to_all_p"),
    "fourier": "FftType fft fft_p",
    "gathers": "GatherDimensionNumbers GatherScatterMode gather gather_p index_take",
    "identities": "copy_p optimization_barrier optimization_barrier_p stage stop_gradient stop_gradient_p",
    "incomplete_beta": "betainc regularized_incomplete_beta_p",
    "incomplete_gamma": "igamma igamma_grad_a igamma_grad_a_p igamma_p igammac igammac_p random_gamma_grad",
    "joining": "concatenate concatenate_p pad pad_p split split_p stack stack_p unstack unstack_p",
    "precision": "Precision",
    "ragged_dots": "RaggedDotDimensionNumbers ragged_dot ragged_dot_general ragged_dot_general_p",
    "random_bits": "RandomAlgorithm rng_bit_generator rng_bit_generator_p rng_uniform rng_uniform_p",
    "polynomials": "polynomial polynomial_p",
    "reductions": (
        "argmax argmax_p argmin argmin_p reduce reduce_and reduce_and_p reduce_max reduce_max_p reduce_min "
        "reduce_min_p reduce_or reduce_or_p reduce_p reduce_prod reduce_prod_p reduce_sum reduce_sum_p "
        "reduce_xor reduce_xor_p"
    ),
    "scatters": (
        "ScatterDimensionNumbers scatter scatter_add scatter_add_p scatter_apply scatter_max scatter_max_p scatter_min "
        "scatter_min_p scatter_mul scatter_mul_p scatter_p scatter_sub scatter_sub_p"
    ),
    "selection": "clamp clamp_p select select_n select_n_p",
    "shapes": (
        "broadcast broadcast_in_dim broadcast_in_dim_p broadcast_like broadcast_shapes broadcast_to_rank collapse "
        "convert_element_type convert_element_type_p expand_dims full reshape reshape_p rev rev_p "
        "shape_as_value squeeze squeeze_p tile tile_p transpose transpose_p"
    ),
    "slicing": (
        "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_slice_p dynamic_update_index_in_dim "
        "dynamic_update_slice dynamic_update_slice_in_dim dynamic_update_slice_p index_in_dim slice slice_in_dim "
        "slice_p"
    ),
    "sinks": "dce_sink dce_sink_p",
    "sorting": "sort sort_key_val sort_p top_k top_k_p",
    "scaled_dots": "scaled_dot",
    "special": (
        "digamma digamma_p erf erf_inv erf_inv_p erf_p erfc erfc_p lgamma lgamma_p polygamma polygamma_p zeta zeta_p"
    ),
    "tokens": "after_all after_all_p create_token create_token_p",
    "window_shapes": "padtype_to_pads",
    "windows": (
        "reduce_window reduce_window_max_p reduce_window_min_p reduce_window_p reduce_window_shape_tuple "
        "reduce_window_sum_p select_and_gather_add_p select_and_scatter_add_p select_and_scatter_p"
    ),
}
#: What JAX has here and is defined in another layer: it speaks of meshes, which lax knows nothing of.
_ELSEWHERE = {
    "device_put_p": "xtrace.transforms.placement",
    "sharding_constraint_p": "xtrace.transforms.placement",
    "with_sharding_constraint": "xtrace.placement",
}
_HOME = {name: f"xtrace.lax.{module}" for module, names in _MODULES.items() for name in names.split()} | _ELSEWHERE

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(module), name)
        globals()[name] = value
        return value
    if name == "linalg":
        return importlib.import_module("xtrace.lax.linalg")
    raise AttributeError(f"module 'xtrace.lax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "linalg"})
