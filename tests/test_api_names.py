"""JAX's public names, module by module: each is here with the same parameters, or listed below with the reason."""

from __future__ import annotations

import importlib
import inspect
import pathlib

import pytest

from tests.api_absences import ABSENT, OTHER_PARAMETERS

_LIST = pathlib.Path(__file__).parent / "data" / "api_names.txt"


def _names() -> dict[str, dict[str, list[str] | None]]:
    """Module -> name -> names of the parameters (None: no function)."""
    found: dict[str, dict[str, list[str] | None]] = {}
    module = ""
    for line in _LIST.read_text().splitlines():
        if line.startswith("  "):
            name, given, parameters = line.strip().partition("(")
            found[module][name] = parameters[:-1].split() if given else None
        elif line and not line.startswith("#"):
            module = line
            found[module] = {}
    return found


NAMES = _names()


def _lookup(module: str, name: str):
    found = importlib.import_module("xtrace" + module.removeprefix("jax"))
    return getattr(found, name)


def _missing(module: str) -> set[str]:
    missing = set()
    for name in NAMES[module]:
        try:
            _lookup(module, name)
        except AttributeError:
            missing.add(name)
    return missing


@pytest.mark.parametrize("module", NAMES)
def test_names(module):
    # A name that is missing has its reason in api_absences.py, and one that is there has none.
    assert _missing(module) == set(ABSENT.get(module, {}))


@pytest.mark.parametrize("module", NAMES)
def test_parameters(module):
    wrong = {}
    for name, wanted in NAMES[module].items():
        if wanted is None or name in ABSENT.get(module, {}) or f"{module}.{name}" in OTHER_PARAMETERS:
            continue
        try:
            signature = inspect.signature(_lookup(module, name))
        except (TypeError, ValueError):
            continue
        accepted = signature.parameters
        if any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
            continue
        lacking = [p for p in wanted if p not in accepted and not p.startswith("_")]
        if lacking:
            wrong[name] = lacking
    assert not wrong


def test_every_absence_is_of_a_public_name():
    for module, absences in ABSENT.items():
        assert set(absences) <= set(NAMES[module]), module
        assert all(absences.values())
