"""Sweeps of parameters: calls as text, evaluated with a reference and with xtrace, and which parameters they give.

A call names the libraries by the same roots on both sides, such as `np` and `sp`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tests.test_api_names import NAMES


def evaluate(text: str, roots: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    return eval(text, {**roots, **values})  # noqa: S307 - the text is a table's own


def check(actual: Any, expected: Any) -> None:
    """Trees of results: the same shapes, kinds of dtypes, and values to the digits of float32."""
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            check(a, e)
    elif isinstance(expected, str):
        assert actual == expected
    else:
        assert np.shape(actual) == np.shape(expected)
        assert np.asarray(actual).dtype.kind == np.asarray(expected).dtype.kind or np.size(expected) == 0
        np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-4)


def _named(node: ast.expr) -> list[str]:
    """The parts of a dotted name."""
    if isinstance(node, ast.Attribute):
        before = _named(node.value)
        return [*before, node.attr] if before else []
    return [node.id] if isinstance(node, ast.Name) else []


def given(call: str, roots: Mapping[str, str]) -> set[tuple[str, str]]:
    """(function, parameter) of all that a call gives; `roots`: a root's name in the text -> JAX's module."""
    pairs = set()
    for node in ast.walk(ast.parse(call)):
        parts = _named(node.func) if isinstance(node, ast.Call) else []
        if not parts or parts[0] not in roots:
            continue
        signature = NAMES.get(".".join([roots[parts[0]], *parts[1:-1]]), {}).get(parts[-1])
        if signature is not None:
            names = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
            pairs |= {(parts[-1], name) for name in names[: len(node.args)]}
            pairs |= {(parts[-1], keyword.arg) for keyword in node.keywords}
    return pairs


def optional(modules: Iterable[str], elsewhere: Any) -> set[tuple[str, str]]:
    """(function, parameter) of all parameters with a default, but for those named in `elsewhere`, alone or so."""
    return {
        (name, p.name)
        for module in modules
        for name, signature in NAMES[module].items()
        if signature is not None
        for p in signature.parameters.values()
        if p.default is not p.empty and p.name not in elsewhere and (name, p.name) not in elsewhere
    }
