"""Partial evaluation by tracing, and dead code."""

import numpy as np

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.extend.linear_util import wrap_init
from xtrace.interpreters import partial_eval as pe


def test_what_is_known_is_computed_and_the_rest_traced():
    seen = []

    def f(x, y):
        known = xnp.sin(x)
        seen.append(float(known))  # a number while the function is traced
        return known, known * y

    aval = xt.core.ShapedArray((), np.dtype("float32"))
    pvals = [pe.PartialVal.known(0.5), pe.PartialVal.unknown(aval)]
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(wrap_init(f), pvals)
    np.testing.assert_allclose(seen, np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(outs[0].get_known(), np.sin(0.5), rtol=1e-6)
    assert not outs[1].is_known() and outs[1].get_aval().shape == ()
    assert [e.primitive.name for e in jaxpr.eqns] == ["mul"]
    np.testing.assert_allclose(xt.core.eval_jaxpr(jaxpr, (), *consts, 3.0), [3 * np.sin(0.5)], rtol=1e-6)


def test_instantiate_makes_known_outputs_part_of_the_jaxpr():
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(wrap_init(lambda x: [x + 1.0]), [pe.PartialVal.known(1.0)], True)
    assert len(jaxpr.outvars) == 1 and not outs[0].is_known()
    assert xt.core.eval_jaxpr(jaxpr, (), *consts) == [2.0]


def test_dead_code_goes_and_inputs_with_it():
    jaxpr = xt.make_jaxpr(lambda x, y: (x + 1.0, xnp.sin(y)))(1.0, 2.0)
    kept, used = pe.dce_jaxpr(jaxpr.jaxpr, [True, False])
    assert used == [True, False] and [e.primitive.name for e in kept.eqns] == ["add"]
    kept, used = pe.dce_jaxpr(jaxpr.jaxpr, [True, False], instantiate=True)
    assert used == [True, True] and len(kept.invars) == 2


def test_dead_code_inside_calls():
    jaxpr = xt.make_jaxpr(lambda x, y: xt.jit(lambda a, b: (a * 2.0, xnp.cos(b)))(x, y))(1.0, 2.0)
    kept, used = pe.dce_jaxpr(jaxpr, [True, False])
    assert used == [True, False]
    (eqn,) = kept.eqns
    assert [e.primitive.name for e in eqn.params["jaxpr"].eqns] == ["mul"]
