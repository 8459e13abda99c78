"""Every public operation is in the catalogue, or exempt for a reason; every primitive is reached by an entry."""

from __future__ import annotations

import importlib
import types

import pytest

import xtrace as xt
from tests.catalogue.catalogue import catalogue, find
from tests.catalogue.checks import function_of, x64
from tests.catalogue.exemptions import EXEMPT, EXEMPT_PRIMITIVES
from tests.test_api_names import NAMES
from xtrace.core.jaxpr import Jaxpr, subjaxprs
from xtrace.core.primitive import Primitive


def _public(library: str) -> dict[str, object]:
    try:
        module = importlib.import_module(f"xtrace.{library}")
    except ImportError:
        return {}
    return {name: getattr(module, name) for name in getattr(module, "__all__", ())}


#: Modules of which every function that JAX has is wanted, whatever else stands in them.
_LISTED = [
    module.removeprefix("jax.")
    for module in NAMES
    if module.startswith(("jax.scipy.", "jax.numpy.", "jax.lax.", "jax.image", "jax.ops", "jax.nn."))
]


def _functions(library: str) -> list[str]:
    """Names of the functions of a library."""
    if library in _LISTED:
        return [name for name, signature in NAMES[f"jax.{library}"].items() if signature is not None]
    return [
        name
        for name, value in _public(library).items()
        if callable(value) and not isinstance(value, (type, types.ModuleType, Primitive))
    ]


@pytest.mark.parametrize("library", ["lax", "numpy", "nn", "random", *_LISTED])
def test_every_operation_has_an_entry(library):
    listed = {name for op in catalogue() for name in (op.name, *op.aliases)}
    names = [f"{library}.{name}" for name in _functions(library)]
    missing = [name for name in names if name not in listed and name not in EXEMPT]
    assert not missing, f"without a catalogue entry or an exemption: {', '.join(missing)}"


def test_exemptions_exist_and_are_needed():
    listed = {name for op in catalogue() for name in (op.name, *op.aliases)}
    for name in EXEMPT:
        library, _, attribute = name.rpartition(".")
        assert attribute in _public(library), f"the exemption {name} is of no public name"
        assert name not in listed, f"{name} has an entry: its exemption can go"


def test_aliases_are_the_same_object():
    for op in catalogue():
        for alias in op.aliases:
            library, _, attribute = alias.rpartition(".")
            assert _public(library)[attribute] is find(xt, op.name), f"{alias} is not {op.name}: it needs its own entry"


def _primitives(jaxpr: Jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for sub in subjaxprs(eqn.params):
            yield from _primitives(sub)


def test_every_primitive_is_reached():
    reached: set[str] = set()
    for op in catalogue():
        # What isn't lowered can't be traced. Of sampled families one sample shows the primitives.
        for sample in op.all_samples(0)[: 1 if op.sampled else None] if "lowering" not in op.skip else ():
            with x64(sample.needs_x64):
                reached.update(_primitives(xt.make_jaxpr(function_of(op, sample))(*sample.args)))
    known = {value.name for value in _public("lax").values() if isinstance(value, Primitive)}
    missing = sorted(known - reached - set(EXEMPT_PRIMITIVES))
    assert not missing, f"primitives that no catalogue entry reaches: {', '.join(missing)}"
