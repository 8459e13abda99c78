"""Positions and scopes as programs read and set them."""

import inspect

import xtrace as xt
from xtrace.extend import source_info_util as info


def test_current_line():
    line, here = inspect.currentframe().f_lineno + 1, None
    here = info.current()
    assert here.line.line == line
    assert info.summarize(here).startswith(f"{__file__}:{line}:")
    assert info.summarize(info.new_source_info()) == "unknown"


def test_scopes():
    with xt.named_scope("a"), xt.named_scope("b"):
        assert info.current_name_stack() == info.NameStack(("a", "b"))
        with info.reset_name_stack():
            assert not len(info.current_name_stack())
            with info.extend_name_stack("c"), info.transform_name_stack("vmap"):
                assert str(info.current_name_stack()) == "c/vmap()"
        with info.set_name_stack(info.new_name_stack("d").extend("e")):
            assert str(info.current_name_stack()) == "d/e"
    assert str(info.current_name_stack()) == ""


def test_operations_are_attributed():
    place = info.current()

    def f(x):
        with info.user_context(place.traceback, name_stack="there"):
            return x + 1

    eqn = xt.make_jaxpr(f)(1).eqns[0]
    assert eqn.source_info.line == place.line
    assert eqn.source_info.name_stack == "there"


def test_excluded_files():
    code = compile("def call(f): return f()", "/somewhere/library.py", "exec")
    names: dict = {}
    exec(code, names)
    assert names["call"](lambda: info.current()).line.file == __file__
    exec(compile("def here(current): return current()", "/somewhere/library.py", "exec"), names)
    assert names["here"](info.current).line.file == "/somewhere/library.py"
    info.register_exclusion("/somewhere/")
    assert names["here"](info.current).line.file == __file__
