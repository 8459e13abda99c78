"""Record what JAX's random functions return: python tests/data/record_random.py, with JAX installed.

Writes random.npz beside this file: arrays by "setting/case", narrow floats as their bits, their dtypes in `dtypes`.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import sys
import warnings

import jax
import jaxlib
import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "random"))

import cases  # noqa: E402  (found through the path above)


def main() -> None:
    arrays: dict[str, np.ndarray] = {}
    dtypes: dict[str, str] = {}

    def keep(name: str, value: object) -> None:
        array = np.asarray(value)
        dtypes[name] = array.dtype.name
        arrays[name] = array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" else array

    warnings.simplefilter("ignore")
    for setting, (options, impl, seed) in cases.SETTINGS.items():
        with contextlib.ExitStack() as stack:
            for option, value in options.items():
                stack.enter_context(getattr(jax, option)(value))
            key = jax.random.key(seed, impl=impl)
            keep(f"{setting}/key", jax.random.key_data(key))
            for name, case in cases.cases_of(setting).items():
                keep(f"{setting}/{name}", case(jax.random, key))
    for impl in cases.MAPPED:
        for name, value in cases.batched(jax.random, jax.vmap, impl).items():
            keep(f"batched {impl}/{name}", value)
    for made in (cases.initializers, cases.orthogonal_initializers):
        for name, value in made(jax.nn.initializers, jax.random.key(3)).items():
            keep(f"initializers/{name}", value)
    about = json.dumps({"jaxlib": jaxlib.__version__, "dtypes": dtypes})
    np.savez_compressed(HERE / "random.npz", about=np.array(about), **arrays)


main()
