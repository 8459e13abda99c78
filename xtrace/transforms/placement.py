"""Where values lie: device_put and sharding_constraint, transfers when run, annotations inside programs."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, live_eqns, primitive_counts, subjaxprs
from xtrace.core.primitive import Primitive, shaped
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.jvp import linear


def _device_put_aval(x: ShapedArray, *, device: Any) -> ShapedArray:
    return x


device_put_p = Primitive("device_put", _device_put_aval)
linear(device_put_p, lambda ct, x, *, device: [device_put_p.bind(ct, device=None)])
device_put_p.batch = lambda axis, args, dims, *, device: (device_put_p.bind(args[0], device=device), dims[0])


def _constraint_aval(x: ShapedArray, *, sharding: Any) -> ShapedArray:
    return x


def _constraint_batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[Any], *, sharding: Any) -> Any:
    """The mapped dimension lies as vmap's spmd_axis_name says, else as the compiler likes."""
    (x,), (dim,) = args, dims
    spec = getattr(sharding, "spec", None)
    if spec is not None:
        kind = type(spec)
        entries = [*spec, *[None] * (dim - len(spec))]
        entries.insert(dim, axis.spmd_name or kind.UNCONSTRAINED)
        sharding = type(sharding)(sharding.mesh, kind(*entries))
    return sharding_constraint_p.bind(x, sharding=sharding), dim


sharding_constraint_p = Primitive("sharding_constraint", _constraint_aval)
linear(sharding_constraint_p, lambda ct, x, *, sharding: [sharding_constraint_p.bind(ct, sharding=sharding)])
sharding_constraint_p.batch = _constraint_batch


def held(name: str, x: Any, out_sharding: Any) -> Any:
    """`x`, held to the sharding that the argument `out_sharding` of the function `name` asks for, if it does."""
    if out_sharding is None:
        return x
    # Meshes are known to a layer above, which has to be there to move values anyway.
    resolved = importlib.import_module("xtrace.placement").result_sharding(name, out_sharding, shaped(x))
    return sharding_constraint_p.bind(x, sharding=resolved)


def _layout_aval(x: ShapedArray, *, layout: Any) -> ShapedArray:
    layout.check_compatible_aval(x.shape)
    return x


def _layout_batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[Any], *, layout: Any) -> Any:
    """The mapped dimension comes first in memory: each element lies as asked."""
    (dim,) = dims
    order = [d + (d >= dim) for d in layout.major_to_minor]
    return layout_constraint_p.bind(args[0], layout=layout.update(major_to_minor=(dim, *order))), dim


layout_constraint_p = Primitive("layout_constraint", _layout_aval)
linear(layout_constraint_p, lambda ct, x, *, layout: [layout_constraint_p.bind(ct, layout=layout)])
layout_constraint_p.batch = _layout_batch


def constraining_sharding(jaxpr: Jaxpr) -> Any:
    """A sharding that a value inside the jaxpr is held to, which says what devices the program runs on; or None."""
    return jaxpr.memo("constraining sharding", lambda: (_find_constraint(jaxpr),))[0]


def _find_constraint(jaxpr: Jaxpr) -> Any:
    if not any([p is sharding_constraint_p or p.holds_jaxprs for p in primitive_counts(jaxpr)]):
        return None
    for eqn in live_eqns(jaxpr):
        if eqn.primitive is sharding_constraint_p:
            return eqn.params["sharding"]
        if eqn.primitive.holds_jaxprs:
            for held in subjaxprs(eqn.params):
                found = constraining_sharding(held)
                if found is not None:
                    return found
    return None
