"""How exactly matrix products are computed: precisions. (Named algorithms: dot_algorithms.py.)"""

from __future__ import annotations

import enum
from typing import Any

from xtrace.core import config


class Precision(enum.Enum):
    """How much precision a backend keeps in a matrix product or convolution.

    DEFAULT is the fastest (bfloat16 passes on TPU, tensor-float32 on GPU), HIGHEST is full float32. CPUs always compute
    in the operands' precision.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return _PRECISION_NAMES.get(value)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_PRECISION_NAMES: dict[Any, Precision] = {
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    None: Precision.DEFAULT,
}


def _algorithm(precision: Any) -> Any:
    """The algorithm that is meant, if one is."""
    from xtrace.lax import dot_algorithms  # seldom used, and slow to load: enumerations cost 0.5 ms

    if isinstance(precision, str):
        return dot_algorithms.DotAlgorithmPreset.__members__.get(precision)
    return (
        precision if isinstance(precision, (dot_algorithms.DotAlgorithm, dot_algorithms.DotAlgorithmPreset)) else None
    )


def canonical_precision(precision: Any) -> Any:
    """What a `precision` argument means: None, a pair of Precision, a DotAlgorithm or a DotAlgorithmPreset.

    None stands for the option default_matmul_precision. Raises ValueError for anything else.
    """
    if precision is None:
        precision = config.default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, Precision):
        return (precision, precision)
    if isinstance(precision, str) and precision in _PRECISION_NAMES:
        return (_PRECISION_NAMES[precision],) * 2
    algorithm = _algorithm(precision)
    if algorithm is not None:
        return algorithm
    if isinstance(precision, (list, tuple)) and len(precision) == 2:
        if all(
            isinstance(p, Precision) or p is None or (isinstance(p, str) and p in _PRECISION_NAMES) for p in precision
        ):
            return tuple([Precision(p) for p in precision])
    names = ", ".join(repr(n) for n in _PRECISION_NAMES if n is not None)
    raise ValueError(
        f"precision is {precision!r}; it must be None, one of the names {names}, a lax.Precision, a pair of these, "
        f"a lax.DotAlgorithm, or a lax.DotAlgorithmPreset or its name (such as 'BF16_BF16_F32')."
    )
