"""Collectives over named axes of vmap. References: what each element gets, written with NumPy on the whole array."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

X = np.random.RandomState(0).randn(3, 4).astype(np.float32)
SQUARE = np.random.RandomState(1).randn(3, 3, 5).astype(np.float32)


def over(f, name="i", **options):
    return xt.vmap(f, axis_name=name, **options)


def both(f):
    """`f` mapped over i, inside of j."""
    return over(over(f), "j")


def close(got, want, tol=1e-5):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tol, atol=tol)


# -- reductions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "collective,reference",
    [(lax.psum, np.sum), (lax.pmean, np.mean), (lax.pmax, np.max), (lax.pmin, np.min)],
    ids=["psum", "pmean", "pmax", "pmin"],
)
class TestReductions:
    def test_every_element_gets_the_reduction(self, collective, reference):
        want = np.broadcast_to(reference(X, 0), X.shape)
        close(over(lambda x: collective(x, "i"))(X), want)
        close(xt.jit(over(lambda x: collective(x, "i")))(X), want)
        close(over(xt.jit(lambda x: collective(x, "i")))(X), want)

    def test_the_result_is_not_mapped(self, collective, reference):
        close(over(lambda x: collective(x, "i"), out_axes=None)(X), reference(X, 0))

    def test_mapped_along_another_axis(self, collective, reference):
        close(over(lambda x: collective(x, "i"), in_axes=1, out_axes=None)(X), reference(X, 1))

    def test_nested(self, collective, reference):
        y = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
        close(both(lambda x: collective(x, "i"))(y), np.broadcast_to(reference(y, 1, keepdims=True), y.shape))
        close(both(lambda x: collective(x, "j"))(y), np.broadcast_to(reference(y, 0, keepdims=True), y.shape))
        for names in [("i", "j"), ("j", "i"), ["i", "j"]]:
            close(
                both(lambda x, n=names: collective(x, n))(y),
                np.broadcast_to(reference(y, (0, 1), keepdims=True), y.shape),
            )

    def test_dimensions_beside_names(self, collective, reference):
        if collective is lax.pmean:
            pytest.skip("the number of elements along dimensions isn't divided by")
        close(over(lambda x: collective(x, ("i", 0)), out_axes=None)(X), reference(X))
        close(collective(X, 1), reference(X, 1))

    def test_pytrees(self, collective, reference):
        got = over(lambda x: collective({"a": x, "b": [x * 2]}, "i"), out_axes=None)(X)
        close(got["a"], reference(X, 0))
        close(got["b"][0], reference(2 * X, 0))

    @pytest.mark.parametrize("groups", [[[0, 2], [1, 3]], [[0], [1, 2, 3]], [[3, 1, 0, 2]]])
    def test_groups(self, collective, reference, groups):
        x = np.arange(4.0, dtype=np.float32) ** 2
        want = np.zeros(4, np.float32)
        for g in groups:
            want[g] = reference(x[g])
        close(over(lambda x: collective(x, "i", axis_index_groups=groups))(x), want)

    def test_values_that_are_not_mapped(self, collective, reference):
        want = reference(np.full(3, 2.0))
        close(over(lambda x: x * 0 + collective(np.float32(2.0), "i"))(X), np.full(X.shape, want))
        close(over(lambda x: x * 0 + xt.jit(lambda c: collective(c, "i"))(2.0))(X), np.full(X.shape, want))

    def test_errors(self, collective, reference):
        with pytest.raises(NameError, match="unbound axis name: i"):
            collective(X, "i")
        with pytest.raises(NameError, match="unbound axis name: i.*bound here: 'j'"):
            over(lambda x: collective(x, "i"), "j")(X)
        with pytest.raises(NameError, match="unbound axis name: i"):
            xt.jit(lambda x: collective(x, "i"))(X)
        with pytest.raises(ValueError, match="cover all indices exactly once"):
            over(lambda x: collective(x, "i", axis_index_groups=[[0, 1], [3]]))(X)
        with pytest.raises(ValueError, match="only supported for sums over just named axes"):
            over(lambda x: collective(x, ("i", 0), axis_index_groups=[[0, 1, 2]]))(X)
        with pytest.raises(ValueError, match="duplicate"):
            over(lambda x: collective(x, ("i", "i")))(X)


def test_sum_of_constants_is_a_constant():
    seen = []

    def f(x):
        seen.extend([lax.psum(1, "i"), lax.psum(2.5, "i"), lax.psum(np.float32(2), "i"), lax.axis_size("i")])
        return x

    over(f)(X)
    assert seen == [3, 7.5, 6, 3]
    assert [type(s) for s in seen] == [int, float, np.float32, int]
    close(over(lambda x: lax.psum(X[0], "i"), out_axes=None)(X), 3 * X[0])


def test_booleans_are_summed_as_int32():
    got = over(lambda x: lax.psum(x > 0, "i"), out_axes=None)(X)
    assert got.dtype == np.int32
    close(got, (X > 0).sum(0))


def test_no_axes_nothing_happens():
    close(over(lambda x: lax.psum(x, ()))(X), X)
    close(over(lambda x: lax.pmax(x, ()))(X), X)


# -- axis_index, axis_size -----------------------------------------------------------------------------------------


def test_axis_index():
    close(over(lambda x: lax.axis_index("i"))(X), np.arange(3))
    assert over(lambda x: lax.axis_index("i"))(X).dtype == np.int32
    close(both(lambda x: lax.axis_index("j"))(np.zeros((2, 3))), [[0, 0, 0], [1, 1, 1]])
    close(both(lambda x: lax.axis_index(("j", "i")))(np.zeros((2, 3))), np.arange(6).reshape(2, 3))
    close(both(lambda x: lax.axis_index(("i", "j")))(np.zeros((2, 3))), np.arange(6).reshape(3, 2).T)
    close(over(lambda: lax.axis_index("i"), axis_size=4)(), np.arange(4))


def test_axis_size():
    close(both(lambda x: lax.axis_size("j") * 10 + lax.axis_size("i"))(np.zeros((2, 3))), np.full((2, 3), 23))
    close(both(lambda x: lax.axis_size(("j", "i")))(np.zeros((2, 3))), np.full((2, 3), 6))


def test_the_innermost_axis_of_a_name_counts():
    f = over(over(lambda x: lax.psum(x, "i")))
    close(f(X), np.broadcast_to(X.sum(1, keepdims=True), X.shape))


# -- permutations --------------------------------------------------------------------------------------------------


def test_ppermute():
    close(over(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]))(X), X[[2, 0, 1]])
    close(over(lambda x: lax.ppermute(x, "i", [(0, 2)]))(X), np.stack([0 * X[0], 0 * X[0], X[0]]))
    close(over(lambda x: lax.ppermute(x, "i", [(-1, 0)]), in_axes=1, out_axes=1)(X)[:, 0], X[:, -1])
    y = np.arange(6.0).reshape(2, 3)
    ring = [(k, (k + 1) % 6) for k in range(6)]
    close(both(lambda x: lax.ppermute(x, ("j", "i"), ring))(y), np.roll(y.ravel(), 1).reshape(2, 3))
    close(both(lambda x: lax.ppermute(x, "j", [(0, 1)]))(y), np.stack([0 * y[0], y[0]]))


def test_ppermute_of_a_value_that_is_not_mapped():
    close(over(lambda x: x * 0 + lax.ppermute(1.0, "i", [(0, 1)]))(X), np.outer([0, 1, 0], np.ones(4)))


def test_ppermute_errors():
    with pytest.raises(ValueError, match="sources and destinations must be unique"):
        over(lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]))(X)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis i with size 3"):
        over(lambda x: lax.ppermute(x, "i", [(0, 5)]))(X)
    with pytest.raises(TypeError, match="must be a list or a tuple"):
        over(lambda x: lax.ppermute(x, "i", iter([(0, 1)])))(X)


def test_pshuffle():
    close(over(lambda x: lax.pshuffle(x, "i", [2, 0, 1]))(X), X[[2, 0, 1]])
    with pytest.raises(ValueError, match="does not represent a permutation"):
        over(lambda x: lax.pshuffle(x, "i", [0, 0, 1]))(X)


def test_pbroadcast():
    close(over(lambda x: lax.pbroadcast(x, "i", 1), out_axes=None)(X), X[1])
    y = np.arange(6.0).reshape(2, 3)
    close(both(lambda x: lax.pbroadcast(x, ("j", "i"), 4))(y), np.full((2, 3), 4.0))
    with pytest.raises(ValueError, match="source 3 doesn't fit in axis i"):
        over(lambda x: lax.pbroadcast(x, "i", 3))(X)


# -- gathering and exchanging --------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("to", ["varying", "invarying", "reduced"])
def test_all_gather(axis, to):
    close(
        over(lambda x: lax.all_gather(x, "i", axis=axis, to=to))(X),
        np.broadcast_to(np.stack(list(X), axis), (3, *np.stack(list(X), axis).shape)),
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather_tiled(axis):
    want = np.concatenate(list(SQUARE), axis)
    got = over(lambda x: lax.all_gather(x, "i", axis=axis, tiled=True), out_axes=None)(SQUARE)
    close(got, want)


def test_all_gather_over_two_axes():
    y = np.arange(24.0).reshape(2, 3, 4)
    close(both(lambda x: lax.all_gather(x, ("j", "i")))(y)[1, 2], y.reshape(6, 4))
    close(both(lambda x: lax.all_gather(x, ("i", "j")))(y)[0, 1], y.transpose(1, 0, 2).reshape(6, 4))
    close(both(lambda x: lax.all_gather(x, "j", axis=1))(y)[0, 1], y[:, 1].T)
    close(both(lambda x: lax.all_gather(x, "j", tiled=True))(y)[1, 2], y[:, 2].ravel())


def test_all_gather_in_groups():
    x = np.arange(8.0).reshape(4, 2)
    groups = [[0, 2], [3, 1]]
    want = np.stack([x[[0, 2]], x[[3, 1]], x[[0, 2]], x[[3, 1]]])
    close(over(lambda v: lax.all_gather(v, "i", axis_index_groups=groups))(x), want)
    close(over(lambda v: lax.all_gather(v, "i", axis_index_groups=groups, tiled=True))(x), want.reshape(4, 4))
    with pytest.raises(ValueError, match="groups of one size"):
        over(lambda v: lax.all_gather(v, "i", axis_index_groups=[[0], [1, 2, 3]]))(x)


def test_all_gather_of_a_constant():
    close(over(lambda x: lax.all_gather(2.0, "i"), out_axes=None)(X), [2.0, 2.0, 2.0])


def test_all_gather_error():
    with pytest.raises(ValueError, match="Got unexpected `to` value"):
        over(lambda x: lax.all_gather(x, "i", to="elsewhere"))(X)


def test_psum_scatter():
    x = np.random.RandomState(2).randn(3, 6, 3).astype(np.float32)
    total = x.sum(0)
    close(over(lambda v: lax.psum_scatter(v, "i", scatter_dimension=1))(x), total.T)
    close(over(lambda v: lax.psum_scatter(v, "i", scatter_dimension=-1))(x), total.T)
    close(over(lambda v: lax.psum_scatter(v, "i", tiled=True))(x), total.reshape(3, 2, 3))
    y = np.arange(36.0).reshape(2, 3, 6)
    close(both(lambda v: lax.psum_scatter(v, ("j", "i")))(y), y.sum((0, 1)).reshape(2, 3))
    close(both(lambda v: lax.psum_scatter(v, "j", tiled=True))(y)[1, 2], y[:, 2].sum(0)[3:])
    groups = [[0, 2], [3, 1]]
    z = np.arange(16.0).reshape(4, 4)
    close(
        over(lambda v: lax.psum_scatter(v, "i", axis_index_groups=groups, tiled=True))(z),
        [[8, 10], [20, 22], [12, 14], [16, 18]],
    )
    close(over(lambda x: lax.psum_scatter(np.arange(3.0), "i"))(X), 3 * np.arange(3.0))


def test_psum_scatter_errors():
    with pytest.raises(ValueError, match="size 4 must match shard count 3"):
        over(lambda x: lax.psum_scatter(x, "i"))(X)
    with pytest.raises(ValueError, match="size 4 must be divisible by shard count 3"):
        over(lambda x: lax.psum_scatter(x, "i", tiled=True))(X)


def exchanged(x, split, concat):
    """Element i gets part i along `split` of each element, strung together along `concat`."""
    n = x.shape[0]
    parts = [np.split(row, n, split) for row in x]
    return np.stack([np.concatenate([parts[source][i] for source in range(n)], concat) for i in range(n)])


@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("concat", [0, 1, -1])
def test_all_to_all_tiled(split, concat):
    x = np.arange(3 * 6 * 9.0).reshape(3, 6, 9)
    close(over(lambda v: lax.all_to_all(v, "i", split, concat, tiled=True))(x), exchanged(x, split, concat))


@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize("concat", [0, 1, 2])
@pytest.mark.parametrize("mapped", [0, 2])
def test_all_to_all(split, concat, mapped):
    x = np.arange(3.0**4).reshape(3, 3, 3, 3)
    rows = np.moveaxis(x, mapped, 0)
    want = np.stack([np.stack([np.take(row, i, split) for row in rows], concat) for i in range(3)])
    close(over(lambda v: lax.all_to_all(v, "i", split, concat), in_axes=mapped)(x), want)


def test_all_to_all_over_two_axes_and_in_groups():
    x = np.arange(2 * 3 * 6.0 * 2).reshape(2, 3, 6, 2)
    want = exchanged(x.reshape(6, 6, 2), 0, 1).reshape(2, 3, 1, 12)
    close(both(lambda v: lax.all_to_all(v, ("j", "i"), 0, 1, tiled=True))(x), want)
    got = both(lambda v: lax.all_to_all(v, "j", 0, 1, tiled=True))(x)
    for i in range(3):
        close(got[:, i], exchanged(x[:, i], 0, 1))
    y = np.arange(16.0).reshape(4, 4)
    got = over(lambda v: lax.all_to_all(v, "i", 0, 0, axis_index_groups=[[0, 2], [3, 1]], tiled=True))(y)
    for g in ([0, 2], [3, 1]):
        close(np.asarray(got)[g], exchanged(y[g], 0, 0))


def test_all_to_all_errors():
    with pytest.raises(ValueError, match="they are 3 and 4 respectively"):
        over(lambda x: lax.all_to_all(x, "i", 0, 0))(X)
    with pytest.raises(ValueError, match=r"\(4\) has to be divisible by the size of the named axis i \(3\)"):
        over(lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True))(X)


def test_pswapaxes():
    close(over(lambda v: lax.pswapaxes(v, "i", 0))(SQUARE), SQUARE.transpose(1, 0, 2))


class TestRaggedAllToAll:
    operand = np.array([[1.0, 2, 2], [3, 4, 0]], np.float32)
    output = np.full((2, 4), 9.0, np.float32)
    numbers = (
        np.array([[0, 1], [0, 1]]),
        np.array([[1, 2], [1, 1]]),
        np.array([[0, 0], [1, 2]]),
        np.array([[1, 1], [2, 1]]),
    )
    want = np.array([[1.0, 3, 9, 9], [2, 2, 4, 9]])

    def run(self, operand, output):
        return over(lambda *a: lax.ragged_all_to_all(*a, axis_name="i"))(operand, output, *self.numbers)

    def test_value(self):
        close(self.run(self.operand, self.output), self.want)

    def test_mapped_over_another_axis(self):
        def f(operand, output, *numbers):
            return xt.vmap(lambda a, b: lax.ragged_all_to_all(a, b, *numbers, axis_name="i"))(operand, output)

        operand = np.stack([self.operand, 10 * self.operand], 1)
        output = np.stack([self.output, self.output], 1)
        got = over(f)(operand, output, *self.numbers)
        close(got[:, 0], self.want)
        close(got[:, 1], np.where(self.want == 9, 9, 10 * self.want))

    def test_derivatives(self):
        weights = np.random.RandomState(0).randn(2, 4).astype(np.float32)

        def loss(a, b):  # for each element by itself: the cotangent goes back to where the value came from
            return (self.run(a, b) * weights).sum()

        da, db = xt.grad(loss, (0, 1))(self.operand, self.output)
        w = weights
        close(da, [[w[0, 0], w[1, 0], w[1, 1]], [w[0, 1], w[1, 2], 0]])
        close(db, np.where(self.want == 9, weights, 0))

        def inner(a, b, w, *numbers):
            return xt.grad(lambda a, b: (lax.ragged_all_to_all(a, b, *numbers, axis_name="i") * w).sum(), (0, 1))(a, b)

        da2, db2 = over(inner)(self.operand, self.output, weights, *self.numbers)
        close(da2, da)
        close(db2, db)

    def test_errors(self):
        with pytest.raises(ValueError, match="input_offsets must be integer type"):
            over(lambda *a: lax.ragged_all_to_all(*a, axis_name="i"))(
                self.operand, self.output, self.numbers[0] * 1.0, *self.numbers[1:]
            )
        with pytest.raises(ValueError, match="a multiple of the 2 elements"):
            over(lambda *a: lax.ragged_all_to_all(*a, axis_name="i"))(
                self.operand, self.output, *[n[:, :1] for n in self.numbers]
            )


def test_pcast_leaves_values_alone():
    close(over(lambda x: lax.pcast(x, "i", to="varying"))(X), X)
    with pytest.raises(ValueError, match="Got unexpected `to` value"):
        over(lambda x: lax.pcast(x, "i", to="x"))(X)
    with pytest.raises(NameError, match="unbound axis name"):
        lax.pcast(X, "i", to="varying")


# -- derivatives: mapped from outside, and of each element inside ---------------------------------------------------

LINEAR = {
    "psum": (lambda x: lax.psum(x, "i"), lambda x: np.broadcast_to(x.sum(0), x.shape)),
    "pmean": (lambda x: lax.pmean(x, "i"), lambda x: np.broadcast_to(x.mean(0), x.shape)),
    "ppermute": (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), lambda x: np.stack([0 * x[0], x[0], x[1]])),
    "pbroadcast": (lambda x: lax.pbroadcast(x, "i", 2), lambda x: np.stack([x[2]] * 3)),
    "all_gather": (lambda x: lax.all_gather(x, "i", axis=1), lambda x: np.stack([x.T] * 3)),
    "all_gather_tiled": (lambda x: lax.all_gather(x, "i", tiled=True), lambda x: np.stack([x.ravel()] * 3)),
    "psum_scatter": (lambda x: lax.psum_scatter(x, "i"), lambda x: x.sum(0)),
    "psum_scatter_tiled": (lambda x: lax.psum_scatter(x, "i", tiled=True), lambda x: x.sum(0)[:, None]),
    "all_to_all": (lambda x: lax.all_to_all(x, "i", 0, 0), lambda x: x.T),
    "groups": (
        lambda x: lax.psum(x, "i", axis_index_groups=[[0, 2], [1]]),
        lambda x: np.stack([x[0] + x[2], x[1], x[0] + x[2]]),
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_derivatives_of_linear_collectives(name):
    f, reference = LINEAR[name]
    x = np.random.RandomState(3).randn(3, 3)
    with xt.enable_x64(True):
        mapped = over(f)
        close(mapped(x), reference(x))
        # The derivative is the operation itself, its transpose the adjoint: <w, f(x)> = <f'(w), x>.
        out, tangent = xt.jvp(mapped, (x,), (2 * x,))
        close(tangent, 2 * np.asarray(out))
        w = np.random.RandomState(4).randn(*out.shape)
        (back,) = xt.vjp(mapped, x)[1](w)
        close((np.asarray(back) * x).sum(), (w * reference(x)).sum(), 1e-6)
        inside = over(lambda x, w: xt.vjp(f, x)[1](w)[0])(x, w)
        close(inside, back)
        close(over(xt.jit(lambda x, w: xt.vjp(xt.jit(f), x)[1](w)[0]))(x, w), back)
        close(over(lambda x: xt.jvp(f, (x,), (2 * x,))[1])(x), tangent)


@pytest.mark.parametrize("f,arg", [(lax.pmax, np.argmax), (lax.pmin, np.argmin)])
def test_derivative_of_extrema(f, arg):
    want = (np.arange(3)[:, None] == arg(X, 0)).astype(np.float32)
    close(xt.grad(lambda x: over(lambda v: f(v, "i"), out_axes=None)(x).sum())(X), want)
    close(over(xt.grad(lambda v: f(v, "i").sum()))(X), 3 * want)  # each element's cotangent counts
    close(xt.grad(lambda x: over(lambda v: f(v, "i"), out_axes=None)(x))(np.ones(4, np.float32)), np.full(4, 0.25))


# -- jaxprs --------------------------------------------------------------------------------------------------------


def test_equations():
    jaxpr = xt.make_jaxpr(lambda x: lax.psum(x, ("i", "j")), axis_env=[("i", 2), ("j", 3)])(X)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive.name == "psum"
    assert eqn.params["axes"] == ("i", "j")
    assert {e.name for e in jaxpr.effects} == {"i", "j"}


def test_batching_removes_the_effect():
    jaxpr = xt.make_jaxpr(over(xt.jit(lambda x: lax.psum(x, "i"))))(X)
    assert not jaxpr.effects
    outer = xt.make_jaxpr(over(xt.jit(lambda x: lax.psum(x, ("i", "j")))), axis_env=[("j", 2)])(X)
    assert {e.name for e in outer.effects} == {"j"}


def test_compiling_what_is_not_mapped_names_axis_and_line():
    jaxpr = xt.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 2)])(X)
    with pytest.raises(NameError, match="unbound axis name: i. psum at .* works along that axis"):
        jaxpr(X)


def test_nobody_reads_it_nobody_computes_it():
    jaxpr = xt.make_jaxpr(lambda x: (lax.psum(x, "i"), x)[1], axis_env=[("i", 2)])(X)
    from xtrace.core.jaxpr import live_eqns

    assert not live_eqns(jaxpr)
