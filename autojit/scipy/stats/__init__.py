"""``scipy.stats`` for traced arrays: the methods of its distributions, and its statistics.

They are called by SciPy's own names: ``from scipy.stats import norm; norm.logpdf(x, mu, sigma)``.
"""

from . import (
    compound,
    correlation,
    density,
    descriptive,
    distributions,
    estimates,
    frozen,
    hypotheses,
    multivariate,
    order,
)

__all__ = [
    "compound", "correlation", "density", "descriptive", "distributions", "estimates", "frozen",
    "hypotheses", "multivariate", "order",
]  # fmt: skip
