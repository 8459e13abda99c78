"""The persistent compile cache: compiled programs in a folder, found again by later processes.

Entries are native code: loading one runs what is in it. So a folder is used only if it belongs to this user (or to
root) and nobody else may write to it, and likewise each entry; new folders and files are made for the owner alone.
Nothing is unpickled. An entry that is damaged, or not what its name says, counts as absent, with one warning.

Files: `<key>.program` holds a program under the hash of everything it depends on; `<fingerprint>.ref` says which key
a program with that fingerprint (of its jaxpr, before lowering) had.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import stat
import time
import warnings
from collections.abc import Iterator
from typing import Any

from xtrace.core import config
from xtrace.core.records import Record
from xtrace.runtime import container

PROGRAM, REF = ".program", ".ref"
_KIND = "cached program"


class Entry(Record):
    """A program in the cache: its key, file, size, time of last use, and what its header tells it is of."""

    __slots__ = ("key", "path", "size", "last_used", "header")

    last_used: float


class CompileCache:
    """A folder of compiled programs."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = pathlib.Path(os.path.abspath(os.path.expanduser(folder)))
        self._warned: set[str] = set()
        #: Bytes in the folder, as far as this process knows; None before the first look.
        self._bytes: int | None = None
        self.usable = self._prepare()

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(text, stacklevel=2)

    def _prepare(self) -> bool:
        folder = self.folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fault = _fault(os.stat(folder))
        except OSError as error:
            fault = error.strerror or str(error)
        if fault is None:
            return True
        self._warn(
            "folder",
            f"the compile cache {folder} is not used: {fault}. Cached programs are native code, so the folder must be "
            "yours and writable by nobody else (chmod go-w), or choose another one with XTRACE_CACHE_DIR.",
        )
        return False

    # -- programs ------------------------------------------------------------------------------------------------

    def get(self, key: str) -> tuple[dict[str, Any], dict[str, bytes]] | None:
        """Header and payloads of the program `key`, or None."""
        path = self.folder / (key + PROGRAM)
        try:
            data = _read_own(path)
            if data is None:
                return None
            header, payloads = container.unpack(_KIND, data)
            if header.get("key") != key:
                raise container.ContainerError("it is an entry of another name")
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.distrust(key, str(error))
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # atime can't be relied on: the modification time says when it was last used
        return header, payloads

    def distrust(self, key: str, why: str) -> None:
        """Warn, once, that an entry is no good; it will be compiled and written anew."""
        self._warn("entry", f"an entry of the compile cache is ignored and made anew: {self.folder / key}: {why}")

    def put(self, key: str, header: dict[str, Any], payloads: dict[str, bytes]) -> None:
        """Keep a program; failing to is worth a warning, not an error."""
        data = container.pack(_KIND, {"key": key, **header}, payloads)
        try:
            container.write_file(self.folder / (key + PROGRAM), data)
        except OSError as error:
            self._warn("write", f"can't write to the compile cache {self.folder}: {error.strerror}")
            return
        limit = config.compilation_cache_max_size.value
        if limit < 0:
            return
        if self._bytes is None:
            self._bytes = sum(size for _, size, _ in self._files())
        else:
            self._bytes += len(data)
        if self._bytes > limit:
            self.prune(int(limit * 0.9))

    # -- references ------------------------------------------------------------------------------------------------

    def find(self, fingerprint: str) -> str | None:
        """The key under which the program with this fingerprint was kept, or None."""
        try:
            data = _read_own(self.folder / (fingerprint + REF))
        except (OSError, ValueError):
            return None
        if data is None or len(data) != 96:
            return None
        key, check = data[:64].decode("ascii", "replace"), data[64:].decode("ascii", "replace")
        return key if check == _reference_check(fingerprint, key) else None

    def refer(self, fingerprint: str, key: str) -> None:
        """Note the key of the program with this fingerprint."""
        with contextlib.suppress(OSError):
            container.write_file(self.folder / (fingerprint + REF), (key + _reference_check(fingerprint, key)).encode())

    # -- housekeeping ------------------------------------------------------------------------------------------------

    def _files(self) -> Iterator[tuple[pathlib.Path, int, float]]:
        """Each program's file, size and time of last use."""
        with contextlib.suppress(OSError), os.scandir(self.folder) as found:
            for item in found:
                if item.name.endswith(PROGRAM):
                    with contextlib.suppress(OSError):  # another process may be pruning
                        status = item.stat()
                        yield pathlib.Path(item.path), status.st_size, status.st_mtime

    def entries(self) -> list[Entry]:
        """All programs, the most recently used first."""
        found = []
        for path, size, used in self._files():
            try:
                header = container.read_header(path)
            except (OSError, ValueError) as error:
                header = {"damaged": str(error)}
            found.append(Entry(path.name.removesuffix(PROGRAM), path, size, used, header))
        return sorted(found, key=lambda e: -e.last_used)

    def prune(self, max_bytes: int | None = None, unused_seconds: float | None = None) -> list[tuple[str, int]]:
        """Remove the programs unused for longest until at most `max_bytes` are left, and those unused for a time.

        Returns the keys and sizes of what was removed.
        """
        files = sorted(self._files(), key=lambda f: f[2])
        total = sum(size for _, size, _ in files)
        removed = []
        now = time.time()
        for path, size, used in files:
            old = unused_seconds is not None and now - used > unused_seconds
            if not old and (max_bytes is None or total <= max_bytes):
                continue
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
                removed.append((path.name.removesuffix(PROGRAM), size))
        self._bytes = total
        self._remove_leftovers(now)
        return removed

    def _remove_leftovers(self, now: float) -> None:
        """References to programs that are gone, and files of processes that died while writing."""
        with contextlib.suppress(OSError), os.scandir(self.folder) as found:
            for item in list(found):
                with contextlib.suppress(OSError):
                    if item.name.endswith(REF):
                        key = self.find(item.name.removesuffix(REF))
                        if key is None or not (self.folder / (key + PROGRAM)).exists():
                            os.unlink(item.path)
                    elif item.name.endswith(".part") and now - item.stat().st_mtime > 3600:
                        os.unlink(item.path)

    def clear(self) -> None:
        """Remove every program."""
        self.prune(max_bytes=-1)


def _reference_check(fingerprint: str, key: str) -> str:
    return hashlib.blake2b(f"{fingerprint} {key}".encode(), digest_size=16).hexdigest()


def _fault(status: os.stat_result) -> str | None:
    """Why a file or folder isn't safe to load programs from, or None."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to another user (uid {status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "users other than its owner may write to it"
    return None


def _read_own(path: pathlib.Path) -> bytes | None:
    """The content of a file that only this user can have written; None if there is no such file."""
    try:
        with open(path, "rb") as file:
            fault = _fault(os.fstat(file.fileno()))
            if fault is not None:
                raise container.ContainerError(fault)
            return file.read()
    except FileNotFoundError:
        return None


_caches: dict[str, CompileCache] = {}


def current() -> CompileCache | None:
    """The cache that the flags ask for, or None."""
    folder = config.compilation_cache_dir.value
    if not folder or not config.enable_compilation_cache.value:
        return None
    cache = _caches.get(folder)
    if cache is None:
        cache = _caches[folder] = CompileCache(folder)
    return cache if cache.usable else None


def reset() -> None:
    """Forget what is known of cache folders: they are looked at anew."""
    _caches.clear()
