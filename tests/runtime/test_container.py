"""Containers: what is written is read; what is damaged is refused."""

from __future__ import annotations

import pytest

from xtrace.runtime import container


def test_round_trip():
    data = container.pack("thing", {"a": [1, None]}, {"x": b"\x00\xff" * 10, "empty": b""})
    assert container.unpack("thing", data) == ({"a": [1, None]}, {"x": b"\x00\xff" * 10, "empty": b""})
    assert container.unpack("thing", bytearray(data))[0] == {"a": [1, None]}


def test_every_damaged_byte_is_found():
    data = container.pack("thing", {"a": 1}, {"x": b"payload"})
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 1
        with pytest.raises(container.ContainerError):
            container.unpack("thing", damaged)
    for n in range(len(data)):
        with pytest.raises(container.ContainerError):
            container.unpack("thing", data[:n])


def test_another_kind():
    with pytest.raises(container.ContainerError, match="something else than a program"):
        container.unpack("program", container.pack("thing", {}, {}))


def test_files_are_whole_or_absent(tmp_path, monkeypatch):
    path = tmp_path / "file"
    container.write_file(path, b"old")

    def fails(*args):
        raise OSError("disk full")

    monkeypatch.setattr(container.os, "replace", fails)
    with pytest.raises(OSError):
        container.write_file(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o077 == 0
