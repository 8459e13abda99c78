"""Jaxprs: the intermediate language. Straight-line code of equations over variables and literals."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, source
from xtrace.core.avals import AbstractValue, ShapedArray
from xtrace.core.effects import keep_alive
from xtrace.core.primitive import Primitive
from xtrace.core.scopes import nested
from xtrace.core.trace import current

Effect = Any
no_effects: frozenset[Effect] = frozenset()
NO_PARAMS: dict[str, Any] = {}


class Var:
    """A variable of a jaxpr. Identity is equality."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """Stands in printed programs for an output that nobody reads."""

    __slots__ = ()


class Literal:
    """A scalar constant written into an equation."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        self.val = val
        self.aval = aval

    @property
    def operand(self) -> Any:
        """The scalar to bind again: a Python number where the literal is weakly typed, for a NumPy scalar never is."""
        if not self.aval.weak_type or self.aval.dtype.kind not in "ifc":
            return self.val
        number = self.val.item()
        # Written under another x64 setting, the number would have another type.
        return number if dtypes.canonicalize(dtypes.PYTHON_SCALARS[type(number)]) == self.aval.dtype else self.val

    def __repr__(self) -> str:
        return f"Literal({self.val})"


Atom = Var | Literal
#: What stands for a run-time value: an array or a tracer.
Value = Any
ParamDict = dict[str, Any]

_literals: dict[Any, Literal] = {}


def literal(value: Any, aval: ShapedArray) -> Literal:
    """A literal of a Python or numpy scalar, its value rounded to the aval's dtype."""
    if type(value) is np.ndarray:
        value = value[()]
    key = (value, type(value), aval)
    # -0.0 equals 0.0 and a NaN equals nothing: neither may be looked up by value.
    cacheable = value == value and (value != 0 or (aval.dtype.kind in "biuf" and math.copysign(1, value) > 0))
    if cacheable:
        found = _literals.get(key)
        if found is not None:
            return found
    made = Literal(np.asarray(value).astype(aval.dtype)[()], aval)
    if cacheable:
        if len(_literals) > 4096:
            _literals.clear()
        _literals[key] = made
    return made


class JaxprEqn:
    """One equation: `outvars = primitive[params] invars`, with the position of the user's line that made it."""

    __slots__ = ("primitive", "invars", "outvars", "params", "position", "effects", "name_stack")

    def __init__(
        self,
        primitive: Primitive,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        params: dict[str, Any],
        position: source.Position | None = None,
        effects: frozenset[Effect] = no_effects,
        name_stack: str = "",
    ) -> None:
        self.primitive = primitive
        self.invars = invars
        self.outvars = outvars
        self.params = params
        self.position = position
        self.effects = effects
        self.name_stack = name_stack

    @property
    def source_info(self) -> source.SourceInfo:
        return source.SourceInfo(self.position, self.name_stack)

    @property
    def ctx(self) -> None:
        return None

    def replace(self, **changes: Any) -> JaxprEqn:
        """A copy with some fields replaced."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        fields.update(changes)
        fields.pop("source_info", None)
        fields.pop("ctx", None)
        return JaxprEqn(**fields)

    def __repr__(self) -> str:
        from xtrace.core import printer

        return printer.format_eqn(self)


class DebugInfo:
    """Where a jaxpr came from: the function, what traced it, and the names of its arguments and results.

    Names are given as tuples, or as functions that make them: nobody reads them until something is printed,
    lowered or wrong.
    """

    __slots__ = ("func_name", "traced_for", "_arg_names", "_result_paths", "code")

    def __init__(
        self,
        func_name: str = "<unknown>",
        traced_for: str = "jit",
        arg_names: Sequence[str] | Callable[[], Sequence[str]] = (),
        result_paths: Sequence[str] | Callable[[], Sequence[str]] = (),
        code: Any = None,
    ) -> None:
        self.func_name = func_name
        self.traced_for = traced_for
        self._arg_names = arg_names
        self._result_paths = result_paths
        #: The function's code object, for its file and line.
        self.code = code

    @property
    def arg_names(self) -> tuple[str, ...]:
        if callable(self._arg_names):
            self._arg_names = tuple(self._arg_names())
        return tuple(self._arg_names)

    @property
    def result_paths(self) -> tuple[str, ...]:
        if callable(self._result_paths):
            self._result_paths = tuple(self._result_paths())
        return tuple(self._result_paths)

    def replace(self, **changes: Any) -> DebugInfo:
        fields = {n.lstrip("_"): getattr(self, n) for n in self.__slots__}
        return DebugInfo(**{**fields, **changes})

    @property
    def func_src_info(self) -> str:
        code = self.code
        return self.func_name if code is None else f"{self.func_name} at {code.co_filename}:{code.co_firstlineno}"


class Jaxpr:
    """A program: `{ lambda constvars ; invars . let eqns in outvars }`, closed over `consts`.

    JAX's two classes Jaxpr and ClosedJaxpr are this one: `jaxpr.jaxpr` is the jaxpr itself. Jaxprs held in
    parameters of equations (jit, scan, cond …) have no consts: their closed-over values are operands.
    """

    __slots__ = (
        "constvars", "invars", "outvars", "eqns", "consts", "effects", "debug_info", "written_refs",
        "refs_in_rules", "_memo", "__weakref__",
    )  # fmt: skip

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: list[JaxprEqn],
        effects: frozenset[Effect] = no_effects,
        debug_info: DebugInfo | None = None,
        consts: Sequence[Any] = (),
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = eqns
        self.effects = effects
        self.debug_info = debug_info or DebugInfo()
        self.consts = list(consts)
        #: Of a jaxpr just staged: constvars that stand for references, whose last values are its last outputs.
        self.written_refs: tuple[int, ...] = ()
        #: Whether a custom rule in it was given a reference: such programs are differentiated inline.
        self.refs_in_rules = False
        self._memo: dict[Any, Any] = {}

    @property
    def jaxpr(self) -> Jaxpr:
        return self

    @property
    def literals(self) -> list[Any]:
        return self.consts

    @property
    def num_consts(self) -> int:
        return len(self.consts)

    @property
    def in_avals(self) -> list[Any]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [v.aval for v in self.outvars]

    @property
    def all_invars(self) -> list[Var]:
        return [*self.constvars, *self.invars]

    @property
    def is_high(self) -> bool:
        return False

    def replace(self, **changes: Any) -> Jaxpr:
        """A copy with some fields replaced; `jaxpr=` (another jaxpr to take over) is understood too."""
        fields = {
            n: getattr(self, n) for n in ("constvars", "invars", "outvars", "eqns", "effects", "debug_info", "consts")
        }
        other = changes.pop("jaxpr", None)
        if other is not None:
            fields.update({n: getattr(other, n) for n in ("constvars", "invars", "outvars", "eqns", "effects")})
        fields.update(changes)
        return Jaxpr(**fields)

    def with_inputs(self, constvars: Sequence[Var], invars: Sequence[Var], debug_info: DebugInfo) -> Jaxpr:
        """The same equations with other inputs (fewer, or in another order), without consts."""
        made = Jaxpr(constvars, invars, self.outvars, self.eqns, self.effects, debug_info)
        for key in ("live", "primitives"):
            if key in self._memo:
                made._memo[key] = self._memo[key]
        return made

    def with_consts(self, consts: Sequence[Any]) -> Jaxpr:
        return self.replace(consts=list(consts))

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> Jaxpr:
        return f(self)

    def memo(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of `make()`, computed once for this jaxpr and `key`: what derives from it lives as long."""
        value = self._memo.get(key)
        if value is None:
            value = self._memo[key] = make()
        return value

    def pretty_print(self, **options: Any) -> str:
        from xtrace.core import printer

        return printer.format_jaxpr(self, **options)

    def __str__(self) -> str:
        return self.pretty_print()

    __repr__ = __str__

    def __call__(self, *args: Any) -> list[Any]:
        return eval_jaxpr(self, self.consts, *args)


class _ClosedJaxprType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Jaxpr)

    def __call__(cls, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> Jaxpr:
        return jaxpr.with_consts(consts)


class ClosedJaxpr(metaclass=_ClosedJaxprType):
    """`ClosedJaxpr(jaxpr, consts)` is the jaxpr with these consts; isinstance is true for every Jaxpr."""


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Interpret `jaxpr` on `args` by binding its primitives one by one, under whatever trace is current."""
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"jaxpr of {jaxpr.debug_info.func_name} takes {len(jaxpr.invars)} arguments, got {len(args)}")
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    outer, scopes = current.position, current.name_stack
    try:
        for eqn in jaxpr.eqns:
            values = [v.operand if type(v) is Literal else env[v] for v in eqn.invars]
            if eqn.position is not None:
                current.position = eqn.position  # what is recorded for this equation belongs to its line
            if eqn.name_stack or type(eqn.name_stack) is not str:
                current.name_stack = nested(scopes, eqn.name_stack) if scopes else eqn.name_stack
            else:
                current.name_stack = scopes
            out = eqn.primitive.bind(*values, **eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, out))
            else:
                env[eqn.outvars[0]] = out
    finally:
        current.position = outer
        current.name_stack = scopes
    return [v.operand if type(v) is Literal else env[v] for v in jaxpr.outvars]


def subjaxprs(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs that an equation's parameters hold, directly or in tuples and lists."""
    for value in params.values():
        if isinstance(value, Jaxpr):
            yield value
        elif isinstance(value, (tuple, list)):
            for item in value:
                if isinstance(item, Jaxpr):
                    yield item


def live_eqns(jaxpr: Jaxpr) -> list[JaxprEqn]:
    """The equations that the outputs depend on, or that have effects, in their order. Found once."""
    return liveness(jaxpr)[0]


def used_inputs(jaxpr: Jaxpr) -> list[bool]:
    """For each invar, whether a live equation or an output reads it."""
    live = liveness(jaxpr)[1]
    return [v in live for v in jaxpr.invars]


def liveness(jaxpr: Jaxpr) -> tuple[list[JaxprEqn], set[Any]]:
    """The live equations, and what they and the outputs read. Found once."""
    return jaxpr.memo("live", lambda: _liveness(jaxpr))


def _liveness(jaxpr: Jaxpr) -> tuple[list[JaxprEqn], set[Any]]:
    """One backward walk."""
    live: set[Any] = {v for v in jaxpr.outvars if type(v) is not Literal}
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if not live.isdisjoint(eqn.outvars) or (eqn.effects and keep_alive(eqn.effects)):
            if eqn.primitive.prunes_where_lowered:
                assert eqn.primitive.prune is not None
                eqn = eqn.primitive.prune(eqn, [v in live for v in eqn.outvars])
            kept.append(eqn)
            live.update(eqn.invars)  # literals too: to leave them out would cost more
    kept.reverse()
    return kept, live


def primitive_counts(jaxpr: Jaxpr) -> dict[Primitive, int]:
    """The primitives that a jaxpr's equations apply, each with how often: what tells whether a walk is worth while."""
    return jaxpr.memo("primitives", lambda: collections.Counter([eqn.primitive for eqn in jaxpr.eqns]))


def count_names() -> Iterator[str]:
    """a, b, …, z, aa, ab, …: the names of variables in printed programs."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    for n in itertools.count(1):
        for combination in itertools.product(letters, repeat=n):
            yield "".join(combination)


def is_scalar_literal(x: Any) -> bool:
    """Whether a value captured by a trace is written into the program as a literal."""
    return type(x) in dtypes.PYTHON_SCALARS or (
        isinstance(x, (np.generic, np.ndarray)) and x.shape == () and x.dtype != dtypes.float0
    )


__all__ = [
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "NO_PARAMS",
    "ParamDict",
    "Value",
    "Var",
    "count_names",
    "eval_jaxpr",
    "is_scalar_literal",
    "literal",
    "live_eqns",
    "liveness",
    "no_effects",
    "primitive_counts",
    "subjaxprs",
    "used_inputs",
]
