"""Fingerprints of jaxprs: equal programs have equal ones, and programs that lower differently differ."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax
from xtrace.core.fingerprint import NoFingerprint, fingerprint
from xtrace.core.primitive import Primitive

X = np.arange(4, dtype=np.float32)


def of(fun, *args):
    return fingerprint(xt.make_jaxpr(fun)(*args).jaxpr)


def test_equal_programs():
    assert of(lambda x: xnp.sin(x) + 1, X) == of(lambda y: xnp.sin(y) + 1, X + 2)


DIFFERENT = {
    "operation": (lambda x: xnp.sin(x), lambda x: xnp.cos(x)),
    "literal": (lambda x: x + 1.0, lambda x: x + 2.0),
    "sign of zero": (lambda x: x * 0.0, lambda x: x * -0.0),
    "operand order": (lambda x: x - x[::-1], lambda x: x[::-1] - x),
    "parameter": (lambda x: lax.reduce_sum(x, (0,)), lambda x: lax.reduce_max(x, (0,))),
    "slice": (lambda x: x[:2], lambda x: x[1:3]),
    "inner jaxpr": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c + 1.0, x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: c + 2.0, x),
    ),
    "results": (lambda x: (x, x + 1), lambda x: (x + 1, x)),
    "dtype": (lambda x: x.astype(np.int32), lambda x: x.astype(np.int16)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_programs_that_differ(name):
    one, other = DIFFERENT[name]
    assert of(one, X) != of(other, X)


def test_argument_types_differ():
    prints = {of(lambda x: x + x, a) for a in (X, X[:2], X.astype(np.int32), 1.0, np.float32(1))}
    assert len(prints) == 5


def test_a_jaxpr_shared_is_not_two_that_are_equal():
    inner = xt.jit(lambda x: x * 2)

    def fresh():
        return xt.jit(lambda x: x * 2)

    shared = of(lambda x: inner(inner(x)), X)
    assert shared != of(lambda x: fresh()(fresh()(x)), X)  # lowered as one function, or as two


def test_rules_of_derivatives_do_not_matter():
    f = xt.custom_jvp(lambda x: xnp.sin(x))
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    g = xt.custom_jvp(lambda x: xnp.sin(x))
    g.defjvp(lambda primals, tangents: (g(*primals), 2 * tangents[0]))
    assert of(f, X) == of(g, X)
    assert of(xt.grad(lambda x: f(x).sum()), X) != of(xt.grad(lambda x: g(x).sum()), X)


def test_random_programs_have_fingerprints():
    def of_impl(impl):
        return of(lambda seed: xt.random.normal(xt.random.key(seed, impl=impl), (3,)), 0)

    assert of_impl("threefry2x32") == of_impl("threefry2x32") != of_impl("rbg")


def test_what_is_not_known_by_value_has_none():
    with pytest.raises(NoFingerprint, match="object"):
        fingerprint(xt.make_jaxpr(lambda x: x)(X), object())
    with pytest.raises(NoFingerprint, match="function"):
        fingerprint(xt.make_jaxpr(lambda x: x)(X), lambda: 0)
    own = Primitive("sin")
    own.def_abstract_eval(lambda aval: aval)
    with pytest.raises(NoFingerprint, match="not one of xtrace's"):
        of(lambda x: own.bind(x), X)


def test_a_lowering_rule_of_the_users_has_none(monkeypatch):
    from xtrace.lax import elementwise

    monkeypatch.setattr(elementwise.tan_p, "lower", lambda ctx, eqn, x: x)
    with pytest.raises(NoFingerprint, match="lowering rule of tan"):
        of(xnp.tan, X)


def test_a_users_subclass_of_our_records_has_none():
    class Impl(tuple):
        pass

    Impl.__module__ = "xtrace.lax.random_bits"
    with pytest.raises(NoFingerprint):
        fingerprint(xt.make_jaxpr(lambda x: x)(X), Impl())


PROGRAM = """
import numpy as np, xtrace as xt, xtrace.numpy as xnp
from xtrace.core.fingerprint import fingerprint
from xtrace import lax
def f(tree):
    y = lax.scan(lambda c, x: (c + x, xnp.sin(c)), tree["a"], xnp.ones((5, 4)))[1]
    return xt.random.normal(xt.random.key(3), (4,)) + y.sum(0)
jaxpr = xt.make_jaxpr(xt.grad(lambda t: f(t).sum()))({"a": np.ones(4, np.float32), "b": 1.0})
print(fingerprint(jaxpr, {"x", "y", "z"}, frozenset("abc")))
"""


def test_processes_agree(tmp_path):
    def run(seed, folder):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=folder, env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    found = run("1", tmp_path)
    assert len(found) == 64 and found == run("2", "/")
