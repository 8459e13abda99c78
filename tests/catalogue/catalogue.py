"""The op catalogue: what an entry says, and the sample operands it is tried on.

Neither xtrace nor SciPy is imported here: the entries are also run on JAX, to record what it answers.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pathlib
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
BOOL = (np.dtype("bool"),)
SIGNED = tuple(map(np.dtype, ("int8", "int16", "int32", "int64")))
UNSIGNED = tuple(map(np.dtype, ("uint8", "uint16", "uint32", "uint64")))
INTS = SIGNED + UNSIGNED
FLOATS = (np.dtype("float32"), np.dtype("float64"), np.dtype("float16"), BF16)
COMPLEX = (np.dtype("complex64"), np.dtype("complex128"))
INEXACT = FLOATS + COMPLEX
REAL = INTS + FLOATS
NUMERIC = INTS + INEXACT
ALL = BOOL + NUMERIC

#: Every check, by the name that `skip` uses.
CHECKS = ("value", "jit", "derivative", "second", "vmap", "compositions", "types", "jaxpr", "lowering")


def is_inexact(dtype: Any) -> bool:
    return np.dtype(dtype) in INEXACT


def is_complex(dtype: Any) -> bool:
    return np.dtype(dtype) in COMPLEX


class Draw:
    """Seeded random operands."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def array(self, shape: Sequence[int], dtype: Any, low: float = -3.0, high: float = 3.0) -> np.ndarray:
        """Numbers between low and high (parts of complex ones too); integers include `high`, booleans ignore both."""
        dtype, shape = np.dtype(dtype), tuple(shape)
        if dtype == np.bool_:
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        if dtype in INTS:
            limits = np.iinfo(dtype)
            ends = max(int(np.ceil(low)), limits.min), min(int(np.floor(high)), limits.max)
            return np.asarray(self.rng.integers(ends[0], ends[1], shape, endpoint=True)).astype(dtype)
        values = self.rng.uniform(low, high, shape)
        if dtype in COMPLEX:
            values = values + 1j * self.rng.uniform(low, high, shape)
        return np.asarray(values).astype(dtype)

    def permutation(self, n: int) -> tuple[int, ...]:
        return tuple(int(i) for i in self.rng.permutation(n))


class Sample:
    """Operands (NumPy arrays, Python scalars) and static parameters of one call."""

    def __init__(self, *args: Any, **params: Any) -> None:
        self.args = args
        self.params = params

    @property
    def label(self) -> str:
        shown = [
            f"{x.dtype.name}[{','.join(map(str, x.shape))}]" if isinstance(x, np.ndarray) else f"{type(x).__name__}"
            for x in self.args
        ]
        return " ".join([*shown, *[f"{k}={v}" for k, v in self.params.items()]])

    @property
    def arrays(self) -> list[int]:
        """Positions of the operands that are arrays."""
        return [i for i, x in enumerate(self.args) if isinstance(x, np.ndarray)]

    @property
    def needs_x64(self) -> bool:
        wide = ("int64", "uint64", "float64", "complex128")
        return any(self.args[i].dtype.name in wide for i in self.arrays) or any(
            isinstance(v, str) and v in wide for v in self.params.values()
        )

    def with_args(self, args: Sequence[Any]) -> Sample:
        return Sample(*args, **self.params)


class Bad:
    """A call that must fail: its arguments (made with numpy as `np`), the error's class and a part of its message."""

    def __init__(self, error: type[Exception], match: str, *args: Any, **params: Any) -> None:
        self.error = error
        self.match = match
        self.args = args
        self.params = params


def find(root: Any, path: str) -> Any:
    """What is called `path` in the module `root`; modules that aren't loaded are."""
    found = root
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{part}")
    return found


@dataclasses.dataclass
class Op:
    """One public operation.

    name: where it is, e.g. "lax.sin" or "numpy.linalg.norm".
    samples: function of a Draw that yields Samples. Their shapes, dtypes and parameters must not depend on the draw.
    reference: function of NumPy operands and the parameters; None where the values are checked elsewhere. It gets
      floats as float64 and complex numbers as complex128 (unless `wide` is False).
    function: from the root module (xtrace, or jax) to the function that is called; default: the one named.
    differentiable: positions of the operands with derivatives; None: all inexact ones.
    tolerance: factor on the usual tolerance of each dtype.
    bad: calls that must fail.
    python_scalars: whether results for Python scalars in place of rank-0 operands are compared with JAX's too.
    skip: check -> the reason why it doesn't apply.
    aliases: other public names of the same object.
    superset: whether operands are taken that JAX refuses.
    family: the module it stands in.
    sampled: whether a default run tries it only if the seed chooses it: see `entries_for`.
    """

    name: str
    samples: Callable[[Draw], Iterator[Sample]]
    reference: Callable[..., Any] | None = None
    function: Callable[[Any], Callable[..., Any]] | None = None
    differentiable: tuple[int, ...] | None = None
    tolerance: float = 1.0
    bad: Sequence[Bad] = ()
    wide: bool = True
    python_scalars: bool = True
    skip: dict[str, str] = dataclasses.field(default_factory=dict)
    aliases: Sequence[str] = ()
    superset: bool = False
    family: str = ""
    sampled: bool = False

    def __post_init__(self) -> None:
        unknown = set(self.skip) - set(CHECKS)
        if unknown:
            raise ValueError(f"{self.name}: skip names unknown checks {sorted(unknown)}; there are {', '.join(CHECKS)}")

    def __repr__(self) -> str:
        return self.name

    def resolve(self, root: Any) -> Callable[..., Any]:
        """The function, in `root` (the module xtrace or jax)."""
        if self.function is not None:
            return self.function(root)
        return find(root, self.name)

    def all_samples(self, seed: int = 0) -> list[Sample]:
        return list(self.samples(Draw(zlib.crc32(f"{self.name}:{seed}".encode()))))


# -- makers of samples ---------------------------------------------------------------------------------------------

SHAPES = ((), (3,), (2, 3), (0,), (2, 0, 3))
SHAPE_PAIRS = (((), ()), ((3,), (3,)), ((2, 3), ()), ((), (2, 3)), ((2, 3), (2, 1)), ((1, 3), (2, 3)), ((0, 3), (0, 3)))

#: An operand's range: (low, high), or a function of (draw, shape, dtype) that makes it.
Range = Any


def _operand(draw: Draw, shape: Sequence[int], dtype: Any, limits: Range) -> np.ndarray:
    return np.asarray(limits(draw, shape, dtype)) if callable(limits) else draw.array(shape, dtype, *limits)


def unary(dtypes: Sequence[Any], low: Range = -3.0, high: float = 3.0, shapes: Any = SHAPES, **params: Any) -> Any:
    """Samples of an elementwise function of one operand: every shape with every dtype."""
    limits = low if callable(low) else (low, high)

    def samples(draw: Draw) -> Iterator[Sample]:
        for dtype in dtypes:
            for shape in shapes:
                yield Sample(_operand(draw, shape, dtype, limits), **params)

    return samples


def binary(
    dtypes: Sequence[Any], x: Range = (-3.0, 3.0), y: Range = None, shapes: Any = SHAPE_PAIRS, **params: Any
) -> Any:
    """Samples of an elementwise function of two operands of one dtype."""

    def samples(draw: Draw) -> Iterator[Sample]:
        for dtype in dtypes:
            for a, b in shapes:
                second = _operand(draw, b, dtype, x if y is None else y)
                yield Sample(_operand(draw, a, dtype, x), second, **params)

    return samples


def chain(*makers: Any) -> Any:
    """The samples of several makers."""
    return lambda draw: (s for m in makers for s in m(draw))


def away_from_zero(low: float, high: float) -> Range:
    """Values whose size is between low and high, of either sign where the dtype has one."""

    def make(draw: Draw, shape: Sequence[int], dtype: Any) -> np.ndarray:
        dtype = np.dtype(dtype)
        size = draw.array(shape, dtype, low, high)
        if dtype in UNSIGNED or dtype == np.bool_:
            return size
        sign = np.asarray(draw.rng.integers(0, 2, tuple(shape)) * 2 - 1)
        return np.asarray(size * sign.astype(dtype)).astype(dtype)

    return make


def between_integers(low: int, high: int) -> Range:
    """Values that are clear of whole numbers and of the halves between them."""

    def make(draw: Draw, shape: Sequence[int], dtype: Any) -> np.ndarray:
        whole = draw.rng.integers(low, high, tuple(shape))
        side = draw.rng.integers(0, 2, tuple(shape)) * 0.5
        return np.asarray(whole + side + draw.rng.uniform(0.1, 0.4, tuple(shape))).astype(dtype)

    return make


# -- finding entries and picking among them ------------------------------------------------------------------------

_NOT_FAMILIES = ("catalogue", "checks", "exemptions", "record", "conftest", "__init__")


@functools.cache
def catalogue() -> tuple[Op, ...]:
    """Every entry of every family: the modules beside this one that have OPS. Those with SAMPLED are big or dear."""
    found: list[Op] = []
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if path.stem not in _NOT_FAMILIES and not path.stem.startswith("test_"):
            module = importlib.import_module(f"tests.catalogue.{path.stem}")
            for op in module.OPS:
                op.family, op.sampled = path.stem, getattr(module, "SAMPLED", False)
                found.append(op)
    names = [name for op in found for name in (op.name, *op.aliases)]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise ValueError(f"catalogue entries with the same name: {sorted(twice)}")
    return tuple(found)


#: How many entries of the sampled families a default run tries in each check.
_SAMPLED_ENTRIES = 8


def entries_for(check: str | None, seed: int, full: bool) -> list[Op]:
    """The entries that a check runs over: all that don't skip it, but few of the sampled families unless `full`."""
    fitting = [op for op in catalogue() if check not in op.skip]
    few = [op for op in fitting if op.sampled]
    if full or len(few) <= _SAMPLED_ENTRIES:
        return fitting
    chosen = {op.name for op in random.Random(f"{seed}:{check}").sample(few, _SAMPLED_ENTRIES)}
    return [op for op in fitting if not op.sampled or op.name in chosen]


def pick(seed: int, full: bool, op: Op, check: str, candidates: Sequence[Any], count: int) -> list[Any]:
    """All `candidates` in a full run, else `count` of them by the run's seed."""
    if full or len(candidates) <= count:
        return list(candidates)
    chosen = random.Random(f"{seed}:{op.name}:{check}").sample(range(len(candidates)), count)
    return [candidates[i] for i in sorted(chosen)]
