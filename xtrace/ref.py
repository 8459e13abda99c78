"""Mutable references: arrays that are read and written in place.

>>> import xtrace as xt, xtrace.numpy as xnp
>>> total = xt.new_ref(0.0)
>>> def step(_, x):
...     total[...] += x
...     return None, None
>>> _ = xt.lax.scan(step, None, xnp.arange(4.0))
>>> total
Ref(6., dtype=float32)
"""

from xtrace.core.refs import AbstractRef as AbstractRef
from xtrace.core.refs import Ref as Ref
from xtrace.numpy.references import addupdate as addupdate
from xtrace.numpy.references import empty_ref as empty_ref
from xtrace.numpy.references import free_ref as free_ref
from xtrace.numpy.references import freeze as freeze
from xtrace.numpy.references import get as get
from xtrace.numpy.references import new_ref as new_ref
from xtrace.numpy.references import set as set
from xtrace.numpy.references import swap as swap

__all__ = [
    "AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap",
]  # fmt: skip
