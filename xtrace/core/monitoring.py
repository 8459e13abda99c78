"""Events: what happened in tracing, lowering and compiling, told to whoever registered to listen.

Four kinds of events, each with a name such as "/jax/core/compile/backend_compile_duration" and keyword details. Nothing
is made of an event that nobody listens to.
"""

from __future__ import annotations

from collections.abc import Callable

_Listener = Callable[..., None]

_event: list[_Listener] = []
_duration: list[_Listener] = []
_time_span: list[_Listener] = []
_scalar: list[_Listener] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the event listeners that `event` happened.

    Args:
      event: its name, by convention a path.
      kwargs: details that listeners receive as keyword arguments.

    >>> from xtrace import monitoring
    >>> monitoring.register_event_listener(lambda event, **details: print(event, details))
    >>> monitoring.record_event("/app/restart", attempt=2)
    /app/restart {'attempt': 2}
    >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_event):
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the duration listeners that `event` took `duration` seconds.

    >>> from xtrace import monitoring
    >>> monitoring.register_event_duration_secs_listener(lambda event, duration, **details: print(event, duration))
    >>> monitoring.record_event_duration_secs("/app/load", 0.5)
    /app/load 0.5
    >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_duration):
        listener(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: str | int) -> None:
    """Tell the time span listeners that `event` ran from `start_time` to `end_time`, in seconds since the epoch.

    >>> from xtrace import monitoring
    >>> monitoring.register_event_time_span_listener(lambda event, start, end, **details: print(event, end - start))
    >>> monitoring.record_event_time_span("/app/epoch", 10.0, 12.5)
    /app/epoch 2.5
    >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_time_span):
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tell the scalar listeners that `event` has the value `value` now.

    >>> from xtrace import monitoring
    >>> monitoring.register_scalar_listener(lambda event, value, **details: print(event, value))
    >>> monitoring.record_scalar("/app/step", 7)
    /app/step 7
    >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_scalar):
        listener(event, value, **kwargs)


def register_event_listener(callback: _Listener) -> None:
    """Call `callback(event, **details)` at every event from now on; see `record_event`."""
    _event.append(callback)


def register_event_duration_secs_listener(callback: _Listener) -> None:
    """Call `callback(event, seconds, **details)` at every duration from now on.

    >>> import xtrace as xt
    >>> seen = []
    >>> xt.monitoring.register_event_duration_secs_listener(lambda event, seconds, **details: seen.append(event))
    >>> _ = xt.jit(lambda x: x + 1)(1.0)
    >>> "/jax/core/compile/backend_compile_duration" in seen
    True
    >>> xt.monitoring.clear_event_listeners()
    """
    _duration.append(callback)


def register_event_time_span_listener(callback: _Listener) -> None:
    """Call `callback(event, start, end, **details)` at every time span from now on; see `record_event_time_span`."""
    _time_span.append(callback)


def register_scalar_listener(callback: _Listener) -> None:
    """Call `callback(event, value, **details)` at every scalar from now on; see `record_scalar`."""
    _scalar.append(callback)


def _unregister(listeners: list[_Listener], callback: _Listener, kind: str) -> None:
    if callback not in listeners:
        raise AssertionError(f"{callback!r} is not registered as {kind} listener")
    listeners.remove(callback)


def unregister_event_listener(callback: _Listener) -> None:
    """Stop telling `callback` of events. Raises AssertionError if it was not registered."""
    _unregister(_event, callback, "an event")


def unregister_event_duration_listener(callback: _Listener) -> None:
    """Stop telling `callback` of durations. Raises AssertionError if it was not registered."""
    _unregister(_duration, callback, "a duration")


def unregister_event_time_span_listener(callback: _Listener) -> None:
    """Stop telling `callback` of time spans. Raises AssertionError if it was not registered."""
    _unregister(_time_span, callback, "a time span")


def unregister_scalar_listener(callback: _Listener) -> None:
    """Stop telling `callback` of scalars. Raises AssertionError if it was not registered."""
    _unregister(_scalar, callback, "a scalar")


def clear_event_listeners() -> None:
    """Forget every listener of every kind."""
    for listeners in (_event, _duration, _time_span, _scalar):
        listeners.clear()


__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]
