"""Result dtypes, shapes and weak types against those that JAX gave (record.py), in x64 mode."""

from __future__ import annotations

import functools
import json

import xtrace as xt
from tests.catalogue.catalogue import Op
from tests.catalogue.record import FOLDER, result_types, variants


@functools.cache
def _recorded(family: str):
    path = FOLDER / f"{family}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def test_types(op: Op):
    recorded = _recorded(op.family).get(op.name)
    assert recorded is not None, (
        f"{op.name} has no recorded types: run `python -m tests.catalogue.record {op.family}` on a Python that has JAX"
    )
    wrong = []
    with xt.enable_x64(True):
        for label, sample in variants(op):
            assert label in recorded, f"{op.name}({label}) is new: record the family {op.family} again"
            # An error is shown as it is where JAX gave a result.
            got = result_types(xt, op, sample, catch="error" in "".join(recorded[label]))
            more = op.superset and "error" in recorded[label][0] and "error" not in got[0]
            if got != recorded[label] and not more:
                wrong.append(f"{op.name}({label}) gives {', '.join(got)}; JAX gives {', '.join(recorded[label])}")
    assert not wrong, "\n".join(wrong)


test_types.check = "types"
