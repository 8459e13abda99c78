"""Solutions of equations, differentiated by the implicit function theorem: custom_root and custom_linear_solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xtrace.core import functions, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import DebugInfo, Jaxpr, eval_jaxpr
from xtrace.core.primitive import Primitive, as_array, shaped
from xtrace.core.trace import current, use_trace
from xtrace.lax import elementwise
from xtrace.lax.control_flow import common
from xtrace.lax.control_flow.common import flatten
from xtrace.lax.custom_functions import custom_jvp
from xtrace.transforms import refs
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.batching import MappedAxis, batch_jaxpr, move_axis
from xtrace.transforms.jvp import jvp_flat
from xtrace.transforms.linearize import Tape, backward, linearize_flat
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr
from xtrace.transforms.zeros import UndefinedPrimal, Zero, instantiate, zero_tangent


class _Unknowns(NamedTuple):
    """The structure and types of what an equation is solved for."""

    what: str
    tree: Any
    avals: tuple[ShapedArray, ...]

    def stage(self, name: str, owner: Any, fun: Callable[[Any], Any], expected: str, has_aux: bool) -> common.Body:
        """`fun`, of one argument with this structure, as a closed jaxpr; its result must have this structure too."""
        out_trees: list[Any] = []

        def flat(*leaves: Any) -> list[Any]:
            result = fun(self.tree.unflatten(leaves))
            if has_aux and (not isinstance(result, (tuple, list)) or len(result) != 2):
                raise TypeError(
                    f"{self.what}: {name}() must return a pair (solution, aux) since has_aux is True; it returned "
                    f"{result}."
                )
            outs, out_tree = flatten(tuple(result) if has_aux else result)
            out_trees.append(out_tree)
            return outs

        info = DebugInfo(functions.fun_name(owner), f"{self.what} {name}", code=functions.code_of(owner))
        jaxpr, consts = closed_call_operands(trace_to_jaxpr(flat, self.avals, info))
        (out_tree,) = out_trees
        found = out_tree.children()[0] if has_aux else out_tree
        if found != self.tree:
            raise TypeError(
                f"{name}() output pytree structure must match {expected}, got {found} and {self.tree} ({self.what}, "
                f"{name} is {functions.described(owner)})."
            )
        return common.Body(jaxpr, refs.resolved(consts), out_tree)

    def check_shapes(self, name: str, body: common.Body) -> None:
        got, want = [[a.shape for a in avals] for avals in (body.out_avals[: len(self.avals)], self.avals)]
        if got != want:
            raise ValueError(f"{name}() output shapes must match b, got {got} and {want} ({self.what}).")


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """A root of `f`, differentiable with respect to the values that `f` closes over.

    Derivatives come from the implicit function theorem at the root, not from the steps that found it.

    Args:
      f: a function of one argument with a result of the same structure and types.
      initial_guess: arrays or pytrees, handed to `solve`.
      solve: `solve(f, initial_guess)` returns x with f(x) = 0; that is not checked. With has_aux it returns (x, aux).
      tangent_solve: `tangent_solve(g, y)` returns x with g(x) = y, where g is the linear function that f is near its
        root: for scalars `lambda g, y: y / g(1.0)`.
      has_aux: whether `solve` also returns auxiliary data, which has no derivative.

    Returns:
      What `solve` returned.

    Raises:
      TypeError: a function's result doesn't have the structure of `initial_guess`.

    Example:
      >>> import xtrace as xt
      >>> def square_root(a):
      ...     newton = lambda f, x: xt.lax.fori_loop(0, 8, lambda i, x: (x + a / x) / 2, x)
      ...     return xt.lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
      >>> round(float(square_root(4.0)), 4), round(float(xt.grad(square_root)(4.0)), 4)
      (2.0, 0.25)
    """
    for name, fun in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        statics.check_callable(f"lax.custom_root: {name}", fun)
    guess, tree = common.checked_leaves("custom_root: initial_guess", initial_guess)
    unknowns = _Unknowns("custom_root", tree, tuple([shaped(x) for x in guess]))
    n = len(guess)
    equation = unknowns.stage("f", f, f, "initial_guess", False)
    solver = unknowns.stage("solve", solve, lambda x: solve(f, x), "initial_guess", has_aux)

    def tangent(x: Any, y: Any) -> Any:
        return tangent_solve(_linear_at(lambda *xs: eval_jaxpr(equation.jaxpr, (), *equation.consts, *xs), x, tree), y)

    pair_tree = flatten((initial_guess, initial_guess))[1]
    pair = _Unknowns("custom_root", pair_tree, unknowns.avals * 2)
    step = _stage_tangent_solve(pair, tangent, tangent_solve, tree)
    lengths = (len(equation.consts), len(solver.consts), len(step.consts))

    def root(*args: Any) -> list[Any]:
        _, own, _, start = _parts(args, lengths)
        return eval_jaxpr(solver.jaxpr, (), *own, *start)

    # The rule that f(consts, x) stays zero: dx solves (df/dx) dx = -(df/dconsts) dconsts.
    def root_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        f_consts, _, step_consts, _ = _parts(primals, lengths)
        results = wrapped(*primals)
        x, aux = results[:n], results[n:]
        moving = _parts(tangents, lengths)[0]
        _, rhs = jvp_flat(lambda *consts: eval_jaxpr(equation.jaxpr, (), *consts, *x), f_consts, moving)
        solved = eval_jaxpr(step.jaxpr, (), *step_consts, *x, *[instantiate(t) for t in rhs])
        return results, [*[elementwise.neg(t) for t in solved], *[zero_tangent(a) for a in aux]]

    root.__name__ = "custom_root"
    wrapped = custom_jvp(root)
    wrapped.defjvp(root_jvp, symbolic_zeros=True)
    outs = wrapped(*equation.consts, *solver.consts, *step.consts, *guess)
    return solver.out_tree.unflatten([as_array(o) for o in outs])


def _parts(args: Sequence[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """`args` cut into pieces of these lengths, and the rest."""
    out, start = [], 0
    for n in lengths:
        out.append(list(args[start : start + n]))
        start += n
    return [*out, list(args[start:])]


def _linear_at(flat: Callable[..., Any], x: Any, tree: Any) -> Callable[[Any], Any]:
    """The derivative of a flat function at `x` as a linear function of pytrees."""
    leaves = flatten(x)[0]
    outs, lin = linearize_flat(flat, leaves, [True] * len(leaves))
    jaxpr, residuals = lin.jaxpr()

    def linear(t: Any) -> Any:
        given, given_tree = flatten(t)
        if given_tree != tree:
            raise TypeError(
                f"custom_root: the linear function handed to tangent_solve takes structure {tree}, got {given_tree}."
            )
        results = iter(eval_jaxpr(jaxpr, (), *residuals, *given))
        full = [zero_tangent(o) if type(d) is Zero else next(results) for o, d in zip(outs, lin.outs)]
        return tree.unflatten([instantiate(d) for d in full])

    return linear


def _stage_tangent_solve(pair: _Unknowns, tangent: Callable[..., Any], owner: Any, tree: Any) -> common.Body:
    out_trees: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        outs, out_tree = flatten(tangent(*pair.tree.unflatten(leaves)))
        out_trees.append(out_tree)
        return outs

    info = DebugInfo(functions.fun_name(owner), "custom_root tangent_solve", code=functions.code_of(owner))
    jaxpr, consts = closed_call_operands(trace_to_jaxpr(flat, pair.avals, info))
    if out_trees[0] != tree:
        raise TypeError(
            f"tangent_solve() output pytree structure must match x, got {out_trees[0]} and {tree} (custom_root, "
            f"tangent_solve is {functions.described(owner)})."
        )
    return common.Body(jaxpr, consts, tree)


# -- linear equations --------------------------------------------------------------------------------------------------


class _Roles(NamedTuple):
    """One of each: the linear function, its transpose, and what solves with either."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> _Roles:
        return _Roles(self.vecmat, self.matvec, self.transpose_solve, self.solve)


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution x of the linear equation matvec(x) = b, differentiable whatever `solve` does inside.

    Args:
      matvec: a linear function of one argument with the structure and shapes of `b`. Values that it closes over, such
        as a matrix, are differentiated.
      b: arrays or pytrees, the right-hand side.
      solve: `solve(matvec, b)` returns x. It need not be differentiable.
      transpose_solve: `transpose_solve(vecmat, b)` solves with the transpose of `matvec`. Reverse mode needs it.
      symmetric: whether `matvec` is its own transpose; `solve` then serves for both.
      has_aux: whether the solvers return (x, aux); aux has no derivative.

    Returns:
      What `solve` returned.

    Raises:
      TypeError, ValueError: a function's result differs from `b` in structure or shapes; reverse mode without
        transpose_solve.

    Example:
      >>> import xtrace as xt
      >>> divide = lambda a, b: xt.lax.custom_linear_solve(lambda x: a * x, b, lambda _, b: b / a, symmetric=True)
      >>> float(divide(2.0, 3.0)), float(xt.grad(divide)(2.0, 3.0))
      (1.5, -0.75)
    """
    for name, fun in (("matvec", matvec), ("solve", solve)):
        statics.check_callable(f"lax.custom_linear_solve: {name}", fun)
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = common.checked_leaves("custom_linear_solve: b", b)
    unknowns = _Unknowns("custom_linear_solve", tree, tuple([shaped(x) for x in leaves]))

    def staged(name: str, owner: Any, fun: Callable[[Any], Any], aux: bool) -> common.Body:
        body = unknowns.stage(name, owner, fun, "b", aux)
        unknowns.check_shapes(name, body)
        return body

    none = common.Body(None, [], None)  # type: ignore[arg-type]
    there = staged("matvec", matvec, matvec, False)
    solver = staged("solve", solve, lambda x: solve(matvec, x), has_aux)
    back = back_solver = none
    if transpose_solve is not None:
        vecmat = matvec if symmetric else _transpose_of(there, unknowns)
        back = there if symmetric else staged("vecmat", matvec, vecmat, False)
        statics.check_callable("lax.custom_linear_solve: transpose_solve", transpose_solve)
        tsolve = transpose_solve
        back_solver = staged("transpose_solve", tsolve, lambda x: tsolve(vecmat, x), has_aux)
    bodies = _Roles(there, back, solver, back_solver)
    outs = linear_solve_p.bind(
        *[c for body in bodies for c in body.consts],
        *leaves,
        const_lengths=_Roles(*[len(body.consts) for body in bodies]),
        jaxprs=_Roles(*[body.jaxpr for body in bodies]),
    )
    return solver.out_tree.unflatten(outs)


def _transpose_of(body: common.Body, unknowns: _Unknowns) -> Callable[[Any], Any]:
    """The transpose of a staged linear function, as a function of pytrees."""

    def transposed(ct: Any) -> Any:
        tape = Tape(current.trace)
        values = [tape.new_value(a) for a in unknowns.avals]
        with use_trace(tape):
            outs = eval_jaxpr(body.jaxpr, (), *body.consts, *values)
        results = backward(tape, outs, flatten(ct)[0], values)
        return unknowns.tree.unflatten([instantiate(r) for r in results])

    return transposed


def _solve_avals(*avals: ShapedArray, const_lengths: _Roles, jaxprs: _Roles) -> list[ShapedArray]:
    return jaxprs.solve.out_avals  # type: ignore[no-any-return]


linear_solve_p = Primitive("custom_linear_solve", _solve_avals)
linear_solve_p.multiple_results = True
linear_solve_p.holds_jaxprs = True
linear_solve_p.effects = lambda avals, params: params["jaxprs"].solve.effects


def _run_solve(*args: Any, const_lengths: _Roles, jaxprs: _Roles) -> list[Any]:
    _, _, consts, _, b = _parts(args, const_lengths)
    return eval_jaxpr(jaxprs.solve, (), *consts, *b)


def _solve_jvp(primals: list[Any], tangents: list[Any], *, const_lengths: _Roles, jaxprs: _Roles) -> Any:
    # Of A x = b: A dx = db - dA x.
    outs = linear_solve_p.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
    matrix, *_, b = _parts(primals, const_lengths)
    d_matrix, *_, db = _parts(tangents, const_lengths)
    n = len(b)
    rhs = db
    if any([type(t) is not Zero for t in d_matrix]):
        x = outs[:n]
        _, moved = jvp_flat(lambda *consts: eval_jaxpr(jaxprs.matvec, (), *consts, *x), matrix, d_matrix)
        minus = [t if type(t) is Zero else elementwise.neg(t) for t in moved]
        rhs = [u if type(t) is Zero else t if type(u) is Zero else add_tangents(t, u) for t, u in zip(db, minus)]
    aux = [zero_tangent(o) for o in outs[n:]]
    if all([type(t) is Zero for t in rhs]):
        return outs, [*[zero_tangent(o) for o in outs[:n]], *aux]
    rest = primals[: len(primals) - n]
    solved = linear_solve_p.bind(*rest, *[instantiate(t) for t in rhs], const_lengths=const_lengths, jaxprs=jaxprs)
    return outs, [*solved[:n], *aux]


def _solve_transpose(cts: list[Any], *args: Any, const_lengths: _Roles, jaxprs: _Roles) -> list[Any]:
    if jaxprs.transpose_solve is None:
        raise TypeError(
            "transpose_solve required for backwards mode automatic differentiation of custom_linear_solve: give it, or "
            "say symmetric=True if the linear function is its own transpose."
        )
    *consts, b = _parts(args, const_lengths)
    if any([type(c) is UndefinedPrimal for group in consts for c in group]):
        raise NotImplementedError(
            "custom_linear_solve is linear in b only: it can't be transposed with respect to what matvec closes over."
        )
    n = len(b)
    results = linear_solve_p.bind(
        *[c for group in _Roles(*consts).transposed() for c in group],
        *[instantiate(c) for c in cts[:n]],
        const_lengths=const_lengths.transposed(),
        jaxprs=jaxprs.transposed(),
    )
    return [
        *[None] * (len(args) - n),
        *[r if type(x) is UndefinedPrimal else None for x, r in zip(b, results)],
    ]


def _solve_batch(
    axis: MappedAxis, args: list[Any], dims: list[int | None], *, const_lengths: _Roles, jaxprs: _Roles
) -> Any:
    # Right-hand sides and solutions are all mapped: the four functions have to agree on what is.
    *consts, b = _parts(args, const_lengths)
    *const_dims, b_dims = _parts(dims, const_lengths)
    b = [move_axis(x, d, 0, axis.size) for x, d in zip(b, b_dims)]
    operands: list[list[Any]] = []
    batched: list[Jaxpr | None] = []
    for jaxpr, own, own_dims in zip(jaxprs, consts, const_dims):
        if jaxpr is None:
            operands.append([])
            batched.append(None)
            continue
        mapped = (True,) * len(jaxpr.outvars)
        new, extra, _ = batch_jaxpr(jaxpr, axis, (*own_dims, *[0] * len(b)), mapped)
        operands.append([*extra, *own])
        batched.append(new)
    outs = linear_solve_p.bind(
        *[c for group in operands for c in group],
        *b,
        const_lengths=_Roles(*[len(group) for group in operands]),
        jaxprs=_Roles(*batched),
    )
    return outs, [0] * len(outs)


linear_solve_p.impl = _run_solve
linear_solve_p.jvp = _solve_jvp
linear_solve_p.transpose = _solve_transpose
linear_solve_p.batch = _solve_batch

__all__ = ["custom_linear_solve", "custom_root", "linear_solve_p"]
