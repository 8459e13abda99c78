"""Events reach those who listen, and only them."""

import pytest

import xtrace as xt
from xtrace import monitoring


@pytest.fixture(autouse=True)
def nobody_listens():
    yield
    monitoring.clear_event_listeners()


KINDS = {
    "event": (monitoring.register_event_listener, monitoring.unregister_event_listener, monitoring.record_event, ()),
    "duration": (
        monitoring.register_event_duration_secs_listener,
        monitoring.unregister_event_duration_listener,
        monitoring.record_event_duration_secs,
        (0.25,),
    ),
    "time span": (
        monitoring.register_event_time_span_listener,
        monitoring.unregister_event_time_span_listener,
        monitoring.record_event_time_span,
        (1.0, 2.0),
    ),
    "scalar": (
        monitoring.register_scalar_listener,
        monitoring.unregister_scalar_listener,
        monitoring.record_scalar,
        (3,),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_listener_gets_its_kind_until_unregistered(kind):
    register, unregister, record, values = KINDS[kind]
    seen = []

    def listener(event, *args, **details):
        seen.append((event, args, details))

    register(listener)
    for _, _, other, others in KINDS.values():
        other("/a", *others, detail="b")
    assert seen == [("/a", values, {"detail": "b"})]
    unregister(listener)
    record("/a", *values)
    assert len(seen) == 1
    with pytest.raises(AssertionError):
        unregister(listener)


def test_a_jitted_function_is_traced_lowered_and_compiled_once():
    seen = []
    monitoring.register_event_duration_secs_listener(lambda event, seconds, **kw: seen.append((event, kw)))

    @xt.jit
    def f(x):
        return x + 1

    assert f(2.0) == 3.0
    f(3.0)
    stages = [e.rpartition("/")[2] for e, kw in seen if kw.get("fun_name", "") in ("f", "jit_f", "jit(f)")]
    assert stages == ["jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration"]
