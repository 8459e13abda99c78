"""Pytree functions under short names: `xtrace.tree.map` is `xtrace.tree_util.tree_map`, and so on."""

from xtrace.core.pytree import tree_all as all
from xtrace.core.pytree import tree_flatten as flatten
from xtrace.core.pytree import tree_flatten_with_path as flatten_with_path
from xtrace.core.pytree import tree_leaves as leaves
from xtrace.core.pytree import tree_leaves_with_path as leaves_with_path
from xtrace.core.pytree import tree_map as map
from xtrace.core.pytree import tree_map_with_path as map_with_path
from xtrace.core.pytree import tree_reduce as reduce
from xtrace.core.pytree import tree_reduce_associative as reduce_associative
from xtrace.core.pytree import tree_structure as structure
from xtrace.core.pytree import tree_transpose as transpose
from xtrace.core.pytree import tree_unflatten as unflatten
from xtrace.core.pytree_nodes import static
from xtrace.core.pytree_prefixes import tree_broadcast as broadcast

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
