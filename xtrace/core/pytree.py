"""Pytrees: nested containers with arrays, or anything else, at the leaves.

None, tuple, list, dict, namedtuple, OrderedDict and defaultdict are containers from the start; `pytree_nodes`
registers further classes. Flattening is jaxlib's C++ code. The registry is ours and not the process-wide one of
jaxlib, where a class can be registered once only: two frontends in one process would collide over OrderedDict.
"""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from xtrace.core import statics
from xtrace.runtime import jaxlib_api

_cpp = jaxlib_api.pytree

if TYPE_CHECKING:  # jaxlib's classes have no usable stubs
    PyTreeDef: TypeAlias = Any
else:
    PyTreeDef = _cpp.PyTreeDef
SequenceKey = _cpp.SequenceKey
DictKey = _cpp.DictKey
GetAttrKey = _cpp.GetAttrKey
FlattenedIndexKey = _cpp.FlattenedIndexKey

#: One step of the way to a leaf: SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey, or a class's own hashable key.
KeyEntry = TypeVar("KeyEntry", bound=Hashable)
#: The way from the root of a tree to a leaf.
KeyPath = tuple[KeyEntry, ...]

LeafPredicate = Callable[[Any], bool]
#: A LeafPredicate, or a function of (path, node) where `is_leaf_takes_path`.
PathPredicate = Callable[..., bool]

default_registry = _cpp.PyTreeRegistry()
# Treedefs pickle with a reference to their registry, found by these two names.
default_registry.__module__ = __name__
default_registry.__name__ = "default_registry"

#: The same containers, except that None is a leaf: for trees of axes and shardings, where None is a value.
none_leaf_registry = _cpp.PyTreeRegistry(enable_none=False)
none_leaf_registry.__module__ = __name__
none_leaf_registry.__name__ = "none_leaf_registry"

#: The same containers and arrays of keys, by their words: what the C++ that runs compiled programs takes arguments
#: apart with and puts results together. It knows no arrays but jaxlib's own.
dispatch_registry = _cpp.PyTreeRegistry()

_REGISTRIES = (default_registry, none_leaf_registry, dispatch_registry)

_flatten = default_registry.flatten
_flatten_with_path = default_registry.flatten_with_path


def register_node(
    cls: type,
    to_iterable: Callable[[Any], tuple[Iterable[Any], Any]],
    from_iterable: Callable[[Any, Any], Any],
    to_iterable_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make `cls` a container in every registry."""
    if not isinstance(cls, type):
        raise TypeError(f"a pytree node type must be a class; got {cls!r}")
    for fun, name in (to_iterable, "flatten_func"), (from_iterable, "unflatten_func"):
        if not callable(fun):
            statics.refuse(name, fun, "a function")
    if to_iterable_with_keys is not None and not callable(to_iterable_with_keys):
        statics.refuse("flatten_with_keys_func", to_iterable_with_keys, "a function")
    for registry in _REGISTRIES:
        registry.register_node(cls, to_iterable, from_iterable, to_iterable_with_keys)


def register_dataclass_node(cls: type, data_fields: list[str], meta_fields: list[str]) -> None:
    """Make `cls` a container that C++ reads by attribute and builds by keyword, in every registry."""
    for registry in _REGISTRIES:
        registry.register_dataclass_node(cls, data_fields, meta_fields)


# ---------------------------------------------------------------------------------------------------------------
# Flatten, unflatten, map


def tree_flatten(tree: Any, is_leaf: LeafPredicate | None = None) -> tuple[list[Any], PyTreeDef]:
    """Take a tree apart into its leaves and its structure.

    Args:
      tree: any pytree. Dictionaries are read in the order of their sorted keys; None has no leaves.
      is_leaf: called on every node on the way down; where it returns True the node counts as a leaf.

    Returns:
      (leaves, treedef), from which `tree_unflatten` makes the tree again.

    Raises:
      ValueError: a dictionary's keys cannot be sorted.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_flatten({"w": [1, 2], "b": 3})
      ([3, 1, 2], PyTreeDef({'b': *, 'w': [*, *]}))
    """
    try:
        return _flatten(tree, is_leaf)
    except (ValueError, TypeError) as error:
        raise _explained(error, tree, is_leaf) from error.__cause__


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build the tree of structure `treedef` with the given leaves.

    Args:
      treedef: a structure, from `tree_flatten` or `tree_structure`.
      leaves: as many values as the structure has leaves.

    Returns:
      The tree.

    Raises:
      ValueError: too few or too many leaves.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_unflatten(pytree.tree_structure({"b": 0, "w": (0, 0)}), "xyz")
      {'b': 'x', 'w': ('y', 'z')}
    """
    try:
        unflatten = treedef.unflatten
    except AttributeError:
        raise TypeError(
            f"tree_unflatten needs a PyTreeDef as its first argument, the leaves as its second; "
            f"got {type(treedef).__name__} and {type(leaves).__name__}"
        ) from None
    if not isinstance(leaves, Iterable):
        statics.refuse("leaves", leaves, "a sequence")
    return unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: LeafPredicate | None = None) -> list[Any]:
    """Return the leaves of a tree, in the order of `tree_flatten`.

    Args:
      tree: any pytree.
      is_leaf: called on every node on the way down; where it returns True the node counts as a leaf.

    Returns:
      The list of leaves.

    Raises:
      ValueError: a container in the tree can't be flattened.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_leaves([1, (2, None), {"a": 3}])
      [1, 2, 3]
    """
    try:
        return _flatten(tree, is_leaf)[0]
    except (ValueError, TypeError) as error:
        raise _explained(error, tree, is_leaf) from error.__cause__


def tree_structure(tree: Any, is_leaf: LeafPredicate | None = None) -> PyTreeDef:
    """Return the structure of a tree: its containers and their metadata, without the leaves.

    Args:
      tree: any pytree.
      is_leaf: called on every node on the way down; where it returns True the node counts as a leaf.

    Returns:
      A PyTreeDef: hashable, comparable, picklable.

    Raises:
      ValueError: a container in the tree can't be flattened.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_structure([1, (2, None)])
      PyTreeDef([*, (*, None)])
    """
    try:
        return _flatten(tree, is_leaf)[1]
    except (ValueError, TypeError) as error:
        raise _explained(error, tree, is_leaf) from error.__cause__


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: LeafPredicate | None = None) -> Any:
    """Apply a function to every leaf and return the tree of the results.

    Args:
      f: takes one leaf of `tree` and, of each tree in `rest`, what stands at the same place.
      tree: gives the structure of the result.
      *rest: trees with the same structure, or with subtrees where `tree` has leaves.
      is_leaf: called on every node of `tree` on the way down; where it returns True the node counts as a leaf.

    Returns:
      A tree with the structure of `tree`.

    Raises:
      ValueError: a tree in `rest` differs from `tree`; the message says where and how.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
      {'a': 11, 'b': (22, 33)}
    """
    try:
        leaves, treedef = _flatten(tree, is_leaf)
    except (ValueError, TypeError) as error:
        raise _explained(error, tree, is_leaf) from error.__cause__
    if not callable(f):
        statics.refuse("f", f, "a function")
    # List comprehensions, not map(): a StopIteration from f must not pass for the end of the leaves.
    if not rest:
        return treedef.unflatten([f(x) for x in leaves])
    if len(rest) == 1:
        others = _flatten_up_to(treedef, tree, rest[0], "tree_map", 2, is_leaf)
        return treedef.unflatten([f(x, y) for x, y in zip(leaves, others, strict=True)])
    columns = [_flatten_up_to(treedef, tree, r, "tree_map", i, is_leaf) for i, r in enumerate(rest, 2)]
    return treedef.unflatten([f(*xs) for xs in zip(leaves, *columns, strict=True)])


def _flatten_up_to(
    treedef: PyTreeDef, tree: Any, other: Any, caller: str, position: int, is_leaf: LeafPredicate | None
) -> list[Any]:
    """Return what `other` has at each leaf of `tree`; where they differ, say so in the caller's terms."""
    try:
        return treedef.flatten_up_to(other)
    except ValueError as error:
        from xtrace.core import pytree_errors

        message = pytree_errors.mismatch_message(
            tree, tree_structure(other), caller, "tree 1", f"tree {position}", is_leaf
        )
        if message is None:  # not a mismatch: a class's own flatten function failed
            raise error from error.__cause__
        raise ValueError(message) from None


def _explained(error: Exception, tree: Any, is_leaf: Any, with_path: bool = False) -> Exception:
    """Return jaxlib's error about unsortable keys with the path and the keys in it, any other error as it is."""
    if is_leaf is not None:
        statics.check_callable("is_leaf", is_leaf)
    if not isinstance(error, ValueError):
        return error if "is_leaf" not in str(error) else TypeError(f"is_leaf must return True or False: {error}")
    from xtrace.core import pytree_errors

    return pytree_errors.explain_flatten(error, tree, is_leaf, with_path)


# ---------------------------------------------------------------------------------------------------------------
# Key paths


def check_treedef(treedef: Any, name: str) -> None:
    """Raise TypeError unless the argument `name` is a structure."""
    if not isinstance(treedef, _cpp.PyTreeDef):
        statics.refuse(name, treedef, "a PyTreeDef, which tree_structure returns,")


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Write a key path as text: as the Python expression that reads the leaf, or as bare names.

    Args:
      keys: a key path.
      simple: write `0`, `a`, `b` instead of `[0]`, `['a']`, `.b`.
      separator: goes between the parts.

    Returns:
      The text.

    Example:
      >>> from xtrace.core import pytree
      >>> path = (pytree.SequenceKey(0), pytree.DictKey("a"), pytree.GetAttrKey("b"))
      >>> pytree.keystr(path)
      "[0]['a'].b"
      >>> pytree.keystr(path, simple=True, separator="/")
      '0/a/b'
    """
    statics.check_instance(separator, str, "separator", "a string")
    if not isinstance(keys, Iterable):
        statics.refuse("keys", keys, "a key path")
    return separator.join([_simple_key(k) if simple else str(k) for k in keys])


_KEY_CONTENT: dict[type, Callable[[Any], Any]] = {
    SequenceKey: operator.attrgetter("idx"),
    DictKey: operator.attrgetter("key"),
    GetAttrKey: operator.attrgetter("name"),
    FlattenedIndexKey: operator.attrgetter("key"),
}


def _simple_key(key: Any) -> str:
    content = _KEY_CONTENT.get(type(key))
    return str(key if content is None else content(key))


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Take a tree apart into its leaves, each with the path that leads to it, and its structure.

    Args:
      tree: any pytree.
      is_leaf: called on every node on the way down; where it returns True the node counts as a leaf.
      is_leaf_takes_path: call `is_leaf(path, node)` instead of `is_leaf(node)`.

    Returns:
      ([(path, leaf), ...], treedef).

    Raises:
      ValueError: a dictionary's keys cannot be sorted.

    Example:
      >>> from xtrace.core import pytree
      >>> pairs, treedef = pytree.tree_flatten_with_path({"w": [1, 2], "b": 3})
      >>> [(pytree.keystr(path), leaf) for path, leaf in pairs]
      [("['b']", 3), ("['w'][0]", 1), ("['w'][1]", 2)]
    """
    predicate = is_leaf if is_leaf is None or is_leaf_takes_path else lambda _, node: is_leaf(node)
    try:
        return _flatten_with_path(tree, predicate)
    except (ValueError, TypeError) as error:
        if is_leaf is not None:
            statics.check_callable("is_leaf", is_leaf)
        raise _explained(error, tree, predicate, with_path=True) from error.__cause__


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree, each with the path that leads to it.

    Args:
      tree: any pytree.
      is_leaf: called on every node on the way down; where it returns True the node counts as a leaf.
      is_leaf_takes_path: call `is_leaf(path, node)` instead of `is_leaf(node)`.

    Returns:
      [(path, leaf), ...].

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_leaves_with_path([5, {"a": 6}])
      [((SequenceKey(idx=0),), 5), ((SequenceKey(idx=1), DictKey(key='a')), 6)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: PathPredicate | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply a function to every leaf and the path that leads to it, and return the tree of the results.

    Args:
      f: takes a path, one leaf of `tree` and, of each tree in `rest`, what stands at the same place.
      tree: gives the structure of the result.
      *rest: trees with the same structure, or with subtrees where `tree` has leaves.
      is_leaf: called on every node of `tree` on the way down; where it returns True the node counts as a leaf.
      is_leaf_takes_path: call `is_leaf(path, node)` instead of `is_leaf(node)`.

    Returns:
      A tree with the structure of `tree`.

    Raises:
      ValueError: a tree in `rest` differs from `tree`; the message says where and how.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_map_with_path(lambda path, x: pytree.keystr(path) + f"={x}", {"a": 1, "b": [2]})
      {'a': "['a']=1", 'b': ["['b'][0]=2"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    if not callable(f):
        statics.refuse("f", f, "a function")
    if not rest:
        return treedef.unflatten([f(path, x) for path, x in pairs])
    predicate = None
    if is_leaf is not None:  # for messages only: the predicate on values of a tree whose leaves are known
        leaf_ids = {id(x) for _, x in pairs}
        predicate = lambda node: id(node) in leaf_ids  # noqa: E731
    columns = [_flatten_up_to(treedef, tree, r, "tree_map_with_path", i, predicate) for i, r in enumerate(rest, 2)]
    return treedef.unflatten([f(*pair, *xs) for pair, *xs in zip(pairs, *columns, strict=True)])


# ---------------------------------------------------------------------------------------------------------------
# Reductions and rearrangements

_MISSING: Any = type("_Missing", (), {"__repr__": lambda self: "<none>"})()


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _MISSING, is_leaf: LeafPredicate | None = None
) -> Any:
    """Fold the leaves from left to right, as functools.reduce does a list.

    Args:
      function: takes the value so far and a leaf.
      tree: any pytree.
      initializer: the first value so far; without it, the first leaf.
      is_leaf: called on every node on the way down; where it returns True the node counts as a leaf.

    Returns:
      The last value.

    Raises:
      TypeError: a tree without leaves and no initializer.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]}, 10)
      16
    """
    leaves = tree_leaves(tree, is_leaf)
    if not callable(function):
        statics.refuse("function", function, "a function")
    if initializer is not _MISSING:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce of a tree without leaves needs an initializer: tree_reduce(f, tree, initializer)")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: LeafPredicate | None = None,
) -> Any:
    """Combine the leaves by an associative operation, in a balanced tree of logarithmic depth.

    Args:
      operation: takes two leaves or partial results, the left one first.
      tree: any pytree.
      identity: the result for a tree without leaves.
      is_leaf: called on every node on the way down; where it returns True the node counts as a leaf.

    Returns:
      The combined value.

    Raises:
      TypeError: a tree without leaves and no identity.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_reduce_associative(lambda x, y: f"({x}{y})", ["a", "b", "c", "d"])
      '((ab)(cd))'
    """
    leaves = tree_leaves(tree, is_leaf)
    if not callable(operation):
        statics.refuse("operation", operation, "a function")
    if leaves:
        return _combine(operation, leaves)
    if identity is _MISSING:
        raise TypeError("tree_reduce_associative of a tree without leaves needs an identity: pass identity=...")
    return identity


def _combine(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return operation(_combine(operation, values[:half]), _combine(operation, values[half:]))


def tree_all(tree: Any, *, is_leaf: LeafPredicate | None = None) -> bool:
    """Return whether every leaf is true.

    Args:
      tree: any pytree.
      is_leaf: called on every node on the way down; where it returns True the node counts as a leaf.

    Returns:
      A bool; True for a tree without leaves.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.tree_all({"a": True, "b": [1, 0]})
      False
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees inside out: a list of pairs becomes a pair of lists.

    Args:
      outer_treedef: the structure outside before, inside after.
      inner_treedef: the structure inside before, outside after; None: that of the first inner tree.
      pytree_to_transpose: a tree of structure outer composed with inner.

    Returns:
      The tree of structure inner composed with outer.

    Raises:
      TypeError: the tree has another structure.
      ValueError: a structure has no leaves, so there is nothing to transpose.

    Example:
      >>> from xtrace.core import pytree
      >>> outer, inner = pytree.tree_structure([0, 0]), pytree.tree_structure((0, 0))
      >>> pytree.tree_transpose(outer, inner, [(1, 2), (3, 4)])
      ([1, 3], [2, 4])
    """
    check_treedef(outer_treedef, "outer_treedef")
    if inner_treedef is not None:
        check_treedef(inner_treedef, "inner_treedef")
    leaves, treedef = tree_flatten(pytree_to_transpose)
    outer_size = outer_treedef.num_leaves
    if inner_treedef is None:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        if not subtrees:
            raise ValueError(f"tree_transpose cannot infer inner_treedef: outer_treedef {outer_treedef} has no leaves")
        inner_treedef = tree_structure(subtrees[0])
    inner_size = inner_treedef.num_leaves
    if not inner_size or not outer_size:
        empty = "outer_treedef" if not outer_size else "inner_treedef"
        raise ValueError(
            f"tree_transpose needs structures that have leaves, but {empty} has none "
            f"(outer {outer_treedef}, inner {inner_treedef})"
        )
    if treedef != outer_treedef.compose(inner_treedef):
        _check_composed(treedef, outer_treedef, inner_treedef)
    columns = [leaves[i::inner_size] for i in range(inner_size)]
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


def _check_composed(treedef: PyTreeDef, outer: PyTreeDef, inner: PyTreeDef) -> None:
    """Raise TypeError unless a tree of structure `outer` with trees of structure `inner` in it has this treedef.

    Composed treedefs don't tell if a class computes its metadata from its contents, as one that caches their structure.
    """
    leaf = inner.unflatten(range(inner.num_leaves))
    if treedef != tree_structure(outer.unflatten([leaf] * outer.num_leaves)):
        raise TypeError(
            "Mismatch in tree_transpose: the tree's structure is not outer_treedef composed with inner_treedef\n"
            f"  tree: {treedef}\n  expected: {outer.compose(inner)}"
        )


# ---------------------------------------------------------------------------------------------------------------
# Structures, and single levels of trees


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children of a structure's root.

    Args:
      treedef: a structure.

    Returns:
      One structure per child; an empty list for a leaf.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.treedef_children(pytree.tree_structure([1, (2, None)]))
      [PyTreeDef(*), PyTreeDef((*, None))]
    """
    check_treedef(treedef, "treedef")
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a structure is one node: a leaf, or a container without children such as None.

    Args:
      treedef: a structure.

    Returns:
      A bool.

    Example:
      >>> from xtrace.core import pytree
      >>> [pytree.treedef_is_leaf(pytree.tree_structure(t)) for t in (1, None, [1])]
      [True, True, False]
    """
    check_treedef(treedef, "treedef")
    return treedef.num_nodes == 1


def treedef_is_strict_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a structure is one leaf; unlike `treedef_is_leaf`, False for None and empty containers."""
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple whose elements have the given structures.

    Args:
      treedefs: structures.

    Returns:
      A structure.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.treedef_tuple([pytree.tree_structure(1), pytree.tree_structure([2])])
      PyTreeDef((*, [*]))
    """
    if not isinstance(treedefs, Iterable):
        statics.refuse("treedefs", treedefs, "a sequence of PyTreeDefs")
    structures = list(treedefs)
    for t in structures:  # None in their place would crash the process
        check_treedef(t, "treedefs")
    return _cpp.treedef_tuple(default_registry, structures)


def all_leaves(iterable: Iterable[Any], is_leaf: LeafPredicate | None = None) -> bool:
    """Return whether none of the values is a container.

    Args:
      iterable: values.
      is_leaf: values for which it returns True count as leaves.

    Returns:
      A bool.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.all_leaves([1, "a"]), pytree.all_leaves([1, [2]]), pytree.all_leaves([1, None])
      (True, False, False)
    """
    if not isinstance(iterable, Iterable):
        statics.refuse("iterable", iterable, "an iterable")
    if is_leaf is None:
        return _cpp.all_leaves(default_registry, iterable)
    return all([treedef_is_strict_leaf(tree_structure(x, is_leaf)) for x in iterable])


def is_tree_node(typ: type) -> bool:
    """Return whether values of a type are containers.

    Args:
      typ: a class.

    Returns:
      A bool. Namedtuples are containers without being registered.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.is_tree_node(list), pytree.is_tree_node(int)
      (True, False)
    """
    statics.check_instance(typ, type, "typ", "a class")
    return default_registry.is_node(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """Return a container's children and metadata.

    Args:
      tree: a container.

    Returns:
      (children, metadata).

    Raises:
      ValueError: `tree` is a leaf.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.flatten_one_level({"b": [1], "a": 2})
      ((2, [1]), ('a', 'b'))
    """
    found = default_registry.flatten_one_level(tree)
    if found is None:
        raise ValueError(f"flatten_one_level needs a container; got a leaf of type {type(tree).__name__}")
    return found


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Return a container's children, each with its key, and its metadata.

    Args:
      tree: a container.

    Returns:
      (((key, child), ...), metadata).

    Raises:
      ValueError: `tree` is a leaf.

    Example:
      >>> from xtrace.core import pytree
      >>> pytree.flatten_one_level_with_keys({"b": [1], "a": 2})
      (((DictKey(key='a'), 2), (DictKey(key='b'), [1])), ('a', 'b'))
    """
    found = default_registry.flatten_one_level_with_keys(tree)
    if found is None:
        raise ValueError(f"flatten_one_level_with_keys needs a container; got a leaf of type {type(tree).__name__}")
    return found


# Ordered as the user made them: their order is part of what they are.
register_node(
    OrderedDict,
    lambda d: (tuple(d.values()), tuple(d)),
    lambda keys, values: OrderedDict(zip(keys, values, strict=True)),
    lambda d: (tuple([(DictKey(k), v) for k, v in d.items()]), tuple(d)),
)


def _sorted_items(d: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return sorted(d.items(), key=operator.itemgetter(0))


def _flatten_defaultdict(d: defaultdict[Any, Any]) -> tuple[tuple[Any, ...], Any]:
    items = _sorted_items(d)
    return tuple([v for _, v in items]), (d.default_factory, tuple([k for k, _ in items]))


def _flatten_defaultdict_with_keys(d: defaultdict[Any, Any]) -> tuple[tuple[tuple[Any, Any], ...], Any]:
    items = _sorted_items(d)
    return tuple([(DictKey(k), v) for k, v in items]), (d.default_factory, tuple([k for k, _ in items]))


register_node(
    defaultdict,
    _flatten_defaultdict,
    lambda meta, values: defaultdict(meta[0], zip(meta[1], values, strict=True)),
    _flatten_defaultdict_with_keys,
)
