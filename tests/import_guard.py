"""A pytest plugin (`-p tests.import_guard`) that refuses imports of the package jax, and fails a run that tried one."""

from __future__ import annotations

import sys

tried: list[str] = []


class Guard:
    """A finder in front of all others."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "jax" or name.startswith("jax."):
            tried.append(name)
            raise ImportError(f"the import of {name} is refused: xtrace never imports jax")


sys.meta_path.insert(0, Guard())  # type: ignore[arg-type]


def pytest_sessionfinish(session: object) -> None:
    if tried:
        session.exitstatus = 1  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: object) -> None:
    terminalreporter.write_line(f"imports of jax tried: {len(tried)} {sorted(set(tried))}")  # type: ignore[attr-defined]
