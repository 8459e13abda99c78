"""Meshes: devices laid out in a grid with named axes."""

from __future__ import annotations

import collections
import contextlib
import enum
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace.runtime import jaxlib_api


class AxisType(enum.Enum):
    """Who decides how arrays are split over an axis: the compiler, the types, or the program itself."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class AbstractDevice(NamedTuple):
    """The kind of devices an AbstractMesh is made of."""

    device_kind: str
    num_cores: int | None
    platform: str

    def __repr__(self) -> str:
        return f"AbstractDevice(device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform})"


def _names(axis_names: Any) -> tuple[Any, ...]:
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    if any(name is None for name in names):
        raise ValueError(f"the axis names of a Mesh can't be None; got axis_names={names}")
    return names


def _types(axis_types: Any, names: tuple[Any, ...], default: AxisType) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (default,) * len(names)
    if isinstance(axis_types, AxisType):
        axis_types = (axis_types,)
    types = tuple(axis_types)
    if not all(isinstance(t, AxisType) for t in types):
        raise TypeError(f"axis_types must be a tuple of AxisType, one per axis; got {types}")
    if len(types) != len(names):
        raise ValueError(
            f"axis_types must have one entry per axis; got {len(types)} for the {len(names)} axes {names}: {types}"
        )
    return types


class _AxesMixin:
    """What meshes with and without devices have in common."""

    axis_names: tuple[Any, ...]
    axis_types: tuple[AxisType, ...]
    axis_sizes: tuple[int, ...]
    size: int
    _hash: int

    @property
    def shape(self) -> collections.OrderedDict[Any, int]:
        """Axis name to size."""
        return collections.OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def empty(self) -> bool:
        return self.size == 0 or not self.axis_names

    @property
    def _name_to_type(self) -> dict[Any, AxisType]:
        return dict(zip(self.axis_names, self.axis_types, strict=True))

    def _axes_of(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple([n for n, t in zip(self.axis_names, self.axis_types, strict=True) if t is kind])

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        return self._axes_of(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        return self._axes_of(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        return self._axes_of(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return all(t is AxisType.Auto for t in self.axis_types)

    @property
    def are_all_axes_explicit(self) -> bool:
        return all(t is AxisType.Explicit for t in self.axis_types)

    @property
    def are_all_axes_manual(self) -> bool:
        return all(t is AxisType.Manual for t in self.axis_types)

    def __hash__(self) -> int:
        return self._hash

    def _axes_str(self) -> str:
        axes = "".join(f"{n!r}: {s}, " for n, s in zip(self.axis_names, self.axis_sizes, strict=True))
        return f"{axes}axis_types={self.axis_types}" if self.axis_types else "()"


class AbstractMesh(_AxesMixin):
    """Axis names, sizes and types without devices: what a traced program knows of a mesh.

    Args:
      axis_sizes: size of each axis.
      axis_names: name of each axis.
      axis_types: an AxisType per axis; Explicit by default.
      abstract_device: kind of device, if known.

    Example:
      >>> import xtrace as xt
      >>> xt.sharding.AbstractMesh((4, 2), ("x", "y")).size
      8
    """

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Any,
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> None:
        self.axis_names = _names(axis_names)
        self.axis_sizes = tuple([int(s) for s in axis_sizes])
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                "AbstractMesh needs as many axis_sizes as axis_names; "
                f"got axis_sizes={self.axis_sizes} and axis_names={self.axis_names}"
            )
        self.axis_types = _types(axis_types, self.axis_names, AxisType.Explicit)
        self.abstract_device = abstract_device
        self.size = math.prod(self.axis_sizes)
        self._key = (self.axis_sizes, self.axis_names, self.axis_types, abstract_device)
        self._hash = hash(self._key)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    @property
    def _internal_device_list(self) -> None:
        return None

    @property
    def _any_axis_manual(self) -> bool:
        return AxisType.Manual in self.axis_types

    def update(self, **changes: Any) -> AbstractMesh:
        """A copy with axis_sizes, axis_names, axis_types or abstract_device replaced."""
        names = changes.get("axis_names", self.axis_names)
        return AbstractMesh(
            changes.get("axis_sizes", self.axis_sizes),
            names,
            changes.get("axis_types", self.axis_types),
            abstract_device=changes.get("abstract_device", self.abstract_device),
        )

    def update_axis_types(self, name_to_type: dict[Any, AxisType]) -> AbstractMesh:
        """A copy in which the named axes have other types."""
        types = tuple([name_to_type.get(n, t) for n, t in zip(self.axis_names, self.axis_types, strict=True)])
        return self.update(axis_types=types)

    def _absent(self, what: str) -> Any:
        raise ValueError(
            f"AbstractMesh does not implement {what}: it has axes but no devices. Use a Mesh where devices are needed"
        )

    @property
    def devices(self) -> Any:
        return self._absent("devices")

    @property
    def device_ids(self) -> Any:
        return self._absent("device_ids")

    @property
    def is_multi_process(self) -> Any:
        return self._absent("is_multi_process")

    @property
    def local_devices(self) -> Any:
        return self._absent("local_devices")

    @property
    def local_mesh(self) -> Any:
        return self._absent("local_mesh")

    def __enter__(self) -> Any:
        raise RuntimeError("an AbstractMesh is no context manager; write `with use_abstract_mesh(mesh): ...`")

    def __exit__(self, *exc: Any) -> None:
        raise RuntimeError("an AbstractMesh is no context manager; write `with use_abstract_mesh(mesh): ...`")

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, AbstractMesh) and self._key == other._key)

    __hash__ = _AxesMixin.__hash__

    def __reduce__(self) -> Any:
        return (_make_abstract, self._key)

    def __repr__(self) -> str:
        device = self.abstract_device
        if device is None:
            return f"AbstractMesh({self._axes_str()})"
        return (
            f"AbstractMesh({self._axes_str()}, device_kind={device.device_kind}, "
            f"num_cores={device.num_cores}, platform={device.platform})"
        )


def _make_abstract(sizes: Any, names: Any, types: Any, device: Any) -> AbstractMesh:
    return AbstractMesh(sizes, names, types, abstract_device=device)


_meshes: dict[Any, Mesh] = {}
_meshes_lock = threading.Lock()


class Mesh(_AxesMixin):
    """Devices in a grid whose axes have names. Equal meshes are the same object.

    Args:
      devices: an array, of one dimension per axis, of devices.
      axis_names: name of each axis: a string, or a sequence of them.
      axis_types: an AxisType per axis; Auto by default.

    Raises:
      ValueError: the number of dimensions and of names differ.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.sharding.Mesh(np.array(xt.devices()[:1]), ("x",))
      Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))
    """

    devices: np.ndarray

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Mesh:
        if not isinstance(devices, np.ndarray):
            devices = np.array(devices)
        names = _names(axis_names)
        if devices.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument "
                f"(`axis_names`), but got devices.ndim == {devices.ndim} and len(axis_names) == {len(names)}."
            )
        types = _types(axis_types, names, AxisType.Auto)
        flat = tuple(devices.flat)
        key = (flat, devices.shape, names, types)
        mesh = _meshes.get(key)
        if mesh is not None:
            return mesh
        if len(set(names)) != len(names):
            repeated = next(n for n in names if names.count(n) > 1)
            raise ValueError(f"the axis names of a Mesh must differ; {repeated!r} is repeated in axis_names={names}")
        mesh = object.__new__(cls)
        grid = devices.copy()
        grid.flags.writeable = False
        mesh.devices = grid
        mesh.axis_names = names
        mesh.axis_types = types
        mesh.axis_sizes = grid.shape
        mesh.size = grid.size
        mesh._hash = hash(key)
        mesh._devices_flat = flat
        mesh._device_list = None
        mesh._abstract = None
        with _meshes_lock:
            return _meshes.setdefault(key, mesh)

    _devices_flat: tuple[Any, ...]
    _device_list: Any
    _abstract: AbstractMesh | None

    @property
    def _internal_device_list(self) -> Any:
        """The C++ device list, which C++ reads."""
        if self._device_list is None:
            self._device_list = jaxlib_api.DeviceList(self._devices_flat)
        return self._device_list

    @property
    def _flat_devices_tuple(self) -> tuple[Any, ...]:
        return self._devices_flat

    @property
    def device_ids(self) -> np.ndarray:
        """The devices' ids, in the shape of the mesh."""
        ids = np.array([d.id for d in self._devices_flat], dtype=int)
        return ids.reshape(self.devices.shape)

    @property
    def is_multi_process(self) -> bool:
        """Whether some device belongs to another process."""
        return len(self._internal_device_list.process_indices) > 1

    @property
    def local_devices(self) -> list[Any]:
        """The devices of this process, in the order of the mesh."""
        return [d for d in self._devices_flat if d.process_index == d.client.process_index()]

    @property
    def local_mesh(self) -> Mesh:
        """The block of the mesh that belongs to this process."""
        if not self._devices_flat:
            return self
        return self._local_mesh(self._devices_flat[0].client.process_index())

    def _local_mesh(self, process_index: int) -> Mesh:
        mine = np.vectorize(lambda d: d.process_index == process_index, otypes=[bool])(self.devices)
        block = self.devices[np.ix_(*[np.unique(index) for index in np.nonzero(mine)])] if mine.ndim else self.devices
        if block.size != mine.sum():
            raise ValueError(
                f"the devices of process {process_index} don't form a block of {self!r}, so there is no local mesh"
            )
        return Mesh(block, self.axis_names, self.axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        if self._abstract is None:
            device = None
            if self._devices_flat:
                first = self._devices_flat[0]
                cores = getattr(first, "num_cores", None) if first.platform == "tpu" else None
                device = AbstractDevice(first.device_kind, cores, first.platform)
            self._abstract = AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types, abstract_device=device)
        return self._abstract

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """A mesh with some of devices, axis_names, axis_types replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> Mesh:
        _entered.stack.append(_physical_mesh.swap_local(self))
        return self

    def __exit__(self, *exc: Any) -> None:
        _physical_mesh.swap_local(_entered.stack.pop())

    def __eq__(self, other: Any) -> bool:
        return self is other

    __hash__ = _AxesMixin.__hash__

    def __copy__(self) -> Mesh:
        return self

    def __deepcopy__(self, memo: Any) -> Mesh:
        return self

    def __getnewargs__(self) -> Any:
        return (self.devices, self.axis_names, self.axis_types)

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Mesh can't be pickled: its devices belong to this process. Pickle mesh.axis_sizes, mesh.axis_names and "
            "mesh.device_ids instead and build it from devices() again"
        )

    def __str__(self) -> str:
        return f"Mesh({self._axes_str()})"

    def __repr__(self) -> str:
        if not self.axis_names and not self._devices_flat:
            return "Mesh(axis_sizes=(), axis_names=())"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names!r}, axis_types={self.axis_types!r})"


empty_mesh = Mesh(np.empty((), dtype=object), ())
empty_abstract_mesh = AbstractMesh((), ())


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: Any = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """Make a mesh of the given shape from the first devices.

    Args:
      axis_sizes: size of each axis.
      axis_names: name of each axis.
      axis_types: an AxisType per axis; Explicit by default.
      devices: the devices to lay out; all devices of the default backend if None.

    Raises:
      ValueError: there are too few devices, or numbers of sizes and names differ.

    Example:
      >>> import xtrace as xt
      >>> xt.make_mesh((1,), ("batch",))
      Mesh(axis_sizes=(1,), axis_names=('batch',), axis_types=(Explicit,))
    """
    from xtrace.runtime import backends

    sizes = tuple([int(s) for s in axis_sizes])
    names = _names(axis_names)
    if len(sizes) != len(names):
        raise ValueError(
            f"make_mesh needs as many axis_sizes as axis_names; got axis_sizes={sizes} and axis_names={names}"
        )
    available = list(backends.devices() if devices is None else devices)
    needed = math.prod(sizes)
    if len(available) < needed:
        raise ValueError(
            f"Number of devices {len(available)} must be >= the product of mesh_shape {sizes}. "
            "Several CPU devices can be had with the flag num_cpu_devices"
        )
    grid = np.empty(needed, dtype=object)
    grid[:] = available[:needed]
    return Mesh(grid.reshape(sizes), names, _types(axis_types, names, AxisType.Explicit))


# ---------------------------------------------------------------------------------------------------------------
# The mesh in effect. Both are in the key of compiled calls: a program traced under another mesh is another program.

_physical_mesh = jaxlib_api.Config(
    "xtrace_physical_mesh", empty_mesh, include_in_jit_key=True, include_in_trace_context=True
)
_abstract_mesh = jaxlib_api.Config(
    "xtrace_abstract_mesh", empty_abstract_mesh, include_in_jit_key=True, include_in_trace_context=True
)


class _Entered(threading.local):
    def __init__(self) -> None:
        self.stack: list[Any] = []


_entered = _Entered()


def get_mesh() -> Mesh:
    """Return the mesh set by `set_mesh` (or entered with `with mesh:`); an empty mesh if there is none.

    Example:
      >>> import xtrace as xt
      >>> xt.sharding.get_mesh().empty
      True
    """
    return _physical_mesh.value


def get_abstract_mesh() -> AbstractMesh:
    """Return the abstract mesh in effect: set by `use_abstract_mesh` or `set_mesh`; empty if there is none."""
    return _abstract_mesh.value


@contextlib.contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[AbstractMesh]:
    """Make `mesh` the abstract mesh in effect for this thread while the `with` block runs."""
    if not isinstance(mesh, AbstractMesh):
        raise ValueError(
            f"use_abstract_mesh needs an AbstractMesh; got {type(mesh).__name__}. A Mesh has .abstract_mesh"
        )
    previous = _abstract_mesh.swap_local(mesh)
    try:
        yield mesh
    finally:
        _abstract_mesh.swap_local(previous)


class set_mesh:
    """Make `mesh` the mesh in effect: for this thread from now on, or while a `with` block runs.

    Example:
      >>> import xtrace as xt
      >>> with xt.sharding.set_mesh(xt.make_mesh((1,), ("x",))):
      ...     xt.sharding.get_mesh().axis_names
      ('x',)
    """

    def __init__(self, mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise ValueError(f"set_mesh needs a Mesh; got {type(mesh).__name__}. make_mesh makes one")
        self.mesh = mesh
        self.previous = (_physical_mesh.swap_local(mesh), _abstract_mesh.swap_local(mesh.abstract_mesh))

    def __enter__(self) -> Mesh:
        return self.mesh

    def __exit__(self, *exc: Any) -> None:
        _physical_mesh.swap_local(self.previous[0])
        _abstract_mesh.swap_local(self.previous[1])
