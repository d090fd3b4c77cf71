"""``scipy.stats`` for traced arrays: the methods of its distributions, and its statistics.

Call them by SciPy's own names: ``from scipy.stats import norm; norm.logpdf(x, mu, sigma)``. This
module has the same names.

>>> from autojit.scipy.stats import norm
>>> autojit.grad(norm.logpdf)(0.5)
np.float64(-0.5)
"""

from autojit.scipy.public import under_scipys_names

from . import compound, density, distributions, frozen, multivariate, statistics

__all__ = ["compound", "density", "distributions", "frozen", "multivariate", "statistics"]

__getattr__, __dir__ = under_scipys_names("stats")
