"""The formulas of SciPy's univariate distributions, by what they are on: the real line, its
positive half, an interval, the integers.  `family` says what a row is."""

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
