"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import sys

import pytest

import xtrace
import xtrace.lowering
import xtrace.runtime
from tests.test_api_names import NAMES

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

MODULES = sorted(
    {
        m.name
        for package in (xtrace, xtrace.lowering, xtrace.runtime)
        for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    }
    - {"xtrace.__main__"}
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=FLAGS)
    assert result.failed == 0


def _made(value):
    """Whether `testmod` passes over the example of a public object: a function that another one has made."""
    if inspect.isclass(value) or inspect.ismodule(value) or ">>>" not in (getattr(value, "__doc__", None) or ""):
        return False
    home = getattr(value, "__module__", None) or ""
    if home.partition(".")[0] == "numpy":  # handed on as it is
        return False
    found = vars(sys.modules[home]) if home in sys.modules else {}
    return not (inspect.isfunction(value) and value.__globals__ is found and found.get(value.__name__) is value)


def _made_functions(module):
    found = {}
    for name in NAMES[module]:
        value = getattr(importlib.import_module("xtrace" + module[3:]), name, None)
        if _made(value):
            found.setdefault(value.__doc__, name)
    return {name: text for text, name in found.items()}


@pytest.mark.parametrize("module", [m for m in NAMES if m.count(".") and not m.startswith("jax.experimental")])
def test_examples_of_made_functions(module):
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for name, text in _made_functions(module).items():
        runner.run(doctest.DocTestParser().get_doctest(text, {}, f"{module}.{name}", None, 0))
    assert runner.failures == 0
