"""Record JAX's promotion table into promotion.json. Run by a Python that has jax: `python record_promotion.py`.

Each mode is (x64, numpy_dtype_promotion). A table row is one left operand; its words are the results with itself and
every later operand (promotion is symmetric, which is checked here): a dtype's name, `*` after it if the operand or
result is weak, `!` if there is no promotion. A triple is three operands, the result of promotion, and what the public
result_type says, which differs for weak results.
"""

import json
import os
import random
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.dtypes import lattice_result_type
from jax._src.lax.lax import _convert_element_type

NAMES = (
    "bool uint1 uint2 uint4 uint8 uint16 uint32 uint64 int1 int2 int4 int8 int16 int32 int64 "
    "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e8m0fnu float8_e4m3b11fnuz "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz bfloat16 float16 float32 float64 complex64 complex128"
).split()
WEAK = "uint8 uint32 uint64 int8 int16 int32 int64 bfloat16 float16 float32 float64 complex64 complex128".split()
OPERANDS = [*NAMES, *[f"{name}*" for name in WEAK]]


def operand(name):
    weak = name.endswith("*")
    zero = jnp.zeros((), name.removesuffix("*"))
    return _convert_element_type(zero, np.dtype(zero.dtype), weak_type=True) if weak else zero


def text(dtype, weak):
    return f"{jax.dtypes.canonicalize_dtype(dtype).name}{'*' * weak}"


def promote(*operands):
    try:
        return text(*lattice_result_type(*map(operand, operands)))
    except jax.dtypes.TypePromotionError:
        return "!"


def result_type(*operands):
    try:
        return text(*jax.dtypes.result_type(*map(operand, operands), return_weak_type_flag=True))
    except jax.dtypes.TypePromotionError:
        return "!"


def record(x64, promotion):
    with jax.enable_x64(x64), jax.numpy_dtype_promotion(promotion):
        assert all(promote(a, b) == promote(b, a) for a in OPERANDS for b in OPERANDS)
        table = [" ".join([promote(a, b) for b in OPERANDS[i:]]) for i, a in enumerate(OPERANDS)]
        draw = random.Random(0)
        triples = [[draw.choice(OPERANDS) for _ in range(3)] for _ in range(300)]
        lines = [" ".join([*t, promote(*t), result_type(*t)]) for t in triples]
        return {"x64": x64, "promotion": promotion, "table": table, "triples": lines}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    modes = [record(True, "standard"), record(False, "standard"), record(True, "strict")]
    data = {"jax": jax.__version__, "operands": " ".join(OPERANDS), "modes": modes}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "promotion.json")
    with open(path, "w") as file:
        json.dump(data, file, indent=0)
        file.write("\n")
