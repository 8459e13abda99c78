"""Named scopes in jaxprs and lowered programs."""

from __future__ import annotations

import pytest

import xtrace as xt


def stacks(f, *args):
    return [str(e.source_info.name_stack) for e in xt.make_jaxpr(f)(*args).eqns]


def test_nested_and_decorated():
    @xt.named_scope("outer")
    def f(x):
        x = x + 1
        with xt.named_scope("inner"):
            x = x * 2
        return -x

    assert stacks(f, 1) == ["outer", "outer/inner", "outer"]
    assert stacks(lambda x: x + 1, 1) == [""]
    assert stacks(xt.named_call(lambda x: x + 1, name="call"), 1) == ["call"]


def test_scopes_of_called_functions_are_their_own():
    @xt.jit
    @xt.named_scope("bar")
    def inner(x):
        return x + 1

    jaxpr = xt.make_jaxpr(xt.named_scope("foo")(lambda x: inner(x)))(1)
    (eqn,) = jaxpr.eqns
    assert eqn.source_info.name_stack == "foo"
    assert eqn.params["jaxpr"].eqns[0].source_info.name_stack == "bar"


def test_scope_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), xt.named_scope("a"):
        1 / 0  # noqa: B018
    assert stacks(lambda x: x + 1, 1) == [""]


def test_lowered_programs_show_scopes():
    @xt.jit
    @xt.named_scope("foo")
    def f(x):
        return xt.lax.while_loop(lambda x: x < 3, xt.named_scope("bar")(lambda x: x + 1), x)

    text = f.lower(1).as_text(debug_info=True)
    assert '"foo/while"' in text and '"bar/add"' in text
    assert 'op_name="' in f.lower(1).compile().as_text() and "bar/add" in f.lower(1).compile().as_text()


def test_names_are_strings():
    with pytest.raises(TypeError, match="must be a string"):
        xt.named_scope(3)
