"""Medians, ratios, what is wanted, and how it is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import report, wanted, worker
from bench.worker import CASES

ROOT = Path(__file__).resolve().parents[2]


def test_rows_hold_medians_and_their_ratio():
    (row,) = report.rows({("eager", "x[3]"): {"ours": [1e-6, 9e-6, 2e-6], "jax": [8e-6, 1e-5, 4e-6]}})
    assert (row.ours, row.jax, row.ratio, row.wanted, row.met) == (2e-6, 8e-6, 0.25, 0.25, True)


def test_a_side_that_failed_has_no_ratio_and_misses():
    (row,) = report.rows({("eager", "x[3]"): {"jax": [8e-6]}})
    assert (row.ours, row.ratio, row.met) == (None, None, False)


def test_growth_compares_xtrace_with_itself():
    long, short, limit = wanted.GROWTH_OF_ITSELF
    rows = report.rows(
        {
            ("growth", short): {"ours": [2e-6], "jax": [4e-5]},
            ("growth", long): {"ours": [3e-6], "jax": [4e-5]},
            ("dispatch", "one array"): {"ours": [1e-6], "jax": [1e-6]},
        }
    )
    assert [row.case for row in rows] == ["growth", "growth", "growth", "dispatch"]
    assert rows[2].ratio == pytest.approx(1.5) and rows[2].jax == 1.0
    assert (rows[2].wanted, rows[2].met) == (limit, False)


@pytest.mark.parametrize(
    "value, text", [(1.234, "1.23 s"), (0.0456, "45.6 ms"), (5.2e-6, "5.2 µs"), (8.5e-7, "850 ns")]
)
def test_durations(value, text):
    assert report.seconds(value) == text


def test_table_lines_up():
    text = report.table(
        report.rows(
            {
                ("dispatch", "one array"): {"ours": [5e-6], "jax": [5e-6]},
                ("dispatch", "100 leaves in and out"): {"ours": [1e-4], "jax": [5e-5]},
                ("numpy_chain", "compile"): {"ours": [1.0], "jax": [2.0]},
            }
        ),
        "xtrace",
    )
    assert text.splitlines() == [
        "case         metric                 xtrace    jax  ratio  wanted",
        "------------------------------------------------------------------------",
        "dispatch     one array                5 µs   5 µs  1.000  ≤ 1.05      ok",
        "             100 leaves in and out  100 µs  50 µs  2.000  ≤ 1.00  missed",
        "numpy_chain  compile                   1 s    2 s  0.500",
    ]


@pytest.mark.parametrize(
    "case, metric, ratio",
    [
        ("import", "process", 0.40),
        ("first_call", "process", 0.75),
        ("numpy_chain", "trace, warm", 0.10),
        ("numpy_chain", "trace, first", 0.10),
        ("gpt_gradient", "trace, warm", 0.25),
        ("mlp_adam", "lower, warm", 0.25),
        ("mlp_adam", "lower, first", None),
        ("tree_100", "run", 1.05),
        ("tree_100", "trace, warm", None),
        ("numpy_chain", "compile", None),
        ("mlp_adam", "compile", 1.0),
        ("mlp_adam", "run", 1.03),
        ("mlp_adam", "memory", 1.05),
        ("gpt24_gradient", "compile", 0.08),
        ("per_example", "run", 0.25),
        ("unet", "compile", 1.05),
        ("unet", "run", 1.05),
        ("unet", "memory", None),
    ],
)
def test_wanted_ratios(case, metric, ratio):
    assert wanted.wanted(case, metric) == ratio
    assert case in ("import", *CASES)


@pytest.mark.skipif(
    subprocess.run([sys.executable, "-c", "import jax"], capture_output=True).returncode == 0, reason="JAX is here"
)
def test_without_jax_the_error_names_the_extra():
    done = subprocess.run([sys.executable, "-m", "bench"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "bench: error: JAX is not installed here: pip install 'xtrace[bench]', "
        "or name an interpreter that has it with --python-jax\n"
    )


def test_a_measurement_that_fails_does_not_cost_the_others():
    def fails():
        raise ValueError("no such operation")

    assert worker.each({"a": fails, "b": lambda: 2.0}) == {"a": "ValueError: no such operation", "b": 2.0}


def test_the_mean_of_what_compiles_well_stands_at_the_end():
    samples = {(case, "compile"): {"ours": [0.5], "jax": [1.0]} for case in wanted.COMPILED_WELL}
    samples[("mlp_adam", "compile")]["ours"] = [2.0]
    *_, last = report.rows(samples)
    assert (last.case, last.metric, last.met) == ("compiled well", "compile, mean of ratios", True)
    count = len(wanted.COMPILED_WELL)
    assert last.ratio == pytest.approx((0.5 ** (count - 1) * 2) ** (1 / count))
    del samples[("adam", "compile")]
    assert all(row.case != "compiled well" for row in report.rows(samples))


def test_difference_is_relative_to_what_is_large():
    big, small = np.float32([100, -200]), np.float32([1e-9, 2e-9])
    assert report.difference([big, small], [big, small]) == (0.0, 0)
    assert report.difference([big, -small], [big, small])[0] < 1e-7
    apart, where = report.difference([small, big * np.float32(1.01)], [small, big])
    assert (apart, where) == (pytest.approx(0.01, rel=1e-5), 1)
    assert report.difference([big], [big, small])[0] == np.inf
    assert np.isnan(report.difference([big * np.nan], [big])[0])


def test_values_that_differ_are_told(tmp_path):
    from bench.__main__ import compare

    assert compare(tmp_path, "adam") is None
    worker.keep({"b": np.ones(3), "a": (np.zeros(2),)}, str(tmp_path / "adam-ours.npz"))
    worker.keep({"a": (np.zeros(2),), "b": np.ones(3)}, str(tmp_path / "adam-jax.npz"))
    assert compare(tmp_path, "adam") is None
    worker.keep({"a": (np.zeros(2),), "b": 2 * np.ones(3)}, str(tmp_path / "adam-ours.npz"))
    assert compare(tmp_path, "adam") == "values differ by up to 1.0e+00, relative to the largest of result 1"


def test_spread_of_a_library_against_itself():
    found = report.spreads(
        {
            ("eager", "x[3]"): {"ours": [1.0, 2.0, 4.0], "jax": [1.0, 1.0, 4.0]},
            ("mlp_adam", "run"): {"ours": [1.0], "jax": [1.25]},
            ("adam", "run"): {"ours": [1.0], "jax": [1.0]},
            ("adam", "memory"): {"ours": [1.0], "jax": [5.0]},
        }
    )
    assert set(found) == {"x[3]", "run"}
    assert found["x[3]"] == (1, 1.0, 1.0, 1.0, 0.0)
    assert found["run"] == pytest.approx((2, 0.125, 0.225, 0.25, 0.125))
    lines = report.spread_table(found, "jax").splitlines()
    assert lines[0].split() == ["jax", "against", "itself", "cases", "median", "90%", "worst", "single", "round"]
    assert lines[3].split() == ["run", "2", "12.5%", "22.5%", "25.0%", "12.5%"]
