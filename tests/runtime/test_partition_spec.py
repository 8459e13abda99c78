"""Printed forms are those JAX 0.12 prints."""

import pickle

import pytest

from xtrace.runtime.partition_spec import PartitionSpec as P


@pytest.mark.parametrize(
    "spec, text",
    [
        (P(), "P()"),
        (P("x"), "P('x',)"),
        (P("x", None, ("a", "b")), "P('x', None, ('a', 'b'))"),
        (P(P.UNCONSTRAINED, "x"), "P(UNCONSTRAINED, 'x')"),
        (P(("x",)), "P('x',)"),
        (P(["x", "y"]), "P(('x', 'y'),)"),
        (P(()), "P(None,)"),
        (P("x", unreduced={"y"}), "P('x', unreduced={'y'}, unreduced_kind=sum)"),
        (P("x", reduced={"y"}), "P('x', reduced={'y'})"),
    ],
)
def test_repr(spec, text):
    assert repr(spec) == text
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_equality():
    assert P("x") == P(("x",)) and hash(P("x")) == hash(P(("x",)))
    assert P("x") != P("x", None) and P("x") != ("x",)
    assert P("x", unreduced={"y"}) != P("x")


def test_sequence():
    spec = P("x", "y") + P("z")
    assert len(spec) == 3 and spec[0] == "x" and tuple(spec) == ("x", "y", "z")
    assert spec.index("y") == 1 and spec.count("z") == 1
    assert P("x").update(unreduced={"z"}).unreduced == {"z"}


def test_errors():
    with pytest.raises(ValueError) as raised:
        P("x", unreduced={"x"})
    assert str(raised.value) == (
        "partitions cannot overlap with unreduced axes passed to PartitionSpec. "
        "Got partitions: ('x',) and unreduced axes: frozenset({'x'})"
    )
    with pytest.raises(TypeError, match="must be a set of axis names"):
        P("x", reduced="y")
    with pytest.raises(TypeError, match="Expected unreduced_kind to be of type UnreducedKind"):
        P("x", unreduced={"y"}, unreduced_kind=frozenset())
