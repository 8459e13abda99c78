"""Record what JAX's elementwise functions return into elementwise.json. Run by a Python that has jax.

types: for each function and pair of operands (each function and operand) the result's dtype, `*` after it if it is
weak, or `!` if JAX raises. Functions with several results list them with `+`. values: for each function and dtype, the
results on VALUES as lists of numbers (complex as pairs).
"""

import json
import os
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.lax.lax import _convert_element_type

OPERANDS = (
    "bool int8 uint8 int32 uint32 float16 bfloat16 float32 complex64 int32* float32* py_bool py_int py_float py_complex"
).split()
PYTHON = {"py_bool": True, "py_int": 2, "py_float": 1.5, "py_complex": 1 + 2j}
UNARY = (
    "abs absolute fabs negative positive sign signbit square sqrt cbrt reciprocal exp exp2 expm1 log log2 log10 log1p "
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg sinc i0 floor ceil trunc "
    "rint round isnan isinf isfinite isposinf isneginf logical_not invert bitwise_count conj real imag angle "
    "nan_to_num modf frexp spacing"
).split()
BINARY = (
    "add subtract multiply true_divide floor_divide remainder fmod divmod power float_power maximum minimum fmax fmin "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift equal not_equal less less_equal greater greater_equal "
    "logical_and logical_or logical_xor arctan2 hypot logaddexp logaddexp2 heaviside copysign nextafter ldexp isclose "
    "gcd lcm"
).split()
OPERATORS = "add sub mul truediv floordiv mod divmod pow and or xor lshift rshift eq ne lt le gt ge".split()
#: operands of the value tests, by dtype
VALUES = {
    "bool": ([True, False, True, False], [True, True, False, False]),
    "int32": ([-7, 7, 0, 5, -1, 2147483647, 6, -12], [2, -2, 3, 1, 4, 2, 3, 8]),
    "uint8": ([7, 0, 255, 13], [2, 3, 7, 5]),
    "float32": (
        [-7.5, 7.5, 0.0, -0.0, 0.3, -0.3, 1.0, 2.5, float("inf"), float("nan"), 1e-40, 3e38],
        [2.0, -2.0, 1.5, 0.0, 0.7, 2.0, 1.0, 3.0, float("inf"), 1.0, 2.0, 3e38],
    ),
    "complex64": ([1 + 2j, -0.5 + 0.25j, 3 - 1j, 0.1j], [2 - 1j, 1 + 1j, 0.5 + 0j, 2 + 0.3j]),
}


def operand(name):
    if name in PYTHON:
        return PYTHON[name]
    weak = name.endswith("*")
    x = jnp.asarray([1, 0, 1], name.removesuffix("*"))
    return _convert_element_type(x, np.dtype(x.dtype), weak_type=True) if weak else x


def described(out):
    return "+".join([f"{x.dtype.name}{'*' * x.weak_type}" for x in jax.tree.leaves(out)])


def attempt(function, *args):
    try:
        out = function(*args)
    except Exception:
        return None
    # Python numbers as both operands leave arrays out of it: operators are then Python's.
    return out if all(hasattr(x, "weak_type") for x in jax.tree.leaves(out)) else None


def types(function, count):
    def word(*args):
        arrays = [x for x in args if isinstance(x, jax.Array)]
        if not arrays:
            out = attempt(function, *args)
            return "!" if out is None else described(out)

        def call(*traced):  # Python numbers stay what they are
            given = iter(traced)
            return function(*[next(given) if isinstance(x, jax.Array) else x for x in args])

        out = attempt(jax.eval_shape, call, *arrays)
        return "!" if out is None else described(out)

    operands = [operand(n) for n in OPERANDS]
    if count == 1:
        return " ".join([word(a) for a in operands])
    return [" ".join([word(a, b) for b in operands]) for a in operands]


def numbers(x):
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return [[float(v.real), float(v.imag)] for v in x]
    return [float(v) for v in x]


def values(function, count):
    found = {}
    for dtype, pair in VALUES.items():
        out = attempt(function, *[jnp.asarray(v, dtype) for v in pair[:count]])
        if out is not None:
            found[dtype] = [numbers(x) for x in jax.tree.leaves(out)]
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    import operator

    data = {
        "jax": jax.__version__,
        "operands": OPERANDS,
        "types": {n: types(getattr(jnp, n), 1) for n in UNARY} | {n: types(getattr(jnp, n), 2) for n in BINARY},
        "operators": {n: types(divmod if n == "divmod" else getattr(operator, f"__{n}__"), 2) for n in OPERATORS},
        "inputs": {d: [numbers(np.asarray(v, d)) for v in pair] for d, pair in VALUES.items()},
        "values": {n: values(getattr(jnp, n), 1) for n in UNARY} | {n: values(getattr(jnp, n), 2) for n in BINARY},
    }
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "elementwise.json")
    with open(path, "w") as file:
        json.dump(data, file, indent=0)
        file.write("\n")
