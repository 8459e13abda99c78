"""Record the result types that JAX gives for the catalogue's samples. Run by a Python that has JAX:

    python -m tests.catalogue.record [FAMILY ...]

Writes tests/data/catalogue/FAMILY.json: operation -> sample -> result types, such as "float32[2,3]" (weak: "~" behind).
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.catalogue.catalogue import Op, Sample, catalogue

FOLDER = pathlib.Path(__file__).parent.parent / "data" / "catalogue"


def variants(op: Op) -> Iterator[tuple[str, Sample]]:
    """Every sample with its label; and with Python scalars in place of rank-0 operands, all of them and one by one."""
    seen = set()
    for sample in op.all_samples(0):
        scalars = [i for i in sample.arrays if sample.args[i].ndim == 0] if op.python_scalars else []
        choices = [[], scalars, *([i] for i in scalars if len(scalars) > 1)] if scalars else [[]]
        for replaced in choices:
            args = [x.item() if i in replaced else x for i, x in enumerate(sample.args)]
            if any(isinstance(a, (complex, float, int, bool)) for a in args) or not replaced:
                made = sample.with_args(args)
                if made.label not in seen:
                    seen.add(made.label)
                    yield made.label, made


def describe(aval: Any) -> str:
    shape = ",".join(map(str, aval.shape))
    return f"{np.dtype(aval.dtype).name}[{shape}]{'~' if aval.weak_type else ''}"


def result_types(root: Any, op: Op, sample: Sample, catch: bool = True) -> list[str]:
    """The types of the results, or the class of the error. Arrays are traced, Python scalars stay what they are."""
    function, arrays = op.resolve(root), sample.arrays

    def call(*xs: Any) -> Any:
        args = list(sample.args)
        for i, x in zip(arrays, xs):
            args[i] = x
        return function(*args, **sample.params)

    try:
        return [describe(a) for a in root.make_jaxpr(call)(*[sample.args[i] for i in arrays]).out_avals]
    except Exception as error:
        if not catch:
            raise
        names = [c.__name__ for c in type(error).__mro__]
        return ["error " + next(n for n in names if n in ("TypeError", "ValueError", "OverflowError", "Exception"))]


def main() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    wanted = set(sys.argv[1:])
    families: dict[str, dict[str, Any]] = {}
    for op in catalogue():
        if (not wanted or op.family in wanted) and "types" not in op.skip:
            types = {label: result_types(jax, op, sample) for label, sample in variants(op)}
            families.setdefault(op.family, {})[op.name] = types
    FOLDER.mkdir(parents=True, exist_ok=True)
    for family, ops in families.items():
        lines = [f" {json.dumps(name)}: {json.dumps(types)}" for name, types in sorted(ops.items())]
        (FOLDER / f"{family}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{family}: {len(ops)} operations, {sum(map(len, ops.values()))} calls", file=sys.stderr)


if __name__ == "__main__":
    main()
