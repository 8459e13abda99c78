"""Mutable references: values against NumPy doing the same in place, in every transformation, and the errors."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax

both = pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])


def close(ref, expected):
    value = ref[...] if isinstance(ref, xt.Ref) else ref
    np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-6)


# -- reading and writing ---------------------------------------------------------------------------------------------

INDICES = [
    ...,
    (),
    0,
    -1,
    (1, 2),
    slice(1, 3),
    (slice(None), 1),
    (0, slice(None, 3)),
    slice(None, None, -1),
    (slice(0, 3, 2), slice(1, None)),
    np.array([2, 0]),
    (np.array([0, 2]), np.array([1, 3])),
    (np.array([[0], [2]]), np.array([1, 3])),
    np.array([True, False, True]),
    (slice(None), None, 1),
]


@both
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_that_of_numpy(index, wrap):
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    ref = xt.new_ref(expected)
    close(wrap(lambda r: r[index])(ref), expected[index])
    value = np.arange(expected[index].size, dtype=np.float32).reshape(expected[index].shape) - 50

    def write(r):
        r[index] = value

    wrap(write)(ref)
    expected[index] = value
    close(ref, expected)

    def add(r):
        r[index] += 1.0

    wrap(add)(ref)
    expected[index] += 1.0
    close(ref, expected)


@both
def test_traced_indices(wrap):
    ref = xt.new_ref(xnp.zeros(5))

    def f(r, i):
        r[i] = 3.0
        return r[i]

    assert wrap(f)(ref, 2) == 3.0
    close(ref, [0, 0, 3, 0, 0])


def test_functions():
    ref = xt.new_ref(xnp.arange(4.0))
    assert xt.ref.get(ref, 1) == 1.0
    close(xt.ref.get(ref), [0, 1, 2, 3])
    assert xt.ref.swap(ref, 1, 7.0) == 1.0
    xt.ref.set(ref, slice(2, 4), xnp.array([5.0, 6.0]))
    xt.ref.addupdate(ref, np.array([0, 0]), xnp.ones(2))
    ref.addupdate(1.0)
    close(ref, [3, 8, 6, 7])
    part = ref.at[1:]
    assert part.shape == (3,) and part.dtype == np.float32 and len(part) == 3
    part[0] = 0.0
    part.at[1:][0] += 10.0
    close(ref, [3, 0, 16, 7])
    close(part[...], [0, 16, 7])


def test_what_a_reference_says_of_itself():
    ref = xt.new_ref(xnp.zeros((2, 3)))
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((2, 3), np.float32, 2, 6, 2)
    assert isinstance(ref, xt.Ref) and not isinstance(ref, xt.Array) and not isinstance(xnp.zeros(2), xt.Ref)
    assert str(ref.aval) == "Ref{float32[2,3]}" and xt.typeof(ref) is ref.aval
    assert ref.aval is xt.ref.AbstractRef(xt.typeof(xnp.zeros((2, 3))))
    assert repr(xt.new_ref(xnp.arange(2))) == "Ref([0, 1], dtype=int32)"
    assert [row.tolist() for row in xt.new_ref(xnp.eye(2))] == [[1, 0], [0, 1]]
    assert ref.sharding == xnp.zeros(1).sharding and xt.tree.leaves([ref]) == [ref]
    assert not xt.new_ref(1.0)[...].weak_type


def test_the_first_value_is_not_changed():
    given = np.zeros(3, np.float32)
    array = xnp.zeros(3)
    for x in (given, array):
        ref = xt.new_ref(x)
        ref[0] = 1.0
        xt.jit(lambda r: r.addupdate(1.0))(ref)
        close(ref, [2, 1, 1])
    close(given, np.zeros(3))
    close(array, np.zeros(3))


def test_empty_freeze_and_free():
    @xt.jit
    def f(x):
        ref = xt.empty_ref(xt.ShapeDtypeStruct((2,), "float32"))
        ref[...] = 2.0 * x
        out = xt.freeze(ref)
        other = xt.new_ref(x)
        xt.free_ref(other)
        return out

    close(f(xnp.ones(2)), [2, 2])
    ref = xt.new_ref(1.0)
    assert xt.freeze(ref) == 1.0
    for again in (lambda: ref[...], lambda: ref.addupdate(1.0), lambda: xt.freeze(ref), lambda: xt.free_ref(ref)):
        with pytest.raises(ValueError, match="ended by freeze"):
            again()
    with pytest.raises(ValueError, match="where the reference was created"):
        xt.jit(xt.freeze)(xt.new_ref(1.0))
    outer = xt.new_ref(1.0)
    with pytest.raises(ValueError, match="where the reference was created"):
        xt.jit(lambda: xt.freeze(outer))()


def test_numbers_take_the_dtype_of_the_reference_and_arrays_must_have_it():
    half = xt.new_ref(xnp.zeros((), "bfloat16"))
    half[...] += 1.0
    assert half.dtype == "bfloat16" and half[...] == 1
    ref = xt.new_ref(xnp.zeros(3, int))
    ref[...] = 4  # broadcast, as NumPy does
    close(ref, [4, 4, 4])
    for value, text in ((1.5, "Invalid dtype"), (xnp.ones(3), "Invalid dtype"), (xnp.ones(2, int), "Invalid shape")):
        with pytest.raises(ValueError, match=text):
            ref[...] = value
    with pytest.raises(ValueError, match="Invalid shape"):
        ref[:2] = xnp.ones(3, int)
    close(ref, [4, 4, 4])


def test_random_keys():
    ref = xt.new_ref(xt.random.key(0))
    ref[...] = xt.random.fold_in(ref[...], 1)
    assert (xt.random.key_data(ref[...]) == xt.random.key_data(xt.random.fold_in(xt.random.key(0), 1))).all()


# -- jit -------------------------------------------------------------------------------------------------------------


def test_closed_over_by_a_cached_program():
    ref = xt.new_ref(xnp.zeros(3))
    traces = []

    @xt.jit
    def f(x):
        traces.append(1)
        ref[1] += x
        return ref[...] * 2

    close(f(1.0), [0, 2, 0])
    ref[0] = 5.0
    close(f(2.0), [10, 6, 0])
    close(ref, [5, 3, 0])
    assert len(traces) == 1


def test_arguments_are_of_the_signature():
    traces = []

    @xt.jit
    def f(r, x):
        traces.append(1)
        r[...] += x

    a, b, c = xt.new_ref(xnp.zeros(3)), xt.new_ref(xnp.ones(3)), xt.new_ref(xnp.zeros(2))
    f(a, 1.0), f(b, 2.0), f(c, 3.0), f(a, 4.0)
    close(a, [5, 5, 5])
    close(b, [3, 3, 3])
    close(c, [3, 3])
    assert len(traces) == 2


def test_several_references_and_results():
    @xt.jit
    def f(tree, w, *, z):
        tree["x"][...] += 1
        z[...] += 1
        return tree["x"][...] + tree["y"] + z[...] + w, tree["y"] + w

    x, y = xt.new_ref(xnp.zeros((1, 3))), xnp.ones((2, 3))
    z, w = xt.new_ref(xnp.zeros((2, 3))), xnp.ones((2, 1))
    first, second = f({"x": x, "y": y}, w, z=z)
    close(x, np.ones((1, 3)))
    close(z, np.ones((2, 3)))
    close(first, 4 * np.ones((2, 3)))
    close(second, 2 * np.ones((2, 3)))


def test_nested_jit():
    outer = xt.new_ref(xnp.zeros(3))

    @xt.jit
    def inner(r, k):
        outer[0] += k
        r[...] = r[...] * k
        return r[0]

    @xt.jit
    def f(x):
        own = xt.new_ref(x)
        first = inner(own, 2.0)
        return inner(own, 3.0) + first, own[...]

    total, last = f(xnp.ones(2))
    close(total, 8)
    close(last, [6, 6])
    close(outer, [5, 0, 0])


def test_ahead_of_time():
    closed = xt.new_ref(0.0)

    @xt.jit
    def f(r):
        r[0] += 1.0
        closed[...] += r[0]

    ref = xt.new_ref(xnp.zeros(2))
    compiled = f.lower(ref).compile()
    compiled(ref)
    compiled(ref)
    close(ref, [2, 0])
    close(closed, 3)
    by_type = f.lower(xt.ShapeDtypeStruct((2,), "float32", is_ref=True)).compile()
    by_type(ref)
    close(ref, [3, 0])
    assert xt.eval_shape(lambda r: r[0], ref).shape == ()


def test_jaxprs_show_values():
    ref = xt.new_ref(0.0)

    def f(r, x):
        r[...] = x

    jaxpr = xt.make_jaxpr(f)(ref, 2.0)
    assert [a.str_short() for a in jaxpr.in_avals] == ["f32[]", "f32[]"] and len(jaxpr.outvars) == 1


# -- control flow ----------------------------------------------------------------------------------------------------


@both
def test_scan(wrap):
    closed, rows = xt.new_ref(0), xt.new_ref(np.arange(5))
    written = xt.new_ref(xnp.zeros(5, int))

    def body(carry, x):
        i, row = x
        closed[...] += 2
        row[...] += i
        written[i] = closed[...]
        return carry + row[...], closed[...]

    total, ys = wrap(lambda: lax.scan(body, 0, (np.arange(5), rows)))()
    close(total, 20)
    close(ys, [2, 4, 6, 8, 10])
    close(closed, 10)
    close(rows, [0, 2, 4, 6, 8])
    close(written, [2, 4, 6, 8, 10])


@both
def test_loops(wrap):
    acc, count = xt.new_ref(xnp.zeros(3)), xt.new_ref(0)

    def body(i, c):
        acc[i] += c
        return c * 2

    close(wrap(lambda: lax.fori_loop(0, 3, body, 1.0))(), 8)
    close(acc, [1, 2, 4])
    close(wrap(lambda n: lax.fori_loop(0, n, body, 1.0))(2), 4)
    close(acc, [2, 4, 4])

    def step(x):
        count[...] += 3
        return x + 1

    close(wrap(lambda: lax.while_loop(lambda x: count[...] < 10, step, 0))(), 4)
    close(count, 12)
    close(wrap(lambda: lax.while_loop(lambda x: x + count[...] < 20, lambda x: x + 1, 0))(), 8)
    wrap(lambda: lax.map(lambda x: acc.addupdate(x), xnp.arange(3.0)))()
    close(acc, [5, 7, 7])


@both
def test_branches(wrap):
    a, b = xt.new_ref(1.0), xt.new_ref(5.0)

    def first(x):
        a[...] += x
        return x

    def second(x):
        b[...] *= x
        return a[...]

    f = wrap(lambda p: lax.cond(p, first, second, 3.0))
    close(f(True), 3)
    close(a, 4)
    close(b, 5)
    close(f(False), 4)
    close(a, 4)
    close(b, 15)
    pick = wrap(lambda i: lax.switch(i, [lambda: a[...], lambda: b[...], lambda: 0.0]))
    assert [float(pick(i)) for i in range(3)] == [4, 15, 0]

    def passed(p, r):
        lax.cond(p, lambda r: r.addupdate(1.0), lambda r: None, r)
        return r[...]

    close(wrap(passed)(True, a), 5)
    close(wrap(passed)(False, a), 5)


# -- vmap ------------------------------------------------------------------------------------------------------------


@both
def test_mapped_references(wrap):
    def distance(x, y, out):
        out[...] = ((x - y) ** 2).sum()

    points = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = xt.new_ref(xnp.zeros((3, 3)))
    wrap(xt.vmap(xt.vmap(distance, (0, None, 0)), (None, 0, 0)))(points, points, out)
    close(out, ((points[:, None] - points[None]) ** 2).sum(-1))

    def copy(r, x):
        r[...] = x

    columns = xt.new_ref(xnp.zeros((2, 3)))
    wrap(xt.vmap(copy, in_axes=(1, 0)))(columns, np.arange(6.0, dtype=np.float32).reshape(3, 2))
    close(columns, np.arange(6.0).reshape(3, 2).T)


def test_references_made_inside_and_read_from_outside():
    closed = xt.new_ref(2.0)

    def f(x):
        own = xt.new_ref(1.0)
        own[...] += x * closed[...]
        closed[...] += 1.0
        return own[...]

    close(xt.vmap(f)(xnp.arange(3.0)), [1, 3, 5])
    close(closed, 3)
    close(xt.vmap(xt.jit(f))(xnp.arange(3.0)), [1, 4, 7])
    close(closed, 4)


# -- derivatives -----------------------------------------------------------------------------------------------------


@both
def test_derivatives_through_references(wrap):
    def f(x):
        ref = xt.new_ref(x)
        ref[...] = ref[...] + ref[...]

        def body(_, k):
            ref[...] = xnp.sin(ref[...]) * k
            return None, None

        lax.scan(body, None, xnp.array([1.0, 2.0]))
        lax.cond(x > 0, lambda: ref.addupdate(x * x), lambda: None)
        return xt.freeze(ref)

    inner = np.sin(2 * 0.5)
    expected = 2 * np.cos(inner) * np.cos(1.0) * 2 + 1.0
    close(xt.grad(wrap(f))(0.5), expected)
    close(xt.jvp(wrap(f), (0.5,), (1.0,))[1], expected)
    close(xt.jit(xt.grad(f))(0.5), expected)
    close(xt.grad(lambda x: f(x) + xt.grad(f)(x) * 0)(0.5), expected)
    xt.test_util.check_grads(wrap(f), (0.5,), 2)


def test_rows_of_a_differentiated_reference():
    def f(xs):
        ref = xt.new_ref(xs)
        return lax.scan(lambda c, x: (c + x[...] ** 2, None), 0.0, ref)[0]

    close(xt.grad(f)(xnp.arange(3.0)), [0, 2, 4])


@both
def test_values_carried_out_of_a_differentiated_function(wrap):
    ref = xt.new_ref(0.0)

    def f(x, out):
        y = x * x
        out[...] += lax.stop_gradient(y)
        return y

    close(xt.grad(wrap(f))(3.0, ref), 6)
    close(ref, 9)
    close(xt.jit(xt.grad(f))(3.0, ref), 6)
    close(ref, 18)
    cut = xt.new_ref(1.0, kind="no_grad")
    close(xt.grad(wrap(lambda x: (cut.addupdate(x), x * x)[1]))(3.0), 6)
    close(cut, 4)


@xt.custom_vjp
def stash_grads(grads, x):
    return x


def _stash_bwd(grads, g):
    grads[...] = g
    return None, g


stash_grads.defvjp(lambda grads, x: (x, grads), _stash_bwd)


@pytest.mark.parametrize("inner", [lambda f: f, xt.jit, xt.remat, lambda f: xt.jit(xt.remat(f))], ids=range(4))
@pytest.mark.parametrize("outer", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_gradients_stashed_by_a_custom_rule(inner, outer):
    def f(x, grads):
        return xnp.sin(stash_grads(grads, xnp.sin(x)))

    grads = xt.new_ref(0.0)
    close(outer(xt.grad(inner(f)))(1.0, grads), np.cos(np.sin(1)) * np.cos(1))
    close(grads, np.cos(np.sin(1)))
    closed = xt.new_ref(0.0)
    outer(xt.grad(inner(lambda x: f(x, closed))))(1.0)
    close(closed, np.cos(np.sin(1)))
    each = xt.new_ref(xnp.zeros(2))
    outer(xt.vmap(xt.grad(inner(f))))(xnp.array([1.0, 2.0]), each)
    close(each, np.cos(np.sin([1, 2])))


@both
def test_functions_with_custom_rules_read_references(wrap):
    @xt.custom_vjp
    def f(x, r):
        return x * r[...]

    f.defvjp(lambda x, r: (x * r[...], r), lambda r, g: (g * r[...] * 10, None))
    ref = xt.new_ref(3.0)
    close(wrap(f)(2.0, ref), 6)
    close(xt.grad(wrap(f))(2.0, ref), 30)


@both
def test_checkpoint(wrap):
    @xt.remat
    def f(x, r):
        r[...] += 1.0
        return x * x * r[...]

    ref = xt.new_ref(1.0)
    close(xt.grad(wrap(f))(2.0, ref), 8)
    close(ref, 2)


@both
def test_gradients_with_respect_to_what_references_hold(wrap):
    def f(r, x):
        r[...] = xnp.sin(r[...])
        return r[...] ** 2 * x

    ref, total = xt.new_ref(2.0), xt.new_ref(100.0)
    out, pull = xt.vjp(wrap(f), ref, 3.0)
    close(out, 3 * np.sin(2) ** 2)
    close(ref, np.sin(2))
    pull = pull.with_refs(total, xt.ad.GradValue())
    kind, slope = pull(1.0)
    assert isinstance(kind, xt.ad.GradRef)
    close(slope, np.sin(2) ** 2)
    close(total, 100 + 6 * np.sin(2) * np.cos(2))
    pull(1.0)
    close(total, 100 + 12 * np.sin(2) * np.cos(2))
    _, pull = xt.vjp(f, xt.new_ref(2.0), 3.0)
    with pytest.raises(ValueError, match="with_refs"):
        pull(1.0)
    with pytest.raises(TypeError, match="with_refs"):
        xt.grad(f)(ref, 1.0)


@both
def test_gradients_accumulated_in_a_loop(wrap):
    def loss(w, x):
        return xnp.tanh(lax.scan(lambda x, w: (x @ w, None), x, w)[0]).mean()

    def total(w, batches):
        gradient = xt.new_ref(xnp.zeros_like(w))

        def step(_, x):
            value, pull = xt.vjp(lambda w: loss(w, x), w)
            pull.with_refs(gradient)(xnp.ones_like(value))
            return None, value

        _, losses = lax.scan(step, None, batches)
        return xt.freeze(gradient), losses

    w = np.linspace(-0.5, 0.5, 32, dtype=np.float32).reshape(2, 4, 4)
    batches = np.linspace(0, 1, 60, dtype=np.float32).reshape(5, 3, 4)
    gradient, losses = wrap(total)(w, batches)
    np.testing.assert_allclose(gradient, xt.grad(lambda w: sum(loss(w, x) for x in batches))(w), rtol=1e-4, atol=1e-6)
    close(losses.sum(), sum(loss(w, x) for x in batches))


# -- errors ----------------------------------------------------------------------------------------------------------


def test_the_same_reference_twice():
    ref = xt.new_ref(xnp.zeros(3))

    @xt.jit
    def f(y_ref):
        y_ref[...] = ref[...]

    with pytest.raises(ValueError, match="appeared at both x_ref and y_ref"):
        xt.jit(lambda x_ref, y_ref: None)(ref, ref)
    f(xt.new_ref(xnp.ones(3)))
    with pytest.raises(ValueError, match="closed over and passed as the argument y_ref"):
        f(ref)
    with pytest.raises(ValueError, match="appeared at both a and b"):
        xt.vmap(lambda a, b: None)(ref, ref)
    with pytest.raises(ValueError, match="for cond.*at both a and b"):
        lax.cond(True, lambda a, b: None, lambda a, b: None, ref, ref)
    with pytest.raises(ValueError, match=r"at both xs\[0\] and xs\[1\]"):
        lax.scan(lambda c, x: (c, None), 0, (ref, ref))


def test_references_as_results():
    ref = xt.new_ref(0.0)
    for function, text in [
        (lambda: xt.jit(lambda x_ref: x_ref)(ref), r"returned a mutable array reference.*\n\n.*the argument x_ref"),
        (lambda: xt.jit(lambda: {"hi": ref})(), r"result\['hi'\].*\n\n.*closed over"),
        (lambda: xt.jit(xt.new_ref)(1.0), r"\n\n.*was created on line"),
        (lambda: lax.scan(lambda c, x: (c, ref), 0, None, length=2), "traced for scan returned"),
        (lambda: lax.cond(True, lambda: ref, lambda: ref), "traced for cond returned"),
        (lambda: xt.vmap(lambda x: ref)(xnp.ones(2)), "traced for vmap returned"),
        (lambda: lax.fori_loop(0, 2, lambda i, c: c, ref), "in its carry"),
        (lambda: lax.while_loop(lambda c: True, lambda c: c, ref), "in its carry"),
    ]:
        with pytest.raises(ValueError, match=text):
            function()


def test_values_that_belong_further_inside():
    ref = xt.new_ref(0.0)

    def f(x):
        ref[...] = x
        return x

    for g in (f, xt.jit(f)):
        with pytest.raises(ValueError, match="vmapped value on an unbatched array reference"):
            xt.vmap(g)(xnp.arange(3.0))
        with pytest.raises(ValueError, match="stop_gradient"):
            xt.grad(g)(1.0)
    close(ref, 0)


def test_references_in_the_place_of_arrays():
    ref = xt.new_ref(xnp.zeros(3))
    for f in (xnp.sin, lax.sin, xnp.sum, lambda r: xnp.zeros(3) + r, lambda r: r + 1, xt.new_ref):
        with pytest.raises(TypeError):
            f(ref)
    with pytest.raises(TypeError, match="Did you forget to read its value"):
        xt.jit(lambda: xnp.sin(ref))()
    with pytest.raises(ValueError, match="must be called on `Ref` types"):
        xt.ref.get(xnp.zeros(3), 0)


def test_a_reference_kept_after_its_function():
    kept = []
    xt.jit(lambda x: kept.append(xt.new_ref(x)))(1.0)
    with pytest.raises(ValueError, match="tracing is over"):
        kept[0][...]


def test_conditions_only_read():
    ref = xt.new_ref(0)
    with pytest.raises(ValueError, match="a condition can only read"):
        lax.while_loop(lambda x: (ref.addupdate(1), x < 3)[1], lambda x: x + 1, 0)


def test_rules_inside_branches_do_not_write():
    def f(x, grads):
        return lax.cond(x > 0, lambda c: stash_grads(grads, xnp.sin(c)), lambda c: c, x)

    with pytest.raises(ValueError, match="can't be carried out"):
        xt.grad(f)(1.0, xt.new_ref(0.0))


# -- rules that write in the backward pass of loops --


def _stashing(accumulate):
    """The identity, whose cotangents go to a reference."""
    stash = xt.custom_vjp(lambda ref, x: x)

    def backward(ref, g):
        if accumulate:
            ref[...] += g
        else:
            ref[...] = g
        return None, g

    stash.defvjp(lambda ref, x: (x, ref), backward)
    return stash


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("step", ["plain", "remat", "jit", "remat of jit", "unrolled"])
@pytest.mark.parametrize("outside", ["eager", "jit of primal", "jit of grad"])
def test_bwd_rules_write_references_in_a_scan(outside, step, accumulate):
    stash = _stashing(accumulate)

    def primal(ref, x):
        def body(x, _):
            return xnp.sin(stash(ref, xnp.sin(x))), ()

        for wrapper in {"remat": [xt.checkpoint], "jit": [xt.jit], "remat of jit": [xt.jit, xt.checkpoint]}.get(
            step, []
        ):
            body = wrapper(body)
        return lax.scan(body, x, None, length=3, unroll=2 if step == "unrolled" else 1)[0]

    xs, outer = [1.0], []
    for _ in range(3):
        outer.append(np.sin(xs[-1]))
        xs.append(np.sin(outer[-1]))
    seen, ct = [], 1.0
    for x, y in zip(xs[2::-1], outer[::-1]):
        seen.append(ct * np.cos(y))
        ct = seen[-1] * np.cos(x)
    ref = xt.new_ref(np.float32(0.0))
    derivative = xt.grad(xt.jit(primal) if outside == "jit of primal" else primal, argnums=1)
    got = (xt.jit(derivative) if outside == "jit of grad" else derivative)(ref, np.float32(1.0))
    np.testing.assert_allclose(got, ct, rtol=1e-5)
    np.testing.assert_allclose(ref[...], sum(seen) if accumulate else seen[-1], rtol=1e-5)


# -- references that must not leave a custom_vjp --


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_a_custom_vjp_cannot_return_references(wrap):
    ref = xt.new_ref(0.0)
    whole = xt.custom_vjp(lambda ref: (1.0, ref))
    whole.defvjp(lambda ref: (ref[...], None), lambda _, g: (None,))
    with pytest.raises(ValueError, match=r"returned a mutable array reference of type Ref\{float32\[\]\} at .*\[1\]"):
        wrap(whole)(ref)

    def with_forward(forward):
        f = xt.custom_vjp(lambda x, ref: x)
        f.defvjp(forward, lambda res, g: (g, None))
        return wrap(f)

    xt.vjp(with_forward(lambda x, ref: (x, {"kept": ref})), 3.0, ref)  # an argument may travel
    with pytest.raises(ValueError, match=r"custom_vjp fwd function .*residuals\['new'\]\) that was not an argument"):
        xt.vjp(with_forward(lambda x, ref: (x, {"new": xt.new_ref(0)})), 3.0, ref)
    with pytest.raises(
        ValueError, match="custom_vjp fwd function .* of its first element, but mutable array references"
    ):
        xt.vjp(with_forward(lambda x, ref: (ref, None)), 3.0, ref)


def test_any_object_asks_with_refs_for_the_gradient():
    total = xt.new_ref(np.zeros(4, np.float32))
    _, pull = xt.vjp(lambda x, i: x[i] ** 2, np.arange(4, dtype=np.float32), 2)
    assert isinstance(pull.with_refs(total, object())(1.0)[0], xt.ad.GradRef)
    np.testing.assert_array_equal(total[...], [0, 0, 4, 0])
    np.testing.assert_array_equal(pull.with_refs(object(), object())(1.0)[0], [0, 0, 4, 0])
