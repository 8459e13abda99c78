"""Catalogue entries of numpy's functions of shapes: manipulation, joining, padding, differences, mapping, kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.catalogue.catalogue import BOOL, FLOATS, INTS, NUMERIC, REAL, Bad, Op, Sample, unary

_FEW = tuple(np.dtype(d) for d in ("float32", "float64", "int32", "bool", "complex64", "bfloat16"))
_REAL_FEW = tuple(np.dtype(d) for d in ("float32", "float64", "int32"))
_X = np.float32(1)
_MATRIX = np.zeros((2, 3), np.float32)


def on(shape: tuple[int, ...], *calls: dict[str, Any], dtypes: tuple[Any, ...] = _FEW) -> Callable[..., Any]:
    """Samples of one array of a shape: every dtype with every set of parameters."""

    def samples(draw: Any) -> Any:
        for dtype in dtypes:
            for params in calls or ({},):
                yield Sample(draw.array(shape, dtype), **params)

    return samples


def several(
    *shapes: tuple[int, ...], calls: tuple[dict[str, Any], ...] = ({},), mixed: bool = True
) -> Callable[..., Any]:
    """Samples of several arrays: of one dtype each time, and once of different ones."""

    def samples(draw: Any) -> Any:
        for params in calls:
            for dtype in _FEW:
                yield Sample(*[draw.array(s, dtype) for s in shapes], **params)
            if mixed:
                kinds = ("int32", "float32", "bool", "float32")
                yield Sample(*[draw.array(s, d) for s, d in zip(shapes, kinds, strict=False)], **params)

    return samples


def both(*makers: Any) -> Callable[..., Any]:
    return lambda draw: (s for m in makers for s in m(draw))


def of_list(name: str) -> dict[str, Any]:
    """How a function of a list of arrays is called, here and by NumPy, with the arrays as operands."""

    def reference(*xs: Any, **params: Any) -> Any:
        return getattr(np, name)(list(xs), **params)

    return {
        "function": lambda root: lambda *xs, **params: getattr(root.numpy, name)(list(xs), **params),
        "reference": reference,
    }


def same(name: str, samples: Any, **more: Any) -> Op:
    """An entry whose reference is NumPy's function of the same name."""
    return Op(f"numpy.{name}", samples, getattr(np, name), **more)


_STATIC = {
    check: "asks about the type alone"
    for check in ("derivative", "second", "vmap", "types", "jaxpr", "lowering", "jit")
}
_KNOWN = {
    check: "the result's shape depends on values"
    for check in ("jit", "derivative", "second", "vmap", "compositions", "types", "jaxpr", "lowering")
}


def _axis_out_of_bounds(*args: Any, **params: Any) -> list[Bad]:
    return [Bad(ValueError, "out of bounds", *args, **params)]


MANIPULATION = [
    same(
        "reshape",
        both(
            on((2, 3), {"shape": (6,)}, {"shape": (3, -1)}, {"shape": -1}, {"shape": (3, 2), "order": "F"}),
            on((0, 3), {"shape": (3, 0)}),
        ),
        bad=[
            Bad(TypeError, "cannot reshape array of shape (2, 3) (size 6) into shape (4, 2) (size 8)", _MATRIX, (4, 2))
        ],
    ),
    same("ravel", on((2, 3), {}, {"order": "F"})),
    same("transpose", on((2, 3, 4), {}, {"axes": (1, 2, 0)}), bad=_axis_out_of_bounds(_MATRIX, (0, 2))),
    Op("numpy.permute_dims", on((2, 3, 4), {"axes": (1, 2, 0)}), np.transpose),
    Op("numpy.matrix_transpose", on((2, 3, 4)), lambda x: np.swapaxes(x, -1, -2)),
    same("swapaxes", on((2, 3, 4), {"axis1": 0, "axis2": -1}), bad=_axis_out_of_bounds(_MATRIX, 0, 2)),
    same("moveaxis", on((2, 3, 4), {"source": 0, "destination": -1}, {"source": (0, 1), "destination": (-1, 0)})),
    same("rollaxis", on((2, 3, 4), {"axis": 2}, {"axis": 0, "start": 3})),
    same(
        "squeeze",
        on((1, 3, 1), {}, {"axis": 0}, {"axis": (0, -1)}),
        bad=[Bad(ValueError, "which has size not equal to one", _MATRIX, 0)],
    ),
    same("expand_dims", on((2, 3), {"axis": 1}, {"axis": (0, -1)}), bad=_axis_out_of_bounds(_MATRIX, 3)),
    same("atleast_1d", both(unary(_FEW, shapes=((), (2,))))),
    same("atleast_2d", both(unary(_FEW, shapes=((), (2,), (2, 1))))),
    same("atleast_3d", both(unary(_FEW, shapes=((), (2,), (2, 3), (1, 2, 3))))),
    same(
        "broadcast_to",
        both(on((3, 1), {"shape": (2, 3, 4)}), on((), {"shape": 3})),
        bad=[Bad(ValueError, "Incompatible types for broadcasting", _MATRIX, (2, 4))],
    ),
    same("broadcast_arrays", several((2, 1), (3,), ())),
    Op(
        "numpy.broadcast_shapes",
        on((), {"a": (2, 1), "b": (3,)}, dtypes=(np.dtype("float32"),)),
        lambda x, a, b: np.int32(np.broadcast_shapes(a, b)),
        function=lambda root: lambda x, a, b: root.numpy.asarray(root.numpy.broadcast_shapes(a, b), "int32"),
        differentiable=(),
        skip=_STATIC,
    ),
    same("flip", on((2, 3), {}, {"axis": 1}, {"axis": (0, -1)}), bad=_axis_out_of_bounds(_MATRIX, 2)),
    same("flipud", on((2, 3))),
    same("fliplr", on((2, 3))),
    same("rot90", on((2, 3), {}, {"k": 2}, {"k": -1, "axes": (1, 0)}, {"k": 4})),
    same(
        "roll",
        on((2, 3), {"shift": 2}, {"shift": -1, "axis": 1}, {"shift": (1, 2), "axis": (0, 1)}),
        bad=[Bad(ValueError, "one shift for all axes or one for each", _MATRIX, (1, 2, 3), (0, 1))],
    ),
    Op("numpy.copy", unary(_FEW, shapes=((), (2, 3))), np.copy),
    Op(
        "numpy.astype",
        on((2, 3), {"to": "float32"}, {"to": "int32"}, {"to": "bool"}, dtypes=REAL[:4] + FLOATS),
        lambda x, to: np.asarray(x).astype(to),
        function=lambda root: lambda x, to: root.numpy.astype(x, to),
        wide=False,
        skip=dict.fromkeys(
            ("derivative", "second"), "that of lax.convert_element_type, as exact as the narrower dtype"
        ),
    ),
]

JOINING = [
    Op(
        "numpy.concatenate",
        several((2, 3), (2, 3), (2, 3), calls=({}, {"axis": -1}, {"axis": None})),
        bad=[
            Bad(ValueError, "Need at least one array to concatenate"),
            Bad(ValueError, "Zero-dimensional arrays cannot be concatenated", _X, _X),
        ],
        **of_list("concatenate"),
    ),
    Op(
        "numpy.concat",
        several((2, 3), (2, 1), calls=({"axis": 1},)),
        lambda *xs, axis: np.concatenate(xs, axis=axis),
        function=lambda root: lambda *xs, axis: root.numpy.concat(xs, axis=axis),
    ),
    Op(
        "numpy.stack",
        several((2, 3), (2, 3), calls=({}, {"axis": -1})),
        bad=[Bad(ValueError, "Cannot stack arrays with different shapes", _MATRIX, _MATRIX.T)],
        **of_list("stack"),
    ),
    Op(
        "numpy.unstack",
        on((2, 3), {}, {"axis": -1}),
        lambda x, axis=0: list(np.moveaxis(x, axis, 0)),
        bad=_axis_out_of_bounds(_MATRIX, axis=2),
    ),
    Op("numpy.vstack", both(several((3,), (2, 3)), several((), ())), **of_list("vstack")),
    Op("numpy.hstack", both(several((3,), (2,)), several((2, 3), (2, 1))), **of_list("hstack")),
    Op("numpy.dstack", several((2, 3), (2, 3)), **of_list("dstack")),
    Op("numpy.column_stack", several((2,), (2, 3)), **of_list("column_stack")),
    Op(
        "numpy.block",
        several((2, 2), (2, 1), (1, 2), (1, 1)),
        lambda a, b, c, d: np.block([[a, b], [c, d]]),
        function=lambda root: lambda a, b, c, d: root.numpy.block([[a, b], [c, d]]),
    ),
    same("append", several((2, 3), (2, 3), calls=({}, {"axis": 0}))),
    same(
        "split",
        on((2, 6), {"indices_or_sections": 3, "axis": 1}, {"indices_or_sections": (1, 4), "axis": -1}),
        bad=[Bad(ValueError, "does not result in an equal division", _MATRIX, 4, 1)],
    ),
    same("array_split", on((5, 2), {"indices_or_sections": 3}, {"indices_or_sections": [1, 9]})),
    same("vsplit", on((4, 2), {"indices_or_sections": 2})),
    same("hsplit", both(on((2, 4), {"indices_or_sections": 2}), on((4,), {"indices_or_sections": [1]}))),
    same("dsplit", on((1, 2, 4), {"indices_or_sections": 2})),
    same(
        "tile",
        on((2, 3), {"reps": 2}, {"reps": (2, 1, 2)}, {"reps": ()}),
        bad=[Bad(ValueError, "negative number of times", _MATRIX, -1)],
    ),
    Op(
        "numpy.repeat",
        on((2, 3), {"repeats": 2}, {"repeats": 2, "axis": 1}, {"repeats": np.array([1, 3]), "axis": 0}),
        np.repeat,
        bad=[Bad(ValueError, "one number for each of the 2 elements", _MATRIX, np.array([1, 2, 3]), 0)],
    ),
    same("resize", on((2, 3), {"new_shape": (4, 2)}, {"new_shape": 4})),
]

_RAMP = tuple(d for d in FLOATS if d.itemsize > 2)
PADDING = [
    Op(
        "numpy.pad",
        both(
            on(
                (2, 3),
                {"pad_width": 1},
                {"pad_width": ((1, 0), (2, 3)), "constant_values": 2},
                {"pad_width": (1, 2), "mode": "edge"},
                {"pad_width": 1, "mode": "reflect"},
                {"pad_width": (3, 2), "mode": "symmetric"},
                {"pad_width": 4, "mode": "wrap"},
            ),
            on((2, 3), {"pad_width": 2, "mode": "linear_ramp"}, {"pad_width": 1, "mode": "mean"}, dtypes=_RAMP),
            on(
                (2, 3),
                {"pad_width": 1, "mode": "maximum", "stat_length": 1},
                {"pad_width": 1, "mode": "minimum"},
                dtypes=_RAMP,
            ),
            on((3, 3), {"pad_width": 1, "mode": "median"}, dtypes=_RAMP),
        ),
        lambda x, mode="constant", **params: np.pad(x, mode=mode, **params),
        bad=[Bad(ValueError, "can't contain negative values", _MATRIX, -1)],
    ),
    Op(
        "numpy.trim_zeros",
        on((4,), {"trim": "f"}, {"trim": "fb"}, dtypes=_REAL_FEW),
        lambda x, trim: np.trim_zeros(x, trim),
        skip=_KNOWN,
    ),
]

DIFFERENCES = [
    same(
        "diff",
        on((2, 4), {}, {"n": 2, "axis": 0}, {"n": 2}, {"prepend": 0}),
        bad=[Bad(ValueError, "order must be non-negative", _MATRIX, -1)],
    ),
    same("ediff1d", on((2, 3), {}, {"to_begin": np.int8(1)}, dtypes=_REAL_FEW)),
    same("gradient", on((3, 4), {"axis": 1}, {}, dtypes=(np.dtype("float32"), np.dtype("float64")))),
]


def _add(a, b):
    return a + b


MAPPING = [
    Op(
        "numpy.apply_along_axis",
        on((2, 3), {"axis": 0}, {"axis": -1}),
        lambda x, axis: np.apply_along_axis(lambda row: row[::-1], axis, x),
        function=lambda root: lambda x, axis: root.numpy.apply_along_axis(root.numpy.flip, axis, x),
    ),
    Op(
        "numpy.apply_over_axes",
        on((2, 3), {"axes": (0, 1)}, dtypes=_REAL_FEW),
        lambda x, axes: np.apply_over_axes(np.sum, x, axes),
        function=lambda root: (
            lambda x, axes: root.numpy.apply_over_axes(
                lambda x, axis: root.lax.expand_dims(
                    root.lax.reduce(x, x.dtype.type(0), root.lax.add, (axis,)), (axis,)
                ),
                x,
                axes,
            )
        ),
    ),
    Op(
        "numpy.vectorize",
        several((2, 1), (3,), mixed=False),
        lambda x, y: np.logical_or(x, y) if x.dtype == bool else x + y,
        function=lambda root: root.numpy.vectorize(_add),
    ),
    Op(
        "numpy.select",
        several((2, 3), (3,)),
        lambda x, y: np.select([x.real > 0, y.real > 0], np.broadcast_arrays(x, y), 0),
        function=lambda root: (
            lambda x, y: root.numpy.select([root.numpy.real(x) > 0, root.numpy.real(y) > 0], [x, y], 0)
        ),
    ),
    Op(
        "numpy.piecewise",
        on((2, 3), dtypes=_REAL_FEW),
        lambda x: np.piecewise(x, [x < 0, x > 1], [-1, 1, lambda v: v * 2]),
        function=lambda root: lambda x: root.numpy.piecewise(x, [x < 0, x > 1], [-1, 1, lambda v: v * 2]),
    ),
]

_BYTES = (np.dtype("uint8"),)
INSPECTING = [
    *(
        Op(f"numpy.{name}", unary(_FEW, shapes=((), (2, 3))), getattr(np, name), skip=_STATIC, differentiable=())
        for name in ("shape", "ndim", "size", "iscomplexobj", "isrealobj", "iterable")
    ),
    Op("numpy.isscalar", unary(_FEW, shapes=((), (2, 3))), lambda x: np.ndim(x) == 0, skip=_STATIC, differentiable=()),
    same("iscomplex", unary(NUMERIC + BOOL), python_scalars=False),
    same("isreal", unary(NUMERIC + BOOL), python_scalars=False),
    Op(
        "numpy.packbits",
        both(on((2, 11), {}, {"axis": 1}, {"axis": 0, "bitorder": "little"}, dtypes=BOOL + INTS)),
        np.packbits,
        wide=False,
        bad=[Bad(TypeError, "integer or boolean data type", _MATRIX)],
    ),
    Op(
        "numpy.unpackbits",
        both(on((2, 3), {}, {"axis": 1, "count": 5}, {"bitorder": "little", "count": -3}, dtypes=_BYTES)),
        np.unpackbits,
        wide=False,
        bad=[Bad(TypeError, "unsigned byte data type", _MATRIX)],
    ),
]

OPS = [*MANIPULATION, *JOINING, *PADDING, *DIFFERENCES, *MAPPING, *INSPECTING]
