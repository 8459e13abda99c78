"""Rotations and their interpolation, against SciPy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as ReferenceRotation
from scipy.spatial.transform import Slerp as ReferenceSlerp

import xtrace as xt
from xtrace.scipy.spatial.transform import Rotation, Slerp
from xtrace.test_util import check_grads

RNG = np.random.default_rng(0)
QUATS = RNG.standard_normal((6, 4))
SEQUENCES = ["xyz", "zyx", "xzx", "XYZ", "ZYX", "YXY", "yxz", "ZXZ"]


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("quat", [QUATS, QUATS[0]], ids=["many", "one"])
def test_forms(quat):
    ours, reference = Rotation.from_quat(quat), ReferenceRotation.from_quat(quat)
    close(ours.as_quat(), reference.as_quat())
    close(ours.as_quat(canonical=True), reference.as_quat(canonical=True))
    close(ours.as_quat(scalar_first=True), reference.as_quat(scalar_first=True))
    close(ours.as_matrix(), reference.as_matrix())
    close(ours.as_mrp(), reference.as_mrp())
    close(ours.as_rotvec(), reference.as_rotvec())
    close(ours.as_rotvec(degrees=True), reference.as_rotvec(degrees=True))
    close(ours.magnitude(), reference.magnitude())
    close(ours.inv().as_quat(), reference.inv().as_quat())
    for seq in SEQUENCES:
        close(ours.as_euler(seq), reference.as_euler(seq))
        close(ours.as_euler(seq, degrees=True), reference.as_euler(seq, degrees=True))
    assert ours.single == reference.single


def test_made_from_forms():
    reference = ReferenceRotation.from_quat(QUATS)
    for ours in (
        Rotation.from_matrix(reference.as_matrix()),
        Rotation.from_mrp(reference.as_mrp()),
        Rotation.from_rotvec(reference.as_rotvec()),
        Rotation.from_rotvec(reference.as_rotvec(degrees=True), degrees=True),
        *(Rotation.from_euler(seq, reference.as_euler(seq)) for seq in SEQUENCES),
    ):
        close(ours.as_matrix(), reference.as_matrix())
    for seq, angles in (("x", 0.3), ("y", [[0.3], [1.0]]), ("zx", [0.2, 3.0]), ("ZXY", [[20, 30, 40]])):
        wanted = ReferenceRotation.from_euler(seq, angles, degrees=True)
        close(Rotation.from_euler(seq, angles, degrees=True).as_matrix(), wanted.as_matrix())


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("seq", SEQUENCES)
def test_gimbal_lock(seq):
    for middle in (0.0, np.pi, np.pi / 2, -np.pi / 2):
        reference = ReferenceRotation.from_euler(seq, [0.3, middle, 0.4])
        ours = Rotation(np.asarray(reference.as_quat()))
        close(Rotation.from_euler(seq, ours.as_euler(seq)).as_matrix(), reference.as_matrix())


def test_composition_and_application():
    ours, reference = Rotation.from_quat(QUATS), ReferenceRotation.from_quat(QUATS)
    close((ours * ours[1]).as_matrix(), (reference * reference[1]).as_matrix())
    vectors = RNG.standard_normal((6, 3))
    for inverse in (False, True):
        close(ours.apply(vectors, inverse), reference.apply(vectors, inverse))
        close(ours.apply(vectors[0], inverse), reference.apply(vectors[0], inverse))
        close(ours[0].apply(vectors, inverse), reference[0].apply(vectors, inverse))
    close(xt.jit(lambda r, v: r.apply(v))(ours, vectors), reference.apply(vectors))
    close(xt.vmap(lambda r, v: r.apply(v))(ours, vectors), reference.apply(vectors))
    both = Rotation.concatenate([ours, ours[:2]])
    assert len(both) == 8
    close(both.as_quat(), ReferenceRotation.concatenate([reference, reference[:2]]).as_quat())


@pytest.mark.parametrize("weights", [None, [0.1, 2.0, 1.0, 0.5, 0.3, 0.2]])
def test_mean(weights):
    got = Rotation.from_quat(QUATS).mean(weights).as_matrix()
    close(got, ReferenceRotation.from_quat(QUATS).mean(weights).as_matrix())


def test_identity_and_random():
    close(Rotation.identity().as_matrix(), np.eye(3))
    close(Rotation.identity(2).as_matrix(), np.broadcast_to(np.eye(3), (2, 3, 3)))
    assert Rotation.identity(dtype="float32").quat.dtype == "float32"
    assert Rotation.random(xt.random.key(0)).single
    # The angle of a uniform rotation has the density (1 - cos t) / pi, of mean pi / 2 + 2 / pi.
    many = Rotation.random(xt.random.key(1), 20000)
    assert abs(float(many.magnitude().mean()) - (np.pi / 2 + 2 / np.pi)) < 0.02
    np.testing.assert_allclose(many.as_matrix().mean(0), 0, atol=0.02)


def test_interpolation():
    times = [0.0, 1.0, 2.5, 3.0, 4.0, 6.0]
    ours, reference = (
        Slerp.init(times, Rotation.from_quat(QUATS)),
        ReferenceSlerp(times, ReferenceRotation.from_quat(QUATS)),
    )
    at = np.array([0.0, 0.2, 1.0, 2.7, 5.9, 6.0])
    close(ours(at).as_matrix(), reference(at).as_matrix())
    close(xt.jit(lambda s, t: s(t).as_matrix())(ours, at), reference(at).as_matrix())
    close(ours(2.0).as_matrix(), reference(2.0).as_matrix())


def test_derivatives():
    vector = np.array([0.3, -1.0, 0.5])
    check_grads(lambda r: Rotation.from_rotvec(r).apply(vector), (np.array([0.4, 0.1, -0.2]),), order=2)
    check_grads(lambda q: Rotation.from_quat(q).as_rotvec(), (QUATS,), order=2)
    check_grads(lambda q: Rotation.from_quat(q).as_euler("zyx"), (QUATS,), order=1)
    # At the identity the derivative of a rotated vector is the cross product, of a rotation vector the identity.
    turned = xt.jacobian(lambda r: Rotation.from_rotvec(r).apply(vector))(np.zeros(3))
    close(turned, np.cross(np.eye(3), vector).T)
    close(xt.jacobian(lambda r: Rotation.from_rotvec(r).as_rotvec())(np.zeros(3)), np.eye(3))


def test_errors():
    one = Rotation.identity()
    for call, error, text in (
        (lambda: Rotation.from_euler("", [0.0]), ValueError, "upto 3 characters"),
        (lambda: Rotation.from_euler("xY", [0.0, 0.0]), ValueError, "to be from"),
        (lambda: Rotation.from_euler("xx", [0.0, 0.0]), ValueError, "consecutive axes"),
        (lambda: Rotation.from_euler("xyz", [0.0, 0.0]), ValueError, r"\[\.\.\., 3\]"),
        (lambda: one.as_euler("xy"), ValueError, "Expected 3 axes"),
        (lambda: Rotation.from_quat(np.ones(3)), ValueError, r"\[\.\.\., 4\]"),
        (lambda: len(one), TypeError, "has no len"),
        (lambda: one[0], TypeError, "not subscriptable"),
        (lambda: Slerp.init([0.0], one), ValueError, "at least 2"),
        (lambda: Slerp.init([0.0, 1.0], "no"), TypeError, "Rotation"),
        (lambda: Slerp.init([0.0], Rotation.identity(2)), ValueError, "number of timestamps"),
        (lambda: Rotation.identity(2).mean([1.0]), ValueError, "weights"),
    ):
        with pytest.raises(error, match=text):
            call()
