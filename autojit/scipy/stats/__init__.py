"""``scipy.stats`` for traced arrays: the methods of its distributions, and its statistics.

Call them by SciPy's own names: ``from scipy.stats import norm; norm.logpdf(x, mu, sigma)``. This
module has the same names.

>>> from autojit.scipy.stats import norm
>>> autojit.grad(norm.logpdf)(0.5)
np.float64(-0.5)
"""

from autojit.scipy.public import under_scipys_names

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

__getattr__, __dir__ = under_scipys_names("stats")
