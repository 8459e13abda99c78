"""`import jax` means xtrace, for programs written for JAX.

The modules are the same objects under both names (`jax.numpy is xtrace.numpy`), so a program may mix the two.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from xtrace import version

_ALIASED = "jax"
_REAL = "xtrace"


def _real_name(alias: str) -> str:
    """The module that `alias`, a name in jax, stands for."""
    own = alias.removeprefix(_ALIASED)
    return f"{_REAL}.compat{own}" if own == "._src" or own.startswith("._src.") else _REAL + own


class _SameModule(importlib.abc.Loader):
    """Loads `jax.x` by handing over the module `xtrace.x`."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.name == f"{_ALIASED}.version":
            return ModuleType(spec.name, "The version of JAX's public names that xtrace follows.")
        module = importlib.import_module(_real_name(spec.name))
        # The import system is about to overwrite __spec__ with the alias's; exec_module puts it back.
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        if hasattr(self, "own_spec"):
            module.__spec__ = self.own_spec
        else:
            vars(module).update(__version__=version.jax_version, __version_info__=version.jax_version_info)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _ALIASED and not name.startswith(_ALIASED + "."):
            return None
        real = _real_name(name)
        if real not in sys.modules and importlib.util.find_spec(real) is None:
            # Falling through to the path finders would find the wrong thing: the real jax, or our file a second time.
            raise ModuleNotFoundError(
                f"No module named {name!r}: xtrace stands in for jax and has no {real}", name=name
            )
        return importlib.machinery.ModuleSpec(name, _SameModule(), is_package=True)


_finder = _Finder()


def install() -> None:
    """Make `import jax` and every `import jax.x` give the xtrace modules, for the rest of this process.

    `jax.__version__` becomes the version of JAX whose public names xtrace follows, which is what a program compares.

    Raises:
      RuntimeError: the real jax has been imported already.
    """
    if _finder in sys.meta_path:
        return
    present = sys.modules.get(_ALIASED)
    if present is not None:
        raise RuntimeError(f"jax is already imported from {getattr(present, '__file__', '?')}; alias it before that")
    sys.meta_path.insert(0, _finder)
    real: Any = importlib.import_module(_ALIASED)
    real.__version__, real.__version_info__ = version.jax_version, version.jax_version_info


def uninstall() -> None:
    """Undo `install`; modules that were imported meanwhile keep what they hold."""
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if n == _ALIASED or n.startswith(_ALIASED + ".")]:
        del sys.modules[name]
    real: Any = importlib.import_module(_REAL)
    real.version = version  # importing jax.version had set this to the alias's
    real.__version__, real.__version_info__ = version.__version__, version.__version_info__
