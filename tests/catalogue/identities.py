"""Catalogue entries of the operations that return their operands."""

from __future__ import annotations

from tests.catalogue.catalogue import ALL, Bad, Draw, Op, Sample, unary


def _pairs(draw: Draw):
    for dtype in ALL:
        for shape in ((), (2, 3), (0,)):
            yield Sample(draw.array(shape, dtype), draw.array((3,), "float32"))


OPS = [
    Op("lax.stop_gradient", unary(ALL), lambda x: x, differentiable=(), bad=[
        Bad(TypeError, "not a valid array type", "text"),
    ]),
    Op("lax.optimization_barrier", _pairs, lambda x, y: (x, y),
       function=lambda root: lambda x, y: root.lax.optimization_barrier((x, y))),
]  # fmt: skip
