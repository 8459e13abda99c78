"""What libraries use that take calls apart the way jit does (jax.api_util)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xtrace.core import pytree, signature
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import DebugInfo
from xtrace.core.primitive import shaped
from xtrace.core.pytree_prefixes import flatten_prefix
from xtrace.extend import linear_util

__all__ = [
    "argnums_partial",
    "debug_info",
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "safe_map",
    "shaped_abstractify",
]


def safe_map(f: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
    """`map` as a list, of sequences that must have one length. Raises ValueError if they don't.

    >>> from xtrace.api_util import safe_map
    >>> safe_map(lambda x, y: x + y, (1, 2), (10, 20))
    [11, 22]
    """
    return [f(*xs) for xs in zip(*[list(s) for s in sequences], strict=True)]


def shaped_abstractify(x: Any) -> ShapedArray:
    """The type of an array, number, tracer or ShapeDtypeStruct. Raises TypeError for anything else.

    >>> from xtrace.api_util import shaped_abstractify
    >>> shaped_abstractify(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    return shaped(x)


def rebase_donate_argnums(donate_argnums: Iterable[int], static_argnums: Iterable[int]) -> tuple[int, ...]:
    """Positions of donated arguments after static ones have been taken out, sorted.

    >>> from xtrace.api_util import rebase_donate_argnums
    >>> rebase_donate_argnums((3, 4), (0, 1))
    (1, 2)
    """
    static = sorted(set(static_argnums))
    return tuple(sorted({n - sum(s < n for s in static) for n in donate_argnums if n not in static}))


def donation_vector(
    donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: Any, kws: bool = True
) -> tuple[bool, ...]:
    """For each leaf of a call, whether it is donated.

    Args:
      donate_argnums, donate_argnames: the donated arguments.
      in_tree: structure of (args, kwargs), or of args alone if not `kws`.

    >>> import xtrace as xt
    >>> from xtrace.api_util import donation_vector
    >>> donation_vector((0,), (), xt.tree.structure(((1, (2, 3)), {})))
    (True, False, False)
    """
    call = in_tree.unflatten(range(in_tree.num_leaves))
    args, kwargs = call if kws else (call, {})
    out: list[bool] = []
    for i, arg in enumerate(args):
        out += [i in donate_argnums] * len(pytree.tree_leaves(arg))
    for name in sorted(kwargs):
        out += [name in donate_argnames] * len(pytree.tree_leaves(kwargs[name]))
    return tuple(out)


def flatten_axes(name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False) -> list[Any]:
    """One axis for each leaf of `treedef`, from a prefix tree of axes (None: not mapped).

    Args:
      name: what the axes are called in the error of a prefix that doesn't fit.
      kws: `treedef` is of (args, kwargs) and `axis_tree` of args: keyword arguments get axis 0.

    Raises:
      ValueError: `axis_tree` is no prefix of `treedef`.

    >>> import xtrace as xt
    >>> from xtrace.api_util import flatten_axes
    >>> flatten_axes("in_axes", xt.tree.structure((1, {"a": 2, "b": 3})), (0, None))
    [0, None, None]
    """
    if kws:
        call = treedef.unflatten(range(treedef.num_leaves))
        given = flatten_prefix(axis_tree, pytree.tree_structure(call[0]), name)
        return [*given, *[0] * len(pytree.tree_leaves(call[1]))]
    return flatten_prefix(axis_tree, treedef, name)


def _flat_fun(f: Callable[..., Any], store: Any, in_tree: Any, *leaves: Any) -> list[Any]:
    args, kwargs = in_tree.unflatten(leaves)
    outs, out_tree = pytree.tree_flatten(f(*args, **kwargs))
    store.store(out_tree)
    return outs


def _flat_fun_nokwargs(f: Callable[..., Any], store: Any, in_tree: Any, *leaves: Any) -> list[Any]:
    outs, out_tree = pytree.tree_flatten(f(*in_tree.unflatten(leaves)))
    store.store(out_tree)
    return outs


def flatten_fun(
    fun: linear_util.WrappedFun, *gen_static_args: Any, use_eq_store: bool = False, unk_names: bool = False
) -> tuple[linear_util.WrappedFun, Callable[[], Any]]:
    """Wrap a function to take and return flat lists; its static argument is the structure of (args, kwargs).

    Returns the wrapped function, and a function that gives the structure of the result after a call.

    >>> import xtrace as xt
    >>> from xtrace.api_util import flatten_fun
    >>> from xtrace.extend.linear_util import wrap_init
    >>> flat, out_tree = flatten_fun(wrap_init(lambda x, k: (x, {"k": k})), xt.tree.structure(((1,), {"k": 2})))
    >>> flat.call_wrapped(10, 20), out_tree()
    ([10, 20], PyTreeDef((*, {'k': *})))
    """
    return linear_util.transformation_with_aux2(_flat_fun, fun, *gen_static_args, use_eq_store=use_eq_store)


def flatten_fun_nokwargs(
    fun: linear_util.WrappedFun, *gen_static_args: Any, use_eq_store: bool = False, unk_names: bool = False
) -> tuple[linear_util.WrappedFun, Callable[[], Any]]:
    """As `flatten_fun`, for the structure of positional arguments alone.

    >>> import xtrace as xt
    >>> from xtrace.api_util import flatten_fun_nokwargs
    >>> from xtrace.extend.linear_util import wrap_init
    >>> flat, out_tree = flatten_fun_nokwargs(wrap_init(lambda x, y: x + y), xt.tree.structure((1, 2)))
    >>> flat.call_wrapped(1, 2)
    [3]
    """
    return linear_util.transformation_with_aux2(_flat_fun_nokwargs, fun, *gen_static_args, use_eq_store=use_eq_store)


def _with_fixed(f: Callable[..., Any], nums: tuple[int, ...], fixed: tuple[Any, ...], *dynamic: Any) -> Any:
    given, rest = iter(dynamic), iter(fixed)
    n = len(nums) + len(fixed)
    return f(*[next(given) if i in nums else next(rest) for i in range(n)])


def argnums_partial(
    f: linear_util.WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[linear_util.WrappedFun, tuple[Any, ...]]:
    """Fix all arguments of `f` but those at `dyn_argnums`; returns the function of these, and their values.

    Raises:
      ValueError: a fixed argument is not hashable, and `require_static_args_hashable`.

    >>> from xtrace.api_util import argnums_partial
    >>> from xtrace.extend.linear_util import wrap_init
    >>> f, dynamic = argnums_partial(wrap_init(lambda x, y: x - y), 1, (10, 20))
    >>> dynamic, f.call_wrapped(3)
    ((20,), 7)
    """
    nums = signature.resolve_argnums((dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums), len(args))
    fixed = tuple([a for i, a in enumerate(args) if i not in nums])
    if require_static_args_hashable:
        for i, a in enumerate(args):
            if i not in nums:
                signature.check_hashable_static(f.f, f"number {i}", a)
    return linear_util.transformation2(_with_fixed, f, nums, fixed), tuple([args[i] for i in nums])


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    result_paths_thunk: Callable[[], Sequence[str]] | None = None,
    sourceinfo: str | None = None,
    signature: Any = None,
) -> DebugInfo:
    """Names for a function that is to be traced: its own, and one for each leaf of its arguments.

    Args:
      traced_for: the transformation, such as "jit".
      args, kwargs: the call. static_argnums, static_argnames: arguments that are no arrays.
      result_paths_thunk: gives the paths of the results once they are known.

    >>> from xtrace.api_util import debug_info
    >>> debug_info("jit", lambda x, y: x, (1, (2, 3)), {}).arg_names
    ('x', 'y[0]', 'y[1]')
    """
    from xtrace.core import signature as signatures

    dynamic = {k: v for k, v in kwargs.items() if k not in static_argnames}
    names = signatures.leaf_names(fun, args, dynamic, tuple(static_argnums))
    return DebugInfo(signatures.fun_name(fun), traced_for, names, result_paths_thunk or (), signatures.code_of(fun))
