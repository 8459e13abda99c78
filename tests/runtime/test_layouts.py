"""How arrays lie in memory: asked for, kept through programs, and undone where a program expects another order."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace import numpy as xnp
from xtrace.experimental.layout import Format, Layout, with_layout_constraint

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)
COLUMNS = Layout((1, 0))


@pytest.fixture
def x():
    return xt.device_put(VALUES)


def order(array):
    return array.format.layout.major_to_minor


def test_descriptions(x):
    assert x.format == Format(x.format.layout, x.sharding) and order(x) == (0, 1)
    assert hash(Layout([1, 0])) == hash(COLUMNS) and Layout((0, 1)) != COLUMNS
    assert COLUMNS.update(tiling=((8, 128),)).text() == "{0,1:T(8,128)}"
    assert repr(Format()) == "Format(layout=None, sharding=None)" and repr(Layout.AUTO) == "AUTO"
    assert order(xt.random.split(xt.random.key(0), 3)) == (0, 1)


def test_arrays_in_other_orders_have_the_same_values(x):
    double, row = xt.jit(lambda a: 2 * a), xt.jit(lambda a: a[1])
    double(x), row(x)  # compiled for the default order, into which the others are copied
    for made in (
        with_layout_constraint(x, COLUMNS),
        xt.device_put(VALUES, Format(COLUMNS, x.sharding)),
        xt.jit(lambda a: a, out_shardings=Format(COLUMNS, x.sharding))(x),
    ):
        assert order(made) == (1, 0)
        for _ in range(2):
            np.testing.assert_array_equal(double(made), 2 * VALUES)
            np.testing.assert_array_equal(row(made), VALUES[1])
        np.testing.assert_array_equal(made, VALUES)
        np.testing.assert_array_equal(made.T + 1, VALUES.T + 1)
    np.testing.assert_array_equal(double(x), 2 * VALUES)


def test_programs_for_given_orders(x):
    where = Format(COLUMNS, x.sharding)
    double = xt.jit(lambda a: 2 * a, in_shardings=where, out_shardings=where)
    assert double.lower(x).as_text().count('mhlo.layout_mode = "{0,1}"') == 2
    compiled = double.lower(x).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == (1, 0) == compiled.output_formats.layout.major_to_minor
    for run in (double, compiled):
        for given in (x, run(x)):
            for _ in range(2):
                out = run(given)
                np.testing.assert_array_equal(out, 2 * np.asarray(given))
                assert order(out) == (1, 0)


def test_orders_that_the_compiler_chooses(x):
    auto = Format(Layout.AUTO)
    product = xt.jit(lambda a: a.T @ a, in_shardings=auto, out_shardings=auto)
    assert 'mhlo.layout_mode = "auto"' in product.lower(x).as_text()
    np.testing.assert_array_equal(product(x), VALUES.T @ VALUES)
    assert isinstance(product.lower(x).compile().input_formats[0][0].layout, Layout)


def test_inside_programs(x):
    held = lambda a: with_layout_constraint(a, COLUMNS)  # noqa: E731
    program = xt.jit(held).lower(x).as_text()
    assert "@LayoutConstraint(%arg0)" in program and "result_layouts = [dense<[0, 1]> : tensor<2xindex>]" in program
    np.testing.assert_array_equal(xt.grad(lambda a: (held(a) * a).sum())(x), 2 * VALUES)
    mapped = xt.vmap(held, in_axes=1, out_axes=1)
    stack = xnp.arange(24.0).reshape(2, 4, 3)
    assert "layout=Layout(major_to_minor=(1, 2, 0)" in str(xt.make_jaxpr(mapped)(stack))
    np.testing.assert_array_equal(xt.jit(mapped)(stack), stack)
    np.testing.assert_array_equal(xt.jit(lambda a: xt.device_put(a, Format(COLUMNS, x.sharding)))(x), VALUES)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: with_layout_constraint(x, Layout((2, 1, 0))), ValueError, r"rank.*\(2, 1, 0\).*shape=\(2, 3\)"),
        (lambda x: with_layout_constraint(x, Layout((0, 0))), ValueError, "major_to_minor"),
        (lambda x: with_layout_constraint(x, 10), ValueError, "takes Layouts"),
        (lambda x: xt.device_put(x, Format(Layout((0,)), x.sharding)), ValueError, "major_to_minor"),
        (lambda x: xt.jit(abs, in_shardings=Format(Layout((0,)), x.sharding))(x), ValueError, "major_to_minor"),
        (lambda x: Format(COLUMNS), ValueError, "Sharding has to be concrete"),
        (lambda x: Format((1, 0)), TypeError, "Invalid value received for the layout argument"),
        (lambda x: Format(None, "cpu"), TypeError, "Invalid value received for the sharding argument"),
    ],
)
def test_refused(x, call, error, message):
    with pytest.raises(error, match=message):
        call(x)


def test_saved_programs_keep_the_layouts_of_arguments(x, tmp_path):
    columns = Format(COLUMNS, x.sharding)
    compiled = xt.jit(lambda x: x + x[::-1], in_shardings=columns).lower(x).compile()
    compiled.save(tmp_path / "program")
    loaded = xt.stages.Compiled.load(tmp_path / "program")
    for argument in (VALUES, x, xt.device_put(x, columns)):
        np.testing.assert_array_equal(loaded(argument), VALUES + VALUES[::-1])


def test_programs_with_tokens_take_arrays_in_other_orders(x):
    columns, seen = xt.device_put(x, Format(COLUMNS, x.sharding)), []

    @xt.jit
    def noted(x):
        xt.experimental.io_callback(lambda x: seen.append(np.array(x)), None, x, ordered=True)
        return 2 * x

    np.testing.assert_array_equal(noted(columns), 2 * VALUES)
    token, more = xt.jit(lambda token, x: (xt.lax.after_all(token), x + 1))(xt.lax.create_token(), columns)
    np.testing.assert_array_equal(more, VALUES + 1)
    xt.lax.after_all(token).block_until_ready()
    xt.effects_barrier()
    np.testing.assert_array_equal(seen, [VALUES])
