"""Descriptions of devices, there and not there."""

from __future__ import annotations

import pytest

import xtrace as xt
from xtrace.experimental import topologies
from xtrace.runtime import plugins


def test_devices_that_are_there():
    found = topologies.get_attached_topology("cpu")
    assert found.devices == xt.devices("cpu")
    mesh = topologies.make_mesh(found, (len(found.devices),), ("x",))
    assert mesh.axis_names == ("x",) and list(mesh.devices.flat) == found.devices
    with pytest.raises(ValueError, match="devices"):
        topologies.make_mesh(found, (97,), ("x",))


def test_devices_that_are_not_there():
    try:
        found = topologies.get_topology_desc("v5e:2x2", "tpu")
    except plugins.PluginError as error:
        pytest.skip(str(error))
    mesh = topologies.make_mesh(found, (2, 2), ("x", "y"))
    where = xt.NamedSharding(mesh, xt.P("x", "y"))
    compiled = xt.jit(lambda a: a @ a.T).lower(xt.ShapeDtypeStruct((8, 8), "float32", sharding=where)).compile()
    assert "HloModule" in compiled.as_text()
    again = topologies.TopologyDescription.deserialize(found.serialize())
    assert len(again.devices) == len(found.devices) == 4
    with pytest.raises(ValueError, match="can't make the topology"):
        topologies.get_topology_desc("v99:1x1")
