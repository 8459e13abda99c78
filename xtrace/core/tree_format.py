"""Pytree structures and types of arrays in plain JSON, for programs that are kept in files or sent elsewhere.

Tuples, lists, dicts and None are known. Named tuples and other registered nodes are written under the name that
they are given with `register_namedtuple_serialization` or `register_pytree_node_serialization`.
"""

from __future__ import annotations

import base64
import collections
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from xtrace.core import dtypes, pytree
from xtrace.core.avals import ShapedArray

T = TypeVar("T")


class _Node(NamedTuple):
    kind: type
    name: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    build: Callable[[Any, Sequence[Any]], Any]


_by_type: dict[type, _Node] = {}
_by_name: dict[str, _Node] = {}


def _is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def register_pytree_node_serialization(
    nodetype: type[T],
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type[T]:
    """Say how pytree nodes of a registered type are written into serialized programs and read back.

    Args:
      nodetype: a type registered as a pytree node.
      serialized_name: the name it has in serialized programs; the same wherever they are read.
      serialize_auxdata: auxiliary data -> bytes.
      deserialize_auxdata: the inverse.
      from_children: (auxiliary data, children) -> node; by default the function the type was registered with.

    Returns:
      `nodetype`.

    Raises:
      ValueError: the type or the name is registered already.
    """
    if nodetype in _by_type:
        raise ValueError(
            f"Duplicate serialization registration of {nodetype}: it is {_by_type[nodetype].name!r} already."
        )
    if serialized_name in _by_name:
        raise ValueError(
            f"Duplicate serialization registration for serialized_name {serialized_name!r}: it names "
            f"{_by_name[serialized_name].kind} already."
        )
    build = from_children or _registered_build(nodetype)
    node = _Node(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, build)
    _by_type[nodetype] = _by_name[serialized_name] = node
    return nodetype


def _registered_build(kind: type) -> Callable[[Any, Sequence[Any]], Any]:
    def build(aux: Any, children: Sequence[Any]) -> Any:
        leaf_trees = [pytree.tree_structure(0)] * len(children)
        tree = type(leaf_trees[0] if leaf_trees else pytree.tree_structure(0)).from_node_data_and_children(
            pytree.default_registry, (kind, aux), leaf_trees
        )
        return tree.unflatten(children)

    return build


def register_namedtuple_serialization(nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Say under which name a named tuple's type is written into serialized programs.

    Args:
      nodetype: a class made by collections.namedtuple or typing.NamedTuple.
      serialized_name: the name it has in serialized programs; the same wherever they are read.

    Returns:
      `nodetype`.

    Raises:
      ValueError: it is no named tuple, or the type or the name is registered already.

    >>> import xtrace as xt, collections
    >>> Point = collections.namedtuple("Point", "x y")
    >>> _ = xt.export.register_namedtuple_serialization(Point, serialized_name="example.Point")
    """
    if not _is_namedtuple(nodetype):
        raise ValueError(f"Use register_pytree_node_serialization for types other than named tuples; got {nodetype}.")

    def build(aux: Any, children: Sequence[Any]) -> Any:
        return nodetype(*children)

    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda aux: b"",
        deserialize_auxdata=lambda data: None,
        from_children=build,
    )


def tree_to_json(tree: Any) -> Any:
    """The structure as plain values. Raises ValueError for a node type without a registered name."""
    data = tree.node_data()
    children = tree.children()
    if data is None:
        return "*"
    kind, aux = data
    inner = [tree_to_json(c) for c in children]
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return {kind.__name__: inner}
    if kind in (dict, collections.OrderedDict):
        keys = list(aux)
        if not all(type(k) in (str, int) for k in keys):
            raise ValueError(f"serialized programs take dicts with str and int keys; got {keys}")
        return {"dict" if kind is dict else "ordered": [keys, inner]}
    node = _by_type.get(kind)
    if node is None:
        how = "register_namedtuple_serialization" if _is_namedtuple(kind) else "register_pytree_node_serialization"
        raise ValueError(
            f"Cannot serialize a pytree node of type {kind}: unregistered. Call xtrace.export.{how} for it, here and "
            "where the program is loaded."
        )
    return {"node": [node.name, base64.b64encode(node.write(aux)).decode(), inner]}


def tree_from_json(plain: Any) -> Any:
    """The structure that `tree_to_json` wrote."""
    return pytree.tree_structure(_instance(plain))


def _instance(plain: Any) -> Any:
    """A value of the structure, with 0 for leaves."""
    if plain == "*":
        return 0
    if plain is None:
        return None
    ((kind, content),) = plain.items()
    if kind == "tuple":
        return tuple([_instance(c) for c in content])
    if kind == "list":
        return [_instance(c) for c in content]
    if kind in ("dict", "ordered"):
        pairs = zip(content[0], map(_instance, content[1]))
        return dict(pairs) if kind == "dict" else collections.OrderedDict(pairs)
    name, aux, children = content
    node = _by_name.get(name)
    if node is None:
        raise ValueError(
            f"the program has a pytree node named {name!r}, which is not registered here: call "
            "register_pytree_node_serialization (or register_namedtuple_serialization) before loading it"
        )
    return node.build(node.read(base64.b64decode(aux)), [_instance(c) for c in children])


def aval_to_json(aval: ShapedArray) -> list[Any]:
    """Shape, dtype and weak type as plain values."""
    name = "float0" if aval.dtype == dtypes.float0 else aval.dtype.name
    return [list(aval.shape), name, aval.weak_type]


def aval_from_json(plain: Any) -> ShapedArray:
    """The aval that `aval_to_json` wrote."""
    shape, name, weak = plain
    dtype: Any = dtypes.extended_by_name.get(name)
    if dtype is None:
        dtype = dtypes.float0 if name == "float0" else dtypes.as_dtype(name)
    return ShapedArray(tuple(shape), dtype, weak)


__all__ = ["register_namedtuple_serialization", "register_pytree_node_serialization"]
