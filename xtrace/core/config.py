"""Flags: one table, each flag a jaxlib Config (a global value plus a per-thread override).

A flag answers to its JAX name (`jax_enable_x64`) and its own (`enable_x64`), is initialised from the
environment (`XTRACE_X`, then `JAX_X`), and is a context manager factory: `with enable_x64(True): ...`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any, NoReturn

from xtrace.core import config_options
from xtrace.runtime import jaxlib_api


def _parse_bool(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on", "y", "t"):
        return True
    if lowered in ("0", "false", "no", "off", "n", "f"):
        return False
    raise ValueError("expected a boolean (1/0, true/false, on/off)")


def _parse_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("expected an integer") from None


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("expected a number") from None


_A_TYPE = {int: "an int", str: "a string", float: "a number"}
_PARSERS: dict[type, Callable[[str], Any]] = {bool: _parse_bool, int: _parse_int, float: _parse_float}


_UNSET: Any = type("_Unset", (), {"__repr__": lambda self: "..."})()


class Flag:
    """One configuration value, settable globally and, as a context manager, for the current thread.

    `value` is what the current thread sees. Flags with `in_jit_key` take part in the key of every
    compiled call, so changing them retraces.
    """

    __slots__ = (
        "name",
        "default",
        "help",
        "parse",
        "choices",
        "types",
        "internal",
        "state",
        "on_update",
        "on_override",
        "validate",
        "in_trace_context",
    )

    def __init__(
        self,
        name: str,
        default: Any,
        help: str,
        *,
        parse: Callable[[str], Any],
        choices: tuple[Any, ...] | None,
        types: tuple[type, ...],
        internal: bool,
        in_jit_key: bool,
        in_trace_context: bool,
    ) -> None:
        self.name = name
        self.default = default
        self.help = help
        self.parse = parse
        self.choices = choices
        self.types = types
        self.internal = internal
        self.on_update: Callable[[Any], None] | None = None
        #: Called with the value that a block sets in its thread; returns what to call at the end of the block.
        self.on_override: Callable[[Any], Callable[[], None]] | None = None
        #: Raises ValueError for a value of the right type that the flag can't have; set by who knows more of it.
        self.validate: Callable[[Any], Any] | None = None
        self.in_trace_context = in_trace_context
        self.state = jaxlib_api.Config(
            "xtrace_" + name, default, include_in_jit_key=in_jit_key, include_in_trace_context=in_trace_context
        )

    @property
    def value(self) -> Any:
        return self.state.value

    def get_global(self) -> Any:
        """The value in threads that don't override it."""
        return self.state.get_global()

    def check(self, value: Any) -> Any:
        """Return `value` as the flag keeps it; raise ValueError if it is not one that the flag can have."""
        if self.choices is not None:
            if value not in self.choices:
                allowed = ", ".join(repr(c) for c in self.choices)
                raise ValueError(f"config flag {self.name!r} must be one of {allowed}; got {value!r}")
        elif bool in self.types:
            if value not in (0, 1):  # numpy's bools too
                raise ValueError(f"config flag {self.name!r} must be a bool; got {value!r}")
            return bool(value)
        elif self.types and (not isinstance(value, self.types) or isinstance(value, bool)):
            if value is not None or self.default is not None:
                kinds = " or ".join([_A_TYPE.get(t, f"a {t.__name__}") for t in self.types])
                kinds += " or None" * (self.default is None)
                raise ValueError(f"config flag {self.name!r} must be {kinds}; got {value!r}")
        if self.validate is not None:
            self.validate(value)
        return value

    def set_global(self, value: Any) -> None:
        value = self.check(value)
        self.state.set_global(value)
        if self.on_update is not None:
            self.on_update(value)

    def __call__(self, new_val: Any = _UNSET) -> Override:
        """Set the flag for the current thread while the `with` block, or the decorated function, runs.

        Args:
          new_val: the value; may be left out of flags that are bools: True.

        Returns:
          A context manager and decorator, which may be used again.

        Raises:
          TypeError: no value for a flag that is not a bool.
          ValueError: not a value that the flag can have.
        """
        if new_val is _UNSET:
            if bool not in self.types:
                raise TypeError(f"{self.name}() needs a value: with {self.name}(...)")
            new_val = True
        return Override(self, self.check(new_val))

    def __bool__(self) -> NoReturn:
        raise TypeError(f"a flag has no truth value; read {self.name}.value, or config.jax_{self.name}")

    def __repr__(self) -> str:
        return f"<flag {self.name}={self.value!r}>"


class Override(contextlib.ContextDecorator):
    """A flag set to a value in the current thread while a block runs. May be entered again, also within itself."""

    __slots__ = ("_flag", "_value", "_previous", "_undo")

    def __init__(self, flag: Flag, value: Any) -> None:
        self._flag = flag
        self._value = value
        self._previous: list[Any] = []
        self._undo: list[Callable[[], None]] = []

    def _recreate_cm(self) -> Override:  # each call of a decorated function, in whichever thread, has its own
        return Override(self._flag, self._value)

    def __enter__(self) -> None:
        self._previous.append(self._flag.state.swap_local(self._value))
        if self._flag.on_override is not None:
            self._undo.append(self._flag.on_override(self._value))

    def __exit__(self, *exc: object) -> None:
        self._flag.state.swap_local(self._previous.pop())  # restores "unset in this thread" too
        if self._undo:
            self._undo.pop()()


class Configuration:
    """All flags by name: `config.update("jax_enable_x64", True)`, `config.read("enable_x64")`, `config.jax_enable_x64`.

    Options of JAX that choose between its own implementations are accepted and kept, and change nothing here
    (`config_options.WITHOUT_EFFECT`).
    """

    flags: dict[str, Flag]
    without_effect: dict[str, Any]

    def __init__(self) -> None:
        object.__setattr__(self, "flags", {})
        object.__setattr__(self, "without_effect", dict(config_options.WITHOUT_EFFECT))

    def define(
        self,
        name: str,
        default: Any,
        help: str,
        *,
        parse: Callable[[str], Any] | None = None,
        choices: tuple[Any, ...] | None = None,
        types: tuple[type, ...] | None = None,
        internal: bool = False,
        in_jit_key: bool = False,
        in_trace_context: bool | None = None,
        variable: str | None = None,
    ) -> Flag:
        """Add a flag and take its value from the environment.

        Args:
          name: without a prefix.
          default: its value if the environment has none; its type decides what is accepted, None means str or None.
          help: one line, for `xtrace info --flags`.
          parse: reads the environment variable.
          choices: the values it can have; default included.
          types: the types it can have, if not those of the default; empty: any.
          internal: not for users: not in the environment, and unknown to `update` and `read`.
          in_jit_key: part of the key of compiled calls.
          in_trace_context: part of the key of traces; as `in_jit_key` if None.
          variable: another environment variable, read first.

        Returns:
          The flag.

        Raises:
          ValueError: the environment variable has a value that the flag can't have.
        """
        if types is None:
            types = (str,) if default is None else (type(default),)
        flag = Flag(
            name,
            default,
            help,
            parse=parse or _PARSERS.get(types[0] if types else str, str),
            choices=choices,
            types=types,
            internal=internal,
            in_jit_key=in_jit_key,
            in_trace_context=in_jit_key if in_trace_context is None else in_trace_context,
        )
        variables = () if internal else (variable, f"XTRACE_{name.upper()}", f"JAX_{name.upper()}")
        for variable in variables:
            text = variable and os.environ.get(variable)
            if text:  # an empty variable counts as unset
                try:
                    flag.state.set_global(flag.check(flag.parse(text)))
                except ValueError as error:
                    raise ValueError(f"environment variable {variable}={text!r}: {error}") from None
                break
        self.flags[name] = flag
        return flag

    def find(self, name: str) -> Flag:
        """Return the flag `name`, prefixed or not; raise AttributeError, with the nearest names, if there is none."""
        plain = _plain(name)
        flag = self.flags.get(config_options.ALIASES.get(plain, plain))
        if flag is None or flag.internal:
            self._unknown(name)
        return flag

    def _unknown(self, name: str) -> NoReturn:
        known = [n for n, f in self.flags.items() if not f.internal]
        prefix = "jax_" if name.startswith("jax_") else ""
        import difflib  # only on the way to an error

        near = [prefix + n for n in difflib.get_close_matches(_plain(name), known, n=3, cutoff=0.7)]
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`xtrace info --flags` lists them"
        raise AttributeError(f"unrecognized config option: {name!r}; {hint}")

    def update(self, name: str, value: Any) -> None:
        """Set the flag `name` (with or without the `jax_` prefix) for all threads.

        A thread inside `with flag(...):` keeps seeing the value of its block until it leaves it.

        Args:
          name: of a flag, or of one of JAX's options that have no effect here.
          value: the new value.

        Raises:
          AttributeError: no such flag; the nearest names are in the message.
          ValueError: not a value that the flag can have.

        Example:
          >>> import xtrace as xt
          >>> xt.config.update("jax_numpy_rank_promotion", "raise")
          >>> xt.config.jax_numpy_rank_promotion
          'raise'
          >>> xt.config.update("jax_numpy_rank_promotion", "allow")
        """
        if _plain(name) in self.without_effect:
            self.without_effect[_plain(name)] = value
        else:
            self.find(name).set_global(value)

    def read(self, name: str) -> Any:
        """Return the value of the flag `name` as the current thread sees it.

        Args:
          name: of a flag, or of one of JAX's options that have no effect here.

        Returns:
          The value.

        Raises:
          AttributeError: no such flag; the nearest names are in the message.
        """
        if _plain(name) in self.without_effect:
            return self.without_effect[_plain(name)]
        return self.find(name).value

    @property
    def values(self) -> dict[str, Any]:
        """The global value of every flag and accepted option, by its `jax_` name; a copy."""
        out = {f"jax_{n}": f.get_global() for n, f in self.flags.items() if not f.internal}
        return out | {config_options.jax_name(n): v for n, v in self.without_effect.items()}

    @property
    def x64_enabled(self) -> bool:
        return self.flags["enable_x64"].value

    def parse_flags_with_absl(self) -> None:
        """Take flags from the command line (`--jax_enable_x64`), for programs that use absl; nothing without absl."""
        from xtrace.core import config_absl

        config_absl.parse(self)

    def config_with_absl(self) -> None:
        """Make every flag an absl flag, `--jax_enable_x64` and so on, and take their values once absl has parsed."""
        from xtrace.core import config_absl

        config_absl.define(self)

    def complete_absl_config(self, absl_flags: Any) -> None:
        """Take the values of the flags that the command line has set from absl's FLAGS."""
        from xtrace.core import config_absl

        config_absl.complete(self, absl_flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self.values]

    def __repr__(self) -> str:
        changed = [f"{n}={f.value!r}" for n, f in self.flags.items() if not f.internal and f.value != f.default]
        return f"<config {', '.join(changed) or 'all defaults'}>"


def _plain(name: str) -> str:
    return name.removeprefix("jax_").removeprefix("xtrace_")


config = Configuration()
_define = config.define

enable_x64 = _define(
    "enable_x64", False, "64-bit types are allowed; otherwise they are narrowed to 32 bits", in_jit_key=True
)
explicit_x64_dtypes = _define(
    "explicit_x64_dtypes",
    "warn",
    "what becomes of a 64-bit dtype that a program asks for by name where enable_x64 is off",
    choices=("warn", "error", "allow"),
    in_jit_key=True,
)
disable_jit = _define(
    "disable_jit", False, "jit runs the Python function instead of a compiled program", in_jit_key=True
)
post_hook = _define("post_hook", None, "hook of the C++ fast path", types=(), internal=True)
#: None outside any trace. In the jit key, so that a call made while tracing never takes the compiled fast path.
trace_state = _define(
    "trace_state",
    None,
    "whether this thread is tracing",
    types=(),
    internal=True,
    in_jit_key=True,
    in_trace_context=False,  # a function is traced alike inside and outside other traces
)
#: Names and sizes of the mapped axes around: see core.axes.
mapped_axes = _define("mapped_axes", (), "named axes that are bound", types=(), internal=True, in_jit_key=True)
default_matmul_precision = _define(
    "default_matmul_precision",
    None,
    "precision of dots and convolutions that don't set one",
    choices=(None, *config_options.MATMUL_PRECISIONS),
    in_jit_key=True,
)
numpy_rank_promotion = _define(
    "numpy_rank_promotion",
    "allow",
    "what an implicit rank promotion does",
    choices=("allow", "warn", "raise"),
    in_jit_key=True,
)
check_static_indices = _define(
    "check_static_indices",
    False,
    "reading at an index that is known while tracing and out of bounds is an error",
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
    choices=("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32"),
    in_jit_key=True,
)
random_seed_offset = _define(
    "random_seed_offset", 0, "what is added to every seed that random.key and its like are given", in_jit_key=True
)
legacy_prng_key = _define(
    "legacy_prng_key",
    "allow",
    "what random functions do when given a raw key, an array of uint32",
    choices=("allow", "warn", "error"),
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
log_compiles = _define("log_compiles", False, "log each trace and compile with its cost")
explain_cache_misses = _define("explain_cache_misses", False, "log the cause of each trace: what in the call is new")
no_tracing = _define("no_tracing", False, "a call of a jitted function that would have to be traced raises")
no_execution = _define(
    "no_execution", False, "running a compiled program raises", in_jit_key=True, in_trace_context=False
)
default_device = _define(
    "default_device",
    None,
    "device, or platform, where uncommitted values are placed",
    types=(str, jaxlib_api.Device),
    parse=str,
    in_jit_key=True,
)
passes = _define(
    "passes",
    "default",
    "passes that programs go through: names, 'default', 'all', 'none', +NAME for one more, -NAME for one less",
    in_jit_key=True,
    in_trace_context=False,  # it takes effect after tracing
)
platforms = _define("platforms", None, "comma-separated platforms to initialise, the first one the default")
num_cpu_devices = _define("num_cpu_devices", -1, "how many CPU devices to make; -1: one, or what XLA_FLAGS says")
inline_constant_bytes = _define(
    "inline_constant_bytes",
    256,
    "closed-over arrays up to this size become constants of the program, larger ones hidden arguments",
)
log_checkpoint_residuals = _define(
    "log_checkpoint_residuals", False, "log as warnings what checkpointed functions save"
)
allow_f16_reductions = _define(
    "allow_f16_reductions", True, "sums in 16-bit floating point are allowed; otherwise they raise", in_jit_key=True
)
traceback_filtering = _define(
    "traceback_filtering",
    "auto",
    "hide xtrace's own frames in tracebacks",
    choices=("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
)
compilation_cache_dir = _define(
    "compilation_cache_dir", None, "folder of the persistent compile cache", variable="XTRACE_CACHE_DIR"
)
enable_compilation_cache = _define("enable_compilation_cache", True, "use the persistent compile cache if there is one")
persistent_cache_min_compile_time_secs = _define(
    "persistent_cache_min_compile_time_secs",
    0.0,
    "programs compiled faster than this are not kept",
    types=(float, int),
    parse=_parse_float,
)
persistent_cache_min_entry_size_bytes = _define(
    "persistent_cache_min_entry_size_bytes", 0, "compiled programs smaller than this are not kept"
)
compilation_cache_max_size = _define(
    "compilation_cache_max_size", 4 * 2**30, "bytes that the compile cache may have; -1: any number"
)
compilation_cache_include_metadata_in_key = _define(
    "compilation_cache_include_metadata_in_key",
    False,
    "source locations are part of a program's key: a hit has the locations of this very source",
)
enable_custom_prng = _define("enable_custom_prng", False, "PRNGKey returns typed keys", in_jit_key=True)

jaxlib_api.set_enable_x64_state(enable_x64.state)
jaxlib_api.set_disable_jit_state(disable_jit.state)
jaxlib_api.set_post_hook_state(post_hook.state)
