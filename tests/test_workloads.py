"""The measured programs compute what JAX computes (tests/data/record_workloads.py)."""

from __future__ import annotations

import importlib.util
import json
import pathlib

import numpy as np
import pytest

from bench.programs import Library

DATA = pathlib.Path(__file__).parent / "data"
RECORDED = json.loads((DATA / "workloads.json").read_text())

_spec = importlib.util.spec_from_file_location("record_workloads", DATA / "record_workloads.py")
record_workloads = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(record_workloads)


@pytest.mark.parametrize("name", RECORDED)
def test_as_recorded(name):
    found = record_workloads.run(Library("xtrace"), name)
    expected = RECORDED[name]
    assert list(found) == list(expected)
    for path, want in expected.items():
        got = found[path]
        assert (got["shape"], got["dtype"]) == (want["shape"], want["dtype"]), path
        # The sum of absolute values is the measure of what rounding can do to the other two.
        scale = want["numbers"][1]
        np.testing.assert_allclose(got["numbers"], want["numbers"], rtol=2e-4, atol=1e-5 * scale + 1e-7, err_msg=path)
