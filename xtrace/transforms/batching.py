"""Batching (vmap): every value carries the position of its mapped axis along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xtrace.core import config, leaks
from xtrace.core.avals import ShapedArray
from xtrace.core.axes import bind_axes
from xtrace.core.effects import NamedAxisEffect
from xtrace.core.jaxpr import Jaxpr, eval_jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import Trace, Tracer, TransformTrace, current, use_trace
from xtrace.transforms.staging import Transformed, check_alive, closed_call_operands, memo_transformed, trace_to_jaxpr

_check_leaks = config.check_tracer_leaks.state


class MappedAxis(NamedTuple):
    """The axis being mapped: its size, and its name if it has one."""

    size: int
    name: Any = None
    spmd_name: Any = None


#: Types of elements by (type of the whole, mapped dimension): making one takes 2 µs, looking it up 0.2.
_element_avals: dict[tuple[Any, int], Any] = {}


def _element_aval(key: tuple[Any, int]) -> Any:
    aval, dim = key
    made = aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])
    if len(_element_avals) > 10_000:
        _element_avals.clear()
    _element_avals[key] = made
    return made


class BatchTracer(Tracer):
    """One example of `val`, whose axis `dim` is mapped."""

    __slots__ = ("val", "dim")

    def __init__(self, trace: Trace, val: Any, dim: int) -> None:
        self._trace = trace
        self.val = val
        self.dim = dim
        key = (shaped(val), dim)
        aval = _element_avals.get(key)
        self.aval = _element_aval(key) if aval is None else aval

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={shaped(self.val)})"


class BatchTrace(TransformTrace):
    """Interprets an operation by its batching rule."""

    __slots__ = ("axis",)

    def __init__(self, parent: Trace | None, axis: MappedAxis, made_for: Any = None) -> None:
        self.parent = parent
        self.made_for = made_for
        self.axis = axis
        self.alive = True

    def split(self, x: Any) -> tuple[Any, int | None]:
        """(value, mapped dimension or None)."""
        if type(x) is BatchTracer:
            if x._trace is self:
                return x.val, x.dim
            check_alive(x)
        return x, None

    def wrap(self, val: Any, dim: int | None) -> Any:
        return val if dim is None else BatchTracer(self, val, dim)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        vals, dims, mapped = [], [], False
        for x in args:
            if type(x) is BatchTracer and x._trace is self:
                vals.append(x.val)
                dims.append(x.dim)
                mapped = True
            else:
                vals.append(x)
                dims.append(None)
        with use_trace(self.parent):
            if not mapped and (primitive.effects is None or not self.concerns(primitive, vals, params)):
                return primitive.bind(*vals, **params)
            if primitive.batch is None:
                raise NotImplementedError(f"the primitive {primitive.name} has no batching rule")
            out, out_dim = primitive.batch(self.axis, vals, dims, **params)
        if primitive.multiple_results:
            return [self.wrap(o, d) for o, d in zip(out, out_dim)]
        return self.wrap(out, out_dim)

    def concerns(self, primitive: Primitive, vals: list[Any], params: dict[str, Any]) -> bool:
        """Whether an operation without mapped operands uses the mapped axis by its name."""
        name = self.axis.name
        if name is None:
            return False
        effects = primitive.effects(tuple([shaped(x) for x in vals]), params)  # type: ignore[misc]
        return NamedAxisEffect(name) in effects

    def process_custom_jvp(self, call: Any, args: tuple[Any, ...]) -> Any:
        pairs = [self.split(x) for x in args]
        with use_trace(self.parent):
            outs, dims = call.batch(self, [v for v, _ in pairs], tuple([d for _, d in pairs]))
        return [self.wrap(o, d) for o, d in zip(outs, dims)]

    process_custom_vjp = process_custom_jvp


def batch_flat(
    fun: Callable[..., Sequence[Any]],
    axis: MappedAxis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    made_for: Any = None,
) -> tuple[list[Any], list[int | None]]:
    """Run a flat function over the mapped axis of its arguments; return outputs and where their mapped axes are."""
    trace = BatchTrace(current.trace, axis, made_for)
    wrapped = [trace.wrap(x, d) for x, d in zip(args, dims)]
    with use_trace(trace):
        if axis.name is None:
            outs = fun(*wrapped)
        else:
            with bind_axes((axis.name, axis.size)):
                outs = fun(*wrapped)
        pairs = [trace.split(o) for o in outs]
    trace.alive = False
    if _check_leaks.value:
        del wrapped, outs
        leaks.check(trace)
    return [v for v, _ in pairs], [d for _, d in pairs]


class resumed:
    """Context manager: `trace` interprets again, on top of the trace that is current now; a new one if it has ended.

    Functions with custom rules run under whatever differentiates them, and may close over values mapped outside.
    """

    __slots__ = ("trace", "parent", "ends", "use", "names")

    def __init__(self, trace: BatchTrace) -> None:
        self.ends = not trace.alive
        self.trace = BatchTrace(current.trace, trace.axis) if self.ends else trace
        self.parent = self.trace.parent

    def __enter__(self) -> BatchTrace:
        self.trace.parent = current.trace
        self.use = use_trace(self.trace)
        self.use.__enter__()
        axis = self.trace.axis
        self.names = None if axis.name is None else bind_axes((axis.name, axis.size))
        if self.names is not None:
            self.names.__enter__()
        return self.trace

    def __exit__(self, *exc: Any) -> None:
        if self.names is not None:
            self.names.__exit__(*exc)
        self.use.__exit__(*exc)
        self.trace.parent = self.parent
        if self.ends:
            self.trace.alive = False


def batch_jaxpr(
    jaxpr: Jaxpr, axis: MappedAxis, dims: tuple[int | None, ...], out_mapped: tuple[bool, ...] | None = None
) -> Transformed:
    """The jaxpr of all examples at once, and where the outputs' mapped axes are. Memoised on the jaxpr.

    `out_mapped` asks for outputs to be mapped at axis 0 (True), whatever the program does with them: loop carries.
    """
    return memo_transformed(jaxpr, ("batch", axis, dims, out_mapped), _batch_jaxpr, axis, dims, out_mapped)


def _batch_jaxpr(
    jaxpr: Jaxpr, axis: MappedAxis, dims: tuple[int | None, ...], out_mapped: tuple[bool, ...] | None
) -> Transformed:
    out_dims: list[int | None] = []

    def fun(*args: Any) -> list[Any]:
        outs, found = batch_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), axis, args, dims)
        if out_mapped is not None:
            outs = [move_axis(o, d, 0, axis.size) if force else o for o, d, force in zip(outs, found, out_mapped)]
            found = [0 if force else d for d, force in zip(found, out_mapped)]
        out_dims.extend(found)
        return outs

    def batched(aval: ShapedArray, dim: int | None) -> ShapedArray:
        if dim is None:
            return aval
        return aval.update(shape=(*aval.shape[:dim], axis.size, *aval.shape[dim:]))

    avals = [batched(v.aval, d) for v, d in zip(jaxpr.invars, dims)]
    with use_trace(None):
        closed, consts = closed_call_operands(trace_to_jaxpr(fun, avals, jaxpr.debug_info))
    return Transformed(closed, consts, out_dims)


_move_axis: Any = None


def set_axis_mover(move: Callable[[Any, int | None, int, int], Any]) -> None:
    """Plug in lax's `move(x, source, destination, size)`; source None broadcasts. This layer has no operations."""
    global _move_axis
    _move_axis = move


_sum_axis: Any = None


def set_axis_summer(sum_axis: Callable[[Any, int], Any]) -> None:
    """Plug in lax's `sum_axis(x, axis)`."""
    global _sum_axis
    _sum_axis = sum_axis


def sum_axis(x: Any, axis: int) -> Any:
    """`x` summed over one axis."""
    return _sum_axis(x, axis)


def move_axis(x: Any, source: int | None, destination: int, size: int) -> Any:
    """`x` with its mapped axis at `destination`; an unmapped x (source None) is broadcast along a new axis."""
    return x if source == destination else _move_axis(x, source, destination, size)
