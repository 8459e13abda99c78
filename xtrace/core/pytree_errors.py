"""What to say when trees don't match: which place, and what each of them has there.

Runs only after C++ has refused, so it may take its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xtrace.core import pytree
from xtrace.core.pytree import PyTreeDef


@dataclass(frozen=True)
class Difference:
    """One place where a tree fails to be a prefix of another: what it has there, and what the other has."""

    path: tuple[Any, ...]
    ours: str
    theirs: str = ""
    hint: str = ""

    def sentence(self, a: str, b: str, have: str = "has") -> str:
        """Say it, with `a` and `b` for the names of the two trees."""
        where = f"at {pytree.keystr(self.path)}" if self.path else "at the root"
        contrast = f" where {b} {have} {self.theirs}" if self.theirs else ""
        return f"{where} {a} {self.ours}{contrast}{self.hint}"


def differences(tree: Any, full: PyTreeDef, is_leaf: Any = None, none_is_leaf: bool = False) -> list[Difference]:
    """Every place where `tree` fails to be a prefix of the structure `full`, from the root down."""
    return list(_walk(tree, full, is_leaf, none_is_leaf, ()))


def _walk(tree: Any, full: PyTreeDef, is_leaf: Any, none_is_leaf: bool, path: tuple[Any, ...]) -> Iterator[Difference]:
    if (none_is_leaf and tree is None) or (is_leaf is not None and is_leaf(tree)):
        return
    level = pytree.default_registry.flatten_one_level_with_keys(tree)
    if level is None:
        return
    pairs = list(level[0])
    # A treedef of one level: children count as leaves.
    node = pytree.default_registry.flatten(tree, lambda x: x is not tree)[1].node_data()
    other = full.node_data()
    children = full.children()
    if other is None or node[0] is not other[0]:
        theirs = "a leaf" if other is None else _a_type(other[0])
        hint = "; None is a tree without leaves, so it matches None only" if tree is None else ""
        yield Difference(path, f"has {_a_type(node[0])}", theirs, hint)
    elif isinstance(tree, dict) and set(tree) != (keys := set(_dict_keys(other))):
        lacks = [repr(k) for k in keys - set(tree)]
        extra = [repr(k) for k in set(tree) - keys]
        parts = [f"lacks the key{_list(lacks)}"] * bool(lacks)
        parts += [f"has {'a key' if len(extra) == 1 else 'keys'} too many, {', '.join(sorted(extra))}"] * bool(extra)
        yield Difference(path, " and ".join(parts))
    elif len(pairs) != len(children):
        yield Difference(path, f"has {_a_type(node[0])} of length {len(pairs)}", f"one of length {len(children)}")
    elif not _equal(node[1], other[1]):
        ours = f"has {_a_type(node[0])} with metadata {node[1]!r}"
        yield Difference(path, ours, f"one with metadata {other[1]!r}")
    else:
        for (key, child), sub in zip(pairs, children, strict=True):
            yield from _walk(child, sub, is_leaf, none_is_leaf, (*path, key))


def _dict_keys(node: tuple[type, Any]) -> Any:
    meta = node[1]
    # defaultdict's metadata is (default_factory, keys)
    return meta[1] if isinstance(meta, tuple) and len(meta) == 2 and isinstance(meta[1], tuple) else meta


def _list(names: list[str]) -> str:
    return ("s " if len(names) > 1 else " ") + ", ".join(sorted(names))


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # arrays as metadata: their comparison has no single truth value
        return False


def _type_name(cls: type) -> str:
    builtin = cls.__module__ in ("builtins", "collections")
    return cls.__name__ if builtin else f"{cls.__module__}.{cls.__qualname__}"


def _a_type(cls: type) -> str:
    if cls is type(None):
        return "None"
    name = _type_name(cls)
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def show(treedef: PyTreeDef, limit: int = 400) -> str:
    """A structure as text without the wrapping PyTreeDef(...), cut in the middle if it is long."""
    text = str(treedef).removeprefix("PyTreeDef(").removesuffix(")")
    return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-limit // 2 :]}"


def _finish(found: list[Difference], head: str, a: tuple[str, PyTreeDef], b: tuple[str, PyTreeDef]) -> str:
    others = len(found) - 1
    more = f" (and {others} more such place{'s' * (others > 1)})" if others > 0 else ""
    return f"{head}{more}\n  {a[0]}: {show(a[1])}\n  {b[0]}: {show(b[1])}"


def mismatch_message(tree: Any, full: PyTreeDef, what: str, a: str, b: str, is_leaf: Any = None) -> str | None:
    """The error text of function `what` for a tree `a` that fails to be a prefix of `b`; None if it is one."""
    found = differences(tree, full, is_leaf)
    if not found:
        return None
    head = f"{what}: {b} doesn't match {a}: {found[0].sentence(a, b)}"
    return _finish(found, head, (a, pytree.tree_structure(tree, is_leaf)), (b, full))


def prefix_message(prefix: Any, full: PyTreeDef, name: str, none_is_leaf: bool) -> str:
    """The error text for a `name` (as the user calls it) that isn't a prefix of the values' structure `full`."""
    found = differences(prefix, full, None, none_is_leaf)
    registry = pytree.none_leaf_registry if none_is_leaf else pytree.default_registry
    detail = f", but {found[0].sentence('it', 'the values', 'have')}" if found else ""
    head = f"{name} must be a tree prefix of the values it describes{detail}"
    return _finish(found, head, (name, registry.flatten(prefix)[1]), ("values", full))


def explain_flatten(error: ValueError, tree: Any, is_leaf: Any, with_path: bool) -> ValueError:
    """`error` from flattening `tree`, made to name the dictionary if it is about keys that cannot be sorted."""
    predicate = is_leaf if with_path or is_leaf is None else lambda _, node: is_leaf(node)
    found = _unsortable(tree, predicate, ())
    if found is None:
        return error
    path, node = found
    kinds: dict[str, Any] = {}
    for key in node:
        kinds.setdefault(type(key).__name__, key)
    examples = ", ".join(f"{key!r} ({name})" for name, key in kinds.items())
    where = f"the dictionary at {pytree.keystr(path)}" if path else "the dictionary"
    return ValueError(
        f"cannot flatten {where}: its keys cannot be sorted: {examples}. "
        "Use keys of one sortable type, or a collections.OrderedDict, which keeps its own order."
    )


def _unsortable(tree: Any, predicate: Any, path: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any] | None:
    if predicate is not None and predicate(path, tree):
        return None
    if isinstance(tree, dict) and pytree.default_registry.is_node(type(tree)):
        try:
            sorted(tree)
        except Exception:
            if type(tree) is not pytree.OrderedDict:
                return path, tree
    try:
        level = pytree.default_registry.flatten_one_level_with_keys(tree)
    except Exception:  # a class's own flatten function failed: that error stands
        return None
    if level is not None:
        for key, child in level[0]:
            found = _unsortable(child, predicate, (*path, key))
            if found is not None:
                return found
    return None
