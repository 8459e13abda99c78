"""Random programs: syntax trees, the Python source they stand for, and what makes a failing one small.

Any tree is a program: operands are chosen among the variables there are, and each operation brings its operands into
the shape it needs. So any part of a failing program can be dropped or simplified, and what is printed is the source.

Programs avoid what has no unique derivative: comparisons and extrema are taken against odd constants.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import xtrace as xt
import xtrace.numpy as xnp

lax = xt.lax

# -- what programs may call ------------------------------------------------------------------------------------------


def num(x: Any) -> Any:
    """A number made of all elements, each with a weight of its own."""
    weights = np.cos(1.0 + np.arange(x.size)).reshape(x.shape)
    return xnp.sum(x * weights)


def vec(x: Any) -> Any:
    """Of shape (3,)."""
    return xnp.broadcast_to(xnp.tanh(x[0]) + x[-1] if x.ndim == 2 else x, (3,))


def mat(x: Any) -> Any:
    """Of shape (2, 3)."""
    return xnp.broadcast_to(x, (2, 3))


def index(x: Any) -> Any:
    """An integer from 0 to 2 that depends on the values."""
    return xnp.floor(xnp.abs(num(x)) * 7.3).astype("int32") % 3


@xt.custom_jvp
def forward_rule(x: Any, y: Any) -> Any:
    return xnp.sin(x) * y


@forward_rule.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x, y), (s, t) = primals, tangents
    return forward_rule(x, y), xnp.cos(x) * y * s + xnp.sin(x) * t


@xt.custom_vjp
def reverse_rule(x: Any, y: Any) -> Any:
    return xnp.sin(x) * y


def _forward(x: Any, y: Any) -> Any:
    return reverse_rule(x, y), (x, y)


def _backward(residuals: Any, ct: Any) -> Any:
    x, y = residuals
    return ct * xnp.cos(x) * y, ct * xnp.sin(x)


reverse_rule.defvjp(_forward, _backward)

# -- operations ------------------------------------------------------------------------------------------------------
# {a} {b} {c}: variables; {k}: 0, 1 or 2; {f} {g}: functions of two vectors (p, q), whose results are vectors.

ELEMENTWISE = (
    "xnp.sin({a})", "xnp.tanh({a}) * {b}", "{a} + {b}", "{a} - {b} * 0.7", "xnp.exp(-{a} * {a})",
    "xnp.log1p({a} ** 2)", "xnp.sqrt({a} ** 2 + 1.3)", "lax.logistic({a})", "lax.integer_pow(xnp.cos({a}), 3)",
    "xnp.arctan2({a}, 1.5 + {b} ** 2)", "xnp.abs({a} + 0.2171)", "xnp.maximum({a}, xnp.sin({b}) + 0.1093)",
    "xnp.minimum({a}, 0.3307)", "xnp.where({a} > 0.3141, xnp.sin({a}), {b} * 2.0)", "lax.clamp(-1.07, {a}, 1.13)",
    "{a} / (1.7 + {b} ** 2)", "xnp.logaddexp({a}, {b})", "lax.erf({a})", "-{a}", "xnp.power(1.2 + {a} ** 2, {b} / 9)",
    "lax.stop_gradient({a}) * 0.5", "xnp.expm1(xnp.sin({a}))", "lax.rsqrt(1.1 + {a} ** 2)",
)  # fmt: skip
REDUCTIONS = (
    "xnp.sum({a})", "xnp.mean(mat({a}), axis=0)", "xnp.prod(xnp.cos(mat({a})), axis=0)", "xnp.max(vec({a}))",
    "xnp.cumsum(mat({a}), axis={k} % 2)", "lax.cumprod(xnp.cos(vec({a})), reverse=True)", "lax.cummax(vec({a}))",
    "lax.cumlogsumexp(vec({a}))", "xnp.var(mat({a}), axis=0)", "xt.nn.softmax(vec({a}))",
    "xt.nn.logsumexp(mat({a}), axis=0)", "lax.reduce(vec({a}), 0.5, lambda u, w: u * 0.3 + w, (0,))",
    "xnp.sum(mat({a}), axis=1, keepdims=True) * {b}", "num({a})",
)  # fmt: skip
INDEXING = (
    "vec({a})[{k}]", "mat({a})[{k} % 2]", "mat({a})[:, ::-1]", "vec({a})[xnp.array([2, 0, 0])]",
    "vec({a})[index({b})]", "vec({a}).at[{k}].set(num({b}))", "vec({a}).at[index({b})].add({c}.sum())",
    "vec({a}).at[xnp.array([0, 2, 0])].add(vec({b}))", "mat({a}).at[:, {k}].multiply(xnp.sin(num({b})))",
    "vec({a}).at[index({b})].min(0.1003)", "vec({a}).at[xnp.array([1, 1])].max(vec({b})[:2] + 0.0171)",
    "mat({a}).at[xnp.array([1, 0]), index({b})].set(vec({c})[1:])",
    "xnp.pad(lax.dynamic_slice(mat({a}), (0, index({b})), (2, 2)), ((0, 0), (1, 0)))",
    "lax.dynamic_update_slice(mat({a}), mat({b})[:1, :2], (index({c}) % 2, 1))",
    "xnp.take_along_axis(mat({a}), xnp.argsort(mat({b}), axis=1), axis=1)",
    "xnp.take(mat({a}), index({b}), axis=1).sum()",
    "vec({a})[xnp.argmax(vec({b}))]", "lax.dynamic_index_in_dim(mat({a}), index({b}), keepdims=False)",
    "xnp.take(vec({a}), index({b}) + 2, mode='fill', fill_value=0.25)", "mat({a})[index({b}) % 2, {k}:].sum()",
)  # fmt: skip
PRODUCTS = (
    "xnp.tanh(vec({a}) @ vec({b}))", "xnp.tanh(mat({a}) @ vec({b})) @ mat({c})", "xnp.outer(vec({a}), vec({b}))[:2]",
    "xnp.sin(xnp.einsum('ij,kj,kl->il', mat({a}), mat({b}), mat({c})))", "xnp.dot(mat({a}).T, mat({b}))[{k}]",
    "lax.dot_general(mat({a}), mat({b}), (((1,), (1,)), ((0,), (0,)))).sum()", "xnp.tensordot(mat({a}), mat({b}), 2)",
)  # fmt: skip
JOINING = (
    "xnp.concatenate([vec({a})[:1], vec({b})[1:]])", "xnp.stack([vec({a}), vec({b})])", "mat({a}).reshape(3, 2).T",
    "xnp.roll(vec({a}), {k})", "xnp.pad(vec({a})[:2], (1, 0))", "xnp.split(mat({a}), 3, axis=1)[{k}].sum()",
    "xnp.tile(vec({a})[None], (2, 1))", "xnp.repeat(vec({a})[:1], 3)", "lax.rev(mat({a}), (0, 1))",
    "lax.concatenate([mat({a}), mat({b})], 0)[{k}:{k} + 2]", "xnp.moveaxis(mat({a})[None], 0, 2)[..., 0]",
)  # fmt: skip
SORTING = (
    "xnp.sort(vec({a}))", "xnp.sort(mat({a}), axis={k} % 2)", "lax.top_k(vec({a}), 2)[0].sum()",
    "vec({a})[xnp.argsort(vec({b}))]", "lax.sort((vec({a}), vec({b})), num_keys=1)[1]", "xnp.median(vec({a}))",
)  # fmt: skip
MIXED = (
    "{a} + xnp.floor({b} * 1.9).astype('int32')", "({a} > 0.2113).astype('float64') * {b}",
    "xnp.arange(3) * vec({a})", "xnp.bitwise_xor(index({a}), 1) * {b}", "(xnp.arange(6).reshape(2, 3) // 2 % 2) * {a}",
    "xnp.where(xnp.arange(3) == index({a}), vec({b}), 0)", "xnp.real(lax.complex(vec({a}), vec({b})) ** 2)",
    "xnp.abs(lax.complex(vec({a}), vec({b}) ** 2 + 1.1))", "xnp.left_shift(index({a}), 2) * xnp.sin({b})",
    "lax.select(mat({a}) > 0.1417, mat({b}), mat({c}))", "lax.select_n(xnp.arange(3), vec({a}), vec({b}), vec({c}))",
)  # fmt: skip
CALLS = (
    "forward_rule({a}, {b})", "xt.jit({f})(vec({a}), vec({b}))", "xt.vmap({f}, (0, None))(mat({a}), vec({b}))",
    "xt.vmap({f}, (None, 1), 1)(vec({a}), mat({b}).T).T",
)  # fmt: skip
if hasattr(xt, "checkpoint"):
    CALLS += ("xt.checkpoint({f})(vec({a}), vec({b}))", "xt.checkpoint(xt.jit({f}))(vec({a}), vec({b}))")
CONTROL = (
    "lax.cond(num({a}) > 0.2039, {f}, {g}, vec({b}), vec({c}))",
    "lax.switch(index({a}), [{f}, {g}, lambda u, w: u - w], vec({b}), vec({c}))",
    "lax.scan(lambda u, w: ({f}(u, w), u * w), vec({a}), mat({b}))[0]",
    "lax.scan(lambda u, w: ({f}(u, w), u * w), vec({a}), mat({b}), reverse=True)[1]",
    "lax.scan(lambda z, w: ((z[0] + 1, {f}(z[1], w)), z[1][z[0]]), (0, vec({a})), mat({b}), unroll=2)[1].sum()",
    "lax.scan(lambda u, _: ({f}(u, vec({b})), None), vec({a}), None, length={k})[0]",
    "lax.fori_loop(0, {k}, lambda i, u: {f}(u, u * i), vec({a}))",
    "lax.map(lambda u: {f}(u, vec({b})), mat({a}))",
    "xnp.where(index({a}) == 1, {f}(vec({b}), vec({c})), {g}(vec({c}), vec({b})))",
)  # fmt: skip
#: Only where nothing is differentiated backward.
FORWARD = (
    "lax.while_loop(lambda z: z[0] < index({a}), lambda z: (z[0] + 1, {f}(z[1], vec({b}))), (0, vec({c})))[1]",
    "lax.fori_loop(0, index({a}) + 1, lambda i, u: {f}(u, u * i), vec({b}))",
    "lax.while_loop(lambda u: num(u) > 2.0173, lambda u: u * 0.5, {f}(vec({a}), vec({b})))",
    "xt.jvp({f}, (vec({a}), vec({b})), (vec({c}), vec({a})))[1]",
)
#: Only where nothing is differentiated forward.
REVERSE = ("reverse_rule(vec({a}), vec({b}))", "reverse_rule(num({a}), {f}(vec({b}), vec({c}))[{k}])")
BACKWARD = (
    "xt.grad(lambda u: num({f}(u, vec({b}))))(vec({a}))",
    "xt.vjp({f}, vec({a}), vec({b}))[1](vec({c}))[1]",
)

_FAMILIES = (ELEMENTWISE, REDUCTIONS, INDEXING, PRODUCTS, JOINING, SORTING, MIXED, CALLS, CONTROL)
MODES = {
    "both": (*_FAMILIES, BACKWARD),
    "forward": (*_FAMILIES, FORWARD),
    "reverse": (*_FAMILIES, REVERSE, BACKWARD),
}

# -- trees -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Step:
    """One operation. Operands count back from the newest variable; `bodies` stand in for {f} and {g}."""

    template: str
    operands: tuple[int, int, int]
    k: int
    bodies: tuple[tuple[Step, ...], ...] = ()


@dataclasses.dataclass(frozen=True)
class Program:
    """A function of a vector, a matrix and a number that returns a vector."""

    mode: str
    steps: tuple[Step, ...]

    @property
    def source(self) -> str:
        lines = ["def program(x, m, s):"]
        _render(self.steps, ["s", "m", "x"], lines, 1, [0])
        return "\n".join(lines)

    def function(self) -> Any:
        namespace: dict[str, Any] = dict(globals())
        exec(compile(self.source, "<random program>", "exec"), namespace)
        return namespace["program"]

    def __repr__(self) -> str:
        return f"(mode {self.mode})\n{self.source}\n"


def _render(steps: Sequence[Step], names: Sequence[str], lines: list[str], depth: int, count: list[int]) -> None:
    names = list(names)
    indent = "    " * depth
    for step in steps:
        fields: dict[str, Any] = {"k": step.k}
        for letter, back in zip("abc", step.operands):
            fields[letter] = names[-1 - back % len(names)]
        for letter, body in zip("fg", step.bodies):
            if "{" + letter + "}" in step.template:
                count[0] += 1
                fields[letter] = f"f{count[0]}"
                lines.append(f"{indent}def {fields[letter]}(p, q):")
                _render(body, [names[-1], "q", "p"], lines, depth + 1, count)
        count[0] += 1
        names.append(f"v{count[0]}")
        lines.append(f"{indent}{names[-1]} = {step.template.format(**fields)}")
    lines.append(f"{indent}return vec({names[-1]})")


def _draw_steps(rng: random.Random, mode: str, depth: int, longest: int) -> tuple[Step, ...]:
    steps = []
    for _ in range(rng.randint(1, longest)):
        templates = rng.choice(MODES[mode])
        template = rng.choice([t for t in templates if depth or "{f}" not in t] or ELEMENTWISE)
        bodies = [_draw_steps(rng, mode, depth - 1, 2) for name in ("{f}", "{g}") if name in template]
        operands = (rng.randrange(5), rng.randrange(5), rng.randrange(5))
        steps.append(Step(template, operands, rng.randrange(3), tuple(bodies)))
    return tuple(steps)


def draw(seed: str) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    mode = rng.choice(list(MODES))
    return Program(mode, _draw_steps(rng, mode, 2, 5))


# -- making failing programs small -----------------------------------------------------------------------------------


def _simpler(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Steps that are one simplification away, boldest first."""
    for n in range(1, len(steps)):
        yield steps[:n]
    for i, step in enumerate(steps):
        before, after = steps[:i], steps[i + 1 :]
        if len(steps) > 1:
            yield before + after
        for body in step.bodies:
            yield before + body + after
        for j, body in enumerate(step.bodies):
            for other in _simpler(body):
                yield (
                    *before,
                    dataclasses.replace(step, bodies=(*step.bodies[:j], other, *step.bodies[j + 1 :])),
                    *after,
                )
        if step.template != ELEMENTWISE[0]:
            yield (*before, Step(ELEMENTWISE[0], step.operands, 0), *after)
        for operands in ((0, 0, 0), (1, 0, 0), (2, 0, 0)):
            if operands < step.operands:
                yield (*before, dataclasses.replace(step, operands=operands), *after)


def minimized(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program that fails too, and of which no simplification does."""
    while True:
        for steps in _simpler(program.steps):
            simpler = dataclasses.replace(program, steps=steps)
            if fails(simpler):
                program = simpler
                break
        else:
            return program
