"""Setting the folder of the persistent compile cache from a program."""

from __future__ import annotations

import os

from xtrace.core.config import config
from xtrace.runtime import compile_cache


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Keep compiled programs in a folder, and look for them there.

    Args:
      path: the folder; it is made if it is not there. It has to be yours, and writable by nobody else.
    """
    config.update("compilation_cache_dir", os.fspath(path))


def reset_cache() -> None:
    """Look at the cache's folder anew, as a new process would; what is in it stays."""
    compile_cache.reset()


__all__ = ["reset_cache", "set_cache_dir"]
