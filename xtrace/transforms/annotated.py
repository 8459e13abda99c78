"""Calls and values that carry attributes for the compiler."""

from __future__ import annotations

from typing import Any

from xtrace.core.primitive import Primitive
from xtrace.transforms.call import call_primitive
from xtrace.transforms.jvp import linear


def _of_tangents(params: dict[str, Any]) -> dict[str, Any]:
    metadata = params["ad_metadata"]
    return params if metadata == "same" else {"xla_metadata": metadata, "ad_metadata": "same"}


#: A call with attributes: xla_metadata, pairs of strings; ad_metadata: those of its derivatives, or "same".
xla_metadata_call_p = call_primitive("xla_metadata_call", _of_tangents)

#: A call that runs elsewhere: compute_type, where; compiler_options_json: options for there, or None.
compute_on_p = call_primitive("compute_on")

#: Its operand, with attributes (xla_metadata_kvs) on the operation that makes it.
xla_metadata_value_p = Primitive("xla_metadata_value", lambda x, *, xla_metadata_kvs: x)
linear(xla_metadata_value_p, lambda ct, x, *, xla_metadata_kvs: [ct])
xla_metadata_value_p.batch = lambda axis, args, dims, **params: (xla_metadata_value_p.bind(*args, **params), dims[0])
