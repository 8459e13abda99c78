"""Attributes for the compiler, on operations and on calls (jax.experimental.xla_metadata)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xtrace.core import config, pytree, signature
from xtrace.core.jaxpr import DebugInfo, Jaxpr
from xtrace.core.primitive import placed, shaped
from xtrace.core.scopes import AnnotatedScope, nested
from xtrace.core.trace import current
from xtrace.transforms.annotated import xla_metadata_call_p, xla_metadata_value_p
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr

__all__ = ["fuse_limit", "must_fuse_call", "set_xla_metadata", "xla_metadata_call", "xla_metadata_call2"]

#: What every jitted function is traced anew for: the attributes that are set.
_attributes = config.config.define(
    "xla_metadata", (), "attributes of operations", types=(), internal=True, in_jit_key=True
)


def _texts(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Attributes as the compiler reads them. Raises TypeError for values that are no text, number or bool."""
    for key, value in values.items():
        if not isinstance(value, (str, int, float)):
            raise TypeError(
                f"xla_metadata_call metadata values must be str, bool, int, or float, got {type(value)} for key {key!r}"
            )
    return tuple(sorted((k, str(v).lower() if isinstance(v, bool) else str(v)) for k, v in values.items()))


class _Attributes(contextlib.ContextDecorator):
    """Sets attributes in a `with` block, or while a decorated function is called, traced or lowered."""

    def __init__(self, texts: tuple[tuple[str, str], ...]) -> None:
        self._texts = texts
        self._outer: list[Any] = []

    def __enter__(self) -> None:
        scope = current.name_stack
        inner = nested(scope, AnnotatedScope("", self._texts)) if self._texts else scope
        override = config.Override(_attributes, getattr(inner, "metadata", ()))
        override.__enter__()
        current.name_stack = inner
        self._outer.append((scope, override))

    def __exit__(self, *exc: Any) -> None:
        current.name_stack, override = self._outer.pop()
        override.__exit__(*exc)

    def __call__(self, func: Any) -> Any:
        return _Wrapped(func, self)


class _Wrapped:
    """A function called with attributes set; so are its own methods, such as `lower` of a jitted one."""

    def __init__(self, fun: Any, attributes: _Attributes) -> None:
        self._fun, self._attributes = fun, attributes
        functools.update_wrapper(self, fun, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._attributes:
            return self._fun(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._fun, name)
        return _Wrapped(found, self._attributes) if callable(found) else found


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Give operations attributes for the compiler: those done in a block or a function, or those that make values.

    Args:
      x: an array or a pytree of them, whose last operations get the attributes; None: they are set in the `with`
        block, or in the function, that the result begins or decorates.
      **kwargs: the attributes, text, numbers or bools.

    Returns:
      `x`; for None, a context manager that is also a decorator.

    Raises:
      TypeError: a value is of another type.

    >>> import xtrace as xt
    >>> def f(x):
    ...     with set_xla_metadata(stage=1):
    ...         return xt.numpy.sin(x)
    >>> 'stablehlo.sine %arg0 {mhlo.frontend_attributes = {stage = "1"}}' in xt.jit(f).lower(1.0).as_text()
    True
    """
    texts = _texts(kwargs)
    if x is None:
        return _Attributes(texts)
    return pytree.tree_map(lambda v: xla_metadata_value_p.bind(v, xla_metadata_kvs=texts), x)


def staged(
    fun: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Jaxpr, list[Any], Any]:
    """A function traced for one call of it: the closed jaxpr, its operands, and the structure of its result."""
    leaves, tree = pytree.tree_flatten((args, kwargs))
    out_tree: Any = None

    def flat(*xs: Any) -> list[Any]:
        nonlocal out_tree
        inner_args, inner_kwargs = tree.unflatten(xs)
        outs, out_tree = pytree.tree_flatten(fun(*inner_args, **inner_kwargs))
        return signature.check_results(outs, out_tree, name, name)

    leaves = [placed(x) for x in leaves]
    jaxpr, consts = closed_call_operands(trace_to_jaxpr(flat, [shaped(x) for x in leaves], DebugInfo(name)))
    return jaxpr, [*consts, *leaves], out_tree


def _call(fun: Callable[..., Any], metadata: Any, ad_metadata: Any) -> Callable[..., Any]:
    if not (metadata is None or isinstance(metadata, Mapping)):
        raise TypeError(f"metadata must be a dict, got {metadata!r}")
    if not (ad_metadata in ("same", "drop") if isinstance(ad_metadata, str) else isinstance(ad_metadata, Mapping)):
        raise TypeError(f"ad_metadata must be 'same', 'drop', or a dict of metadata, got {ad_metadata!r}")
    given = dict(
        xla_metadata=_texts(metadata or {}),
        ad_metadata=() if ad_metadata == "drop" else ad_metadata if ad_metadata == "same" else _texts(ad_metadata),
    )

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        jaxpr, operands, tree = staged(fun, "xla_metadata_call", args, kwargs)
        return tree.unflatten(xla_metadata_call_p.bind(*operands, jaxpr=jaxpr, **given))

    return wrapped


def xla_metadata_call(f: Callable[..., Any] | None = None, /, **meta: Any) -> Callable[..., Any]:
    """A function that stays a call in programs, with attributes for the compiler; so do its derivatives.

    Args:
      f: the function; left out: a decorator is returned.
      **meta: the attributes, text, numbers or bools.

    Raises:
      TypeError: a value is of another type.

    >>> import xtrace as xt
    >>> block = xla_metadata_call(xt.numpy.sin, tag="block")
    >>> 'call @xla_metadata_call(%arg0) {mhlo.frontend_attributes = {tag = "block"}}' in (
    ...     xt.jit(block).lower(1.0).as_text())
    True
    """
    return (lambda fun: _call(fun, meta, "same")) if f is None else _call(f, meta, "same")


def xla_metadata_call2(f: Any = None, /, metadata: Any = None, *, ad_metadata: Any = "same") -> Callable[..., Any]:
    """`xla_metadata_call`, with the attributes as a dictionary.

    Args:
      f: the function; left out: a decorator is returned.
      metadata: the attributes; may also be given in place of `f`.
      ad_metadata: those of the derivatives: "same", "drop" for none, or a dictionary.

    Raises:
      TypeError: `f` can't be called, or a value is of another type.
    """
    if isinstance(f, Mapping) and metadata is None:
        f, metadata = None, f
    if f is None:
        return lambda fun: _call(fun, metadata, ad_metadata)
    if not callable(f):
        raise TypeError(f"expected a callable to wrap, got {f!r}")
    return _call(f, metadata, ad_metadata)


@contextlib.contextmanager
def fuse_limit() -> Iterator[None]:
    """Set the attribute FUSE_LIMIT in a block: what is done in it is not fused with what is outside."""
    with set_xla_metadata(FUSE_LIMIT=True):
        yield


def must_fuse_call(identifier: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions whose operations must be fused into one kernel.

    Args:
      identifier: a number, as text, that tells the kernel from others.
    """
    return xla_metadata_call(MUST_FUSE=identifier)
