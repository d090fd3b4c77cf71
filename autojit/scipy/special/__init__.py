"""``scipy.special`` for traced arrays.

Its ufuncs (``erf``, ``gammaln``, ``jv``, ``betainc``, …) are SciPy's own, which dispatch;
`coverage.NOT_COVERED` lists those that are not covered.

>>> from autojit.scipy.special import erf, logsumexp
>>> round(float(autojit.grad(lambda x: erf(x) + logsumexp(np.array([x, x])))(0.0)), 12)
2.128379167096
"""

from autojit.scipy.public import under_scipys_names

from .bessel import (
    ivp,
    jvp,
    kvp,
    spherical_in,
    spherical_jn,
    spherical_kn,
    spherical_yn,
    yvp,
)
from .combinatorics import comb, factorial, perm
from .coverage import NOT_COVERED
from .gamma import lambertw, multigammaln, polygamma, zeta
from .sums import log_softmax, logsumexp, softmax, softplus

__all__ = [
    "comb", "factorial", "ivp", "jvp", "kvp", "lambertw", "log_softmax", "logsumexp",
    "multigammaln", "perm", "polygamma", "softmax", "softplus", "spherical_in", "spherical_jn",
    "spherical_kn", "spherical_yn", "yvp", "zeta",
]  # fmt: skip

__getattr__, __dir__ = under_scipys_names("special", NOT_COVERED)
