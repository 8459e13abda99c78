"""The layers: which module may import which, read from the source.

core <- transforms <- lax <- libraries <- api <- cli. `lowering` knows core, transforms and lax; `runtime` knows core,
and lowering where it compiles. Libraries make arrays through `runtime`; core, transforms and lax know of neither.
jaxlib's private names are in one file, a leaf that every layer may import; MLIR is in lowering.
"""

from __future__ import annotations

import ast
import functools
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
#: Package -> its folder (lowering and runtime lie beside xtrace, and are installed inside it).
FOLDERS = {"xtrace": ROOT / "xtrace", "xtrace.lowering": ROOT / "lowering", "xtrace.runtime": ROOT / "runtime"}

#: Layer -> the layers it may import. Layers not listed as keys are libraries.
_LIBRARY = {"core", "transforms", "lax", "libraries", "runtime", "seam"}
ALLOWED = {
    "core": {"core", "seam"},
    "transforms": {"core", "transforms", "seam"},
    "lax": {"core", "transforms", "lax", "seam"},
    "libraries": _LIBRARY,
    "lowering": {"core", "transforms", "lax", "lowering", "seam"},
    "runtime": {"core", "runtime", "seam"},
    "seam": {"seam"},
    "api": _LIBRARY | {"api", "lowering"},
    "cli": _LIBRARY | {"api", "cli", "lowering", "top"},
    "top": _LIBRARY | {"api", "top", "lowering"},
}

#: (module, what it imports): an arrow that points back, with its reason. Lazy ones are inside functions.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("xtrace.runtime.program", "xtrace.lowering"): "compiling is where a program is lowered; loaded at the first one",
    ("xtrace.lowering.rules.linalg", "xtrace.runtime.lapack"): "kernels are registered where a program calls them",
    ("xtrace.lowering.rules.exported", "xtrace.runtime.lapack"): "kernels are registered where a program calls them",
    ("xtrace.numpy.ranges", "xtrace.api"): "fromfunction is defined by vmap",
    ("xtrace.scipy.linalg.functions", "xtrace.api"): "expm_frechet is a derivative, by jvp",
    ("xtrace.__main__", "xtrace.cli"): "`python -m xtrace` is the command",
}

#: Modules that belong to another layer than their place says.
_TOP_MODULES = {
    "xtrace.dtypes": "libraries",
    "xtrace.errors": "core",
    "xtrace.tree": "libraries",
    "xtrace.tree_util": "libraries",
    "xtrace.version": "core",
    "xtrace.placement": "libraries",
    "xtrace.flatten_util": "libraries",
    "xtrace.compat.keys": "top",
    "xtrace.compat.lists": "api",
    "xtrace.interpreters.mlir": "api",
    "xtrace.scipy.optimize": "api",
    "xtrace.api.visualizing": "top",
    "xtrace.experimental.ode": "top",
    "xtrace.experimental.pjit": "top",
    "xtrace.experimental.serialize_executable": "top",
    "xtrace.extend.backend": "top",
    "xtrace.extend.random": "top",
}


def layer(module: str) -> str:
    """The layer of a module, by its first folder."""
    if module in _TOP_MODULES:
        return _TOP_MODULES[module]
    if module == "xtrace.runtime.jaxlib_api":
        return "seam"
    parts = module.split(".")
    if len(parts) == 1:
        return "top"
    if module.startswith("xtrace.experimental.sparse"):
        return "top"  # defined by vmap, jit and derivatives
    known = parts[1]
    if known in ALLOWED:
        return known
    return "libraries" if (ROOT / "xtrace" / known).is_dir() else "top"


@functools.cache
def modules() -> dict[str, pathlib.Path]:
    found = {}
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            name = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
            found[name.removesuffix(".__init__")] = path
    return found


@functools.cache
def imports(module: str, path: pathlib.Path) -> list[tuple[str, int]]:
    """Every import of a module with its line, type-only ones left out: the modules meant, not names taken from them."""
    tree = ast.parse(path.read_text())
    typed = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.append((inner if inner in modules() else node.module or "", node.lineno))
    return found


def _excepted(module: str, imported: str) -> bool:
    return any(module == m and (imported == i or imported.startswith(i + ".")) for m, i in EXCEPTIONS)


@pytest.mark.parametrize("package", FOLDERS)
def test_arrows_point_one_way(package):
    wrong = []
    for module, path in modules().items():
        if not path.is_relative_to(FOLDERS[package]):
            continue
        allowed = ALLOWED[layer(module)]
        for imported, line in imports(module, path):
            if (
                imported.partition(".")[0] == "xtrace"
                and layer(imported) not in allowed
                and not _excepted(module, imported)
            ):
                where = f"{path.relative_to(ROOT)}:{line}"
                wrong.append(f"{where} ({layer(module)}) imports {imported} ({layer(imported)})")
    assert not wrong, "imports against the layers:\n" + "\n".join(wrong)


def test_jaxlib_private_names_are_in_one_file():
    wrong = []
    for module, path in modules().items():
        if module == "xtrace.runtime.jaxlib_api":
            continue
        for imported, line in imports(module, path):
            private = imported.startswith(("jaxlib._jax", "jaxlib.xla_client", "jaxlib.xla_extension"))
            # `from jaxlib import _jax` is seen as jaxlib: what is taken from it matters then.
            bare = imported == "jaxlib" and layer(module) != "cli"
            if private or bare:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {imported}")
    assert not wrong, "jaxlib's private names outside runtime/jaxlib_api.py:\n" + "\n".join(wrong)


def test_mlir_is_in_lowering():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {imported}"
        for module, path in modules().items()
        if layer(module) not in ("lowering", "seam")
        for imported, line in imports(module, path)
        if imported.startswith("jaxlib.mlir")
    ]
    assert not wrong, "MLIR outside lowering/:\n" + "\n".join(wrong)


def test_nothing_imports_jax():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for module, path in modules().items()
        for imported, line in imports(module, path)
        if imported.partition(".")[0] == "jax"
    ]
    assert not wrong, f"imports of jax: {', '.join(wrong)}"


def test_exceptions_are_needed():
    for module, imported in EXCEPTIONS:
        assert any(i == imported or i.startswith(imported + ".") for i, _ in imports(module, modules()[module])), (
            f"{module} no longer imports {imported}: the exception can go"
        )
