"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import xtrace
import xtrace.lowering
import xtrace.runtime

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
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0
