"""Warnings of the library's functions, which name the user's line."""

from __future__ import annotations

import sys
import warnings

from xtrace.core import source
from xtrace.core.trace import current


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, and note it: what a function recorded with a warning isn't to be copied without one."""
    current.warned = True
    depth, frame = 1, sys._getframe(0)
    user = source.user_frame(frame)
    while frame is not None and frame is not user:
        depth += 1
        frame = frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, depth)
