"""Jaxpr to a StableHLO module: one function per distinct jaxpr, operations built by `Operation.create`.

A rule is `rule(ctx, eqn, *operands) -> value or values`, set on the primitive as `lower` (or `lower_on[platform]`).
`ctx` is the `Body` being filled.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from xtrace.core import dtypes, source
from xtrace.core.avals import ShapedArray
from xtrace.core.effects import ordered_effects
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, live_eqns, subjaxprs
from xtrace.core.primitive import Primitive
from xtrace.core.scopes import metadata_of
from xtrace.core.sharding_text import mesh_name, mesh_text
from xtrace.lowering.mlir_context import MLIRContext, mlir_context
from xtrace.lowering.physical import trailing, with_trailing

_create = ir.Operation.create
#: What stands for an ordered effect at the boundary of a program.
_EMPTY = ShapedArray((0,), dtypes.bool_)


class LoweringError(NotImplementedError):
    """A primitive has no lowering for the platform asked for."""


class ModuleBuilder:
    """A module under construction: its functions by jaxpr, and what rules may ask about the target."""

    def __init__(
        self,
        name: str,
        platforms: tuple[str, ...],
        *,
        num_partitions: int = 1,
        num_replicas: int = 1,
        devices: Sequence[Any] = (),
        meshes: dict[Any, str] | None = None,
    ) -> None:
        self.mlir: MLIRContext = mlir_context()
        self.platforms = platforms
        #: In a program for several platforms that does different things on them: which of them it runs on.
        self.platform_index: ir.Value | None = None
        self.num_partitions = num_partitions
        #: Where the program will run, if that is known: rules may name devices by their place among these.
        self.devices = tuple(devices)
        mlir = self.mlir
        self.module = ir.Module.create(loc=mlir.unknown)
        attributes = self.module.operation.attributes
        attributes["sym_name"] = mlir.string(name)
        attributes["mhlo.num_partitions"] = mlir.i32(num_partitions)
        attributes["mhlo.num_replicas"] = mlir.i32(num_replicas)
        self.top = ir.InsertionPoint(self.module.body)
        #: The meshes defined in the module, by their symbols.
        self.meshes: dict[Any, str] = {}
        for mesh, symbol in (meshes or {}).items():
            self._define_mesh(mesh, symbol)
        self.functions: dict[int, tuple[Jaxpr, str]] = {}
        self.function_names: dict[str, int] = {"main": 1}
        #: Functions that lowering rules share, by name and types.
        self.shared_functions: dict[Any, str] = {}
        #: Host callbacks and other objects that must live as long as the compiled program.
        self.keepalives: list[Any] = []

    def fresh_name(self, name: str) -> str:
        """A symbol name not yet used in this module."""
        name = "".join([c if c.isalnum() or c in "_.$-" else "_" for c in name]) or "f"
        n = self.function_names.get(name, 0)
        self.function_names[name] = n + 1
        return self.fresh_name(f"{name}_{n - 1}") if n else name

    def mesh_symbol(self, mesh: Any) -> str:
        """The symbol of a mesh, which is defined if it isn't yet."""
        found = self.meshes.get(mesh)
        return found if found is not None else self._define_mesh(mesh, mesh_name(len(self.meshes)))

    def _define_mesh(self, mesh: Any, symbol: str) -> str:
        # At the front: functions that refer to it may be there already.
        text = mesh_text(mesh, symbol)
        ir.InsertionPoint.at_block_begin(self.module.body).insert(ir.Operation.parse(text, context=self.mlir.context))
        self.meshes[mesh] = symbol
        return symbol

    def function(
        self,
        symbol: str,
        jaxpr: Jaxpr,
        *,
        public: bool = False,
        leading: Sequence[ir.Type] = (),
        prefix_types: Sequence[ir.Type] = (),
        arg_names: Sequence[str] = (),
    ) -> tuple[Any, Body]:
        """Begin a function with the jaxpr's inputs as arguments and return (func op, its body).

        leading: types of further arguments in front. prefix_types: of arguments (behind those) and results in front:
          what stands for ordered effects.
        """
        mlir = self.mlir
        in_types = [*leading, *prefix_types, *[mlir.aval_type(v.aval) for v in jaxpr.all_invars]]
        out_types = [*prefix_types, *[mlir.aval_type(v.aval) for v in jaxpr.outvars]]
        type_ = ir.FunctionType.get(in_types, out_types, mlir.context)
        op = func.FuncOp(symbol, type_, ip=self.top, loc=mlir.unknown)
        op.attributes["sym_visibility"] = mlir.string("public" if public else "private")
        names = [*["" for _ in (*leading, *prefix_types)], *(arg_names or jaxpr.debug_info.arg_names)]
        locs = [mlir.location(names[i], None) if i < len(names) else mlir.unknown for i in range(len(in_types))]
        block = op.add_entry_block(locs)
        return op, Body(self, ir.InsertionPoint(block))

    def function_of(self, jaxpr: Jaxpr, name: str) -> str:
        """The symbol of the private function that computes `jaxpr`, made at the first call."""
        found = self.functions.get(id(jaxpr))
        if found is None:
            symbol = self.fresh_name(name)
            found = self.functions[id(jaxpr)] = (jaxpr, symbol)
            ordered = ordered_effects(jaxpr.effects)
            n = len(ordered)
            op, body = self.function(symbol, jaxpr, prefix_types=[self.mlir.token] * n)
            arguments = list(op.arguments)
            body.tokens = dict(zip(ordered, arguments))
            outs = body.jaxpr(jaxpr, arguments[n:])
            outs = [*[body.tokens[e] for e in ordered], *outs]
            _create("func.return", [], outs, None, None, 0, self.mlir.unknown, body.ip)
        return found[1]

    def shared_function(
        self,
        name: str,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        fill: Callable[..., Sequence[Any]],
    ) -> str:
        """The symbol of the private function `name` at these types, filled by `fill(body, *arguments)` at first use."""
        key = (name, *in_avals, *out_avals)
        symbol = self.shared_functions.get(key)
        if symbol is None:
            mlir = self.mlir
            symbol = self.shared_functions[key] = self.fresh_name(name)
            types = [[mlir.aval_type(a) for a in avals] for avals in (in_avals, out_avals)]
            op = func.FuncOp(symbol, ir.FunctionType.get(*types, mlir.context), ip=self.top, loc=mlir.unknown)
            op.attributes["sym_visibility"] = mlir.string("private")
            body = Body(self, ir.InsertionPoint(op.add_entry_block([mlir.unknown] * len(in_avals))))
            _create("func.return", [], fill(body, *op.arguments), None, None, 0, mlir.unknown, body.ip)
        return symbol


class Body:
    """A block being filled with operations. What lowering rules receive as `ctx`."""

    __slots__ = ("builder", "mlir", "ip", "loc", "constants", "platforms", "tokens", "outer_products", "templates")

    def __init__(self, builder: ModuleBuilder, ip: ir.InsertionPoint) -> None:
        self.builder = builder
        self.mlir = builder.mlir
        self.ip = ip
        self.loc = builder.mlir.unknown
        self.constants: dict[Any, ir.Value] = {}
        self.platforms = builder.platforms
        #: Ordered effect -> the token that the next operation with this effect takes; it puts its own in place.
        self.tokens: dict[Any, ir.Value] = {}
        #: Outer products: their operands, and the dimensions of the product that each operand's dimensions are.
        self.outer_products: dict[ir.Value, tuple[list[ir.Value], list[list[int]]]] = {}
        #: Operations of this block that others are copied from, by what tells their kinds apart.
        self.templates: dict[Any, ir.Operation] = {}

    # -- operations --------------------------------------------------------------------------------------------

    def op(
        self,
        name: str,
        result: ShapedArray | ir.Type,
        operands: Sequence[ir.Value],
        attributes: dict[str, Any] | None = None,
    ) -> ir.Value:
        """Append an operation with one result."""
        if type(result) is ShapedArray:
            mlir = self.mlir
            result = mlir.types.get(result) or mlir.aval_type(result)
        return _create(name, [result], operands, attributes, None, 0, self.loc, self.ip).result

    def ops(
        self,
        name: str,
        results: Sequence[Any],
        operands: Sequence[ir.Value],
        attributes: dict[str, Any] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Append an operation with any number of results and regions, and return it."""
        types = [r if isinstance(r, ir.Type) else self.mlir.aval_type(r) for r in results]
        return _create(name, types, operands, attributes, None, regions, self.loc, self.ip)

    def copied(self, key: Any, operands: Sequence[ir.Value]) -> ir.Operation | None:
        """Append a copy of the operation kept in `templates` as `key`, its first operands replaced; None if none is.

        Copying an operation with a region takes a third of the time of writing it.
        """
        known = self.templates.get(key)
        if known is None:
            return None
        made = known.clone(self.ip)
        made.location = self.loc
        places = made.operands
        for i, x in enumerate(operands):
            places[i] = x
        return made

    def region(self, operation: ir.Operation, index: int, arg_types: Sequence[ir.Type]) -> tuple[Body, list[ir.Value]]:
        """Begin the block of a region; returns its body and its arguments."""
        block = operation.regions[index].blocks.append(*arg_types, arg_locs=[self.loc] * len(arg_types))
        body = Body(self.builder, ir.InsertionPoint(block))
        body.loc = self.loc
        body.platforms = self.platforms
        body.tokens = dict(self.tokens)
        return body, list(block.arguments)

    def return_(self, values: Sequence[ir.Value], op: str = "stablehlo.return") -> None:
        """End the block."""
        _create(op, [], list(values), None, None, 0, self.loc, self.ip)

    # -- constants and shapes ------------------------------------------------------------------------------------

    def constant(self, value: Any, aval: ShapedArray) -> ir.Value:
        """A constant of type `aval`; a scalar value fills the shape."""
        array = np.asarray(value)
        if array.dtype != aval.dtype and aval.dtype != dtypes.float0:
            array = array.astype(aval.dtype)
        small = array.ndim == 0
        key = (array.tobytes(), aval.shape, aval.dtype) if small else None
        if small:
            found = self.constants.get(key)
            if found is not None:
                return found
        attribute = self.mlir.dense(array, aval.shape, aval.dtype)
        out = self.op("stablehlo.constant", aval, [], {"value": attribute})
        if small:
            self.constants[key] = out
        return out

    def scalar(self, value: Any, dtype: Any) -> ir.Value:
        return self.constant(value, ShapedArray((), dtype))

    def full_like(self, value: Any, aval: ShapedArray) -> ir.Value:
        return self.constant(value, aval)

    def broadcast(self, value: ir.Value, aval: ShapedArray, to: ShapedArray) -> ir.Value:
        """`value` of type `aval` (a scalar, or of equal rank with sizes of 1) as an array of the shape of `to`."""
        if aval.shape == to.shape:
            return value
        dims: tuple[int, ...] = tuple(range(aval.ndim))
        if aval.extended:
            dims = with_trailing(dims, to.ndim, trailing(aval))
        target = self.mlir.tensor_type(to.shape, aval.dtype)
        return self.op(
            "stablehlo.broadcast_in_dim", target, [value], {"broadcast_dimensions": self.mlir.i64_array(dims)}
        )

    # -- jaxprs --------------------------------------------------------------------------------------------------

    def jaxpr(self, jaxpr: Jaxpr, inputs: Sequence[ir.Value]) -> list[ir.Value]:
        """Append the operations of a jaxpr and return its outputs. `inputs`: constvars, then invars."""
        # Values of variables and literals, and of (variable or literal, type): at the shape of that type.
        env: dict[Any, ir.Value] = dict(zip(jaxpr.all_invars, inputs))
        mlir, ip = self.mlir, self.ip
        locations, types, at_shape = mlir.locations, mlir.types, env.get
        extended = jaxpr.memo("extended", lambda: (_holds_extended(jaxpr),))[0]
        outer = self.loc
        for eqn in live_eqns(jaxpr):
            primitive = eqn.primitive
            position = eqn.position
            if position is None:
                key: tuple[Any, ...] = (primitive, eqn.name_stack)
            else:
                code, offset = position
                key = (primitive, eqn.name_stack, id(code), offset)
            self.loc = loc = locations.get(key) or mlir.equation_location(key, position)
            if type(eqn.name_stack) is not str:
                self._annotated_equation(eqn, env, extended)
                continue
            op_name = primitive.lower_op
            if op_name is None or eqn.params:
                self._equation(eqn, env, extended)
                continue
            # An elementwise operation: most of most programs, so its rule is written out here.
            (outvar,) = eqn.outvars
            to = outvar.aval
            operands = [
                env[v]
                if type(v) is not Literal and (v.aval is to or v.aval.shape == to.shape)
                else at_shape((v, to)) or self._widened(v, env, to)
                for v in eqn.invars
            ]
            type_ = types.get(to) or mlir.aval_type(to)
            env[outvar] = _create(op_name, [type_], operands, None, None, 0, loc, ip).result
        self.loc = outer
        return [self._literal(v, env) if type(v) is Literal else env[v] for v in jaxpr.outvars]

    def _equation(self, eqn: JaxprEqn, env: dict[Any, ir.Value], extended: bool) -> None:
        """Append one equation's operations by its primitive's rule. extended: some value of the jaxpr is a key."""
        primitive = eqn.primitive
        rule = primitive.lower
        if rule is None or primitive.lower_on is not None:
            rule = _platform_rule(primitive, eqn, self.platforms)
        if extended and _on_extended(eqn) and not (primitive.takes_extended or primitive.holds_jaxprs):
            rule = _on_physical_arrays
        if primitive.elementwise:
            to = eqn.outvars[0].aval
            operands = [
                env[v] if v.aval is to and type(v) is not Literal else env.get((v, to)) or self._widened(v, env, to)
                for v in eqn.invars
            ]
        else:
            operands = [env[v] if type(v) is not Literal else self._literal(v, env) for v in eqn.invars]
        out = rule(self, eqn, *operands)
        if primitive.multiple_results:
            env.update(zip(eqn.outvars, out))
        else:
            env[eqn.outvars[0]] = out

    def _literal(self, v: Literal, env: dict[Any, ir.Value]) -> ir.Value:
        """The constant that a literal stands for, made once."""
        found = env.get(v)
        if found is None:
            found = env[v] = self.constant(v.val, v.aval)
        return found

    def _annotated_equation(self, eqn: JaxprEqn, env: dict[Var | Literal, ir.Value], extended: bool) -> None:
        """The same, with the attributes that the equation's scope has for the compiler on all that it appends."""
        templates, self.templates = self.templates, {}  # what is copied from later is not annotated
        self._equation(eqn, env, extended)
        self.templates = templates
        operands = [env[v] for v in eqn.invars if type(v) is not Literal]
        reached = [env[v] for v in eqn.outvars]
        while reached:
            value = reached.pop()
            made = value.owner
            if value not in operands and self.annotate(made, metadata_of(eqn.name_stack)):
                reached += made.operands

    def annotate(self, operation: Any, metadata: Sequence[tuple[str, str]]) -> bool:
        """Give an operation attributes for the compiler, in front of which its own go; whether it is not done."""
        if isinstance(operation, ir.Block) or not metadata or operation.name == "stablehlo.constant":
            return False
        attributes, key = operation.attributes, "mhlo.frontend_attributes"
        own = {a.name: a.attr for a in attributes[key]} if key in attributes else {}
        texts = {k: ir.StringAttr.get(v, self.mlir.context) for k, v in metadata}
        if own.keys() >= texts.keys():
            return False
        attributes[key] = ir.DictAttr.get({**texts, **own}, self.mlir.context)
        return True

    def _widened(self, v: Var | Literal, env: dict[Any, ir.Value], to: ShapedArray) -> ir.Value:
        """An operand of an elementwise operation, as an array of the shape of its result, which `env` keeps."""
        if type(v) is Literal:
            made = self.constant(v.val, v.aval if not to.shape else v.aval.update(shape=to.shape))
        else:
            made = self.broadcast(env[v], v.aval, to)
        env[v, to] = made
        return made

    def by_platform(
        self, out_avals: Sequence[ShapedArray], fill: Callable[[Body, int], Sequence[ir.Value]]
    ) -> list[ir.Value]:
        """Append, for each of `platforms` number i, what `fill(body, i)` appends; only that of the actual one runs."""
        index = self.builder.platform_index
        assert index is not None, "the program was not found to depend on its platform"
        operation = self.ops("stablehlo.case", list(out_avals), [index], regions=len(self.builder.platforms))
        for i, platform in enumerate(self.builder.platforms):
            body, _ = self.region(operation, i, [])
            body.platforms = (platform,)
            body.return_(list(fill(body, i)))
        return list(operation.results)

    def inline(self, fun: Callable[..., Any], avals: Sequence[ShapedArray], *operands: ir.Value) -> list[ir.Value]:
        """Append what `fun`, a function of arrays written with lax, computes: the way to lower by composition."""
        from xtrace.core.trace import use_trace
        from xtrace.transforms.staging import trace_to_jaxpr

        def flat(*xs: Any) -> Sequence[Any]:
            out = fun(*xs)
            return out if isinstance(out, (list, tuple)) else [out]

        with use_trace(None):
            jaxpr = trace_to_jaxpr(flat, avals)
        constants = [self.constant(np.asarray(c), v.aval) for c, v in zip(jaxpr.consts, jaxpr.constvars)]
        return self.jaxpr(jaxpr, [*constants, *operands])

    def call_shared(
        self,
        name: str,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        fill: Callable[..., Sequence[Any]],
        operands: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """Append a call of a function that operations share; `fill(body, *arguments)` makes it at its first use."""
        symbol = self.builder.shared_function(name, in_avals, out_avals, fill)
        callee = ir.FlatSymbolRefAttr.get(symbol, self.mlir.context)
        types = [self.mlir.aval_type(a) for a in out_avals]
        return list(_create("func.call", types, operands, {"callee": callee}, None, 0, self.loc, self.ip).results)

    def call(self, jaxpr: Jaxpr, name: str, operands: Sequence[ir.Value]) -> list[ir.Value]:
        """Append a call of the function of a closed jaxpr; inlined if it has to know the platform it runs on."""
        if self.builder.platform_index is not None and depends_on_platform(jaxpr, self.builder.platforms):
            return self.jaxpr(jaxpr, operands)
        symbol = self.builder.function_of(jaxpr, name)
        types = [self.mlir.aval_type(v.aval) for v in jaxpr.outvars]
        callee = ir.FlatSymbolRefAttr.get(symbol, self.mlir.context)
        ordered = ordered_effects(jaxpr.effects) if jaxpr.effects else ()
        if ordered:
            types = [*[self.mlir.token] * len(ordered), *types]
            operands = [*[self.tokens[e] for e in ordered], *operands]
        operation = _create("func.call", types, operands, {"callee": callee}, None, 0, self.loc, self.ip)
        results = list(operation.results)
        self.tokens.update(zip(ordered, results))
        return results[len(ordered) :]


def _on_physical_arrays(ctx: Body, eqn: JaxprEqn, *operands: ir.Value) -> Any:
    """Lower an operation that moves elements of extended dtype about: the operation on the arrays that store them.

    It treats the trailing dimension of an element, one dimension for all that it has, as vmap treats a mapped axis.
    """
    from xtrace.transforms.batching import MappedAxis, move_axis

    primitive = eqn.primitive
    if primitive.batch is None:
        names = ", ".join(v.aval.str_short() for v in eqn.invars)
        raise LoweringError(f"{primitive.name} can't be applied to {names}; at {source.describe(eqn.position)}")
    avals, flat, sizes = [], [], set()
    for v, x in zip(eqn.invars, operands):
        aval = v.aval
        if aval.extended:
            stored = aval.dtype.physical_shape
            sizes.add(math.prod(stored))
            aval = ShapedArray((*aval.shape, math.prod(stored)), aval.dtype.physical_dtype)
            if len(stored) != 1:
                x = ctx.op("stablehlo.reshape", aval, [x])
        avals.append(aval)
        flat.append(x)
    if not sizes:  # extended in the results alone: made of nothing but a shape
        sizes = {math.prod(v.aval.dtype.physical_shape) for v in eqn.outvars if v.aval.extended}
    (size,) = sizes
    dims = [v.aval.ndim if v.aval.extended else None for v in eqn.invars]

    def fun(*xs: Any) -> list[Any]:
        outs, out_dims = primitive.batch(MappedAxis(size), xs, dims, **eqn.params)  # type: ignore[misc]
        if not primitive.multiple_results:
            outs, out_dims = [outs], [out_dims]
        return [
            move_axis(o, d, v.aval.ndim, size) if v.aval.extended else o for o, d, v in zip(outs, out_dims, eqn.outvars)
        ]

    outs = list(ctx.inline(fun, avals, *flat))
    for i, v in enumerate(eqn.outvars):
        if v.aval.extended and len(v.aval.dtype.physical_shape) != 1:
            outs[i] = ctx.op("stablehlo.reshape", v.aval, [outs[i]])
    return outs if primitive.multiple_results else outs[0]


def _on_extended(eqn: JaxprEqn) -> bool:
    return any([v.aval.extended for v in (*eqn.invars, *eqn.outvars)])


def _holds_extended(jaxpr: Jaxpr) -> bool:
    """Whether any equation has operands or results of an extended dtype."""
    avals = {v.aval for v in jaxpr.all_invars}
    avals.update([v.aval for eqn in live_eqns(jaxpr) for v in eqn.outvars])
    return any([a.extended for a in avals])


def _platform_rule(primitive: Primitive, eqn: JaxprEqn, platforms: tuple[str, ...]) -> Callable[..., Any]:
    specific = primitive.lower_on or {}
    rules = {specific.get(p, primitive.lower) for p in platforms}
    if None in rules or not rules:
        missing = [p for p in platforms if specific.get(p, primitive.lower) is None]
        raise LoweringError(
            f"the operation {primitive.name} can't be compiled for {', '.join(missing)}: it has no lowering there. "
            f"It is used at {source.describe(eqn.position)}."
        )
    if len(rules) == 1:
        return rules.pop()  # type: ignore[return-value]

    def each(ctx: Body, eqn: JaxprEqn, *operands: ir.Value) -> Any:
        chosen = [specific.get(p, primitive.lower) for p in platforms]

        def fill(body: Body, i: int) -> Sequence[ir.Value]:
            out = chosen[i](body, eqn, *operands)  # type: ignore[misc]
            return out if primitive.multiple_results else [out]

        outs = ctx.by_platform([v.aval for v in eqn.outvars], fill)
        return outs if primitive.multiple_results else outs[0]

    return each


def depends_on_platform(jaxpr: Jaxpr, platforms: tuple[str, ...]) -> bool:
    """Whether the operations of a jaxpr aren't the same on all of `platforms`."""
    return jaxpr.memo(("depends on platform", platforms), lambda: (_depends(jaxpr, platforms),))[0]


def _depends(jaxpr: Jaxpr, platforms: tuple[str, ...]) -> bool:
    for eqn in live_eqns(jaxpr):
        primitive = eqn.primitive
        if primitive.name == "platform_index" or "branches_platforms" in eqn.params:
            return True
        specific = primitive.lower_on
        if specific and len({specific.get(p, primitive.lower) for p in platforms}) > 1:
            return True
        if primitive.holds_jaxprs and any([depends_on_platform(j, platforms) for j in subjaxprs(eqn.params)]):
            return True
    return False


def lower_jaxpr(
    jaxpr: Jaxpr,
    name: str,
    platforms: tuple[str, ...],
    *,
    donated: dict[int, int] | None = None,
    arg_attributes: Sequence[dict[str, str] | None] | None = None,
    result_attributes: Sequence[dict[str, str] | None] | None = None,
    num_partitions: int = 1,
    devices: Sequence[Any] = (),
    meshes: dict[Any, str] | None = None,
    inline_constants: Sequence[Any] = (),
) -> tuple[ir.Module, list[Any]]:
    """Lower a jaxpr to a module with the public function `main`; returns it and its keepalives.

    For each ordered effect, in the order of `ordered_effects`, `main` takes and returns an empty array in front of
    everything else: by passing on what the last program returned, the runtime keeps programs in order. The positions
    below don't count these.

    jaxpr: its constvars are arguments of `main` in front of the invars, except the first ones, which take the
    values in `inline_constants`. donated: argument number -> result number whose buffer it may become.
    arg_attributes, result_attributes: attributes (name -> MLIR text) of main's arguments and results.
    meshes: those that the attributes refer to, with their symbols.
    """
    import xtrace.lowering.rules.all  # noqa: F401  (registers every rule, once)

    builder = ModuleBuilder(name, platforms, num_partitions=num_partitions, devices=devices, meshes=meshes)
    mlir = builder.mlir
    with mlir.context, mlir.unknown:
        n = len(inline_constants)
        outer = jaxpr
        if n:
            outer = Jaxpr(jaxpr.constvars[n:], jaxpr.invars, jaxpr.outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info)
        hidden = len(outer.constvars)
        names = [f"constant {i}" for i in range(hidden)] + list(jaxpr.debug_info.arg_names)
        indexed = len(platforms) > 1
        leading = [mlir.tensor_type((), np.dtype(np.int32))] if indexed else []
        ordered = ordered_effects(jaxpr.effects)
        lead = len(ordered)
        prefix = [mlir.aval_type(_EMPTY)] * lead
        op, body = builder.function("main", outer, public=True, arg_names=names, leading=leading, prefix_types=prefix)
        arguments = list(op.arguments)
        if indexed:
            builder.platform_index = arguments.pop(0)
        for effect in ordered:
            body.tokens[effect] = body.op("stablehlo.create_token", mlir.token, [])
        constants = [body.constant(np.asarray(c), v.aval) for c, v in zip(inline_constants, jaxpr.constvars)]
        outs = body.jaxpr(jaxpr, [*constants, *arguments[lead:]])
        outs = [*[body.constant(False, _EMPTY) for _ in ordered], *outs]
        _create("func.return", [], outs, None, None, 0, mlir.unknown, body.ip)
        attributes: list[dict[str, ir.Attribute]] = [{} for _ in arguments]
        for i, texts in enumerate(arg_attributes or ()):
            for key, text in (texts or {}).items():
                attributes[lead + i][key] = mlir.parsed(text)
        for i, o in (donated or {}).items():
            attributes[lead + i]["tf.aliasing_output"] = mlir.i32(lead + o)
        if indexed:  # the name by which JAX's programs for several platforms know this argument
            attributes.insert(0, {"jax.global_constant": mlir.string("_platform_index")})
        if any(attributes):
            op.arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])
        paths = jaxpr.debug_info.result_paths
        own = result_attributes or [None] * len(jaxpr.outvars)
        plain = mlir.result_attributes()
        results = [plain for _ in ordered]
        results += [mlir.result_attributes(p, t) for p, t in itertools.zip_longest(paths[: len(own)], own)]
        if any([r is not plain for r in results]):
            op.result_attrs = ir.ArrayAttr.get(results)
    return builder.module, builder.keepalives


def lower_as(primitive: Primitive, op_name: str, **attributes: str) -> None:
    """Lower an elementwise primitive as one StableHLO (or CHLO) operation with fixed attributes."""
    if not attributes:
        primitive.lower_op = op_name

    def rule(ctx: Body, eqn: JaxprEqn, *operands: ir.Value) -> ir.Value:
        parsed = {k: ctx.mlir.parsed(v) for k, v in attributes.items()} or None
        return ctx.op(op_name, eqn.outvars[0].aval, operands, parsed)

    primitive.lower = rule
