"""Derivatives with respect to sparse arrays: of their stored elements, as arrays of the same sparsity."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.api import autodiff
from xtrace.api.batching import vmap
from xtrace.core import pytree, statics
from xtrace.core.primitive import shaped
from xtrace.experimental.sparse.util import is_sparse


class _Flat:
    """A function's arguments as buffers, of which those are differentiated that hold elements."""

    def __init__(self, fun: Callable[..., Any], argnums: int | Sequence[int], args: tuple[Any, ...]) -> None:
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if not all([-len(args) <= n < len(args) for n in numbers]):
            raise ValueError(f"argnums={argnums} out of range for {len(args)} positional arguments")
        chosen = [n % len(args) for n in numbers]
        self.single = isinstance(argnums, int)
        self.buffers: list[Any] = []
        self.argnums: list[int] = []
        #: For each argument chosen: its tree, and the sparse arrays or arrays at its leaves with their first buffers.
        self.results: dict[int, tuple[Any, list[tuple[Any, int]]]] = {}
        trees = []
        for n, arg in enumerate(args):
            leaves, tree = pytree.tree_flatten(arg, is_leaf=is_sparse)
            places = []
            for leaf in leaves:
                buffers, of_leaf = pytree.tree_flatten(leaf)
                places.append((leaf, len(self.buffers), of_leaf, len(buffers)))
                if n in chosen:
                    self.argnums.append(len(self.buffers))
                self.buffers += buffers
            trees.append((tree, places))
            if n in chosen:
                self.results[n] = (tree, [(leaf, first) for leaf, first, _, _ in places])
        self.order = chosen

        def flat(*buffers: Any, **kwargs: Any) -> Any:
            rebuilt = []
            for tree, places in trees:
                leaves = [
                    pytree.tree_unflatten(of_leaf, buffers[first : first + count])
                    for _, first, of_leaf, count in places
                ]
                rebuilt.append(pytree.tree_unflatten(tree, leaves))
            return fun(*rebuilt, **kwargs)

        self.fun = functools.wraps(fun)(flat)

    def rebuild(self, gradients: Sequence[Any]) -> Any:
        """The derivatives in the structure of the arguments; `gradients` in the order of `argnums`."""
        found = dict(zip(self.argnums, gradients))
        outs = []
        for n in self.order:
            tree, places = self.results[n]
            outs.append(pytree.tree_unflatten(tree, [_like(leaf, found[first]) for leaf, first in places]))
        return outs[0] if self.single else tuple(outs)


def _like(leaf: Any, gradient: Any) -> Any:
    """The derivative by `leaf`, sparse as it is; dimensions of the result in front become batch dimensions."""
    if not is_sparse(leaf):
        return gradient
    buffers, tree = pytree.tree_flatten(leaf)

    def rebuilt(g: Any) -> Any:
        return pytree.tree_unflatten(tree, [g, *buffers[1:]])

    for _ in range(shaped(gradient).ndim - shaped(buffers[0]).ndim):
        rebuilt = vmap(rebuilt)
    return rebuilt(gradient)


def _derivative(transform: Callable[..., Any], what: str) -> Callable[..., Any]:
    def sparse_derivative(
        fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
    ) -> Callable[..., Any]:
        if not callable(fun):
            raise TypeError(f"Expected a callable value, got {fun}")
        statics.integers(argnums if hasattr(argnums, "__iter__") else (argnums,), "argnums")

        @functools.wraps(fun)
        def derivative(*args: Any, **kw: Any) -> Any:
            flat = _Flat(fun, argnums, args)
            run = transform(flat.fun, argnums=tuple(flat.argnums), has_aux=has_aux, **kwargs)
            out = run(*flat.buffers, **kw)
            if what == "value_and_grad":
                return out[0], flat.rebuild(out[1])
            if has_aux:
                return flat.rebuild(out[0]), out[1]
            return flat.rebuild(out)

        return derivative

    sparse_derivative.__name__ = sparse_derivative.__qualname__ = what
    sparse_derivative.__module__ = __name__
    return sparse_derivative


_ARGUMENTS = """

    Args:
      fun: a function of arrays and sparse arrays{returns}.
      argnums: by which arguments.
      has_aux: whether the function returns a pair, of which the second is handed out as it is.
      kwargs: other options of xtrace.{name}.

    Returns:
      a function of the same arguments. The derivative by a sparse array is sparse, with the same indices.
"""

value_and_grad = _derivative(autodiff.value_and_grad, "value_and_grad")
value_and_grad.__doc__ = (
    """Value and gradient of a function, also by sparse arrays."""
    + _ARGUMENTS.format(returns=" that returns a scalar", name="value_and_grad")
    + """
    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.value_and_grad(lambda x, y: x @ y)(sparse.BCOO.fromdense(xnp.arange(6.)), xnp.ones(6))
    (Array(15., dtype=float32), BCOO(float32[6], nse=5))
    """
)

grad = _derivative(autodiff.grad, "grad")
grad.__doc__ = (
    """Gradient of a function, also by sparse arrays."""
    + _ARGUMENTS.format(returns=" that returns a scalar", name="grad")
    + """
    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.grad(lambda x, y: x @ y)(sparse.BCOO.fromdense(xnp.arange(6.)), xnp.ones(6))
    BCOO(float32[6], nse=5)
    """
)

jacfwd = _derivative(autodiff.jacfwd, "jacfwd")
jacfwd.__doc__ = """Jacobian by forward derivatives, also by sparse arrays; of dense results.""" + _ARGUMENTS.format(
    returns="", name="jacfwd"
)

jacrev = _derivative(autodiff.jacrev, "jacrev")
jacrev.__doc__ = """Jacobian by reverse derivatives, also by sparse arrays; of dense results.""" + _ARGUMENTS.format(
    returns="", name="jacrev"
)

jacobian = jacrev
