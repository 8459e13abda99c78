"""Transposed products: the transpose of a product is the product of its operands in the other order.

The gradient of a dense layer's weight comes as such a transpose. XLA:CPU exchanges the operands itself, but late: it
has copied the one that it found first into order by then, and multiplies matrices that both lie the wrong way.
"""

from __future__ import annotations

from typing import Any

from xtrace.core.jaxpr import Jaxpr, JaxprEqn
from xtrace.lax.dots import free_dimensions
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with such products written in the order in which they are read, in loops and branches too."""
    notes: list[Note] = []
    return _in_order(jaxpr, notes), notes


def _in_order(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    eqns = jaxpr.eqns
    changed: dict[int, JaxprEqn | None] = {}
    if bodies.count_of(jaxpr, ("dot_general",)) and bodies.count_of(jaxpr, ("transpose",)):
        product_of: dict[Any, int] = {}
        reads = bodies.count_reads(jaxpr)
        for i, eqn in enumerate(eqns):
            name = eqn.primitive.name
            if name == "dot_general":
                product_of[eqn.outvars[0]] = i
            elif name == "transpose":
                operand: Any = eqn.invars[0]
                place = product_of.get(operand)
                if place is None or reads[operand] > 1 or not _exchanges(eqns[place], eqn.params["permutation"]):
                    continue
                product = eqns[place]
                changed[place], changed[i] = _exchanged(product, eqn.outvars), None
                if notes is not None:
                    what = f"the transpose of {operand.aval.str_short()} of dot_general"
                    notes.append(Note(what, product.position, "its operands are exchanged instead"))
    if bodies.any_held(jaxpr):
        for i, eqn in enumerate(eqns):
            if eqn.primitive.holds_jaxprs:
                made = bodies.rewritten(eqn, _body)
                if made is not eqn:
                    changed[i] = made
    if not changed:
        return jaxpr
    kept = [changed.get(i, eqn) for i, eqn in enumerate(eqns)]
    return bodies.changed_eqns(jaxpr, [eqn for eqn in kept if eqn is not None])


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("transposed products", lambda: _in_order(jaxpr, None))


def _exchanges(product: JaxprEqn, permutation: Any) -> bool:
    """Whether the permutation puts the dimensions of the right operand before those of the left one, and no more."""
    params = product.params
    precision = params["precision"]
    if params.get("out_sharding") is not None or not (precision is None or type(precision) is tuple):
        return False
    lhs, rhs = product.invars
    (lc, rc), (lb, rb) = params["dimension_numbers"]
    first = len(lb)
    last = first + len(free_dimensions(lhs.aval.ndim, lc, lb))
    ndim = last + len(free_dimensions(rhs.aval.ndim, rc, rb))
    return last < ndim and tuple(permutation) == (*range(first), *range(last, ndim), *range(first, last)) != (
        *range(ndim),
    )


def _exchanged(product: JaxprEqn, outvars: Any) -> JaxprEqn:
    (lc, rc), (lb, rb) = product.params["dimension_numbers"]
    precision = product.params["precision"]
    params = {
        **product.params,
        "dimension_numbers": ((rc, lc), (rb, lb)),
        "precision": precision if precision is None else precision[::-1],
    }
    return JaxprEqn(
        product.primitive, product.invars[::-1], outvars, params, product.position, product.effects, product.name_stack
    )  # fmt: skip
