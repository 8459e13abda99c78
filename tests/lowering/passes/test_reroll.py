"""Steps that were written out one after the other become loops again, where it is asked for."""

import numpy as np
import pytest

import xtrace as xt
from tests.lowering.passes.blocks import MATRIX, X
from tests.lowering.passes.proofs import operation_by_operation
from xtrace import lax
from xtrace import numpy as jnp
from xtrace.core.jaxpr import subjaxprs

N = 6
INPUTS = np.linspace(-1, 1, N * 32, dtype=np.float32).reshape(N, 4, 8)


def loops(f, *args, exact=True):
    """The lengths of the loops that the pass makes, once values are seen to be the same (`exact`: to the bit)."""
    with xt.enable_checks(True):
        lowered = xt.jit(f, passes="+reroll").lower(*args)
    made = lowered.passes.of("reroll")
    assert made.error is None
    if exact:
        flat = xt.tree.leaves(args)
        for a, b in zip(*[operation_by_operation(j, flat) for j in (made.before, made.after)], strict=True):
            np.testing.assert_array_equal(a, b)
    got, want = lowered.compile()(*args), xt.jit(f, passes="none")(*args)
    for a, b in zip(xt.tree.leaves(got), xt.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)  # compiled, products and sums may be one operation
    assert all(["test_reroll.py" in note.where for note in made.notes])
    return [e.params["length"] for e in made.after.eqns if e.primitive.name == "scan"]


def cell(w, x, h):
    return jnp.tanh(x @ w) * 0.5 + jnp.sin(h) * h


def recurrence(w, xs, h, *, step=1):
    for x in xs[::step]:
        h = cell(w, x, h)
    return h


def test_a_recurrence_and_its_gradient():
    assert loops(recurrence, MATRIX, INPUTS, X) == [N]

    def loss(w, xs, h):
        return jnp.sum(recurrence(w, xs, h))

    forward, backward = loops(xt.grad(loss, argnums=(0, 2)), MATRIX, INPUTS, X, exact=False)
    assert forward >= N - 1 and backward >= N - 2


def test_an_integrator():
    def f(x, v):
        for _ in range(8):
            v = v - 0.1 * x * x
            x = x + 0.1 * v
        return x, v

    assert loops(f, X, X + 1) == [8]


def test_what_each_step_gives():
    def f(w, xs, h):
        seen = []
        for k in range(N):
            h = cell(w, xs[k], h)
            seen.append(h + 1)
        return seen, h, jnp.stack(seen[::-1]), seen[2] * seen[3]

    assert loops(f, MATRIX, INPUTS, X) == [N]


def test_numbers_and_slices_that_differ():
    def f(w, xs, h):
        for k in range(N):
            h = jnp.tanh(h @ w) * (1 + 0.1 * k) + lax.slice(xs, (k, 0), (k + 4, 8)) * lax.rem(k * 3, 4)
        return h

    assert loops(f, MATRIX, INPUTS.reshape(-1, 8), X) == [N]


def test_a_loop_that_reads_another_backward():
    def f(w, h):
        states = []
        for _ in range(N):
            h = jnp.tanh(h @ w) + h
            states.append(h)
        g = h
        for state in reversed(states):
            g = jnp.sin(g @ w) * state + g
        return g

    made = loops(f, MATRIX, X)
    assert made == [N, N]
    program = xt.jit(f, passes="+reroll").lower(MATRIX, X).passes.of("reroll").after
    assert [e.params["reverse"] for e in program.eqns if e.primitive.name == "scan"] == [False, True]
    assert "rev" not in {e.primitive.name for e in program.eqns}


def test_in_bodies():
    def f(w, xs, h):
        return lax.fori_loop(0, 2, lambda _, h: recurrence(w, xs, h), h)

    after = xt.jit(f, passes="+reroll").lower(MATRIX, INPUTS, X).passes.of("reroll").after
    (outer,) = [e for e in after.eqns if e.primitive.name in ("scan", "while")]
    bodies = [e.primitive.name for j in subjaxprs(outer.params) for e in j.eqns]
    assert "scan" in bodies
    assert loops(f, MATRIX, INPUTS, X, exact=False)


def with_effects(h):
    for _ in range(N):
        xt.debug.callback(lambda x: None, h[0, 0])
        h = jnp.sin(h) * h + 1
    return h


def layers(h, *ws):
    for w in ws:
        h = jnp.tanh(h @ w) + h
    return h


def two_steps_back(h):
    g = h + 1
    for _ in range(N):
        h, g = jnp.sin(g) * 2 + jnp.cos(h), h
    return h


@pytest.mark.parametrize(
    "f, args",
    [
        (with_effects, [X]),
        (layers, [X, *[MATRIX * k for k in range(1, 7)]]),
    ],
)
def test_what_stays(f, args):
    if f is with_effects:
        assert not xt.jit(f, passes="+reroll").lower(*args).passes.of("reroll").changed
    else:
        assert loops(f, *args) == []


def test_carries_of_two_steps_and_asking():
    assert loops(two_steps_back, X) in ([N], [N - 1], [N // 2], [])
    assert "reroll" not in xt.jit(recurrence).lower(MATRIX, INPUTS, X).passes.names
    assert "reroll" in xt.jit(recurrence, passes="+reroll").lower(MATRIX, INPUTS, X).passes.names
    assert xt.jit(recurrence, passes=("reroll",)).lower(MATRIX, INPUTS, X).passes.names == ("reroll",)
    with xt.config.flags["passes"]("+reroll,-constants"):
        names = xt.jit(recurrence).lower(MATRIX, INPUTS, X).passes.names
    assert "reroll" in names and "constants" not in names and "inline" in names
