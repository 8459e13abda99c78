"""Modules in portable form: versioned bytes that other compilers read; and merging one module into another."""

from __future__ import annotations

from collections.abc import Sequence
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


def by_platform(modules: Sequence[ir.Module], platforms: Sequence[str]) -> ir.Module:
    """One module that runs as `modules[i]` does where its first argument, the platform's index, is i."""
    mlir = mlir_context()
    texts = [m.operation.get_asm(enable_debug_info=True) for m in modules]
    parsed = [ir.Module.parse(t, mlir.context) for t in texts]
    first = parsed[0]
    main = next(op for op in first.body.operations if op.attributes["sym_name"].value == "main")
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    index = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32, mlir.context), None, mlir.unknown)
    arg_attrs = _attributes(main, "arg_attrs", len(types.inputs))
    res_attrs = _attributes(main, "res_attrs", len(types.results))
    module = ir.Module.create(loc=mlir.unknown)
    for name in ("sym_name", "mhlo.num_partitions", "mhlo.num_replicas"):
        module.operation.attributes[name] = first.operation.attributes[name]
    module.operation.attributes["jax.uses_shape_polymorphism"] = mlir.boolean(True)
    same = len({m.operation.get_asm() for m in modules}) == 1
    symbols = []
    for p, m in list(zip(platforms, parsed))[: 1 if same else None]:
        symbols.append(absorb(module, m, lambda old, p=p: f"{old}_{p}"))
    with mlir.context, mlir.unknown:
        from jaxlib.mlir.dialects import func

        op = func.FuncOp("main", ([index, *types.inputs], types.results), ip=ir.InsertionPoint(module.body))
        op.attributes["sym_visibility"] = mlir.string("public")
        constant = ir.DictAttr.get({"jax.global_constant": mlir.string("_platform_index")})
        op.arg_attrs = ir.ArrayAttr.get([constant, *arg_attrs])
        op.res_attrs = ir.ArrayAttr.get(res_attrs) if res_attrs else ir.ArrayAttr.get([])
        block = op.add_entry_block()
        arguments = list(block.arguments)

        def call(symbol: str, ip: ir.InsertionPoint) -> list[ir.Value]:
            callee = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
            return list(ir.Operation.create("func.call", types.results, arguments[1:], callee, ip=ip).results)

        ip = ir.InsertionPoint(block)
        if same:
            results = call(symbols[0], ip)
        else:
            case = ir.Operation.create("stablehlo.case", types.results, [arguments[0]], None, None, len(symbols), ip=ip)
            for region, symbol in zip(case.regions, symbols):
                inner = ir.InsertionPoint(region.blocks.append())
                ir.Operation.create("stablehlo.return", [], call(symbol, inner), ip=inner)
            results = list(case.results)
        ir.Operation.create("func.return", [], results, ip=ip)
    return module


def _attributes(op: Any, name: str, count: int) -> list[ir.Attribute]:
    if name in op.attributes:
        return list(ir.ArrayAttr(op.attributes[name]))
    return [ir.DictAttr.get({}, op.context)] * count
