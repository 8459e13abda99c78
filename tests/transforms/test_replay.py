"""Equations that are recorded again: the programs are those that the function itself makes."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax, random
from xtrace import numpy as xnp
from xtrace.transforms.staging import StagingTrace

KEY = random.key(3)
CALLS = {
    "normal": lambda key, x: random.normal(key, (2, 3)),
    "uniform": lambda key, x: random.uniform(key, (3,), minval=x[0], maxval=2.5),
    "from zero": lambda key, x: random.uniform(key, (3,), minval=0.0, maxval=2.5),
    "from minus zero": lambda key, x: random.uniform(key, (3,), minval=-0.0, maxval=2.5),
    "bernoulli": lambda key, x: random.bernoulli(key, x),
    "exponential": lambda key, x: random.exponential(key, (4,)),
    "truncated": lambda key, x: random.truncated_normal(key, -1, x[1], (4,)),
    "gamma": lambda key, x: random.gamma(key, x, (2,)),
    "permuted": lambda key, x: random.permutation(key, x),
    "taken": lambda key, x: xnp.take(x, xnp.array([1, -1]), axis=0),
    "the same array twice": lambda key, x: xnp.where(x > 0.5, x, x),
    "and two": lambda key, x: xnp.where(x > 0.5, x, x + 1),
    "several results": lambda key, x: xnp.stack(xnp.frexp(x)[:1]),
    "an array that is closed over": lambda key, x: xnp.where(MASK, x, 0.0),
    "an integer": lambda key, x: xnp.where(x > 0.5, x, 1),
    "a truth value": lambda key, x: xnp.where(x > 0.5, x, True),
    "a weak float": lambda key, x: xnp.where(x > 0.5, x, 1.0),
    "minus zero": lambda key, x: xnp.where(x > 0.5, x, -0.0),
    "zero": lambda key, x: xnp.where(x > 0.5, x, 0.0),
    "a tuple of axes": lambda key, x: xnp.mean(x[None], axis=(0, 1), keepdims=True),
    "a dtype": lambda key, x: xnp.mean(x, dtype="float16"),
}
MASK = np.array([True, False])
X = np.array([0.25, 0.75], np.float32)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_later_calls_record_the_same_program(call, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(StagingTrace, "inline", lambda self, kept, fun, args, kwargs: fun(*args, **kwargs))
        plain = str(xt.make_jaxpr(call)(KEY, X))
    programs = {str(xt.make_jaxpr(lambda *args: call(*args))(KEY, X)) for _ in range(4)}
    assert programs == {plain}
    np.testing.assert_array_equal(xt.jit(call)(KEY, X), call(KEY, X))


def test_two_calls_in_one_program_are_two_lines_of_it():
    def both(key):
        first = random.normal(key, (2,))
        with xt.named_scope("inner"):
            second = random.normal(key, (2,))
        return first + second

    xt.make_jaxpr(both)(KEY)
    eqns = xt.make_jaxpr(both)(KEY).eqns
    half = len(eqns) // 2
    assert [e.primitive for e in eqns[:half]] == [e.primitive for e in eqns[half:-1]]
    assert len({e.position for e in eqns[:half]}) == 1 and eqns[0].position != eqns[half].position
    assert {e.name_stack for e in eqns[:half]} == {""} and {e.name_stack for e in eqns[half:-1]} == {"inner"}
    assert not {v for e in eqns[:half] for v in e.outvars} & {v for e in eqns[half:-1] for v in e.outvars}


def test_flags_and_types_have_programs_of_their_own():
    def call(key):
        return random.uniform(key, (3,))

    before = np.asarray(xt.jit(lambda key: call(key))(KEY))
    with xt.threefry_partitionable(False):
        other = np.asarray(xt.jit(lambda key: call(key))(KEY))
        np.testing.assert_array_equal(other, call(KEY))
    np.testing.assert_array_equal(xt.jit(lambda key: call(key))(KEY), before)
    rbg = random.key(3, impl="rbg")
    np.testing.assert_array_equal(xt.jit(lambda key: call(key))(rbg), call(rbg))


def test_derivatives_and_batches_go_through_copies():
    def loss(x, key):
        return lax.mul(random.normal(key, (2,)), x).sum()

    for _ in range(2):
        np.testing.assert_array_equal(xt.jit(xt.grad(loss))(X, KEY), random.normal(KEY, (2,)))
        keys = random.split(KEY, 3)
        np.testing.assert_array_equal(
            xt.jit(xt.vmap(lambda k: random.normal(k, (2,))))(keys), [random.normal(k, (2,)) for k in keys]
        )


def test_warnings_are_given_each_time():
    for _ in range(4):
        with pytest.warns(UserWarning, match="float64") as caught:
            xt.make_jaxpr(lambda x: xnp.mean(x, dtype="float64"))(X)  # a function traced before is not traced again
        assert {w.filename for w in caught} == {__file__}


def test_flags_have_programs_of_their_own():
    def traced(*args):
        return xt.make_jaxpr(lambda x, y: xnp.clip(x, y, 2))(*args)

    args = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    assert len({str(traced(*args)) for _ in range(4)}) == 1
    with xt.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        traced(*args)
    halves = args[0], args[1].astype(np.float16)
    assert len({str(traced(*halves)) for _ in range(4)}) == 1
    with xt.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="promotion"):
        traced(*halves)
    with xt.enable_x64(True):
        assert xt.make_jaxpr(lambda x: xnp.mean(x))(np.arange(3)).out_avals[0].dtype == np.float64
    assert xt.make_jaxpr(lambda x: xnp.mean(x))(np.arange(3)).out_avals[0].dtype == np.float32


def test_constants_of_the_program_are_told_apart_by_value():
    """An array of rank 0 that is made inside the program is a literal of it, and not a variable."""
    for make, number in [(xnp.zeros, 0.0), (xnp.ones, 1.0)] * 3:
        fun = xt.jit(lambda x, make=make: xnp.where(x > 0.5, x, make((), np.float32)))
        np.testing.assert_array_equal(fun(X), np.where(X > 0.5, X, number))
