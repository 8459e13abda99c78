"""Every public function says what it computes, takes, returns and raises, and shows an example.

That the examples run is tested in test_doctests.py.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
import typing

import pytest

from tests.test_api_names import EXACT, NAMES

#: Functions that are NumPy's own, handed on as they are: their docstrings are NumPy's.
HANDED_ON = {f"jax.numpy.{name}" for name in "get_printoptions iterable printoptions set_printoptions".split()}


def _is_function(value: object) -> bool:
    """Whether a public value is a function: no class, type or alias of types."""
    alias = typing.get_origin(value) is not None or isinstance(value, typing.NewType)
    return callable(value) and not inspect.isclass(value) and not alias


def _functions(module: str) -> dict[str, object]:
    found = importlib.import_module("xtrace" + module[3:])
    values = {name: getattr(found, name, None) for name in NAMES[module]}
    return {
        name: value for name, value in values.items() if _is_function(value) and f"{module}.{name}" not in HANDED_ON
    }


def _summary_ends(doc: str) -> bool:
    return re.match(r"\S[^\n]*(\n\s*\S[^\n]*)*?[.:](\s|$)", doc) is not None


def _lacks(value: object) -> list[str]:
    """What the docstring of a function lacks."""
    doc = inspect.getdoc(value) or ""
    lacking = [] if _summary_ends(doc) else ["a sentence that says what it does"]
    if "\nReturns:\n" not in doc and "\nYields:\n" not in doc:
        lacking.append("Returns")
    if ">>>" not in doc:
        lacking.append("an example")
    parameters = [p for p in inspect.signature(value).parameters if not p.startswith("_")]  # type: ignore[arg-type]
    described = doc.partition("\nArgs:\n")[2].partition("\n\n")[0]
    if parameters and not described:
        return [*lacking, "Args"]
    return lacking + [f"the argument {p}" for p in parameters if not re.search(rf"\b{p}\b", described)]


def _raises(value: object) -> bool:
    """Whether the code of a function raises errors itself."""
    try:
        source = inspect.getsource(inspect.unwrap(value))  # type: ignore[arg-type]
    except (OSError, TypeError):
        return False
    tree = ast.parse(textwrap.dedent(source))
    return any(isinstance(node, ast.Raise) for node in ast.walk(tree))


@pytest.mark.parametrize("module", EXACT)
def test_errors_that_functions_raise_are_described(module):
    silent = [
        name
        for name, value in _functions(module).items()
        if "\nRaises:\n" not in (inspect.getdoc(value) or "") and _raises(value)
    ]
    assert silent == []


@pytest.mark.parametrize("module", EXACT)
def test_public_functions_are_described(module):
    assert {name: lacks for name, value in _functions(module).items() if (lacks := _lacks(value))} == {}


def test_functions_handed_on_are_numpys():
    for name in HANDED_ON:
        value = getattr(importlib.import_module("xtrace.numpy"), name.rpartition(".")[2])
        assert value.__module__.partition(".")[0] == "numpy"


def _whole(x):
    """A function with all parts.

    Args:
      x: array.

    Returns:
      An array.

    >>> 1
    1
    """


def _without_an_argument(x, y):
    """A function that doesn't say what y is.

    Args:
      x: array.

    Returns:
      An array.

    >>> 1
    1
    """


@pytest.mark.parametrize(
    ("function", "lacking"),
    [
        (_whole, []),
        (_without_an_argument, ["the argument y"]),
        (lambda x: x, ["a sentence that says what it does", "Returns", "an example", "Args"]),
    ],
)
def test_what_is_lacking_is_found(function, lacking):
    assert _lacks(function) == lacking
