"""Keys as values: what they show, take and refuse."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax, random
from xtrace import numpy as xnp


@pytest.fixture
def keys():
    return random.split(random.key(0), 4)


def words(key):
    return np.asarray(random.key_data(key))


def test_printed_as_its_words():
    assert repr(random.key(42)) == "Array((), dtype=key<fry>) overlaying:\n[ 0 42]"
    assert repr(random.key(1, impl="rbg")) == "Array((), dtype=key<rbg>) overlaying:\n[0 1 0 1]"


def test_is_an_array_of_a_key_dtype(keys):
    assert isinstance(keys, xt.Array)
    assert (keys.shape, keys.ndim, keys.size, len(keys), keys.itemsize, keys.nbytes) == ((4,), 1, 4, 4, 8, 32)
    assert xt.dtypes.issubdtype(keys.dtype, xt.dtypes.prng_key)
    assert keys.dtype == random.key_dtype() and keys.dtype != random.key_dtype("rbg")
    assert random.key_impl(keys) == "threefry2x32"


def test_structural_operations_move_whole_keys(keys):
    w = words(keys)
    np.testing.assert_array_equal(words(keys[1]), w[1])
    np.testing.assert_array_equal(words(keys[1:3]), w[1:3])
    np.testing.assert_array_equal(words(keys[np.array([2, 0])]), w[[2, 0]])
    np.testing.assert_array_equal(words(keys[::-1]), w[::-1])
    np.testing.assert_array_equal(words(keys.reshape(2, 2)), w.reshape(2, 2, 2))
    np.testing.assert_array_equal(words(keys.reshape(2, 2).T), w.reshape(2, 2, 2).transpose(1, 0, 2))
    np.testing.assert_array_equal(words(keys.reshape(2, 2).ravel()), w)
    np.testing.assert_array_equal(words(keys[None]), w[None])
    np.testing.assert_array_equal(words(lax.concatenate([keys, keys], 0)), np.concatenate([w, w]))
    np.testing.assert_array_equal(words(lax.select_n(np.array([True, False, True, False]), keys, keys[::-1])),
                                  np.where(np.array([[True], [False], [True], [False]]), w[::-1], w))  # fmt: skip
    for one, row in zip(keys, w, strict=True):
        np.testing.assert_array_equal(words(one), row)


def test_indexed_update(keys):
    updated = keys.at[1].set(random.key(9))
    expected = words(keys).copy()
    expected[1] = [0, 9]
    np.testing.assert_array_equal(words(updated), expected)


def test_structural_operations_compile_alike(keys):
    def f(k, i):
        return lax.concatenate([k.reshape(2, 2).T.ravel(), k[i][None]], 0)

    np.testing.assert_array_equal(words(xt.jit(f)(keys, 2)), words(f(keys, 2)))
    np.testing.assert_array_equal(words(xt.vmap(lambda k: k)(keys)), words(keys))


def test_comparison(keys):
    assert np.asarray(keys == keys).tolist() == [True] * 4
    assert np.asarray(keys != keys[::-1]).tolist() == [True] * 4
    with pytest.raises(TypeError, match="does not accept dtypes key<fry>"):
        keys == random.PRNGKey(0)  # noqa: B015
    for same in (lambda k: k == keys[1], lambda k: xt.numpy.equal(keys[1], k), lambda k: ~(k != keys[1])):
        assert [np.asarray(f(keys)).tolist() for f in (same, xt.jit(same), xt.vmap(same))] == [
            [False, True, False, False]
        ] * 3


def test_keys_stay_keys_on_the_host_and_as_clones(keys):
    np.testing.assert_array_equal(words(xt.device_get({"keys": keys})["keys"]), words(keys))
    for clone in (random.clone, xt.jit(random.clone), xt.vmap(random.clone)):
        np.testing.assert_array_equal(words(clone(keys)), words(keys))


def test_copies_pickles_and_moves(keys):
    for other in (pickle.loads(pickle.dumps(keys)), copy.copy(keys), copy.deepcopy(keys), keys.copy()):
        np.testing.assert_array_equal(words(other), words(keys))
        assert other.dtype is keys.dtype
    put = xt.device_put({"k": keys}, xt.devices()[0])["k"]
    assert put.dtype is keys.dtype and put.devices() == {xt.devices()[0]} and put.committed
    assert xt.block_until_ready(keys) is keys


def test_key_data_and_wrap_key_data_are_inverse(keys):
    again = random.wrap_key_data(random.key_data(keys))
    np.testing.assert_array_equal(words(again), words(keys))
    assert random.key_data(random.PRNGKey(3)).tolist() == [0, 3]
    assert random.wrap_key_data(np.zeros((2, 4), np.uint32), impl="rbg").shape == (2,)
    jaxpr = xt.make_jaxpr(lambda w: random.key_data(random.wrap_key_data(w)))(np.zeros(2, np.uint32))
    assert [e.primitive.name for e in jaxpr.eqns] == ["random_wrap", "random_unwrap"]


def test_raw_keys_stay_raw():
    raw = random.PRNGKey(0)
    for made in (random.split(raw), random.fold_in(raw, 1), random.clone(raw)):
        assert made.dtype == np.uint32
    np.testing.assert_array_equal(random.split(raw), words(random.split(random.key(0))))


def test_seeds():
    assert words(random.key(2**40 + 5)).tolist() == [0, 5]
    assert words(random.key(-1)).tolist() == [0, 2**32 - 1]
    assert words(random.key(np.uint8(200))).tolist() == [0, 200]
    assert words(random.key(xt.device_put(7))).tolist() == [0, 7]
    assert words(random.key(True)).tolist() == [0, 1]
    assert words(xt.jit(random.key)(9)).tolist() == [0, 9]
    assert words(xt.vmap(random.key)(np.arange(3))).tolist() == [[0, 0], [0, 1], [0, 2]]
    with xt.enable_x64(True):
        assert words(random.key(-1)).tolist() == [2**32 - 1, 2**32 - 1]
        assert words(random.key(2**40 + 5)).tolist() == [256, 5]
    with xt.default_prng_impl("rbg"):
        assert random.PRNGKey(1).tolist() == [0, 1, 0, 1]
    with xt.enable_custom_prng(True):
        assert random.PRNGKey(1).dtype == random.key_dtype()


def test_threefry_known_answers():
    """The vectors of the Random123 distribution for Threefry 2x32 with 20 rounds."""
    for key, counter, out in [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ]:
        from xtrace.lax import random_bits

        got = random_bits.threefry_2x32(tuple(map(np.uint32, key)), tuple(map(np.uint32, counter)))
        assert tuple(int(g) for g in got) == out


REFUSED = [
    (lambda k: random.key(k), TypeError, "was given a PRNG key"),
    (lambda k: random.key(1.5), TypeError, "must be an integer"),
    (lambda k: random.key("a"), TypeError, "integer seed"),
    (lambda k: random.key(np.arange(3)), TypeError, r"scalar seed.*\(3,\)"),
    (lambda k: random.key(2**64), OverflowError, "64 bits"),
    (lambda k: random.key(0, impl="foo"), ValueError, 'unrecognized PRNG implementation "foo"'),
    (lambda k: random.split(random.split(k)), ValueError, "split accepts a single key"),
    (lambda k: random.normal(random.split(k)), ValueError, r"normal accepts a single key.*\(2,\)"),
    (lambda k: random.normal(np.zeros((3, 2), np.uint32)), ValueError, "single key"),
    (lambda k: random.normal(np.zeros(2, np.float32)), TypeError, "uint32.*float32"),
    (lambda k: random.normal(np.zeros(3, np.uint32)), TypeError, r"end with \(2,\); got shape=\(3,\)"),
    (lambda k: random.normal(0), TypeError, r"random.key\(seed\)"),
    (lambda k: random.wrap_key_data(k), TypeError, "expected an array of uint32"),
    (lambda k: random.fold_in(k, -1), OverflowError, "-1 out of bounds for uint32"),
    (lambda k: random.fold_in(k, np.arange(2)), TypeError, r"accepts a scalar.*\(2,\)"),
    (lambda k: random.split(k, -1), ValueError, "can't be negative"),
    (lambda k: random.split(k, 2.5), TypeError, "integers"),
    (lambda k: random.bits(k, (2,), "int32"), ValueError, "unsigned int dtype, got int32"),
    (lambda k: random.normal(k, (2,), int), ValueError, "`normal` must be a float or complex dtype, got int32"),
    (lambda k: random.uniform(k, (2,), "complex64"), ValueError, "`uniform` must be a float dtype"),
    (lambda k: random.uniform(k, (3,), minval=np.zeros(4, np.float32)), ValueError, r"\(3,\), \(4,\)"),
    (lambda k: random.randint(k, (3,), 0, np.zeros(4, np.int32)), ValueError, "Incompatible shapes"),
    (lambda k: random.randint(k, (3,), 0, 2**40), OverflowError, "maxval=1099511627776"),
    (lambda k: random.randint(k, (3,), 0, 5, float), TypeError, "only accepts integer dtypes"),
    (lambda k: random.bernoulli(k, 2), TypeError, "`p` must have a floating dtype, got int32"),
    (lambda k: random.bernoulli(k, mode="x"), ValueError, "'high' or 'low'"),
    (lambda k: random.permutation(k, np.float32(3)), TypeError, "integer or at least 1-dimensional"),
    (lambda k: random.permutation(k, np.ones((2, 2)), 3), ValueError, "axis 3 is out of bounds"),
    (lambda k: random.choice(k, [1, 2]), TypeError, "numpy.asarray"),
    (lambda k: random.choice(k, 5, 3), TypeError, "must be a sequence, got 3"),
    (lambda k: random.choice(k, 0), ValueError, "greater than 0"),
    (lambda k: random.choice(k, 5, (6,), replace=False), ValueError, "larger sample"),
    (lambda k: random.choice(k, 5, p=np.ones(4, np.float32)), ValueError, r"p has shape \(4,\)"),
    (lambda k: random.categorical(k, np.zeros((3, 4)), shape=(2,)), ValueError, "Incompatible shapes"),
    (lambda k: random.categorical(k, np.zeros((3, 4)), axis=5), IndexError, "axis 5"),
    (lambda k: bool(k), TypeError, "converted to boolean"),
    (lambda k: np.asarray(k), TypeError, "key_data"),
    (lambda k: hash(k), TypeError, "unhashable"),
    (lambda k: len(k), TypeError, "unsized"),
    (lambda k: iter(k), TypeError, "0-d"),
    (lambda k: k + 1, TypeError, "add does not accept dtypes key<fry>, int32"),
    (lambda k: 1 << k, TypeError, "left_shift does not accept dtypes int32, key<fry>"),
    (lambda k: xt.jit(lambda k: k * 2)(k), TypeError, "multiply does not accept dtypes key<fry>, int32"),
    (lambda k: k + k, TypeError, "add does not accept dtype key<fry>"),
    (lambda k: k // k, TypeError, "floor_divide does not accept dtype key<fry>"),
    (lambda k: k < k, TypeError, "lt does not accept dtype key<fry>"),
    (lambda k: -k, TypeError, "neg does not accept dtype key<fry>"),
    (lambda k: xt.grad(lambda k: 1.0)(k), TypeError, "grad requires real- or complex-valued inputs.*key<fry>"),
    (lambda k: random.key(0, impl="rbg", dtype=k.dtype), ValueError, "Cannot specify both `impl` and `dtype`"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    call, error, message = REFUSED[number]
    with pytest.raises(error, match=message):
        call(random.key(0))


def test_keys_inside_control_flow_and_derivatives():
    key = random.key(0)

    def body(i, carry):
        key, total = carry
        key, sub = random.split(key)
        return key, total + random.normal(sub)

    _, total = xt.jit(lambda k: lax.fori_loop(0, 3, body, (k, 0.0)))(key)
    expected, k = 0.0, key
    for _ in range(3):
        k, sub = random.split(k)
        expected = expected + random.normal(sub)
    np.testing.assert_allclose(total, expected, rtol=1e-6)
    slope = xt.grad(lambda x, k: x * random.normal(k))(2.0, key)
    np.testing.assert_array_equal(slope, random.normal(key))


def test_jaxpr_has_the_primitives_alone():
    jaxpr = xt.make_jaxpr(lambda k: random.uniform(k, (3,)))(random.key(0))
    names = [e.primitive.name for e in jaxpr.eqns]
    assert names == ["random_bits", "shift_right_logical", "or", "bitcast_convert_type", "sub"]
    assert "random_bits[bit_width=32 shape=(3,)]" in str(jaxpr)


def test_float64_asked_for_without_x64_warns():
    with pytest.warns(UserWarning, match="float64 is not available"):
        assert random.normal(random.key(0), dtype="float64").dtype == np.float32


@pytest.mark.parametrize("full", [xnp.full, lax.full], ids=["numpy", "lax"])
def test_arrays_filled_with_keys(full):
    """A number stands for the key all of whose words it is."""
    key = random.key(5)
    words = np.asarray(random.key_data(key))
    np.testing.assert_array_equal(random.key_data(full((3,), key)), np.broadcast_to(words, (3, 2)))
    np.testing.assert_array_equal(random.key_data(full((3,), 7, key.dtype)), np.full((3, 2), 7, np.uint32))
    assert xt.make_jaxpr(lambda k: full((3,), k))(key).eqns[0].primitive.name == "broadcast_in_dim"
    with pytest.raises(ValueError, match="Cannot convert_element_type from key<fry> to float32"):
        full((3,), key, np.float32)


@pytest.mark.parametrize("name, word", [("zeros", 0), ("ones", 1), ("empty", 0)])
def test_arrays_of_equal_keys(name, word):
    keys = random.split(random.key(0), 2)
    expected = np.full((2, 2), word, np.uint32)
    np.testing.assert_array_equal(random.key_data(getattr(xnp, name)((2,), keys.dtype)), expected)
    like = getattr(xnp, f"{name}_like")
    np.testing.assert_array_equal(random.key_data(like(keys)), expected)
    np.testing.assert_array_equal(random.key_data(xt.jit(like)(keys)), expected)


@pytest.mark.parametrize("full_like", [xnp.full_like, lax.full_like], ids=["numpy", "lax"])
def test_arrays_like_keys(full_like):
    keys, fill = random.split(random.key(0)), random.key(42)
    np.testing.assert_array_equal(random.key_data(full_like(keys, 100)), np.full((2, 2), 100, np.uint32))
    out = xt.jit(full_like)(keys, fill)
    np.testing.assert_array_equal(random.key_data(out), [random.key_data(fill)] * 2)


def test_keys_collected_by_a_scan():
    keys = random.split(random.key(0), (2, 3))
    _, out = xt.jit(lambda ks: lax.scan(lambda _, k: (None, k[::-1]), None, ks))(keys)
    np.testing.assert_array_equal(random.key_data(out), np.asarray(random.key_data(keys))[:, ::-1])


def test_the_type_of_a_key():
    struct = xt.ShapeDtypeStruct.like(random.key(0))
    assert xt.eval_shape(lambda k: k, struct) == struct == xt.ShapeDtypeStruct((), random.key(0).dtype)


def test_keys_read_out_of_bounds():
    """In mode "fill", the words are the greatest integers, as for unsigned arrays."""
    keys = random.split(random.key(0), 4)
    for read in (lambda k: k.at[100].get(mode="fill"), lambda k: k.at[np.array([7])].get(mode="fill")[0]):
        for out in (read(keys), xt.jit(read)(keys)):
            np.testing.assert_array_equal(random.key_data(out), [2**32 - 1] * 2)
    np.testing.assert_array_equal(random.key_data(keys.at[9].get(mode="fill", fill_value=3)), [3, 3])


def test_words_are_those_of_keys():
    from xtrace.lax.random_bits import random_unwrap

    for x in (np.uint32(3), xnp.arange(2)):
        with pytest.raises(TypeError, match="random_unwrap takes key array operand, got"):
            random_unwrap(x)


def test_keys_are_no_numbers_for_numpy():
    with pytest.raises(TypeError, match="JAX array with PRNGKey dtype cannot be converted to a NumPy array"):
        np.asarray(random.key(0))


@pytest.mark.parametrize("spec", [object(), 3.5, ["threefry2x32"]])
def test_what_names_no_generator(spec):
    with pytest.raises(TypeError, match="unrecognized type .* PRNG implementation"):
        random.key(0, impl=spec)


def test_arrays_of_keys_out_of_one_array_per_device():
    whole = random.split(random.key(3), 4)
    made = xt.make_array_from_single_device_arrays((4,), whole.sharding, [whole])
    assert made.dtype == whole.dtype and made.shape == (4,)
    np.testing.assert_array_equal(words(made), words(whole))
    with pytest.raises(ValueError, match="Expected shard shape"):
        xt.make_array_from_single_device_arrays((5,), whole.sharding, [whole])


def test_wide_types_that_are_asked_for():
    from xtrace.core import config

    draws = {
        "bits": (lambda key, dtype: random.bits(key, (3,), dtype), "uint64"),
        "normal": (lambda key, dtype: random.normal(key, (3,), dtype), "float64"),
        "uniform": (lambda key, dtype: random.uniform(key, (3,), dtype), "float64"),
        "randint": (lambda key, dtype: random.randint(key, (3,), 0, 9, dtype), "int64"),
    }
    for draw, dtype in draws.values():
        with pytest.warns(UserWarning, match=f"Explicitly requested dtype {dtype}"):
            assert draw(random.key(0), dtype).dtype.itemsize == 4
        with config.explicit_x64_dtypes("error"), pytest.raises(ValueError, match="Explicitly requested dtype"):
            draw(random.key(0), dtype)


def test_seed_offset():
    # Keys as JAX gives them: the offset is added in the seed's type, which may wrap around.
    from xtrace.core import config

    f = xt.jit(lambda: random.key_data(random.key(1)))
    assert f().tolist() == [0, 1]
    cases = [
        (1, [0, 8]),
        (-1, [0, 6]),
        (True, [0, 8]),
        (2**31 - 1, [0, 2**31 + 6]),
        (2**33 + 1, [0, 8]),
        (np.uint32(2**32 - 1), [0, 6]),
        (np.int8(127), [0, 2**32 - 122]),
        (xt.numpy.uint8(255), [0, 6]),
    ]
    with config.random_seed_offset(7):
        for seed, words in cases:
            assert random.key_data(random.key(seed)).tolist() == words
            assert random.PRNGKey(seed).tolist() == words
        assert random.key_data(random.key(1, impl="rbg")).tolist() == [0, 8, 0, 8]
        assert f().tolist() == [0, 8]
        assert random.key_data(xt.vmap(random.key)(np.arange(3))).tolist() == [[0, 7], [0, 8], [0, 9]]
        with xt.enable_x64(True):
            assert random.key_data(random.key(2**33 + 1)).tolist() == [2, 8]
            assert random.key_data(random.key(2**63 - 1)).tolist() == [2**31, 6]
            assert random.key_data(random.key(-1)).tolist() == [0, 6]
        # Words are no seeds.
        assert random.key_data(random.wrap_key_data(np.array([0, 1], np.uint32))).tolist() == [0, 1]
    assert f().tolist() == [0, 1]
    with config.random_seed_offset(2**31), pytest.raises(OverflowError):
        random.key(1)
    with pytest.raises((TypeError, ValueError)):
        xt.config.update("jax_random_seed_offset", 1.5)


def test_compiled_programs_take_and_return_keys_without_python():
    """The second call of a signature with keys is C++'s own, as that of one with numbers."""
    called = []

    @xt.jit
    def step(key, state):
        key, this = xt.random.split(key)
        return key, {"noise": state["noise"] + xt.random.normal(this, (2,)), "unused": state["unused"]}

    def run(key, state, profile=None):
        sys.setprofile(profile)
        try:
            for _ in range(3):
                key, state = step(key, state)
        finally:
            sys.setprofile(None)
        return key, state

    def note(frame, event, _):
        if event == "call":
            called.append(frame.f_code.co_name)

    start = xt.random.key(3), {"noise": xnp.zeros(2), "unused": xt.random.split(xt.random.key(1), 2)}
    first = run(*start)
    key, state = run(*start, profile=note)
    assert "miss" not in called
    assert key.dtype == start[0].dtype
    assert state["unused"].shape == (2,)
    np.testing.assert_array_equal(words(key), words(first[0]))
    np.testing.assert_array_equal(words(state["unused"]), words(first[1]["unused"]))
    np.testing.assert_array_equal(state["noise"], first[1]["noise"])
    with xt.disable_jit():
        expected = run(*start)
    np.testing.assert_allclose(state["noise"], expected[1]["noise"], rtol=1e-6)


def test_compiled_programs_tell_generators_apart():
    drawn = xt.jit(lambda key: (key, xt.random.bits(key)))
    for impl in ("threefry2x32", "rbg", "threefry2x32", "unsafe_rbg", "rbg"):
        key = xt.random.key(5, impl=impl)
        again, bits = drawn(key)
        assert again.dtype == key.dtype
        assert bits == xt.random.bits(key)


def test_donated_keys_are_gone():
    step = xt.jit(lambda key: xt.random.split(key, 1)[0], donate_argnums=0)
    for _ in range(2):
        key = xt.random.key(0)
        step(key)
        with pytest.raises(RuntimeError, match="deleted|donated"):
            xt.random.key_data(key) + 1
