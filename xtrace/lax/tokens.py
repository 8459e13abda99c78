"""Ordering tokens: values without elements, by which operations with side effects come after each other."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray, abstract_token
from xtrace.core.primitive import Primitive
from xtrace.core.pytree import dispatch_registry


class Token:
    """A concrete token: a buffer without elements, ready once what it stands for has happened."""

    __slots__ = ("_buf", "__weakref__")

    aval = abstract_token

    def __init__(self, buf: Any) -> None:
        self._buf = buf

    def block_until_ready(self) -> None:
        """Wait for what the token stands for."""
        self._buf.block_until_ready()


dispatch_registry.register_node(Token, lambda token: ((token._buf,), None), lambda _, buf: Token(*buf))
dtypes.TokenDtype.wrap = staticmethod(Token)
dtypes.TokenDtype.unwrap = staticmethod(lambda token: token._buf)


def _join_aval(*tokens: ShapedArray) -> ShapedArray:
    for i, aval in enumerate(tokens):
        if aval is not abstract_token:
            raise TypeError(
                f"Arguments to after_all must be tokens, got {aval.str_short()} at position {i}; "
                "lax.create_token() makes one"
            )
    return abstract_token


create_token_p = Primitive("create_token", lambda: abstract_token)
after_all_p = Primitive("after_all", _join_aval)
# Tokens have no axis to be mapped over, so that their operations are never given one.


def create_token(_: Any = None) -> Any:
    """A token that nothing has to come before.

    Args:
      _: ignored.

    Returns:
      A token: a Token, or inside a trace a value of the type `Tok`.

    Example:
      >>> import xtrace as xt
      >>> print(xt.make_jaxpr(lambda: xt.lax.after_all(xt.lax.create_token(), xt.lax.create_token()))())
      { lambda ; . let
          a:Tok = create_token
          b:Tok = create_token
          c:Tok = after_all a b
        in (c,) }
    """
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """A token that comes after all the given ones.

    Args:
      *operands: tokens; none of them: a token as of `create_token`.

    Returns:
      A token.

    Raises:
      TypeError: an operand is no token.

    Example:
      >>> import xtrace as xt
      >>> token = xt.lax.after_all(xt.lax.create_token())
      >>> token.block_until_ready()
      >>> xt.typeof(token)
      AbstractToken()
    """
    return after_all_p.bind(*operands)
