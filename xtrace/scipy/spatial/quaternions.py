"""Unit quaternions [..., 4] with the scalar last, and the other forms of rotations they are computed from and to.

Each function is one of [..., n] arrays, whose leading axes broadcast. Where a formula has a removable singularity, at
the identity for example, its derivative is taken from the series and is finite.
"""

from __future__ import annotations

import math
from typing import Any

from xtrace import numpy as xnp
from xtrace.core import statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.scipy.special.declare import with_derivatives

#: Below this angle (radians) the series of sin(angle / 2) / angle and its reciprocal are exact in float32 and float64.
_SMALL = 1e-3
#: Angles closer than this to a singular configuration (gimbal lock) are taken to be in it, as SciPy does.
_SINGULAR = 1e-7


def axes_of(seq: str, count: int | None = None) -> tuple[tuple[int, ...], bool]:
    """The axes 0, 1, 2 that a sequence of Euler angles names and whether it is intrinsic (capital letters).

    Raises:
      ValueError: not 1 to 3 letters (or `count`) of one case, or the same axis twice in a row.
    """
    if count is not None and len(seq) != count:
        raise ValueError(f"Expected {count} axes, got {seq!r}: write one such as 'xyz' or 'ZYX'")
    statics.check_instance(seq, str, "seq", "letters of axes, such as 'xyz',")
    if not 1 <= len(seq) <= 3:
        raise ValueError(f"Expected axis specification to be a non-empty string of upto 3 characters, got {seq!r}")
    if not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq!r}")
    if any(a == b for a, b in zip(seq, seq[1:], strict=False)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq!r}")
    return tuple("xyz".index(letter) for letter in seq.lower()), seq.isupper()


def _norm(x: Any) -> Any:
    return xnp.sqrt(xnp.sum(x * x, axis=-1, keepdims=True))


def _columns(x: Any) -> list[Any]:
    return [x[..., i] for i in range(shaped(x).shape[-1])]


def _multiply(p: Any, q: Any) -> Any:
    """Hamilton's product, before any rounding is normalised away."""
    px, py, pz, pw = _columns(p)
    qx, qy, qz, qw = _columns(q)
    return xnp.stack(
        [
            pw * qx + qw * px + (py * qz - pz * qy),
            pw * qy + qw * py + (pz * qx - px * qz),
            pw * qz + qw * pz + (px * qy - py * qx),
            pw * qw - px * qx - py * qy - pz * qz,
        ],
        axis=-1,
    )


@composite
def normalize(q: Any) -> Any:
    return q / _norm(q)


@composite
def multiply(p: Any, q: Any) -> Any:
    return normalize(_multiply(p, q))


@composite
def inverse(q: Any) -> Any:
    return xnp.concatenate([-q[..., :3], q[..., 3:]], axis=-1)


@composite
def canonical(q: Any) -> Any:
    """Of q and -q the one whose last non-zero number, scalar first in importance, is positive."""
    x, y, z, w = _columns(q)
    negative = z < 0
    for more_important in (y, x, w):
        negative = (more_important < 0) | ((more_important == 0) & negative)
    return xnp.where(negative[..., None], -q, q)


@composite
def angle(q: Any) -> Any:
    """The angle of rotation, 0 to pi."""
    return 2 * xnp.arctan2(_norm(q[..., :3])[..., 0], xnp.abs(q[..., 3]))


@composite
def to_matrix(q: Any) -> Any:
    x, y, z, w = _columns(q)
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
    ]
    return xnp.stack([xnp.stack(row, axis=-1) for row in rows], axis=-2)


@composite
def from_matrix(m: Any) -> Any:
    """Of four formulas, one for each component, that of the largest component (Markley, 2008)."""
    (a, b, c), (d, e, f), (g, h, i) = ([m[..., j, k] for k in range(3)] for j in range(3))
    trace = a + e + i
    by_component = [
        [1 - trace + 2 * a, d + b, g + c, h - f],
        [d + b, 1 - trace + 2 * e, h + f, c - g],
        [g + c, h + f, 1 - trace + 2 * i, d - b],
        [h - f, c - g, d - b, 1 + trace],
    ]
    best = xnp.argmax(xnp.stack([a, e, i, trace], axis=-1), axis=-1)[..., None]
    q = xnp.stack(by_component[3], axis=-1)
    for k in range(3):
        q = xnp.where(best == k, xnp.stack(by_component[k], axis=-1), q)
    return normalize(q)


@composite
def to_mrp(q: Any) -> Any:
    """Modified Rodrigues parameters: the axis times tan(angle / 4)."""
    sign = xnp.where(q[..., 3:] < 0, -1, 1).astype(q.dtype)
    return sign * q[..., :3] / (1 + sign * q[..., 3:])


@composite
def from_mrp(mrp: Any) -> Any:
    square = xnp.sum(mrp * mrp, axis=-1, keepdims=True)
    return xnp.concatenate([2 * mrp, 1 - square], axis=-1) / (1 + square)


@composite(static_argnames=("degrees",))
def to_rotvec(q: Any, degrees: bool) -> Any:
    q = xnp.where(q[..., 3:] < 0, -q, q)
    vector, w = q[..., :3], q[..., 3:]
    sine2 = xnp.sum(vector * vector, axis=-1, keepdims=True)
    small = sine2 <= (_SMALL / 2) ** 2
    sine = xnp.sqrt(xnp.where(small, 1, sine2))
    # angle / sin(angle / 2), with the angle's series in sin(angle / 2) near 0
    scale = xnp.where(small, 2 + sine2 / 3 + 3 * sine2 * sine2 / 20, 2 * xnp.arctan2(sine, w) / sine)
    return (xnp.rad2deg(scale) if degrees else scale) * vector


@composite(static_argnames=("degrees",))
def from_rotvec(rotvec: Any, degrees: bool) -> Any:
    rotvec = xnp.deg2rad(rotvec) if degrees else rotvec
    angle2 = xnp.sum(rotvec * rotvec, axis=-1, keepdims=True)
    small = angle2 <= _SMALL**2
    turn = xnp.sqrt(xnp.where(small, 1, angle2))
    scale = xnp.where(small, 0.5 - angle2 / 48 + angle2 * angle2 / 3840, xnp.sin(turn / 2) / turn)
    w = xnp.where(small, 1 - angle2 / 8 + angle2 * angle2 / 384, xnp.cos(turn / 2))
    return xnp.concatenate([scale * rotvec, w], axis=-1)


@composite(static_argnames=("axes", "intrinsic", "degrees"))
def from_euler(angles: Any, axes: tuple[int, ...], intrinsic: bool, degrees: bool) -> Any:
    """Turns about coordinate axes, angles [..., len(axes)], one after the other."""
    half = (xnp.deg2rad(angles) if degrees else angles) / 2
    sine, cosine = xnp.sin(half), xnp.cos(half)
    out = None
    for i, axis in enumerate(axes):
        zero = xnp.zeros_like(sine[..., i])
        turn = xnp.stack([*(sine[..., i] if k == axis else zero for k in range(3)), cosine[..., i]], axis=-1)
        if out is None:
            out = turn
        else:
            out = _multiply(out, turn) if intrinsic else _multiply(turn, out)
    return out


def _wrapped(x: Any) -> Any:
    """Angles brought to [-pi, pi)."""
    return (x + math.pi) % (2 * math.pi) - math.pi


@composite(static_argnames=("axes", "intrinsic", "degrees"))
def to_euler(q: Any, axes: tuple[int, ...], intrinsic: bool, degrees: bool) -> Any:
    """Euler angles [..., 3]; where they are not unique (gimbal lock) the third is 0.

    Source: Bernardes and Viollet, "Quaternion to Euler angles conversion: a direct, general and computationally
    efficient method", 2022, which SciPy follows.
    """
    i, j, k = axes[::-1] if intrinsic else axes
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    parts = _columns(q)
    if symmetric:
        a, b, c, d = parts[3], parts[i], parts[j], parts[k] * sign
    else:
        a, b = parts[3] - parts[j], parts[i] + parts[k] * sign
        c, d = parts[j] + parts[3], parts[k] * sign - parts[i]
    middle = 2 * xnp.arctan2(xnp.hypot(c, d), xnp.hypot(a, b))
    half_sum, half_difference = xnp.arctan2(b, a), xnp.arctan2(d, c)
    at_zero, at_pi = xnp.abs(middle) <= _SINGULAR, xnp.abs(middle - math.pi) <= _SINGULAR
    # first and last are those of an extrinsic sequence; an intrinsic one is the reversed extrinsic one.
    locked = xnp.where(at_zero, 2 * half_sum, 2 * half_difference * (1 if intrinsic else -1))
    singular, zero = at_zero | at_pi, xnp.zeros_like(middle)
    first, last = half_sum - half_difference, half_sum + half_difference
    if intrinsic:
        first, last = xnp.where(singular, zero, first), xnp.where(singular, locked, last)
    else:
        first, last = xnp.where(singular, locked, first), xnp.where(singular, zero, last)
    if not symmetric:
        last = last * sign
        middle = middle - math.pi / 2
    angles = _wrapped(xnp.stack([last, middle, first] if intrinsic else [first, middle, last], axis=-1))
    return xnp.rad2deg(angles) if degrees else angles


def _turn_of_leading_vector(t: Any, m: Any) -> Any:
    """The derivative of `_leading_vector`; the other eigenvalues may be equal, as those of two rotations are."""
    v = _leading_vector(m)
    onto = v[:, None] * v
    change = t @ v
    gaps = xnp.eye(4, dtype=shaped(m).dtype) * (v @ m @ v) - m + onto
    return xnp.linalg.solve(gaps, change - onto @ change)


@with_derivatives(_turn_of_leading_vector)
def _leading_vector(m: Any) -> Any:
    return xnp.linalg.eigh(m)[1][:, -1]


@composite
def mean(q: Any, weights: Any) -> Any:
    """The eigenvector of the largest eigenvalue of the weighted sum of q q^T (Markley et al., 2007)."""
    return _leading_vector((weights[:, None] * q).T @ q)


@composite(static_argnames=("inverse",))
def rotate(q: Any, vectors: Any, inverse: bool) -> Any:
    matrix = to_matrix(q)
    return xnp.sum((xnp.matrix_transpose(matrix) if inverse else matrix) * vectors[..., None, :], axis=-1)
