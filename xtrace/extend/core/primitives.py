"""Every primitive by name (jax.extend.core.primitives)."""

from __future__ import annotations

import importlib
from typing import Any

from xtrace.core.jaxpr import Jaxpr, eval_jaxpr
from xtrace.core.primitive import Primitive
from xtrace.core.trace import current
from xtrace.extend.core.calls import (
    create_call_primitive as create_call_primitive,
)
from xtrace.extend.core.calls import (
    eval_jaxpr_transpose as eval_jaxpr_transpose,
)
from xtrace.extend.core.calls import (
    register_call_primitive_rules as register_call_primitive_rules,
)
from xtrace.transforms.call import jit_p
from xtrace.transforms.staging import closed_call_operands


class CallPrimitive(Primitive):
    """A call of a jaxpr, by the parameter names that JAX gives it: recorded as a `jit` equation, evaluated as is."""

    def bind(self, *args: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
        """Call `call_jaxpr` on the values of its constvars, if it has any, and its inputs."""
        jaxpr, _ = closed_call_operands(call_jaxpr)
        trace = current.trace
        if trace is None or not trace.stages():
            return eval_jaxpr(jaxpr, [], *args)
        return jit_p.bind(*args, jaxpr=jaxpr, name=params.get("name") or jaxpr.debug_info.func_name)


call_p = CallPrimitive("eval_jaxpr", lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals)
call_p.multiple_results = True
closed_call_p = call_p

#: Those that are not in `lax`, by module.
_MODULES = {
    "interpreters.ad": "add_jaxvals_p",
    "lax.linalg": (
        "cholesky_p eig_p eigh_p hessenberg_p householder_product_p lu_p qr_p schur_p svd_p triangular_solve_p "
        "tridiagonal_p tridiagonal_solve_p"
    ),
    "lax.random_bits": "random_bits_p random_fold_in_p random_seed_p random_split_p threefry2x32_p",
    "random": "random_gamma_p",
    "ref": "get_p swap_p",
    "transforms.call": "jit_p",
    "transforms.custom": "custom_jvp_call_p custom_lin_p custom_vjp_call_p",
    "transforms.placement": "device_put_p",
    "transforms.remat": "name_p remat_p",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name.endswith("_p"):
        try:
            value = getattr(importlib.import_module(f"xtrace.{_HOME.get(name, 'lax')}"), name, None)
        except ModuleNotFoundError:
            value = None
        if isinstance(value, Primitive):
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    lax = importlib.import_module("xtrace.lax")
    return sorted({*globals(), *_HOME, *[n for n in dir(lax) if n.endswith("_p")]})
