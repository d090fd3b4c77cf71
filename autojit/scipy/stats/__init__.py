"""``scipy.stats`` for traced arrays: the methods of its distributions, and its statistics.

They are called by SciPy's own names: ``from scipy.stats import norm; norm.logpdf(x, mu, sigma)``.
"""

from . import (
    correlation,
    density,
    descriptive,
    distributions,
    estimates,
    frozen,
    hypotheses,
    multivariate,
)

__all__ = [
    "correlation", "density", "descriptive", "distributions", "estimates", "frozen", "hypotheses",
    "multivariate",
]  # fmt: skip
