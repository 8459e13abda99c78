"""Flags: one table, each flag a jaxlib Config (a global value plus a per-thread override).

A flag answers to its JAX name (`jax_enable_x64`) and its own (`enable_x64`), is initialised from the
environment (`XTRACE_X`, then `JAX_X`), and is a context manager factory: `with enable_x64(True): ...`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from xtrace.runtime import jaxlib_api


def _parse_bool(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on", "y", "t"):
        return True
    if lowered in ("0", "false", "no", "off", "n", "f", ""):
        return False
    raise ValueError(f"expected a boolean (1/0, true/false, on/off), got {text!r}")


class Flag:
    """One configuration value, settable globally and, as a context manager, for the current thread.

    `value` is what the current thread sees. Flags with `in_jit_key` take part in the key of every
    compiled call, so changing them retraces.
    """

    __slots__ = ("name", "default", "help", "parse", "choices", "state", "on_update")

    def __init__(
        self,
        name: str,
        default: Any,
        help: str,
        *,
        parse: Callable[[str], Any],
        choices: tuple[Any, ...] | None,
        in_jit_key: bool,
    ) -> None:
        self.name = name
        self.default = default
        self.help = help
        self.parse = parse
        self.choices = choices
        self.on_update: Callable[[Any], None] | None = None
        self.state = jaxlib_api.Config(
            "xtrace_" + name, default, include_in_jit_key=in_jit_key, include_in_trace_context=in_jit_key
        )

    @property
    def value(self) -> Any:
        return self.state.value

    def check(self, value: Any) -> Any:
        if self.choices is not None and value not in self.choices:
            allowed = ", ".join(repr(c) for c in self.choices)
            raise ValueError(f"config flag {self.name!r} must be one of {allowed}; got {value!r}")
        if isinstance(self.default, bool) and not isinstance(value, bool):
            if value in (0, 1):
                return bool(value)
            raise ValueError(f"config flag {self.name!r} must be a bool; got {value!r}")
        return value

    def set_global(self, value: Any) -> None:
        value = self.check(value)
        self.state.set_global(value)
        if self.on_update is not None:
            self.on_update(value)

    @contextlib.contextmanager
    def __call__(self, value: Any = True) -> Iterator[None]:
        """Set the flag for the current thread while the `with` block runs."""
        value = self.check(value)
        previous = self.state.swap_local(value)
        try:
            yield
        finally:
            self.state.swap_local(previous)  # restores "unset in this thread" too

    def __repr__(self) -> str:
        return f"<flag {self.name}={self.value!r}>"


class Configuration:
    """All flags: `config.update("jax_enable_x64", True)`, `config.enable_x64.value`, `config.jax_enable_x64`."""

    def __init__(self) -> None:
        object.__setattr__(self, "flags", {})

    def define(
        self,
        name: str,
        default: Any,
        help: str,
        *,
        parse: Callable[[str], Any] | None = None,
        choices: tuple[Any, ...] | None = None,
        in_jit_key: bool = False,
    ) -> Flag:
        if parse is None:
            parse = _parse_bool if isinstance(default, bool) else type(default) if default is not None else str
        flag = Flag(name, default, help, parse=parse, choices=choices, in_jit_key=in_jit_key)
        for variable in (f"XTRACE_{name.upper()}", f"JAX_{name.upper()}"):
            text = os.environ.get(variable)
            if text is not None:
                try:
                    flag.state.set_global(flag.check(parse(text)))
                except ValueError as error:
                    raise ValueError(f"environment variable {variable}={text!r}: {error}") from None
                break
        self.flags[name] = flag
        return flag

    def find(self, name: str) -> Flag:
        flag = self.flags.get(name.removeprefix("jax_").removeprefix("xtrace_"))
        if flag is None:
            raise AttributeError(f"unrecognized config option: {name!r}; `xtrace info --flags` lists them")
        return flag

    def update(self, name: str, value: Any) -> None:
        """Set the flag `name` (with or without the `jax_` prefix) for all threads."""
        self.find(name).set_global(value)

    def read(self, name: str) -> Any:
        return self.find(name).value

    @property
    def x64_enabled(self) -> bool:
        return self.flags["enable_x64"].value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.find(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)


config = Configuration()
_define = config.define

enable_x64 = _define(
    "enable_x64", False, "64-bit types are allowed; otherwise they are narrowed to 32 bits", in_jit_key=True
)
disable_jit = _define(
    "disable_jit", False, "jit runs the Python function instead of a compiled program", in_jit_key=True
)
post_hook = _define("post_hook", None, "internal hook of the C++ fast path", parse=str)
#: None outside any trace. In the jit key, so that a call made while tracing never takes the compiled fast path.
trace_state = _define("trace_state", None, "internal: whether this thread is tracing", in_jit_key=True)
default_matmul_precision = _define(
    "default_matmul_precision",
    None,
    "precision of dots and convolutions that don't set one: default, high, highest, float32, tensorfloat32, bfloat16 …",
    in_jit_key=True,
)
numpy_rank_promotion = _define(
    "numpy_rank_promotion",
    "allow",
    "what an implicit rank promotion does",
    choices=("allow", "warn", "raise"),
    in_jit_key=True,
)
numpy_dtype_promotion = _define(
    "numpy_dtype_promotion",
    "standard",
    "standard: JAX's lattice; strict: mixed dtypes are an error",
    choices=("standard", "strict"),
    in_jit_key=True,
)
threefry_partitionable = _define("threefry_partitionable", True, "counter layout of random bits", in_jit_key=True)
default_prng_impl = _define(
    "default_prng_impl",
    "threefry2x32",
    "implementation behind random.key and random.PRNGKey",
    choices=("threefry2x32", "rbg", "unsafe_rbg"),
    in_jit_key=True,
)
debug_nans = _define("debug_nans", False, "check every result for NaN and raise FloatingPointError", in_jit_key=True)
debug_infs = _define(
    "debug_infs", False, "check every result for infinities and raise FloatingPointError", in_jit_key=True
)
debug_key_reuse = _define("debug_key_reuse", False, "raise when a random key is used twice", in_jit_key=True)
check_tracer_leaks = _define(
    "check_tracer_leaks", False, "raise at the end of a trace that leaked tracers", in_jit_key=True
)
check_jaxprs = _define("check_jaxprs", False, "run the executable specification on every finished jaxpr")
log_compiles = _define("log_compiles", False, "log each trace and compile with its cause and cost")
transfer_guard = _define(
    "transfer_guard", "allow", "what an implicit transfer does", choices=("allow", "log", "disallow")
)
default_device = _define("default_device", None, "device where uncommitted values are placed", in_jit_key=True)
platforms = _define("platforms", None, "comma-separated platforms to initialise, the first one the default")
num_cpu_devices = _define("num_cpu_devices", -1, "how many CPU devices to make; -1: one, or what XLA_FLAGS says")
inline_constant_bytes = _define(
    "inline_constant_bytes",
    256,
    "closed-over arrays up to this size become constants of the program, larger ones hidden arguments",
)
traceback_filtering = _define(
    "traceback_filtering",
    "auto",
    "hide xtrace's own frames in tracebacks",
    choices=("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
)
compilation_cache_dir = _define("compilation_cache_dir", None, "folder of the persistent compile cache")
softmax_custom_jvp = _define("softmax_custom_jvp", True, "accepted for compatibility")
enable_custom_prng = _define("enable_custom_prng", False, "PRNGKey returns typed keys", in_jit_key=True)

jaxlib_api.set_enable_x64_state(enable_x64.state)
jaxlib_api.set_disable_jit_state(disable_jit.state)
jaxlib_api.set_post_hook_state(post_hook.state)
