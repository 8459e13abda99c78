"""Prefixes: pytrees whose leaves stand for whole subtrees of another, as axes and shardings are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xtrace.core import pytree
from xtrace.core.pytree import LeafPredicate, PyTreeDef


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: LeafPredicate | None = None) -> list[Any]:
    """Repeat each leaf of a prefix for every leaf it stands for.

    Args:
      prefix_tree: a tree with leaves where `full_tree` has leaves or subtrees.
      full_tree: the larger tree.
      is_leaf: says which nodes of `prefix_tree` count as leaves.

    Returns:
      One value per leaf of `full_tree`.

    Raises:
      ValueError: `prefix_tree` is not a prefix of `full_tree`; the message says where and how.

    Example:
      >>> from xtrace.core import pytree_prefixes
      >>> pytree_prefixes.broadcast_prefix({"a": 0, "b": 1}, {"a": [10, 20], "b": (30,)})
      [0, 0, 1]
    """
    leaves, treedef = pytree.tree_flatten(prefix_tree, is_leaf)
    try:
        subtrees = treedef.flatten_up_to(full_tree)
    except ValueError as error:
        from xtrace.core import pytree_errors

        message = pytree_errors.mismatch_message(
            prefix_tree, pytree.tree_structure(full_tree), "tree_broadcast", "prefix_tree", "full_tree", is_leaf
        )
        if message is None:
            raise error from error.__cause__
        raise ValueError(message) from None
    out: list[Any] = []
    for leaf, subtree in zip(leaves, subtrees, strict=True):
        out.extend([leaf] * pytree._flatten(subtree)[1].num_leaves)
    return out


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: LeafPredicate | None = None) -> Any:
    """Return a tree of the structure of `full_tree` with the values of a prefix of it.

    Args:
      prefix_tree: a tree with leaves where `full_tree` has leaves or subtrees.
      full_tree: gives the structure.
      is_leaf: says which nodes of `prefix_tree` count as leaves.

    Returns:
      The tree.

    Raises:
      ValueError: `prefix_tree` is not a prefix of `full_tree`; the message says where and how.

    Example:
      >>> from xtrace.core import pytree_prefixes
      >>> pytree_prefixes.tree_broadcast({"a": 0, "b": 1}, {"a": [10, 20], "b": (30,)})
      {'a': [0, 0], 'b': (1,)}
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return pytree.tree_structure(full_tree).unflatten(leaves)


def flatten_prefix(prefix_tree: Any, treedef: PyTreeDef, name: str, *, none_is_leaf: bool = True) -> list[Any]:
    """Return one value of a prefix for every leaf of a structure: how in_axes and in_shardings reach the arguments.

    Args:
      prefix_tree: a tree with leaves where `treedef` has leaves or subtrees.
      treedef: the structure of the arguments (or results).
      name: what the user calls the prefix, for the error message: "vmap in_axes".
      none_is_leaf: whether None in the prefix is a value; if not, None matches None only.

    Returns:
      `treedef.num_leaves` values.

    Raises:
      ValueError: not a prefix; the message says where and how.

    Example:
      >>> from xtrace.core import pytree, pytree_prefixes
      >>> args = pytree.tree_structure(((1, 2), {"a": 3}))
      >>> pytree_prefixes.flatten_prefix((0, None), args, "vmap in_axes")
      [0, 0, None]
      >>> pytree_prefixes.flatten_prefix((0, {"a": 1}), args, "vmap in_axes")
      [0, 0, 1]
    """
    registry = pytree.none_leaf_registry if none_is_leaf else pytree.default_registry
    leaves, prefix_def = registry.flatten(prefix_tree)
    if prefix_def.num_nodes == 1 and leaves:
        return leaves * treedef.num_leaves
    out: list[Any] = []
    if _extend(out, prefix_def, treedef, iter(leaves)):
        return out
    from xtrace.core import pytree_errors

    message = pytree_errors.prefix_message(prefix_tree, treedef, name, none_is_leaf)
    raise ValueError(message)


def _extend(out: list[Any], prefix: PyTreeDef, full: PyTreeDef, leaves: Iterator[Any]) -> bool:
    node = prefix.node_data()
    if node is None:
        out += [next(leaves)] * full.num_leaves
        return True
    if node != full.node_data():
        return False
    ours, theirs = prefix.children(), full.children()
    return len(ours) == len(theirs) and all([_extend(out, p, q, leaves) for p, q in zip(ours, theirs, strict=True)])


def mirror(treedef: PyTreeDef, leaves: Iterator[Any]) -> Any:
    """A tree of the shape of a structure for values its own types may not accept: they become tuples.

    Args:
      treedef: the structure. Its tuples, lists, dicts and Nones are kept.
      leaves: one value for each of its leaves.

    Returns:
      The tree.

    Example:
      >>> from xtrace.core import pytree, pytree_prefixes
      >>> pytree_prefixes.mirror(pytree.tree_structure([1, {"a": None, "b": 2}]), iter("xy"))
      ['x', {'a': None, 'b': 'y'}]
    """
    node = treedef.node_data()
    if node is None:
        return next(leaves)
    kind, data = node
    children = [mirror(child, leaves) for child in treedef.children()]
    if kind is list:
        return children
    if kind is dict:
        return dict(zip(data, children, strict=True))
    return None if kind is type(None) else tuple(children)


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: LeafPredicate | None = None, *, name: str = "prefix"
) -> list[str]:
    """Say every place where a tree fails to be a prefix of another; an empty list if it is one.

    Args:
      prefix_tree: the would-be prefix.
      full_tree: the larger tree.
      is_leaf: says which nodes of `prefix_tree` count as leaves.
      name: what to call the prefix.

    Returns:
      One sentence for each place.

    Example:
      >>> from xtrace.core import pytree_prefixes
      >>> pytree_prefixes.prefix_errors(([1], 2), ((1,), 2), name="in_axes")
      ['at [0] in_axes has a list where the full tree has a tuple']
    """
    from xtrace.core import pytree_errors

    differences = pytree_errors.differences(prefix_tree, pytree.tree_structure(full_tree), is_leaf)
    return [d.sentence(name, "the full tree") for d in differences]
