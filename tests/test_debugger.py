"""debug.breakpoint: commands of the terminal debugger, on values of the run."""

from __future__ import annotations

import io
import re

import pytest

import xtrace as xt
import xtrace.numpy as xnp

word = "global"


def session(f, commands, *args):
    """What the debugger says to these commands when `f(stop, *args)` runs."""
    stdin, stdout = io.StringIO("\n".join([*commands, ""])), io.StringIO()
    f(lambda **options: {"stdin": stdin, "stdout": stdout, **options}, *args)
    xt.effects_barrier()
    return stdout.getvalue()


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_print(wrap):
    def run(files, x):
        def f(x):
            y = x + 1.0
            word = "local"
            xt.debug.breakpoint(**files())
            return y, word

        wrap(lambda x: f(x)[0])(x)

    said = session(run, ["p x, y", "p word", "pp {'a': 1}", "p nothing", "c"], xnp.float32(2))
    assert "(Array(2., dtype=float32), Array(3., dtype=float32))" in said and "'local'" in said and "{'a': 1}" in said
    assert said.startswith("Entering jdb:\n(jdb) (") and "NameError" in said and said.endswith("(jdb) ")


def test_frames():
    def run(files):
        def inner(a):
            xt.debug.breakpoint(**files())
            return a

        @xt.jit
        def outer(b):
            return inner(2 * b)

        outer(xnp.float32(3))

    said = session(run, ["l", "u", "p b", "d", "p a", "bt", "c"])
    assert re.search(r"> .*test_debugger\.py\(\d+\)", said) and "->" in said
    assert "Array(3., dtype=float32)" in said and "Array(6., dtype=float32)" in said
    assert "Traceback:" in said and "in inner" in said and "in outer" in said


def test_ordered_and_vmapped():
    def run(files):
        @xt.jit
        @xt.vmap
        def f(x):
            y = x + 1.0
            xt.debug.breakpoint(**files(ordered=True))
            return y

        f(xnp.arange(2.0))

    said = session(run, ["p y", "c", "p y", "c"])
    assert said == "Entering jdb:\n(jdb) Array(1., dtype=float32)\n(jdb) " + (
        "Entering jdb:\n(jdb) Array(2., dtype=float32)\n(jdb) "
    )


def test_end_of_input_ends_the_program():
    with pytest.raises(SystemExit):
        session(lambda files: xt.debug.breakpoint(**files()), [])


def test_arguments():
    with pytest.raises(ValueError, match="backend"):
        xt.debug.breakpoint(backend="web")
    with pytest.raises(TypeError, match="unexpected"):
        xt.debug.breakpoint(colour=1)
