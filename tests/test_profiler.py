"""Recordings are written, hold what was annotated, and one is made at a time."""

import gzip
import json
import socket

import pytest

import xtrace as xt
from xtrace import profiler


def test_recording_has_what_was_annotated(tmp_path):
    with profiler.trace(tmp_path, create_perfetto_trace=True):
        with profiler.TraceAnnotation("an annotation"), profiler.StepTraceAnnotation("a step", step_num=3):
            xt.jit(lambda x: x * 2)(xt.numpy.ones(4)).block_until_ready()
        profiler.annotate_function(lambda: None, name="a function")()
    [written] = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    names = {event.get("name") for event in json.loads(gzip.decompress(written.read_bytes()))["traceEvents"]}
    assert {"an annotation", "a step", "a function"} <= names


def test_recordings_are_readable(tmp_path):
    profiler.start_trace(tmp_path)
    with profiler.TraceAnnotation("here"):
        pass
    profiler.stop_trace()
    [written] = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    data = profiler.ProfileData.from_file(str(written))
    assert "here" in {event.name for plane in data.planes for line in plane.lines for event in line.events}


def test_one_recording_at_a_time(tmp_path):
    with profiler.trace(tmp_path):
        with pytest.raises(RuntimeError, match="already been started"):
            profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    with pytest.raises(ValueError, match="log_dir"), profiler.trace():
        pass


def test_memory(tmp_path):
    kept = xt.numpy.ones((64, 64))
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert b"buffer" in gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert kept.shape == (64, 64)


def test_server():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    profiler.start_server(port)
    try:
        with pytest.raises(ValueError, match="Only one"):
            profiler.start_server(port)
    finally:
        profiler.stop_server()
    with pytest.raises(ValueError, match="No active"):
        profiler.stop_server()


def test_annotated_functions_keep_their_name_and_errors():
    @profiler.annotate_function
    def fails():
        raise KeyError("x")

    assert fails.__name__ == "fails"
    with pytest.raises(KeyError):
        fails()
