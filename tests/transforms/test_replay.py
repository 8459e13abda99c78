"""Equations that are recorded again: the programs are those that the function itself makes."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax, random
from xtrace.random import arguments

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
}
X = np.array([0.25, 0.75], np.float32)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_second_call_records_the_same_program(call, monkeypatch):
    monkeypatch.setattr(arguments.Sampler, "inline", lambda self, key, args, static: self.fun(key, *args, **static))
    plain = str(xt.make_jaxpr(call)(KEY, X))
    monkeypatch.undo()
    programs = {str(xt.make_jaxpr(call)(KEY, X)) for _ in range(3)}
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
