"""The public pytree modules: names, registration of classes, Partial."""

import dataclasses
import functools
import pickle

import pytest

from xtrace import tree, tree_util


def test_names():
    pairs = {name: getattr(tree_util, "tree_" + name) for name in tree.__all__ if name != "static"}
    assert all(getattr(tree, name) is function for name, function in pairs.items())
    for module in (tree, tree_util):
        assert all(hasattr(module, name) for name in module.__all__)


def test_node_functions():
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

    tree_util.register_pytree_node(Pair, lambda p: ((p.x, p.y), "meta"), lambda meta, xy: Pair(*xy))
    assert tree.leaves(Pair(1, [2, 3])) == [1, 2, 3]
    assert str(tree.structure(Pair(1, 2))) == "PyTreeDef(CustomNode(Pair[meta], [*, *]))"
    assert [tree_util.keystr(p) for p, _ in tree.leaves_with_path(Pair(1, 2))] == [
        "[<flat index 0>]",
        "[<flat index 1>]",
    ]
    with pytest.raises(ValueError, match="Duplicate.*Pair"):
        tree_util.register_static(Pair)


def test_keys_without_a_flatten_function():
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

    key = tree_util.GetAttrKey
    tree_util.register_pytree_with_keys(
        Pair, lambda p: (iter([(key("x"), p.x), (key("y"), p.y)]), None), lambda _, xy: Pair(*xy)
    )
    assert tree.leaves(Pair(1, 2)) == [1, 2]
    assert tree.leaves_with_path(Pair(1, 2)) == [((key("x"),), 1), ((key("y"),), 2)]


def test_class_decorators():
    @tree_util.register_pytree_with_keys_class
    class Both:
        def __init__(self, x):
            self.x = x

        def tree_flatten(self):
            return (self.x,), None

        def tree_flatten_with_keys(self):
            return ((tree_util.DictKey("x"), self.x),), None

        @classmethod
        def tree_unflatten(cls, metadata, children):
            return cls(*children)

    assert tree.map(lambda x: x + 1, Both(1)).x == 2
    assert tree.leaves_with_path(Both(1)) == [((tree_util.DictKey("x"),), 1)]

    class Neither:
        pass

    with pytest.raises(AttributeError) as info:
        tree_util.register_pytree_node_class(Neither)
    assert str(info.value) == (
        f"register_pytree_node_class: {__name__}.test_class_decorators.<locals>.Neither "
        "lacks the method tree_flatten and tree_unflatten"
    )


def test_static_nodes():
    @tree_util.register_static
    class Mode(str):
        pass

    assert tree.leaves([Mode("a"), 1]) == [1]
    assert tree.structure(Mode("a")) == tree.structure(Mode("a"))
    assert tree.structure(Mode("a")) != tree.structure(Mode("b"))
    assert tree.leaves_with_path([Mode("a"), 1]) == [((tree_util.SequenceKey(1),), 1)]
    assert tree.unflatten(tree.structure(Mode("a")), []) == "a"


def make(**fields):
    return dataclasses.make_dataclass("Made", [(k, int, v) for k, v in fields.items()])


def test_dataclass_fields_are_inferred():
    cls = make(x=dataclasses.field(), y=tree.static(default=2, metadata={"unit": "m"}))
    assert tree_util.register_dataclass(cls) is cls
    value = cls(1)
    assert tree.leaves_with_path(value) == [((tree_util.GetAttrKey("x"),), 1)]
    assert str(tree.structure(value)) == "PyTreeDef(CustomNode(Made[(2,)], [*]))"
    assert tree.map(lambda x: 10, value) == cls(10, 2)
    assert tree.structure(cls(1, 3)) != tree.structure(value)
    assert dataclasses.fields(cls)[1].metadata == {"unit": "m", "static": True}


def test_static_keeps_metadata_that_says_otherwise():
    assert tree.static(metadata={"static": False}).metadata == {"static": False}


def test_dataclass_fields_given():
    cls = make(x=dataclasses.field(), y=dataclasses.field(default=5), z=dataclasses.field(default=6))
    tree_util.register_dataclass(cls, data_fields=("x",), meta_fields=("y",), drop_fields=("z",))
    assert tree.map(lambda x: x, cls(1, 2, 3)) == cls(1, 2, 6)

    decorator = functools.partial(tree_util.register_dataclass, data_fields=["x"], meta_fields=[])

    @decorator
    class Plain:
        def __init__(self, x):
            self.x = x

    assert tree.map(lambda x: x + 1, Plain(1)).x == 2


@pytest.mark.parametrize(
    ("kwargs", "error", "told"),
    [
        ({"data_fields": ["x"]}, TypeError, "data_fields given for Made without meta_fields; pass both, or neither"),
        ({"meta_fields": ["x"]}, TypeError, "meta_fields given for Made without data_fields; pass both, or neither"),
        (
            {"data_fields": ["x", "q"], "meta_fields": []},
            ValueError,
            "data_fields and meta_fields of Made: ['y'] are missing: add them to data_fields, meta_fields or "
            "drop_fields; ['q'] are not fields of it",
        ),
        (
            {"data_fields": ["x", "y"], "meta_fields": ["y"]},
            ValueError,
            "['y'] of Made are both in data_fields and in meta_fields",
        ),
        (
            {},
            ValueError,
            "data_fields and meta_fields of Made: ['z'] have init=False, so the constructor cannot set them: "
            "add them to drop_fields",
        ),
    ],
)
def test_dataclass_errors(kwargs, error, told):
    field = dataclasses.field
    cls = make(x=field(), y=field(default=5), z=field(default=6, init=False))
    with pytest.raises(error) as info:
        tree_util.register_dataclass(cls, **kwargs)
    assert str(info.value) == "register_dataclass: " + told
    assert not tree_util.is_tree_node(cls)
    tree_util.register_dataclass(cls, drop_fields=["z"])
    assert tree.leaves(cls(1, 2)) == [1, 2]


def test_not_a_dataclass():
    class Plain:
        pass

    with pytest.raises(TypeError, match="Plain is not a dataclass, so its fields must be given"):
        tree_util.register_dataclass(Plain)


def function(a, b=1):
    return a, b


def test_partial():
    p = tree_util.Partial(function, 1, b={"k": 2})
    assert p() == (1, {"k": 2})
    assert (p.func, p.args, p.keywords) == (function, (1,), {"b": {"k": 2}})
    assert tree.leaves(p) == [1, 2]
    doubled = tree.map(lambda x: 2 * x, p)
    assert type(doubled) is tree_util.Partial
    assert doubled() == (2, {"k": 4})
    assert tree.structure(p) == tree.structure(doubled)
    assert [tree_util.keystr(k, simple=True, separator="/") for k, _ in tree.leaves_with_path(p)] == ["0/0", "1/b/k"]
    assert isinstance(p, functools.partial)
    assert tree.leaves(functools.partial(function, 1)) != [1]  # an ordinary partial is a leaf


@pytest.mark.parametrize("inner", [functools.partial(function, 1), tree_util.Partial(function, 1)])
def test_partial_of_a_partial_is_a_function(inner):
    p = tree_util.Partial(inner, b=3)
    assert p() == (1, 3)
    assert tree.leaves(p) == [3]
    assert tree.structure(p) == tree.structure(tree_util.Partial(inner, b=4))
    assert hash(tree.structure(p)) == hash(tree.structure(tree_util.Partial(inner, b=4)))
    assert tree.map(lambda x: x, p)() == (1, 3)


def test_partial_pickles():
    p = pickle.loads(pickle.dumps(tree_util.Partial(function, 1)))
    assert type(p) is tree_util.Partial
    assert p() == (1, 1)
