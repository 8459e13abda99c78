"""Argument descriptions: `f32[128,784]`, `i32`, `{'w': f32[784,10], 'b': f32[10]}` → pytrees of shapes and dtypes.

The text is parsed as a Python expression and only literals, containers and dtype names are accepted: nothing in it
is ever evaluated.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable
from typing import Any

from xtrace.cli.errors import CommandError
from xtrace.core import dtypes

MakeLeaf = Callable[[tuple[int, ...], Any], Any]

_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)(.*)", re.S)
# Python has no empty subscript; `f32[]` is the notation of jaxprs for a scalar.
_EMPTY_SUBSCRIPT = re.compile(r"(?<=\w)\s*\[\s*\]")


def split_keyword(text: str) -> tuple[str | None, str]:
    """Split `name=spec` into name and spec; a positional spec has no name.

    >>> split_keyword("x=f32[3]")
    ('x', 'f32[3]')
    """
    match = _KEYWORD.fullmatch(text)
    return (match[1], match[2]) if match else (None, text)


def parse(text: str, make_leaf: MakeLeaf) -> Any:
    """Parse one argument description.

    Args:
      text: dtype names as jaxprs print them (`f32`, `bf16`, `bool`) or in full (`float32`), each with an optional
        shape; Python lists, tuples and dicts of them; None; Python numbers, which are passed as they are.
      make_leaf: called with each shape and dtype.

    Returns:
      The same containers with `make_leaf`'s results in them.

    Raises:
      CommandError: the text isn't such a description; the message says which part and why.

    >>> parse("{'w': f32[784,10], 'n': i32}", lambda shape, dtype: (shape, dtype.name))
    {'w': ((784, 10), 'float32'), 'n': ((), 'int32')}
    """
    try:
        tree = ast.parse(_EMPTY_SUBSCRIPT.sub("[()]", text.strip()), mode="eval")
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise CommandError(f"cannot read {text!r}: {reason}; write it like f32[128,784] or {{'w': f32[3]}}") from None
    except (RecursionError, MemoryError):
        raise CommandError("the argument description is nested too deeply") from None
    return _build(tree.body, make_leaf)


def _build(node: ast.expr, make_leaf: MakeLeaf) -> Any:
    match node:
        case ast.Name(id=name):
            return make_leaf((), _dtype(name))
        case ast.Subscript(value=ast.Name(id=name), slice=size):
            return make_leaf(_shape(size), _dtype(name))
        case ast.Tuple(elts=items):
            return tuple(_build(item, make_leaf) for item in items)
        case ast.List(elts=items):
            return [_build(item, make_leaf) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _build(value, make_leaf) for key, value in zip(keys, values, strict=True)}
        case ast.Constant(value=None | bool() | int() | float() | complex() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() | complex() as value)):
            return -value
    raise CommandError(f"cannot read {ast.unparse(node)!r}: expected a dtype with a shape, such as f32[128,784]")


def _key(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=str() | int() as key):
            return key
        case ast.Name(id=name):
            raise CommandError(f"the key {name} must be quoted: {name!r}")
    raise CommandError(f"cannot use {ast.unparse(node) if node else '**'!r} as a key: keys are strings or integers")


def _shape(node: ast.expr) -> tuple[int, ...]:
    sizes = node.elts if isinstance(node, ast.Tuple) else [node]
    shape = []
    for size in sizes:
        match size:
            case ast.Constant(value=int() as n) if not isinstance(n, bool):
                shape.append(n)
            case _:
                raise CommandError(f"{ast.unparse(size)!r} is not a size: sizes are integers that are zero or more")
    return tuple(shape)


#: What a dtype may be called: as jaxprs print it, or in full.
_NAMES = {
    name: dtype for dtype, short in dtypes.SHORT_NAMES.items() for name in (short, dtype.name) if short != "float0"
}


def _dtype(name: str) -> Any:
    dtype = _NAMES.get(name)
    if dtype is None:
        close = difflib.get_close_matches(name, _NAMES, 1, 0.5)
        hint = f"did you mean {close[0]}?" if close else "write it like f32, bf16, i32 or bool"
        raise CommandError(f"unknown dtype {name!r}; {hint}")
    narrowed = dtypes.canonicalize(dtype)
    if narrowed != dtype:
        raise CommandError(f"{name} needs 64-bit types: add --x64, or write {dtypes.SHORT_NAMES[narrowed]}")
    return dtype
