"""Record special functions at chosen points, in forty digits. Run by a Python that has mpmath:

    python tests/data/record_special.py

Writes tests/data/special.json: function -> points and values, each value as the nearest double and what is missing.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 80  # some of mpmath's functions lose digits
_rng = np.random.default_rng(5)
_COUNT = 16


def _uniform(low: float, high: float, count: int = _COUNT) -> list[float]:
    return _rng.uniform(low, high, count).tolist()


def _sizes(low: float, high: float, count: int = _COUNT) -> list[float]:
    """Powers of ten between the exponents."""
    return (10.0 ** _rng.uniform(low, high, count)).tolist()


def _whole(low: int, high: int, count: int = _COUNT) -> list[float]:
    return _rng.integers(low, high, count).astype(float).tolist()


def _around(x: float, low: float = -12, high: float = -1) -> list[float]:
    """Points from 10^low to 10^high away."""
    return [x + d for d in _sizes(low, high, 8)] + [x - d for d in _sizes(low, high, 4)]


def _below_one() -> list[float]:
    return [1 - d for d in _sizes(-15, -1, 8)]


def _near(first: list[float], low: float, high: float) -> list[float]:
    """Numbers near those."""
    return [x * (1 + d) for x, d in zip(first, _sizes(low, high, len(first)))]


def _pairs(*columns: list[float]) -> list[tuple[float, ...]]:
    return list(zip(*columns))


def _logarithm_of_gamma(x: Any) -> Any:
    return mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x)))


def _log_normal(x: Any) -> Any:
    return mp.log(mp.ncdf(x)) if x < 0 else mp.log1p(-mp.ncdf(-x))


def _owens_t(h: Any, a: Any) -> Any:
    return mp.quad(lambda x: mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a]) / (2 * mp.pi)


def _power(x: Any, power: Any) -> Any:
    return (x**power - 1) / power


def _multigamma(a: Any, d: Any) -> Any:
    d = int(d)
    return d * (d - 1) / mp.mpf(4) * mp.log(mp.pi) + sum(mp.loggamma(a - mp.mpf(j) / 2) for j in range(d))


_first = _uniform(1, 2)
ONE: dict[str, tuple[Callable[..., Any], list[float]]] = {
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), _uniform(-20, 20) + _sizes(-300, 0, 4)),
    "digamma": (mp.digamma, _sizes(-10, 10) + _uniform(-9, 0) + _around(1.4616321449683622)),
    "entr": (lambda x: -x * mp.log(x), _sizes(-300, 0) + _uniform(0, 5) + _around(1.0)),
    "erf": (mp.erf, _uniform(-6, 6) + _sizes(-300, 0)),
    "erfc": (mp.erfc, _uniform(-6, 26) + _sizes(-300, 0, 4)),
    "erfcinv": (lambda y: mp.erfinv(1 - y), _uniform(0, 2) + _sizes(-60, -1) + [2 - x for x in _sizes(-15, -1, 8)]),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), _uniform(-5, 50) + _sizes(0, 10)),
    "erfinv": (mp.erfinv, _uniform(-1, 1) + _below_one() + _sizes(-300, -1, 4)),
    "exp1": (mp.e1, _uniform(0, 50) + _sizes(-10, 0)),
    "expi": (mp.ei, _uniform(0, 100) + _uniform(-20, 0) + _around(0.3725074107813666)),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), _uniform(-700, 40) + _sizes(-20, 0, 4)),
    "factorial": (mp.factorial, _whole(0, 170)),
    "gamma": (mp.gamma, _uniform(-20, 0) + _uniform(0, 170) + _sizes(-300, -1, 4)),
    "gammaln": (_logarithm_of_gamma, _sizes(-10, 10) + _uniform(-9, 0) + _around(1.0) + _around(2.0)),
    **{f"i{k}": (lambda x, k=k: mp.besseli(k, x), _uniform(-30, 30) + _sizes(-10, 0) + _uniform(600, 700, 4))
       for k in (0, 1)},
    **{f"i{k}e": (lambda x, k=k: mp.besseli(k, x) * mp.exp(-abs(x)), _uniform(-30, 30) + _sizes(-10, 4))
       for k in (0, 1)},
    "log_ndtr": (_log_normal, _uniform(-30, 8) + _uniform(8, 37)),
    "loggamma": (mp.loggamma, _sizes(-10, 10) + _around(1.0) + _around(2.0)),
    "logit": (lambda x: mp.log(x / (1 - x)), _uniform(0, 1) + _sizes(-300, -1) + _below_one() + _around(0.5)),
    "ndtr": (mp.ncdf, _uniform(-37, 8)),
    "ndtri": (lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), _uniform(0, 1) + _sizes(-60, -1) + _below_one()),
    "spence": (lambda x: mp.re(mp.polylog(2, 1 - x)), _uniform(0, 20) + _sizes(-10, 0, 4) + _around(1.0)),
}  # fmt: skip
SEVERAL: dict[str, tuple[Callable[..., Any], list[tuple[float, ...]]]] = {
    "beta": (mp.beta, _pairs(_sizes(-5, 1.5), _sizes(-5, 1.5))),
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
                _pairs(_sizes(-1, 2), _sizes(-1, 2), _uniform(0, 1))),
    "betaln": (lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), _pairs(_sizes(-5, 5), _sizes(-5, 5))),
    "boxcox": (_power, _pairs(_sizes(-2, 2), _uniform(-2, 2)) + _pairs(_around(1.0), _uniform(-2, 2))),
    "boxcox1p": (lambda x, power: _power(1 + x, power), _pairs(_sizes(-12, 2), _uniform(-2, 2))),
    "comb": (mp.binomial, _pairs(_whole(30, 60), _whole(0, 30))),
    "expn": (lambda n, x: mp.expint(int(n), x), _pairs(_whole(0, 30), _sizes(-3, 2))),
    "gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True),
                 _pairs(_sizes(-2, 2), _sizes(-2, 2)) + [(a, a * 1.1) for a in _sizes(0, 3, 8)]),
    "gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
                  _pairs(_sizes(-2, 2), _sizes(-2, 2)) + [(a, a * 0.9) for a in _sizes(0, 3, 8)]),
    "hyp1f1": (mp.hyp1f1, _pairs(_uniform(0.5, 30), _uniform(0.5, 30), _uniform(0, 30))),
    "hyp2f1": (mp.hyp2f1, _pairs(_uniform(0.1, 2), _uniform(0.1, 2), _uniform(0.1, 4), _uniform(-2, 0.99))),
    "kl_div": (lambda p, q: p * mp.log(p / q) - p + q, _pairs(_sizes(-2, 2), _sizes(-2, 2)) +
               _pairs(_first, _near(_first, -8, -1))),
    "multigammaln": (_multigamma, _pairs(_uniform(3, 20), [3.0] * _COUNT)),
    "owens_t": (_owens_t, _pairs(_uniform(-6, 6), _uniform(-4, 4))),
    "poch": (mp.rf, _pairs(_uniform(0.1, 50), _uniform(0.1, 50))),
    "polygamma": (lambda n, x: mp.polygamma(int(n), x), _pairs(_whole(1, 8), _sizes(-2, 3))),
    "rel_entr": (lambda p, q: p * mp.log(p / q), _pairs(_sizes(-2, 2), _sizes(-2, 2)) +
                 _pairs(_first, _near(_first, -10, -1)) + [(1e-300, 1e300)]),
    "xlog1py": (lambda x, y: x * mp.log1p(y), _pairs(_uniform(-5, 5), _sizes(-12, 3)) +
                _pairs(_uniform(1, 2), [-y for y in _sizes(-12, -0.1)])),
    "xlogy": (lambda x, y: x * mp.log(y), _pairs(_uniform(-5, 5), _sizes(-3, 3)) +
              _pairs(_uniform(1, 2), _around(1.0))),
    "zeta": (lambda s, q: mp.zeta(s, q), _pairs(_uniform(1.01, 30), _sizes(-1, 2)) +
             _pairs(_uniform(1.001, 1.1), _uniform(0.5, 5))),
}  # fmt: skip


def _two_doubles(value: Any) -> list[float]:
    value = mp.re(value)
    high = float(value)
    return [high, float(value - mp.mpf(high))]


def main() -> None:
    table = {name: (function, [(x,) for x in points]) for name, (function, points) in ONE.items()} | SEVERAL
    lines = []
    for name, (function, points) in sorted(table.items()):
        values = [_two_doubles(function(*map(mp.mpf, point))) for point in points]
        lines.append(f" {json.dumps(name)}: {json.dumps({'points': points, 'values': values})}")
    path = pathlib.Path(__file__).parent / "special.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
