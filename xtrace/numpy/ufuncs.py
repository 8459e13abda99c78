"""Elementwise functions. Those that are one primitive are made by `unary` and `binary`, which have the fast paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core import composite, dtypes
from xtrace.core.jaxpr import literal
from xtrace.core.primitive import Primitive, aval_of
from xtrace.core.trace import current
from xtrace.lax import elementwise as el
from xtrace.numpy.promotion import promote_args, promote_args_inexact
from xtrace.transforms.staging import StagedTracer

_PYTHON_NUMBERS = (int, float)


def unary(name: str, primitive: Primitive, doc: str, inexact: bool = True) -> Callable[[Any], Any]:
    """A numpy function of one operand that is one primitive (after conversion of integers where `inexact`).

    Three paths: recording straight into the current jaxpr, the compiled program, and the general one.
    """
    promote = promote_args_inexact if inexact else promote_args
    outs: dict[Any, Any] = {}  # aval -> result aval, where no conversion is needed
    run: Callable[[Any], Any] | None = None

    def general(x: Any) -> Any:
        return primitive.bind(*promote(name, x))

    def ufunc(x: Any, /) -> Any:
        nonlocal run
        trace = current.trace
        if trace is None:
            if run is None:
                general.__name__ = name
                run = composite.compiled(general)
            return run(x)
        if type(x) is StagedTracer and x._trace is trace:
            aval = x.aval
            out = outs.get(aval)
            if out is not None:
                return trace.record_elementwise(primitive, (x.var,), out)  # type: ignore[attr-defined]
            if not inexact or dtypes.is_inexact(aval.dtype):
                outs[aval] = primitive.out_aval((aval,), {})
        return general(x)

    ufunc.__name__ = ufunc.__qualname__ = name
    ufunc.__doc__ = doc
    return ufunc


def binary(name: str, primitive: Primitive, doc: str, inexact: bool = False) -> Callable[[Any, Any], Any]:
    """A numpy function of two operands that is one primitive after promotion. Paths as in `unary`."""
    promote = promote_args_inexact if inexact else promote_args
    #: (aval, aval or Python type) -> result aval where the operands go in as they are, False where they don't.
    outs: dict[Any, Any] = {}
    run: Callable[[Any, Any], Any] | None = None

    def general(x: Any, y: Any) -> Any:
        return primitive.bind(*promote(name, x, y))

    def plan(a: Any, b: Any) -> Any:
        """The result aval if operands of these avals need no conversion or reshaping, else False."""
        if a.dtype != b.dtype or (a.shape and b.shape and a.ndim != b.ndim) or a.weak_type and b.weak_type:
            return False
        if inexact and not dtypes.is_inexact(a.dtype):
            return False
        # A weak operand is converted to strong by the general way; the operation's result is the same.
        if a.weak_type != b.weak_type:
            return False
        return primitive.out_aval((a, b), {})

    def ufunc(x: Any, y: Any, /) -> Any:
        nonlocal run
        trace = current.trace
        if trace is None:
            if run is None:
                general.__name__ = name
                run = composite.compiled(general)
            return run(x, y)
        tx, ty = type(x), type(y)
        if tx is StagedTracer and x._trace is trace:
            if ty is StagedTracer and y._trace is trace:
                key = (x.aval, y.aval)
                out = outs.get(key)
                if out:
                    return trace.record_elementwise(primitive, (x.var, y.var), out)  # type: ignore[attr-defined]
                if out is None:
                    outs[key] = plan(*key)
            elif ty is float or ty is int:
                key = (x.aval, ty)
                out = outs.get(key)
                if out:
                    scalar = literal(y, out[1])
                    return trace.record_elementwise(primitive, (x.var, scalar), out[0])  # type: ignore[attr-defined]
                if out is None:
                    outs[key] = plan_scalar(x.aval, ty)
        elif ty is StagedTracer and y._trace is trace and (tx is float or tx is int):
            key = (tx, y.aval)
            out = outs.get(key)
            if out:
                scalar = literal(x, out[1])
                return trace.record_elementwise(primitive, (scalar, y.var), out[0])  # type: ignore[attr-defined]
            if out is None:
                outs[key] = plan_scalar(y.aval, tx, left=True)
        return general(x, y)

    def plan_scalar(aval: Any, python: type, left: bool = False) -> Any:
        """(result aval, literal's aval) where a Python number takes on the array's dtype, else False."""
        scalar = aval_of(python(1))
        if aval.weak_type or dtypes.kind(aval.dtype) not in ("f" if python is float else "fi"):
            return False
        if inexact and not dtypes.is_inexact(aval.dtype):
            return False
        if python is int and dtypes.kind(aval.dtype) == "i" and aval.dtype.itemsize < scalar.dtype.itemsize:
            return False
        typed = scalar.update(dtype=aval.dtype, weak_type=False)
        out = primitive.out_aval((typed, aval) if left else (aval, typed), {})
        return out, typed

    ufunc.__name__ = ufunc.__qualname__ = name
    ufunc.__doc__ = doc
    return ufunc


sin = unary("sin", el.sin_p, "Sine of x in radians.")
cos = unary("cos", el.cos_p, "Cosine of x in radians.")
tanh = unary("tanh", el.tanh_p, "Hyperbolic tangent.")
exp = unary("exp", el.exp_p, "Exponential.")
log = unary("log", el.log_p, "Natural logarithm.")
negative = unary("negative", el.neg_p, "-x.", inexact=False)
add = binary("add", el.add_p, "x + y.")
subtract = binary("subtract", el.sub_p, "x - y.")
multiply = binary("multiply", el.mul_p, "x * y.")
true_divide = binary("true_divide", el.div_p, "x / y, in floating point.", inexact=True)
greater = binary("greater", el.gt_p, "x > y.")
