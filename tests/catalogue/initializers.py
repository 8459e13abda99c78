"""Catalogue entries of initial weights: reproducible, of the spread that was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.catalogue.catalogue import Op, Sample, find

SAMPLED = True

#: Name -> arguments of the maker, and the variance of a weight of shape (4, 6).
_MAKERS: dict[str, tuple[tuple[Any, ...], float | None]] = {
    "constant": ((0.5,), 0.0),
    "delta_orthogonal": ((), None),
    "glorot_normal": ((), 1 / 5),
    "glorot_uniform": ((), 1 / 5),
    "he_normal": ((), 2 / 4),
    "he_uniform": ((), 2 / 4),
    "lecun_normal": ((), 1 / 4),
    "lecun_uniform": ((), 1 / 4),
    "normal": ((0.1,), 0.01),
    "orthogonal": ((), None),
    "truncated_normal": ((0.1,), 0.01 * 0.7737413),  # of a normal distribution cut at two deviations
    "uniform": ((0.1,), 0.01 / 12),
    "variance_scaling": ((2.0, "fan_avg", "normal"), 2 / 5),
}
_ALIASES = {"glorot": "xavier", "he": "kaiming"}
_DRAWN = {"derivative": "of a key", "types": "of a key", "compositions": "of a key", "vmap": "of a key"}


def _spread(name: str, args: tuple[Any, ...], variance: float | None) -> Op:
    """The ratio of the found variance to the one asked for, of many weights; of orthogonal matrices the product."""
    shape = (3, 4, 4) if name == "delta_orthogonal" else (4, 4) if variance is None else (2000, 4, 6)

    def function(root: Any) -> Any:
        def of_key(seed: Any) -> Any:
            options = {} if len(shape) < 3 or name in ("normal", "truncated_normal", "uniform", "constant") else {
                "batch_axis": 0}  # fmt: skip
            if variance is None:
                weights = find(root, f"nn.initializers.{name}")(*args)(root.random.key(seed), shape)
                middle = weights[1] if len(shape) == 3 else weights
                return middle @ middle.T
            weights = find(root, f"nn.initializers.{name}")(*args, **options)(root.random.key(seed), shape)
            return root.numpy.round(root.numpy.var(weights) / (variance or 1), 1)

        return of_key

    return Op(
        f"nn.initializers.{name}",
        lambda draw: iter([Sample(np.array(int(draw.array((), "int32", 0, 99)), np.int32))]),
        lambda seed: np.eye(4) if variance is None else np.float64(bool(variance)),
        function,
        tolerance=64,
        aliases=tuple(f"nn.initializers.{name.replace(a, b)}" for a, b in _ALIASES.items() if name.startswith(f"{a}_")),
        skip=_DRAWN,
    )


OPS = [
    *[_spread(name, args, variance) for name, (args, variance) in _MAKERS.items()],
    *[
        Op(
            f"nn.initializers.{name}",
            lambda draw: iter([Sample(shape=(2, 3)), Sample(shape=(), dtype="int32")]),
            lambda shape, dtype="float32", value=value: np.full(shape, value, dtype),
            lambda root, name=name: lambda **params: find(root, f"nn.initializers.{name}")(None, **params),
        )
        for name, value in (("ones", 1), ("zeros", 0))
    ],
]
