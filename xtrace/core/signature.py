"""Calls of user functions: which arguments are static or donated, and what their leaves are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from xtrace.core import pytree, refs
from xtrace.core.avals import ShapedArray, abstract_token
from xtrace.core.functions import code_of as code_of
from xtrace.core.functions import fun_name as fun_name
from xtrace.core.primitive import aval_of
from xtrace.core.trace import Tracer
from xtrace.runtime.jaxlib_api import ArrayImpl


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of `fun`, or None for callables that don't tell theirs."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):  # a builtin without one; None for a function that is gone
        return None


def as_tuple(x: Any, kind: type, name: str) -> tuple[Any, ...]:
    """An int (or str) or a sequence of them, as a tuple. Raises TypeError naming the option."""
    if x is None:
        return ()
    if isinstance(x, kind):
        return (x,)
    if hasattr(x, "__index__") and kind is int:
        return (x.__index__(),)
    if isinstance(x, str) or not isinstance(x, Iterable):
        raise TypeError(f"{name} must be {kind.__name__} or a collection of {kind.__name__}, got {x!r}")
    values = tuple(x)
    for v in values:
        if not isinstance(v, kind) and not (kind is int and hasattr(v, "__index__")):
            raise TypeError(f"{name} must be {kind.__name__} or a collection of {kind.__name__}, got {x!r}")
    return tuple(v.__index__() if kind is int else v for v in values)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def infer_argnums_and_argnames(
    fun: Callable[..., Any], argnums: Any, argnames: Any, option: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the arguments that `option` (static, donate) selects; either is inferred from the other.

    Raises ValueError for positions or names that `fun` doesn't have.
    """
    nums = as_tuple(argnums, int, f"{option}_argnums")
    names = as_tuple(argnames, str, f"{option}_argnames")
    if not nums and not names:
        return (), ()
    signature = signature_of(fun)
    if signature is None:
        return nums, names
    parameters = list(signature.parameters.values())
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    any_name = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    by_name = [p.name for p in parameters if p.kind in _BY_NAME]
    n = len(positional)
    for i in nums:
        if not variadic and not -n <= i < n:
            raise ValueError(
                f"jitted function {fun_name(fun)} has {n} positional arguments "
                f"({', '.join(p.name for p in positional)}); {option}_argnums={argnums} names number {i}, which "
                "doesn't exist"
            )
    taken = {p.name for p in parameters if p.kind not in _BY_NAME}  # these can't be passed by name
    for name in names:
        if name not in by_name and (name in taken or not any_name):
            raise ValueError(
                f"jitted function {fun_name(fun)} has no argument {name!r} (it has {', '.join(by_name) or 'none'}); "
                f"{option}_argnames={argnames} is wrong"
            )
    if argnames is None:
        found = [positional[i] for i in nums if -n <= i < n]
        names = tuple([p.name for p in found if p.kind in _BY_NAME])
    elif argnums is None:
        order = {p.name: i for i, p in enumerate(positional)}
        nums = tuple([order[name] for name in names if name in order])
    return nums, names


def resolve_argnums(nums: Sequence[int], n_args: int) -> tuple[int, ...]:
    """Positions counted from the end made positive, those beyond the call's arguments dropped; sorted."""
    return tuple(sorted({i % n_args if i < 0 else i for i in nums if -n_args <= i < n_args}))


def check_hashable_static(fun: Callable[..., Any], name: str, value: Any) -> Hashable:
    """`value`, if it can be a static argument. Raises ValueError naming the argument."""
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"Non-hashable static arguments are not supported: argument {name} of {fun_name(fun)} is static and has a "
            f"value of type {type(value)} that can't be hashed ({_shown(value)}). Pass a tuple in place of a list, "
            "or make the argument an ordinary (traced) one."
        ) from None
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."


def leaf_names(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], skip: Sequence[int] = ()
) -> list[str]:
    """Names of the leaves of a call's arguments: `x`, `params['w']`, `args[1][0]`. `skip`: static positions."""
    signature = signature_of(fun)
    names: list[str] = []
    if signature is not None:
        parameters = list(signature.parameters.values())
        for p in parameters:
            if p.kind in _POSITIONAL:
                names.append(p.name)
            elif p.kind is inspect.Parameter.VAR_POSITIONAL:
                names += [f"{p.name}[{i}]" for i in range(len(args) - len(names))]
    out = []
    for i, arg in enumerate(args):
        if i in skip:
            continue
        name = names[i] if i < len(names) else f"args[{i}]"
        for path, _ in pytree.tree_flatten_with_path(arg)[0]:
            out.append(name + pytree.keystr(path))
    for key in sorted(kwargs):
        for path, _ in pytree.tree_flatten_with_path(kwargs[key])[0]:
            out.append(key + pytree.keystr(path))
    return out


def result_names(tree: Any) -> list[str]:
    """Names of the leaves of a result with structure `tree`: `result`, `result['w']`, `result[0]`."""
    try:
        dummy = pytree.tree_unflatten(tree, [0] * tree.num_leaves)
    except Exception:  # a class of the user's that looks at its contents
        return [f"result leaf {i}" for i in range(tree.num_leaves)]
    return ["result" + pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(dummy)[0]]


def check_arg(x: Any, name: Callable[[], str], what: str) -> ShapedArray:
    """The aval of an argument. Raises TypeError that names the argument if it is no array."""
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval
    try:
        return aval_of(x)
    except TypeError:
        raise TypeError(
            f"Cannot interpret value of type {type(x)} as an abstract array: {what} got {_shown(x)} for its argument "
            f"{name()}, which is neither an array nor a number. Make such an argument static "
            "(static_argnums or static_argnames of jit), or convert it to an array."
        ) from None


def check_results(outs: list[Any], out_tree: Any, name: str, traced_for: str) -> list[Any]:
    """The leaves a traced function returned, all of them arrays. Raises TypeError naming the one that isn't."""
    for i, x in enumerate(outs):
        if not isinstance(x, (Tracer, ArrayImpl)) and getattr(x, "aval", None) is not abstract_token:
            try:
                aval_of(x)
            except TypeError:
                where = result_names(out_tree)[i]
                if isinstance(x, refs.Ref):
                    raise refs.cannot_return(x, where, name, traced_for) from None
                if traced_for == "vmap":
                    raise TypeError(
                        f"Output from batched function {name} at {where}, {_shown(x)} of type {type(x)}, is not a "
                        "valid JAX type: mapped functions return arrays, numbers and containers of them."
                    ) from None
                raise TypeError(
                    f"function {name} traced for {traced_for} returned a value of type {type(x)} at {where}, which is "
                    "not a valid type: functions that are traced return arrays, numbers and containers of them."
                ) from None
            convert = getattr(x, "__jax_array__", None)
            if convert is not None:
                outs[i] = convert()
    return outs
