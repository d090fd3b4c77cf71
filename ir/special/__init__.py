"""The functions of scipy.special, element by element: SciPy's own code, and derivatives by formula.

Importing this package declares them.
"""

from . import (
    bessel,
    beta,
    distributions,
    elementary,
    elliptic,
    equations,
    errors,
    external,
    gamma,
    holomorphic,
    hypergeometric,
    integrals,
    polynomials,
    statistics,
    zeta,
)

__all__ = [
    "bessel",
    "beta",
    "distributions",
    "elementary",
    "elliptic",
    "equations",
    "errors",
    "external",
    "gamma",
    "holomorphic",
    "hypergeometric",
    "integrals",
    "polynomials",
    "statistics",
    "zeta",
]
