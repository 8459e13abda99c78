"""Passes: what each changes, that values stay, and how they are chosen, reported and skipped."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from tests.catalogue import test_compositions as compositions
from tests.catalogue.catalogue import catalogue
from tests.lowering.passes import proofs
from tests.random_programs.programs import draw, num
from xtrace.lowering import passes
from xtrace.lowering.passes import dead_code

X = np.linspace(0.1, 1.0, 12, dtype=np.float32).reshape(3, 4)


def report(f, *args, **options):
    return xt.jit(f, **options).lower(*args).passes


def operations(jaxpr):
    return [e.primitive.name for e in jaxpr.eqns]


def test_inline_writes_calls_out_and_keeps_names():
    inner = xt.jit(lambda x: xnp.sin(x) * 2)
    made = report(lambda x: inner(inner(x)), X, passes="inline")
    assert made.names == ("inline",) and operations(made.jaxpr) == ["sin", "mul", "sin", "mul"]
    assert all("jit(" in e.name_stack and e.position is not None for e in made.jaxpr.eqns)
    assert [n.value.split()[0] for n in made.of("inline").notes] == ["jit", "jit"]


def test_inline_goes_into_bodies():
    inner = xt.jit(lambda c: xnp.sin(c))
    made = report(lambda x: xt.lax.fori_loop(0, 3, lambda i, c: inner(c), x), X, passes="inline")
    assert " jit[" not in str(made.jaxpr) and " sin " in str(made.jaxpr)


def test_checkpoint_keeps_its_barrier():
    gradient = xt.value_and_grad(lambda x: xnp.sum(xt.checkpoint(lambda x: xnp.sin(xnp.sin(x)))(x)))
    found = operations(report(gradient, X).jaxpr)
    assert "optimization_barrier" in found and "remat2" not in found
    assert found.count("sin") >= 3  # once forward, again behind the barrier
    for got, wanted in zip(xt.jit(gradient)(X), xt.jit(gradient, passes=())(X)):
        np.testing.assert_array_equal(got, wanted)


def test_common_subexpressions():
    made = report(lambda x: (xnp.sin(x) + xnp.sin(x), xnp.sin(x) * 2.0), X, passes="common_subexpressions")
    assert operations(made.jaxpr).count("sin") == 1
    two = lambda x: xt.lax.optimization_barrier(x) + xt.lax.optimization_barrier(x)
    assert operations(report(two, X).jaxpr).count("optimization_barrier") == 2


def test_effects_stay():
    seen = []

    def f(x):
        xt.debug.callback(seen.append, x[0, 0])
        xt.debug.callback(seen.append, x[0, 0])
        return x + 1

    xt.block_until_ready(xt.jit(f, passes="all")(X))
    xt.effects_barrier()
    assert len(seen) == 2


def test_dead_code_in_a_loop():
    def f(x):
        step = lambda c, _: ((c[0] + 1, xnp.sin(c[1])), None)
        return xt.lax.scan(step, (x, x), None, length=3)[0][0]

    made = report(f, X, passes="dead_code")
    assert " sin " not in str(made.jaxpr)
    np.testing.assert_allclose(xt.jit(f, passes="dead_code")(X), X + 3)


def residual_net(p, x):
    for w in p:
        y = x * xt.lax.rsqrt(xnp.mean(x * x, -1, keepdims=True) + 1e-6)
        x = x + xt.nn.silu(y @ w)
    return xnp.mean(x**2)


def test_barriers_in_a_residual_net_and_none_in_a_polynomial():
    rng = np.random.default_rng(0)
    p = [rng.standard_normal((8, 8)).astype(np.float32) * 0.1 for _ in range(8)]
    x = rng.standard_normal((4, 8)).astype(np.float32)
    gradient = xt.grad(residual_net)
    found = report(gradient, p, x, passes="all").of("fusion_barriers")
    assert len(found.notes) >= 4 and "optimization_barrier" in operations(found.after)
    for got, wanted in zip(xt.jit(gradient, passes="all")(p, x), xt.jit(gradient, passes=())(p, x)):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())

    def polynomial(x):
        for _ in range(30):
            x = x - 0.1 * (x * x * x - x)
        return xnp.sum(x)

    assert not report(xt.grad(polynomial), X, passes="all").of("fusion_barriers").changed


def test_switches():
    f = lambda x: xnp.sin(x) + xnp.sin(x)
    assert report(f, X, passes=()).names == ()
    assert report(f, X, passes="all").names == tuple(p.name for p in passes.TABLE)
    assert report(f, X, passes=("dead_code",)).names == ("dead_code",)
    with xt.config.flags["passes"]("-dead_code"):
        assert "dead_code" not in report(f, X).names and "inline" in report(f, X).names
        assert report(f, X, passes="dead_code").names == ("dead_code",)
    assert "fusion_barriers" not in passes.selected(None, ("tpu",))
    with pytest.raises(ValueError, match="no pass 'bogus'.*inline, dead_code"):
        xt.jit(f, passes=("bogus",))
    with pytest.raises(ValueError, match="no pass 'bogus'"):
        xt.config.update("passes", "bogus")
    with pytest.raises(KeyError, match="these did: none"):
        report(f, X, passes=()).of("inline")


def test_compiled_programs_of_other_passes_are_others():
    f = xt.jit(lambda x: xnp.sin(x) + xnp.sin(x))
    program = lambda: f._function.cache.programs.values()
    f(X)
    with xt.config.flags["passes"]("none"):
        f(X)
    (traced,) = program()
    assert len(traced.executables) == 2


def test_a_pass_that_raises_is_skipped(monkeypatch):
    def fails(jaxpr, target):
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(dead_code, "run", fails)
    f = xt.jit(lambda x: xnp.cos(x) + 2)
    with pytest.warns(UserWarning, match="pass dead_code is skipped.*ZeroDivisionError: on purpose"):
        made = f.lower(X).compile()
    assert isinstance(made.passes.of("dead_code").error, ZeroDivisionError) and "skipped" in repr(made.passes)
    np.testing.assert_allclose(made(X), np.cos(X) + 2, rtol=1e-6)


def test_a_warm_start_runs_no_pass(tmp_path, monkeypatch):
    make = lambda: xt.jit(lambda x: xnp.sin(x) + xnp.sin(x) * 3, passes="all")
    with xt.config.flags["compilation_cache_dir"](str(tmp_path)):
        make()(X)

        def fails(jaxpr, target):
            raise AssertionError("a pass ran")

        monkeypatch.setattr(dead_code, "run", fails)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make()(X)


def close(got, wanted, what):
    for g, w in zip(xt.tree_util.tree_leaves(got), xt.tree_util.tree_leaves(wanted), strict=True):
        if xnp.issubdtype(g.dtype, xt.dtypes.prng_key):
            g, w = xt.random.key_data(g), xt.random.key_data(w)
        g, w = np.asarray(g), np.asarray(w)
        if g.dtype.kind not in "fc":
            np.testing.assert_array_equal(g, w, err_msg=what)
            continue
        scale = np.max(np.abs(w[np.isfinite(w)]), initial=1e-6)
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5 * scale, err_msg=what)


@pytest.mark.parametrize("part", range(3))
def test_random_programs_keep_their_values(sampling, part, monkeypatch):
    point = np.array([0.3, -0.7, 1.1]), np.array([[0.2, 0.5, -0.4], [1.3, -1.2, 0.8]]), np.asarray(0.6)
    for k in range(8 if sampling.full else 2):
        program = draw(f"passes {sampling.seed}:{part}:{k}")
        f = program.function()
        forms = [f] if program.mode == "forward" else [f, xt.grad(lambda *p: num(f(*p)), (0, 1, 2))]
        for form in forms:
            wanted = xt.jit(form, passes=())(*point)
            with proofs.recorded(monkeypatch) as records:
                close(xt.jit(form, passes="all")(*point), wanted, program.source)
            if sampling.full or k == 0 and form is forms[-1]:
                proofs.prove(records, most=8)


def test_compositions_of_the_catalogue_keep_their_values(sampling, monkeypatch):
    """The catalogue's compositions, compiled by all passes, against their expected values; each pass by itself."""
    rng = random.Random(f"passes {sampling.seed}")
    ops = [op for op in catalogue() if "compositions" not in op.skip]
    with xt.config.flags["passes"]("all"), proofs.recorded(monkeypatch) as records:
        for op in ops if sampling.full else rng.sample(ops, 12):
            batches = [op.all_samples(sampling.seed + k) for k in range(2)]
            pairs = [[b[i] for b in batches] for i, s in enumerate(batches[0]) if s.arrays]
            if not pairs:
                continue
            chosen = pairs[compositions._small(op, [p[0] for p in pairs])]
            base = chosen[0]
            inexact = any(compositions.is_inexact(base.args[k].dtype) for k in base.arrays)
            names = compositions._applicable(op, base, inexact)
            compositions.check(op, chosen, rng.sample(names, 2), sampling.seed)
    proofs.prove(records, most=100 if sampling.full else 2)


def test_dead_code_that_reads_an_unused_argument():
    assert xt.jit(lambda x, y: (xnp.sin(y), x)[1] + 1)(X, X).shape == X.shape
