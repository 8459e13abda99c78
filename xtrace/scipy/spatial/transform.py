"""Rotations in three dimensions and their interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from xtrace import numpy as xnp
from xtrace import random
from xtrace.core.primitive import shaped
from xtrace.numpy import promotion
from xtrace.scipy.spatial import quaternions

__all__ = ["Rotation", "Slerp"]


def _inexact(name: str, x: Any, *trailing: int) -> Any:
    """x as a floating array whose last axes have the sizes `trailing`."""
    (x,) = promotion.promote_dtypes_inexact(xnp.asarray(x))
    shape = shaped(x).shape
    if shape[len(shape) - len(trailing) :] != trailing or len(shape) < len(trailing):
        raise ValueError(f"Rotation.{name} takes an array [..., {', '.join(map(str, trailing))}], got shape {shape}")
    return x


class Rotation(NamedTuple):
    """Rotations in three dimensions: one, or an array of them; a tree whose leaf is the quaternions.

    Make them with the methods `from_...`, `identity`, `random` and `concatenate`; `*` composes, the right factor first.

    Args:
      quat: unit quaternions [..., 4], scalar last.

    >>> import xtrace as xt
    >>> Rotation = xt.scipy.spatial.transform.Rotation
    >>> quarter = Rotation.from_euler("z", 90, degrees=True)
    >>> quarter.apply(xt.numpy.array([1.0, 0.0, 0.0])).round(5).tolist()
    [0.0, 1.0, 0.0]
    >>> turn = Rotation.from_euler("z", 30, degrees=True)
    >>> print((turn * turn).as_euler("xyz", degrees=True).round(2))
    [ 0.  0. 60.]
    """

    quat: Any

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """The rotations of a sequence of arrays of rotations, one array after the other."""
        return cls(xnp.concatenate([rotation.quat for rotation in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """From turns about coordinate axes.

        Args:
          seq: 1 to 3 letters: "xyz" for turns about fixed axes, "XYZ" for turns about the turned axes.
          angles: [..., len(seq)] floating, in radians; a number if there is one axis.
          degrees: angles are in degrees.

        Raises:
          ValueError: seq is no such sequence, or angles are not as many.
        """
        axes, intrinsic = quaternions.axes_of(seq)
        angles = _inexact("from_euler", angles)
        angles = xnp.atleast_1d(angles)
        if shaped(angles).shape[-1] != len(axes):
            raise ValueError(f"Expected `angles` [..., {len(axes)}] for seq {seq!r}, got shape {shaped(angles).shape}")
        return cls(quaternions.from_euler(angles, axes=axes, intrinsic=intrinsic, degrees=bool(degrees)))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """From orthogonal matrices [..., 3, 3] of determinant 1."""
        return cls(quaternions.from_matrix(_inexact("from_matrix", matrix, 3, 3)))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """From modified Rodrigues parameters [..., 3]: the axis times tan(angle / 4)."""
        return cls(quaternions.from_mrp(_inexact("from_mrp", mrp, 3)))

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """From quaternions [..., 4] of any length but 0, scalar last."""
        return cls(quaternions.normalize(_inexact("from_quat", quat, 4)))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """From rotation vectors [..., 3]: the axis times the angle in radians, or degrees."""
        return cls(quaternions.from_rotvec(_inexact("from_rotvec", rotvec, 3), degrees=bool(degrees)))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that leaves all in place; `num` of them if num is given."""
        one = xnp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype)
        return cls(one if num is None else xnp.broadcast_to(one, (num, 4)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Rotations uniform over all rotations: one, or `num` of them."""
        return cls.from_quat(random.normal(random_key, (4,) if num is None else (num, 4)))

    def __getitem__(self, indexer: Any) -> Rotation:
        """The rotations at an index of the leading axis.

        Raises:
          TypeError: this is a single rotation.
        """
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """How many rotations there are.

        Raises:
          TypeError: this is a single rotation.
        """
        if self.single:
            raise TypeError("Single rotation has no len().")
        return shaped(self.quat).shape[0]

    def __mul__(self, other: Any) -> Rotation:  # type: ignore[override]  # a tuple's is repetition
        """The rotation by `other` and then by this one; leading axes broadcast."""
        return Rotation(quaternions.multiply(self.quat, other.quat))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors [..., 3] rotated, or rotated back; leading axes broadcast with those of the rotations."""
        return quaternions.rotate(self.quat, _inexact("apply", vectors, 3), inverse=bool(inverse))

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Euler angles [..., 3] about the axes `seq` (three letters, as in from_euler), in radians or degrees.

        The first and third are from -pi to pi; where they are not unique (gimbal lock) the third is 0.
        """
        axes, intrinsic = quaternions.axes_of(seq, 3)
        return quaternions.to_euler(self.quat, axes=axes, intrinsic=intrinsic, degrees=bool(degrees))

    def as_matrix(self) -> Any:
        """Matrices [..., 3, 3]."""
        return quaternions.to_matrix(self.quat)

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters [..., 3], of length at most 1."""
        return quaternions.to_mrp(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Rotation vectors [..., 3]: the axis times the angle (0 to pi), in radians or degrees."""
        return quaternions.to_rotvec(self.quat, degrees=bool(degrees))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Quaternions [..., 4]; canonical: of the two that are the same rotation the one with positive scalar."""
        quat = quaternions.canonical(self.quat) if canonical else self.quat
        return xnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def inv(self) -> Rotation:
        """The rotations back."""
        return Rotation(quaternions.inverse(self.quat))

    def magnitude(self) -> Any:
        """The angles of the rotations, 0 to pi."""
        return quaternions.angle(self.quat)

    def mean(self, weights: Any | None = None) -> Rotation:
        """The rotation nearest to these, in the mean square of chordal distances.

        Args:
          weights: [len(self)]; None: all 1.

        Raises:
          ValueError: weights of another shape.
        """
        count, dtype = len(self), shaped(self.quat).dtype
        weights = xnp.ones(count, dtype) if weights is None else xnp.asarray(weights, dtype)
        if shaped(weights).shape != (count,):
            raise ValueError(
                f"Expected `weights` to be 1 dimensional with one value for each of {count} rotations, got shape "
                f"{shaped(weights).shape}"
            )
        return Rotation(quaternions.mean(self.quat, weights))

    @property
    def single(self) -> bool:
        """Whether this is one rotation and not an array of them."""
        return shaped(self.quat).ndim == 1


class Slerp(NamedTuple):
    """Rotations between given ones, turning at constant speed from each to the next (spherical linear interpolation).

    Make one with `Slerp.init`.

    Args:
      times: [n], increasing.
      timedelta: [n - 1], their differences.
      rotations: the first n - 1 rotations.
      rotvecs: [n - 1, 3], from each rotation to the next.

    >>> import xtrace as xt
    >>> from xtrace.scipy.spatial.transform import Rotation, Slerp
    >>> ends = Rotation.from_euler("z", xt.numpy.array([[0.0], [80.0]]), degrees=True)
    >>> Slerp.init([0.0, 2.0], ends)(0.5).as_euler("xyz", degrees=True).round(2).tolist()
    [0.0, 0.0, 20.0]
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """An interpolation of rotations at times [n], which must increase (a compiled program cannot check).

        Raises:
          TypeError: rotations are no Rotation.
          ValueError: fewer than 2 rotations, or another number of times.
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(f"`rotations` must be a `Rotation` instance, got {type(rotations).__name__}")
        if rotations.single or len(rotations) == 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        times = xnp.asarray(times, shaped(rotations.quat).dtype)
        if shaped(times).ndim != 1:
            raise ValueError(
                f"Expected times to be specified in a 1 dimensional array, got {shaped(times).ndim} dimensions."
            )
        if shaped(times).shape[0] != len(rotations):
            raise ValueError(
                f"Expected number of rotations to be equal to number of timestamps given, got {len(rotations)} "
                f"rotations and {shaped(times).shape[0]} timestamps."
            )
        starts, ends = rotations[:-1], rotations[1:]
        return cls(times, times[1:] - times[:-1], starts, (starts.inv() * ends).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at times: a number, or [m]."""
        at = xnp.asarray(times, shaped(self.times).dtype)
        if shaped(at).ndim > 1:
            raise ValueError(f"`times` must be at most 1-dimensional, got shape {shaped(at).shape}")
        before = xnp.clip(xnp.searchsorted(self.times, at) - 1, 0, shaped(self.timedelta).shape[0] - 1)
        part = (at - self.times[before]) / self.timedelta[before]
        return self.rotations[before] * Rotation.from_rotvec(self.rotvecs[before] * part[..., None])
