"""Programs over several devices: what the compiler is told of shardings, and what it says of results."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from xtrace.core.sharding_text import mesh_name, sharding_text
from xtrace.runtime.jaxlib_api import GSPMDSharding, HloSharding, NamedSharding
from xtrace.runtime.partition_spec import PartitionSpec


def replicated_like(sharding: Any) -> Any:
    """A sharding over the devices of `sharding` under which each holds the whole array."""
    if isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh, PartitionSpec())
    return GSPMDSharding(sharding._internal_device_list, HloSharding.replicate())


def fitting(sharding: Any, aval: Any) -> Any:
    """The sharding of a value where others have `sharding`: the same, unless that is one of more dimensions."""
    if isinstance(sharding, NamedSharding) and len(sharding.spec) > aval.ndim:
        return replicated_like(sharding)
    return sharding


def value_shardings(shardings: Sequence[Any], avals: Sequence[Any]) -> tuple[dict[Any, str], list[dict[str, str]]]:
    """The names of meshes, and the attributes of each argument or result, for shardings over named meshes.

    A sharding of None, or one that no mesh describes, is left to the compiler.
    """
    names: dict[Any, str] = {}
    attributes: list[Any] = []
    for sharding, aval in zip(shardings, avals):
        if sharding is not None and not isinstance(sharding, NamedSharding):
            sharding = named(sharding, aval.ndim)
        if sharding is None:
            attributes.append({})
            continue
        name = names.setdefault(sharding.mesh, mesh_name(len(names)))
        attributes.append({"sdy.sharding": sharding_text(sharding, aval.ndim, name)})
    _meshes_seen.extend([mesh for mesh in names if mesh not in _meshes_seen])
    return names, attributes


_meshes_seen: list[Any] = []


def named(sharding: Any, ndim: int, mesh: Any = None) -> Any:
    """The NamedSharding equal to `sharding`, over `mesh` or a mesh seen before; None where there is none."""
    if isinstance(sharding, NamedSharding):
        return sharding
    for candidate in [mesh] if mesh is not None else list(_meshes_seen):
        if candidate._internal_device_list == sharding._internal_device_list:
            spec = _spec_of(sharding._hlo_sharding, ndim, candidate)
            if spec is not None:
                return NamedSharding(candidate, spec)
    return None


def result_sharding(op_sharding: Any, aval: Any, mesh: Any, device_list: Any) -> Any:
    """The sharding of a result as the compiler reports it, by mesh axes where that is possible."""
    if mesh not in _meshes_seen:
        _meshes_seen.append(mesh)
    hlo = HloSharding.from_proto(op_sharding)
    spec = _spec_of(hlo, aval.ndim, mesh)
    return GSPMDSharding(device_list, hlo) if spec is None else NamedSharding(mesh, spec)


def _spec_of(hlo: Any, ndim: int, mesh: Any) -> PartitionSpec | None:
    """The partition spec under which a mesh gives the sharding `hlo`: found by trying, since meshes have few axes."""
    if hlo.is_replicated():
        return PartitionSpec()
    tiles = list(hlo.tile_assignment_dimensions())[:ndim]
    for spec in _candidate_specs(tuple(tiles), tuple(mesh.shape.items())):
        if NamedSharding(mesh, spec)._to_xla_hlo_sharding(ndim) == hlo:
            return spec
    return None


@functools.lru_cache(maxsize=512)
def _candidate_specs(tiles: tuple[int, ...], axes: tuple[tuple[Any, int], ...]) -> list[PartitionSpec]:
    """Specs that split dimension i into tiles[i] parts."""

    def extend(i: int, free: tuple[tuple[Any, int], ...]) -> Iterator[tuple[Any, ...]]:
        if i == len(tiles):
            yield ()
            return
        for n in range(len(free) + 1):
            for chosen in itertools.permutations(free, n):
                if math.prod(size for _, size in chosen) == tiles[i] and all(size > 1 for _, size in chosen):
                    rest = tuple([a for a in free if a not in chosen])
                    names = tuple([name for name, _ in chosen])
                    entry = None if not names else names[0] if n == 1 else names
                    for tail in extend(i + 1, rest):
                        yield (entry, *tail)

    specs = []
    for entries in extend(0, axes):
        trimmed = list(entries)
        while trimmed and trimmed[-1] is None:
            trimmed.pop()
        specs.append(PartitionSpec(*trimmed))
    return specs
