"""Calls written out: types stay what the equations around them were made for."""

import numpy as np

import xtrace as xt
from tests.lowering.passes.blocks import compiled
from xtrace import lax
from xtrace import numpy as jnp
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Var
from xtrace.lowering.passes import pipeline
from xtrace.transforms.call import jit_p


def test_a_weakly_typed_operand():
    # The call was made for a value that isn't weakly typed; its equations keep their types.
    called = xt.make_jaxpr(lambda x: lax.slice(lax.sin(x), (1,), (2,)))(np.ones(3, np.float32))
    weak = Var(called.in_avals[0].update(weak_type=True))
    (out,) = [Var(a) for a in called.out_avals]
    call = JaxprEqn(jit_p, [weak], [out], {"jaxpr": called, "name": "f"})
    outer = Jaxpr((), [weak], [out], [call], frozenset(), called.debug_info)
    with xt.enable_checks(True):
        report = pipeline.run(outer, "f", pipeline.Target(("cpu",)), ("inline",))
    assert report.of("inline").error is None
    assert [e.primitive.name for e in report.jaxpr.eqns] == ["convert_element_type", "sin", "slice"]


def test_literal_operands_and_results():
    @xt.jit
    def inner(x, scale):
        return x * scale, 1.0

    def f(x):
        y, one = inner(x, 2.0)
        return y + one

    program = compiled(f, np.arange(3, dtype=np.float32))
    assert "jit" not in [e.primitive.name for e in program.passes.of("inline").after.eqns]
    np.testing.assert_array_equal(program(np.arange(3, dtype=np.float32)), [1, 3, 5])


def test_checkpointed_calls_keep_their_barrier():
    def f(x):
        return jnp.sum(xt.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x))

    program = compiled(xt.grad(f), np.ones(3, np.float32))
    names = [e.primitive.name for e in program.passes.of("inline").after.eqns]
    assert "optimization_barrier" in names and "remat2" not in names
