"""Record what JAX computes for the measured programs: python tests/data/record_workloads.py, where jax is installed.

Results are kept as a few numbers for each array: its sum, the sum of its absolute values, and its product with a fixed
direction, each in float64.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from bench.programs import ARCHITECTURES, PROGRAMS, TRACED, Library  # noqa: E402

#: Training steps that feed on their own result: how many are taken.
STEPS = {"mlp_adam": 3}


def summary(x: Any) -> dict[str, Any]:
    """What is kept of an array."""
    values = np.asarray(x).astype(np.float64).ravel()
    direction = np.cos(np.arange(values.size) * 0.7)
    numbers = [float(values.sum()), float(np.abs(values).sum()), float(values @ direction)]
    return {"shape": list(np.shape(x)), "dtype": str(x.dtype), "numbers": numbers}


def run(lib: Library, name: str) -> dict[str, Any]:
    """Compile and run a program; summaries of its results by their paths."""
    function, args = PROGRAMS[name](lib)
    function = lib.top.jit(function)
    out = function(*args)
    for _ in range(STEPS.get(name, 1) - 1):
        out = function(out[0], *args[1:])
    leaves = lib.top.tree_util.tree_flatten_with_path(out)[0]
    return {lib.top.tree_util.keystr(path): summary(leaf) for path, leaf in leaves}


if __name__ == "__main__":
    jax = Library("jax")
    recorded = {name: run(jax, name) for name in (*TRACED, *ARCHITECTURES) if name != "tree_100"}
    lines = [f"{json.dumps(name)}: {json.dumps(results)}" for name, results in recorded.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (pathlib.Path(__file__).parent / "workloads.json").write_text(text)
    print(f"{len(recorded)} programs recorded with jax {jax.top.__version__}")
