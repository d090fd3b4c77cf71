"""The formulas of SciPy's univariate distributions, grouped by their support.

The support is the real line, its positive half, an interval, or a set of integers. `family` defines
the entries.
"""

from . import (
    bounded,
    counts,
    discrete,
    half_line,
    intervals,
    lifetimes,
    noncentral,
    real_line,
    resonance,
    skewed,
    truncated,
    two_sided,
)

__all__ = [
    "bounded", "counts", "discrete", "half_line", "intervals", "lifetimes", "noncentral",
    "real_line", "resonance", "skewed", "truncated", "two_sided",
]  # fmt: skip
