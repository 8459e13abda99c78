"""Programs: a jaxpr lowered for a platform (LoweredProgram), and one loaded on devices, ready to run (Executable)."""

from __future__ import annotations

import copy
import functools
import io
import logging
import re
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import config, dtypes, monitoring
from xtrace.core.avals import ShapedArray
from xtrace.core.effects import ordered_effects
from xtrace.core.jaxpr import Jaxpr, used_inputs
from xtrace.core.primitive import shaped
from xtrace.core.pytree import dispatch_registry
from xtrace.core.sharding_text import mesh_text
from xtrace.runtime import array, backends, compiling, host_calls, jaxlib_api, layouts, shardings, spmd, transfers
from xtrace.runtime.jaxlib_api import ArrayImpl, array_result_handler

logger = logging.getLogger("xtrace.compiling")


def _log(message: str, *args: Any) -> None:
    """To the log: as a warning under the flag log_compiles, for debugging otherwise."""
    logger.log(logging.WARNING if config.log_compiles.value else logging.DEBUG, message, *args)


class Placement(NamedTuple):
    """Where a program runs: its devices, the sharding of a value that has no own, and whether results are committed."""

    devices: tuple[Any, ...]
    sharding: Any
    committed: bool
    #: Over several devices: the sharding of each flat argument.
    arg_shardings: tuple[Any, ...] | None = None
    #: … and of each flat result, None where the compiler decides.
    out_shardings: tuple[Any, ...] | None = None
    #: The layouts that jit was told of, of each flat argument and result: a Layout, AUTO or None.
    arg_layouts: tuple[Any, ...] | None = None
    out_layouts: tuple[Any, ...] | None = None

    def of_values(self) -> dict[str, Any]:
        """What a LoweredProgram is told of its arguments and results."""
        return {name: getattr(self, name) for name in ("arg_shardings", "out_shardings", "arg_layouts", "out_layouts")}

    @property
    def platform(self) -> str:
        return backends.platform_of(self.devices[0])


def _committed_to(x: Any) -> Any:
    """The sharding that an array is committed to; None for one that goes where the others are."""
    if type(x) is not ArrayImpl:
        x = getattr(x, "_base_array", None)  # an array of keys is where its words are
        if type(x) is not ArrayImpl:
            return None
    return x._sharding if x._committed else None


def placement_of(args: Sequence[Any], device: Any = None, names: Sequence[str] = ()) -> Placement:
    """Where a call with these arguments runs: where its committed arguments are, else `device`, else the default.

    Raises ValueError if committed arguments are on different devices.
    """
    found = None
    for i, a in enumerate(args):
        sharding = _committed_to(a)
        if sharding is not None:
            if found is None:
                found, first = sharding, i
            elif sharding is not found and set(sharding.device_set) != set(found.device_set):

                def describe(i: int, s: Any) -> str:
                    name = names[i] if i < len(names) else f"argument {i}"
                    return f"{name} of type {shaped(args[i]).str_short()} is on {sorted(map(str, s.device_set))}"

                raise ValueError(
                    "Received incompatible devices for jitted computation: "
                    f"{describe(first, found)}, but {describe(i, sharding)}. Move one with device_put."
                )
    if device is not None:
        if not isinstance(device, jaxlib_api.Sharding):
            device = shardings.single_device_sharding(device)
        found = device
    if found is not None:
        devices = tuple(found._device_assignment)
        if len(devices) == 1:
            return Placement(devices, found, True)
        rest = spmd.replicated_like(found)
        own = [_committed_to(a) or rest for a in args]
        return Placement(devices, rest, True, tuple(own))
    default = backends.default_device()
    return Placement((default,), shardings.single_device_sharding(default), False)


class LoweredProgram:
    """A StableHLO module and what the caller must know of it: kept inputs, hidden arguments, donation."""

    def __init__(
        self,
        jaxpr: Jaxpr,
        name: str,
        platforms: tuple[str, ...],
        *,
        donated: Sequence[bool] = (),
        keep_unused: bool = False,
        arg_shardings: Sequence[Any] | None = None,
        out_shardings: Sequence[Any] | None = None,
        arg_layouts: Sequence[Any] | None = None,
        out_layouts: Sequence[Any] | None = None,
        inline_all: bool = False,
        passes: tuple[str, ...] = (),
    ) -> None:
        self.jaxpr = jaxpr
        self.name = name
        self.platforms = platforms
        self.in_avals: list[ShapedArray] = jaxpr.in_avals
        self.out_avals: list[ShapedArray] = jaxpr.out_avals
        #: The module takes and returns a token for each, in front of everything else.
        self.ordered_effects = ordered_effects(jaxpr.effects)
        self.has_effects = bool(jaxpr.effects)
        self.kept: list[bool] = [True] * len(self.in_avals) if keep_unused else used_inputs(jaxpr)
        invars, info = jaxpr.invars, jaxpr.debug_info
        if not all(self.kept):
            invars = [v for v, k in zip(invars, self.kept) if k]
            info = info.replace(arg_names=tuple([n for n, k in zip(info.arg_names, self.kept) if k]))
        inline: list[tuple[Any, Any]] = []
        hidden: list[tuple[Any, Any]] = []
        limit = config.inline_constant_bytes.value
        for var, const in zip(jaxpr.constvars, jaxpr.consts):
            small = isinstance(var.aval, ShapedArray) and not dtypes.is_extended(var.aval.dtype)
            small = small and (inline_all or var.aval.size * var.aval.dtype.itemsize <= limit)
            (inline if small else hidden).append((var, const))
        #: Closed-over arrays that are passed in front of the arguments, instead of being written into the program.
        self.const_args: list[Any] = [c for _, c in hidden]
        self._inline = [c for _, c in inline]
        self._body = jaxpr.with_inputs([v for v, _ in (*inline, *hidden)], invars, info)
        self.donated = [False] * len(self.in_avals)
        self._aliases = self._match_donations(list(donated), len(hidden)) if any(donated) else {}
        self._meshes: dict[Any, str] = {}
        attributes: list[dict[str, str]] | None = None
        result_attributes: list[dict[str, str]] | None = None
        if arg_shardings is not None:
            kept = [s for s, k in zip(arg_shardings, self.kept) if k]
            outs = out_shardings or [None] * len(self.out_avals)
            avals = [physical_aval(a) for a in (*[v.aval for v in invars], *self.out_avals)]
            self._meshes, found = spmd.value_shardings([*kept, *outs], avals)
            attributes = [{} for _ in hidden] + found[: len(kept)]
            result_attributes = found[len(kept) :]
        if arg_layouts or out_layouts:
            ins = layouts.attributes(arg_layouts, self.in_avals)
            ins = [{} for _ in hidden] + [a for a, k in zip(ins, self.kept) if k]
            outs = layouts.attributes(out_layouts, self.out_avals)
            attributes = [a | b for a, b in zip(attributes or [{}] * len(ins), ins)]
            result_attributes = [a | b for a, b in zip(result_attributes or [{}] * len(outs), outs)]
        self.has_layouts = bool(arg_layouts or out_layouts)
        self._attributes = (attributes, result_attributes)
        self._partitions = arg_shardings[0].num_devices if arg_shardings else 1
        self._devices = tuple(arg_shardings[0]._device_assignment) if arg_shardings else ()
        #: Names of the passes that the program goes through before it is lowered.
        self.pass_names = passes
        self._passes: Any = None
        self._module: Any = None
        #: What must live as long as the compiled program; known once the module is made.
        self.keepalives: list[Any] = []
        #: Seconds that lowering took.
        self.seconds = 0.0

    @property
    def module(self) -> Any:
        """The StableHLO module, made when it is first asked for: a program found in the compile cache needs none."""
        if self._module is None:
            start = time.perf_counter()
            self._module = self._lowered(self.platforms)
            self.seconds = time.perf_counter() - start
            monitoring.record_event_duration_secs(
                "/jax/core/compile/jaxpr_to_mlir_module_duration", self.seconds, fun_name=self.name
            )
            _log("Finished jaxpr to MLIR module conversion jit(%s) in %.9f sec", self.name, self.seconds)
        return self._module

    def for_platform(self, platform: str) -> LoweredProgram:
        """The same program lowered for one platform: what is compiled of a module for several."""
        if self.platforms == (platform,):
            return self
        made = copy.copy(self)
        made.platforms, made._module, made._passes, made.keepalives = (platform,), None, None, []
        return made

    @property
    def passes(self) -> Any:
        """The report of the passes (PassReport), which run when it is first asked for, as a module does."""
        if self._passes is None:
            from xtrace.lowering.passes import bodies, pipeline

            target = pipeline.Target(self.platforms, self._inline)
            body = self._body
            if not all(self.kept):  # dead equations may read inputs that are not there
                body = bodies.without_dead(body)
            self._passes = pipeline.run(body, self.name, target, self.pass_names)
        return self._passes

    def _lowered(self, platforms: tuple[str, ...]) -> Any:
        from xtrace.lowering import lower  # loads MLIR: at the first lowering, not at import

        attributes, result_attributes = self._attributes
        module, keepalives = lower.lower_jaxpr(
            self.passes.jaxpr if self.pass_names else self._body,
            module_name(self.name),
            platforms,
            donated=self._aliases,
            inline_constants=self._inline,
            meshes=self._meshes,
            arg_attributes=attributes,
            result_attributes=result_attributes,
            num_partitions=self._partitions,
            devices=self._devices,
        )
        self.keepalives += keepalives
        return module

    def lowering_inputs(self) -> tuple[Any, ...]:
        """What the module depends on besides the jaxpr, as plain values."""
        inline = [np.asarray(c) for c in self._inline]
        hidden = len(self.const_args)
        meshes = [mesh_text(mesh, name) for mesh, name in self._meshes.items()]
        return (
            self.name, self.platforms, self.kept, self._aliases, inline, hidden, meshes, self._attributes,
            self._partitions, self.pass_names,
        )  # fmt: skip

    def _match_donations(self, donated: list[bool], offset: int) -> dict[int, int]:
        """Pair each donated input with an output of its type; warn of those that find none."""
        free: dict[tuple[Any, Any], list[int]] = {}
        for i, aval in enumerate(self.out_avals):
            free.setdefault((aval.shape, aval.dtype), []).append(i)
        aliases, unused = {}, []
        position = offset
        names = self.jaxpr.debug_info.arg_names
        for i, (aval, give, kept) in enumerate(zip(self.in_avals, donated, self.kept)):
            if give:
                places = free.get((aval.shape, aval.dtype))
                name = names[i] if i < len(names) else f"argument {i}"
                if not kept:
                    unused.append(f"{name} ({aval.str_short()}): the function does not use it")
                elif places:
                    aliases[position] = places.pop(0)
                    self.donated[i] = True
                else:
                    unused.append(f"{name} ({aval.str_short()}): no output left of this shape and dtype")
            position += kept
        if unused:
            warnings.warn(
                "Some donated buffers were not usable: " + "; ".join(unused) + ". "
                "A donated buffer is reused for an output of the same shape and dtype; donate only those.",
                stacklevel=2,
            )
        return aliases

    def text(self, debug_info: bool = False) -> str:
        """The module as StableHLO text; `debug_info` adds source locations."""
        out = io.StringIO()
        self.module.operation.print(file=out, enable_debug_info=debug_info)
        return out.getvalue()


def module_name(name: str) -> str:
    """The module's symbol for a function of this name."""
    return re.sub(r"[^\w.-]", "_", f"jit_{name}").rstrip("_")


class FastpathData(NamedTuple):
    """What jaxlib's C++ call path reads, by these names."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Any
    out_shardings: Any
    out_avals: Any
    out_committed: Any
    kept_var_bitvec: Any
    in_device_local_layouts: Any
    const_args: Any


class Executable:
    """A program compiled and loaded on devices."""

    def __init__(
        self,
        program: LoweredProgram,
        placement: Placement,
        overrides: dict[str, Any] | None = None,
        loaded: Any = None,
    ) -> None:
        start, lowering = time.perf_counter(), program.seconds
        #: Whether the last call had to copy an argument into another layout, which C++ would not do.
        self._copied = False
        self.program = program
        self.placement = placement
        devices = jaxlib_api.DeviceList(placement.devices)
        #: Devices that are only described (a topology) compile, and don't load.
        compile_only = jaxlib_api.is_compile_only(placement.devices[0].client)
        _log("Compiling jit(%s) with global shapes and types %s.", program.name, program.in_avals)
        self.loaded = compiling.load(program, placement, overrides) if loaded is None else loaded
        self.compile_only = compile_only
        self.seconds = time.perf_counter() - start - (program.seconds - lowering)
        monitoring.record_event_duration_secs(
            "/jax/core/compile/backend_compile_duration", self.seconds, fun_name=program.name
        )
        _log("Finished XLA compilation of jit(%s) in %.9f sec", program.name, self.seconds)
        in_shardings = placement.arg_shardings or [spmd.fitting(placement.sharding, a) for a in program.in_avals]
        self.in_shardings = [s for s, k in zip(in_shardings, program.kept) if k]
        self.out_shardings = self._find_out_shardings(devices)
        self.extended = any(dtypes.is_extended(a.dtype) for a in (*program.in_avals, *program.out_avals))
        if compile_only:
            self.call = self._refuse_call  # type: ignore[method-assign]  # no check on the path of every other call
        else:
            self._prepare()

    def _find_out_shardings(self, devices: Any) -> list[Any]:
        sharding, n = self.placement.sharding, len(self.program.out_avals)
        if self.placement.arg_shardings is None:
            return [spmd.fitting(sharding, a) for a in self.program.out_avals]
        mesh = next((s.mesh for s in self.placement.arg_shardings if isinstance(s, jaxlib_api.NamedSharding)), None)
        found = self.loaded.get_output_shardings()
        if mesh is None or found is None:
            return [sharding] * n
        found = found[len(self.program.ordered_effects) :]
        given = self.placement.out_shardings or [None] * n
        return [
            spmd.result_sharding(s, physical_aval(a), mesh, devices) if g is None else g
            for s, a, g in zip(found, self.program.out_avals, given)
        ]

    def _prepare(self) -> None:
        program, committed = self.program, self.placement.committed
        avals = [physical_aval(a) for a in program.out_avals]
        self.handlers = [array_result_handler(a, s, committed) for a, s in zip(avals, self.out_shardings)]
        self.const_args = [self._place(c, spmd.fitting(self.placement.sharding, shaped(c))) for c in program.const_args]
        if program.has_layouts:
            layouts.in_use = True
        execute = self._execute = self.loaded.execute_sharded
        if program.has_effects:
            ordered = program.ordered_effects
            awaited = any(e not in ordered for e in program.jaxpr.effects)
            self._run: Any = host_calls.EffectfulExecution(execute, ordered, awaited, self.placement)
        else:
            self._run = lambda arrays, handlers: execute(arrays).consume_with_handlers(handlers)

    @functools.cached_property
    def in_layouts(self) -> list[Any]:
        """The runtime's layouts of the hidden and the kept arguments."""
        program = self.program
        avals = [*map(shaped, self.const_args), *[a for a, k in zip(program.in_avals, program.kept) if k]]
        places = [*[c._sharding for c in self.const_args], *self.in_shardings]
        return self._layouts(self.loaded.get_parameter_layouts, avals, places)

    @functools.cached_property
    def out_layouts(self) -> list[Any]:
        """The runtime's layouts of the results."""
        return self._layouts(self.loaded.get_output_layouts, self.program.out_avals, self.out_shardings)

    def _layouts(self, told: Callable[[], Any], avals: Sequence[Any], places: Sequence[Any]) -> list[Any]:
        """None for tokens, which lie nowhere."""
        try:
            found = told()[len(self.program.ordered_effects) :]
            return [None if isinstance(a.dtype, dtypes.TokenDtype) else layout for a, layout in zip(avals, found)]
        except jaxlib_api.XlaRuntimeError:  # jaxlib 0.10 doesn't tell them of programs with tokens
            if self.program.has_layouts:
                raise
        device = self.placement.devices[0]
        default = device.client.get_default_layout
        return [
            None if isinstance(a.dtype, dtypes.TokenDtype) else default(p.dtype, s.shard_shape(p.shape), device)
            for a, p, s in zip(avals, map(physical_aval, avals), places)
        ]

    def _place(self, x: Any, sharding: Any) -> Any:
        """`x` as an array with this sharding."""
        if type(x) is ArrayImpl:
            if x._sharding is sharding or x._sharding == sharding:
                return x
            return transfers.put_leaf(x, sharding)
        aval = shaped(x)
        if dtypes.is_extended(aval.dtype):
            return self._place(aval.dtype.unwrap(x), sharding)
        return transfers.put(x, aval, sharding, self.placement.committed)

    def call(self, args: Sequence[Any]) -> list[Any]:
        """Run on flat arguments (arrays, numpy arrays, scalars), all of them, kept or not."""
        if config.no_execution.value:
            raise RuntimeError(f"tried to execute jit({self.program.name}), but the flag no_execution is set")
        if not all(self.program.kept):
            args = [a for a, k in zip(args, self.program.kept) if k]
        placed = [self._place(a, s) for a, s in zip(args, self.in_shardings)]
        for a in placed:
            array.check_alive(a)
        if layouts.in_use:
            expected = self.in_layouts[len(self.const_args) :]
            self._copied = any([not layouts.fits(x, layout) for x, layout in zip(placed, expected)])
            if self._copied:
                placed = layouts.fitted(placed, expected)
        results = self._run([*self.const_args, *placed], self.handlers)
        if config.debug_nans.value or config.debug_infs.value:
            self._check_numbers(args, results)
        if self.extended:
            return [
                a.dtype.wrap(r) if dtypes.is_extended(a.dtype) else r for a, r in zip(self.program.out_avals, results)
            ]
        return results

    def _refuse_call(self, args: Sequence[Any]) -> list[Any]:
        kind = self.placement.devices[0].device_kind
        raise RuntimeError(
            f"{self.program.name} was compiled for a {kind} that is not here: it can be inspected (as_text, "
            "cost_analysis) but not run. Compile it for one of devices() to run it."
        )

    def _check_numbers(self, args: Sequence[Any], results: Sequence[Any]) -> None:
        """Raise FloatingPointError for a result with a NaN (or infinity), where the flags ask for it."""
        from xtrace.runtime import bad_numbers

        program = self.program
        env = None
        if not any(program.donated):
            env = dict(zip([v for v, k in zip(program.jaxpr.invars, program.kept) if k], args))
        programs: dict[int, Executable] = {}

        def compiled(jaxpr: Jaxpr, values: Sequence[Any]) -> Sequence[Any]:
            made = programs.get(id(jaxpr))
            if made is None:
                lowered = LoweredProgram(jaxpr, "step", (self.placement.platform,), keep_unused=True)
                made = programs[id(jaxpr)] = Executable(lowered, self.placement._replace(arg_shardings=None))
            return made.call(values)

        bad_numbers.check(program.name, program.jaxpr, env, results, compiled)

    def fastpath(self, result: Any) -> FastpathData | None:
        """What lets C++ make the next call of this signature, whose result was `result`, by itself.

        None where Python must make it.
        """
        if self.program.has_effects or self._copied or config.debug_nans.value or config.debug_infs.value:
            return None
        arrays, out_tree = dispatch_registry.flatten(result)
        out_avals = self.program.out_avals
        if self.extended:
            if any(type(x) is not ArrayImpl for x in arrays):
                return None
            out_avals = [physical_aval(a) for a in out_avals]
        n_out = len(self.out_shardings)
        in_shardings = [c._sharding for c in self.const_args] + self.in_shardings
        return FastpathData(
            self.loaded,
            out_tree,
            in_shardings,
            self.out_shardings,
            out_avals,
            [self.placement.committed] * n_out,
            [True] * len(self.const_args) + self.program.kept,
            [None] * len(in_shardings),
            self.const_args,
        )


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """The aval of what an array of extended dtype is stored as; others as they are."""
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDtype):
        return ShapedArray((*aval.shape, *dtype.physical_shape), dtype.physical_dtype)
    return aval
