"""Convolutions: one primitive with strides, dilations and groups in any layout, and the shorter ways to say it."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import shapes as _shapes
from xtrace.lax.precision import canonical_precision
from xtrace.lax.window_shapes import (
    Pads,
    dilated,
    int_pairs,
    padding_name,
    padtype_to_pads,
    windows_that_fit,
)
from xtrace.transforms.placement import held


class ConvDimensionNumbers(NamedTuple):
    """Which dimensions of a convolution's arrays are batch, feature and spatial ones.

    Attributes:
      lhs_spec: positions in lhs of (batch, feature, spatial dimensions...).
      rhs_spec: positions in rhs of (output feature, input feature, spatial dimensions...).
      out_spec: positions in the result of (batch, feature, spatial dimensions...).
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = Union[None, ConvDimensionNumbers, tuple[str, str, str]]  # noqa: UP007 (at run time)

# -- dimension numbers -------------------------------------------------------------------------------------------

_BOTH = (("N", "C"), ("O", "I"), ("N", "C"))


@functools.lru_cache(maxsize=4096)
def _permutations(specs: tuple[str, str, str]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    spatial = []
    for i, (spec, (a, b)) in enumerate(zip(specs, _BOTH)):
        if spec.count(a) != 1 or spec.count(b) != 1:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain the characters '{a}' and '{b}' exactly once, "
                f"got {spec}."
            )
        if len(spec) != len(set(spec)):
            raise TypeError(f"convolution dimension_numbers[{i}] cannot have duplicate characters, got {spec}.")
        spatial.append(set(spec) - {a, b})
    if not spatial[0] == spatial[1] == spatial[2]:
        raise TypeError(
            f"convolution dimension_numbers elements must each have the same set of spatial characters, got {specs}."
        )
    order = [c for c in specs[1] if c not in "OI"]
    lhs, rhs, out = [tuple([spec.index(c) for c in (*letters, *order)]) for spec, letters in zip(specs, _BOTH)]
    return lhs, rhs, out


def conv_general_permutations(
    dimension_numbers: Sequence[str],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Positions of (batch, feature, spatial...) in lhs and result, (out feature, in feature, spatial...) in rhs.

    Args:
      dimension_numbers: three strings such as ("NHWC", "HWIO", "NHWC"). Spatial dimensions are in the order of rhs.

    Returns:
      Three tuples of positions.

    Raises:
      TypeError: strings that lack letters, repeat them, or differ in their spatial letters.

    >>> import xtrace as xt
    >>> xt.lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    specs = statics.parts(dimension_numbers, "dimension_numbers", "three strings, such as ('NCHW', 'OIHW', 'NCHW'),")
    if len(specs) != 3 or not all([isinstance(s, str) for s in specs]):
        statics.refuse("dimension_numbers", dimension_numbers, "three strings, such as ('NCHW', 'OIHW', 'NCHW'),")
    return _permutations(specs)


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """`dimension_numbers` in any of its forms as a ConvDimensionNumbers.

    Args:
      lhs_shape, rhs_shape: shapes of the operands.
      dimension_numbers: None (batch, feature and spatial dimensions in this order; for rhs output feature, input
        feature, spatial), three strings such as ("NHWC", "HWIO", "NHWC"), or a ConvDimensionNumbers.

    Returns:
      The ConvDimensionNumbers.

    Raises:
      TypeError: ranks that differ from each other or from the strings, or strings without meaning.

    >>> import xtrace as xt
    >>> xt.lax.conv_dimension_numbers((1, 8, 3), (5, 3, 4), ("NHC", "HIO", "NHC")).rhs_spec
    (2, 1, 0)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    lhs_shape, rhs_shape = statics.integers(lhs_shape, "lhs_shape"), statics.integers(rhs_shape, "rhs_shape")
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise TypeError(
            f"convolution requires lhs and rhs ndim to be equal, got {rank} and {len(rhs_shape)} "
            f"(shapes {tuple(lhs_shape)} and {tuple(rhs_shape)})."
        )
    if dimension_numbers is None:
        in_order = tuple(range(rank))
        return ConvDimensionNumbers(in_order, in_order, in_order)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError(
            f"convolution dimension_numbers must be tuple/list or None, got {type(dimension_numbers).__name__}."
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            f"convolution dimension_numbers list/tuple must be length 3, got {len(dimension_numbers)}: "
            "layouts of lhs, rhs and result."
        )
    if not all(isinstance(s, str) for s in dimension_numbers):
        got = ", ".join(type(s).__name__ for s in dimension_numbers)
        raise TypeError(f"convolution dimension_numbers elements must be strings, got ({got}).")
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != rank:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and rhs, got {len(spec)} "
                f"({spec!r}) for lhs and rhs shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*_permutations(tuple(dimension_numbers)))  # type: ignore[arg-type]


def _permuted(shape: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    sizes = statics.integers(shape, "lhs_shape or rhs_shape")
    if len(sizes) != len(spec):
        raise TypeError(f"dimension_numbers are of {len(spec)} dimensions, the shape {sizes} has {len(sizes)}")
    return tuple([sizes[i] for i in spec])


def _unpermuted(shape: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    """The shape whose dimensions `spec` are `shape`."""
    out = [0] * len(shape)
    for size, position in zip(shape, spec):
        out[position] = size
    return tuple(out)


# -- shapes ------------------------------------------------------------------------------------------------------


def conv_shape_tuple(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int], pads: Any, batch_group_count: int = 1
) -> tuple[int, ...]:
    """The shape of a convolution's result, (batch, feature, spatial...).

    Args:
      lhs_shape: (batch, feature, spatial...), with its dilation.
      rhs_shape: (output feature, input feature, spatial...), with its dilation.
      strides: window strides.
      pads: (low, high) pairs, or a kind of padding by name.
      batch_group_count: number of groups of the batch.

    Returns:
      The shape.

    Raises:
      TypeError: a wrong number of pairs.
      ValueError: negative padding that cuts off more than there is.

    >>> import xtrace as xt
    >>> xt.lax.conv_shape_tuple((1, 3, 8, 8), (5, 3, 3, 3), (2, 2), "VALID")
    (1, 5, 3, 3)
    """
    lhs_shape, rhs_shape = statics.integers(lhs_shape, "lhs_shape"), statics.integers(rhs_shape, "rhs_shape")
    sizes, windows, strides = lhs_shape[2:], rhs_shape[2:], statics.integers(strides, "strides")
    for stride in strides:
        statics.positive(stride, "strides")
    if not len(sizes) == len(windows) == len(strides):
        raise TypeError(
            f"a convolution of shapes {lhs_shape} and {rhs_shape} takes {len(sizes)} strides, got {strides}"
        )
    if isinstance(pads, str):
        pads = padtype_to_pads(sizes, windows, strides, pads)
    else:
        pads = int_pairs("conv_shape_tuple", pads)
    if len(pads) != len(sizes):
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(sizes)}, got {len(pads)}: {tuple(pads)}."
        )
    padded = [size + lo + hi for size, (lo, hi) in zip(sizes, pads)]
    if any([d < 0 for d in padded]):
        raise ValueError(
            "Negative padding is larger than the size of the corresponding dimension: "
            f"got padding={tuple(pads)} for lhs_shape[2:]={tuple(sizes)}"
        )
    spatial = [windows_that_fit(d, w, s) for d, w, s in zip(padded, windows, strides)]
    return (lhs_shape[0] // statics.positive(batch_group_count, "batch_group_count"), rhs_shape[0], *spatial)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a convolution's result in any layout.

    Args:
      lhs_shape, rhs_shape: shapes of the operands.
      window_strides: window strides.
      padding: (low, high) pairs, or a kind of padding by name.
      dimension_numbers: three strings such as ("NHWC", "HWIO", "NHWC").

    Returns:
      The shape.

    >>> import xtrace as xt
    >>> xt.lax.conv_general_shape_tuple((1, 8, 3), (3, 3, 5), (1,), "SAME", ("NHC", "HIO", "NHC"))
    (1, 8, 5)
    """
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    out = conv_shape_tuple(_permuted(lhs_shape, lhs_spec), _permuted(rhs_shape, rhs_spec), window_strides, padding)
    return _unpermuted(out, out_spec)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of the result of `conv_transpose`.

    Args:
      lhs_shape, rhs_shape: shapes of the operands.
      window_strides: window strides.
      padding: (low, high) pairs, or a kind of padding by name.
      dimension_numbers: three strings such as ("NHWC", "HWIO", "NHWC").

    Returns:
      The shape.

    >>> import xtrace as xt
    >>> xt.lax.conv_transpose_shape_tuple((1, 4, 3), (3, 3, 5), (2,), "SAME", ("NHC", "HIO", "NHC"))
    (1, 8, 5)
    """
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    lhs, rhs = _permuted(lhs_shape, lhs_spec), _permuted(rhs_shape, rhs_spec)
    window_strides = statics.integers(window_strides, "window_strides")
    if isinstance(padding, str):
        padding = [_transposed_padding(k, s, padding) for k, s in zip(rhs[2:], window_strides)]
    padding = int_pairs("conv_transpose_shape_tuple", padding)
    spatial = [
        (size - 1) * stride - window + 2 + sum(pads)
        for size, window, stride, pads in zip(lhs[2:], rhs[2:], window_strides, padding)
    ]
    return _unpermuted((lhs[0], rhs[0], *spatial), out_spec)


# -- abstract evaluation -----------------------------------------------------------------------------------------


def _check_groups(
    lhs: ShapedArray, rhs: ShapedArray, numbers: ConvDimensionNumbers, feature_groups: int, batch_groups: int
) -> None:
    """Raise ValueError for sizes that don't divide into groups, or features that don't agree."""
    name = "conv_general_dilated"
    batch, features = lhs.shape[numbers.lhs_spec[0]], lhs.shape[numbers.lhs_spec[1]]
    out_features, in_features = rhs.shape[numbers.rhs_spec[0]], rhs.shape[numbers.rhs_spec[1]]
    for what, count in (("feature_group_count", feature_groups), ("batch_group_count", batch_groups)):
        if count < 1:
            raise ValueError(f"{name} {what} must be a positive integer, got {count}.")
    if features % feature_groups:
        raise ValueError(
            f"{name} feature_group_count must divide lhs feature dimension size, but {feature_groups} does not divide "
            f"{features} (lhs {lhs.str_short()})."
        )
    if features // feature_groups != in_features:
        raise ValueError(
            f"{name} lhs feature dimension size divided by feature_group_count must equal the rhs input feature "
            f"dimension size, but {features} // {feature_groups} != {in_features} (lhs {lhs.str_short()} with features "
            f"in dimension {numbers.lhs_spec[1]}, rhs {rhs.str_short()} with input features in dimension "
            f"{numbers.rhs_spec[1]})."
        )
    if batch % batch_groups:
        raise ValueError(
            f"{name} batch_group_count must divide lhs batch dimension size, but {batch_groups} does not divide "
            f"{batch} (lhs {lhs.str_short()})."
        )
    for what, count in (("feature_group_count", feature_groups), ("batch_group_count", batch_groups)):
        if out_features % count:
            raise ValueError(
                f"{name} rhs output feature dimension size must be a multiple of {what}, but {out_features} is not a "
                f"multiple of {count} (rhs {rhs.str_short()})."
            )
    if feature_groups > 1 and batch_groups > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, "
            f"got batch_group_count={batch_groups} and feature_group_count={feature_groups}"
        )


def _conv_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: tuple[int, ...],
    padding: Pads,
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> ShapedArray:
    if lhs.ndim != rhs.ndim:
        raise ValueError(
            "conv_general_dilated lhs and rhs must have the same number of dimensions, "
            f"but got {lhs.shape} and {rhs.shape}."
        )
    _check_groups(lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    n = len(rhs_spec) - 2
    if len(window_strides) != n:
        raise ValueError(
            "conv_general_dilated window and window_strides must have the same number of dimensions, "
            f"but got {n} and {len(window_strides)}"
        )
    for what, values in (("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)):
        if len(values) != n:
            raise ValueError(
                f"conv_general_dilated {what} must have one value for each of {n} spatial dimensions, got {values}"
            )
    for what, values in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if any([v < 1 for v in values]):
            raise ValueError(f"conv_general_dilated {what} must be positive, got {values}")
    if lhs.dtype != rhs.dtype:
        raise TypeError(
            f"lax.conv_general_dilated requires arguments to have the same dtypes, got {lhs.dtype}, {rhs.dtype}. "
            "Cast one of them with .astype()."
        )
    dtype = lhs.dtype
    if dtypes.kind(dtype) not in "biufc":
        raise TypeError(f"conv_general_dilated does not accept dtype {dtype}: it multiplies numbers")
    if preferred_element_type is not None:
        if dtypes.is_complex(dtype) and not dtypes.is_complex(preferred_element_type):
            raise TypeError(
                "conv_general_dilated of complex operands can't have the real preferred_element_type "
                f"{preferred_element_type}"
            )
        dtype = preferred_element_type
    left, right = _permuted(lhs.shape, lhs_spec), _permuted(rhs.shape, rhs_spec)
    left = (*left[:2], *map(dilated, left[2:], lhs_dilation))
    right = (*right[:2], *map(dilated, right[2:], rhs_dilation))
    out = conv_shape_tuple(left, right, window_strides, padding, batch_group_count)
    weak = lhs.weak_type and rhs.weak_type and preferred_element_type is None
    return ShapedArray(_unpermuted(out, out_spec), dtype, weak)


conv_general_dilated_p = Primitive("conv_general_dilated", _conv_aval)


# -- functions ---------------------------------------------------------------------------------------------------


def _check_preferred(dtype: Any, preferred: Any) -> None:
    """Raise TypeError where a convolution of elements of type `dtype` can't be summed in the type `preferred`."""
    kinds = dtypes.kind(dtype) + dtypes.kind(preferred)
    if kinds not in ("ii", "if", "ui", "uu", "uf", "ff", "cc"):
        raise TypeError(
            f"Input type is incompatible with `preferred_element_type`: {dtype} with {preferred}. Integers are summed "
            "in integers (signed ones in signed ones) or floats, floats in floats, complex numbers in complex numbers."
        )
    if dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(dtype):
        raise TypeError(
            f"`preferred_element_type` must not be narrower than the original type: {preferred} for {dtype}. "
            "Convert the result instead."
        )


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Convolution over any number of spatial dimensions, with strides, dilations and groups.

    As in all neural network libraries, the kernel isn't flipped.

    Args:
      lhs: array with a batch, a feature and n spatial dimensions.
      rhs: array of lhs's dtype, the kernel, with an output feature, an input feature and n spatial dimensions.
      window_strides: n integers, how far the kernel moves.
      padding: "SAME", "SAME_LOWER", "VALID", or n pairs (low, high); negative ones cut off.
      lhs_dilation: n integers, how far apart the elements of lhs are set (with zeros between); 1 by default.
      rhs_dilation: n integers, the same for rhs.
      dimension_numbers: the layouts of lhs, rhs and result: strings such as ("NHWC", "HWIO", "NHWC"), a
        ConvDimensionNumbers, or None for ("NCHW", "OIHW", "NCHW") and its like.
      feature_group_count: number of groups of features, each with its own part of the kernel.
      batch_group_count: number of groups of the batch, each with its own part of the kernel.
      precision: None (the option default_matmul_precision), a Precision or its name, or a pair of them.
      preferred_element_type: dtype in which to sum and return; the default is the operands'.
      out_sharding: sharding of the result, if it should have a particular one.

    Returns:
      The array of dimensions as laid out by dimension_numbers.

    Raises:
      TypeError: dtypes that differ, or dimension numbers without meaning.
      ValueError: shapes, groups, strides or padding that don't fit.

    >>> import numpy as np, xtrace as xt
    >>> x, kernel = np.ones((1, 8, 8, 3), np.float32), np.ones((3, 3, 3, 16), np.float32)
    >>> xt.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).shape
    (1, 4, 4, 16)
    """
    lhs_shape, rhs_shape = shaped(lhs).shape, shaped(rhs).shape
    if type(dimension_numbers) is ConvDimensionNumbers:
        lhs_spec, rhs_spec, out_spec = dimension_numbers
        numbers = ConvDimensionNumbers(tuple(lhs_spec), tuple(rhs_spec), tuple(out_spec))
    else:
        numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    strides = statics.integers(window_strides, "window_strides")
    ones = (1,) * (len(numbers.lhs_spec) - 2)
    lhs_dilation = ones if lhs_dilation is None else statics.integers(lhs_dilation, "lhs_dilation")
    rhs_dilation = ones if rhs_dilation is None else statics.integers(rhs_dilation, "rhs_dilation")
    if isinstance(padding, str):
        if lhs_dilation != ones:
            raise ValueError(
                "String padding is not implemented for transposed convolution using this op. "
                "Please either exactly specify the required padding or use conv_transpose."
            )
        if len(lhs_shape) == len(rhs_shape):
            sizes, windows = _permuted(lhs_shape, numbers.lhs_spec)[2:], _permuted(rhs_shape, numbers.rhs_spec)[2:]
            padding = tuple(padtype_to_pads(sizes, [*map(dilated, windows, rhs_dilation)], strides, padding))
        else:
            padding = ()  # what is wrong is said below
    else:
        padding = int_pairs("conv_general_dilated", padding)
    preferred = None if preferred_element_type is None else dtypes.canonical_dtype(preferred_element_type)
    if preferred is not None:
        _check_preferred(shaped(lhs).dtype, preferred)
    out = conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        dimension_numbers=numbers,
        feature_group_count=statics.integer(feature_group_count, "feature_group_count"),
        batch_group_count=statics.integer(batch_group_count, "batch_group_count"),
        precision=canonical_precision(precision),
        preferred_element_type=preferred,
        out_sharding=None,
    )
    return held("conv_general_dilated", out, out_sharding)


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolution in the layouts (batch, feature, spatial...) and (output feature, input feature, spatial...).

    Args:
      lhs, rhs, window_strides, padding, precision, preferred_element_type: as in `conv_general_dilated`.

    Returns:
      An array (batch, feature, spatial...).

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.conv(np.ones((1, 3, 8)), np.ones((5, 3, 3)), (1,), "VALID").shape
    (1, 5, 6)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolution with dilations in the layouts of `conv`.

    Args:
      lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision, preferred_element_type: as in
        `conv_general_dilated`.

    Returns:
      An array (batch, feature, spatial...).

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.conv_with_general_padding(np.ones((1, 3, 8)), np.ones((5, 3, 3)), (1,), [(1, 1)], (2,), (1,)).shape
    (1, 5, 15)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_padding(window: int, stride: int, padding: Any) -> tuple[int, int]:
    """The padding, along one dimension, with which a dilated convolution undoes one with `padding`."""
    if not isinstance(padding, str):
        lo, hi = padding
        return window - lo - 1, window - hi - 1
    name = padding_name(padding)
    if name == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    elif name == "VALID":
        total = window + stride - 2 + max(window - stride, 0)
        low = window - 1
    else:
        raise ValueError(f"Invalid padding mode: {padding}. conv_transpose takes 'SAME', 'VALID' or (low, high) pairs.")
    return low, total - low


_TRANSPOSE_LAYOUTS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """Transposed convolution: lhs is dilated by `strides`, so that a convolution with these strides is undone.

    Args:
      lhs, rhs: arrays, as in `conv_general_dilated`.
      strides: for each spatial dimension, by how much the result is larger.
      padding: "SAME" or "VALID": that of the convolution undone; or (low, high) pairs: that of the dilated convolution
        (with use_consistent_padding: of the convolution undone).
      rhs_dilation, precision, preferred_element_type: as in `conv_general_dilated`.
      dimension_numbers: as there, but None stands for ("NHWC", "HWIO", "NHWC") and its like.
      transpose_kernel: flip the kernel and exchange its input and output features, as the derivative of a convolution
        does (and conv2d_transpose of Keras).
      use_consistent_padding: what pairs given as padding mean.

    Returns:
      An array laid out as dimension_numbers say.

    Raises:
      ValueError: dimension_numbers of None with more than 3 spatial dimensions.
      TypeError, ValueError: as in `conv_general_dilated`.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.conv_transpose(np.ones((1, 4, 3)), np.ones((3, 3, 5)), (2,), "SAME").shape
    (1, 8, 5)
    """
    lhs_shape, rhs_shape = shaped(lhs).shape, shaped(rhs).shape
    rank = len(lhs_shape)
    if dimension_numbers is None:
        if rank not in _TRANSPOSE_LAYOUTS:
            raise ValueError(
                f"No 4+ dimensional dimension_number defaults: give conv_transpose dimension_numbers for lhs of shape "
                f"{lhs_shape}"
            )
        dimension_numbers = _TRANSPOSE_LAYOUTS[rank]
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    spatial = tuple(numbers.rhs_spec[2:])
    dilation = (1,) * len(spatial) if rhs_dilation is None else statics.integers(rhs_dilation, "rhs_dilation")
    if isinstance(padding, str) or use_consistent_padding:
        each = [padding] * len(spatial) if isinstance(padding, str) else padding
        windows = [dilated(rhs_shape[d], r) for d, r in zip(spatial, dilation)]
        strides = statics.integers(strides, "strides")
        padding = [_transposed_padding(k, s, p) for k, s, p in zip(windows, strides, each)]
    if transpose_kernel:
        permutation = list(range(rank))
        o, i = numbers.rhs_spec[:2]
        permutation[o], permutation[i] = i, o
        rhs = _shapes.transpose(_shapes.rev(rhs, spatial), permutation)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(spatial),
        padding,
        strides,
        dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The patches that a convolution's kernel would be laid over, each as one feature vector.

    Args:
      lhs: array, as in `conv_general_dilated`.
      filter_shape: the spatial sizes of the kernel.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision, preferred_element_type: as in
        `conv_general_dilated`.

    Returns:
      An array laid out as a convolution's result, whose features are (input feature, position in the kernel).

    Raises:
      TypeError: `filter_shape` has not one size for each spatial dimension.

    >>> import numpy as np, xtrace as xt
    >>> x = np.float32([[[1, 2, 3, 4]]])
    >>> xt.lax.conv_general_dilated_patches(x, (2,), (1,), "VALID").tolist()
    [[[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]]
    """
    aval = shaped(lhs)
    window = statics.integers(filter_shape, "filter_shape")
    if aval.ndim != len(window) + 2 or any([size < 0 for size in window]):
        raise TypeError(
            f"a convolution of lhs with shape {aval.shape} takes {max(aval.ndim - 2, 0)} sizes as its filter_shape, "
            f"not negative, got {window}"
        )
    numbers = conv_dimension_numbers(aval.shape, (1,) * aval.ndim, dimension_numbers)
    size, features = math.prod(window), aval.shape[numbers.lhs_spec[1]]
    # The kernel of feature f and position p has a single 1, at p; every input feature is a group.
    one_hot = np.eye(size, dtype=aval.dtype).reshape(size, 1, *window)
    kernel = np.tile(one_hot, (features,) + (1,) * (one_hot.ndim - 1))
    kernel = kernel.transpose(_unpermuted(range(kernel.ndim), numbers.rhs_spec))
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        # The kernel is exact in any precision.
        precision=None if precision is None else (precision, None),
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: Any = None,
) -> Any:
    """Convolution with a kernel of its own at every position: unshared weights.

    Args:
      lhs: array, as in `conv_general_dilated`.
      rhs: array with output features, (input features x kernel positions) and the result's spatial dimensions, laid
        out as a kernel.
      filter_shape: the spatial sizes of the kernels.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision: as in `conv_general_dilated`.

    Returns:
      An array laid out as a convolution's result.

    >>> import numpy as np, xtrace as xt
    >>> x, kernels = np.float32([[[1, 2, 3, 4]]]), np.ones((1, 2, 3), np.float32)
    >>> xt.lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,)).tolist()
    [[[3.0, 5.0, 7.0]]]
    """
    from xtrace.lax import dots

    pair = canonical_precision(precision)
    left = pair[0] if type(pair) is tuple else None
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision=left
    )
    numbers = conv_dimension_numbers(shaped(lhs).shape, shaped(rhs).shape, dimension_numbers)
    lhs_spec, rhs_spec, out_spec = numbers
    contract = ((rhs_spec[1],), (out_spec[1],))
    batch = (tuple(rhs_spec[2:]), tuple(out_spec[2:]))
    product = dots.dot_general(rhs, patches, (contract, batch), pair[::-1] if type(pair) is tuple else pair)
    # Its dimensions are (spatial..., output feature, batch).
    n = len(rhs_spec) - 2
    return _shapes.transpose(product, _unpermuted((n + 1, n, *range(n)), out_spec))


from xtrace.lax import convolution_rules as _convolution_rules  # noqa: E402, F401  (sets the primitive's rules)
