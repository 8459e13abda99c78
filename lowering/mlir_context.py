"""MLIR state: the context with its dialects, and caches of types, attributes and locations that live in it."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

from xtrace.core import dtypes, source
from xtrace.core.avals import AbstractToken, ShapedArray

#: A context keeps every type, constant and location ever made in it, so it is replaced after this many modules.
_MODULES_PER_CONTEXT = 256

_PLAIN_TYPES: dict[str, str] = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    "int2": "i2",
    "int4": "i4",
    "uint2": "ui2",
    "uint4": "ui4",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float4_e2m1fn": "f4E2M1FN",
    "float0": "i1",
}


class MLIRContext:
    """An `ir.Context` with all dialects we emit, and what is cached per context."""

    def __init__(self, context: ir.Context | None = None) -> None:
        if context is None:
            context = ir.Context()
            registry = ir.DialectRegistry()
            _jax_mlir_ext.register_dialects(registry)  # the upstream dialects
            context.append_dialect_registry(registry)
            context.load_all_available_dialects()
            sdy.register_dialect(context)
            mhlo.register_mhlo_dialect(context)
            chlo.register_dialect(context)
            stablehlo.register_dialect(context)
            # Uniquing runs under locks otherwise, and modules are built by one thread.
            context.enable_multithreading(False)
        self.context = context
        self.unknown = ir.Location.unknown(context)
        self.token = ir.Type.parse("!stablehlo.token", context)
        self.element_types: dict[Any, ir.Type] = {}
        self.types: dict[Any, ir.Type] = {}
        self.locations: dict[Any, ir.Location] = {}
        self.attributes: dict[Any, ir.Attribute] = {}
        #: Integers -> `array<i64: ...>`.
        self.arrays: dict[tuple[int, ...], ir.Attribute] = {}
        self.modules_made = 0

    # -- types -------------------------------------------------------------------------------------------------

    def element_type(self, dtype: np.dtype) -> ir.Type:
        """The MLIR type of one element of `dtype`."""
        found = self.element_types.get(dtype)
        if found is None:
            name = "float0" if dtype == dtypes.float0 else dtype.name
            found = self.element_types[dtype] = ir.Type.parse(_PLAIN_TYPES[name], self.context)
        return found

    def tensor_type(self, shape: tuple[int, ...], dtype: Any) -> ir.Type:
        """The ranked tensor type; extended dtypes appear as what they are stored as."""
        key = (shape, dtype)
        found = self.types.get(key)
        if found is None:
            physical_shape, physical_dtype = shape, dtype
            if isinstance(dtype, dtypes.ExtendedDtype):
                physical_shape, physical_dtype = (*shape, *dtype.physical_shape), dtype.physical_dtype
            element = self.element_type(physical_dtype)
            found = self.types[key] = ir.RankedTensorType.get(physical_shape, element, None, self.unknown)
        return found

    def aval_type(self, aval: Any) -> ir.Type:
        if type(aval) is ShapedArray:
            found = self.types.get(aval)
            if found is None:
                found = self.types[aval] = self.tensor_type(aval.shape, aval.dtype)
            return found
        if isinstance(aval, AbstractToken):
            return self.parsed_type("!stablehlo.token")
        raise TypeError(f"values of type {aval} can't be lowered")

    def parsed_type(self, text: str) -> ir.Type:
        found = self.types.get(text)
        if found is None:
            found = self.types[text] = ir.Type.parse(text, self.context)
        return found

    # -- attributes --------------------------------------------------------------------------------------------

    def parsed(self, text: str) -> ir.Attribute:
        """An attribute by its text, e.g. `#stablehlo<comparison_direction GT>` or `array<i64: 0, 1>`."""
        found = self.attributes.get(text)
        if found is None:
            found = self.attributes[text] = ir.Attribute.parse(text, self.context)
        return found

    def i64_array(self, values: Any) -> ir.Attribute:
        """`array<i64: ...>`."""
        if type(values) is not tuple:
            values = tuple(values)
        found = self.arrays.get(values)
        if found is None:
            text = ", ".join(map(str, values))
            found = self.arrays[values] = ir.Attribute.parse(
                f"array<i64: {text}>" if text else "array<i64>", self.context
            )
        return found

    def i64(self, value: int) -> ir.Attribute:
        return self.parsed(f"{int(value)} : i64")

    def i32(self, value: int) -> ir.Attribute:
        return self.parsed(f"{int(value)} : i32")

    def boolean(self, value: bool) -> ir.Attribute:
        return self.parsed("true" if value else "false")

    def string(self, text: str) -> ir.Attribute:
        key = ("string", text)
        found = self.attributes.get(key)
        if found is None:
            found = self.attributes[key] = ir.StringAttr.get(text, self.context)
        return found

    def result_attributes(self, path: str | None = None, texts: dict[str, str] | None = None) -> ir.Attribute:
        """The dictionary of attributes of a result: where it is among the results, and others by their MLIR text."""
        key = ("result", path or "")
        if not texts and key in self.attributes:
            return self.attributes[key]
        named = {"jax.result_info": self.string(path)} if path else {}
        for name, text in (texts or {}).items():
            named[name] = self.parsed(text)
        found = ir.DictAttr.get(named, context=self.context)
        if not texts:
            self.attributes[key] = found
        return found

    def dense(self, array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> ir.Attribute:
        """A constant. A scalar `array` with another `shape` is a splat of it."""
        kind = dtypes.kind(dtype)
        element = self.element_type(dtype)
        type_ = self.tensor_type(shape, dtype)
        if array.ndim == 0 and shape != ():
            if kind == "b" or (kind in "iu" and dtype.itemsize * 8 == _bits(dtype)):
                if 0 not in shape:
                    return ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(element, int(array)))
                array = np.broadcast_to(array, shape)
            elif dtype.itemsize == 1 or 0 in shape:
                array = np.broadcast_to(array, shape)
            # Else one element, which MLIR takes for a splat: the whole array is never made.
        if kind in ("b", "0"):
            flat = np.zeros(shape, np.bool_) if kind == "0" else array
            # A byte to an element, for MLIR would take a buffer of one byte, packed bits among them, for a splat.
            return ir.DenseElementsAttr.get(np.ascontiguousarray(flat), type=element, shape=shape, context=self.context)
        if kind in "iu" and _bits(dtype) < 8:
            values = ", ".join(map(str, np.asarray(array).astype(np.int8).ravel().tolist()))
            if 0 in shape:
                return ir.Attribute.parse(f"dense<> : {type_}", self.context)
            return (
                ir.Attribute.parse(
                    f"dense<{_nested(np.asarray(array).astype(np.int32).tolist())}> : {type_}", self.context
                )
                if values
                else None
            )
        array = np.ascontiguousarray(array)
        if array.dtype in dtypes._ML_KINDS:  # numpy has no buffer format for these: hand over the bytes
            array = array.view(np.dtype(f"uint{8 * array.dtype.itemsize}"))
        return ir.DenseElementsAttr.get(array, type=element, shape=shape, context=self.context)

    # -- locations ---------------------------------------------------------------------------------------------

    def equation_location(self, key: tuple[Any, ...], position: source.Position | None) -> ir.Location:
        """The location of an equation, kept under `key`: its primitive, its scope, and the position's parts."""
        primitive, scope = key[:2]
        name = f"{scope}/{primitive.name}" if scope else primitive.name
        found = self.locations[key] = self.location(name, position)
        return found

    def location(self, name: str, position: source.Position | None) -> ir.Location:
        """The location `name` at the user's line."""
        key = (name, None) if position is None else (name, id(position[0]), position[1])
        found = self.locations.get(key)
        if found is None:
            line = source.resolve(position)
            if line is None:
                inner = self.unknown
            else:
                inner = ir.Location.file(line.file, line.line, line.column, context=self.context)
            found = ir.Location.name(name, inner, context=self.context)
            # The code object is kept so that its id is not taken by another.
            self.locations[key] = found
            self.attributes[("code", key)] = position
        return found


def _bits(dtype: np.dtype) -> int:
    return ml_dtypes.iinfo(dtype).bits


def _nested(values: Any) -> str:
    return f"[{', '.join(map(_nested, values))}]" if isinstance(values, list) else str(values)


class _Local(threading.local):
    mlir: MLIRContext | None = None


_local = _Local()


def mlir_context() -> MLIRContext:
    """This thread's MLIR context, for one more module."""
    mlir = _local.mlir
    if mlir is None or mlir.modules_made >= _MODULES_PER_CONTEXT:
        mlir = _local.mlir = MLIRContext()
    mlir.modules_made += 1
    return mlir


def mlir_context_in_use() -> MLIRContext:
    """What makes types and attributes for the module that is being made, or for one to come."""
    current, mlir = ir.Context.current, _local.mlir
    if current is None:
        return mlir_context() if mlir is None else mlir
    return mlir if mlir is not None and mlir.context == current else MLIRContext(current)
