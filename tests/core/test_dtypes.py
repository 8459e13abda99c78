"""core.dtypes: the promotion lattice against JAX's recorded one, categories, the x64 rule, and messages."""

import itertools
import json
import pathlib

import ml_dtypes
import numpy as np
import pytest

from xtrace.core import config, dtypes

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "promotion.json").read_text())
OPERANDS = RECORDED["operands"].split()


def known(text):
    """Whether this ml_dtypes has the type: older ones lack some of the narrowest."""
    name = text.removesuffix("*")
    return hasattr(np, name) or hasattr(ml_dtypes, name)


def operand(text):
    return dtypes.canonicalize(dtypes.as_dtype(text.removesuffix("*"))), text.endswith("*")


class Value:
    """What promotion sees of an array."""

    def __init__(self, text):
        self.dtype, self.weak_type = operand(text)
        self.aval = self


def promote(*texts):
    try:
        dtype, weak = dtypes.promote(tuple(map(operand, texts)))
    except dtypes.TypePromotionError:
        return "!"
    return f"{dtype.name}{'*' * weak}"


def result_type(*texts):
    try:
        dtype, weak = dtypes.result_type(*map(Value, texts), return_weak_type=True)
    except dtypes.TypePromotionError:
        return "!"
    return f"{dtype.name}{'*' * weak}"


@pytest.fixture(params=RECORDED["modes"], ids=lambda m: f"x64={m['x64']}-{m['promotion']}")
def mode(request):
    with config.enable_x64(request.param["x64"]), config.numpy_dtype_promotion(request.param["promotion"]):
        yield request.param


def test_every_pair_promotes_as_recorded(mode):
    wrong = []
    for i, a in enumerate(OPERANDS):
        for b, expected in zip(OPERANDS[i:], mode["table"][i].split(), strict=True):
            if known(a) and known(b) and not promote(a, b) == promote(b, a) == expected:
                wrong.append((a, b, promote(a, b), expected))
    assert not wrong


def test_triples_promote_as_recorded(mode):
    wrong = []
    for line in mode["triples"]:
        *operands, expected, expected_result_type = line.split()
        if all(map(known, operands)):
            got = {promote(*p) for p in itertools.permutations(operands)}
            if got != {expected} or result_type(*operands) != expected_result_type:
                wrong.append((operands, got, expected, result_type(*operands), expected_result_type))
    assert not wrong


@pytest.mark.parametrize("x64", [False, True])
def test_python_scalars_are_weak(x64):
    with config.enable_x64(x64):
        narrow = (lambda d: d) if x64 else dtypes.canonicalize
        assert dtypes.result_type(1, return_weak_type=True) == (narrow(np.dtype("int64")), True)
        assert dtypes.result_type(1, 2.0, return_weak_type=True) == (narrow(np.dtype("float64")), True)
        assert dtypes.result_type(True, return_weak_type=True) == (np.dtype(bool), False)
        assert dtypes.result_type(np.float16(1), 2.0, return_weak_type=True) == (np.dtype("float16"), False)
        assert dtypes.result_type(np.int8(1), 2.0, return_weak_type=True) == (narrow(np.dtype("float64")), True)
        assert dtypes.result_type(float, "bfloat16") == dtypes.bfloat16
        assert dtypes.result_type(None) == narrow(np.dtype("float64"))


@pytest.mark.parametrize("x", [[1], object(), "S3", np.array("a"), np.array([None]), {}, object, np.datetime64(1, "s")])
def test_what_has_no_dtype_of_numbers_is_refused(x):
    with pytest.raises(TypeError, match="^(expected an array, a number or a dtype; got|arrays hold numbers, booleans)"):
        dtypes.result_type(x)


@pytest.mark.parametrize(
    ("operands", "told"),
    [
        (
            ("float8_e5m2", "float32"),
            "No implicit promotion of dtypes float32, float8_e5m2: "
            "8-bit floats do not support implicit promotion. Cast float8_e5m2 with .astype().",
        ),
        (
            ("int4", "float8_e4m3fn"),
            "No implicit promotion of dtypes float8_e4m3fn, int4: "
            "1-bit, 2-bit and 4-bit integers and 8-bit floats do not support implicit promotion. "
            "Cast float8_e4m3fn and int4 with .astype().",
        ),
        (
            ("int4", "float64*"),
            "No implicit promotion of dtypes Python float, int4: "
            "1-bit, 2-bit and 4-bit integers do not support implicit promotion. Cast int4 with .astype().",
        ),
    ],
)
def test_messages(operands, told):
    with pytest.raises(dtypes.TypePromotionError) as info:
        dtypes.promote(tuple(map(operand, operands)))
    assert str(info.value) == told


def test_strict_message():
    with config.numpy_dtype_promotion("strict"), pytest.raises(dtypes.TypePromotionError) as info:
        dtypes.result_type("int8", 1.0)
    assert str(info.value) == (
        "No implicit promotion of dtypes Python float, int8: numpy_dtype_promotion is 'strict', which promotes Python "
        "scalars only: cast with .astype(), or allow the promotion with "
        "config.update('numpy_dtype_promotion', 'standard')."
    )
    with config.numpy_dtype_promotion("strict"):
        assert dtypes.result_type("int8", 1) == np.dtype("int8")


def test_float0_and_keys_mix_with_nothing():
    class Key(dtypes.ExtendedDtype):
        name = "key<test>"
        scalar_type = dtypes.prng_key

    key = Key()
    assert dtypes.result_type(dtypes.float0) == dtypes.float0
    assert dtypes.result_type(key, key) is key
    for odd in (dtypes.float0, key):
        with pytest.raises(dtypes.TypePromotionError, match="takes no part in promotion"):
            dtypes.result_type(odd, np.float32)
    assert dtypes.issubdtype(key, dtypes.prng_key)
    assert dtypes.issubdtype(key, dtypes.extended)
    assert dtypes.issubdtype(key, key)
    assert not dtypes.issubdtype(key, np.number)
    assert not dtypes.issubdtype(np.float32, dtypes.prng_key)
    assert not dtypes.issubdtype(Key(), key)


CATEGORIES = "generic number integer signedinteger unsignedinteger inexact floating complexfloating bool_".split()


@pytest.mark.parametrize(
    ("dtype", "categories"),
    [
        ("bool", "generic bool_"),
        ("int8", "generic number integer signedinteger"),
        ("uint64", "generic number integer unsignedinteger"),
        ("int4", "generic number integer signedinteger"),
        ("uint2", "generic number integer unsignedinteger"),
        ("bfloat16", "generic number inexact floating"),
        ("float8_e4m3fn", "generic number inexact floating"),
        ("float4_e2m1fn", "generic number inexact floating"),
        ("float16", "generic number inexact floating"),
        ("complex64", "generic number inexact complexfloating"),
        (int, "generic number integer signedinteger"),
        (float, "generic number inexact floating"),
        (complex, "generic number inexact complexfloating"),
        (bool, "generic bool_"),
        (np.integer, "generic number integer"),
        (dtypes.float0, "generic"),
        (dtypes.prng_key, "generic"),
        (np.str_, "generic"),
    ],
)
def test_issubdtype(dtype, categories):
    assert [c for c in CATEGORIES if dtypes.issubdtype(dtype, getattr(np, c))] == categories.split()
    assert dtypes.issubdtype(dtype, dtype)


def test_issubdtype_agrees_with_numpy_on_its_own_types():
    scalars = [np.dtype(c).type for c in "?bBhHiIlLefdFDSUMmOV"]
    names = "character flexible void object_ datetime64 float32 int64".split()
    for a, b in itertools.product(scalars, [getattr(np, c) for c in CATEGORIES + names]):
        assert dtypes.issubdtype(a, b) == np.issubdtype(a, b)


@pytest.mark.parametrize("x64", [False, True])
def test_canonicalize(x64):
    wide = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
    with config.enable_x64(x64):
        for name in OPERANDS:
            if known(name) and not name.endswith("*"):
                expected = name if x64 else wide.get(name, name)
                assert dtypes.canonical_dtype(name).name == expected


def test_short_names_are_distinct_and_reversible():
    assert len(set(dtypes.SHORT_NAMES.values())) == len(dtypes.SHORT_NAMES)
    assert {dtypes.FROM_SHORT_NAME[s]: s for s in dtypes.FROM_SHORT_NAME} == dtypes.SHORT_NAMES
    samples = {
        "bfloat16": "bf16",
        "float8_e4m3fn": "f8_e4m3fn",
        "float4_e2m1fn": "f4_e2m1fn",
        "uint4": "u4",
        "bool": "bool",
    }
    assert {name: dtypes.SHORT_NAMES[dtypes.as_dtype(name)] for name in samples} == samples


def test_limits():
    assert dtypes.finfo("bfloat16").bits == 16
    assert dtypes.finfo(np.complex64).dtype == np.float32
    assert dtypes.iinfo("int4").max == 7
    with pytest.raises(ValueError, match="finfo needs a floating or complex dtype, got int32"):
        dtypes.finfo(np.int32)
    with pytest.raises(ValueError, match="iinfo needs an integer dtype, got float32"):
        dtypes.iinfo("float32")
