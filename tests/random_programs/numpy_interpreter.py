"""A second meaning of jaxprs: a NumPy function for each primitive, and an interpreter that calls them in order.

It shares nothing with lowering or with XLA. Each function gets the equation (types and parameters) and its operands.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes  # noqa: F401  (bfloat16 for NumPy)
import numpy as np

from xtrace.core.jaxpr import Jaxpr, Literal
from xtrace.lax.gathers import GatherScatterMode

RULES: dict[str, Callable[..., Any]] = {}


def evaluate(jaxpr: Jaxpr, *args: Any) -> list[np.ndarray]:
    """The results of a jaxpr on NumPy arrays."""
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, [np.asarray(c) for c in jaxpr.consts]))
    env.update(zip(jaxpr.invars, [np.asarray(x) for x in args], strict=True))

    def read(v: Any) -> np.ndarray:
        return np.asarray(v.val, v.aval.dtype) if type(v) is Literal else env[v]

    with np.errstate(all="ignore"):
        for eqn in jaxpr.eqns:
            outs = RULES[eqn.primitive.name](eqn, *[read(v) for v in eqn.invars])
            outs = outs if eqn.primitive.multiple_results else [outs]
            for v, out in zip(eqn.outvars, outs, strict=True):
                out = np.asarray(out)
                if out.shape != v.aval.shape:
                    raise AssertionError(f"{eqn}: NumPy gives the shape {out.shape}")
                env[v] = out.astype(v.aval.dtype, copy=False)
    return [read(v) for v in jaxpr.outvars]


def rule(*names: str) -> Callable[[Any], Any]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name] = function
        return function

    return register


# -- elementwise -----------------------------------------------------------------------------------------------------


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[float])(x)


_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in (
        "sign floor ceil exp exp2 expm1 log log2 log1p sin cos tan sinh cosh tanh sqrt cbrt square abs conj real imag"
    ).split()},
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "neg": np.negative, "is_finite": np.isfinite, "erf": _erf,
    "erfc": lambda x: np.vectorize(math.erfc, otypes=[float])(x),
    "lgamma": lambda x: np.vectorize(math.lgamma, otypes=[float])(x),
    "rsqrt": lambda x: 1 / np.sqrt(x), "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "one_minus_square": lambda x: 1 - x * x, "not": np.invert,
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "pow": np.power, "rem": np.fmod,
    "max": np.maximum, "min": np.minimum, "nextafter": np.nextafter, "complex": lambda x, y: x + 1j * y,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shift_left": np.left_shift,
    "shift_right_arithmetic": np.right_shift, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "stop_gradient": np.array, "copy": np.array, "device_put": np.array,
}  # fmt: skip

for _name, _function in _ELEMENTWISE.items():
    RULES[_name] = lambda eqn, *args, _function=_function: _function(*args)

RULES["clamp"] = lambda eqn, low, x, high: np.minimum(np.maximum(x, low), high)
RULES["integer_pow"] = lambda eqn, x: (
    np.power(x, eqn.params["y"]) if eqn.params["y"] >= 0 else 1 / x ** -eqn.params["y"]
)
RULES["round"] = lambda eqn, x: np.where(
    eqn.params["rounding_method"].name == "TO_NEAREST_EVEN", np.round(x), np.trunc(x + np.copysign(0.5, x))
)
RULES["polynomial"] = lambda eqn, x, *coeffs: sum(c * x**n for n, c in enumerate(coeffs))
RULES["optimization_barrier"] = lambda eqn, *args: list(args)


@rule("div")
def _div(eqn: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":  # towards zero
        return np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))
    return x / y


@rule("select_n")
def _select_n(eqn: Any, which: Any, *cases: Any) -> Any:
    return np.choose(np.broadcast_to(which, cases[0].shape).astype(int), cases)


@rule("convert_element_type")
def _convert(eqn: Any, x: Any) -> Any:
    dtype = eqn.params["new_dtype"]
    return (x.real if x.dtype.kind == "c" and np.dtype(dtype).kind != "c" else x).astype(dtype)


@rule("reduce_precision")
def _reduce_precision(eqn: Any, x: Any) -> Any:
    kept = (eqn.params["exponent_bits"], eqn.params["mantissa_bits"])
    named = {(5, 10): "float16", (8, 7): "bfloat16", (8, 23): "float32", (11, 52): "float64"}.get(kept)
    if named is not None:
        return x.astype(named)
    assert kept[0] == 11  # the exponents of float64: only the mantissa is rounded, half to even
    mantissa, exponent = np.frexp(x)
    scale = 2.0 ** (kept[1] + 1)
    return np.ldexp(np.rint(mantissa * scale) / scale, exponent)


# -- shapes ----------------------------------------------------------------------------------------------------------


@rule("broadcast_in_dim")
def _broadcast(eqn: Any, x: Any) -> Any:
    shape, dims = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    expanded = [1] * len(shape)
    for d, n in zip(dims, x.shape):
        expanded[d] = n
    return np.broadcast_to(x.reshape(expanded), shape)


@rule("reshape", "squeeze")
def _reshape(eqn: Any, x: Any) -> Any:
    return x.reshape(eqn.outvars[0].aval.shape)


@rule("iota")
def _iota(eqn: Any) -> Any:
    shape, dimension = eqn.params["shape"], eqn.params["dimension"]
    along = np.arange(shape[dimension]).reshape([-1 if d == dimension else 1 for d in range(len(shape))])
    return np.broadcast_to(along, shape).astype(eqn.params["dtype"])


@rule("pad")
def _pad(eqn: Any, x: Any, value: Any) -> Any:
    out = np.full(eqn.outvars[0].aval.shape, value, x.dtype)
    for index in np.ndindex(*x.shape):
        at = [low + i * (inner + 1) for i, (low, _, inner) in zip(index, eqn.params["padding_config"])]
        if all(0 <= a < n for a, n in zip(at, out.shape)):
            out[tuple(at)] = x[index]
    return out


@rule("split")
def _split(eqn: Any, x: Any) -> Any:
    return np.split(x, np.cumsum(eqn.params["sizes"])[:-1], eqn.params["axis"])


RULES["transpose"] = lambda eqn, x: np.transpose(x, eqn.params["permutation"])
RULES["rev"] = lambda eqn, x: np.flip(x, eqn.params["dimensions"])
RULES["tile"] = lambda eqn, x: np.tile(x, eqn.params["reps"])
RULES["concatenate"] = lambda eqn, *xs: np.concatenate(xs, eqn.params["dimension"])
RULES["stack"] = lambda eqn, *xs: np.stack(xs, eqn.params["axis"])
RULES["unstack"] = lambda eqn, x: list(np.moveaxis(x, eqn.params["axis"], 0))


# -- slices, gathers, scatters ---------------------------------------------------------------------------------------


@rule("slice")
def _slice(eqn: Any, x: Any) -> Any:
    p = eqn.params
    steps = p["strides"] or (1,) * x.ndim
    return x[tuple(slice(a, b, s) for a, b, s in zip(p["start_indices"], p["limit_indices"], steps))]


def _window(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> tuple[slice, ...]:
    starts = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, sizes)]
    return tuple(slice(s, s + size) for s, size in zip(starts, sizes))


@rule("dynamic_slice")
def _dynamic_slice(eqn: Any, x: Any, *starts: Any) -> Any:
    return x[_window(x, starts, eqn.params["slice_sizes"])]


@rule("dynamic_update_slice")
def _dynamic_update_slice(eqn: Any, x: Any, update: Any, *starts: Any) -> Any:
    out = x.copy()
    out[_window(x, starts, update.shape)] = update
    return out


def _positions(
    rank: int,
    indices: np.ndarray,
    windows: Sequence[int],
    dropped: Sequence[int],
    start_map: Sequence[int],
    batch: Sequence[int],
    index_batch: Sequence[int],
    shape: Sequence[int],
) -> Any:
    """(place in the windowed array, start of the slice, place within the slice), by the definition of gather.

    windows: dimensions of the result (or updates) that run within slices; shape: the shape of that array.
    """
    around = [d for d in range(len(shape)) if d not in windows]
    kept = [d for d in range(rank) if d not in dropped and d not in batch]
    for place in np.ndindex(*shape):
        at = tuple(place[d] for d in around)
        start, within = [0] * rank, [0] * rank
        for d, value in zip(start_map, indices[at]):
            start[d] = int(value)
        for d, i in zip(batch, index_batch):
            start[d] = at[i]
        for d, w in zip(kept, windows):
            within[d] = place[w]
        yield place, start, within


@rule("gather")
def _gather(eqn: Any, x: Any, indices: Any) -> Any:
    n, sizes, mode = (eqn.params[k] for k in ("dimension_numbers", "slice_sizes", "mode"))
    out = np.empty(eqn.outvars[0].aval.shape, x.dtype)
    for place, start, within in _positions(
        x.ndim, indices, n.offset_dims, n.collapsed_slice_dims, n.start_index_map, n.operand_batching_dims,
        n.start_indices_batching_dims, out.shape,
    ):  # fmt: skip
        last = [d - s for d, s in zip(x.shape, sizes)]
        if mode is GatherScatterMode.FILL_OR_DROP and not all(0 <= s <= e for s, e in zip(start, last)):
            out[place] = eqn.params["fill_value"]
        else:
            start = [min(max(s, 0), e) for s, e in zip(start, last)]
            out[place] = x[tuple(s + w for s, w in zip(start, within))]
    return out


_COMBINE = {"": lambda a, b: b, "-add": np.add, "-sub": np.subtract, "-mul": np.multiply, "-min": np.minimum,
            "-max": np.maximum}  # fmt: skip


@rule(*["scatter" + kind for kind in _COMBINE])
def _scatter(eqn: Any, x: Any, indices: Any, updates: Any) -> Any:
    n, mode = eqn.params["dimension_numbers"], eqn.params["mode"]
    combine = _COMBINE[eqn.primitive.name.removeprefix("scatter")]
    out = x.copy()
    kept = [d for d in range(x.ndim) if d not in n.inserted_window_dims and d not in n.operand_batching_dims]
    sizes = [1] * x.ndim
    for d, w in zip(kept, n.update_window_dims):
        sizes[d] = updates.shape[w]
    last = [d - s for d, s in zip(x.shape, sizes)]
    for place, start, within in _positions(
        x.ndim, indices, n.update_window_dims, n.inserted_window_dims, n.scatter_dims_to_operand_dims,
        n.operand_batching_dims, n.scatter_indices_batching_dims, updates.shape,
    ):  # fmt: skip
        if mode is GatherScatterMode.CLIP:
            start = [min(max(s, 0), e) for s, e in zip(start, last)]
        elif not all(0 <= s <= e for s, e in zip(start, last)):
            continue
        at = tuple(s + w for s, w in zip(start, within))
        out[at] = combine(out[at], updates[place])
    return out


# -- reductions, sorting, products -----------------------------------------------------------------------------------

_REDUCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
               "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
for _name, _function in _REDUCTIONS.items():
    RULES["reduce_" + _name] = lambda eqn, x, _f=_function: _f.reduce(x, axis=tuple(eqn.params["axes"]), dtype=x.dtype)

_CUMULATIVE = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
               "cumlogsumexp": np.logaddexp}  # fmt: skip


@rule(*_CUMULATIVE)
def _cumulative(eqn: Any, x: Any) -> Any:
    axis = eqn.params["axis"]
    x = np.flip(x, axis) if eqn.params["reverse"] else x
    out = _CUMULATIVE[eqn.primitive.name].accumulate(x, axis)
    return np.flip(out, axis) if eqn.params["reverse"] else out


RULES["argmax"] = lambda eqn, x: np.argmax(x, eqn.params["axes"][0])
RULES["argmin"] = lambda eqn, x: np.argmin(x, eqn.params["axes"][0])


@rule("reduce")
def _reduce(eqn: Any, *args: Any) -> Any:
    n = len(args) // 2
    dims = eqn.params["dimensions"]
    operands = [np.moveaxis(x, dims, range(len(dims))) for x in args[:n]]
    shape = operands[0].shape[len(dims) :]
    outs = [np.broadcast_to(i, shape).copy() for i in args[n:]]
    for at in np.ndindex(*shape):
        state = list(args[n:])
        for place in np.ndindex(*operands[0].shape[: len(dims)]):
            state = evaluate(eqn.params["jaxpr"], *state, *[x[place + at] for x in operands])
        for out, s in zip(outs, state):
            out[at] = s
    return outs


@rule("sort")
def _sort(eqn: Any, *args: Any) -> Any:
    axis, keys = eqn.params["dimension"], eqn.params["num_keys"]
    order = np.lexsort([x for x in reversed(args[:keys])], axis=axis)
    return [np.take_along_axis(x, order, axis) for x in args]


@rule("top_k")
def _top_k(eqn: Any, x: Any) -> Any:
    axis, k = eqn.params["axis"], eqn.params["k"]
    order = np.argsort(-x, axis=axis, kind="stable").take(range(k), axis)
    return [np.take_along_axis(x, order, axis), order]


@rule("dot_general")
def _dot(eqn: Any, x: Any, y: Any) -> Any:
    (cx, cy), (bx, by) = eqn.params["dimension_numbers"]
    letters = itertools.count()
    in_x = [next(letters) for _ in range(x.ndim)]
    in_y = [next(letters) for _ in range(y.ndim)]
    for i, j in [*zip(cx, cy), *zip(bx, by)]:
        in_y[j] = in_x[i]
    out = [in_x[i] for i in bx]
    out += [in_x[i] for i in range(x.ndim) if i not in bx and i not in cx]
    out += [in_y[j] for j in range(y.ndim) if j not in by and j not in cy]
    return np.einsum(x, in_x, y, in_y, out)


# -- primitives that hold jaxprs -------------------------------------------------------------------------------------


@rule("jit", "closed_call", "remat2")
def _call(eqn: Any, *args: Any) -> Any:
    return evaluate(eqn.params["jaxpr"], *args)


@rule("custom_jvp_call", "custom_vjp_call")
def _custom_call(eqn: Any, *args: Any) -> Any:
    return evaluate(eqn.params["call_jaxpr"], *args)


@rule("cond")
def _cond(eqn: Any, index: Any, *args: Any) -> Any:
    branches = eqn.params["branches"]
    return evaluate(branches[min(max(int(index), 0), len(branches) - 1)], *args)


@rule("while")
def _while(eqn: Any, *args: Any) -> Any:
    p = eqn.params
    a, b = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    state = list(args[b:])
    for _ in range(10_000):
        if not evaluate(p["cond_jaxpr"], *args[:a], *state)[0]:
            return state
        state = evaluate(p["body_jaxpr"], *args[a:b], *state)
    raise AssertionError("a loop of a random program doesn't end")


@rule("scan")
def _scan(eqn: Any, *args: Any) -> Any:
    p = eqn.params
    n_consts, n_carry = p["num_consts"], p["num_carry"]
    consts, carry, xs = args[:n_consts], list(args[n_consts : n_consts + n_carry]), args[n_consts + n_carry :]
    ys = [np.zeros(v.aval.shape, v.aval.dtype) for v in eqn.outvars[n_carry:]]
    for i in reversed(range(p["length"])) if p["reverse"] else range(p["length"]):
        outs = evaluate(p["jaxpr"], *consts, *carry, *[x[i] for x in xs])
        carry = outs[:n_carry]
        for y, out in zip(ys, outs[n_carry:]):
            y[i] = out
    return [*carry, *ys]
