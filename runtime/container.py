"""Containers: the files and byte strings in which programs are kept. A header in plain JSON, then named payloads.

Layout: 8 bytes of magic, 4 bytes of header length (little-endian), 32 bytes of BLAKE2b over the length and all that
follows, the header, the payloads one after the other. Nothing is unpickled, and nothing is looked at before the
checksum agrees.
A checksum finds damage, not malice: who may write a container decides what it makes run.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from typing import Any

_MAGIC = b"XTRACE\x01\n"
_START = len(_MAGIC) + 4 + 32


class ContainerError(ValueError):
    """The bytes are not a container of the kind asked for, or are damaged."""


def pack(kind: str, header: dict[str, Any], payloads: dict[str, bytes]) -> bytes:
    """The container of `payloads` under a header of plain values; `kind` says what it holds."""
    sizes = [[name, len(data)] for name, data in payloads.items()]
    text = json.dumps({"kind": kind, "payloads": sizes, **header}, separators=(",", ":")).encode()
    length = len(text).to_bytes(4, "little")
    body = b"".join([text, *payloads.values()])
    return b"".join([_MAGIC, length, _checksum(length, body), body])


def _checksum(length: bytes, body: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(length, digest_size=32)
    digest.update(body)
    return digest.digest()


def _header_length(data: bytes | memoryview) -> int:
    if len(data) < _START:
        raise ContainerError("it is too short to be a program that xtrace wrote")
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        raise ContainerError("it is not a program that xtrace wrote, or one of another format")
    return int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 4], "little")


def unpack(kind: str, data: bytes | bytearray) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and payloads of a container.

    Raises ContainerError: not a container, not of this kind, or its checksum is wrong.
    """
    view = memoryview(data)
    length = _header_length(view)
    body = view[_START:]
    if _checksum(bytes(view[len(_MAGIC) : len(_MAGIC) + 4]), body) != bytes(view[_START - 32 : _START]):
        raise ContainerError("its checksum is wrong: it was cut short or damaged")
    header = json.loads(bytes(body[:length]))
    if header.pop("kind") != kind:
        raise ContainerError(f"it holds something else than a {kind}")
    payloads, at = {}, length
    for name, size in header.pop("payloads"):
        payloads[name] = bytes(body[at : at + size])
        at += size
    return header, payloads


def read_header(path: pathlib.Path) -> dict[str, Any]:
    """The header of a container file, for listings: its checksum is not verified. Raises ContainerError, OSError."""
    with path.open("rb") as file:
        start = file.read(_START)
        length = _header_length(start)
        try:
            header = json.loads(file.read(length))
        except ValueError:
            raise ContainerError("its header can't be read") from None
    header.pop("payloads", None)
    return header


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all: readers see the old one or the new one, never a part."""
    import tempfile  # 5 ms, and most processes write nothing

    folder, name = os.path.split(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{name[:32]}-", suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
