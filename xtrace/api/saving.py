"""Compiled programs in files: loading one takes neither tracing nor lowering nor compiling.

The file holds native code for one kind of device and one version of the runtime. Both are checked before it is loaded.
Load only files that you trust: what is in them runs.
"""

from __future__ import annotations

import os
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.api.stages import ArgInfo, Compiled
from xtrace.api.struct import ShapeDtypeStruct
from xtrace.core import pytree, signature, tree_format
from xtrace.core.jaxpr import Jaxpr
from xtrace.core.trace import Tracer, current
from xtrace.lax import random_bits as random_bits  # noqa: F401  (makes the dtypes of keys known by name)
from xtrace.runtime import backends, cached_programs, compiling, container, jaxlib_api, lapack, shardings
from xtrace.runtime.program import Executable, Placement
from xtrace.version import __version__

_KIND = "compiled program"
#: What the machine code depends on, by its name in headers and in messages.
_CHECKED = ("platform", "platform version", "jaxlib", "device")


def to_bytes(compiled: Compiled) -> bytes:
    """The compiled program with all that is needed to call it. Raises ValueError where it can't outlive its process."""
    executable = compiled._executable
    program, placement = executable.program, executable.placement
    if program.keepalives or program.jaxpr.effects:
        raise ValueError(f"{compiled.fun_name} calls back into this process: it can't be saved.")
    if executable.compile_only:
        raise ValueError(f"{compiled.fun_name} was compiled for a device that is not here: it can't be saved.")
    where = cached_programs.environment_parts(placement, None)
    lowered = cached_programs.has_custom_calls(program) if program._module is not None else False
    if lowered:
        raise ValueError(f"{compiled.fun_name} calls functions of libraries: it can't be saved yet. Export it instead.")
    constants = [np.asarray(c) for c in program.const_args]
    header = {
        "xtrace": __version__,
        **{name: where[name] for name in _CHECKED},
        "name": compiled.fun_name,
        "in_tree": tree_format.tree_to_json(compiled.in_tree),
        "out_tree": tree_format.tree_to_json(compiled.out_tree),
        "in_avals": [tree_format.aval_to_json(a) for a in program.in_avals],
        "out_avals": [tree_format.aval_to_json(a) for a in program.out_avals],
        "kept": list(program.kept),
        "donated": list(program.donated),
        "has_layouts": program.has_layouts,
        "committed": placement.committed,
        "devices": len(placement.devices),
        "mesh": _mesh(placement),
        "arg_shardings": _specs(placement.arg_shardings),
        "out_shardings": _specs(executable.out_shardings if placement.arg_shardings else None),
        "constants": [[c.dtype.name, list(c.shape)] for c in constants],
    }
    payloads = {f"constant {i}": np.ascontiguousarray(c).tobytes() for i, c in enumerate(constants)}
    payloads["executable"] = executable.loaded.client.serialize_executable(executable.loaded)
    return container.pack(_KIND, header, payloads)


def _mesh(placement: Placement) -> list[Any] | None:
    """Axes and sizes of the one mesh that all shardings are over."""
    if placement.arg_shardings is None:
        return None
    meshes = {getattr(s, "mesh", None) for s in placement.arg_shardings}
    if len(meshes) != 1 or None in meshes:
        raise ValueError("a program over several devices can be saved where all its arguments are over one named mesh")
    (mesh,) = meshes
    return [[str(axis), size] for axis, size in mesh.shape.items()]


def _specs(given: Sequence[Any] | None) -> list[Any] | None:
    if given is None:
        return None
    if not all(isinstance(s, jaxlib_api.NamedSharding) for s in given):
        raise ValueError("a program over several devices can be saved where all its shardings are over one named mesh")
    return [[list(e) if isinstance(e, tuple) else e for e in s.spec] for s in given]


def save(compiled: Compiled, path: str | os.PathLike[str]) -> None:
    """Write a compiled program to a file, whole or not at all."""
    container.write_file(path, to_bytes(compiled))


def load(path: str | os.PathLike[str], devices: Sequence[Any] | None = None) -> LoadedCompiled:
    """Load a program that `Compiled.save` wrote.

    Raises ValueError: the file is damaged, or made for another kind of device or another version of the runtime.
    """
    with open(path, "rb") as file:
        return from_bytes(file.read(), devices, os.fspath(path))


def from_bytes(data: bytes, devices: Sequence[Any] | None = None, origin: str = "the program") -> LoadedCompiled:
    """The program that `to_bytes` wrote, loaded on `devices` (by default the first ones of its platform)."""
    try:
        header, payloads = container.unpack(_KIND, data)
    except container.ContainerError as error:
        raise ValueError(f"{origin} can't be loaded: {error}") from None
    name, count = header["name"], header["devices"]
    chosen = tuple(backends.devices(header["platform"])[:count] if devices is None else devices)
    if len(chosen) != count:
        raise ValueError(f"{origin} ({name}) was compiled for {count} devices; {len(chosen)} are given or present")
    placement = _placement(header, chosen)
    here = cached_programs.environment_parts(placement, None)
    differ = [f"{what} {header[what]!r}, here {here[what]!r}" for what in _CHECKED if header[what] != here[what]]
    if differ:
        raise ValueError(
            f"{origin} ({name}) was compiled for another place: {'; '.join(differ)}. Compile and save it here, or use "
            "xtrace.export for programs that travel."
        )
    return LoadedCompiled(header, payloads, placement)


def device_count(data: bytes) -> int:
    """How many devices a saved program runs on. Raises ValueError: the data is damaged."""
    try:
        return int(container.unpack(_KIND, data)[0]["devices"])
    except container.ContainerError as error:
        raise ValueError(f"the program can't be loaded: {error}") from None


def _placement(header: dict[str, Any], devices: tuple[Any, ...]) -> Placement:
    if header["mesh"] is None:
        return Placement(devices, shardings.single_device_sharding(devices[0]), header["committed"])
    from xtrace.runtime.mesh import Mesh
    from xtrace.runtime.partition_spec import PartitionSpec

    axes = [axis for axis, _ in header["mesh"]]
    mesh = Mesh(np.array(devices).reshape([size for _, size in header["mesh"]]), tuple(axes))

    def over(specs: list[Any]) -> tuple[Any, ...]:
        entries = [[tuple(e) if isinstance(e, list) else e for e in spec] for spec in specs]
        return tuple([jaxlib_api.NamedSharding(mesh, PartitionSpec(*e)) for e in entries])

    rest = jaxlib_api.NamedSharding(mesh, PartitionSpec())
    return Placement(devices, rest, True, over(header["arg_shardings"]), over(header["out_shardings"]))


class LoadedCompiled(Compiled):
    """A compiled program from a file. What it was made of (the function, its jaxpr) is not there."""

    def __init__(self, header: dict[str, Any], payloads: dict[str, bytes], placement: Placement) -> None:
        self._name = header["name"]
        self._in_tree = tree_format.tree_from_json(header["in_tree"])
        self._out_tree = tree_format.tree_from_json(header["out_tree"])
        program: Any = types.SimpleNamespace(
            name=self._name,
            platforms=(header["platform"],),
            in_avals=[tree_format.aval_from_json(a) for a in header["in_avals"]],
            out_avals=[tree_format.aval_from_json(a) for a in header["out_avals"]],
            kept=header["kept"],
            donated=header["donated"],
            has_layouts=header["has_layouts"],
            const_args=[
                np.frombuffer(payloads[f"constant {i}"], dtype=_dtype(dtype)).reshape(shape)
                for i, (dtype, shape) in enumerate(header["constants"])
            ],
            keepalives=[],
            ordered_effects=[],
            seconds=0.0,
            has_effects=False,
            jaxpr=Jaxpr([], [], [], []),  # what it was made of is not known
            _module=None,
        )
        self._lowered = program
        if header["platform"] == "cpu":
            lapack.ensure_for(payloads["executable"])
        loaded = placement.devices[0].client.deserialize_executable(
            payloads["executable"],
            jaxlib_api.DeviceList(placement.devices),
            compiling.compile_options(placement),
        )
        self._executable = Executable(program, placement, loaded=loaded)
        self._fast = None

    @property
    def fun_name(self) -> str:
        return self._name  # type: ignore[no-any-return]

    @property
    def in_tree(self) -> Any:
        return self._in_tree

    @property
    def out_tree(self) -> Any:
        return self._out_tree

    @property
    def in_avals(self) -> Any:
        return self.in_tree.unflatten(self._lowered.in_avals)

    @property
    def out_avals(self) -> Any:
        return self.out_tree.unflatten(self._lowered.out_avals)

    @property
    def args_info(self) -> Any:
        donated = self._lowered.donated
        return self.in_tree.unflatten([ArgInfo(a, d) for a, d in zip(self._lowered.in_avals, donated)])

    @property
    def out_info(self) -> Any:
        structs = [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in self._lowered.out_avals]
        return self.out_tree.unflatten(structs)

    @property
    def passes(self) -> Any:
        raise ValueError(
            f"what the passes did to {self._name} is not in the file that it was loaded from; read `passes` where it "
            "is compiled"
        )

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        return tuple([i for i, d in enumerate(self._lowered.donated) if d])

    def _checked_call(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        leaves, in_tree = pytree.tree_flatten((args, kwargs))
        self._check_tree(in_tree)
        names = [f"args{pytree.keystr(path)}" for path, _ in pytree.tree_flatten_with_path((args, kwargs))[0]]
        avals = [
            getattr(x, "aval", None) or signature.check_arg(x, lambda i=i: names[i], f"the compiled {self.fun_name}")
            for i, x in enumerate(leaves)
        ]
        self._check_avals(avals, self._lowered.in_avals, lambda: names)
        if current.trace is not None or any(isinstance(x, Tracer) for x in leaves):
            self._refuse_tracers()
        result = self.out_tree.unflatten(self._executable.call(leaves))
        return result, self._executable.fastpath(result), False


def _dtype(name: str) -> Any:
    from xtrace.core import dtypes

    return dtypes.as_dtype(name)
