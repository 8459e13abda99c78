"""core.pytree: flattening, paths, prefixes, and the messages when trees don't match."""

import copy
import functools
import pickle
import threading
from collections import OrderedDict, defaultdict, namedtuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xtrace.core import pytree, pytree_prefixes
from xtrace.core.pytree import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, keystr
from xtrace.runtime import jaxlib_api

Point = namedtuple("Point", ["x", "y"])


class Box:
    """A custom node without keys."""

    def __init__(self, *children, meta=None):
        self.children = children
        self.meta = meta

    def __eq__(self, other):
        return type(other) is Box and (self.children, self.meta) == (other.children, other.meta)


pytree.register_node(Box, lambda b: (b.children, b.meta), lambda meta, children: Box(*children, meta=meta))


class Keyed:
    """A custom node whose children have keys."""

    def __init__(self, left, right):
        self.left, self.right = left, right


pytree.register_node(
    Keyed,
    lambda k: ((k.left, k.right), None),
    lambda _, children: Keyed(*children),
    lambda k: (((GetAttrKey("left"), k.left), ("right", k.right)), None),
)

containers = lambda children: (  # noqa: E731
    st.lists(children, max_size=3)
    | st.lists(children, max_size=3).map(tuple)
    | st.dictionaries(st.sampled_from("abcd"), children, max_size=3)
    | st.dictionaries(st.sampled_from("abcd"), children, max_size=3).map(OrderedDict)
    | st.dictionaries(st.integers(0, 5), children, max_size=3).map(lambda d: defaultdict(list, d))
    | st.tuples(children, children).map(lambda xy: Point(*xy))
    | st.lists(children, max_size=2).map(lambda c: Box(*c, meta=len(c)))
)
trees = st.recursive(st.integers() | st.none(), containers, max_leaves=12)


def python_leaves(tree):
    """The leaves by the definition, in Python."""
    if tree is None:
        return []
    if isinstance(tree, OrderedDict):
        children = list(tree.values())
    elif isinstance(tree, dict):
        children = [tree[k] for k in sorted(tree)]
    elif isinstance(tree, (list, tuple)):
        children = list(tree)
    elif isinstance(tree, Box):
        children = list(tree.children)
    else:
        return [tree]
    return [leaf for child in children for leaf in python_leaves(child)]


@given(trees)
def test_round_trip(tree):
    leaves, treedef = pytree.tree_flatten(tree)
    assert leaves == python_leaves(tree) == pytree.tree_leaves(tree)
    assert treedef.num_leaves == len(leaves)
    again = pytree.tree_unflatten(treedef, leaves)
    assert again == tree
    assert type(again) is type(tree)
    assert pytree.tree_structure(again) == treedef
    assert hash(pytree.tree_structure(again)) == hash(treedef)


@given(trees)
def test_map_composes_and_preserves_identity(tree):
    f, g = (lambda x: 3 * x + 1), (lambda x: x - 7)
    assert pytree.tree_map(g, pytree.tree_map(f, tree)) == pytree.tree_map(lambda x: g(f(x)), tree)
    assert pytree.tree_map(lambda x: x, tree) == tree
    assert pytree.tree_map(lambda x, y, z: x + y - z, tree, tree, tree) == tree


@given(trees)
def test_paths_agree_with_leaves(tree):
    pairs, treedef = pytree.tree_flatten_with_path(tree)
    assert [leaf for _, leaf in pairs] == pytree.tree_leaves(tree)
    assert treedef == pytree.tree_structure(tree)
    assert len({path for path, _ in pairs}) == len(pairs)
    assert pytree.tree_map_with_path(lambda path, x: (keystr(path), x)[1], tree) == tree


@given(trees, trees)
@settings(max_examples=200)
def test_prefix_errors_are_found_exactly_when_broadcasting_fails(prefix, full):
    try:
        pytree_prefixes.broadcast_prefix(prefix, full)
        ok = True
    except ValueError as error:
        ok = False
        assert "broadcast" in str(error)
    assert ok == (pytree_prefixes.prefix_errors(prefix, full) == [])


@given(trees, st.integers())
def test_a_leaf_is_a_prefix_of_everything(tree, value):
    n = len(pytree.tree_leaves(tree))
    assert pytree_prefixes.broadcast_prefix(value, tree) == [value] * n
    assert pytree_prefixes.flatten_prefix(value, pytree.tree_structure(tree), "axes") == [value] * n
    assert pytree_prefixes.tree_broadcast(value, tree) == pytree.tree_map(lambda _: value, tree)


@given(trees)
def test_every_tree_is_a_prefix_of_itself(tree):
    assert pytree_prefixes.broadcast_prefix(tree, tree) == pytree.tree_leaves(tree)
    treedef = pytree.tree_structure(tree)
    assert pytree_prefixes.flatten_prefix(tree, treedef, "axes", none_is_leaf=False) == pytree.tree_leaves(tree)
    assert pytree_prefixes.flatten_prefix(tree, treedef, "axes") == pytree.tree_leaves(tree)


@given(trees)
def test_structures_pickle_and_copy(tree):
    treedef = pytree.tree_structure(tree)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert copy.deepcopy(treedef) == treedef


def test_containers_known_from_the_start():
    tree = {"z": (1, None), "a": [2, OrderedDict(q=3, b=4)], "m": defaultdict(int, {2: 5, 1: 6}), "p": Point(7, 8)}
    leaves, treedef = pytree.tree_flatten(tree)
    assert leaves == [2, 3, 4, 6, 5, 7, 8, 1]
    again = treedef.unflatten(leaves)
    assert again == tree
    assert again["m"].default_factory is int
    assert list(again["a"][1]) == ["q", "b"]
    assert str(pytree.tree_structure([1, 2, (3, 4)])) == "PyTreeDef([*, *, (*, *)])"
    assert str(pytree.tree_structure(Point(1, 2))) == "PyTreeDef(CustomNode(namedtuple[Point], [*, *]))"
    assert str(pytree.tree_structure(Box(1, meta="m"))) == "PyTreeDef(CustomNode(Box[m], [*]))"


def test_subclasses_of_containers_are_leaves():
    class MyList(list):
        pass

    assert pytree.tree_leaves(MyList([1, 2])) == [[1, 2]]


def test_is_leaf():
    is_pair = lambda x: isinstance(x, tuple) and len(x) == 2  # noqa: E731
    assert pytree.tree_leaves([(1, 2), (3,), 4], is_leaf=is_pair) == [(1, 2), 3, 4]
    assert pytree.tree_map(sum, [(1, 2), (3, 4)], is_leaf=is_pair) == [3, 7]
    assert pytree.tree_map(lambda a, b: (a, b), [None, 1], [2, 3], is_leaf=lambda x: x is None) == [(None, 2), (1, 3)]
    assert str(pytree.tree_structure([(1, 2)], is_leaf=is_pair)) == "PyTreeDef([*])"


def test_is_leaf_with_path():
    pairs = pytree.tree_leaves_with_path([1, (2, 3)], is_leaf=lambda path, x: len(path) == 1, is_leaf_takes_path=True)
    assert pairs == [((SequenceKey(0),), 1), ((SequenceKey(1),), (2, 3))]
    out = pytree.tree_map_with_path(
        lambda path, x, y: (keystr(path), x, y),
        {"a": (1, 2)},
        {"a": 3},
        is_leaf=lambda path, x: path == (DictKey("a"),),
        is_leaf_takes_path=True,
    )
    assert out == {"a": ("['a']", (1, 2), 3)}


def test_keys_of_every_container():
    tree = {"d": [1], "p": Point(2, 3), "b": Box(4), "k": Keyed(5, 6), "o": OrderedDict(x=7)}
    assert pytree.tree_leaves_with_path(tree) == [
        ((DictKey("b"), FlattenedIndexKey(0)), 4),
        ((DictKey("d"), SequenceKey(0)), 1),
        ((DictKey("k"), GetAttrKey("left")), 5),
        ((DictKey("k"), "right"), 6),
        ((DictKey("o"), DictKey("x")), 7),
        ((DictKey("p"), GetAttrKey("x")), 2),
        ((DictKey("p"), GetAttrKey("y")), 3),
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "[0]['a'].b[<flat index 3>]q7"),
        ({"simple": True}, "0ab3q7"),
        ({"simple": True, "separator": "/"}, "0/a/b/3/q/7"),
        ({"separator": " "}, "[0] ['a'] .b [<flat index 3>] q 7"),
    ],
)
def test_keystr(options, text):
    keys = (SequenceKey(0), DictKey("a"), GetAttrKey("b"), FlattenedIndexKey(3), "q", 7)
    assert keystr(keys, **options) == text


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ({"a": [1, 2]}, {"a": [1]}, "at ['a'] tree 1 has a list of length 2 where tree 2 has one of length 1"),
        ({"a": 1}, {"b": 1}, "at the root tree 1 lacks the key 'b' and has a key too many, 'a'"),
        ({"a": 1}, {"a": 1, "b": 2, "c": 3}, "at the root tree 1 lacks the keys 'b', 'c'"),
        ([[1]], [(1,)], "at [0] tree 1 has a list where tree 2 has a tuple"),
        ((1, 2), 3, "at the root tree 1 has a tuple where tree 2 has a leaf"),
        (
            [None],
            [1],
            "at [0] tree 1 has None where tree 2 has a leaf; None is a tree without leaves, so it matches None only",
        ),
        ({"p": [Point(1, 2)]}, {"p": [(1, 2)]}, f"at ['p'][0] tree 1 has a {__name__}.Point where tree 2 has a tuple"),
        (
            Box(1, meta="m"),
            Box(1, meta="n"),
            f"at the root tree 1 has a {__name__}.Box with metadata 'm' where tree 2 has one with metadata 'n'",
        ),
        (
            OrderedDict(a=1, b=2),
            OrderedDict(b=2, a=1),
            "at the root tree 1 has an OrderedDict with metadata ('a', 'b') "
            "where tree 2 has one with metadata ('b', 'a')",
        ),
        (
            defaultdict(int, a=1),
            defaultdict(list, a=1),
            "at the root tree 1 has a defaultdict with metadata (<class 'int'>, ('a',)) "
            "where tree 2 has one with metadata (<class 'list'>, ('a',))",
        ),
        (Keyed([1], 2), Keyed((1,), 2), "at .left tree 1 has a list where tree 2 has a tuple"),
    ],
)
def test_mismatch_messages(first, second, told):
    shown = [str(pytree.tree_structure(t)).removeprefix("PyTreeDef(").removesuffix(")") for t in (first, second)]
    with pytest.raises(ValueError) as info:
        pytree.tree_map(lambda x, y: x, first, second)
    assert (
        str(info.value) == f"tree_map: tree 2 doesn't match tree 1: {told}\n  tree 1: {shown[0]}\n  tree 2: {shown[1]}"
    )
    with pytest.raises(ValueError) as info:
        pytree.tree_map_with_path(lambda path, x, y: x, first, second)
    assert str(info.value).startswith(f"tree_map_with_path: tree 2 doesn't match tree 1: {told}\n")


def test_mismatch_names_the_tree_and_counts_the_rest():
    with pytest.raises(ValueError) as info:
        pytree.tree_map(lambda *xs: xs, [[1], [2]], [[1], [2]], [(1,), {}])
    assert str(info.value) == (
        "tree_map: tree 3 doesn't match tree 1: at [0] tree 1 has a list where tree 3 has a tuple "
        "(and 1 more such place)\n  tree 1: [[*], [*]]\n  tree 3: [(*,), {}]"
    )


def test_errors_of_node_classes_pass_through():
    class Broken:
        pass

    def fail(_):
        raise ValueError("broken on purpose")

    pytree.register_node(Broken, fail, lambda *_: Broken())
    for call in (pytree.tree_leaves, pytree.tree_structure, pytree.tree_flatten, pytree.tree_leaves_with_path):
        with pytest.raises(ValueError, match="^broken on purpose$"):
            call([Broken()])


def test_errors_of_the_function_pass_through():
    def stop(x):
        raise StopIteration

    with pytest.raises(StopIteration):
        pytree.tree_map(stop, [1, 2])
    with pytest.raises(ZeroDivisionError):
        pytree.tree_map(lambda x, y: x / y, [1], [0])


@pytest.mark.parametrize(
    "call", [pytree.tree_leaves, pytree.tree_flatten, pytree.tree_structure, pytree.tree_leaves_with_path]
)
def test_unsortable_keys_are_named(call):
    with pytest.raises(ValueError) as info:
        call([1, {"x": {"a": 1, 2: 3}}])
    assert str(info.value) == (
        "cannot flatten the dictionary at [1]['x']: its keys cannot be sorted: 'a' (str), 2 (int). "
        "Use keys of one sortable type, or a collections.OrderedDict, which keeps its own order."
    )
    assert isinstance(info.value.__cause__, TypeError)
    # Not looked into when it is a leaf.
    assert pytree.tree_leaves([1, {"a": 1, 2: 3}], is_leaf=lambda x: isinstance(x, dict)) == [1, {"a": 1, 2: 3}]
    assert pytree.tree_leaves(OrderedDict({"a": 1, 2: 3})) == [1, 3]


def test_unflatten_errors():
    treedef = pytree.tree_structure([1, 2])
    with pytest.raises(ValueError, match="Too few leaves for PyTreeDef; expected 2, got 1"):
        pytree.tree_unflatten(treedef, [1])
    with pytest.raises(ValueError, match="Too many leaves for PyTreeDef; expected 2"):
        pytree.tree_unflatten(treedef, [1, 2, 3])
    with pytest.raises(TypeError, match="needs a PyTreeDef as its first argument.*; got list and PyTreeDef$"):
        pytree.tree_unflatten([1, 2], treedef)


def test_flatten_prefix_of_arguments():
    args = pytree.tree_structure(((1, 2), {"a": 3, "b": [4, 5]}, None))
    flat = functools.partial(pytree_prefixes.flatten_prefix, treedef=args, name="vmap in_axes")
    assert flat(0) == [0] * 5
    assert flat(None) == [None] * 5
    assert flat((0, None, None)) == [0, 0, None, None, None]
    assert flat(((0, 1), {"a": None, "b": 2}, 7)) == [0, 1, None, 2, 2]
    assert flat((0, 1, None), none_is_leaf=False) == [0, 0, 1, 1, 1]
    with pytest.raises(ValueError) as info:
        flat((0, {"a": 1, "c": 1}, None))
    assert str(info.value) == (
        "vmap in_axes must be a tree prefix of the values it describes, but at [1] it lacks the key 'b' "
        "and has a key too many, 'c'\n"
        "  vmap in_axes: (*, {'a': *, 'c': *}, *)\n"
        "  values: ((*, *), {'a': *, 'b': [*, *]}, None)"
    )
    with pytest.raises(
        ValueError, match="at the root it has a tuple of length 2 where the values have one of length 3"
    ):
        flat((0, 0))
    with pytest.raises(ValueError, match="at the root it has a list where the values have a tuple"):
        flat([0, 0, 0])
    with pytest.raises(ValueError, match="at \\[1\\] it has None where the values have a dict"):
        flat((0, None, None), none_is_leaf=False)


def test_broadcast():
    assert pytree_prefixes.tree_broadcast([None, 1], [3, [2, 3]], is_leaf=lambda x: x is None) == [None, [1, 1]]
    assert pytree_prefixes.tree_broadcast(1, [3, [None, 3]], is_leaf=lambda x: x is None) == [1, [None, 1]]
    with pytest.raises(ValueError) as info:
        pytree_prefixes.tree_broadcast({"a": 1, "b": [2]}, {"a": [1, 2], "b": [3, 4]})
    assert str(info.value) == (
        "tree_broadcast: full_tree doesn't match prefix_tree: at ['b'] prefix_tree has a list of length 1 "
        "where full_tree has one of length 2\n"
        "  prefix_tree: {'a': *, 'b': [*]}\n  full_tree: {'a': [*, *], 'b': [*, *]}"
    )


def test_reductions():
    assert pytree.tree_reduce(lambda a, b: f"({a}{b})", ["a", "b", "c"]) == "((ab)c)"
    assert pytree.tree_reduce(lambda a, b: a, [], None) is None
    assert pytree.tree_reduce_associative(lambda a, b: f"({a}{b})", list("abcdefg")) == "((a(bc))((de)(fg)))"
    assert pytree.tree_reduce_associative(lambda a, b: a, [], identity=5) == 5
    with pytest.raises(TypeError, match="needs an initializer"):
        pytree.tree_reduce(lambda a, b: a, [None])
    with pytest.raises(TypeError, match="needs an identity"):
        pytree.tree_reduce_associative(lambda a, b: a, [])
    assert pytree.tree_all({}) is True
    assert pytree.tree_all([1, None, 2]) is True


@given(trees, trees)
def test_transpose_is_an_involution(outer, inner):
    outer_def, inner_def = pytree.tree_structure(outer), pytree.tree_structure(inner)
    m, n = outer_def.num_leaves, inner_def.num_leaves
    if m and n:
        whole = outer_def.unflatten([inner_def.unflatten(range(i * n, i * n + n)) for i in range(m)])
        turned = pytree.tree_transpose(outer_def, inner_def, whole)
        assert pytree.tree_structure(turned) == inner_def.compose(outer_def)
        assert pytree.tree_leaves(turned) == [i * n + j for j in range(n) for i in range(m)]
        assert pytree.tree_transpose(inner_def, outer_def, turned) == whole


def test_transpose():
    outer, inner = pytree.tree_structure([0, 0, 0]), pytree.tree_structure((0, 0))
    assert pytree.tree_transpose(outer, inner, [(1, 2), (3, 4), (5, 6)]) == ([1, 3, 5], [2, 4, 6])
    assert pytree.tree_transpose(outer, None, [(1, 2), (3, 4), (5, 6)]) == ([1, 3, 5], [2, 4, 6])
    with pytest.raises(TypeError, match="not outer_treedef composed with inner_treedef"):
        pytree.tree_transpose(outer, inner, [(1, 2), (3, 4)])
    with pytest.raises(ValueError, match="outer_treedef has none"):
        pytree.tree_transpose(pytree.tree_structure([]), inner, [])


class Cached:
    """A node whose metadata is the structure of its content."""

    def __init__(self, content):
        self.content = content

    @staticmethod
    def build(treedef, leaves):
        return Cached(treedef.unflatten(leaves))


pytree.register_node(Cached, lambda c: pytree.tree_flatten(c.content), Cached.build)


def test_transpose_of_nodes_that_keep_their_own_structure():
    outer, inner = pytree.tree_structure(Cached({"a": 0, "b": 0})), pytree.tree_structure([0, 0])
    first, second = pytree.tree_transpose(outer, inner, Cached({"a": [3, 4], "b": [5, 6]}))
    assert (first.content, second.content) == ({"a": 3, "b": 5}, {"a": 4, "b": 6})
    with pytest.raises(TypeError, match="not outer_treedef composed with inner_treedef"):
        pytree.tree_transpose(outer, inner, Cached({"a": [3, 4], "b": [5, 6, 7]}))


def test_structures():
    treedef = pytree.tree_structure([1, (2, None)])
    assert list(map(str, pytree.treedef_children(treedef))) == ["PyTreeDef(*)", "PyTreeDef((*, None))"]
    tests = [pytree.tree_structure(t) for t in (1, None, (), [1])]
    assert [pytree.treedef_is_leaf(t) for t in tests] == [True, True, True, False]
    assert [pytree.treedef_is_strict_leaf(t) for t in tests] == [True, False, False, False]
    assert pytree.treedef_tuple([treedef, treedef]) == pytree.tree_structure(([1, (2, None)], [1, (2, None)]))
    assert pytree.treedef_tuple(iter(())) == pytree.tree_structure(())


def test_single_levels():
    assert pytree.flatten_one_level({"b": 1, "a": [3]}) == (([3], 1), ("a", "b"))
    assert pytree.flatten_one_level(None) == ((), None)
    assert list(pytree.flatten_one_level_with_keys([5])[0]) == [(SequenceKey(0), 5)]
    for call in (pytree.flatten_one_level, pytree.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="needs a container; got a leaf of type int"):
            call(3)
    types = (list, tuple, dict, OrderedDict, defaultdict, type(None), Point, Box, int)
    assert [pytree.is_tree_node(t) for t in types] == [True] * 8 + [False]


def test_all_leaves():
    assert pytree.all_leaves([1, "a", object()])
    assert not pytree.all_leaves([1, None])
    assert not pytree.all_leaves([1, ()])
    assert pytree.all_leaves([1, None], is_leaf=lambda x: x is None)
    assert not pytree.all_leaves([None, []], is_leaf=lambda x: x is None)


def test_duplicate_registration_names_the_class():
    with pytest.raises(ValueError, match=f"Duplicate custom PyTreeDef type registration for <class '{__name__}.Box'>"):
        pytree.register_node(Box, lambda b: ((), None), lambda *_: Box())
    with pytest.raises(TypeError, match="must be a class; got 3"):
        pytree.register_node(3, lambda b: ((), None), lambda *_: 3)


def test_nothing_is_registered_process_wide():
    shared = jaxlib_api.pytree.default_registry()
    assert not any(shared.is_node(cls) for cls in (OrderedDict, defaultdict, Box))
    assert shared.flatten([1, (2,)])[1] == pytree.tree_structure([1, (2,)])


def test_threads_flatten_at_once():
    tree = {"a": [Box(1, 2, meta=i) for i in range(50)], "b": Point(1, OrderedDict(c=2))}
    failures = []

    def work():
        for _ in range(200):
            leaves, treedef = pytree.tree_flatten(tree)
            if treedef.unflatten(leaves) != tree:
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
