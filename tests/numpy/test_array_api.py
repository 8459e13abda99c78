"""The Python array API standard: what the library says about itself."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp


def test_arrays_and_tracers_lead_to_the_namespace():
    x = xnp.arange(3.0)
    assert x.__array_namespace__() is x.__array_namespace__(api_version=xnp.__array_api_version__) is xnp
    found = []
    xt.make_jaxpr(lambda t: found.append(t.__array_namespace__()) or t)(x)
    assert found == [xnp]
    with pytest.raises(ValueError, match="2021.12"):
        x.__array_namespace__(api_version="2021.12")


@pytest.mark.parametrize("x64", [False, True])
def test_dtypes_are_those_of_the_mode(x64):
    with xt.enable_x64(x64):
        info = xnp.__array_namespace_info__()
        width = 64 if x64 else 32
        assert info.default_dtypes() == {
            "real floating": np.dtype(f"float{width}"),
            "complex floating": np.dtype(f"complex{2 * width}"),
            "integral": np.dtype(f"int{width}"),
            "indexing": np.dtype(f"int{width}"),
        }
        floats = ["float32", "float64"] if x64 else ["float32"]
        assert info.dtypes(kind="real floating") == {name: np.dtype(name) for name in floats}
        assert len(info.dtypes()) == (13 if x64 else 9)
        assert info.dtypes(kind=("bool", "integral")).keys() == info.dtypes().keys() - info.dtypes(
            kind=("real floating", "complex floating")
        )
    with pytest.raises(KeyError):
        info.dtypes(kind="strings")


def test_devices_and_capabilities():
    info = xnp.__array_namespace_info__()
    assert info.default_device() is None
    assert info.devices()[0] is None and set(xt.devices()) <= set(info.devices())
    assert info.capabilities()["max dimensions"] == 64


def test_to_device():
    x = xnp.arange(3.0).to_device(xt.devices()[0])
    assert x.devices() == {xt.devices()[0]} and x.committed
    np.testing.assert_array_equal(xt.jit(lambda t: t.to_device(xt.devices()[0]) + 1)(x), [1, 2, 3])
    with pytest.raises(NotImplementedError, match="stream"):
        x.to_device(xt.devices()[0], stream=1)


@pytest.mark.parametrize("name", ["devices", "is_deleted", "unsafe_buffer_pointer"])
def test_a_tracer_has_no_buffer(name):
    with pytest.raises(xt.errors.ConcretizationTypeError, match=f"`{name}` belongs to arrays in memory"):
        xt.jit(lambda x: getattr(x, name)())(1.0)


def test_a_tracer_says_where_its_sharding_is():
    with pytest.raises(AttributeError, match=r"typeof\(x\).sharding"):
        xt.jit(lambda x: x.sharding)(1.0)


@pytest.mark.parametrize("mode", ["error", "allow"])
def test_64_bit_types_by_name_can_be_an_error(mode):
    with xt.config.flags["explicit_x64_dtypes"](mode):
        with pytest.raises(ValueError, match="float64 in zeros"):
            xnp.zeros(2, "float64")
        with pytest.raises(ValueError, match="float64 in normal"):
            xt.random.normal(xt.random.key(0), (2,), "float64")
