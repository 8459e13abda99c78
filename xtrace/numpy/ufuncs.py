"""Makers of elementwise functions that are one primitive, and of the operators over them.

A call goes one of three ways. Staged operands whose avals need no promotion are recorded on the spot: this is what
tracing a program mostly does, so lookups and object construction are written out here rather than called (a call of
a class with `__init__` costs 0.15-0.2 µs, `object.__new__` and stores half of that; a Python frame about 0.08 µs).
Outside any trace the call goes to a compiled program. All else is promoted, then bound.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import composite, config, dtypes, source
from xtrace.core.jaxpr import NO_PARAMS, JaxprEqn, Literal, Var, literal, no_effects
from xtrace.core.primitive import Primitive, aval_of
from xtrace.core.trace import current
from xtrace.lax.shapes import broadcast_in_dim_p
from xtrace.numpy.promotion import is_arraylike, promote
from xtrace.numpy.ufunc_docs import document
from xtrace.runtime.jaxlib_api import ArrayImpl
from xtrace.transforms.staging import StagedTracer

#: Exact types of operands that compiled programs take as they are.
CONCRETE = frozenset([ArrayImpl, np.ndarray, bool, int, float, complex, *[d.type for d in dtypes.SHORT_NAMES]])

_rank_promotion = config.numpy_rank_promotion
_new = object.__new__
_getframe = sys._getframe
_user_frame = source.user_frame
_own_file = source.is_own_file

#: dtype kind -> the primitive, or the function, that does the work for it in place of the usual primitive.
ByKind = dict[str, Any]
#: The kinds that each way of promoting leaves alone (see promotion.promote).
_KEPT = {"": "biufc", "numeric": "iufc", "inexact": "fc"}


def _spread(by_kind: ByKind | None) -> ByKind:
    """One entry a kind: keys may hold several letters."""
    return {} if by_kind is None else {kind: found for kinds, found in by_kind.items() for kind in kinds}


def _compiled_at_first_call(name: str, general: Callable[..., Any]) -> Callable[..., Any]:
    general.__name__ = general.__qualname__ = name
    return composite.compiled(general)


def unary(
    name: str,
    primitive: Primitive | None,
    doc: str,
    to: str = "inexact",
    by_kind: ByKind | None = None,
) -> Callable[[Any], Any]:
    """A numpy function of one operand that is one primitive after promotion `to` (see promotion.promote).

    by_kind: for dtype kinds that are done differently, the function.
    """
    special = _spread(by_kind)
    kept = "".join([k for k in _KEPT[to] if k not in special])
    #: aval -> result aval, where no conversion is needed.
    outs: dict[Any, Any] = {}
    run: Callable[[Any], Any] | None = None

    def general(x: Any) -> Any:
        (x,) = promote(name, (x,), to)
        if special:
            function = special.get(dtypes.kind(dtypes.of_value(x)[0]))
            if function is not None:
                return function(x)
        if primitive is None:
            raise TypeError(f"{name} does not accept dtype {dtypes.of_value(x)[0]}")
        return primitive.bind(x)

    def slow(x: Any) -> Any:
        nonlocal run
        if type(x) in CONCRETE:
            if run is None:
                run = _compiled_at_first_call(name, general)
            return run(x)
        if type(x) is not StagedTracer:
            return general(x)
        aval = x.aval
        if not to and special:  # nothing to promote, and several operations on one line
            function = special.get(dtypes.kind(aval.dtype))
            if function is not None:
                if current.position is not None:
                    return function(x)
                current.position = source.here(2)
                try:
                    return function(x)
                finally:
                    current.position = None
        out = general(x)
        if dtypes.kind(aval.dtype) in kept:
            outs[aval] = primitive.out_aval((aval,), {})  # type: ignore[union-attr]
        return out

    def ufunc(x: Any, /) -> Any:
        kind = type(x)
        if kind is ArrayImpl:
            # Whether something is being traced is looked up in C++.
            if run is not None:
                return run(x)
        elif kind is StagedTracer:
            trace = x._trace
            out = outs.get(x.aval)
            if out is not None and trace is current.trace:
                position = current.position
                if position is None:
                    frame = _getframe(1)
                    if _own_file.get(frame.f_code.co_filename, True):
                        frame = _user_frame(frame)  # type: ignore[assignment]
                    if frame is not None:
                        position = (frame.f_code, frame.f_lasti)
                var = _new(Var)
                var.aval = out
                trace.eqns.append(  # type: ignore[attr-defined]
                    JaxprEqn(primitive, (x._var,), (var,), NO_PARAMS, position, no_effects, current.name_stack)
                )
                tracer = _new(StagedTracer)
                tracer._trace = trace  # type: ignore[assignment]
                tracer.aval = out
                tracer._var = var
                return tracer
        return slow(x)

    ufunc.__name__ = ufunc.__qualname__ = name
    ufunc.__doc__ = document(name, doc, 1, to, getattr(special.get("c"), "raises", None))
    return ufunc


class Binary:
    """A numpy function of two operands that is one primitive after promotion: the function and its operators."""

    def __init__(
        self,
        name: str,
        primitive: Primitive | None,
        doc: str,
        to: str = "",
        by_kind: ByKind | None = None,
    ) -> None:
        self.name = name
        self.primitive = primitive
        self.kept = _KEPT[to]
        special = self.by_kind = _spread(by_kind)
        self.doc = document(name, doc, 2, to, getattr(special.get("c"), "raises", None))

        def general(x: Any, y: Any) -> Any:
            x, y = promote(name, (x, y), to)
            if special:
                other = special.get(dtypes.kind(dtypes.of_value(x)[0]))
                if other is not None:
                    return other.bind(x, y) if isinstance(other, Primitive) else other(x, y)
            if primitive is None:
                raise TypeError(f"{name} does not accept dtype {dtypes.of_value(x)[0]}")
            return primitive.bind(x, y)

        self.general = general
        self.run: Callable[[Any, Any], Any] | None = None
        #: (aval, aval) -> (primitive, result aval), where the operands go in as they are.
        self.pairs: dict[Any, Any] = {}
        #: (aval, aval) of other ranks -> (primitive, result aval, whether the second is widened, to what, parameters).
        self.widened: dict[Any, Any] = {}
        #: (aval, Python type) or (Python type, aval) -> the same, then the scalar's aval and its literals by value.
        self.scalars: dict[Any, Any] = {}
        self.function = self._path(self._slow, name)

    def run_compiled(self, x: Any, y: Any) -> Any:
        """Run the compiled program on concrete operands."""
        run = self.run
        if run is None:
            run = self.run = _compiled_at_first_call(self.name, self.general)
        return run(x, y)

    def _slow(self, x: Any, y: Any) -> Any:
        if type(x) in CONCRETE and type(y) in CONCRETE:
            return self.run_compiled(x, y)
        if type(x) is StagedTracer and type(y) is StagedTracer:
            found = self.widened.get((x.aval, y.aval))
            if found is not None and x._trace is y._trace is current.trace and _rank_promotion.value == "allow":
                primitive, out, second, aval, params = found
                trace, position = x._trace, current.position or source.here(2)
                if second:
                    y = trace.record(broadcast_in_dim_p, (y._var,), aval, params, position)
                else:
                    x = trace.record(broadcast_in_dim_p, (x._var,), aval, params, position)
                return trace.record(primitive, (x._var, y._var), out, NO_PARAMS, position)
        out = self.general(x, y)
        self._plan(x, y)
        return out

    def _plan(self, x: Any, y: Any) -> None:
        """Remember operands like these if they needed no promotion."""
        tx, ty = type(x), type(y)
        if tx is StagedTracer and ty is StagedTracer:
            a, b = x.aval, y.aval
            if a.dtype != b.dtype or a.weak_type != b.weak_type:
                return
            primitive = self._primitive_for(a.dtype)
            if primitive is None:
                return
            if not (a.shape and b.shape and a.ndim != b.ndim):
                self.pairs[a, b] = (primitive, primitive.out_aval((a, b), {}))
                return
            missing = a.ndim - b.ndim
            narrow = b if missing > 0 else a
            shape = (1,) * abs(missing) + narrow.shape
            dimensions = tuple(range(abs(missing), len(shape)))
            aval = narrow.update(shape=shape)
            pair = (a, aval) if missing > 0 else (aval, b)
            params = {"shape": shape, "broadcast_dimensions": dimensions, "sharding": None}
            self.widened[a, b] = (primitive, primitive.out_aval(pair, {}), missing > 0, aval, params)
        elif tx is StagedTracer and (ty is float or ty is int):
            self._plan_scalar((x.aval, ty), x.aval, ty, y, False)
        elif ty is StagedTracer and (tx is float or tx is int):
            self._plan_scalar((tx, y.aval), y.aval, tx, x, True)

    def _primitive_for(self, dtype: Any) -> Primitive | None:
        """The primitive that does it for operands of `dtype` as they are; None if it takes more than that."""
        kind = dtypes.kind(dtype)
        found = self.by_kind.get(kind, self.primitive)
        return found if kind in self.kept and isinstance(found, Primitive) else None

    def _plan_scalar(self, key: Any, aval: Any, python: type, value: Any, left: bool) -> None:
        """As `_plan` where one operand is a Python number, which takes on the array's dtype and weak type."""
        if dtypes.kind(aval.dtype) not in ("fc" if python is float else "fciu"):
            return
        primitive = self._primitive_for(aval.dtype)
        if primitive is None:
            return
        scalar = aval_of(value)
        if aval.weak_type and scalar.dtype != aval.dtype:
            return
        typed = scalar.update(dtype=aval.dtype, weak_type=aval.weak_type)
        out = primitive.out_aval((typed, aval) if left else (aval, typed), {})
        self.scalars[key] = (primitive, out, typed, {})

    def scalar_literal(self, value: Any, entry: Any) -> Literal:
        """The literal of a Python number that `entry` doesn't know yet."""
        aval_of(value)  # checks the range of integers
        made = literal(value, entry[2])
        # Not 0.0, which equals -0.0, and not NaN, which equals nothing.
        if (value or type(value) is int) and value == value and len(entry[3]) < 256:
            entry[3][value] = made
        return made

    def operator(self, symbol: str) -> Callable[[Any, Any], Any]:
        """The method of arrays: as the function, but what isn't an array may have its own method."""

        def general(x: Any, y: Any) -> Any:
            if not is_arraylike(y):
                return refuse(symbol, x, y)
            return self._slow(x, y)

        return self._path(general, f"__{self.name}__")

    def reflected(self, symbol: str) -> Callable[[Any, Any], Any]:
        """The method for the array on the right."""
        forward = self._path(self._slow, self.name)

        def method(y: Any, x: Any) -> Any:
            if type(x) in CONCRETE or is_arraylike(x):
                return forward(x, y)
            return refuse(symbol, x, y)

        return method

    def _path(self, slow: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
        pairs, scalars, scalar_literal = self.pairs, self.scalars, self.scalar_literal
        run: Callable[[Any, Any], Any] | None = None
        concrete = CONCRETE

        def path(x: Any, y: Any, /) -> Any:
            nonlocal run
            tx, ty = type(x), type(y)
            if tx is ArrayImpl and ty in concrete:
                # Whether something is being traced is looked up in C++.
                if run is None:
                    out = self.run_compiled(x, y)
                    run = self.run
                    return out
                return run(x, y)
            trace = current.trace
            if tx is StagedTracer and x._trace is trace:
                if ty is StagedTracer:
                    found = pairs.get((x.aval, y.aval))
                    if found is None or y._trace is not trace:
                        return slow(x, y)
                    primitive, out = found
                    invars = (x._var, y._var)
                else:
                    found = scalars.get((x.aval, ty))
                    if found is None:
                        return slow(x, y)
                    primitive, out, _, literals = found
                    invars = (x._var, literals.get(y) or scalar_literal(y, found))
            elif ty is StagedTracer and y._trace is trace:
                found = scalars.get((tx, y.aval))
                if found is None:
                    return slow(x, y)
                primitive, out, _, literals = found
                invars = (literals.get(x) or scalar_literal(x, found), y._var)
            else:
                return slow(x, y)
            position = current.position
            if position is None:
                frame = _getframe(1)
                if _own_file.get(frame.f_code.co_filename, True):
                    frame = _user_frame(frame)  # type: ignore[assignment]
                if frame is not None:
                    position = (frame.f_code, frame.f_lasti)
            var = _new(Var)
            var.aval = out
            trace.eqns.append(  # type: ignore[attr-defined]
                JaxprEqn(primitive, invars, (var,), NO_PARAMS, position, no_effects, current.name_stack)
            )
            tracer = _new(StagedTracer)
            tracer._trace = trace  # type: ignore[assignment]
            tracer.aval = out
            tracer._var = var
            return tracer

        path.__name__ = path.__qualname__ = name
        path.__doc__ = self.doc
        return path


_CONTAINERS = (list, tuple, set, frozenset, dict)  # themselves: a named tuple may have operators of its own


def refuse(symbol: str, x: Any, y: Any) -> Any:
    """Raise TypeError for Python's containers; NotImplemented for other types, which may have a method of their own."""
    for other in (x, y):
        if type(other) in _CONTAINERS:
            raise TypeError(
                f"unsupported operand type(s) for {symbol}: {type(x).__name__!r} and {type(y).__name__!r}. "
                "Convert it with numpy.asarray(...) first."
                if isinstance(other, (list, tuple))
                else f"unsupported operand type(s) for {symbol}: {type(x).__name__!r} and {type(y).__name__!r}"
            )
    return NotImplemented
