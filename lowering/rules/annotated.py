"""Lowering of what carries attributes for the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.lowering.lower import Body
from xtrace.transforms.annotated import compute_on_p, xla_metadata_call_p, xla_metadata_value_p


def _call(ctx: Body, eqn: Any, operands: Sequence[Any], metadata: Sequence[tuple[str, str]]) -> Any:
    results = ctx.call(eqn.params["jaxpr"], eqn.primitive.name, operands)
    if results:
        ctx.annotate(results[0].owner, metadata)
    return results


def _metadata_call(ctx: Body, eqn: Any, *operands: Any) -> Any:
    return _call(ctx, eqn, operands, eqn.params["xla_metadata"])


def _value(ctx: Body, eqn: Any, x: Any) -> Any:
    ctx.annotate(x.owner, eqn.params["xla_metadata_kvs"])
    return x


#: Where computations run -> what XLA calls it.
_PLACES = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}


def _compute_on(ctx: Body, eqn: Any, *operands: Any) -> Any:
    place, options = eqn.params["compute_type"], eqn.params["compiler_options_json"]
    stream = place.removeprefix("gpu_stream:")
    metadata = {"_xla_compute_type": _PLACES[place]} if stream == place else {"_xla_stream_annotation": stream}
    if options is not None:
        metadata["backend_config"] = options
    if stream != place or (place == "device" and options is None):
        metadata["inlineable"] = "false"
    return _call(ctx, eqn, operands, tuple(sorted(metadata.items())))


xla_metadata_call_p.lower = _metadata_call
xla_metadata_value_p.lower = _value
compute_on_p.lower = _compute_on
