"""The functions of scipy.special, element by element: SciPy's own code, and derivatives by formula.

Importing this package declares them.
"""

from . import (
    bessel,
    beta,
    distributions,
    elliptic,
    errors,
    external,
    gamma,
    hypergeometric,
    integrals,
    polynomials,
)

__all__ = [
    "bessel",
    "beta",
    "distributions",
    "elliptic",
    "errors",
    "external",
    "gamma",
    "hypergeometric",
    "integrals",
    "polynomials",
]
