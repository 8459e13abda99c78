"""The stages of a jitted call, open to inspection: Traced, Lowered, Compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from xtrace.api.struct import ShapeDtypeStruct
from xtrace.core import pytree, signature
from xtrace.core.jaxpr import Jaxpr
from xtrace.core.trace import Tracer, current
from xtrace.runtime import dispatch, jaxlib_api, layouts
from xtrace.runtime.program import Executable, LoweredProgram, Placement

if TYPE_CHECKING:
    from xtrace.api.jit import Call, JitFunction, TracedProgram


class ArgInfo(NamedTuple):
    """What a program expects of one argument leaf."""

    aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    _aval = property(lambda self: self.aval)


class _Stage:
    """What every stage knows of the call: its arguments and results."""

    _function: JitFunction
    _call: Call
    _program: TracedProgram

    @property
    def fun_name(self) -> str:
        return self._function.name

    @property
    def in_tree(self) -> Any:
        """Structure of (args, kwargs)."""
        return self._call.in_tree

    @property
    def out_tree(self) -> Any:
        """Structure of the result."""
        return self._program.out_tree

    @property
    def in_avals(self) -> Any:
        """(args, kwargs) with avals at the leaves."""
        return self.in_tree.unflatten(self._call.avals)

    @property
    def out_avals(self) -> Any:
        """The result with avals at the leaves."""
        return self.out_tree.unflatten(self._program.jaxpr.out_avals[: self.out_tree.num_leaves])

    @property
    def args_info(self) -> Any:
        """(args, kwargs) with an ArgInfo at each leaf."""
        donated = self._function.donated(self._call) or [False] * len(self._call.avals)
        return self.in_tree.unflatten([ArgInfo(a, d) for a, d in zip(self._call.avals, donated)])

    @property
    def out_info(self) -> Any:
        """The result with a ShapeDtypeStruct at each leaf."""
        structs = [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in self._program.jaxpr.out_avals]
        return self.out_tree.unflatten(structs[: self.out_tree.num_leaves])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Positions of donated leaves."""
        return tuple([i for i, d in enumerate(self._function.donated(self._call)) if d])


class Traced(_Stage):
    """A function traced at one signature: `.jaxpr`, and `.lower()`."""

    def __init__(self, function: JitFunction, call: Call, program: TracedProgram) -> None:
        self._function, self._call, self._program = function, call, program

    @property
    def jaxpr(self) -> Jaxpr:
        return self._program.jaxpr

    @property
    def effects(self) -> frozenset[Any]:
        return self._program.jaxpr.effects

    def lower(self, *, lowering_platforms: Sequence[str] | None = None, _private_parameters: Any = None) -> Lowered:
        """Lower to StableHLO for the platform where the call would run, or for `lowering_platforms`."""
        placement = None
        if lowering_platforms is None:
            placement = self._function.placement(self._opened(), self._program)
            platforms: tuple[str, ...] = (placement.platform,)
        else:
            platforms = tuple([canonical_platform(p) for p in lowering_platforms])
        lowered = self._function.lower(self._program, self._opened(), platforms, placement)
        lowered.module  # noqa: B018  (made now: what can't be lowered raises here)
        return Lowered(self, lowered, placement)

    def _opened(self) -> Call:
        return self._function.opened(self._program, self._call)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function.miss(*args, **kwargs)[0]


def canonical_platform(name: str) -> str:
    """`gpu` is called cuda; other names are as they are."""
    return {"gpu": "cuda"}.get(name, name)


class Lowered(_Stage):
    """A StableHLO module: `.as_text()`, `.compiler_ir()`, and `.compile()`."""

    def __init__(self, traced: Traced, lowered: LoweredProgram, placement: Placement | None) -> None:
        self._function, self._call, self._program = traced._function, traced._call, traced._program
        self._lowered, self._placement = lowered, placement

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module as text. dialect: stablehlo (default) or hlo (before optimization)."""
        if dialect in (None, "stablehlo"):
            return self._lowered.text(debug_info)
        if dialect == "hlo":
            return self.compiler_ir("hlo").as_hlo_text()  # type: ignore[no-any-return]
        raise ValueError(f"dialect must be 'stablehlo' or 'hlo', got {dialect!r}")

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as an object: an MLIR module, or an XlaComputation for dialect 'hlo'."""
        if dialect in (None, "stablehlo"):
            return self._lowered.module
        if dialect == "hlo":
            return jaxlib_api.to_xla_computation(self._lowered.module)
        raise ValueError(f"dialect must be 'stablehlo' or 'hlo', got {dialect!r}")

    @property
    def passes(self) -> Any:
        """What the passes did to the program before it was lowered: a PassReport."""
        return self._lowered.passes

    def cost_analysis(self) -> dict[str, float] | None:
        """XLA's estimate of operations and bytes before optimization."""
        from xtrace.runtime import backends

        devices = self._placement.devices if self._placement else backends.devices()
        return jaxlib_api.cost_analysis_of_module(devices[0].client, self._lowered.module)

    def compile(
        self, compiler_options: dict[str, Any] | None = None, *, devices: Sequence[Any] | None = None
    ) -> Compiled:
        """Compile with XLA. `devices`: compile for these (compile-only devices too) instead of the call's."""
        options = {**(self._function.options.compiler_options or {}), **(compiler_options or {})} or None
        placement = self._placement
        if devices is not None:
            from xtrace.runtime import shardings

            placement = Placement(tuple(devices), shardings.single_device_sharding(devices[0]), True)
        elif placement is None or placement.platform not in self._lowered.platforms:
            from xtrace.runtime import backends, shardings

            device = backends.devices(self._lowered.platforms[0])[0]
            placement = Placement((device,), shardings.single_device_sharding(device), True)
        executable = Executable(self._lowered.for_platform(placement.platform), placement, options)
        self._program.record.compiled(executable)
        return Compiled(self, executable)


class Compiled(_Stage):
    """A compiled program: call it, or inspect it."""

    def __init__(self, lowered: Lowered, executable: Executable) -> None:
        self._function, self._call, self._program = lowered._function, lowered._call, lowered._program
        self._lowered = lowered._lowered
        self._executable = executable
        self._fast: Any = None

    def as_text(self) -> str:
        """The optimized HLO."""
        return "\n\n".join(m.to_string() for m in self._executable.loaded.hlo_modules())

    def compiler_ir(self) -> Any:
        return self._executable.loaded.hlo_modules()

    def cost_analysis(self) -> dict[str, float] | None:
        """XLA's estimate for the optimized program: flops, bytes accessed, …"""
        found = self._executable.loaded.cost_analysis()
        return dict(found) if found is not None else None

    @property
    def passes(self) -> Any:
        """What the passes did to the program before it was lowered: a PassReport."""
        return self._executable.program.passes

    def memory_analysis(self) -> Any:
        """Sizes of arguments, results, temporaries and code in bytes."""
        return self._executable.loaded.get_compiled_memory_stats()

    def runtime_executable(self) -> Any:
        return self._executable.loaded

    @property
    def input_shardings(self) -> Any:
        """(args, kwargs) with a sharding at each leaf (None: the argument is not used)."""
        found = iter(self._executable.in_shardings)
        kept = self._lowered.kept[: self.in_tree.num_leaves]
        return self.in_tree.unflatten([next(found) if k else None for k in kept])

    @property
    def output_shardings(self) -> Any:
        return self.out_tree.unflatten(self._executable.out_shardings[: self.out_tree.num_leaves])

    @property
    def input_formats(self) -> Any:
        """(args, kwargs) with a Format at each leaf (None: the argument is not used)."""
        executable = self._executable
        found = iter(zip(executable.in_layouts[len(executable.const_args) :], executable.in_shardings))
        kept = self._lowered.kept[: self.in_tree.num_leaves]
        return self.in_tree.unflatten([_format(*next(found)) if k else None for k in kept])

    @property
    def output_formats(self) -> Any:
        executable = self._executable
        found = [_format(*pair) for pair in zip(executable.out_layouts, executable.out_shardings)]
        return self.out_tree.unflatten(found[: self.out_tree.num_leaves])

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program. Raises TypeError where the arguments are not of the types it was compiled for."""
        if self._fast is None:
            self._fast = jaxlib_api.pjit(
                self.fun_name,
                lambda *a, **k: self._checked_call(*a, **k)[0],
                self._checked_call,
                [],
                [],
                (id(self),),
                pytree.dispatch_registry,
                dispatch.shard_arg,
                jaxlib_api.PjitFunctionCache(capacity=4),
            )
        return self._fast(*args, **kwargs)

    def _checked_call(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """What C++ asks where it doesn't know the arguments' types to be right."""
        function = self._function
        static = self._call.static_nums
        args_now = tuple(args)
        if static:  # static values are baked in: only the others are passed
            merged, dynamic = [], iter(args)
            for i in range(len(self._call.args)):
                merged.append(self._call.args[i] if i in static else next(dynamic))
            args_now = tuple(merged)
        for name in function.options.static_argnames:
            if name in self._call.kwargs:
                kwargs.setdefault(name, self._call.kwargs[name])
        call = function.parse(args_now, kwargs)
        self._check_tree(call.in_tree)
        self._check_avals(call.avals, self._call.avals, lambda: function.leaf_names(call))
        if current.trace is not None or any(isinstance(x, Tracer) for x in call.leaves):
            self._refuse_tracers()
        if self._program.refs is not None:
            return function.call_with_refs(self._program, call, self._executable), None, False
        result = self.out_tree.unflatten(self._executable.call(call.leaves))
        return result, None if static else self._executable.fastpath(result), False

    __call__ = call

    def _check_tree(self, in_tree: Any) -> None:
        if in_tree != self.in_tree:
            raise TypeError(
                "Function compiled with input pytree does not match the input pytree it was called with: "
                f"{self.fun_name} was compiled for {self.in_tree}, called with {in_tree}"
            )

    def _check_avals(self, given: Sequence[Any], expected: Sequence[Any], names: Callable[[], list[str]]) -> None:
        wrong = []
        for i, (got, wanted) in enumerate(zip(given, expected)):
            if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
                wrong.append(f"{names()[i]} was compiled as {wanted.str_short()}, called with {got.str_short()}")
        if wrong:
            raise TypeError(
                f"Argument types differ from the types for which {self.fun_name} was compiled: {'; '.join(wrong)}. "
                "Call the jitted function itself to compile for other types."
            )

    def _refuse_tracers(self) -> NoReturn:
        raise TypeError(
            "Cannot apply transformations to a function lowered and compiled for a particular signature: "
            f"{self.fun_name} was called with a tracer. Transform the jitted function itself."
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file, which `load` reads without tracing, lowering or compiling.

        Args:
          path: the file; it appears whole or not at all.

        Raises:
          ValueError: the program calls back into this process, or a pytree node has no name for serialization.
        """
        from xtrace.api import saving

        saving.save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str], *, devices: Sequence[Any] | None = None) -> Compiled:
        """Load a program that `save` wrote. It holds native code: load only files that you trust.

        Args:
          path: the file.
          devices: where to load it; by default the first devices of its platform.

        Returns:
          The compiled program.

        Raises:
          ValueError: the file is damaged, or made for another kind of device or another version of jaxlib.
        """
        from xtrace.api import saving

        return saving.load(path, devices)


def trace_call(function: JitFunction, *args: Any, **kwargs: Any) -> Traced:
    """Trace for these arguments (arrays, or ShapeDtypeStructs in their place)."""
    call = function.parse(args, kwargs)
    return Traced(function, call, function.traced(call))


def lower_call(function: JitFunction, *args: Any, lowering_platforms: Any = None, **kwargs: Any) -> Lowered:
    """`trace_call`, then lower."""
    return trace_call(function, *args, **kwargs).lower(lowering_platforms=lowering_platforms)


def eval_shape_call(function: JitFunction, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of the result, as ShapeDtypeStructs."""
    return trace_call(function, *args, **kwargs).out_info


def _format(layout: Any, sharding: Any) -> layouts.Format:
    return layouts.Format(None if layout is None else layouts.Layout.from_pjrt_layout(layout), sharding)


class _WrappedType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return hasattr(instance, "lower") and hasattr(instance, "trace")


class Wrapped(metaclass=_WrappedType):
    """Protocol of what jit returns: isinstance(jit(f), Wrapped) is true."""


CompilerOptions = dict[str, Any]

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped", "pytree", "signature"]
