"""NumPy's interface on traced arrays. Modules load at the first use of one of their names."""

from __future__ import annotations

import importlib
from typing import Any

#: Module -> the public names it defines.
_MODULES: dict[str, str] = {
    "array_api": "__array_api_version__ __array_namespace_info__",
    "bits": "packbits unpackbits",
    "convolving": "convolve correlate",
    "covariances": "corrcoef cov",
    "creation": "array asarray",
    "cumulative": "cumprod cumsum cumulative_prod cumulative_sum nancumprod nancumsum",
    "differences": "diff ediff1d gradient",
    "dots": "cross dot inner kron matmul matvec outer tensordot trace vdot vecdot vecmat",
    "dtypes": (
        "ComplexWarning bfloat16 bool bool_ can_cast cdouble character complex128 complex64 complex_ "
        "complexfloating csingle double dtype e euler_gamma finfo flexible float16 float32 float4_e2m1fn float64 "
        "float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz "
        "float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float_ floating generic iinfo inexact inf int1 int16 int2 "
        "int32 int4 int64 int8 int_ integer isdtype issubdtype nan ndarray newaxis number object_ pi "
        "promote_types result_type signedinteger single uint uint1 uint16 uint2 uint32 uint4 uint64 uint8 "
        "unsignedinteger"
    ),
    "einsum_notation": "einsum einsum_path",
    "elementwise": (
        "abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh "
        "bitwise_invert bitwise_left_shift bitwise_not bitwise_right_shift cbrt ceil cos cosh divide equal exp "
        "exp2 expm1 fabs floor greater greater_equal invert left_shift less less_equal log log1p log2 nextafter "
        "not_equal positive right_shift sign sin sinh sqrt square tan tanh true_divide"
    ),
    "elementwise_float": (
        "angle around conj conjugate copysign frexp imag isfinite isinf isnan isneginf isposinf ldexp modf "
        "nan_to_num real rint round signbit spacing trunc"
    ),
    "elementwise_logic": ("allclose array_equal array_equiv bitwise_count clip fmax fmin isclose logical_not where"),
    "elementwise_math": (
        "deg2rad degrees divmod float_power floor_divide fmod gcd heaviside hypot i0 lcm log10 mod pow power "
        "rad2deg radians reciprocal remainder sinc"
    ),
    "extremal_positions": "argmax argmin",
    "filling": "empty empty_like full full_like ones ones_like zeros zeros_like",
    "histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "index_expressions": "c_ index_exp r_ s_",
    "inspecting": "iscomplex iscomplexobj isreal isrealobj isscalar iterable ndim shape size",
    "integration": "trapezoid",
    "interchange": "from_dlpack frombuffer fromfile fromiter fromstring load save savez",
    "interpolation": "interp unwrap",
    "joining": (
        "append array_split block column_stack concat concatenate dsplit dstack hsplit hstack repeat resize "
        "split stack tile unstack vsplit vstack"
    ),
    "manipulation": (
        "astype atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to copy expand_dims "
        "flip fliplr flipud matrix_transpose moveaxis permute_dims ravel reshape roll rollaxis rot90 squeeze "
        "swapaxes transpose"
    ),
    "mapping": "apply_along_axis apply_over_axes piecewise select vectorize",
    "nan_reductions": "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar",
    "padding": "pad trim_zeros",
    "polynomial_fits": "polyfit roots",
    "polynomials": "poly polyadd polyder polydiv polyint polymul polysub polyval",
    "positions": (
        "argwhere diag diag_indices diag_indices_from diagflat diagonal fill_diagonal flatnonzero ix_ "
        "mask_indices nonzero ravel_multi_index tril_indices tril_indices_from triu_indices triu_indices_from "
        "unravel_index"
    ),
    "printing": "array_repr array_str get_printoptions printoptions set_printoptions",
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "ranges": (
        "arange bartlett blackman eye fromfunction geomspace hamming hanning identity indices kaiser linspace "
        "logspace meshgrid mgrid ogrid tri tril triu vander"
    ),
    "reductions": "all amax amin any average count_nonzero max mean min minmax prod ptp std sum var",
    "sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse unique_values"
    ),
    "sorting": "argpartition argsort digitize lexsort partition searchsorted sort sort_complex top_k",
    "taking": "choose compress delete extract insert place put put_along_axis take take_along_axis",
    "ufunc_objects": (
        "add bitwise_and bitwise_or bitwise_xor frompyfunc logaddexp logaddexp2 logical_and logical_or logical_xor "
        "maximum minimum multiply negative subtract ufunc"
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
#: Modules that are public themselves.
_SUBMODULES = ("fft", "linalg")

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f"xtrace.numpy.{module}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"xtrace.numpy.{name}")
    raise AttributeError(f"module 'xtrace.numpy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_SUBMODULES})
