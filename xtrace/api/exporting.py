"""Exporting: a jitted function as portable, versioned StableHLO for one platform or several, and back."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, pytree, tree_format
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import random_bits as random_bits  # noqa: F401  (makes the dtypes of keys known by name)
from xtrace.runtime import backends, container
from xtrace.runtime.program import LoweredProgram
from xtrace.transforms.exported import call_exported_p
from xtrace.version import __version__

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10

_KIND = "exported program"
_PLATFORMS = {"gpu": "cuda"}


class DisabledSafetyCheck:
    """A check of exported programs that is to be left out: make one with `platform()` or `custom_call(name)`."""

    def __init__(self, _impl: str) -> None:
        self._impl = _impl

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Let a program run on platforms that it was not exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Let a program call a function by name whose meaning may change between releases."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The name that `custom_call` was given, or None."""
        found = re.match(r"custom_call:(.+)$", self._impl)
        return found.group(1) if found else None

    def __str__(self) -> str:
        return self._impl

    __repr__ = __str__

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash(self._impl)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Exported:
    """A function lowered to a portable module, with the types and structures of its arguments and results."""

    fun_name: str
    in_tree: Any
    in_avals: tuple[Any, ...]
    out_tree: Any
    out_avals: tuple[Any, ...]
    _in_named_shardings: tuple[Any, ...]
    _out_named_shardings: tuple[Any, ...]
    in_shardings_hlo: tuple[Any, ...]
    out_shardings_hlo: tuple[Any, ...]
    platforms: tuple[str, ...]
    nr_devices: int
    ordered_effects: tuple[Any, ...]
    unordered_effects: tuple[Any, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    #: Positions of the arguments that the module takes; the others are not used.
    module_kept_var_idx: tuple[int, ...]
    #: Whether the module takes the platform's index in front.
    uses_global_constants: bool
    calling_convention_version: int
    mlir_module_serialized: bytes
    _get_vjp: Callable[[Exported], Exported] | None

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    __str__ = __repr__

    def mlir_module(self, serialized: bool = True) -> Any:
        """The module as text, or as an MLIR module if not `serialized`."""
        from xtrace.lowering import portable

        module = portable.from_portable(self.mlir_module_serialized)
        return module.operation.get_asm(enable_debug_info=True) if serialized else module

    def has_vjp(self) -> bool:
        """Whether the derivative is at hand."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The exported derivative: it takes the flat arguments, then a cotangent for each result.

        Raises ValueError: it was serialized without one.
        """
        if self._get_vjp is None:
            raise ValueError(
                f"No VJP is available: {self.fun_name} was serialized with too low a vjp_order. "
                "Serialize with vjp_order=1 or more."
            )
        return self._get_vjp(self)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The exported function as bytes, which `deserialize` reads.

        Args:
          vjp_order: how many derivatives to take along: 1 lets it be differentiated once.

        Returns:
          The bytes.

        Raises:
          ValueError: a pytree node has no name for serialization.
        """
        return bytearray(_pack(self, vjp_order))

    def in_shardings_jax(self, mesh: Any) -> tuple[Any, ...]:
        """The sharding of each flat argument over `mesh`; None where none was asked for."""
        return tuple([_over(mesh, s) for s in self._in_named_shardings])

    def out_shardings_jax(self, mesh: Any) -> tuple[Any, ...]:
        """The sharding of each flat result over `mesh`; None where none was asked for."""
        return tuple([_over(mesh, s) for s in self._out_named_shardings])

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the exported function: with arrays, or inside another traced function.

        Raises:
          ValueError: structure, shapes or dtypes differ from those it was exported for, or the platform does.
        """
        leaves, tree = pytree.tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise ValueError(
                "The invocation args and kwargs must have the same pytree structure as when the function "
                f"'{self.fun_name}' was exported: it was exported with {self.in_tree} and is called with {tree}."
            )
        self._check(leaves)
        return self.out_tree.unflatten(_call_flat(self)(*leaves))

    def _check(self, leaves: Sequence[Any]) -> None:
        for i, (x, expected) in enumerate(zip(leaves, self.in_avals)):
            given = shaped(x)
            if given.dtype == expected.dtype and given.shape == expected.shape:
                continue
            name = self._names()[i]
            if len(given.shape) != len(expected.shape):
                raise ValueError(
                    f"Rank mismatch for {name}: expected {expected.shape} and called with {given.shape}; "
                    f"'{self.fun_name}' was exported for these shapes alone."
                )
            if given.shape != expected.shape:
                at = next(d for d, (a, b) in enumerate(zip(given.shape, expected.shape)) if a != b)
                raise ValueError(
                    f"Shape mismatch for {name}.shape[{at}] (expected same constant): expected {expected.shape} "
                    f"and called with {given.shape}"
                )
            raise ValueError(f"Dtype mismatch for {name}: expected {expected.dtype} and called with {given.dtype}")

    def _names(self) -> list[str]:
        args, kwargs = self.in_tree.unflatten(range(len(self.in_avals)))
        names = {}
        for path, i in pytree.tree_flatten_with_path(args)[0]:
            names[i] = "args" + pytree.keystr(path)
        for path, i in pytree.tree_flatten_with_path(kwargs)[0]:
            names[i] = "kwargs" + pytree.keystr(path)
        return [names[i] for i in range(len(self.in_avals))]


def _over(mesh: Any, sharding: Any) -> Any:
    if sharding is None:
        return None
    from xtrace.runtime.jaxlib_api import NamedSharding

    return NamedSharding(mesh, sharding.spec)


def _is_real(aval: ShapedArray) -> bool:
    return aval.dtype != dtypes.float0


def _bind(exported: Exported, leaves: Sequence[Any]) -> list[Any]:
    """Results for flat arguments, those of dtype float0 left out."""
    results = iter(call_exported_p.bind(*leaves, exported=exported))
    return [next(results) if _is_real(a) else np.zeros(a.shape, dtypes.float0) for a in exported.out_avals]


def _call_flat(exported: Exported) -> Callable[..., list[Any]]:
    """The exported function on flat arguments (none of dtype float0), with its exported derivative as reverse rule."""
    from xtrace.lax.custom_functions import custom_vjp

    def program(*leaves: Any) -> list[Any]:
        return _bind(exported, leaves)

    def forward(*leaves: Any) -> Any:
        return flat(*leaves), leaves

    def backward(leaves: Any, cotangents: Sequence[Any]) -> Any:
        derivative = exported.vjp()
        passed = [ct for a, ct in zip(derivative.in_avals[len(exported.in_avals) :], cotangents) if _is_real(a)]
        found = _call_flat(derivative)(*leaves, *passed)
        return tuple([ct for a, ct in zip(exported.in_avals, found) if _is_real(a)])

    program.__name__ = exported.fun_name
    flat: Any = custom_vjp(program)
    flat.defvjp(forward, backward)
    return flat  # type: ignore[no-any-return]


# -- exporting -----------------------------------------------------------------------------------------------------


def default_export_platform() -> str:
    """The platform that `export` lowers for if it is told of none: the default backend's.

    >>> import xtrace as xt
    >>> xt.export.default_export_platform()
    'cpu'
    """
    return backends.platform_of(backends.default_device())


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    _override_lowering_rules: Any = None,
) -> Callable[..., Exported]:
    """Make a jitted function exportable: call the result with arguments, or ShapeDtypeStructs in their place.

    Args:
      fun_jit: what `jit` returned.
      platforms: names of platforms ("cpu", "cuda", "rocm", "tpu") to lower for; the default backend's if None.
      disabled_checks: safety checks to leave out.

    Returns:
      A function of the same arguments that returns an `Exported`.

    Raises:
      ValueError: `fun_jit` was not made by jit, or the program calls functions whose meaning may change between
        releases.

    >>> import numpy as np, xtrace as xt
    >>> exported = xt.export.export(xt.jit(lambda x: x * 2), platforms=["cpu", "tpu"])(np.float32(1))
    >>> data = exported.serialize()
    >>> xt.export.deserialize(data).call(np.float32(21))
    Array(42., dtype=float32)
    """
    if not (hasattr(fun_jit, "trace") and hasattr(fun_jit, "lower")):
        raise ValueError(
            f"Function to be exported must be the result of `jit` but is: {fun_jit}. Write export(jit(f))(...)."
        )
    if isinstance(platforms, str):
        raise TypeError(f"platforms must be a sequence of names; write platforms=[{platforms!r}]")

    def exporter(*args: Any, **kwargs: Any) -> Exported:
        return _export_traced(fun_jit.trace(*args, **kwargs), platforms, disabled_checks)

    return exporter


def _export_traced(traced: Any, platforms: Any, disabled: Sequence[DisabledSafetyCheck]) -> Exported:
    from xtrace.lowering import portable
    from xtrace.runtime.jaxlib_api import NamedSharding

    chosen = tuple([_PLATFORMS.get(p, p) for p in platforms or (default_export_platform(),)])
    function, call, program = traced._function, traced._call, traced._program
    jaxpr = program.jaxpr
    placement = function.placement(call, program)
    lowered = LoweredProgram(
        _with_physical_keys(jaxpr),
        function.name,
        chosen,
        donated=function.donated(call),
        keep_unused=function.options.keep_unused,
        arg_shardings=placement.arg_shardings,
        out_shardings=placement.out_shardings,
        inline_all=True,
    )
    module = lowered.module
    allowed = {check.is_custom_call() for check in disabled}
    unstable = [t for t in portable.unstable_targets(module) if t not in allowed]
    if unstable or lowered.keepalives:
        names = ", ".join(unstable) or "callbacks into this process"
        raise ValueError(
            "Cannot serialize code with custom calls whose targets have no compatibility guarantees. Examples are: "
            f"{names}. Pass disabled_checks=[DisabledSafetyCheck.custom_call(name)] for those that you vouch for."
        )
    n_in, n_out = len(jaxpr.in_avals), len(jaxpr.out_avals)
    ins = [s if isinstance(s, NamedSharding) else None for s in placement.arg_shardings or [None] * n_in]
    outs = [s if isinstance(s, NamedSharding) else None for s in placement.out_shardings or [None] * n_out]
    effects = sorted(jaxpr.effects, key=str)
    return Exported(
        fun_name=function.name,
        in_tree=traced.in_tree,
        in_avals=tuple([a.strong() for a in jaxpr.in_avals]),
        out_tree=traced.out_tree,
        out_avals=tuple(jaxpr.out_avals),
        _in_named_shardings=tuple(ins),
        _out_named_shardings=tuple(outs),
        in_shardings_hlo=(None,) * n_in,
        out_shardings_hlo=(None,) * n_out,
        nr_devices=len(placement.devices),
        platforms=chosen,
        ordered_effects=tuple([e for e in effects if getattr(e, "ordered", False)]),
        unordered_effects=tuple([e for e in effects if not getattr(e, "ordered", False)]),
        disabled_safety_checks=tuple(disabled),
        mlir_module_serialized=portable.to_portable(module),
        calling_convention_version=maximum_supported_calling_convention_version,
        module_kept_var_idx=tuple([i for i, k in enumerate(lowered.kept) if k]),
        uses_global_constants=len(chosen) > 1,
        _get_vjp=lambda exported: _export_vjp(traced, exported),
    )


def _with_physical_keys(jaxpr: Any) -> Any:
    """The jaxpr closed over words in place of random keys: an exported program contains what it closes over."""
    if not any([dtypes.is_extended(v.aval.dtype) for v in jaxpr.constvars]):
        return jaxpr
    from xtrace.core.jaxpr import eval_jaxpr
    from xtrace.transforms.staging import trace_to_jaxpr

    consts = [c.dtype.unwrap(c) if dtypes.is_extended(c.dtype) else c for c in jaxpr.consts]
    kinds = [v.aval.dtype for v in jaxpr.constvars]

    def fun(*args: Any) -> list[Any]:
        from xtrace import random

        values = [
            random.wrap_key_data(c, impl=k.impl.name) if dtypes.is_extended(k) else c for c, k in zip(consts, kinds)
        ]
        return eval_jaxpr(jaxpr, values, *args)

    return trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info)


def _export_vjp(traced: Any, exported: Exported) -> Exported:
    """The derivative of the traced function, exported for the same platforms."""
    from xtrace.api.autodiff import vjp
    from xtrace.api.jit import jit
    from xtrace.api.struct import ShapeDtypeStruct
    from xtrace.core.jaxpr import eval_jaxpr

    jaxpr = traced.jaxpr
    n = len(exported.in_avals)
    cotangents = [a.tangent() for a in exported.out_avals]

    def fun(*args: Any) -> Any:
        _, pullback = vjp(lambda *xs: eval_jaxpr(jaxpr, jaxpr.consts, *xs), *args[:n])
        given = iter(args[n:])
        return pullback([np.zeros(a.shape, a.dtype) if a.dtype == dtypes.float0 else next(given) for a in cotangents])

    fun.__name__ = f"{exported.fun_name}_vjp"
    return _export_flat(jit, fun, [*exported.in_avals, *cotangents], exported, ShapeDtypeStruct)


def _export_flat(jit: Any, fun: Any, avals: list[ShapedArray], exported: Exported, struct: Any) -> Exported:
    """Export a flat function; arguments of dtype float0 are in its types, but not passed to `fun`."""
    real = [i for i, a in enumerate(avals) if a.dtype != dtypes.float0]
    made = export(jit(fun), platforms=exported.platforms, disabled_checks=exported.disabled_safety_checks)(
        *[struct(avals[i].shape, avals[i].dtype) for i in real]
    )
    return dataclasses.replace(
        made,
        in_avals=tuple(avals),
        in_tree=pytree.tree_structure((tuple(range(len(avals))), {})),
        _in_named_shardings=(None,) * len(avals),
        in_shardings_hlo=(None,) * len(avals),
        module_kept_var_idx=tuple([real[i] for i in made.module_kept_var_idx]),
        _get_vjp=None if made._get_vjp is None else lambda e: _vjp_of_vjp(fun, avals, made, struct),
    )


def _vjp_of_vjp(fun: Any, avals: list[ShapedArray], made: Exported, struct: Any) -> Exported:
    from xtrace.api.autodiff import vjp
    from xtrace.api.jit import jit

    real = [a for a in avals if a.dtype != dtypes.float0]
    cotangents = [a.tangent() for a in made.out_avals]

    def derivative(*args: Any) -> Any:
        _, pullback = vjp(fun, *args[: len(real)])
        given = iter(args[len(real) :])
        found = iter(
            pullback(
                tuple([np.zeros(a.shape, a.dtype) if a.dtype == dtypes.float0 else next(given) for a in cotangents])
            )
        )
        return tuple([np.zeros(a.shape, dtypes.float0) if a.dtype == dtypes.float0 else next(found) for a in avals])

    derivative.__name__ = f"{made.fun_name}_vjp"
    return _export_flat(jit, derivative, [*avals, *cotangents], made, struct)


# -- bytes ---------------------------------------------------------------------------------------------------------


def _pack(exported: Exported, vjp_order: int) -> bytes:
    if exported.nr_devices > 1 and any(s is not None for s in exported._in_named_shardings):
        shardings = [None if s is None else repr(s.spec) for s in exported._in_named_shardings]
    else:
        shardings = []
    header = {
        "xtrace": __version__,
        "fun_name": exported.fun_name,
        "in_tree": tree_format.tree_to_json(exported.in_tree),
        "out_tree": tree_format.tree_to_json(exported.out_tree),
        "in_avals": [tree_format.aval_to_json(a) for a in exported.in_avals],
        "out_avals": [tree_format.aval_to_json(a) for a in exported.out_avals],
        "in_shardings": shardings,
        "nr_devices": exported.nr_devices,
        "platforms": exported.platforms,
        "disabled_safety_checks": [str(c) for c in exported.disabled_safety_checks],
        "calling_convention_version": exported.calling_convention_version,
        "module_kept_var_idx": exported.module_kept_var_idx,
        "uses_global_constants": exported.uses_global_constants,
    }
    payloads = {"module": exported.mlir_module_serialized}
    if vjp_order > 0:
        payloads["vjp"] = _pack(exported.vjp(), vjp_order - 1)
    return container.pack(_KIND, header, payloads)


def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function that `Exported.serialize` wrote.

    Args:
      blob: the bytes.

    Returns:
      An `Exported`, to be called.

    Raises:
      ValueError: the bytes are damaged, or of a calling convention that this release doesn't know.
    """
    try:
        header, payloads = container.unpack(_KIND, blob)
    except container.ContainerError as error:
        raise ValueError(f"this can't be deserialized as an exported function: {error}") from None
    version = header["calling_convention_version"]
    if not minimum_supported_calling_convention_version <= version <= maximum_supported_calling_convention_version:
        raise ValueError(
            f"the exported function {header['fun_name']} has calling convention version {version}; this release knows "
            f"{minimum_supported_calling_convention_version} to {maximum_supported_calling_convention_version}"
        )
    n_in, n_out = len(header["in_avals"]), len(header["out_avals"])
    vjp = payloads.get("vjp")
    return Exported(
        fun_name=header["fun_name"],
        in_tree=tree_format.tree_from_json(header["in_tree"]),
        in_avals=tuple([tree_format.aval_from_json(a) for a in header["in_avals"]]),
        out_tree=tree_format.tree_from_json(header["out_tree"]),
        out_avals=tuple([tree_format.aval_from_json(a) for a in header["out_avals"]]),
        _in_named_shardings=(None,) * n_in,
        _out_named_shardings=(None,) * n_out,
        in_shardings_hlo=(None,) * n_in,
        out_shardings_hlo=(None,) * n_out,
        nr_devices=header["nr_devices"],
        platforms=tuple(header["platforms"]),
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=tuple([DisabledSafetyCheck(c) for c in header["disabled_safety_checks"]]),
        mlir_module_serialized=payloads["module"],
        calling_convention_version=version,
        module_kept_var_idx=tuple(header["module_kept_var_idx"]),
        uses_global_constants=header["uses_global_constants"],
        _get_vjp=None if vjp is None else lambda exported: deserialize(vjp),
    )
