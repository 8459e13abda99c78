"""Cases that need eight devices; run by test_multi_device.py. Printed forms are those JAX 0.12 prints."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import random
from xtrace.runtime import array, backends, mesh, shardings, transfers
from xtrace.runtime.mesh import AxisType, Mesh
from xtrace.runtime.partition_spec import PartitionSpec as P
from xtrace.runtime.shardings import GSPMDSharding, HloSharding, NamedSharding, SingleDeviceSharding

DEVICES = backends.devices()
MESH = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"))
SPLIT = NamedSharding(MESH, P("x", "y"))
VALUE = np.arange(32, dtype=np.float32).reshape(8, 4)
MESH_TEXT = "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"


def test_devices():
    assert len(DEVICES) == backends.device_count() == backends.local_device_count() == 8
    assert repr(DEVICES[3]) == "CpuDevice(id=3)"


def test_mesh():
    assert repr(MESH) == "Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))"
    assert str(MESH) == MESH_TEXT
    assert MESH is Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"))
    assert MESH.device_ids.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert dict(MESH.shape) == {"x": 4, "y": 2} and MESH.size == 8 and not MESH.is_multi_process
    assert MESH.local_mesh is MESH
    assert str(MESH.abstract_mesh) == (
        "AbstractMesh('x': 4, 'y': 2, axis_types=(Auto, Auto), device_kind=cpu, num_cores=None, platform=cpu)"
    )
    assert mesh.make_mesh((2, 2), ("a", "b")).axis_types == (AxisType.Explicit,) * 2


def test_mesh_errors():
    with pytest.raises(ValueError, match=r"^Number of devices 8 must be >= the product of mesh_shape \(4, 4\)"):
        mesh.make_mesh((4, 4), ("a", "b"))
    with pytest.raises(ValueError, match=r"devices.ndim == 1 and len\(axis_names\) == 2"):
        Mesh(np.array(DEVICES), ("x", "y"))
    with pytest.raises(ValueError, match="'x' is repeated"):
        Mesh(np.array(DEVICES).reshape(4, 2), ("x", "x"))


def test_mesh_in_effect():
    assert mesh.get_mesh().empty
    with mesh.set_mesh(MESH):
        assert mesh.get_mesh() is MESH and mesh.get_abstract_mesh() == MESH.abstract_mesh
        assert transfers.device_put(VALUE, P("x")).sharding == NamedSharding(MESH, P("x"))
    assert mesh.get_mesh().empty and mesh.get_abstract_mesh().empty
    with MESH:
        assert mesh.get_mesh() is MESH
    with pytest.raises(ValueError, match="Please set a mesh via `set_mesh`"):
        transfers.device_put(VALUE, P("x"))


def test_named_sharding():
    assert repr(SPLIT) == f"NamedSharding(mesh={MESH_TEXT}, spec=P('x', 'y'), memory_kind=device)"
    assert SPLIT == NamedSharding(MESH, P("x", "y")) and hash(SPLIT) == hash(NamedSharding(MESH, P("x", "y")))
    assert SPLIT != NamedSharding(MESH, P("x"))
    assert SPLIT.device_set == set(DEVICES) and SPLIT.num_devices == 8 and SPLIT.is_fully_addressable
    assert not SPLIT.is_fully_replicated and NamedSharding(MESH, P()).is_fully_replicated
    assert SPLIT.shard_shape((8, 4)) == (2, 2)
    assert SPLIT.devices_indices_map((8, 4))[DEVICES[3]] == (slice(2, 4), slice(2, 4))
    assert SPLIT.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    assert str(SPLIT._to_xla_hlo_sharding(2)) == "{devices=[4,2]<=[8]}"
    assert (
        str(NamedSharding(MESH, P("y"))._to_xla_hlo_sharding(2))
        == "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}"
    )
    assert str(NamedSharding(MESH, P(("y", "x")))._to_xla_hlo_sharding(2)) == "{devices=[8,1]<=[4,2]T(1,0)}"


def test_equivalence():
    replicated = GSPMDSharding(DEVICES, HloSharding.replicate())
    assert repr(replicated) == "GSPMDSharding({replicated}, memory_kind=device)"
    assert replicated == GSPMDSharding(DEVICES, HloSharding.replicate())
    assert hash(replicated) == hash(GSPMDSharding(DEVICES, HloSharding.replicate()))
    assert NamedSharding(MESH, P()).is_equivalent_to(replicated, 2)
    assert not SPLIT.is_equivalent_to(replicated, 2)
    single = SingleDeviceSharding(DEVICES[0])
    assert single.is_equivalent_to(NamedSharding(Mesh(DEVICES[:1], "x"), P()), 1)
    assert single != SingleDeviceSharding(DEVICES[1]) and single != SPLIT


@pytest.mark.parametrize(
    "spec, error, message",
    [
        (P("z"), ValueError, "Resource axis: z of P('z',) is not found in mesh: ('x', 'y')."),
        (
            P(("x", "y"), "x"),
            shardings.DuplicateSpecError,
            "A single NamedSharding spec specification can map every mesh axis to at most one positional dimension, "
            "but P(('x', 'y'), 'x') has duplicate entries for `x`",
        ),
        (
            ("x",),
            TypeError,
            "NamedSharding: `spec` must be a PartitionSpec, for example PartitionSpec('x', None); got ('x',)",
        ),
    ],
)
def test_bad_specs(spec, error, message):
    with pytest.raises(error) as raised:
        NamedSharding(MESH, spec)
    assert str(raised.value) == message


def test_shapes_that_do_not_fit():
    with pytest.raises(shardings.IndivisibleError) as raised:
        SPLIT.shard_shape((7, 4))
    assert str(raised.value) == (
        f"{SPLIT} implies that array axis 0 is partitioned 4 times, but the dimension size is 7 "
        "(full shape: (7, 4), per-dimension tiling factors: (4, 2) should evenly divide the shape)"
    )
    with pytest.raises(
        ValueError, match="only valid for values of rank at least 2, but was applied to a value of rank 1"
    ):
        transfers.device_put(np.zeros(8), SPLIT)
    with pytest.raises(shardings.IndivisibleError, match=r"^device_put: argument at x\['a'\] of type ndarray"):
        transfers.device_put({"a": np.zeros((7, 4))}, SPLIT)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4", "bool"])
@pytest.mark.parametrize("spec", [P("x", "y"), P("y"), P(), P(None, ("x",)), P(("x", "y"))])
def test_placing_and_fetching(spec, dtype):
    from xtrace.core import dtypes

    value = (VALUE % 5).astype(dtypes.as_dtype(dtype))
    x = transfers.device_put(value, NamedSharding(MESH, spec))
    assert x.committed and x.sharding.spec == spec and len(x.addressable_shards) == 8
    np.testing.assert_array_equal(np.asarray(x), value)
    for shard in x.addressable_shards:
        assert shard.data.devices() == {shard.device}
        np.testing.assert_array_equal(np.asarray(shard.data), value[shard.index])


def test_the_host_memory_is_not_aliased():
    for sharding in (SPLIT, NamedSharding(MESH, P()), DEVICES[1]):
        value = np.zeros((512, 512), np.float32)
        x = transfers.device_put(value, sharding)
        value[:] = 7
        assert np.asarray(x).max() == 0


def test_shards():
    x = transfers.device_put(VALUE, SPLIT)
    shard = x.addressable_shards[1]
    assert repr(shard) == (
        "Shard(device=CpuDevice(id=1), index=(slice(0, 2, None), slice(2, 4, None)), replica_id=0, "
        "data=[[2. 3.]\n [6. 7.]])"
    )
    assert x.addressable_data(3).tolist() == [[10, 11], [14, 15]]
    replicas = transfers.device_put(VALUE, NamedSharding(MESH, P("x"))).global_shards
    assert [s.replica_id for s in replicas] == [0, 1] * 4
    assert x.device == SPLIT and x.devices() == set(DEVICES)


def test_moving():
    x = transfers.device_put(VALUE)
    for target in (DEVICES[1], SPLIT, NamedSharding(MESH, P("y")), NamedSharding(MESH, P()), DEVICES[0], SPLIT):
        x = transfers.device_put(x, target)
        assert x.committed and x.aval is transfers.aval_of(VALUE)
        assert x.sharding == (target if isinstance(target, NamedSharding) else SingleDeviceSharding(target))
        np.testing.assert_array_equal(np.asarray(x), VALUE)
    a, b = transfers.device_put((1, 2.5), (DEVICES[2], SPLIT.update(spec=P())))
    assert a.device == DEVICES[2] and b.sharding.is_fully_replicated
    other = NamedSharding(Mesh(np.array(DEVICES[::-1]).reshape(4, 2), ("x", "y")), P("x", "y"))
    np.testing.assert_array_equal(np.asarray(transfers.device_put(x, other)), VALUE)


def test_donation_deletes_the_source():
    x = transfers.device_put(VALUE)
    y = transfers.device_put(x, DEVICES[1], donate=True)
    assert x.is_deleted() and y.tolist() == VALUE.tolist()


def test_default_device():
    from xtrace.core import config

    with config.default_device(DEVICES[5]):
        x = transfers.device_put(VALUE)
        assert x.device == DEVICES[5] and not x.committed
    assert transfers.device_put(VALUE).device == DEVICES[0]


def test_arrays_out_of_parts():
    parts = [s.data for s in transfers.device_put(VALUE, SPLIT).addressable_shards]
    x = array.make_array_from_single_device_arrays((8, 4), SPLIT, parts[::-1])
    np.testing.assert_array_equal(np.asarray(x), VALUE)
    with pytest.raises(ValueError) as raised:
        array.make_array_from_single_device_arrays((8, 4), SPLIT, parts[:3])
    assert str(raised.value) == (
        "Expected 8 per-device arrays (this is how many devices are addressable by the sharding), but got 3"
    )
    with pytest.raises(
        ValueError, match=r"Expected shard shape \(2, 4\) doesn't match .* \(2, 2\)\. Shape of Array is f"
    ):
        array.make_array_from_single_device_arrays((8, 8), SPLIT, parts)
    with pytest.raises(ValueError, match="must be from distinct devices, but they lie on devices"):
        array.make_array_from_single_device_arrays((8, 4), SPLIT, parts[:7] + parts[:1])


def test_arrays_from_callbacks():
    asked = []

    def part(index):
        asked.append(index)
        return VALUE[index]

    x = array.make_array_from_callback((8, 4), NamedSharding(MESH, P("x")), part)
    np.testing.assert_array_equal(np.asarray(x), VALUE)
    assert len(asked) == 4
    with pytest.raises(ValueError, match=r"Expected shard shape \(2, 2\) doesn't match .* \(8, 4\)"):
        array.make_array_from_callback((8, 4), SPLIT, lambda index: VALUE)
    x = array.make_array_from_process_local_data({"a": SPLIT, "b": NamedSharding(MESH, P())}, {"a": VALUE, "b": VALUE})
    np.testing.assert_array_equal(np.asarray(x["a"]), VALUE)
    assert x["b"].sharding.is_fully_replicated


def test_a_mesh_of_one_device_holds_values_of_fewer_dimensions():
    sharding = NamedSharding(Mesh(np.array(DEVICES[1:2]), ("x",)), P("x"))
    x = transfers.device_put(np.arange(16, dtype=np.float32).reshape(8, 2), sharding)
    f = xt.jit(lambda x, i: (x[i], x.sum(), x * 2))
    for _ in range(2):  # the C++ path, too
        row, total, double = f(x, 3)
        np.testing.assert_array_equal(row, [6, 7])
        assert total.sharding == NamedSharding(sharding.mesh, P()) and float(total) == 120
        assert double.sharding == sharding and row.devices() == {DEVICES[1]}
    assert [r.tolist() for r in x] == np.asarray(x).tolist()


def test_programs_run_where_their_keys_are():
    mesh = xt.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
    keys = random.split(random.key(0), 8)
    one, spread = xt.device_put(keys, xt.devices()[1]), xt.device_put(keys, NamedSharding(mesh, P("x")))
    expected = np.asarray(random.key_data(keys))
    drawn = xt.jit(lambda keys: (keys, xt.vmap(random.bits)(keys)))
    for where in (keys, one, spread, one, keys, spread):
        again, bits = drawn(where)
        assert again.sharding == bits.sharding == where.sharding
        np.testing.assert_array_equal(random.key_data(again), expected)
        assert random.fold_in(where[0], 1).devices() <= where.devices()
    with pytest.raises(ValueError, match="incompatible devices"):
        xt.jit(lambda keys, x: x)(one, xt.device_put(1.0, xt.devices()[2]))
