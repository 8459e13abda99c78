"""Profiles of programs: traces of what ran when, for TensorBoard and Perfetto, and of device memory (jax.profiler).

Recording is jaxlib's profiler's; traces are written in the form that TensorBoard's profile plugin reads.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import os
import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from xtrace.runtime import backends, jaxlib_api
from xtrace.runtime.jaxlib_api import ProfileData, ProfileEvent, ProfileLine, ProfileOptions, ProfilePlane, TraceMe
from xtrace.version import __version__

F = TypeVar("F", bound=Callable[..., Any])

_profiler = jaxlib_api.profiler


class _State:
    """The one recording of the process, and the server that others ask for recordings."""

    lock = threading.Lock()
    session: Any = None
    folder: str = ""
    perfetto: bool = False
    link: bool = False
    server: Any = None


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Begin to record what runs on the host and on devices.

    Args:
      log_dir: folder to write to, in `plugins/profile/<time>`, when the recording ends.
      create_perfetto_link: print, at the end, where the file for https://ui.perfetto.dev is. Nothing is uploaded and
        no server is started.
      create_perfetto_trace: write `perfetto_trace.json.gz` too.
      profiler_options: a ProfileOptions, for how much is recorded.

    Raises:
      RuntimeError: a recording is going on. There is one in a process.
    """
    with _State.lock:
        if _State.session is not None:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
        backends.default_client()  # devices are recorded if they are there when recording begins
        _profiler.set_metadata("xtrace_version", __version__)
        _profiler.set_metadata("jaxlib_version", jaxlib_api.jaxlib_version)
        _State.session = _profiler.ProfilerSession(ProfileOptions() if profiler_options is None else profiler_options)
        _State.folder = os.fspath(log_dir)
        _State.perfetto = create_perfetto_trace or create_perfetto_link
        _State.link = create_perfetto_link


def stop_trace() -> None:
    """End the recording and write it. Raises RuntimeError if there is none."""
    with _State.lock:
        session = _State.session
        if session is None:
            raise RuntimeError("No profile started: call start_trace(folder) first")
        _State.session = None
        session.stop_and_export(_State.folder)
        _profiler.clear_metadata()
        if _State.perfetto:
            written = _write_perfetto(pathlib.Path(_State.folder))
            if _State.link:
                print(f"Open {written} in https://ui.perfetto.dev")


def _write_perfetto(folder: pathlib.Path) -> pathlib.Path:
    """The newest recording's events under the name that Perfetto's page opens."""
    runs = [p for p in (folder / "plugins" / "profile").iterdir() if p.is_dir()]
    newest = max(runs, key=lambda p: p.stat().st_mtime)
    source = next(iter(sorted(newest.glob("*.trace.json.gz"))))
    target = newest / "perfetto_trace.json.gz"
    target.write_bytes(source.read_bytes())
    return target


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike[str] | str | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Record what runs while the block does; arguments are those of `start_trace`.

    Raises:
      ValueError: no folder is given.
      RuntimeError: a recording is going on.

    Example:
      >>> import os, tempfile, xtrace as xt
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     with xt.profiler.trace(folder):
      ...         _ = xt.jit(lambda x: x + 1)(1.0).block_until_ready()
      ...     os.listdir(folder)
      ['plugins']
    """
    if log_dir is None:
        raise ValueError("trace needs log_dir: the folder to write the recording to")
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation(TraceMe):  # type: ignore[misc,valid-type]
    """Context manager that shows as an event in recordings.

    Args:
      name: of the event. Keyword arguments: shown with it.

    >>> import xtrace as xt
    >>> with xt.profiler.TraceAnnotation("load data", epoch=3):
    ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """Context manager that shows as a step of training, for which tools report times.

    Args:
      name: of the step. Keyword arguments: shown with it; step_num, its number.

    >>> import xtrace as xt
    >>> for step in range(2):
    ...     with xt.profiler.StepTraceAnnotation("train", step_num=step):
    ...         pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: F, name: str | None = None, **decorator_kwargs: Any) -> F:
    """`func`, whose calls show as events in recordings.

    Args:
      func: a function. name: of the events; None: the function's.
      decorator_kwargs: shown with the events.

    >>> import xtrace as xt
    >>> @xt.profiler.annotate_function
    ... def load():
    ...     return 3
    >>> load()
    3
    """
    shown = name or getattr(func, "__qualname__", repr(func))

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def device_memory_profile(backend: str | None = None) -> bytes:
    """What takes the memory of devices: a gzipped protocol buffer that `pprof` reads.

    Args:
      backend: name of a platform; None: the default one.

    >>> import xtrace as xt
    >>> xt.profiler.device_memory_profile()[:2] == bytes([0x1F, 0x8B])
    True
    """
    return gzip.compress(backends.get_backend(backend).heap_profile())


def save_device_memory_profile(filename: os.PathLike[str] | str, backend: str | None = None) -> None:
    """Write `device_memory_profile(backend)` to a file."""
    pathlib.Path(filename).write_bytes(device_memory_profile(backend))


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Listen on a port for tools that ask for recordings, such as TensorBoard.

    Args:
      port: to listen on. requires_backend: whether to make the default client first, so that devices are recorded.

    Returns:
      The server; it listens until `stop_server` or the end of the process.

    Raises:
      ValueError: a server is running.
    """
    if _State.server is not None:
        raise ValueError("Only one profiler server can be active at a time.")
    if requires_backend:
        backends.default_client()
    _State.server = _profiler.start_server(port)
    return _State.server


def stop_server() -> None:
    """Stop the server. Raises ValueError if none is running."""
    if _State.server is None:
        raise ValueError("No active profiler server.")
    _State.server = None


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Have a child process, which listens on a port of its own, take part in recordings.

    Args:
      pid: of the process. port: that its profiler server listens on.

    Returns:
      A function that ends it.
    """
    return _profiler.register_subprocess(pid, port)  # type: ignore[no-any-return]


__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileLine",
    "ProfileOptions",
    "ProfilePlane",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]
