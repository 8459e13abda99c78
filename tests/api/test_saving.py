"""Compiled programs in files: loaded without tracing, and only where they fit."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.runtime import container
from xtrace.stages import Compiled

X = np.array([1, 2, 3], np.float32)
LARGE = np.arange(300, dtype=np.float32)


def f(tree, scale, *, unused):
    return {"y": (xnp.sin(tree["x"]) * scale, None), "sum": LARGE.sum() + xnp.sum(LARGE * scale)}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "f.xtrace"
    xt.jit(f).lower({"x": X}, 2.0, unused=X).compile().save(path)
    return path


def test_it_is_what_it_was(saved):
    compiled, loaded = xt.jit(f).lower({"x": X}, 2.0, unused=X).compile(), Compiled.load(saved)
    for field in ("fun_name", "in_tree", "out_tree", "in_avals", "out_avals", "args_info", "out_info"):
        assert getattr(loaded, field) == getattr(compiled, field), field
    for _ in range(3):
        out = loaded({"x": X}, 2.0, unused=X)
        np.testing.assert_allclose(out["y"][0], np.sin(X) * 2, rtol=1e-6)
        np.testing.assert_allclose(out["sum"], LARGE.sum() * 3, rtol=1e-6)
    assert "HloModule" in loaded.as_text() and loaded.cost_analysis()["flops"] > 0
    assert loaded.input_shardings == compiled.input_shardings


def test_wrong_arguments_name_the_argument(saved):
    loaded = Compiled.load(saved)
    with pytest.raises(TypeError, match=r"\['x'\] was compiled as f32\[3\], called with f32\[2\]"):
        loaded({"x": X[:2]}, 2.0, unused=X)
    with pytest.raises(TypeError, match="input pytree"):
        loaded({"x": X}, unused=X)
    with pytest.raises(TypeError, match="called with a tracer"):
        xt.jit(lambda x: loaded({"x": x}, 2.0, unused=X))(X)


def test_donation_is_kept(tmp_path):
    g = xt.jit(lambda x: x + 1, donate_argnums=0)
    g.lower(X).compile().save(tmp_path / "g")
    loaded = Compiled.load(tmp_path / "g")
    given = xt.device_put(X)
    assert loaded.donate_argnums == (0,)
    np.testing.assert_array_equal(loaded(given), X + 1)
    assert given.is_deleted()


def test_nans_are_found(tmp_path):
    xt.jit(xnp.log).lower(X).compile().save(tmp_path / "log")
    with xt.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        Compiled.load(tmp_path / "log")(-X)


def test_other_places_and_damage_are_refused(saved):
    header, payloads = container.unpack("compiled program", saved.read_bytes())
    for what in ("jaxlib", "device", "platform version"):
        saved.write_bytes(container.pack("compiled program", {**header, what: "other"}, payloads))
        with pytest.raises(ValueError, match=f"{what} 'other', here"):
            Compiled.load(saved)
    saved.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="too short"):
        Compiled.load(saved)


def test_another_process_loads_it_without_mlir(saved):
    program = (
        "import sys, numpy as np\nfrom xtrace.stages import Compiled\n"
        f"out = Compiled.load({str(saved)!r})({{'x': np.ones(3, np.float32)}}, 2.0, unused=np.ones(3, np.float32))\n"
        "print(float(out['sum']), 'jaxlib.mlir.ir' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(float(LARGE.sum() * 3)), "False"]
