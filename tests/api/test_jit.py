"""jit: signatures, static and donated arguments, caches, closures, nesting."""

from __future__ import annotations

import functools
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

VECTOR = np.arange(4, dtype=np.float32)


def counted(fun):
    """`fun`, and a list that grows by one at each trace of it."""
    traces = []

    @functools.wraps(fun)
    def wrapper(*args, **kwargs):
        traces.append(1)
        return fun(*args, **kwargs)

    return wrapper, traces


def test_traced_once_per_signature():
    fun, traces = counted(lambda x: x * 2.0)
    f = xt.jit(fun)
    for x in (VECTOR, VECTOR + 1, xt.device_put(VECTOR)):
        np.testing.assert_allclose(f(x), np.asarray(x) * 2)
    assert len(traces) == 1
    f(np.float32(3))  # another shape
    f(3.0)  # a weak type
    f(3)  # another dtype
    assert len(traces) == 4
    f(4)
    assert len(traces) == 4


def test_jits_of_one_function_share_traces_and_programs():
    fun, traces = counted(lambda x: x + 1)
    xt.jit(fun)(VECTOR)
    xt.jit(fun)(VECTOR)
    assert len(traces) == 1
    xt.jit(fun, keep_unused=True)(VECTOR)
    assert len(traces) == 2


def test_fresh_functions_compile_each_time_and_one_function_once():
    fun, traces = counted(lambda n, x: x + n)
    for n in range(5):
        xt.jit(functools.partial(fun, n))(VECTOR)
    assert len(traces) == 5
    f = xt.jit(fun)
    for _ in range(5):
        f(1, VECTOR)
    assert len(traces) == 6


def test_clear_cache_retraces():
    fun, traces = counted(lambda x: x + 1)
    f = xt.jit(fun)
    f(VECTOR), f(VECTOR)
    f.clear_cache()
    f(VECTOR)
    assert len(traces) == 2


@pytest.mark.parametrize(
    "options", [{"static_argnums": 1}, {"static_argnames": "n"}, {"static_argnames": ["n"]}, {"static_argnums": -1}]
)
def test_static_arguments_are_inferred_by_number_and_name(options):
    def power(x, n):
        assert isinstance(n, int)
        out = x
        for _ in range(n - 1):
            out = out * x
        return out

    fun, traces = counted(power)
    f = xt.jit(fun, **options)
    np.testing.assert_allclose(f(VECTOR, 3), VECTOR**3)
    np.testing.assert_allclose(f(VECTOR, 3), VECTOR**3)
    assert len(traces) == 1
    np.testing.assert_allclose(f(VECTOR, 2), VECTOR**2)
    if options.get("static_argnums") != -1:
        np.testing.assert_allclose(f(VECTOR, n=3), VECTOR**3)
    assert len(traces) >= 2


def test_static_values_of_different_types_are_different():
    fun, traces = counted(lambda x, flag: (x, str(type(flag)))[0])
    f = xt.jit(fun, static_argnums=1)
    f(VECTOR, 1), f(VECTOR, True), f(VECTOR, 1.0)
    assert len(traces) == 3


def test_static_argument_errors():
    def f(x, n):
        return x

    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        xt.jit(f, static_argnums=1)(1.0, [2])
    with pytest.raises(ValueError, match=r"f has 2 positional arguments \(x, n\); static_argnums=5"):
        xt.jit(f, static_argnums=5)
    with pytest.raises(ValueError, match="no argument 'm'"):
        xt.jit(f, static_argnames="m")
    with pytest.raises(ValueError, match="both static and donated"):
        xt.jit(f, static_argnums=0, donate_argnums=0)
    with pytest.raises(TypeError, match="static_argnums must be int"):
        xt.jit(f, static_argnums="x")
    with pytest.raises(TypeError, match="jit takes a function"):
        xt.jit(3)


def test_keywords_defaults_and_varargs():
    @xt.jit
    def f(x, *args, y=2.0, **rest):
        out = x * y
        for a in args:
            out = out + a
        return out + rest.get("z", 0)

    assert float(f(1.0)) == 2.0
    assert float(f(1.0, 3.0, y=4.0, z=5.0)) == 12.0
    assert float(f(x=1.0, y=3.0)) == 3.0


def test_methods_and_callable_objects():
    class Layer:
        def __init__(self, w):
            self.w = w

        @functools.partial(xt.jit, static_argnums=0)
        def apply(self, x):
            return x * self.w

        def __call__(self, x):
            return x + self.w

    layer = Layer(2.0)
    assert float(layer.apply(3.0)) == 6.0
    assert float(xt.jit(layer)(3.0)) == 5.0
    assert float(xt.jit(layer.__call__)(3.0)) == 5.0


def test_pytrees_in_and_out():
    f = xt.jit(lambda p: {"sum": p["a"] + p["b"][0], "none": None, "pair": (p["a"], [p["b"][0]])})
    out = f({"a": VECTOR, "b": (VECTOR,)})
    assert set(out) == {"sum", "none", "pair"} and out["none"] is None
    np.testing.assert_allclose(out["sum"], 2 * VECTOR)
    assert isinstance(out["pair"], tuple) and isinstance(out["pair"][1], list)


def test_no_arguments_and_constant_results():
    assert float(xt.jit(lambda: xnp.sin(1.0))()) == pytest.approx(np.sin(1.0))
    out = xt.jit(lambda x: (3, 2.5, np.ones(2, np.float32)))(1.0)
    assert [float(out[0]), float(out[1])] == [3.0, 2.5]
    np.testing.assert_array_equal(out[2], np.ones(2))
    assert out[0].weak_type and out[0].dtype == np.int32


def test_results_have_jax_types():
    out = xt.jit(lambda i, n: i * n)(10, 3)
    assert repr(out) == "Array(30, dtype=int32, weak_type=True)"


def test_large_constants_are_hidden_arguments_and_small_ones_inline():
    large = xt.device_put(np.arange(1000, dtype=np.float32))
    small = np.arange(3, dtype=np.float32)
    f = xt.jit(lambda x: x + large)
    for _ in range(3):
        np.testing.assert_allclose(f(large), 2 * np.arange(1000))
    text = f.lower(large).as_text()
    assert text.count("tensor<1000xf32>,") >= 1 and "stablehlo.constant" not in text
    text = xt.jit(lambda x: x + small).lower(small).as_text()
    assert "dense<[0.000000e+00, 1.000000e+00, 2.000000e+00]>" in text


def test_constants_of_nested_calls_are_hoisted():
    large = np.arange(1000, dtype=np.float32)
    inner = xt.jit(lambda x: x * large)
    outer = xt.jit(lambda x: inner(x) + inner(x))
    np.testing.assert_allclose(outer(large), 2 * large * large)
    jaxpr = xt.make_jaxpr(outer)(large)
    assert len(jaxpr.consts) == 1 and not jaxpr.eqns[0].params["jaxpr"].constvars


def test_nested_jit_stays_a_call_and_is_lowered_once():
    inner = xt.jit(lambda x: xnp.sin(x) + 1.0)
    outer = xt.jit(lambda x: inner(inner(inner(x))))
    np.testing.assert_allclose(outer(0.5), np.sin(np.sin(np.sin(0.5) + 1) + 1) + 1, rtol=1e-6)
    # The pass `inline` writes calls out.
    text = xt.jit(outer.__wrapped__, passes=()).lower(np.float32(0.5)).as_text()
    assert text.count("stablehlo.sine") == 1 and text.count("call @") == 3
    inlined = xt.jit(lambda x: xnp.sin(x), inline=True)
    assert [e.primitive.name for e in xt.make_jaxpr(lambda x: inlined(x))(1.0).eqns] == ["sin"]


def test_closure_over_an_outer_tracer():
    def f(x):
        g = xt.jit(lambda y: x * y)
        return g(3.0) + g(x)

    assert float(xt.jit(f)(2.0)) == 10.0
    assert float(xt.grad(f)(2.0)) == 7.0


def test_unused_arguments_are_dropped_unless_kept():
    fun = lambda x, unused: x + 1  # noqa: E731
    assert xt.jit(fun).lower(1.0, VECTOR).as_text().count("%arg") == 2  # its declaration and its use
    assert "%arg1" in xt.jit(fun, keep_unused=True).lower(1.0, VECTOR).as_text()
    assert float(xt.jit(fun)(1.0, VECTOR)) == float(xt.jit(fun, keep_unused=True)(1.0, VECTOR)) == 2.0


def test_donation():
    f = xt.jit(lambda a, b: a + b, donate_argnums=0)
    for _ in range(2):
        a, b = xt.device_put(VECTOR), xt.device_put(VECTOR)
        np.testing.assert_allclose(f(a, b), 2 * VECTOR)
        assert a.is_deleted() and not b.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(a)
    g = xt.jit(lambda tree: {"w": tree["w"] * 2.0}, donate_argnames="tree")
    w = xt.device_put(VECTOR)
    g({"w": w})
    assert w.is_deleted()


def test_unusable_donation_warns_with_path_and_reason():
    def f(p):
        return p["x"] * 1.0, xnp.sin(p["y"][0])

    p = {"x": xt.device_put(VECTOR), "y": [xt.device_put(np.float32(1))], "z": xt.device_put(VECTOR[:2])}
    with pytest.warns(UserWarning) as caught:
        xt.jit(f, donate_argnums=0)(p)
    assert str(caught[0].message) == (
        "Some donated buffers were not usable: p['z'] (f32[2]): the function does not use it. "
        "A donated buffer is reused for an output of the same shape and dtype; donate only those."
    )
    with pytest.warns(UserWarning, match=r"x \(f32\[4\]\): no output left of this shape and dtype"):
        xt.jit(lambda x: x > 0, donate_argnums=0)(xt.device_put(VECTOR))


def test_disable_jit_runs_python():
    seen = []
    f = xt.jit(lambda x: (seen.append(type(x).__name__), x + 1)[1])
    with xt.disable_jit():
        assert float(f(xt.device_put(np.float32(1)))) == 2.0
    assert seen == ["ArrayImpl"]
    f(np.float32(1))
    assert seen[-1] == "StagedTracer"


def test_x64_is_part_of_the_signature():
    f = xt.jit(lambda x: x + 1)
    assert f(np.float64(1)).dtype == np.float32
    with xt.enable_x64(True):
        assert f(np.float64(1)).dtype == np.float64
    assert f(np.float64(1)).dtype == np.float32


def test_committed_arguments_decide_the_device():
    device = xt.devices()[0]
    x = xt.device_put(VECTOR, device)
    assert xt.jit(lambda x: x + 1)(x).committed and not xt.jit(lambda x: x + 1)(VECTOR).committed
    assert xt.jit(lambda x: x + 1, device=device)(VECTOR).committed
    assert xt.jit(lambda x: x + 1, backend="cpu")(VECTOR).devices() == {device}


def test_arguments_that_are_no_arrays_are_named():
    f = xt.jit(lambda params, n: params["w"])
    with pytest.raises(TypeError) as caught:
        f({"w": "text"}, 1)
    assert str(caught.value) == (
        "Cannot interpret value of type <class 'str'> as an abstract array: jit of <lambda> got 'text' for its "
        "argument params['w'], which is neither an array nor a number. Make such an argument static (static_argnums or "
        "static_argnames of jit), or convert it to an array."
    )
    with pytest.raises(OverflowError, match="2147483648"):
        f({"w": 2**31}, 1)


def test_structs_are_not_run():
    with pytest.raises(TypeError, match="has no values: call it with arrays"):
        xt.jit(lambda x: x)(xt.ShapeDtypeStruct((), np.float32))


def test_results_that_are_no_arrays_are_named():
    def f(x):
        return {"a": x, "b": ["text"]}

    with pytest.raises(TypeError) as caught:
        xt.jit(f)(1.0)
    assert str(caught.value) == (
        "function f traced for jit returned a value of type <class 'str'> at result['b'][0], which is not a valid "
        "type: functions that are traced return arrays, numbers and containers of them."
    )


def test_dropped_functions_are_freed():
    def use_and_drop(i):
        f = lambda x: xnp.sin(x) * float(i)
        xt.jit(f)(VECTOR)
        xt.jit(f).lower(VECTOR).compile()
        xt.grad(xt.jit(lambda x: f(x)))(1.0)
        g = lambda x: xnp.cos(x) * float(i)
        xt.make_jaxpr(lambda x: xt.jit(g)(x))(1.0)  # traced only: nobody asks for its argument names
        return [weakref.ref(f), weakref.ref(g)]

    references = [r for i in range(10) for r in use_and_drop(i)]
    gc.collect()
    assert not any(r() is not None for r in references)


@pytest.mark.slow
def test_a_loop_of_jitted_functions_does_not_grow():
    import resource

    def run(n):
        for i in range(n):
            c = float(i)
            xt.jit(lambda x: (x, c))(VECTOR)  # compiled sooner than a program that computes
        gc.collect()

    run(50)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(500)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 10_000  # kilobytes: 20 for each function at most


def test_threads_trace_at_once():
    results = [None] * 6

    def work(k):
        f = xt.jit(lambda x: xnp.sin(x) * float(k) + x)
        for _ in range(10):
            results[k] = float(xt.grad(lambda y: f(y))(1.0))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_allclose(results, np.cos(1.0) * np.arange(6) + 1, rtol=1e-6)


def test_wrapper_looks_like_the_function():
    def f(x):
        """Doc."""
        return x

    g = xt.jit(f)
    assert g.__name__ == "f" and g.__doc__ == "Doc." and g.__wrapped__ is f


def test_side_effects_happen_at_trace_time_only():
    seen = []
    f = xt.jit(lambda x: (seen.append(repr(x)), x)[1])
    f(VECTOR), f(VECTOR)
    assert seen == ["JitTracer(float32[4])"]


def test_no_warnings_in_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xt.jit(lambda x: x + 1, donate_argnums=0)(xt.device_put(VECTOR))


@pytest.mark.parametrize("option", ["static_argnames", "donate_argnames"])
def test_names_that_no_keyword_can_have(option):
    def f(a, /, b, *args, **kwargs):
        return b

    xt.jit(f, **{option: ("b", "anything")})
    for name in ("a", "args"):
        with pytest.raises(ValueError, match=f"no argument '{name}'"):
            xt.jit(f, **{option: name})
