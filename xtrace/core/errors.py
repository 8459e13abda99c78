"""The errors of tracing, by JAX's names. Each says what was asked, where, how the value arose, and what to write."""

from __future__ import annotations

from typing import Any

from xtrace.core import source, statics
from xtrace.runtime.jaxlib_api import XlaRuntimeError

JaxRuntimeError = XlaRuntimeError


class JAXTypeError(TypeError):
    """A wrong use of a traced value's type."""


class JAXIndexError(IndexError):
    """A wrong index into a traced array."""


def _explain(asked: str, tracer: Any, instead: str) -> str:
    """The common form of messages about a tracer: what, where, the chain from the argument, what to write instead."""
    lines = [asked]
    position = source.here(2)
    if position is not None:
        by = statics.asked("")
        lines.append(f"  asked at   {source.describe(position)}{by and f' by {by}'}")
    trace = getattr(tracer, "_trace", None)
    history = getattr(trace, "history", None)
    if history is not None:
        lines += history(tracer)
    lines.append(f"Instead: {instead}")
    return "\n".join(lines)


class ConcretizationTypeError(JAXTypeError):
    """A Python value was asked of a traced array, whose value is not known while tracing."""

    def __init__(self, tracer: Any, context: str = "", *, wanted: str = "value") -> None:
        if isinstance(tracer, str):  # a message made elsewhere
            super().__init__(tracer)
            return
        asked = f"A concrete {wanted} was asked of a traced array of type {tracer.aval.str_short()}."
        if context:
            asked += f" {context}"
        # A number of another type is most often meant as a conversion of the array.
        convert = f"Try using `x.astype({wanted})`" if wanted in ("int", "float", "complex") else "use .astype()"
        super().__init__(
            _explain(
                asked,
                tracer,
                "keep the computation in array operations (numpy.where, lax.cond), or mark the argument as static: "
                f"jit(f, static_argnames=...). To convert an array {convert}.",
            )
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced array was used as a condition in Python (`if`, `while`, `and`, `assert`)."""

    def __init__(self, tracer: Any) -> None:
        JAXTypeError.__init__(
            self,
            _explain(
                f"Attempted boolean conversion of traced array with shape {tracer.aval.str_short()}.",
                tracer,
                "for a condition on array values write numpy.where(condition, a, b) or lax.cond(condition, f, g, x); "
                "for a loop lax.while_loop or lax.fori_loop; to branch in Python, mark the argument as static: "
                "jit(f, static_argnames=...).",
            ),
        )


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced array was used where Python needs an integer (range, a list index, a shape)."""

    def __init__(self, tracer: Any) -> None:
        JAXTypeError.__init__(
            self,
            _explain(
                f"The __index__() method was called on traced array with shape {tracer.aval.str_short()}.",
                tracer,
                "to index a list or array by a traced integer, make it an array first: numpy.asarray(xs)[i]; "
                "for a loop bound use lax.fori_loop; for a shape, mark the argument as static: "
                "jit(f, static_argnames=...).",
            ),
        )


class StaticArgumentError(TracerIntegerConversionError, ValueError):
    """A traced array was given for an argument that is part of the program: an axis, a size, a flag, an option.

    Programs that catch ValueError, which compiled functions raise for static arguments, catch it too.
    """

    def __init__(self, tracer: Any, asked: str) -> None:
        JAXTypeError.__init__(
            self,
            _explain(
                f"{asked}, known while tracing; got a traced array of type {tracer.aval.str_short()}.",
                tracer,
                "pass the value as static: jit(f, static_argnames=...), take sizes from x.shape, or close over it.",
            ),
        )


class ArgumentError(TypeError, ValueError):
    """An argument is not of the kind that a function takes. Compiled functions raise either class for an option."""


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced array was handed to a function that needs a numpy array."""

    def __init__(self, tracer: Any) -> None:
        JAXTypeError.__init__(
            self,
            _explain(
                "The numpy.ndarray conversion method __array__() was called on traced array with shape "
                f"{tracer.aval.str_short()}.",
                tracer,
                "call the function of xtrace.numpy (or xtrace.scipy) in place of numpy's, or mark the argument as "
                "static: jit(f, static_argnames=...); to run numpy code on the values, use pure_callback.",
            ),
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean array was used as an index, which would make a shape depend on values."""

    def __init__(self, tracer: Any) -> None:
        super().__init__(
            _explain(
                f"Array boolean indices must be concrete; got a traced array of type {tracer.aval.str_short()}.",
                tracer,
                "write numpy.where(mask, x, fill) in place of x[mask], x.at[...].set with numpy.where in place of "
                "x[mask] = y, or numpy.nonzero(mask, size=n) for at most n elements.",
            )
        )


class UnexpectedTracerError(JAXTypeError):
    """A traced value outlived the function it was traced in (a side effect kept it)."""

    def __init__(self, tracer: Any, detail: str = "") -> None:
        if isinstance(tracer, str):
            super().__init__(tracer)
            return
        if getattr(tracer._trace, "alive", True):
            super().__init__(
                _explain(
                    f"Encountered an unexpected tracer: a traced value of type {tracer.aval.str_short()} was used "
                    "where its trace is set aside. A function with a custom derivative rule closes over a value that "
                    f"is being differentiated, which its rule knows nothing of.{detail}",
                    tracer,
                    "pass the value as an argument of the function, and adapt the rule.",
                )
            )
            return
        origin = getattr(tracer._trace, "origin", None)
        where = None if origin is None else origin()
        made_in = "" if where is None else f" It was made while tracing {where}."
        super().__init__(
            _explain(
                f"Encountered an unexpected tracer: a traced value of type {tracer.aval.str_short()} was used after "
                f"its trace had ended.{made_in} A side effect let it escape (a global, a list, an attribute of "
                f"self).{detail}",
                tracer,
                "return the value from the traced function, and pass it in as an argument where it is used.",
            )
        )


class TraceLimitError(RuntimeError):
    """A call of a function jitted with `max_traces` needs one trace more than that."""


class KeyReuseError(RuntimeError):
    """A random key was used twice."""


class JaxprTypeError(TypeError):
    """A jaxpr breaks a rule of the language."""


class InconclusiveDimensionOperation(Exception):
    """A comparison of symbolic dimensions has no definite answer."""


class LeakedTracerError(RuntimeError):
    """check_tracer_leaks found tracers that outlived their trace."""
