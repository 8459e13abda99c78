"""The garbage collector around an import that makes many objects to stay."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused_while_importing() -> Iterator[None]:
    """No collection while the block makes modules, functions and classes, of which none is garbage.

    In a process that begins with the import, what is there at its end is set apart for good (`gc.freeze`): collections
    in the user's program needn't look through the modules, nor need the one at exit, a tenth of a short process. Where
    a full collection has run before, the process has a life of its own, whose objects may become garbage.
    """
    enabled = gc.isenabled()
    begins = enabled and gc.get_stats()[2]["collections"] == 0
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
    if begins:
        gc.freeze()
