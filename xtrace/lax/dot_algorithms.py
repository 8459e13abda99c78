"""Algorithms of matrix products, named or spelled out, and what StableHLO says of them."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np

from xtrace.core import dtypes
from xtrace.lax.precision import Precision


class DotAlgorithm(NamedTuple):
    """An algorithm of matrix products, spelled out: what operands are rounded to and what products are summed in.

    An algorithm with more than one component splits each operand into a sum of narrower numbers and multiplies the
    parts `num_primitive_operations` times.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms that some backend has, by name: the operands' types, the accumulation type, the number of products."""

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def supported_lhs_types(self) -> tuple[Any, ...] | None:
        """Types that operands may have; others are converted to the first. None: any type."""
        return _PRESETS[self].operands if self in _PRESETS else None

    @property
    def supported_rhs_types(self) -> tuple[Any, ...] | None:
        """As `supported_lhs_types`."""
        return self.supported_lhs_types

    @property
    def accumulation_type(self) -> Any:
        """The type in which products are summed; None where it is the result's."""
        if self in _PRESETS:
            return _PRESETS[self].accumulation
        return np.float32 if self.name.startswith("ANY_F8_ANY_F8_F32") else None


class _Preset(NamedTuple):
    operands: tuple[Any, ...]
    rounded: str  # MLIR name of the type the operands are rounded to
    accumulation: Any
    products: int


_BF16, _F16, _F32, _F64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64
_PRESETS: dict[DotAlgorithmPreset, _Preset] = {
    DotAlgorithmPreset.F16_F16_F16: _Preset((_F16,), "f16", _F16, 1),
    DotAlgorithmPreset.F16_F16_F32: _Preset((_F16,), "f16", _F32, 1),
    DotAlgorithmPreset.BF16_BF16_BF16: _Preset((_BF16, _F32), "bf16", _BF16, 1),
    DotAlgorithmPreset.BF16_BF16_F32: _Preset((_BF16, _F32), "bf16", _F32, 1),
    DotAlgorithmPreset.BF16_BF16_F32_X3: _Preset((_F32,), "bf16", _F32, 3),
    DotAlgorithmPreset.BF16_BF16_F32_X6: _Preset((_F32,), "bf16", _F32, 6),
    DotAlgorithmPreset.BF16_BF16_F32_X9: _Preset((_F32,), "bf16", _F32, 9),
    DotAlgorithmPreset.TF32_TF32_F32: _Preset((_F32,), "tf32", _F32, 1),
    DotAlgorithmPreset.TF32_TF32_F32_X3: _Preset((_F32,), "tf32", _F32, 3),
    DotAlgorithmPreset.F32_F32_F32: _Preset((_F32,), "f32", _F32, 1),
    DotAlgorithmPreset.F64_F64_F64: _Preset((_F64,), "f64", _F64, 1),
}


class LoweredAlgorithm(NamedTuple):
    """The seven fields of StableHLO's dot algorithm; types are MLIR names."""

    lhs: str
    rhs: str
    accumulation: str
    lhs_components: int
    rhs_components: int
    products: int
    imprecise: bool


def lowered_algorithm(precision: Any, lhs: Any, rhs: Any, out: Any) -> LoweredAlgorithm:
    """What StableHLO needs to know of an algorithm, for operands and a result of these dtypes."""
    if isinstance(precision, DotAlgorithm):
        return LoweredAlgorithm(
            _mlir_name(precision.lhs_precision_type),
            _mlir_name(precision.rhs_precision_type),
            _mlir_name(precision.accumulation_type),
            *precision[3:],
        )
    preset = _PRESETS.get(precision)
    if preset is not None:
        accumulation = _mlir_name(preset.accumulation)
        return LoweredAlgorithm(preset.rounded, preset.rounded, accumulation, 1, 1, preset.products, False)
    accumulation = _mlir_name(out if precision.accumulation_type is None else precision.accumulation_type)
    imprecise = precision.name.endswith("FAST_ACCUM")
    return LoweredAlgorithm(_mlir_name(lhs), _mlir_name(rhs), accumulation, 1, 1, 1, imprecise)


def _mlir_name(dtype: Any) -> str:
    dtype = dtypes.as_dtype(dtype)
    return (
        dtypes.SHORT_NAMES[dtype]
        if not dtype.name.startswith("float8")
        else "f" + dtype.name[5:].upper().replace("_", "")
    )


#: What a `precision` argument may be: see `canonical_precision` of precision.py.
PrecisionLike: TypeAlias = (
    str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset | None
)
