"""Derivatives and batching of convolutions.

A convolution is linear in each operand, and its transposes are convolutions: for lhs with strides and dilation
exchanged and the kernel flipped, for rhs with the batch in the place of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import dots, shapes
from xtrace.lax.convolutions import ConvDimensionNumbers, conv_general_dilated_p
from xtrace.lax.window_shapes import Pads, dilated
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.zeros import UndefinedPrimal, Zero, instantiate, zero_tangent


def _jvp_lhs(t: Any, out: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
    inexact = dtypes.is_inexact(shaped(out).dtype)
    return conv_general_dilated_p.bind(t, rhs, **params) if inexact else zero_tangent(out)


def _jvp_rhs(t: Any, out: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
    inexact = dtypes.is_inexact(shaped(out).dtype)
    return conv_general_dilated_p.bind(lhs, t, **params) if inexact else zero_tangent(out)


conv_general_dilated_p.jvps = (_jvp_lhs, _jvp_rhs)

# -- transposes --------------------------------------------------------------------------------------------------


def _spatial(shape: Sequence[int], spec: Sequence[int]) -> list[int]:
    return [shape[d] for d in spec[2:]]


def lhs_cotangent_padding(
    sizes: Sequence[int],
    windows: Sequence[int],
    strides: Sequence[int],
    outs: Sequence[int],
    padding: Pads,
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
) -> Pads:
    """The padding with which windows over a dilated cotangent give back the sizes of what they slid over."""
    pads = []
    for size, window, stride, out, (lo, _), of_lhs, of_rhs in zip(
        sizes, windows, strides, outs, padding, lhs_dilation, rhs_dilation
    ):
        extent = dilated(window, of_rhs)
        before = extent - lo - 1
        pads.append((before, dilated(size, of_lhs) + extent - 1 - dilated(out, stride) - before))
    return tuple(pads)


def _split(x: Any, d: int, groups: int) -> Any:
    """`x` with dimension d as two, (groups, the rest)."""
    shape = shaped(x).shape
    return shapes.reshape(x, (*shape[:d], groups, shape[d] // groups, *shape[d + 1 :]))


def _move_into(x: Any, source: int, target: int) -> Any:
    """`x` with dimension `source` made the major part of the dimension at `target` (counted without `source`)."""
    shape = shaped(x).shape
    order = [d for d in range(len(shape)) if d != source]
    merged = [shape[d] for d in order]
    merged[target] *= shape[source]
    order.insert(target, source)
    return shapes.reshape(x, merged, order)


def _move_groups(x: Any, source: int, target: int, groups: int) -> Any:
    """`x` with the groups that are the major part of dimension `source` made the major part of dimension `target`."""
    return _move_into(_split(x, source, groups), source, target)


def _lhs_cotangent(ct: Any, lhs: ShapedArray, rhs: Any, params: dict[str, Any]) -> Any:
    numbers, padding = params["dimension_numbers"], params["padding"]
    lhs_spec, rhs_spec, out_spec = numbers
    features, batches = params["feature_group_count"], params["batch_group_count"]
    groups = max(features, batches)
    windows = _spatial(shaped(rhs).shape, rhs_spec)
    if groups > 1:  # output features become input features; the groups stay what they are
        rhs = _move_groups(rhs, rhs_spec[0], rhs_spec[1], groups)
    out = conv_general_dilated_p.bind(
        ct,
        shapes.rev(rhs, tuple(rhs_spec[2:])) if windows else rhs,
        window_strides=params["lhs_dilation"],
        padding=lhs_cotangent_padding(
            _spatial(lhs.shape, lhs_spec),
            windows,
            params["window_strides"],
            _spatial(shaped(ct).shape, out_spec),
            padding,
            params["lhs_dilation"],
            params["rhs_dilation"],
        ),
        lhs_dilation=params["window_strides"],
        rhs_dilation=params["rhs_dilation"],
        dimension_numbers=ConvDimensionNumbers(out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
        out_sharding=None,
    )
    return _move_groups(out, lhs_spec[1], lhs_spec[0], batches) if batches > 1 else out


def _rhs_cotangent(ct: Any, lhs: Any, rhs: ShapedArray, params: dict[str, Any]) -> Any:
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    features, batches = params["feature_group_count"], params["batch_group_count"]
    swapped = [(spec[1], spec[0], *spec[2:]) for spec in (lhs_spec, rhs_spec, out_spec)]
    padding = []
    for size, window, stride, out, (lo, _), of_lhs, of_rhs in zip(
        _spatial(shaped(lhs).shape, lhs_spec),
        _spatial(rhs.shape, rhs_spec),
        params["window_strides"],
        _spatial(shaped(ct).shape, out_spec),
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
    ):
        # So much padding behind that there are as many positions as the kernel has elements.
        padding.append((lo, dilated(window, of_rhs) + dilated(out, stride) - 1 - dilated(size, of_lhs) - lo))
    precision = params["precision"]
    return conv_general_dilated_p.bind(
        lhs,
        ct,
        window_strides=params["rhs_dilation"],
        padding=tuple(padding),
        lhs_dilation=params["lhs_dilation"],
        rhs_dilation=params["window_strides"],
        dimension_numbers=ConvDimensionNumbers(swapped[0], swapped[2], swapped[1]),
        feature_group_count=batches,
        batch_group_count=features,
        precision=precision,
        preferred_element_type=params["preferred_element_type"],
        out_sharding=None,
    )


def _conv_transpose(ct: Any, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    if type(ct) is Zero:
        return [None, None]
    for_lhs = type(lhs) is UndefinedPrimal
    operand, other = (lhs.aval, rhs) if for_lhs else (rhs.aval, lhs)
    known = shaped(other)
    if 0 in (operand.size, known.size, shaped(ct).size):
        result = instantiate(Zero(operand))
    else:
        # The cotangent has the preferred type. Both are brought to the wider one, so that nothing is rounded away.
        dtype = dots.result_dtype(shaped(ct).dtype, known.dtype)
        ct, other = shapes.convert(ct, dtype, False), shapes.convert(other, dtype, known.weak_type)
        if params["preferred_element_type"] is not None:
            params["preferred_element_type"] = dtype
        rule = _lhs_cotangent if for_lhs else _rhs_cotangent
        result = rule(ct, operand, other, params) if for_lhs else rule(ct, other, operand, params)
        result = shapes.convert(result, operand.dtype, operand.weak_type)
    return [result, None] if for_lhs else [None, result]


conv_general_dilated_p.transpose = _conv_transpose

# -- batching ----------------------------------------------------------------------------------------------------


def _conv_batch(
    axis: MappedAxis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    """The mapped axis becomes part of a dimension that is independent already.

    Of both operands: groups. Of lhs: the batch. Of rhs: the output features.
    """
    (lhs, rhs), (left, right) = args, dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    n, groups = axis.size, max(feature_group_count, batch_group_count)

    def run(lhs: Any, rhs: Any, feature_groups: int, batch_groups: int) -> Any:
        return conv_general_dilated_p.bind(
            lhs,
            rhs,
            dimension_numbers=dimension_numbers,
            feature_group_count=feature_groups,
            batch_group_count=batch_groups,
            **params,
        )

    if n == 0:  # nothing can be divided into no groups
        return _conv_of_none(lhs, rhs, left, right, run, feature_group_count, batch_group_count), 0
    if left is not None and right is not None:
        rhs = _move_into(rhs, right, rhs_spec[0])
        if batch_group_count > 1:
            out = run(_move_into(lhs, left, lhs_spec[0]), rhs, 1, n * batch_group_count)
        else:
            out = run(_move_into(lhs, left, lhs_spec[1]), rhs, n * feature_group_count, 1)
        return _split(out, out_spec[1], n), out_spec[1]
    if left is not None:
        if batch_group_count == 1:
            out = run(_move_into(lhs, left, lhs_spec[0]), rhs, feature_group_count, 1)
        else:  # the mapped axis goes between the groups and their members
            d = lhs_spec[0]
            at = d + (d >= left)
            lhs = _split(lhs, at, groups)
            left += left > at
            lhs = _move_into(lhs, left, d + 1)
            out = run(_merge(lhs, d), rhs, 1, batch_group_count)
        return _split(out, out_spec[0], n), out_spec[0]
    assert right is not None
    if groups == 1:
        out = run(lhs, _move_into(rhs, right, rhs_spec[0]), 1, 1)
        return _split(out, out_spec[1], n), out_spec[1]
    d = rhs_spec[0]
    at = d + (d >= right)
    rhs = _split(rhs, at, groups)
    right += right > at
    rhs = _merge(_move_into(rhs, right, d + 1), d)
    d = out_spec[1]
    out = _split(_split(run(lhs, rhs, feature_group_count, batch_group_count), d, groups), d + 1, n)
    # (groups, mapped, features of a group): the groups and their features come together.
    return _move_into(out, d, d + 1), d


def _merge(x: Any, d: int) -> Any:
    """`x` with dimensions d and d + 1 as one."""
    shape = shaped(x).shape
    return shapes.reshape(x, (*shape[:d], shape[d] * shape[d + 1], *shape[d + 2 :]))


def _conv_of_none(
    lhs: Any, rhs: Any, left: int | None, right: int | None, run: Any, feature_groups: int, batch_groups: int
) -> Any:
    """The empty array of results where the mapped axis has size 0."""

    def example(x: Any, d: int | None) -> ShapedArray:
        aval = shaped(x)
        return aval if d is None else aval.update(shape=(*aval.shape[:d], *aval.shape[d + 1 :]))

    params = {"feature_groups": feature_groups, "batch_groups": batch_groups}
    one = [instantiate(Zero(example(x, d).strong())) for x, d in ((lhs, left), (rhs, right))]
    out = shaped(run(*one, **params))
    return instantiate(Zero(out.update(shape=(0, *out.shape)).strong()))


conv_general_dilated_p.batch = _conv_batch
