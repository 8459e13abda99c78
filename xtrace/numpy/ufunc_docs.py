"""Docstrings of the elementwise functions, which are declared by table: what they share is said once."""

from __future__ import annotations

#: Function -> (the operands of its example, what that prints).
_EXAMPLES = {
    "absolute": ("xnp.array([1, -2])", "Array([1, 2], dtype=int32)"),
    "add": ("xnp.array([1, 2]), xnp.array([10, 20])", "Array([11, 22], dtype=int32)"),
    "arccos": ("xnp.array([1.0, 2.0])", "Array([ 0., nan], dtype=float32)"),
    "arccosh": ("xnp.array([1.0, 0.0])", "Array([ 0., nan], dtype=float32)"),
    "arcsin": ("xnp.array([0.0, 2.0])", "Array([ 0., nan], dtype=float32)"),
    "arcsinh": ("xnp.array([0.0, 1e-3])", "Array([0.   , 0.001], dtype=float32)"),
    "arctan": ("xnp.array([0.0, 1e-3])", "Array([0.   , 0.001], dtype=float32)"),
    "arctan2": ("xnp.array([0.0, 0.0]), xnp.array([1.0, -1.0])", "Array([0.       , 3.1415927], dtype=float32)"),
    "arctanh": ("xnp.array([0.0, 1.0])", "Array([ 0., inf], dtype=float32)"),
    "bitwise_and": ("xnp.array([6, 5]), xnp.array([3, 3])", "Array([2, 1], dtype=int32)"),
    "bitwise_count": ("xnp.array([0, 5, -7])", "Array([0, 2, 3], dtype=uint8)"),
    "bitwise_or": ("xnp.array([6, 5]), xnp.array([3, 3])", "Array([7, 7], dtype=int32)"),
    "bitwise_xor": ("xnp.array([6, 5]), xnp.array([3, 3])", "Array([5, 6], dtype=int32)"),
    "cbrt": ("xnp.array([0.0, -1.0])", "Array([ 0., -1.], dtype=float32)"),
    "ceil": ("xnp.array([-1.5, 1.5])", "Array([-1.,  2.], dtype=float32)"),
    "conjugate": ("xnp.array([1 + 2j, 3 - 1j])", "Array([1.-2.j, 3.+1.j], dtype=complex64)"),
    "copysign": ("xnp.array([1.0, -2.0]), xnp.array([-3.0, 4.0])", "Array([-1.,  2.], dtype=float32)"),
    "cos": ("xnp.array([0.0, xnp.pi])", "Array([ 1., -1.], dtype=float32)"),
    "cosh": ("xnp.array([0.0, xnp.inf])", "Array([ 1., inf], dtype=float32)"),
    "deg2rad": ("xnp.array([0.0, 180.0])", "Array([0.       , 3.1415927], dtype=float32)"),
    "equal": ("xnp.array([1, 2]), xnp.array([1, 3])", "Array([ True, False], dtype=bool)"),
    "exp": ("xnp.array([0.0, -xnp.inf])", "Array([1., 0.], dtype=float32)"),
    "exp2": ("xnp.array([1.0, 3.0])", "Array([2., 8.], dtype=float32)"),
    "expm1": ("xnp.array([0.0, 1e-10])", "Array([0.e+00, 1.e-10], dtype=float32)"),
    "fabs": ("xnp.array([-1, 2])", "Array([1., 2.], dtype=float32)"),
    "floor": ("xnp.array([-1.5, 1.5])", "Array([-2.,  1.], dtype=float32)"),
    "floor_divide": ("xnp.array([7, -7]), xnp.array([2, 2])", "Array([ 3, -4], dtype=int32)"),
    "fmax": ("xnp.array([1.0, 5.0]), xnp.array([2.0, xnp.nan])", "Array([2., 5.], dtype=float32)"),
    "fmin": ("xnp.array([1.0, 5.0]), xnp.array([2.0, xnp.nan])", "Array([1., 5.], dtype=float32)"),
    "fmod": ("xnp.array([7, -7]), xnp.array([3, 3])", "Array([ 1, -1], dtype=int32)"),
    "greater": ("xnp.array([1, 4]), xnp.array([1, 3])", "Array([False,  True], dtype=bool)"),
    "greater_equal": ("xnp.array([1, 2]), xnp.array([1, 3])", "Array([ True, False], dtype=bool)"),
    "heaviside": ("xnp.array([-1.0, 0.0, 2.0]), xnp.array([0.5, 0.5, 0.5])", "Array([0. , 0.5, 1. ], dtype=float32)"),
    "hypot": ("xnp.array([3.0, 5.0]), xnp.array([4.0, 12.0])", "Array([ 5., 13.], dtype=float32)"),
    "i0": ("xnp.array([0.0, xnp.inf])", "Array([ 1., nan], dtype=float32)"),
    "imag": ("xnp.array([1 + 2j, 3.0])", "Array([2., 0.], dtype=float32)"),
    "invert": ("xnp.array([0, 5])", "Array([-1, -6], dtype=int32)"),
    "isfinite": ("xnp.array([1.0, xnp.inf])", "Array([ True, False], dtype=bool)"),
    "isinf": ("xnp.array([1.0, -xnp.inf])", "Array([False,  True], dtype=bool)"),
    "isnan": ("xnp.array([1.0, xnp.nan])", "Array([False,  True], dtype=bool)"),
    "isneginf": ("xnp.array([1.0, xnp.inf, -xnp.inf])", "Array([False, False,  True], dtype=bool)"),
    "isposinf": ("xnp.array([1.0, xnp.inf, -xnp.inf])", "Array([False,  True, False], dtype=bool)"),
    "left_shift": ("xnp.array([1, 5]), xnp.array([3, 1])", "Array([ 8, 10], dtype=int32)"),
    "less": ("xnp.array([1, 2]), xnp.array([1, 3])", "Array([False,  True], dtype=bool)"),
    "less_equal": ("xnp.array([1, 4]), xnp.array([1, 3])", "Array([ True, False], dtype=bool)"),
    "log": ("xnp.array([1.0, 0.0])", "Array([  0., -inf], dtype=float32)"),
    "log10": ("xnp.array([1.0, 0.0])", "Array([  0., -inf], dtype=float32)"),
    "log1p": ("xnp.array([0.0, 1e-10])", "Array([0.e+00, 1.e-10], dtype=float32)"),
    "log2": ("xnp.array([1.0, 8.0])", "Array([0., 3.], dtype=float32)"),
    "logaddexp": ("xnp.array([0.0, 0.0]), xnp.array([-xnp.inf, xnp.inf])", "Array([ 0., inf], dtype=float32)"),
    "logaddexp2": ("xnp.array([0.0, 3.0]), xnp.array([0.0, 3.0])", "Array([1., 4.], dtype=float32)"),
    "logical_and": ("xnp.array([0, 2]), xnp.array([1, 1])", "Array([False,  True], dtype=bool)"),
    "logical_not": ("xnp.array([0, 5])", "Array([ True, False], dtype=bool)"),
    "logical_or": ("xnp.array([0, 2]), xnp.array([0, 1])", "Array([False,  True], dtype=bool)"),
    "logical_xor": ("xnp.array([0, 2]), xnp.array([1, 1])", "Array([ True, False], dtype=bool)"),
    "maximum": ("xnp.array([1.0, 5.0]), xnp.array([2.0, xnp.nan])", "Array([ 2., nan], dtype=float32)"),
    "minimum": ("xnp.array([1.0, 5.0]), xnp.array([2.0, xnp.nan])", "Array([ 1., nan], dtype=float32)"),
    "multiply": ("xnp.array([1, 2]), xnp.array([10, 20])", "Array([10, 40], dtype=int32)"),
    "negative": ("xnp.array([1, -2])", "Array([-1,  2], dtype=int32)"),
    "nextafter": ("xnp.array([0.0, 1.0]), xnp.array([0.0, 2.0])", "Array([0.       , 1.0000001], dtype=float32)"),
    "not_equal": ("xnp.array([1, 2]), xnp.array([1, 3])", "Array([False,  True], dtype=bool)"),
    "positive": ("xnp.array([1, -2])", "Array([ 1, -2], dtype=int32)"),
    "rad2deg": ("xnp.array([0.0, xnp.pi])", "Array([  0., 180.], dtype=float32)"),
    "real": ("xnp.array([1 + 2j, 3.0])", "Array([1., 3.], dtype=float32)"),
    "reciprocal": ("xnp.array([2, 4])", "Array([0.5 , 0.25], dtype=float32)"),
    "remainder": ("xnp.array([7, -7]), xnp.array([3, 3])", "Array([1, 2], dtype=int32)"),
    "right_shift": ("xnp.array([8, -8]), xnp.array([2, 2])", "Array([ 2, -2], dtype=int32)"),
    "rint": ("xnp.array([0.5, 1.5, 2.6])", "Array([0., 2., 3.], dtype=float32)"),
    "sign": ("xnp.array([-3.0, 0.0, 2.0])", "Array([-1.,  0.,  1.], dtype=float32)"),
    "signbit": ("xnp.array([1.0, -0.0, -2.0])", "Array([False,  True,  True], dtype=bool)"),
    "sin": ("xnp.array([0.0, xnp.pi / 2])", "Array([0., 1.], dtype=float32)"),
    "sinc": ("xnp.array([0.0, 0.5])", "Array([1.       , 0.6366198], dtype=float32)"),
    "sinh": ("xnp.array([0.0, 1e-3])", "Array([0.   , 0.001], dtype=float32)"),
    "spacing": ("xnp.array([1.0, 4.0])", "Array([1.1920929e-07, 4.7683716e-07], dtype=float32)"),
    "sqrt": ("xnp.array([4.0, 9.0])", "Array([2., 3.], dtype=float32)"),
    "square": ("xnp.array([-1.5, 2.0])", "Array([2.25, 4.  ], dtype=float32)"),
    "subtract": ("xnp.array([1, 2]), xnp.array([10, 20])", "Array([ -9, -18], dtype=int32)"),
    "tan": ("xnp.array([0.0, 1e-3])", "Array([0.   , 0.001], dtype=float32)"),
    "tanh": ("xnp.array([0.0, xnp.inf])", "Array([0., 1.], dtype=float32)"),
    "true_divide": ("xnp.array([1, 3]), xnp.array([2, 2])", "Array([0.5, 1.5], dtype=float32)"),
    "trunc": ("xnp.array([-1.5, 1.5])", "Array([-1.,  1.], dtype=float32)"),
}

_OPERANDS = {
    1: "x: array, or a number.",
    2: "x, y: arrays or numbers that broadcast against each other.",
}
_SHAPES = {1: "An array of the shape of `x`", 2: "An array of the shape the operands broadcast to"}
#: What becomes of dtypes, by the way operands are promoted (see promotion.promote).
_DTYPES = {
    "": {1: "", 2: ", in the dtype they promote to"},
    "numeric": {1: "; truth values count as integers", 2: "; truth values count as integers"},
    "inexact": {1: "; integers become floats", 2: "; integers become floats"},
}
_TESTS = frozenset(
    "equal greater greater_equal isfinite isinf isnan isneginf isposinf less less_equal logical_and logical_not "
    "logical_or logical_xor not_equal signbit".split()
)

#: Errors that primitives raise.
_ERRORS = {
    **dict.fromkeys(
        "bitwise_and bitwise_count bitwise_or bitwise_xor invert left_shift right_shift".split(),
        "TypeError: an operand is neither of booleans nor of integers.",
    ),
    **dict.fromkeys("cbrt ceil floor nextafter".split(), "TypeError: an operand is complex."),
    **dict.fromkeys("negative sign subtract".split(), "TypeError: what is computed with is boolean."),
}


def document(
    name: str, summary: str, operands: int, to: str = "", refused: type[Exception] | None = None, more: str = ""
) -> str:
    """The docstring of an elementwise function.

    Args:
      name: the function's name.
      summary: what it computes, a sentence.
      operands: how many arrays it takes, 1 or 2.
      to: how they are promoted (see promotion.promote).
      refused: what complex numbers raise.
      more: what is said of a further argument, a line.

    Returns:
      The text; `summary` alone where that is a whole docstring already.
    """
    if "\n" in summary:
        return summary
    dtype = ", of truth values" if name in _TESTS else _DTYPES[to][operands]
    text = f"{summary}\n\n    Args:\n      {_OPERANDS[operands]}\n"
    if more:
        text += f"      {more}\n"
    text += f"\n    Returns:\n      {_SHAPES[operands]}{dtype}.\n"
    raised = _ERRORS.get(name) if refused is None else f"{refused.__name__}: an operand is complex."
    if raised:
        text += f"\n    Raises:\n      {raised}\n"
    given, printed = _EXAMPLES[name]
    return (
        text
        + f"""
    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.{name}({given})
      {printed}
    """
    )
