"""JAX's public names, module by module: each is here with the same parameters, or listed below with the reason."""

from __future__ import annotations

import importlib
import inspect
import pathlib

import pytest

import xtrace as xt
from tests.api_absences import ABSENT, OTHER_PARAMETERS

_LIST = pathlib.Path(__file__).parent / "data" / "api_names.txt"


def _signature(text: str) -> inspect.Signature:
    """The signature that a line spells; without marks every parameter may be given either way."""
    parameters: list[inspect.Parameter] = []
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for word in text.split():
        if word == "/":
            parameters = [p.replace(kind=p.POSITIONAL_ONLY) for p in parameters]
            continue
        stars, name = word.count("*"), word.strip("*=")
        if name:
            each = (kind, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)[stars]
            default = None if word.endswith("=") else inspect.Parameter.empty
            parameters.append(inspect.Parameter(name, each, default=default))
        if stars == 1:
            kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(parameters)


def _names() -> dict[str, dict[str, inspect.Signature | None]]:
    """Module -> name -> its signature (None: no function)."""
    found: dict[str, dict[str, inspect.Signature | None]] = {}
    module = ""
    for line in _LIST.read_text().splitlines():
        if line.startswith("  "):
            name, given, parameters = line.strip().partition("(")
            found[module][name] = _signature(parameters[:-1]) if given else None
        elif line and not line.startswith("#"):
            module = line
            found[module] = {}
    return found


NAMES = _names()

#: The modules whose signatures the list spells in full.
EXACT = [
    module
    for module in NAMES
    if module.split(".")[1:2]
    and module.split(".")[1] in "numpy lax nn random tree tree_util scipy image ops dtypes flatten_util".split()
]


def _lookup(module: str, name: str):
    found = importlib.import_module("xtrace" + module.removeprefix("jax"))
    return getattr(found, name)


def _missing(module: str) -> set[str]:
    missing = set()
    for name in NAMES[module]:
        try:
            _lookup(module, name)
        except (AttributeError, ModuleNotFoundError):
            missing.add(name)
    return missing


@pytest.mark.parametrize("module", NAMES)
def test_names(module):
    # A name that is missing has its reason in api_absences.py, and one that is there has none.
    assert _missing(module) == set(ABSENT.get(module, {}))


def _has_name(parameter: inspect.Parameter) -> bool:
    """Whether callers see the parameter's name."""
    return parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


@pytest.mark.parametrize("module", NAMES)
def test_parameters(module):
    wrong = {}
    for name, wanted in NAMES[module].items():
        if wanted is None or name in ABSENT.get(module, {}) or f"{module}.{name}" in OTHER_PARAMETERS:
            continue
        found = _lookup(module, name)
        if isinstance(found, xt.numpy.ufunc):
            continue  # Their signature is that of their call: tests/numpy/test_ufunc_objects.py.
        try:
            signature = inspect.signature(found)
        except (TypeError, ValueError):
            continue
        accepted = signature.parameters
        if any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
            continue
        named = [p for p, each in wanted.parameters.items() if _has_name(each) and not p.startswith("_")]
        lacking = [p for p in named if p not in accepted]
        if lacking:
            wrong[name] = lacking
    assert not wrong


def _calls(signature: inspect.Signature) -> list[tuple[list[str], list[str]]]:
    """Ways to call: with what is required alone, with all by position, with all by name."""
    public = [p for p in signature.parameters.values() if not p.name.startswith("_")]
    positional = [p for p in public if p.kind is p.POSITIONAL_OR_KEYWORD]
    always = [p.name for p in public if p.kind is p.POSITIONAL_ONLY]
    named = [p.name for p in public if p.kind is p.KEYWORD_ONLY]
    required = [p.name for p in positional if p.default is p.empty]
    required_named = [p.name for p in public if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    everything = [p.name for p in positional]
    return [(always + required, required_named), (always + everything, named), (always, everything + named)]


@pytest.mark.parametrize("module", EXACT)
def test_calls(module):
    # Every way of calling that JAX's signature allows is a way of calling the function here.
    wrong = {}
    for name, wanted in NAMES[module].items():
        if wanted is None or name in ABSENT.get(module, {}) or f"{module}.{name}" in OTHER_PARAMETERS:
            continue
        found = _lookup(module, name)
        if isinstance(found, xt.numpy.ufunc):
            continue
        signature = inspect.signature(found)
        for by_position, by_name in _calls(wanted):
            try:
                signature.bind(*by_position, **dict.fromkeys(by_name))
            except TypeError as error:
                wrong[name] = (by_position, by_name, str(error), str(signature))
    assert not wrong


def test_most_names_are_here():
    names = sum(len(NAMES[module]) for module in EXACT)
    absent = sum(len(ABSENT.get(module, ())) for module in EXACT)
    assert names > 1250
    assert absent <= 0.02 * names


def test_every_absence_is_of_a_public_name():
    for module, absences in ABSENT.items():
        assert set(absences) <= set(NAMES[module]), module
        assert all(absences.values())
