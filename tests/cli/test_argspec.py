"""Descriptions of arguments on the command line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from xtrace.cli import argspec
from xtrace.cli.errors import CommandError


class Leaf(NamedTuple):
    shape: tuple[int, ...]
    dtype: str


def parse(text):
    return argspec.parse(text, lambda shape, dtype: Leaf(shape, dtype.name))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("f32[128,784]", Leaf((128, 784), "float32")),
        (" f32[ 128 , 784 ] ", Leaf((128, 784), "float32")),
        ("f32[3]", Leaf((3,), "float32")),
        ("f32[3,]", Leaf((3,), "float32")),
        ("f32[0,4]", Leaf((0, 4), "float32")),
        ("f32[]", Leaf((), "float32")),
        ("f32[ ]", Leaf((), "float32")),
        ("i32", Leaf((), "int32")),
        ("float32[2]", Leaf((2,), "float32")),
        ("bool[2]", Leaf((2,), "bool")),
        ("bf16[2]", Leaf((2,), "bfloat16")),
        ("f8_e4m3fn[2]", Leaf((2,), "float8_e4m3fn")),
        ("u8[1]", Leaf((1,), "uint8")),
        ("c64[1]", Leaf((1,), "complex64")),
        (
            "{'w': f32[784,10], 'b': f32[10]}",
            {"w": Leaf((784, 10), "float32"), "b": Leaf((10,), "float32")},
        ),
        ("(f32[2], [i32, i32[]])", (Leaf((2,), "float32"), [Leaf((), "int32"), Leaf((), "int32")])),
        ("{'layers': [{'w': f32[2]}, {}], 0: ()}", {"layers": [{"w": Leaf((2,), "float32")}, {}], 0: ()}),
        ("[]", []),
        ("None", None),
        ("2.5", 2.5),
        ("-3", -3),
        ("True", True),
    ],
)
def test_descriptions(text, expected):
    assert parse(text) == expected
    assert type(parse(text)) is type(expected)


@pytest.mark.parametrize(
    "text, message",
    [
        ("f33[3]", "unknown dtype 'f33'; did you mean f32?"),
        ("flaot32[3]", "unknown dtype 'flaot32'; did you mean float32?"),
        ("quux", "unknown dtype 'quux'; write it like f32, bf16, i32 or bool"),
        ("object[3]", "unknown dtype 'object'; write it like f32, bf16, i32 or bool"),
        ("f64[3]", "f64 needs 64-bit types: add --x64, or write f32"),
        ("int64[3]", "int64 needs 64-bit types: add --x64, or write i32"),
        ("f32[n]", "'n' is not a size: sizes are integers that are zero or more"),
        ("f32[-1]", "'-1' is not a size: sizes are integers that are zero or more"),
        ("f32[1.5]", "'1.5' is not a size: sizes are integers that are zero or more"),
        ("f32[2:3]", "'2:3' is not a size: sizes are integers that are zero or more"),
        ("{w: f32[3]}", "the key w must be quoted: 'w'"),
        ("{(1,): f32[3]}", "cannot use '(1,)' as a key: keys are strings or integers"),
        ("{**f32}", "cannot use '**' as a key: keys are strings or integers"),
        ("open('x')", "cannot read \"open('x')\": expected a dtype with a shape, such as f32[128,784]"),
        ("'f32[3]'", "cannot read \"'f32[3]'\": expected a dtype with a shape, such as f32[128,784]"),
        ("f32[3", "cannot read 'f32[3': '[' was never closed; write it like f32[128,784] or {'w': f32[3]}"),
        ("", "cannot read '': invalid syntax; write it like f32[128,784] or {'w': f32[3]}"),
    ],
)
def test_bad_descriptions(text, message):
    with pytest.raises(CommandError) as error:
        parse(text)
    assert str(error.value) == message


def test_nothing_is_evaluated():
    touched = []
    with pytest.raises(CommandError, match="cannot read"):
        argspec.parse("[touched.append(1)]", lambda shape, dtype: touched.append(2))
    assert touched == []


def test_deep_nesting_is_an_error_not_a_crash():
    with pytest.raises(CommandError, match="nested"):
        parse("[" * 5000 + "]" * 5000)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("x=f32[3]", ("x", "f32[3]")),
        ("x = {'a': f32}", ("x", " {'a': f32}")),
        ("f32[3]", (None, "f32[3]")),
        ("{'a=b': f32}", (None, "{'a=b': f32}")),
    ],
)
def test_arguments_by_name(text, expected):
    assert argspec.split_keyword(text) == expected


def test_leaves_get_numpy_dtypes():
    assert argspec.parse("f32[2]", lambda shape, dtype: dtype) == np.dtype("float32")
