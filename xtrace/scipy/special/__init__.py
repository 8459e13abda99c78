"""Special functions."""

from __future__ import annotations

from xtrace.scipy.special.elementary import betainc as betainc
from xtrace.scipy.special.elementary import entr as entr
from xtrace.scipy.special.elementary import erf as erf
from xtrace.scipy.special.elementary import erfc as erfc
from xtrace.scipy.special.elementary import erfinv as erfinv
from xtrace.scipy.special.elementary import expit as expit
from xtrace.scipy.special.elementary import gammainc as gammainc
from xtrace.scipy.special.elementary import gammaincc as gammaincc
from xtrace.scipy.special.elementary import i0 as i0
from xtrace.scipy.special.elementary import i0e as i0e
from xtrace.scipy.special.elementary import i1 as i1
from xtrace.scipy.special.elementary import i1e as i1e
from xtrace.scipy.special.elementary import kl_div as kl_div
from xtrace.scipy.special.elementary import log_softmax as log_softmax
from xtrace.scipy.special.elementary import logit as logit
from xtrace.scipy.special.elementary import logsumexp as logsumexp
from xtrace.scipy.special.elementary import polygamma as polygamma
from xtrace.scipy.special.elementary import rel_entr as rel_entr
from xtrace.scipy.special.elementary import softmax as softmax
from xtrace.scipy.special.elementary import xlog1py as xlog1py
from xtrace.scipy.special.elementary import xlogy as xlogy
from xtrace.scipy.special.elementary import zeta as zeta
from xtrace.scipy.special.errors import dawsn as dawsn
from xtrace.scipy.special.errors import erfcx as erfcx
from xtrace.scipy.special.errors import fresnel as fresnel
from xtrace.scipy.special.errors import wofz as wofz
from xtrace.scipy.special.gammas import bernoulli as bernoulli
from xtrace.scipy.special.gammas import beta as beta
from xtrace.scipy.special.gammas import betaln as betaln
from xtrace.scipy.special.gammas import comb as comb
from xtrace.scipy.special.gammas import digamma as digamma
from xtrace.scipy.special.gammas import factorial as factorial
from xtrace.scipy.special.gammas import gamma as gamma
from xtrace.scipy.special.gammas import gammaln as gammaln
from xtrace.scipy.special.gammas import gammasgn as gammasgn
from xtrace.scipy.special.gammas import loggamma as loggamma
from xtrace.scipy.special.gammas import multigammaln as multigammaln
from xtrace.scipy.special.gammas import poch as poch
from xtrace.scipy.special.hypergeometric import hyp1f1 as hyp1f1
from xtrace.scipy.special.hypergeometric import hyp2f1 as hyp2f1
from xtrace.scipy.special.integrals import exp1 as exp1
from xtrace.scipy.special.integrals import expi as expi
from xtrace.scipy.special.integrals import expn as expn
from xtrace.scipy.special.integrals import sici as sici
from xtrace.scipy.special.integrals import spence as spence
from xtrace.scipy.special.normal import erfcinv as erfcinv
from xtrace.scipy.special.normal import log_ndtr as log_ndtr
from xtrace.scipy.special.normal import ndtr as ndtr
from xtrace.scipy.special.normal import ndtri as ndtri
from xtrace.scipy.special.normal import owens_t as owens_t
from xtrace.scipy.special.orthogonal import bessel_jn as bessel_jn
from xtrace.scipy.special.orthogonal import sph_harm_y as sph_harm_y
from xtrace.scipy.special.transforms import boxcox as boxcox
from xtrace.scipy.special.transforms import boxcox1p as boxcox1p

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]
