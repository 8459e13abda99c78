"""Elementwise operations and derivatives where they are undefined, infinite, tied or kinked; also on JAX, to record.

python -m tests.lax.edge_cases          (a Python that has JAX) writes tests/data/elementwise_edges.json
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

PATH = pathlib.Path(__file__).parent.parent / "data" / "elementwise_edges.json"

_F = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, 1e-40, 2, -2, 88, -88, 0.5], np.float32)
_COMPLEX = np.array(
    [complex(a, b) for a in (0.0, -0.0, 1, -1, 2, np.inf) for b in (0.0, -0.0, 1, -1, 1e10)], np.complex64
)
_HALVES = np.array([0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, np.nan, np.inf, -np.inf, 1e20, -1e20], np.float32)
_FORMATS = np.array([1e30, 1e-30, 3.14159, 65520, 65519, np.nan, np.inf, 6e-8], np.float32)

_UNARY = """neg sign floor ceil exp exp2 expm1 log log1p log2 logistic sin cos tan asin acos atan sinh cosh tanh asinh
acosh atanh sqrt rsqrt cbrt square abs erf erfc erf_inv reciprocal one_minus_square round""".split()
_COMPLEX_UNARY = """neg sign exp expm1 log log1p logistic sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
sqrt rsqrt square abs real imag conj reciprocal log2 exp2 one_minus_square""".split()
_BINARY = "add sub mul div rem max min atan2 pow nextafter".split()
_INTEGER_BINARY = "div rem shift_left shift_right_logical shift_right_arithmetic max min add mul sub".split()
_INTEGER_UNARY = "neg sign bitwise_not population_count clz square".split()


def cases(root: Any) -> Iterator[tuple[str, Any]]:
    """(name, values): computed by the module `root`, xtrace or jax."""
    lax = root.lax

    def slope(fun: Any, *args: Any) -> Any:
        return root.jvp(fun, args, tuple(np.ones_like(a) for a in args))[1]

    for name in _UNARY:
        fun = getattr(lax, name)
        yield name, fun(_F)
        yield f"{name} derivative", slope(fun, _F)
    left, right = [v.ravel() for v in np.meshgrid(_F[:13], _F[:13], indexing="ij")]
    for name in _BINARY:
        fun = getattr(lax, name)
        yield name, fun(left, right)
        yield f"{name} derivative 0", slope(lambda x, fun=fun: fun(x, right), left)
        yield f"{name} derivative 1", slope(lambda y, fun=fun: fun(left, y), right)
        yield f"{name} transposed", root.vjp(fun, left, right)[1](np.ones_like(left))
    for name in _COMPLEX_UNARY:
        fun = getattr(lax, name)
        yield f"complex {name}", fun(_COMPLEX)
        yield f"complex {name} derivative", slope(fun, _COMPLEX)
    for n in (-2, -1, 0, 1, 2, 3):
        yield f"integer_pow {n}", lax.integer_pow(_F, n)
        yield f"integer_pow {n} derivative", slope(lambda x, n=n: lax.integer_pow(x, n), _F)
        exponent = np.full(_F.shape, n, np.int32)
        yield f"pow {n}", lax.pow(_F, exponent)
        yield f"pow {n} derivative", slope(lambda x, exponent=exponent: lax.pow(x, exponent), _F)
    zero, one = np.float32(0), np.float32(1)
    x = np.array([0, 0.5, 1, 2, -1, np.nan], np.float32)
    low, high = np.zeros_like(x), np.ones_like(x)
    yield "clamp", lax.clamp(zero, x, one)
    yield (
        "clamp derivatives",
        [
            slope(lambda x: lax.clamp(low, x, high), x),
            slope(lambda low: lax.clamp(low, x, high), low),
            slope(lambda high: lax.clamp(low, x, high), high),
        ],
    )
    for dtype in ("int8", "int32", "uint8", "uint32"):
        limits = np.iinfo(dtype)
        v = np.array([0, 1, 2, 3, limits.max, limits.min, limits.max - 1, 7], dtype)
        a, b = [m.ravel() for m in np.meshgrid(v, v)]
        for name in _INTEGER_BINARY:
            yield f"{dtype} {name}", getattr(lax, name)(a, b)
        for name in _INTEGER_UNARY:
            yield f"{dtype} {name}", getattr(lax, name)(v)
    for method in lax.RoundingMethod:
        yield f"round {method.name}", lax.round(_HALVES, method)
    yield "select_n", lax.select_n(np.array([-5, 0, 1, 2, 9]), *[np.full(5, float(i), np.float32) for i in range(3)])
    for bits in ((5, 10), (8, 7), (4, 3), (5, 2)):
        yield f"reduce_precision {bits}", lax.reduce_precision(_FORMATS, *bits)


def numbers(root: Any, values: Any) -> list[Any]:
    """The leaves as flat lists that JSON can hold: complex numbers as their real parts, then their imaginary parts."""
    found = []
    for leaf in root.tree_util.tree_leaves(values):
        x = np.asarray(leaf)
        flat = np.concatenate([x.real.ravel(), x.imag.ravel()]) if np.iscomplexobj(x) else x.ravel()
        found.append([float(f"{v:.9g}") if isinstance(v, float) else v for v in flat.tolist()])
    return found


def main() -> None:
    import jax

    lines = [f" {json.dumps(name)}: {json.dumps(numbers(jax, values))}" for name, values in cases(jax)]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
