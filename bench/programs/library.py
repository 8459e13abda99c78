"""What the measured programs are written on: either library, by one name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

Program = tuple[Callable[..., Any], tuple[Any, ...]]


class Library:
    """The parts of `xtrace` or `jax` that the programs use, each loaded when it is first used."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.top: Any = importlib.import_module(name)

    def __getattr__(self, part: str) -> Any:
        module = importlib.import_module(f"{self.name}.{part}")
        setattr(self, part, module)
        return module


def normal(rng: np.random.Generator, scale: float, *shape: int) -> np.ndarray:
    return (scale * rng.standard_normal(shape)).astype(np.float32)
