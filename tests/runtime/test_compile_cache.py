"""The persistent compile cache: found again by later processes, never a wrong program, never an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.runtime import cached_programs, compile_cache

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def cache(tmp_path):
    folder = tmp_path / "cache"
    with xt.config.flags["compilation_cache_dir"](str(folder)):
        compile_cache.reset()
        yield folder
    compile_cache.reset()


def programs(folder):
    return sorted(folder.glob("*.program"))


def compiled(fun, *args, **options):
    """A fresh jit of `fun` run once; what it gives, and whether each look-up hit."""
    cached_programs.lookups = []
    try:
        return xt.jit(fun, **options)(*args), [hit for _, hit in cached_programs.lookups]
    finally:
        cached_programs.lookups = None


def f(x):
    return xnp.sin(x) * 2


def test_a_program_is_kept_and_found(cache):
    out, hits = compiled(lambda x: f(x), X)
    assert hits == [False] and len(programs(cache)) == 1 and len(list(cache.glob("*.ref"))) >= 1
    again, hits = compiled(lambda x: f(x), X)
    assert hits == [True] and len(programs(cache)) == 1
    np.testing.assert_array_equal(out, again)
    np.testing.assert_allclose(again, np.sin(X) * 2, rtol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        dict(args=(X[:2],)),
        dict(args=(X.astype(np.int32),)),
        dict(fun=lambda x: f(x) + 1),
        dict(options=dict(compiler_options={"xla_cpu_enable_fast_math": True})),
        dict(options=dict(donate_argnums=0)),
    ],
    ids=["shape", "dtype", "operation", "compiler option", "donation"],
)
def test_other_programs_miss(cache, change):
    compiled(lambda x: f(x), X)
    args = change.get("args", (xt.device_put(X),))
    _, hits = compiled(change.get("fun", lambda x: f(x)), *args, **change.get("options", {}))
    assert hits == [False]


def test_without_the_reference_the_module_finds_it(cache):
    compiled(lambda x: f(x), X)
    for path in cache.glob("*.ref"):
        path.unlink()
    assert compiled(lambda x: f(x), X)[1] == [True]
    assert len(list(cache.glob("*.ref"))) >= 1


def test_closed_over_values(cache):
    small, large = np.ones(3, np.float32), np.arange(1000, dtype=np.float32)
    a, _ = compiled(lambda x: x + small, X[:3])
    b, hits = compiled(lambda x: x + 2 * small, X[:3])
    assert not np.array_equal(a, b) and hits == [False]
    a, _ = compiled(lambda x: x + large, 1.0)
    b, hits = compiled(lambda x: x + (large + 1), 1.0)
    assert hits == [False] or not np.array_equal(a, b)
    doubled = 2 * large
    c, hits = compiled(lambda x: x + doubled, 1.0)
    np.testing.assert_array_equal(c, 1 + doubled)  # large ones are arguments: one program, other values
    assert hits == [True]


def test_pytrees_static_arguments_and_randomness(cache):
    def g(tree, n):
        return {"out": tree["x"] * n, "noise": xt.random.normal(xt.random.key(n), (3,))}

    for n in (2, 3):
        first, _ = compiled(g, {"x": X}, n, static_argnums=1)
        again, hits = compiled(lambda tree, n: g(tree, n), {"x": X}, n, static_argnums=1)
        np.testing.assert_array_equal(first["noise"], again["noise"])
        np.testing.assert_array_equal(again["out"], X * n)


@pytest.mark.parametrize("damage", ["cut", "flip", "foreign", "renamed", "empty"])
def test_a_bad_entry_is_a_miss_with_one_warning(cache, damage):
    compiled(lambda x: x + 5, X)
    compiled(lambda x: f(x), X)
    good = {p: p.read_bytes() for p in programs(cache)}
    for path, data in good.items():
        if damage == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif damage == "flip":
            path.write_bytes(data[:-100] + bytes([data[-100] ^ 1]) + data[-99:])
        elif damage == "foreign":
            path.write_bytes(b"something else entirely, long enough to be read as a header of some kind")
        elif damage == "renamed":
            path.write_bytes(next(d for p, d in good.items() if p != path))
        else:
            path.write_bytes(b"")
    with pytest.warns(UserWarning, match="entry of the compile cache is ignored") as seen:
        out, hits = compiled(lambda x: f(x), X)
        compiled(lambda x: x + 5, X)
    assert hits == [False] and len(seen) == 1
    np.testing.assert_allclose(out, np.sin(X) * 2, rtol=1e-6)
    assert compiled(lambda x: f(x), X)[1] == [True]  # made anew


def test_a_damaged_reference_leads_nowhere(cache):
    compiled(lambda x: x + 5, X)
    compiled(lambda x: f(x), X)
    refs = [p for p in cache.glob("*.ref")]
    contents = [p.read_bytes() for p in refs]
    for path, data in zip(refs, contents[1:] + contents[:1]):
        path.write_bytes(data)  # each now says what another should
    np.testing.assert_allclose(compiled(lambda x: f(x), X)[0], np.sin(X) * 2, rtol=1e-6)
    np.testing.assert_array_equal(compiled(lambda x: x + 5, X)[0], X + 5)


def test_folders_that_others_may_write_to_are_not_used(cache):
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    with pytest.warns(UserWarning, match="users other than its owner may write to it"):
        np.testing.assert_array_equal(compiled(lambda x: x + 1, X)[0], X + 1)
    assert not list(cache.iterdir())


def test_entries_that_others_may_write_to_are_not_used(cache):
    compiled(lambda x: f(x), X)
    programs(cache)[0].chmod(0o666)
    with pytest.warns(UserWarning, match="users other than its owner"):
        assert compiled(lambda x: f(x), X)[1] == [False]


def test_new_folders_and_files_are_the_owners(cache):
    compiled(lambda x: f(x), X)
    assert cache.stat().st_mode & 0o077 == 0
    assert all(p.stat().st_mode & 0o077 == 0 for p in cache.iterdir())


def test_flags_switch_it_off(cache):
    with xt.config.flags["enable_compilation_cache"](False):
        compiled(lambda x: f(x), X)
    with xt.config.flags["persistent_cache_min_compile_time_secs"](1000.0):
        compiled(lambda x: f(x), X)
    with xt.config.flags["persistent_cache_min_entry_size_bytes"](10**9):
        compiled(lambda x: f(x), X)
    assert not programs(cache)


def test_the_least_recently_used_go_first(cache):
    for i in range(4):
        compiled(lambda x, i=i: x + i, X)
    order = programs(cache)
    for age, path in enumerate(order):
        os.utime(path, (time.time() - 100 * age,) * 2)
    store = compile_cache.current()
    size = order[0].stat().st_size
    removed = [key for key, _ in store.prune(max_bytes=int(2.5 * size))]
    assert removed == [order[3].stem, order[2].stem]
    assert {p.stem for p in programs(cache)} == {order[0].stem, order[1].stem}
    assert store.prune(unused_seconds=50)[0][0] == order[1].stem
    store.clear()
    assert not programs(cache) and not list(cache.glob("*.ref"))


def test_the_size_is_capped(cache):
    compiled(lambda x: f(x), X)
    size = programs(cache)[0].stat().st_size
    with xt.config.flags["compilation_cache_max_size"](int(2.5 * size)):
        for i in range(5):
            compiled(lambda x, i=i: f(x) + i, X)
    assert 1 <= len(programs(cache)) <= 2


def test_a_cache_that_cannot_be_written_warns_and_goes_on(cache, monkeypatch):
    def fails(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compile_cache.container, "write_file", fails)
    with pytest.warns(UserWarning, match="No space left"):
        np.testing.assert_array_equal(compiled(lambda x: x + 1, X)[0], X + 1)


def test_entries_tell_what_they_are(cache):
    compiled(lambda x: f(x), X)
    (entry,) = compile_cache.current().entries()
    parts = entry.header["parts"]
    assert parts["arguments"] == ["f32[4]"] and parts["operations"] == {"mul": 1, "sin": 1}
    assert parts["platform"] == "cpu" and entry.size > 1000 and not entry.header.get("damaged")
    json.dumps(entry.header)


def test_eager_operations_are_kept_too(cache):
    xt.lax.cosh(np.ones((3, 1, 7), np.float32))
    assert programs(cache)


SCRIPT = """
import sys, numpy as np, xtrace as xt, xtrace.numpy as xnp
from xtrace.runtime import cached_programs
cached_programs.lookups = []
def loss(w, x):
    return xnp.sum(xnp.tanh(x @ w["kernel"]) ** 2)
out = xt.jit(xt.grad(loss))({"kernel": np.ones((4, 3), np.float32)}, np.ones((2, 4), np.float32))
print([hit for _, hit in cached_programs.lookups], "jaxlib.mlir.ir" in sys.modules, float(out["kernel"].sum()))
"""


def test_a_second_process_neither_lowers_nor_compiles(tmp_path):
    def run(seed, folder):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd(), "XTRACE_CACHE_DIR": str(tmp_path / "c")}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=folder, env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip().rsplit(" ", 1)

    cold, value = run("1", tmp_path)
    warm, same = run("2", "/")
    assert (cold, warm) == ("[False] True", "[True] False") and value == same


def test_the_environment_variables_of_jax_work(tmp_path):
    env = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "c"), "PYTHONPATH": os.getcwd()}
    env.pop("XTRACE_CACHE_DIR", None)
    subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, check=True)
    assert programs(tmp_path / "c")


def test_no_folder_no_cache(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compile_cache.current() is None
        assert compiled(lambda x: f(x), X)[1] == []
