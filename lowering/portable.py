"""Modules in portable form: versioned bytes that other compilers read; and merging one module into another."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from xtrace.lowering.mlir_context import mlir_context

#: Functions called by name that keep their meaning from release to release.
STABLE_TARGETS = frozenset(
    [
        "ApproxTopK", "Eigh", "LayoutConstraint", "Lu", "Qr", "SPMDFullToShardShape", "SPMDShardToFullShape",
        "Sharding", "annotate_device_placement", "cu_lu_pivots_to_permutation", "cu_threefry2x32_ffi", "ducc_fft",
        "dynamic_ducc_fft", "mhlo.erf", "mhlo.topk", "shape_assertion", "tpu_custom_call", "xla.sdy.FuncResultSharding",
        "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape",
    ]
)  # fmt: skip
_STABLE_PREFIXES = ("lapack_", "blas_", "cusolver_", "hipsolver_", "stablehlo.", "mhlo.", "chlo.")


def to_portable(module: ir.Module) -> bytes:
    """The module as versioned bytes that compilers of the last four weeks and of years to come read."""
    version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)
    with module.context:
        return stablehlo.serialize_portable_artifact(module, version, True)


def from_portable(data: bytes, context: Any = None) -> ir.Module:
    """The module that `to_portable` wrote."""
    context = mlir_context().context if context is None else context
    return stablehlo.deserialize_portable_artifact(context, data)


def unstable_targets(module: ir.Module) -> list[str]:
    """Names of the functions that custom calls of the module use and that may change from release to release."""
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "stablehlo.custom_call":
            name = ir.StringAttr(op.attributes["call_target_name"]).value
            if name not in STABLE_TARGETS and not name.startswith(_STABLE_PREFIXES):
                found.add(name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return sorted(found)


def absorb(target: ir.Module, module: ir.Module, rename: Any) -> str:
    """Move the functions of `module` into `target`, private and renamed by `rename(name)`; returns main's new name."""
    main = ""
    operations = list(module.body.operations)
    for op in operations:
        if "sym_name" not in op.attributes:
            continue
        old = ir.StringAttr(op.attributes["sym_name"]).value
        new = rename(old)
        ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
        ir.SymbolTable.set_symbol_name(op, new)
        if op.operation.name == "func.func":
            op.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
        if old == "main":
            main = new
    for op in operations:
        op.operation.detach_from_parent()
        target.body.append(op)
    return main
