"""Making classes containers: registration functions for pytrees, and Partial, a function with arguments as leaves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from xtrace.core import pytree, statics

T = TypeVar("T")
Cls = TypeVar("Cls", bound=type)


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make a class a container.

    Args:
      nodetype: the class. Subclasses are not included.
      flatten_func: takes an instance, returns (children, metadata); metadata should be hashable and comparable.
      unflatten_func: takes (metadata, children), returns an instance. Children may be any objects, not arrays only.
      flatten_with_keys_func: as `flatten_func`, with (key, child) in place of each child.

    Returns:
      None.

    Raises:
      ValueError: the class is registered already.

    Example:
      >>> import xtrace as xt
      >>> class Pair:
      ...     def __init__(self, x, y):
      ...         self.x, self.y = x, y
      >>> xt.tree_util.register_pytree_node(Pair, lambda p: ((p.x, p.y), None), lambda _, xy: Pair(*xy))
      >>> xt.tree.leaves([Pair(1, 2), 3])
      [1, 2, 3]
    """
    pytree.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a container whose children have keys, which appear in key paths.

    Args:
      nodetype: the class. Subclasses are not included.
      flatten_with_keys: takes an instance, returns (((key, child), ...), metadata).
      unflatten_func: takes (metadata, children), returns an instance.
      flatten_func: as `flatten_with_keys` without the keys; a faster way if there is one.

    Returns:
      None.

    Raises:
      ValueError: the class is registered already.

    Example:
      >>> import xtrace as xt
      >>> class Pair:
      ...     def __init__(self, x, y):
      ...         self.x, self.y = x, y
      >>> key = xt.tree_util.GetAttrKey
      >>> xt.tree_util.register_pytree_with_keys(
      ...     Pair, lambda p: (((key("x"), p.x), (key("y"), p.y)), None), lambda _, xy: Pair(*xy))
      >>> [xt.tree_util.keystr(path) for path, _ in xt.tree.leaves_with_path([Pair(1, 2)])]
      ['[0].x', '[0].y']
    """
    if flatten_func is None:

        def flatten_func(node: T) -> tuple[Iterable[Any], Any]:
            pairs, metadata = flatten_with_keys(node)
            return [child for _, child in pairs], metadata

    pytree.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Cls) -> Cls:
    """Make a class a container by its own methods; a decorator.

    Args:
      cls: a class with a method `tree_flatten(self)`, which returns (children, metadata), and a classmethod
        `tree_unflatten(cls, metadata, children)`.

    Returns:
      The class.

    Raises:
      AttributeError: a method is missing.
      ValueError: the class is registered already.

    Example:
      >>> import xtrace as xt
      >>> @xt.tree_util.register_pytree_node_class
      ... class Box:
      ...     def __init__(self, content):
      ...         self.content = content
      ...     def tree_flatten(self):
      ...         return (self.content,), None
      ...     @classmethod
      ...     def tree_unflatten(cls, metadata, children):
      ...         return cls(*children)
      >>> xt.tree.map(lambda x: x + 1, Box([1, 2])).content
      [2, 3]
    """
    _require_methods(cls, "register_pytree_node_class", "tree_flatten", "tree_unflatten")
    # Looked up at each call, so that replacing a method of the class later has its effect.
    pytree.register_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: Cls) -> Cls:
    """Make a class a container with keys by its own methods; a decorator.

    Args:
      cls: a class with a method `tree_flatten_with_keys(self)`, which returns (((key, child), ...), metadata), and
        a classmethod `tree_unflatten(cls, metadata, children)`; a method `tree_flatten(self)` is used if present.

    Returns:
      The class.

    Raises:
      AttributeError: a method is missing.
      ValueError: the class is registered already.

    Example:
      >>> import xtrace as xt
      >>> @xt.tree_util.register_pytree_with_keys_class
      ... class Box:
      ...     def __init__(self, content):
      ...         self.content = content
      ...     def tree_flatten_with_keys(self):
      ...         return ((xt.tree_util.GetAttrKey("content"), self.content),), None
      ...     @classmethod
      ...     def tree_unflatten(cls, metadata, children):
      ...         return cls(*children)
      >>> xt.tree.leaves_with_path(Box(7))
      [((GetAttrKey(name='content'),), 7)]
    """
    _require_methods(cls, "register_pytree_with_keys_class", "tree_flatten_with_keys", "tree_unflatten")
    flatten = (lambda node: node.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda node: node.tree_flatten_with_keys(), cls.tree_unflatten, flatten)  # type: ignore[attr-defined]
    return cls


def _require_methods(cls: type, caller: str, *names: str) -> None:
    missing = [name for name in names if not hasattr(cls, name)]
    if missing:
        raise AttributeError(f"{caller}: {cls.__module__}.{cls.__qualname__} lacks the method {' and '.join(missing)}")


def register_static(cls: Cls) -> Cls:
    """Make the instances of a class containers without leaves, part of the structure; a decorator.

    Args:
      cls: a class with `__hash__` and `__eq__`: a changed value retraces a jitted function.

    Returns:
      The class.

    Raises:
      ValueError: the class is registered already.

    Example:
      >>> import xtrace as xt
      >>> @xt.tree_util.register_static
      ... class Mode(str):
      ...     pass
      >>> xt.tree.leaves([1, Mode("train"), 2])
      [1, 2]
    """
    pytree.register_node(cls, lambda node: ((), node), lambda node, _: node, lambda node: ((), node))
    return cls


def register_dataclass(
    nodetype: Cls,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Cls:
    """Make a dataclass a container: data fields are its children, meta fields part of the structure; a decorator.

    Args:
      nodetype: a dataclass; or any class whose constructor takes the fields by keyword, if they are all given.
      data_fields: names of the fields that hold arrays or pytrees. Without them and `meta_fields`, a field is meta
        if its metadata has static=True (see `xtrace.tree.static`), else data.
      meta_fields: names of the fields that hold hashable values.
      drop_fields: names of fields that are neither, and get their defaults when the tree is built again.

    Returns:
      The class.

    Raises:
      TypeError: only one of data_fields and meta_fields is given, or none for a class that isn't a dataclass.
      ValueError: the names are not those of the dataclass's constructor, or the class is registered already.

    Example:
      >>> import dataclasses
      >>> import xtrace as xt
      >>> @xt.tree_util.register_dataclass
      ... @dataclasses.dataclass
      ... class Layer:
      ...     w: float
      ...     b: float
      ...     activation: str = xt.tree.static(default="relu")
      >>> xt.tree.map(lambda x: 2 * x, Layer(1.0, 2.0))
      Layer(w=2.0, b=4.0, activation='relu')
      >>> xt.tree.structure(Layer(1.0, 2.0))
      PyTreeDef(CustomNode(Layer[('relu',)], [*, *]))
    """
    import dataclasses  # who calls this has loaded it; importing xtrace need not

    name = getattr(nodetype, "__qualname__", repr(nodetype))
    if data_fields is None and meta_fields is None:
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(
                f"register_dataclass: {name} is not a dataclass, so its fields must be given: "
                "register_dataclass(cls, data_fields=[...], meta_fields=[...])"
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.name not in drop_fields]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
    elif data_fields is None or meta_fields is None:
        given, lacking = ("data_fields", "meta_fields") if meta_fields is None else ("meta_fields", "data_fields")
        raise TypeError(f"register_dataclass: {given} given for {name} without {lacking}; pass both, or neither")
    data, meta = [
        list(statics.parts(fields, what, "a sequence of names"))
        for fields, what in ((data_fields, "data_fields"), (meta_fields, "meta_fields"))
    ]
    for field in (*data, *meta):
        statics.check_instance(field, str, "data_fields or meta_fields", "names of fields")
    _check_fields(nodetype, name, data, meta, drop_fields)
    pytree.register_dataclass_node(nodetype, data, meta)
    return nodetype


def _check_fields(nodetype: type, name: str, data: list[str], meta: list[str], drop: Sequence[str]) -> None:
    import dataclasses

    both = sorted(set(data) & set(meta))
    if both:
        raise ValueError(f"register_dataclass: {both} of {name} are both in data_fields and in meta_fields")
    if not dataclasses.is_dataclass(nodetype):
        return
    settable = {f.name for f in dataclasses.fields(nodetype) if f.init}
    hidden = {f.name for f in dataclasses.fields(nodetype) if not f.init}
    given = set(data) | set(meta)
    problems = []
    if missing := sorted(settable - given - set(drop)):
        problems.append(f"{missing} are missing: add them to data_fields, meta_fields or drop_fields")
    if uninitialised := sorted(given & hidden):
        problems.append(f"{uninitialised} have init=False, so the constructor cannot set them: add them to drop_fields")
    if unknown := sorted(given - settable - hidden):
        problems.append(f"{unknown} are not fields of it")
    if problems:
        raise ValueError(f"register_dataclass: data_fields and meta_fields of {name}: {'; '.join(problems)}")


def static(**kwargs: Any) -> Any:
    """Declare a dataclass field that `register_dataclass` makes part of the structure.

    Args:
      **kwargs: as for `dataclasses.field`. A `metadata` that has "static" itself is left as it is.

    Returns:
      A dataclass field.

    Example:
      >>> import dataclasses
      >>> import xtrace as xt
      >>> @xt.tree_util.register_dataclass
      ... @dataclasses.dataclass
      ... class Scaled:
      ...     x: float
      ...     by: int = xt.tree.static(default=2)
      >>> xt.tree.leaves(Scaled(1.5))
      [1.5]
    """
    import dataclasses

    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


class _Opaque:
    """A callable that functools.partial doesn't recognise as a partial, and so doesn't merge with its own arguments."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.function)

    def __eq__(self, other: Any) -> bool:
        return self.function == (other.function if isinstance(other, _Opaque) else other)

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial):
    """A functools.partial that is a pytree: its arguments are children, its function is part of the structure.

    Such a function with arrays in it may be passed through `jit`, `vmap` and `grad` as an argument. A partial inside
    (`Partial(partial(f, x), y)`) counts as a function: x is not a child.

    Args:
      func: the function; hashable, if the Partial is passed to a jitted function.
      *args: its first positional arguments, pytrees.
      **kw: keyword arguments, pytrees.

    Example:
      >>> import xtrace as xt
      >>> add = xt.tree_util.Partial(lambda x, y: x + y, 3)
      >>> add(4)
      7
      >>> xt.tree.leaves(add)
      [3]
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        if isinstance(func, functools.partial):
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **kw)


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
