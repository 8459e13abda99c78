"""`xtrace dump-hlo`: what it prints for a function at each stage."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

MODEL = """
from functools import partial

import jax
import jax.numpy as jnp


def scale(x, by=2.0):
    return x * by


def dense(p, x):
    return x @ p["w"] + p["b"]


def loss(p, x, *, steps=1):
    for _ in range(steps):
        x = dense(p, x)
    return jnp.sum(x)


def make_args():
    return {"w": jnp.ones((3, 3)), "b": jnp.ones(3)}, jnp.ones((4, 3))


@partial(jax.jit, static_argnames="n")
def power(x, n):
    return x**n


def wasteful(x):
    jnp.exp(x)
    return power(x, 3)


def branch(x):
    if x > 0:
        return x
    return -x
"""
PARAMS = "{'w': f32[3,3], 'b': f32[3]}"


@pytest.fixture
def dump(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)

    def call(*args):
        command = [sys.executable, "-m", "xtrace", "dump-hlo", *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    call.folder = tmp_path
    return call


def text(result):
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_jaxpr(dump):
    assert text(dump("model.py:scale", "--arg", "f32[3]", "--stage", "jaxpr")) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }\n"
    )
    assert text(dump("model.py:scale", "--arg", "f32[3]", "--arg", "by=f32[]", "--stage", "jaxpr")) == (
        "{ lambda ; a:f32[3] b:f32[]. let c:f32[3] = mul a b in (c,) }\n"
    )


def test_pytrees_and_modules(dump):
    shown = text(dump("model:dense", "--arg", PARAMS, "--arg", "f32[4,3]", "--stage", "jaxpr"))
    assert shown.startswith("{ lambda ; a:f32[3] b:f32[3,3] c:f32[4,3]. let\n")
    assert "dot_general" in shown


def test_stablehlo_is_the_default_and_hlo_is_what_xla_made(dump):
    assert "stablehlo.multiply" in text(dump("model.py:scale", "--arg", "f32[3]"))
    assert text(dump("model.py:scale", "--arg", "f32[3]", "--stage", "hlo")).startswith("HloModule jit_scale")


def test_transforms_nest_in_order(dump):
    args = ["--arg", PARAMS, "--arg", "f32[5,3]", "--stage", "jaxpr", "--json"]
    grad = json.loads(text(dump("model.py:loss", "--transform", "grad", *args)))
    assert grad["outputs"] == ["float32[3]", "float32[3,3]"]
    both = json.loads(text(dump("model.py:loss", "--transform", "value_and_grad", *args)))
    assert both["outputs"] == ["float32[]", "float32[3]", "float32[3,3]"]
    batched = ["--arg", "{'w': f32[7,3,3], 'b': f32[7,3]}", "--arg", "f32[7,5,3]", "--stage", "jaxpr", "--json"]
    nested = json.loads(text(dump("model.py:loss", "--transform", "grad", "--transform", "vmap", *batched)))
    assert nested["outputs"] == ["float32[7,3]", "float32[7,3,3]"]
    assert nested["transforms"] == ["grad", "vmap"]


def test_static_arguments(dump):
    args = ["--arg", PARAMS, "--arg", "f32[5,3]", "--stage", "jaxpr"]
    assert text(dump("model.py:loss", *args, "--static", "steps=3")).count("dot_general[") == 3
    assert text(dump("model.py:loss", *args, "--static", "steps=3", "--transform", "grad")).count("dot_general[") > 3
    assert text(dump("model.py:power", "--arg", "f32[2]", "--static", "n=3", "--stage", "jaxpr")).startswith(
        "{ lambda ; a:f32[2]. let"
    )


def test_arguments_from_a_function(dump):
    shown = text(dump("model.py:loss", "--args-from", "model.py:make_args", "--stage", "jaxpr"))
    assert shown.startswith("{ lambda ; a:f32[3] b:f32[3,3] c:f32[4,3]. let\n")


def test_64_bit_types(dump):
    assert "a:f64[3]" in text(dump("model.py:scale", "--arg", "f64[3]", "--x64", "--stage", "jaxpr"))


def test_output_and_cost(dump):
    shown = text(dump("model.py:scale", "--arg", "f32[3]", "--output", "out.txt", "--cost"))
    assert shown.startswith("cost, as XLA estimates it\n")
    assert "\n  flops " in shown
    assert "stablehlo.multiply" in (dump.folder / "out.txt").read_text()
    record = json.loads(text(dump("model.py:scale", "--arg", "f32[3]", "--cost", "--json")))
    assert record["cost"]["flops"] == 3.0
    assert (record["inputs"], record["stage"]) == (["float32[3]"], "stablehlo")
    result = dump("model.py:scale", "--arg", "f32[3]", "--output", "no/such/folder/out.txt")
    assert (result.returncode, result.stderr) == (
        2,
        "xtrace: error: cannot write no/such/folder/out.txt: No such file or directory\n",
    )


def test_lowering_for_hardware_that_is_absent(dump):
    for platform in ("cuda", "tpu"):
        assert "stablehlo.multiply" in text(dump("model.py:scale", "--arg", "f32[3]", "--platform", platform))


def test_errors_of_the_program_are_one_line_with_its_place(dump):
    result = dump("model.py:branch", "--arg", "f32[]")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"xtrace: error: {dump.folder / 'model.py'}:37: TracerBoolConversionError: ")
    assert result.stderr.count("\n") == 1
    result = dump("model.py:dense", "--arg", PARAMS, "--arg", "f32[4,5]")
    assert result.stderr.startswith(f"xtrace: error: {dump.folder / 'model.py'}:13: TypeError: ")
    assert result.stderr.count("\n") == 1
    assert dump("--traceback", "model.py:branch", "--arg", "f32[]").stderr.startswith("Traceback")


def test_passes(dump):
    shown = text(dump("model.py:wasteful", "--arg", "f32[4,3]", "--stage", "passes"))
    assert shown.startswith("# before the passes\n{ lambda ;")
    assert "# inline: " in shown and "no result depends on it" in shown and "model.py:" in shown
    assert text(dump("model.py:scale", "--arg", "f32[3]", "--stage", "passes", "--passes", "none")) == "# no pass ran\n"
    failed = dump("model.py:scale", "--arg", "f32[3]", "--stage", "passes", "--passes", "bogus")
    assert failed.returncode != 0 and "there is no pass 'bogus'" in failed.stderr
