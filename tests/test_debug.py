"""jax.debug and callbacks: what is printed, in which order, how often, and what goes wrong."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.experimental import io_callback

F32 = xt.ShapeDtypeStruct((), np.float32)
I32 = xt.ShapeDtypeStruct((), np.int32)


@pytest.fixture
def printed(capsys):
    """What was printed since the last time, as a list of lines."""

    def read() -> list[str]:
        xt.effects_barrier()
        return capsys.readouterr().out.splitlines()

    return read


def in_order(lines: list[str], ordered: bool) -> list[str]:
    return lines if ordered else sorted(lines)


# -- print ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("ordered", [False, True])
def test_formats(wrap, ordered, printed):
    def f(x):
        xt.debug.print("x {} y {y:.2f} {z!r} {{}}", x, y=x / 3, z=xnp.ones(2), ordered=ordered)
        xt.debug.print("plain", ordered=ordered)
        xt.debug.print("{name} {n}", name="text", n=None, ordered=ordered)

    wrap(f)(np.float32(1))
    assert in_order(printed(), ordered) == in_order(
        ["x 1.0 y 0.33 Array([1., 1.], dtype=float32) {}", "plain", "text None"], ordered
    )


def test_two_calls(printed):
    xt.debug.print(ordered=True)("ordered {ordered}", ordered=3)
    assert printed() == ["ordered 3"]
    with pytest.raises(TypeError, match="two-call form"):
        xt.debug.print(x=1)


@pytest.mark.parametrize(
    ("fmt", "args", "kwargs", "error", "message"),
    [
        ("{} {}", (1,), {}, IndexError, "index"),
        ("{x}", (), {}, KeyError, "x"),
        ("{}", (1, 2), {}, ValueError, "Unused positional arguments"),
        ("1.0", (), {"x": 1}, ValueError, "You may be passing an f-string"),
    ],
)
def test_format_is_checked_while_tracing(fmt, args, kwargs, error, message):
    with pytest.raises(error, match=message):
        xt.jit(lambda: xt.debug.print(fmt, *args, **kwargs)).trace()


def test_skip_format_check(printed):
    xt.jit(lambda x: xt.debug.print("x is", x, skip_format_check=True))(2)
    assert printed() == ["x is 2"]


def test_numpy_print_options_are_those_of_the_trace(printed):
    with np.printoptions(precision=2):
        f = xt.jit(lambda x: xt.debug.print("{}", x))
        f(np.float32([1.23456]))
    f(np.float32([6.54321]))
    assert printed() == ["[1.23]", "[6.54]"]


def test_log(caplog):
    with caplog.at_level(logging.INFO, "xtrace.debug"):
        xt.jit(lambda x: xt.debug.log("x is {}", x))(2)
        xt.effects_barrier()
    (record,) = caplog.records
    assert record.getMessage() == "x is 2" and record.pathname == __file__


def test_keys_are_printed_as_keys(printed):
    xt.jit(lambda k: xt.debug.print("{}", k))(xt.random.key(0))
    (first, *_) = printed()
    assert "key" in first


# -- order ---------------------------------------------------------------------------------------------------------


def test_order_within_and_across_programs(printed):
    @xt.jit
    def f(x):
        xt.debug.print("a {}", x, ordered=True)
        y = xt.lax.fori_loop(0, 2, lambda i, c: (xt.debug.print("loop {}", i, ordered=True), c + 1)[1], x)
        inner(y)
        return y

    @xt.jit
    def inner(x):
        xt.debug.print("inner {}", x, ordered=True)

    f(1)
    f(5)
    assert printed() == ["a 1", "loop 0", "loop 1", "inner 3", "a 5", "loop 0", "loop 1", "inner 7"]


@pytest.mark.parametrize("ordered", [False, True])
def test_control_flow(ordered, printed):
    @xt.jit
    def f(x):
        def cond(c):
            xt.debug.print("cond {}", c, ordered=ordered)
            return c < 2

        def body(c):
            xt.debug.print("body {}", c, ordered=ordered)
            return c + 1

        x = xt.lax.while_loop(cond, body, x)
        return xt.lax.cond(
            x > 1, lambda x: xt.debug.print("yes {}", x, ordered=ordered), lambda x: xt.debug.print("no {}", x), x
        )

    f(0)
    expected = ["cond 0", "body 0", "cond 1", "body 1", "cond 2", "yes 2"]
    assert in_order(printed(), ordered) == in_order(expected, ordered)


@pytest.mark.parametrize("unroll", [1, 2, 3, True])
def test_scan(unroll, printed):
    def step(c, x):
        xt.debug.print("{} {}", c, x, ordered=True)
        return c + x, c

    total, ys = xt.jit(lambda xs: xt.lax.scan(step, 0, xs, unroll=unroll))(np.int32([1, 2, 3, 4, 5]))
    assert printed() == ["0 1", "1 2", "3 3", "6 4", "10 5"]
    assert total == 15 and ys.tolist() == [0, 1, 3, 6, 10]


def test_donated_arguments_and_hidden_constants(printed):
    big = xnp.arange(1000.0)

    def f(x):
        xt.debug.print("{}", x[0], ordered=True)
        return x + big

    out = xt.jit(f, donate_argnums=0)(xnp.ones(1000))
    assert out[999] == 1000 and printed() == ["1.0"]


# -- transformations -----------------------------------------------------------------------------------------------


def show(x):
    xt.debug.print("x {}", x)
    return xnp.sin(x)


@pytest.mark.parametrize(
    "transform",
    [
        xt.grad,
        lambda f: xt.jit(xt.grad(f)),
        lambda f: xt.grad(xt.jit(f)),
        lambda f: lambda x: xt.jvp(f, (x,), (x,)),
        lambda f: lambda x: xt.linearize(f, x)[1](x),
        lambda f: lambda x: xt.vjp(f, x)[1](x),
        lambda f: lambda x: xt.grad(lambda x: xt.lax.cond(x > 0, f, lambda x: x, x))(x),
        lambda f: lambda x: xt.grad(lambda x: xt.lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0])(x),
    ],
)
def test_derivatives_print_primals_once(transform, printed):
    transform(show)(1.0)
    assert printed() == ["x 1.0"]


def test_second_derivative(printed):
    xt.grad(xt.grad(show))(1.0)
    assert printed() == ["x 1.0"]


def test_tangents_printed_by_custom_rules(printed):
    @xt.custom_jvp
    def f(x):
        return x

    @f.defjvp
    def f_jvp(primals, tangents):
        xt.debug.print("tangent {}", tangents[0])
        return primals[0], tangents[0]

    xt.jvp(f, (1.0,), (2.0,))
    xt.linearize(f, 1.0)[1](3.0)
    assert printed() == ["tangent 2.0", "tangent 3.0"]
    assert xt.grad(f)(1.0) == 1.0


def test_vmap_prints_each_example(printed):
    xt.vmap(lambda x, y: xt.debug.print("{} {}", x, y), (0, None))(xnp.arange(3), 5)
    xt.jit(xt.vmap(xt.vmap(lambda x: xt.debug.print("{}", x, ordered=True))))(xnp.arange(4).reshape(2, 2))
    assert printed() == ["0 5", "1 5", "2 5", "0", "2", "1", "3"]  # the inner axis is the outer loop


def test_vmapped_while_prints_all(printed):
    def f(x):
        return xt.lax.while_loop(lambda c: c < 2, lambda c: (xt.debug.print("{}", c), c + 1)[1], x)

    assert xt.vmap(f)(xnp.arange(2)).tolist() == [2, 2]
    assert sorted(printed()) == ["0", "1", "1", "2"]


def test_effects_of_jaxprs():
    effects = xt.make_jaxpr(lambda x: (xt.debug.print("{}", x), xt.debug.print("{}", x, ordered=True)))(1).effects
    assert {type(e) for e in effects} == {xt.debug.DebugEffect, xt.debug.OrderedDebugEffect}


# -- callback ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_debug_callback_gets_arrays_and_others(wrap):
    seen = []

    def f(x):
        xt.debug.callback(lambda *args, **kwargs: seen.append((args, kwargs)), x, "text", None, [x, len], k=2 * x)

    wrap(f)(np.int32(3))
    xt.effects_barrier()
    ((args, kwargs),) = seen
    assert isinstance(args[0], xt.Array) and args[0] == 3
    assert args[1:3] == ("text", None) and args[3][1] is len and kwargs == {"k": 6}


def test_debug_callback_errors():
    def fail(x):
        raise ValueError(f"no {x}")

    with pytest.raises(TypeError, match="must be callable"):
        xt.debug.callback(3, 4)
    with pytest.raises(ValueError, match=r"no 2\.0"):
        xt.debug.callback(fail, 2.0)
    for ordered in (False, True):
        with pytest.raises(xt.errors.JaxRuntimeError, match=r"no 2\.0"):
            xt.jit(lambda x, ordered=ordered: xt.debug.callback(fail, x, ordered=ordered))(2.0)
            xt.effects_barrier()
    xt.jit(lambda x: xt.debug.callback(lambda x: None, x, ordered=True))(2.0)  # is not blamed for those before
    xt.effects_barrier()


# -- pure_callback -------------------------------------------------------------------------------------------------


def host_sin(x):
    return np.sin(np.asarray(x)).astype(np.float32)


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_pure_callback(wrap):
    f = wrap(lambda x: xt.pure_callback(host_sin, x, x))
    for _ in range(3):  # the later calls go through C++
        np.testing.assert_allclose(f(np.float32([1, 2])), np.sin([1, 2]), rtol=1e-6)


def test_pure_callback_structures():
    def host(x, *, y):
        return {"sum": x["a"] + y, "both": (x["a"], 3)}

    promised = {"sum": F32, "both": (F32, I32)}
    out = xt.jit(lambda x: xt.pure_callback(host, promised, {"a": x}, y=1.0))(np.float32(2))
    assert out == {"sum": 3.0, "both": (2.0, 3)}


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64", "int4"]
)
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_pure_callback_dtypes(dtype, shape):
    x = xnp.ones(shape, dtype)
    out = xt.jit(lambda x: xt.pure_callback(lambda x: np.asarray(x), x, x))(x)
    assert out.dtype == x.dtype and out.shape == shape
    np.testing.assert_array_equal(np.asarray(out, np.complex64), np.ones(shape))


def test_pure_callback_is_dropped_where_unused():
    calls = []
    xt.jit(lambda x: (xt.pure_callback(lambda x: calls.append(1) or x, F32, x), x)[1])(np.float32(1))
    assert calls == []


VMAP_SHAPES = {
    "sequential": [((2,), (2,))] * 3,
    "sequential_unrolled": [((2,), (2,))] * 3,
    "expand_dims": [((3, 2), (1, 2))],
    "broadcast_all": [((3, 2), (3, 2))],
}


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("method", VMAP_SHAPES)
def test_pure_callback_vmap(method, wrap):
    seen = []

    def host(x, y):
        seen.append((x.shape, y.shape))
        return np.asarray(x + y)

    x, y = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32([10, 20])
    promised = xt.ShapeDtypeStruct((2,), np.float32)
    f = xt.vmap(lambda x, y: xt.pure_callback(host, promised, x, y, vmap_method=method), in_axes=(0, None))
    np.testing.assert_array_equal(wrap(f)(x, y), x + y)
    assert seen == VMAP_SHAPES[method]


def test_pure_callback_vmap_errors():
    with pytest.raises(NotImplementedError, match="vmap is only supported for the pure_callback primitive"):
        xt.vmap(lambda x: xt.pure_callback(host_sin, F32, x))(xnp.ones(2))
    with pytest.raises(ValueError, match="vmap_method must be"):
        xt.pure_callback(host_sin, F32, 1.0, vmap_method="vectorized")


def test_pure_callback_derivatives():
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        xt.grad(lambda x: xt.pure_callback(host_sin, F32, x))(1.0)

    @xt.custom_jvp
    def f(x):
        return xt.pure_callback(host_sin, F32, x)

    f.defjvp(lambda primals, tangents: (f(*primals), xnp.cos(primals[0]) * tangents[0]))
    assert abs(xt.jit(xt.grad(f))(1.0) - np.cos(1)) < 1e-6


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("host", "message"),
    [
        (lambda x: np.zeros(3, np.float32), "Incorrect output shape for return value #0"),
        (lambda x: np.int32(1), "Incorrect output dtype for return value #0"),
        (lambda x: (1.0, 2.0), "Mismatched number of outputs"),
        (lambda x: 1 / 0, "division by zero"),
        (lambda: 1.0, "takes 0 positional arguments"),
    ],
)
def test_pure_callback_errors(host, message, wrap):
    with pytest.raises(xt.errors.JaxRuntimeError, match=message):
        wrap(lambda x: xt.pure_callback(host, F32, x))(np.float32(1)).block_until_ready()


def test_64_bit_results():
    double = xt.ShapeDtypeStruct((), np.float64)
    with pytest.raises(ValueError, match="cannot specify 64-bit types"):
        xt.pure_callback(host_sin, double, 1.0)
    assert xt.pure_callback(lambda: np.float64(1), F32) == 1.0
    with xt.enable_x64(True):
        assert xt.jit(lambda: xt.pure_callback(lambda: np.float64(0.1), double))() == 0.1


def test_callbacks_may_use_arrays():
    def host(x):
        return xt.jit(lambda x: xnp.sum(x) + 1)(x)

    assert xt.jit(lambda x: xt.pure_callback(host, F32, x))(np.float32([1, 2])) == 4.0


# -- io_callback ---------------------------------------------------------------------------------------------------


def test_io_callback_counts():
    calls = []

    def count(x):
        calls.append(int(x))
        return np.int32(len(calls))

    f = xt.jit(lambda x: (io_callback(count, I32, x, ordered=True), io_callback(count, I32, x + 1, ordered=True)))
    assert [tuple(map(int, f(x))) for x in (1, 5)] == [(1, 2), (3, 4)]
    xt.jit(lambda x: (io_callback(count, I32, x), x)[1])(7)  # done though its result isn't used
    xt.effects_barrier()
    assert calls == [1, 2, 5, 6, 7]


def test_io_callback_without_results():
    seen = []
    assert xt.jit(lambda x: io_callback(lambda x: seen.append(int(x)), None, x))(3) is None
    xt.effects_barrier()
    assert seen == [3]


def test_io_callback_transformations():
    def f(x, ordered=False):
        return io_callback(lambda x: x, F32, x, ordered=ordered)

    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        xt.jvp(f, (1.0,), (1.0,))
    assert xt.vmap(f)(xnp.arange(3.0)).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        xt.vmap(lambda x: f(x, True))(xnp.arange(3.0))
    with pytest.raises(NotImplementedError, match="IO effect not supported in vmap-of-cond"):
        xt.vmap(lambda x: xt.lax.cond(x > 1, f, lambda x: x, x))(xnp.arange(3.0))
    with pytest.raises(NotImplementedError, match="not supported in while_loop with batched predicate"):
        xt.vmap(lambda x: xt.lax.while_loop(lambda x: x < 2, lambda x: f(x) + 1, x))(xnp.arange(3.0))


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit, xt.vmap, xt.grad], ids=["eager", "jit", "vmap", "grad"])
def test_inspect_array_sharding(wrap):
    seen = []

    def f(x):
        xt.debug.inspect_array_sharding(x, callback=seen.append)
        return x

    x = 1.0 if wrap is xt.grad else xnp.ones(3)
    wrap(f)(x)
    xt.jit(wrap(f))(x)
    assert [s.device_set for s in seen] == [{xt.devices()[0]}] * 2


# -- several devices, threads, the end ---------------------------------------------------------------------------


SCRIPT = """
import os, threading
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import numpy as np, xtrace as xt, xtrace.numpy as xnp
from xtrace.experimental import io_callback
mesh = xt.make_mesh((4,), ("d",))
x = xt.device_put(np.arange(8.0, dtype=np.float32), xt.NamedSharding(mesh, xt.P("d")))
@xt.jit
def f(x):
    xt.debug.print("unordered {}", x)
    xt.debug.print("ordered {}", x, ordered=True)
    io_callback(lambda x: print("io", x), None, x, ordered=True)
    y = xt.pure_callback(lambda x: np.asarray(x) * 2, x, x)
    return y + 1
print(f(x))
print(f(x).sum())
seen = []
xt.jit(lambda x: xt.debug.callback(lambda x: seen.append(x.tolist()), x, partitioned=True))(x)
xt.effects_barrier()
print(sorted(seen))
where = x.sharding
def told(sharding):
    print("sharding", sharding == where)
xt.jit(lambda x: xt.debug.inspect_array_sharding(x * 2, callback=told))(x)
xt.jit(lambda x: xt.debug.print("last {}", x, ordered=True))(1)
thread = threading.Thread(target=lambda: xt.jit(lambda x: xt.debug.print("thread {}", x, ordered=True))(2))
thread.start(); thread.join()
"""

LINES = """unordered [0. 1. 2. 3. 4. 5. 6. 7.]
ordered [0. 1. 2. 3. 4. 5. 6. 7.]
io [0. 1. 2. 3. 4. 5. 6. 7.]"""


def test_several_devices():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for line in LINES.splitlines():
        assert lines.count(line) == 2, done.stdout
    assert "[ 1.  3.  5.  7.  9. 11. 13. 15.]" in lines and "64.0" in lines
    assert "[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]" in lines
    assert "sharding True" in lines
    assert lines[-2:] == ["last 1", "thread 2"]
