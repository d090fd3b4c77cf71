"""``scipy.special`` for traced arrays.

Its ufuncs (``erf``, ``gammaln``, ``jv``, ``betainc``, …) are SciPy's own and dispatch to autojit.
`coverage.NOT_COVERED` lists the ufuncs that are not covered.

>>> from autojit.scipy.special import erf, logsumexp
>>> round(float(autojit.grad(lambda x: erf(x) + logsumexp(np.array([x, x])))(0.0)), 12)
2.128379167096
"""

from autojit.scipy.public import under_scipys_names

from .bessel import (
    h1vp,
    h2vp,
    ivp,
    jvp,
    kvp,
    lmbda,
    riccati_jn,
    riccati_yn,
    spherical_in,
    spherical_jn,
    spherical_kn,
    spherical_yn,
    yvp,
)
from .combinatorics import comb, factorial, perm
from .coverage import NOT_COVERED
from .elementary import assoc_laguerre, diric
from .gamma import lambertw, multigammaln, polygamma, zeta
from .legendre import (
    assoc_legendre_p,
    assoc_legendre_p_all,
    legendre_p,
    legendre_p_all,
    sph_harm_y,
    sph_harm_y_all,
    sph_legendre_p,
    sph_legendre_p_all,
)
from .quadratures import roots_gegenbauer, roots_genlaguerre, roots_jacobi, roots_sh_jacobi
from .sums import log_softmax, logsumexp, softmax, softplus

__all__ = [
    "assoc_laguerre", "assoc_legendre_p", "assoc_legendre_p_all", "comb", "diric", "factorial",
    "h1vp", "h2vp", "ivp", "jvp", "kvp", "lambertw", "legendre_p", "legendre_p_all", "lmbda",
    "log_softmax", "logsumexp", "multigammaln", "perm", "polygamma", "riccati_jn", "riccati_yn",
    "roots_gegenbauer", "roots_genlaguerre", "roots_jacobi", "roots_sh_jacobi", "softmax",
    "softplus", "sph_harm_y", "sph_harm_y_all", "sph_legendre_p", "sph_legendre_p_all",
    "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "yvp", "zeta",
]  # fmt: skip

__getattr__, __dir__ = under_scipys_names("special", NOT_COVERED)
