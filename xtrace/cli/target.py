"""Finding the function that `file.py:function` or `package.module:function` names."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from xtrace.cli.errors import CommandError


def load(target: str) -> Any:
    """Import the module of `target` and return the callable it names.

    Args:
      target: `file.py:name` or `package.module:name`; the name may be dotted (`Model.apply`).

    Returns:
      The callable.

    Raises:
      CommandError: no such file, module or name, or the name is not callable. Errors raised by the user's own code
        while it is imported pass through.
    """
    source, colon, name = target.rpartition(":")
    if not colon or not source or not name:
        raise CommandError(f"{target!r} names no function: write file.py:function or package.module:function")
    module = _from_file(Path(source)) if source.endswith(".py") or "/" in source else _from_name(source)
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise CommandError(_no_such_name(source, value, part))
        value = getattr(value, part)
    if not callable(value):
        raise CommandError(f"{name} in {source} is not a function but {_article(type(value).__name__)}")
    return value


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise CommandError(f"{path} is a folder, not a file" if path.is_dir() else f"no such file: {path}")
    # As Python does for a script: modules beside it can be imported.
    sys.path.insert(0, str(path.resolve().parent))
    name = path.stem if path.stem not in sys.modules else f"_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} is not a Python file: its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SystemExit as stop:
        raise CommandError(
            f"{path} exited with status {stop.code} while it was imported: guard its main program with "
            "`if __name__ == '__main__':`"
        ) from None
    return module


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, "")
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Only when the module itself (or a package above it) is missing; not when one that it imports is.
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise CommandError(f"no module named {error.name!r} in this folder or among installed packages") from None
        raise


def _no_such_name(source: str, owner: Any, part: str) -> str:
    where = source if isinstance(owner, ModuleType) else f"{getattr(owner, '__name__', owner)} in {source}"
    # Of a module only what it defines, not what it imported.
    home = owner.__name__ if isinstance(owner, ModuleType) else None
    functions = [
        name
        for name in getattr(owner, "__dict__", ())
        if not name.startswith("_")
        and callable(value := getattr(owner, name))
        and (home is None or getattr(value, "__module__", home) == home)
    ]
    close = difflib.get_close_matches(part, functions, 1)
    hint = f"did you mean {close[0]}?" if close else f"it defines: {', '.join(functions) or 'no functions'}"
    return f"no function {part!r} in {where}; {hint}"
