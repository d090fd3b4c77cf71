"""Statistics of samples, transformations of samples, and tests of hypotheses."""

from . import (
    correlation,
    descriptive,
    estimates,
    goodness_of_fit,
    hypotheses,
    order,
    power_transformations,
    ranks,
)

__all__ = [
    "correlation", "descriptive", "estimates", "goodness_of_fit", "hypotheses", "order",
    "power_transformations", "ranks",
]  # fmt: skip
