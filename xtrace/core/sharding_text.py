"""Meshes and shardings as the compiler reads them: Shardy's text, made of their attributes alone."""

from __future__ import annotations

from typing import Any


def mesh_name(index: int) -> str:
    """The symbol of a module's mesh number `index`."""
    return f"mesh{index or ''}"


def mesh_text(mesh: Any, name: str) -> str:
    """The definition of a mesh as the symbol `name`."""
    axes = ", ".join(f'"{axis}"={size}' for axis, size in mesh.shape.items())
    return f"sdy.mesh @{name} = <[{axes}]>"


def dimensions_text(spec: Any, ndim: int) -> str:
    """How each of `ndim` dimensions is split: an axis list each, with a question mark where the compiler decides."""
    entries = list(spec)[:ndim] + [None] * (ndim - len(spec))
    dims = []
    for entry in entries:
        if entry is type(spec).UNCONSTRAINED:
            dims.append("{?}")
        else:
            axes = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
            dims.append("{" + ", ".join(f'"{a}"' for a in axes) + "}")
    return f"[{', '.join(dims)}]"


def sharding_text(sharding: Any, ndim: int, mesh_name: str) -> str:
    """The attribute of a value of rank `ndim` that has a NamedSharding."""
    return f"#sdy.sharding<@{mesh_name}, {dimensions_text(sharding.spec, ndim)}>"
