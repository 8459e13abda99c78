"""Importing xtrace leaves the garbage collector as it was, and sets modules apart only where a process begins."""

import subprocess
import sys

import pytest

from xtrace.core.collector import paused_while_importing


def _after_import(before: str) -> list[str]:
    code = f"import gc; {before}; import xtrace; print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    "before, enabled, frozen",
    [("pass", "True", "True"), ("gc.collect()", "True", "False"), ("gc.disable()", "False", "False")],
)
def test_the_collector_after_an_import(before, enabled, frozen):
    assert _after_import(before) == [enabled, frozen]


def test_an_import_that_fails():
    import gc

    with pytest.raises(ImportError), paused_while_importing():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()
