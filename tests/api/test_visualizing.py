"""Pictures of shardings, in text."""

import subprocess
import sys

import pytest

import xtrace as xt

PROGRAM = """
import xtrace as xt
mesh = xt.make_mesh((2, 2), ("x", "y"))
for spec in (xt.P("x", "y"), xt.P("x"), xt.P()):
    x = xt.device_put(xt.numpy.ones((4, 4)), xt.NamedSharding(mesh, spec))
    xt.debug.visualize_array_sharding(x)
"""

PICTURES = """
┌───────┬───────┐
│       │       │
│ CPU 0 │ CPU 1 │
├───────┼───────┤
│       │       │
│ CPU 2 │ CPU 3 │
└───────┴───────┘
┌──────────┐
│          │
│ CPU 0,1  │
├──────────┤
│          │
│ CPU 2,3  │
└──────────┘
┌─────────────┐
│             │
│             │
│ CPU 0,1,2,3 │
│             │
└─────────────┘
"""


def test_pictures():
    environment = {"PATH": "/usr/bin:/bin", "XTRACE_NUM_CPU_DEVICES": "4", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == PICTURES.strip().splitlines()


def test_rank():
    with pytest.raises(ValueError, match="1 and 2 dimensions"):
        xt.debug.visualize_sharding((), xt.numpy.ones(()).sharding)
