"""Functions on trees, under the names that JAX's private `tree_util` module gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.pytree_prefixes import broadcast_prefix

__all__ = ["broadcast_flattened_prefix_with_treedef"]


def broadcast_flattened_prefix_with_treedef(leaves: Sequence[Any], prefix: Any, full: Any) -> list[Any]:
    """The leaves of a tree of structure `prefix`, each as often as the structure `full` has leaves in its place."""
    return broadcast_prefix(prefix.unflatten(leaves), full.unflatten(range(full.num_leaves)))
