"""``scipy.special`` functions that are no ufuncs.

The ufuncs of ``scipy.special`` (``erf``, ``gammaln``, ``jv``, ``betainc``, …) dispatch, and are
used as they are; `coverage.NOT_COVERED` lists those that are not covered.
"""

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
from .gamma import lambertw, multigammaln, polygamma, zeta
from .sums import log_softmax, logsumexp, softmax, softplus

__all__ = [
    "comb", "factorial", "ivp", "jvp", "kvp", "lambertw", "log_softmax", "logsumexp",
    "multigammaln", "perm", "polygamma", "softmax", "softplus", "spherical_in", "spherical_jn",
    "spherical_kn", "spherical_yn", "yvp", "zeta",
]  # fmt: skip
