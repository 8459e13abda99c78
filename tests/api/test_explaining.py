"""explain, max_traces, and the log of traces and compilations."""

from __future__ import annotations

import gc
import json
import logging
import weakref

import numpy as np
import pytest

import xtrace as xt
from xtrace.debug import explain


def last_changes(f):
    return [str(c) for c in explain(f).traces[-1].changes]


def test_a_leaf_that_becomes_a_container_is_one_change():
    f = xt.jit(lambda p, q=0: 1)
    f({"w": 1.0})
    f({"w": {"a": 1.0, "b": 2}})
    assert last_changes(f) == ["p['w']: structure was f32[], is now a dict with keys 'a', 'b'"]
    f({"w": [1.0]})
    assert last_changes(f) == ["p['w']: structure was a dict with keys 'a', 'b', is now a list of 1"]
    f({"w": (1.0, 2)})
    assert last_changes(f) == ["p['w']: structure was a list of 1, is now a tuple of 2"]
    f({"w": None})
    assert last_changes(f) == ["p['w']: structure was a tuple of 2, is now None"]
    f({"w": None}, 3)
    assert last_changes(f) == ["q: structure was absent, is now i32[]"]
    f((), 3.0)
    assert last_changes(f)[1:] == ["q: dtype was int32, is now float32"]


def test_what_a_registered_container_holds_beside_its_children_is_shown():
    @xt.tree_util.register_pytree_node_class
    class Scaled:
        def __init__(self, x, scale):
            self.x, self.scale = x, scale

        def tree_flatten(self):
            return (self.x,), self.scale

        @classmethod
        def tree_unflatten(cls, scale, children):
            return cls(*children, scale)

    f = xt.jit(lambda p: p.x * p.scale)
    f(Scaled(1.0, 2))
    f(Scaled(1.0, 3))
    (change,) = last_changes(f)
    assert change.startswith("p: structure was ") and "Scaled[2]" in change and "Scaled[3]" in change


def test_each_part_of_a_signature_is_named():
    f = xt.jit(lambda p, n: p["w"] * 2, static_argnames="n")
    f({"w": np.ones(3, np.float32)}, 1)
    assert explain(f).traces[0].reason == "first trace"
    f({"w": np.ones(4, np.float32)}, 1)
    assert last_changes(f) == ["p['w']: shape was (3,), is now (4,)"]
    f({"w": np.ones(4, np.int32)}, 1)
    assert last_changes(f) == ["p['w']: dtype was float32, is now int32"]
    f({"w": np.ones(4, np.int32)}, n=2)
    assert last_changes(f) == ["n: static value was 1, is now 2"]
    f({"w": np.ones(4, np.int32), "b": 1}, n=2)
    assert last_changes(f) == ["p['b']: structure was absent, is now i32[]"]
    with xt.numpy_rank_promotion("raise"):
        f({"w": np.ones(4, np.int32)}, n=2)
    assert last_changes(f) == ["jax_numpy_rank_promotion: flag was allow, is now raise"]
    f({"w": 1}, n=2)
    before = explain(f).num_traces
    f({"w": np.int32(1)}, n=2)
    assert last_changes(f) == ["p['w']: weak type was True, is now False"]
    f({"w": np.int32(7)}, n=2)
    assert explain(f).num_traces == before + 1 == 8


def test_the_nearest_earlier_trace_is_compared():
    f = xt.jit(lambda x, y: x + y)
    f(np.ones(3), np.ones(3))
    f(np.ones(1, int), np.ones(1, int))
    f(np.ones(3), np.ones(1))
    assert last_changes(f) == ["y: shape was (3,), is now (1,)"]


def test_places_counts_and_costs():
    f = xt.jit(lambda x: x + 1)
    for _ in range(3):
        f(1)
    (trace,) = explain(f).traces
    assert trace.file == __file__ and trace.function == "test_places_counts_and_costs"
    assert open(__file__).read().splitlines()[trace.line - 1].strip() == "f(1)"
    assert trace.count == 1 and trace.tracing_seconds > 0
    (compile,) = trace.compiles
    assert compile.platform == "cpu" and compile.compiling_seconds > 0 and compile.lowering_seconds > 0
    f.clear_cache()
    f(2)
    (trace,) = explain(f).traces
    assert trace.count == 2 and "caches were cleared" in trace.reason and len(trace.compiles) == 2


def test_static_values_that_print_alike():
    class Size:
        def __repr__(self):
            return "Size"

    f = xt.jit(lambda n: 1, static_argnums=0)
    f(Size())
    f(Size())
    assert "no __eq__" in last_changes(f)[0]


def test_a_function_made_for_each_call():
    for i in range(3):
        f = xt.jit(lambda x: x * 2)
        f(1.0)
        assert explain(f).traces[0].reason.startswith("first trace of this function object; " * (i > 0) or "first")
    assert "2 others" in explain(f).traces[0].reason and "outside of the loop" in explain(f).traces[0].reason


def test_ahead_of_time_compilation_is_recorded():
    f = xt.jit(lambda x: x * 2)
    f.lower(1.0).compile()
    assert explain(f).num_compiles == 1 == explain(f).num_traces


def test_as_data_and_text():
    f = xt.jit(lambda x: x * 2)
    assert "not traced yet" in str(explain(f))
    f(1.0)
    f(2)
    data = json.loads(explain(f).to_json())
    assert data["num_traces"] == data["num_compiles"] == 2
    assert data["traces"][1]["changes"] == [{"where": "x", "what": "dtype", "before": "float32", "now": "int32"}]
    assert "x: dtype was float32, is now int32" in str(explain(f))
    with pytest.raises(TypeError, match="made by jit"):
        explain(len)


def test_records_are_bounded_and_hold_no_function():
    def make():
        def fun(x, n):
            return x

        f = xt.jit(fun, static_argnums=1)
        for n in range(300):
            f.trace(1.0, n)
        return f, weakref.ref(fun)

    f, reference = make()
    assert explain(f).num_traces == 300 and len(explain(f).traces) == 256
    del f
    gc.collect()
    assert reference() is None


def test_max_traces():
    @xt.jit(max_traces=2)
    def f(x):
        return x + 1

    f(1)
    f(1.0)
    f(2.0)
    with pytest.raises(xt.errors.TraceLimitError, match=r"(?s)max_traces=2.*x: shape was \(\), is now \(5,\)"):
        f(np.ones(5, np.float32))
    assert issubclass(xt.errors.TraceLimitError, RuntimeError)
    assert f(3.0) == 4.0
    with pytest.raises(ValueError, match="max_traces must be"):
        xt.jit(f, max_traces=0)


def test_no_tracing_and_no_execution():
    f = xt.jit(lambda x: x + 1)
    f(1)
    with xt.no_tracing():
        assert f(2) == 3
        with pytest.raises(RuntimeError, match="re-tracing function .*'no_tracing' is set"):
            f(1.0)
    with xt.no_execution():
        assert f.lower(1).as_text()
        for call in (lambda: f(2), lambda: xt.numpy.ones(3) + 1):
            with pytest.raises(RuntimeError, match="no_execution is set"):
                call()
    assert f(2) == 3


def test_log(caplog):
    f = xt.jit(lambda x: x + 1)
    with caplog.at_level(logging.WARNING, "xtrace"):
        f(1)
        assert not caplog.records
        with xt.log_compiles():
            f(1.0)
        text = caplog.text
        for part in ("Finished tracing", "Finished jaxpr to MLIR", "Compiling jit", "Finished XLA compilation"):
            assert part in text
        caplog.clear()
        with xt.explain_cache_misses():
            f(np.ones(2))
        assert "TRACING CACHE MISS" in caplog.text and "x: shape was (), is now (2,)" in caplog.text
