"""vmap over values of users' own types."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax
from xtrace.transforms import vmappable


class Labelled:
    """An array whose dimensions have labels. It looks at its contents when it is made."""

    def __init__(self, labels, data):
        assert len(labels) == data.ndim
        self.labels, self.data = tuple(labels), data


class Along:
    def __init__(self, label, axis):
        self.label, self.axis = label, axis


def element(element_of, index, value, spec):
    labels = list(value.labels)
    assert labels.pop(spec.axis) == spec.label
    return Labelled(labels, element_of(value.data, spec.axis))


def together(result_of, size, value, spec):
    labels = list(value.labels)
    labels.insert(spec.axis, spec.label)
    return Labelled(labels, result_of(size, value.data, spec.axis))


xt.tree_util.register_pytree_node(Labelled, lambda x: ((x.data,), x.labels), lambda labels, xs: Labelled(labels, *xs))


@pytest.fixture(autouse=True)
def registered():
    vmappable.register_vmappable(Labelled, Along, int, element, together, None)
    yield
    vmappable.unregister_vmappable(Labelled)


M = np.arange(12.0, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["plain", "jit"])
def test_elements_and_results(wrap):
    f = wrap(lambda x: Labelled(x.labels, x.data * x.data))
    x = Labelled(["i", "j"], xt.numpy.asarray(M))
    out = xt.vmap(f, in_axes=Along("i", 0), out_axes=Along("i", 1), axis_size=3)(x)
    assert out.labels == ("j", "i")
    np.testing.assert_allclose(out.data, (M * M).T)


def test_beside_arrays():
    def f(x, y, *, z):
        return Labelled(x.labels, x.data + y + z), lax.psum(y, "k")

    x = Labelled(["i", "j"], xt.numpy.asarray(M))
    y = np.arange(3.0, dtype=np.float32)
    out, total = xt.vmap(f, in_axes=(Along("i", 0), 0), out_axes=(Along("i", 0), None), axis_name="k")(x, y, z=y)
    np.testing.assert_allclose(out.data, M + 2 * y[:, None])
    np.testing.assert_allclose(total, 3.0)


def test_the_index_of_an_element():
    seen = []

    def numbered(element_of, index, value, spec):
        seen.append(index())
        return element(element_of, index, value, spec)

    vmappable.register_vmappable(Labelled, Along, int, numbered, together, None)
    x = Labelled(["i", "j"], xt.numpy.asarray(M))
    out = xt.vmap(lambda x: x.data[0] * 0 + seen[-1], in_axes=Along("i", 0), axis_size=3)(x)
    np.testing.assert_allclose(out, [0, 1, 2])


def test_ordinary_calls_stay_as_they_are():
    np.testing.assert_allclose(xt.vmap(lambda a, b: a * b, in_axes=(0, None))(M, 2.0), 2 * M)
    with pytest.raises(ValueError, match="out_axes is None"):
        xt.vmap(lambda a: a, out_axes=None)(M)
    with pytest.raises(ValueError, match="inconsistent sizes"):
        xt.vmap(lambda a, b: a)(M, M.T)
