"""Modified Bessel functions of the first kind, scaled by exp(-|x|)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, selection
from xtrace.lax import elementwise as el
from xtrace.lax.elementwise import FLOATING, described, filled_like, scalar_like, unary

bessel_i0e_p = unary("bessel_i0e", FLOATING)
bessel_i1e_p = unary("bessel_i1e", FLOATING)


@described(bessel_i0e_p, "bessel_i0e(1.0)", "0.4658")
def bessel_i0e(x: Any) -> Any:
    """Elementwise exp(-|x|) I0(x), with the modified Bessel function of the first kind of order 0."""
    return bessel_i0e_p.bind(x)


@described(bessel_i1e_p, "bessel_i1e(1.0)", "0.2079")
def bessel_i1e(x: Any) -> Any:
    """Elementwise exp(-|x|) I1(x), with the modified Bessel function of the first kind of order 1."""
    return bessel_i1e_p.bind(x)


def _i1e_slope(t: Any, out: Any, x: Any) -> Any:
    """I0e(x) - I1e(x) (sign(x) + 1 / x), which is 1/2 at 0."""
    eps = scalar_like(x, float(dtypes.finfo(shaped(x).dtype).eps))
    away = comparisons.gt(el.abs(x), eps)
    safe = selection.select(away, x, filled_like(x, eps))
    slope = el.sub(bessel_i0e(safe), el.mul(out, el.add(el.sign(safe), el.reciprocal(safe))))
    return el.mul(t, selection.select(away, slope, filled_like(x, 0.5)))


bessel_i0e_p.jvps = (lambda t, out, x: el.mul(t, el.sub(bessel_i1e(x), el.mul(el.sign(x), out))),)
bessel_i1e_p.jvps = (_i1e_slope,)

# -- values ------------------------------------------------------------------------------------------------------------
# Chebyshev coefficients, interpolated in extended precision from the power series and the asymptotic one: up to 8, of
# I0e(x) and I1e(x) / x in x / 4 - 1; beyond, of sqrt(x) times the function in 16 / x - 1.
_I0_SMALL = (
    0.6767952744094761, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.04930528423967071,
    -0.02373741480589947, 0.010546460394594998, -0.004324309995050576, 0.0016394756169413357, -0.0005763755745385824,
    0.0001885028850958417, -5.754195010082104e-05, 1.644844807072883e-05, -4.41673835845875e-06,
    1.1173875391200238e-06, -2.6707938539416485e-07, 6.046995022543746e-08, -1.3000250099917763e-08,
    2.6598237245687146e-09, -5.189795601622838e-10, 9.67580901956467e-11, -1.7268263023933335e-11,
    2.9550525058614356e-12, -4.856444619279892e-13, 7.676198543991874e-14, -1.1685081071147186e-14,
    1.7150777326113697e-15, -2.4288839169106513e-16, 3.34449265157466e-17,
)  # fmt: skip
_I0_LARGE = (
    0.8044904110141088, 0.003369116478255694, 6.889758346916825e-05, 2.8913705208347744e-06, 2.0489185894687433e-07,
    2.266668990494466e-08, 3.396232025746553e-09, 4.940602387937969e-10, 1.1889147142913475e-11,
    -3.149916526749711e-11, -1.3215811844504561e-11, -1.7941785264517091e-12, 7.180124320930634e-13,
    3.852778393629436e-13, 1.5400791841086674e-14, -4.1505798906334156e-14, -9.554856397460485e-15,
    3.811615736579177e-15, 1.7724939456442972e-15, -3.425428343750703e-16, -2.8281413669284383e-16,
    3.458604930228759e-17, 4.459171069502374e-17,
)  # fmt: skip
_I1_SMALL = (
    0.25258718644363365, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516,
    -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758,
    -0.00016176081582589674, 4.7815651075500556e-05, -1.3273163656039434e-05, 3.4702513081376437e-06,
    -8.568720264695464e-07, 2.0032947535517401e-07, -4.4450591288000034e-08, 9.381537386502522e-09,
    -1.8872497517443547e-09, 3.6255902809601175e-10, -6.66348972338084e-11, 1.1736186200932315e-11,
    -1.983974462038511e-12, 3.2237925707851586e-13, -5.042174631379043e-14, 7.600745120101005e-15,
    -1.1054809953732481e-15, 1.5521844877117164e-16, -2.09969303228974e-17, 2.8345110546917907e-18,
)  # fmt: skip
_I1_LARGE = (
    0.7785762350182801, -0.009761097491361469, -0.0001105889387626237, -3.8825648088776855e-06,
    -2.5122362378706615e-07, -2.6314688468897608e-08, -3.835380385939724e-09, -5.589743462693607e-10,
    -1.8974958078041543e-11, 3.2526035842830607e-11, 1.4125807437008562e-11, 2.0356285450676135e-12,
    -7.198551867440562e-13, -4.083550961568247e-13, -2.1015490508837636e-14, 4.2724309333441736e-14,
    1.0420269620857025e-14, -3.8144780303145385e-15, -1.880413651124315e-15, 3.308442929339517e-16,
    2.9619319150131497e-16, -3.211406834902064e-17, -4.656173992374779e-17,
)  # fmt: skip


def _chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """A Chebyshev series by Clenshaw's recurrence; its first coefficient counts half."""
    limits = dtypes.finfo(shaped(t).dtype)
    needed = [c for c in coefficients if abs(c) > float(limits.eps) * abs(coefficients[0]) / 64]
    twice = el.mul(scalar_like(t, 2), t)
    last, current = filled_like(t, 0), filled_like(t, needed[-1])
    for c in reversed(needed[1:-1]):
        last, current = current, el.add(el.sub(el.mul(twice, current), last), scalar_like(t, c))
    return el.add(el.sub(el.mul(t, current), last), scalar_like(t, needed[0] / 2))


def scaled(x: Any, order: int) -> Any:
    """bessel_i0e or bessel_i1e of float32 or float64: what the primitives are lowered to."""
    size = el.abs(x)
    bound = scalar_like(x, 8)
    small = comparisons.le(size, bound)
    near = selection.select(small, size, filled_like(x, bound))
    far = selection.select(small, filled_like(x, bound), size)
    below, beyond = ((_I0_SMALL, _I0_LARGE), (_I1_SMALL, _I1_LARGE))[order]
    one = scalar_like(x, 1)
    first = _chebyshev(el.sub(el.div(near, scalar_like(x, 4)), one), below)
    second = el.div(_chebyshev(el.sub(el.div(scalar_like(x, 16), far), one), beyond), el.sqrt(far))
    if order == 0:
        return selection.select(small, first, second)
    return selection.select(small, el.mul(first, x), el.mul(second, el.sign(x)))


__all__ = ["bessel_i0e", "bessel_i1e"]
