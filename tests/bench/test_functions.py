"""The single calls that are measured: what is called, and what is printed of it."""

from __future__ import annotations

import numpy as np

from bench import functions, report, wanted, worker
from bench.programs import Library


def test_every_function_is_called_on_arrays_and_under_a_trace():
    lib = Library("xtrace")
    values = functions.small(lib)

    def all_of_them(values):
        names = functions.arguments(values)
        return {name: call(functions.named(lib, name), names) for name, call in functions.MOST_USED.items()}

    traced = lib.top.eval_shape(all_of_them, values)
    assert len(functions.MOST_USED) == 60
    for name, result in all_of_them(values).items():
        assert [leaf.shape for leaf in lib.top.tree.leaves(result)] == [
            leaf.shape for leaf in lib.top.tree.leaves(traced[name])
        ], name


def test_heavy_functions_trace():
    lib = Library("xtrace")
    values = lib.top.eval_shape(lambda: functions.large(lib))
    for label, (name, call) in functions.HEAVY.items():
        function = functions.named(lib, name)
        shapes = lib.top.eval_shape(lambda v: call(function, functions.arguments(v)), values)
        assert lib.top.tree.leaves(shapes), label


def test_lowest_keeps_what_failed_as_text():
    measured = worker.lowest({"sum": lambda: np.ones(3).sum(), "fails": lambda: 1 // 0}, budget=0.001)
    assert measured["sum"] > 0
    assert measured["fails"].startswith("ZeroDivisionError")


def test_only_functions_that_miss_and_the_highest_are_printed():
    def sides(ours):
        return {"ours": [ours], "jax": [1e-5]}

    samples = {
        ("functions_traced", "numpy.sqrt"): sides(1e-6),
        ("functions_traced", "numpy.take"): sides(3e-6),
        ("functions_eager", "numpy.sqrt"): sides(2e-6),
        ("functions_eager", "numpy.exp"): sides(8e-6),
        ("functions_eager", "first calls of all"): sides(9e-6),
    }
    rows = report.rows(samples)
    assert [(row.metric, row.wanted) for row in report.summary(rows)] == [
        ("numpy.take", wanted.FUNCTIONS["functions_traced"]),
        ("2 functions, median of ratios", None),
        ("numpy.exp", 1.5),
        ("first calls of all", None),
        ("2 functions, median of ratios", 1.0),
    ]
    assert [round(row.ratio, 6) for row in rows if "median" in row.metric] == [0.2, 0.5]
    assert "failed" not in report.table(rows, "xtrace")
