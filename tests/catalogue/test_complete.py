"""Every public operation is in the catalogue, or exempt for a reason; every primitive is reached by an entry."""

from __future__ import annotations

import importlib
import types

import pytest

import xtrace as xt
from tests.catalogue.catalogue import catalogue
from tests.catalogue.checks import function_of, x64
from tests.catalogue.exemptions import EXEMPT, EXEMPT_PRIMITIVES
from xtrace.core.jaxpr import Jaxpr, subjaxprs
from xtrace.core.primitive import Primitive


def _public(library: str) -> dict[str, object]:
    try:
        module = importlib.import_module(f"xtrace.{library}")
    except ImportError:
        return {}
    return {name: getattr(module, name) for name in getattr(module, "__all__", ())}


@pytest.mark.parametrize("library", ["lax", "numpy", "nn", "random"])
def test_every_operation_has_an_entry(library):
    listed = {name for op in catalogue() for name in (op.name, *op.aliases)}
    missing = [
        f"{library}.{name}"
        for name, value in _public(library).items()
        if callable(value)
        and not isinstance(value, (type, types.ModuleType, Primitive))
        and f"{library}.{name}" not in listed
        and f"{library}.{name}" not in EXEMPT
    ]
    assert not missing, f"without a catalogue entry or an exemption: {', '.join(missing)}"


def test_exemptions_exist_and_are_needed():
    listed = {name for op in catalogue() for name in (op.name, *op.aliases)}
    for name in EXEMPT:
        library, _, attribute = name.partition(".")
        assert attribute in _public(library), f"the exemption {name} is of no public name"
        assert name not in listed, f"{name} has an entry: its exemption can go"


def test_aliases_are_the_same_object():
    for op in catalogue():
        for alias in op.aliases:
            library, _, attribute = alias.partition(".")
            assert _public(library)[attribute] is op.resolve(xt), f"{alias} is not {op.name}: it needs its own entry"


def _primitives(jaxpr: Jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for sub in subjaxprs(eqn.params):
            yield from _primitives(sub)


def test_every_primitive_is_reached():
    reached: set[str] = set()
    for op in catalogue():
        for sample in op.all_samples(0) if "lowering" not in op.skip else ():  # what isn't lowered can't be traced
            with x64(sample.needs_x64):
                reached.update(_primitives(xt.make_jaxpr(function_of(op, sample))(*sample.args)))
    known = {value.name for value in _public("lax").values() if isinstance(value, Primitive)}
    missing = sorted(known - reached - set(EXEMPT_PRIMITIVES))
    assert not missing, f"primitives that no catalogue entry reaches: {', '.join(missing)}"
