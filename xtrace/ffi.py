"""Calls of functions of other languages from inside compiled programs (jax.ffi)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import AbstractToken, ShapedArray, abstract_token
from xtrace.core.primitive import shaped
from xtrace.lax import callbacks, foreign_calls
from xtrace.lax.attributes import hashable
from xtrace.lowering.custom_calls import build_ffi_lowering_function, ffi_lowering, minor_to_major
from xtrace.lowering.layouts import row_major
from xtrace.runtime import jaxlib_api, lapack, plugins

__all__ = [
    "abstract_token",
    "build_ffi_lowering_function",
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]

# -- registering -----------------------------------------------------------------------------------------------------


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any) -> None:
    """Make a foreign function known to the compiler.

    Args:
      name: what programs call it.
      fn: a capsule with its address (`pycapsule`); or a dictionary of capsules, by the stages of a call: "execute" and,
        as needed, "instantiate", "prepare", "initialize".
      platform: where it runs: "cpu", "CUDA" or "ROCM".
      api_version: 1 for a handler of the typed FFI, 0 for a plain function of the older convention.
      kwargs: `traits` of the handler.

    Raises:
      JaxRuntimeError: `fn` is none of these, another function has this name, or there is no such version.
    """
    jaxlib_api.register_custom_call_target(name, fn, platform, api_version, **kwargs)


def register_ffi_type(name: str, type_registration: Mapping[str, Any], platform: str = "cpu") -> None:
    """Make a type of a foreign library known, so that its functions can keep objects of it from call to call.

    Args:
      name: the name of the type, once in a process.
      type_registration: "type_id": a capsule with the address of its XLA_FFI_TypeId; "type_info": if need be, one
        with that of its XLA_FFI_TypeInfo.
      platform: as for `register_ffi_target`.

    Raises:
      JaxRuntimeError: the registration is something else.
    """
    jaxlib_api.register_custom_type(name, type_registration, platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """What `register_ffi_type` replaced; raises ValueError.

    Args:
      name, obj, platform: the type's name, the capsule of its id, and where it is for.
    """
    raise ValueError(
        f"register_ffi_type_id is not supported any more: write register_ffi_type({name!r}, {{'type_id': ...}}, "
        f"platform={platform!r})."
    )


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say that a foreign function treats each example by itself, the leading axes being those of examples.

    Programs over several devices then call it on each device with the examples that are there, rather than
    everywhere with all of them.

    Args:
      name: of the registered function.
    """
    plugins.register_batch_partitionable(name)


def pycapsule(funcptr: Any) -> Any:
    """The address of a function that ctypes loaded, as the capsule that `register_ffi_target` takes.

    Args:
      funcptr: a function of a `ctypes.CDLL`. The library has to stay loaded.

    Example:
      >>> import ctypes, xtrace as xt
      >>> xt.ffi.pycapsule(ctypes.CDLL(None).abs)  # doctest: +ELLIPSIS
      <capsule object NULL at 0x...>
    """
    destructor = ctypes.CFUNCTYPE(None, ctypes.py_object)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, destructor)
    return new(("PyCapsule_New", ctypes.pythonapi))(ctypes.cast(funcptr, ctypes.c_void_p), None, destructor(0))


def include_dir() -> str:
    """The folder of the headers that foreign functions are compiled with: `xla/ffi/api/ffi.h` and its kin.

    Example:
      >>> import os, xtrace as xt
      >>> os.path.exists(os.path.join(xt.ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))
      True
    """
    return jaxlib_api.include_folder()


# -- calling ---------------------------------------------------------------------------------------------------------


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays that calls a foreign function.

    Args:
      target_name: the name by which `register_ffi_target` knows it.
      result_shape_dtypes: what it gives: a thing with shape and dtype, or a sequence of them. 64-bit types stand for
        themselves, whether x64 mode is on or off.
      has_side_effect: whether it does something besides computing its results, and is called though nobody uses them.
      vmap_method: what vmap does. "sequential": call once for each example; "sequential_unrolled": likewise, without a
        loop in the program; "expand_dims": call once, with a leading axis for all operands, of size 1 for those that
        are not mapped; "broadcast_all": likewise, of full size; None: refuse.
      input_layouts: how the function wants each operand in memory: its axes from the slowest to the fastest, a Layout,
        or None for row by row. For column by column, (1, 0).
      output_layouts: the same of the result, or of each of a sequence of results.
      input_output_aliases: operand -> result that is written over it.
      custom_call_api_version: 4 for the typed FFI; 1, 2 or 3 for functions of the older convention.
      legacy_backend_config: the string that functions of the older convention are given.

    Returns:
      A function of arrays; what it is given by name are attributes: numbers, strings, NumPy arrays, dtypes, tuples and
      dictionaries. It returns an array, or a list (a tuple if `result_shape_dtypes` is one) of arrays.

    Raises:
      ValueError: options that contradict each other, or the types of operands and results; a derivative is taken (give
        one with custom_jvp or custom_vjp).
      TypeError: an operand is not an array, or an attribute none of the above.
      NotImplementedError: under vmap without a `vmap_method`.
      JaxRuntimeError: no function of this name is registered, or it failed.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> x = xt.numpy.array([[4.0, 2.0], [2.0, 5.0]])
      >>> results = (xt.ShapeDtypeStruct((2, 2), np.float32), xt.ShapeDtypeStruct((), np.int32))
      >>> call = xt.ffi.ffi_call(
      ...     "lapack_spotrf_ffi", results, input_layouts=[(1, 0)], output_layouts=[(1, 0), None],
      ...     input_output_aliases={0: 0},
      ... )
      >>> factor, info = call(x, uplo=np.uint8(ord("U")))
      >>> xt.numpy.triu(factor).tolist()
      [[2.0, 1.0], [0.0, 2.0]]
    """
    if vmap_method not in callbacks.VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be on of the allowed methods {list(callbacks.VMAP_METHODS)}, but got: {vmap_method}"
        )
    if custom_call_api_version >= 4 and legacy_backend_config is not None:
        raise ValueError(
            "The use of the legacy_backend_config parameter requires custom_call_api_version < 4; got "
            f"{custom_call_api_version}. Functions of the typed FFI take attributes, by name."
        )
    if target_name.startswith("lapack_"):
        lapack.ensure()
    several = isinstance(result_shape_dtypes, Sequence)
    avals = _result_avals(result_shape_dtypes if several else [result_shape_dtypes])
    out_orders = _orders(avals, output_layouts if several or output_layouts is None else [output_layouts], "output")

    def call(*args: Any, **attributes: Any) -> Any:
        in_avals = [shaped(x) for x in args]
        in_orders = _orders(in_avals, input_layouts, "input")
        results = foreign_calls.ffi_call_p.bind(
            *args,
            result_avals=avals,
            vmap_method=vmap_method,
            target_name=target_name,
            has_side_effect=bool(has_side_effect),
            input_layouts=in_orders,
            output_layouts=out_orders,
            input_output_aliases=_aliases(input_output_aliases or {}, in_avals, avals, in_orders, out_orders),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=hashable(attributes),
        )
        if not several:
            return results[0]
        return tuple(results) if isinstance(result_shape_dtypes, tuple) else list(results)

    return call


def _result_avals(results: Sequence[Any]) -> tuple[ShapedArray, ...]:
    avals: list[ShapedArray] = []
    for i, result in enumerate(results):
        if isinstance(result, AbstractToken):
            avals.append(result)
            continue
        if not hasattr(result, "shape") or not hasattr(result, "dtype"):
            raise ValueError(
                "All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes. "
                f"Got {result} at position {i}."
            )
        dtype = result.dtype if dtypes.is_extended(result.dtype) else dtypes.as_dtype(result.dtype)
        avals.append(ShapedArray(tuple(result.shape), dtype))
    return tuple(avals)


def _orders(avals: Sequence[Any], layouts: Sequence[Any] | None, which: str) -> tuple[tuple[int, ...], ...]:
    """Axes from the fastest to the slowest, of each operand or result."""
    if layouts is None:
        return tuple(map(row_major, avals))
    if len(layouts) != len(avals):
        what = "input arguments" if which == "input" else "outputs"
        raise ValueError(
            f"The number of {what} ({len(avals)}) must equal the number of {which} layouts ({len(layouts)})."
        )
    found: list[tuple[int, ...]] = []
    for i, (aval, layout) in enumerate(zip(avals, layouts)):
        plain = layout is not None and not hasattr(layout, "major_to_minor")
        try:
            order = minor_to_major(aval, tuple(layout)[::-1] if plain else layout)
        except TypeError:  # not a sequence of integers
            order = (-1,)
        if sorted(order) != sorted(row_major(aval)):
            raise ValueError(
                f"{which}_layouts[{i}] must name each axis of {aval.str_short()} once, from the slowest to the fastest "
                f"in memory, got {layout}."
            )
        found.append(order)
    return tuple(found)


def _aliases(
    aliases: Mapping[int, int],
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    in_orders: Sequence[tuple[int, ...]],
    out_orders: Sequence[tuple[int, ...]],
) -> tuple[tuple[int, int], ...]:
    found = []
    for i, o in sorted(aliases.items()):
        i, o = int(i), int(o)
        mapping = f"input_output_aliases contains the mapping '{i}:{o}' "
        for index, avals, what in ((i, in_avals, "input"), (o, out_avals, "output")):
            if not 0 <= index < len(avals):
                raise ValueError(f"{mapping}with {what} index {index} outside the range [0, {len(avals)}).")
        given, wanted = in_avals[i], out_avals[o]
        if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(
                f"{mapping}referring to an input with abstract value {given} and an output with a different abstract "
                f"value {wanted}: they share memory, so they need the same shape and dtype."
            )
        if in_orders[i] != out_orders[o]:
            raise ValueError(
                f"{mapping}referring to an input with layout {in_orders[i]} and an output with a different layout "
                f"{out_orders[o]}: they share memory, so they need the same layout."
            )
        found.append((i, o))
    return tuple(found)
