"""Products on CPU are lowered in the form that is fastest, and have NumPy's values in every form."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace.core.avals import ShapedArray
from xtrace.lowering.rules import dot_forms
from xtrace.runtime import jaxlib_api

CASES = {
    "outer": ("m,n->mn", (3, 5), (((), ()), ((), ()))),
    "contracted size one": ("mk,kn->mn", (4, 1, 6), (((1,), (0,)), ((), ()))),
    "both dimensions of size one": ("mkl,kln->mn", (4, 1, 1, 6), (((1, 2), (0, 1)), ((), ()))),
    "batched outer": ("bm,bn->bmn", (7, 3, 5), (((), ()), ((0,), (0,)))),
    "batched outer, batch last": ("mb,nb->bmn", (3, 7, 5), (((), ()), ((1,), (1,)))),
    "batched outer, two batches crossed": ("amc,cna->acmn", (2, 3, 4, 5), (((), ()), ((0, 2), (2, 0)))),
    "elements": ("ab,ab->ab", (4, 5), (((), ()), ((0, 1), (0, 1)))),
    "scalars": (",->", (), (((), ()), ((), ()))),
    "vectors": ("k,k->", (9,), (((0,), (0,)), ((), ()))),
    "batched vectors": ("bk,bk->b", (6, 9), (((1,), (1,)), ((0,), (0,)))),
    "matrix vector": ("mk,k->m", (5, 9), (((1,), (0,)), ((), ()))),
    "vector matrix": ("k,kn->n", (9, 5), (((0,), (0,)), ((), ()))),
    "matrices": ("mk,kn->mn", (5, 9, 4), (((1,), (0,)), ((), ()))),
    "transposed": ("km,nk->mn", (9, 5, 4), (((0,), (1,)), ((), ()))),
    "tiny batched": ("bmk,bkn->bmn", (32, 2, 3, 2), (((2,), (1,)), ((0,), (0,)))),
    "heads": ("abmk,abkn->abmn", (2, 3, 4, 5, 6), (((3,), (2,)), ((0, 1), (0, 1)))),
    "heads, right transposed": ("abmk,abnk->abmn", (2, 3, 4, 5, 6), (((3,), (3,)), ((0, 1), (0, 1)))),
    "batched, transposed": ("kbm,nkb->bmn", (4, 3, 5, 6), (((0,), (1,)), ((1,), (2,)))),
    "two contracted": ("btd,bte->de", (2, 8, 5, 6), (((0, 1), (0, 1)), ((), ()))),
    "two contracted, crossed": ("btd,tbe->de", (2, 8, 5, 6), (((0, 1), (1, 0)), ((), ()))),
    "two contracted, apart": ("bdt,ebt->de", (2, 5, 8, 6), (((0, 2), (1, 2)), ((), ()))),
    "two contracted, batched": ("xbtd,bxte->xde", (3, 2, 8, 5, 6), (((1, 2), (0, 2)), ((0,), (1,)))),
    "two contracted, more free": ("dbet,tbfg->defg", (3, 2, 4, 8, 5, 6), (((1, 3), (1, 0)), ((), ()))),
    "all contracted": ("ab,ba->", (4, 5), (((0, 1), (1, 0)), ((), ()))),
    "empty sum": ("mk,kn->mn", (3, 0, 2), (((1,), (0,)), ((), ()))),
    "empty result": ("m,n->mn", (0, 5), (((), ()), ((), ()))),
    "two empty sums": ("abm,abn->mn", (0, 2, 3, 4), (((0, 1), (0, 1)), ((), ()))),
}
_HEADS = (((3,), (3,)), ((0, 1), (0, 1)))
DTYPES = ["float32", "bfloat16", "float16", "float64", "complex64", "complex128", "int32", "int8", "uint8"]
#: Spacing of the numbers in which each dtype's sums are returned.
TOLERANCE = {"bfloat16": 2**-7, "float16": 2**-9, "float64": 1e-14, "complex128": 1e-14}


@pytest.fixture(autouse=True)
def _x64():
    with xt.enable_x64(True):
        yield


def operands(case: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    spec, sizes, _ = CASES[case]
    inputs = spec.split("->")[0].split(",")
    letters = list(dict.fromkeys("".join(inputs)))
    size = dict(zip(letters, sizes, strict=True))
    rng = np.random.default_rng(0)
    found = []
    for letters in inputs:
        shape = tuple(size[c] for c in letters)
        if "int" in dtype:
            values = rng.integers(0 if dtype[0] == "u" else -9, 10, shape)
        else:
            values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)
        found.append(np.asarray(values).astype(xt.numpy.dtype(dtype)))
    return found[0], found[1]


def expected(case: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    wide = np.int64 if x.dtype.kind in "iu" else np.complex128 if x.dtype.kind == "c" else np.float64
    return np.asarray(np.einsum(CASES[case][0], x.astype(wide), y.astype(wide)))


def check_all(dtype):
    """One program that computes every case."""
    args = {case: operands(case, dtype) for case in CASES}
    results = xt.jit(lambda args: {case: xt.lax.dot_general(*args[case], CASES[case][2]) for case in args})(args)
    for case, got in results.items():
        got, want = np.asarray(got), expected(case, *args[case])
        assert got.shape == want.shape and got.dtype.name == dtype, case
        if "int" in dtype:
            np.testing.assert_array_equal(got, want.astype(dtype), err_msg=case)
        else:
            tolerance = TOLERANCE.get(dtype, 1e-5)
            np.testing.assert_allclose(got.astype(want.dtype), want, tolerance, tolerance, err_msg=case)


@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype):
    check_all(dtype)


_FORMS_IN = {form: ("float32", "bfloat16", "complex64", "int8") for form in ("dot", "outer", "sum", "matrices")}
_FORMS_IN["columns"] = ("float32",)  # chosen in no other


@pytest.mark.parametrize("form, dtype", [(form, dtype) for form, dtypes in _FORMS_IN.items() for dtype in dtypes])
def test_values_of_every_form(form, dtype):
    with dot_forms.forced(form):
        check_all(dtype)


@pytest.mark.parametrize("case", ["outer", "contracted size one", "batched outer", "two contracted", "matrices"])
@pytest.mark.parametrize("dtype, preferred", [("int8", "int32"), ("bfloat16", "float32"), ("float32", "float64")])
def test_preferred_element_type(case, dtype, preferred):
    x, y = operands(case, dtype)
    got = xt.jit(lambda x, y: xt.lax.dot_general(x, y, CASES[case][2], preferred_element_type=preferred))(x, y)
    want = expected(case, x, y)
    assert got.dtype.name == preferred
    # Nothing is rounded to the operands' dtype on the way.
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", ["outer", "contracted size one", "batched outer", "batched outer, batch last"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64", "complex64"])
def test_outer_products_are_the_same_to_the_bit(case, dtype):
    x, y = operands(case, dtype)
    with dot_forms.forced("dot"):
        dot = xt.jit(lambda x, y: xt.lax.dot_general(x, y, CASES[case][2]))(x, y)
    chosen = xt.jit(lambda x, y: xt.lax.dot_general(x, y, CASES[case][2]))(x, y)
    np.testing.assert_array_equal(np.asarray(dot), np.asarray(chosen))


@pytest.mark.parametrize("permutation", [(0, 2, 1), (2, 0, 1), (1, 2, 0)])
def test_transposed_outer_products(permutation):
    x, y = operands("batched outer", "float32")

    def f(x, y):
        product = xt.lax.dot_general(x, y, CASES["batched outer"][2])
        return product, xt.lax.transpose(product, permutation)

    product, transposed = xt.jit(f)(x, y)
    np.testing.assert_array_equal(product, x[:, :, None] * y[:, None, :])
    np.testing.assert_array_equal(transposed, np.transpose(product, permutation))


def lowered(f, *shapes):
    return xt.jit(f).lower(*[xt.ShapeDtypeStruct(s, "float32") for s in shapes]).as_text()


def test_per_example_gradients_are_multiplied_in_place():
    def loss(w, x):
        return xt.numpy.sum(xt.numpy.tanh(x @ w))

    text = lowered(xt.vmap(xt.grad(loss), in_axes=(None, 0)), (5, 3), (7, 5))
    assert text.count("dot_general") == 1
    last = [line for line in text.splitlines() if "stablehlo.multiply" in line][-1]
    assert "tensor<7x5x3xf32>" in last  # of the transpose of the product, not the product
    assert "return" in text.split(last)[1].strip().splitlines()[0]


def test_two_contracted_dimensions_become_one():
    def f(x, y):
        return xt.numpy.einsum("btd,bte->de", x, y)

    assert "contracting_dims = [0] x [0]" in lowered(f, (2, 8, 5), (2, 8, 6))
    assert "contracting_dims = [0, 1] x [0, 1]" in lowered(f, (8, 64, 512), (8, 64, 512))


def test_an_algorithm_keeps_the_dot():
    def f(x, y):
        return xt.lax.dot_general(x, y, CASES["outer"][2], precision="F32_F32_F32")

    assert "dot_general" in lowered(f, (3,), (5,))


def test_other_platforms_keep_the_dot():
    for platforms in (("tpu",), ("cuda",), ("cpu", "cuda")):
        traced = xt.jit(lambda x, y: xt.lax.dot_general(x, y, CASES["outer"][2])).trace(
            *[xt.ShapeDtypeStruct((n,), "float32") for n in (3, 5)]
        )
        assert "dot_general" in traced.lower(lowering_platforms=platforms).as_text()


@pytest.mark.parametrize(
    "left, right, numbers, form",
    [
        ((16, 256), (16, 128), (((), ()), ((0,), (0,))), "outer"),
        ((64, 1), (1, 64), (((1,), (0,)), ((), ())), "outer"),
        ((2, 32, 64), (2, 32, 192), (((0, 1), (0, 1)), ((), ())), "matrices"),
        ((2, 32, 512), (2, 32, 512), (((0, 1), (0, 1)), ((), ())), "dot"),
        ((64, 64), (64, 64), (((0,), (1,)), ((), ())), "dot"),
        ((4, 64), (64,), (((1,), (0,)), ((), ())), "dot"),
        ((2, 4, 32, 16), (2, 4, 32, 16), _HEADS, "columns"),
        ((2, 8, 32, 32), (2, 8, 32, 32), _HEADS, "dot"),
        ((2, 4, 16, 16), (2, 4, 16, 16), _HEADS, "dot"),
        ((2, 4, 64, 64), (2, 4, 64, 64), _HEADS, "dot"),
        ((2, 4, 1, 512), (2, 4, 512, 512), _HEADS, "dot"),
    ],
)
def test_choice(left, right, numbers, form, monkeypatch):
    monkeypatch.setattr(jaxlib_api, "DIVIDES_SMALL_PRODUCTS", True)
    x, y = (ShapedArray(shape, xt.numpy.dtype("float32")) for shape in (left, right))
    out = xt.eval_shape(lambda x, y: xt.lax.dot_general(x, y, numbers), x, y)
    product = dot_forms.product_of(x, y, ShapedArray(out.shape, out.dtype), numbers)
    assert dot_forms.form_of(product) == form
