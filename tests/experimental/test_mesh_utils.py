"""mesh_utils: devices in arrays, as JAX lays them out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import xtrace as xt
from xtrace.experimental import mesh_utils


class Device(NamedTuple):
    """What mesh_utils looks at."""

    id: int
    slice_index: int = 0
    process_index: int = 0
    platform: str = "cpu"
    device_kind: str = "cpu"


def _ids(mesh):
    return np.vectorize(lambda d: d.id, otypes=[int])(mesh).tolist()


def test_of_this_process():
    mesh = mesh_utils.create_device_mesh((1, 1), xt.devices()[:1])
    assert mesh.shape == (1, 1) and mesh[0, 0] is xt.devices()[0]
    x = xt.device_put(np.ones(4), xt.NamedSharding(xt.sharding.Mesh(mesh, ("a", "b")), xt.P("a")))
    assert x.sharding.mesh.shape == {"a": 1, "b": 1}
    n = xt.device_count()
    assert mesh_utils.create_device_mesh([n]).tolist() == xt.devices()
    assert mesh_utils.create_hybrid_device_mesh((n,), (1,), process_is_granule=True).tolist() == xt.devices()
    with pytest.raises(ValueError, match="does not have attribute slice_index"):
        mesh_utils.create_hybrid_device_mesh((n,), (1,))


def test_order():
    devices = [Device(i) for i in (3, 2, 1, 0)]
    assert _ids(mesh_utils.create_device_mesh((2, 2), devices)) == [[3, 2], [1, 0]]
    assert _ids(mesh_utils.create_device_mesh((1, 4), np.array(devices[::-1] + [None], object)[:4])) == [[0, 1, 2, 3]]
    gpus = [d._replace(platform="gpu") for d in devices]
    assert _ids(mesh_utils.create_device_mesh((2, 2), gpus)) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("shape", [(3,), (), (2, 4), (2, -1)])
def test_another_number(shape):
    with pytest.raises(ValueError, match=r"Number of devices 4 must equal the product of mesh_shape"):
        mesh_utils.create_device_mesh(shape, [Device(i) for i in range(4)])


def test_handlers(monkeypatch):
    seen = []

    def diagonal(shape, devices, *, contiguous_submeshes):
        seen.append((shape, contiguous_submeshes))
        return np.array([d.id for d in devices[::-1]]).reshape(shape) if shape[0] == 2 else None

    monkeypatch.setitem(mesh_utils.device_kind_handler_dict, "odd", diagonal)
    devices = [Device(i, device_kind="odd") for i in range(4)]
    assert mesh_utils.create_device_mesh((2, 2), devices, contiguous_submeshes=True).tolist() == [[3, 2], [1, 0]]
    assert _ids(mesh_utils.create_device_mesh((4,), devices)) == [0, 1, 2, 3]
    assert seen == [((2, 2), True), ((4,), False)]


# JAX's, for devices 0 to 7 of which the even ones are in slice 1.
@pytest.mark.parametrize(
    ("inner", "outer", "ids"),
    [
        ((2, 2), (2, 1), [[1, 3], [5, 7], [0, 2], [4, 6]]),
        ((2, 2), (1, 2), [[1, 3, 0, 2], [5, 7, 4, 6]]),
        ((4,), (2,), [1, 3, 5, 7, 0, 2, 4, 6]),
        ((1, 4), (1, 2), [[1, 3, 5, 7, 0, 2, 4, 6]]),
        ((2, 1, 2), (1, 2, 1), [[[1, 3], [0, 2]], [[5, 7], [4, 6]]]),
    ],
)
def test_groups(inner, outer, ids):
    devices = [Device(i, slice_index=1 - i % 2, process_index=1 - i % 2) for i in range(8)]
    assert _ids(mesh_utils.create_hybrid_device_mesh(inner, outer, devices)) == ids
    assert _ids(mesh_utils.create_hybrid_device_mesh(inner, outer, devices, process_is_granule=True)) == ids


def test_groups_in_the_order_of_devices():
    devices = [Device(i, slice_index=1 - i % 2) for i in range(4)]
    make = mesh_utils.create_hybrid_device_mesh
    assert _ids(make((2,), (2,), devices, should_sort_granules_by_key=False)) == [0, 2, 1, 3]
    assert _ids(make((2,), (2,), devices)) == [1, 3, 0, 2]
    for inner, outer, error in (
        ((2,), (3,), "Number of slices 2 must equal the product of dcn_mesh_shape"),
        ((1,), (2,), "Number of devices 2 must equal the product of mesh_shape"),
        ((2, 1), (2,), "as many axes"),
    ):
        with pytest.raises(ValueError, match=error):
            make(inner, outer, devices)
