"""Moments and entropies that have no closed form, as integrals over the support.

The support of a continuous family is split at the median, or at the mean if there is no
distribution function, and both parts are integrated by `double_exponential`. Masses are added up
from the least integer, or from the mean to both sides, until they vanish. The derivative is that of
the sum.

For the parameters in the tests, the relative error is below 1e-10, compared with mpmath. The result
is NaN if the density does not integrate to 1 within 1e-8, or if the terms have not vanished at the
last node, because then the integral does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.transformations.derivatives import stop_gradient

from .families.conditions import Uncovered, holds_everywhere, holds_nowhere
from .families.double_exponential import (
    FAR,
    FAR_WEIGHTS,
    NEAR,
    NEAR_WEIGHTS,
    REST,
    along_nodes,
)
from .families.family import Family, Formula

#: The greatest error of the density's integral, and of the last term relative to the sum.
OFF, LEFT_OVER = 1e-8, 1e-11
#: A density whose logarithm is below this counts as 0.
_LEAST = -700.0

#: The quantity to average, as a function of points and of the logarithm of the density there.
Quantity = Callable[[Any, Any], Any]


def expectation(
    family: Family, quantity: Quantity, shapes: Sequence[Any], bounds: tuple[Any, Any], split: Any
) -> Any:
    """The mean of a quantity over a continuous family, for shape parameters of any shape.

    >>> from autojit.scipy.stats.families.family import FAMILIES
    >>> square = lambda x, log_density: x * x
    >>> float(expectation(FAMILIES["norm"], square, (), (-np.inf, np.inf), 0.0).round(12))
    1.0
    """
    if family.log_density is None:
        raise Uncovered
    low, high = bounds
    split, low, high, *shapes = (along_nodes(x) for x in (stop_gradient(split), low, high, *shapes))
    total, mass, vanished = 0.0, 0.0, True
    for end, side in ((low, -1.0), (high, 1.0)):
        x, weights = _nodes(split, end, side)
        terms, masses = _terms(family.log_density, quantity, x, weights, shapes, split)
        total, mass = total + np.sum(terms, axis=-1), mass + np.sum(masses, axis=-1)
        vanished = vanished & _vanished(stop_gradient(terms))
    known = vanished & (np.abs(stop_gradient(mass) - 1) <= OFF)
    return np.where(known, total, np.nan)


def _nodes(split: Any, end: Any, side: float) -> tuple[Any, Any]:
    """Nodes and weights between the split and an end of the support on one side of it."""
    far = split + side * FAR, FAR_WEIGHTS
    infinite = np.isinf(end)
    if holds_everywhere(infinite):
        return far
    length = np.where(infinite, 1.0, side * (end - split))
    # Place each node relative to the nearer end, to lose no digit of its distance.
    near = np.where(NEAR < 0.5, split + side * length * NEAR, end - side * length * REST)
    if holds_nowhere(infinite):
        return near, length * NEAR_WEIGHTS
    return np.where(infinite, far[0], near), np.where(infinite, far[1], length * NEAR_WEIGHTS)


def _terms(
    log_density: Formula, quantity: Quantity, x: Any, weights: Any, shapes: Any, inside: Any
) -> tuple[Any, Any]:
    """The terms of the integral of a quantity, and of the density."""
    # Evaluate the formula only where the density neither vanishes nor is infinite, as it may be at
    # an end of the support.
    known = stop_gradient(log_density(stop_gradient(x), *map(stop_gradient, shapes)))
    counts = (known > _LEAST) & (known < np.inf)
    x = np.where(counts, x, inside)
    found = log_density(x, *shapes)
    masses = np.where(counts, np.exp(found) * weights, 0.0)
    return quantity(x, found) * masses, masses


def _vanished(terms: Any) -> Any:
    """Whether the last nonzero terms, those farthest from the split, are small."""
    size = np.abs(terms)
    beyond = np.concatenate([size[..., 1:], np.zeros_like(size[..., :1])], axis=-1)
    last = np.max(np.where(beyond == 0, size, 0.0), axis=-1)
    return last <= LEFT_OVER * np.sum(size, axis=-1)


# -- sums over integers ----------------------------------------------------------------

#: The number of masses added at a time, and the most times that this is done.
BLOCK, MOST_BLOCKS = 128, 10_000


def expectation_of_integers(
    log_mass: Formula, quantity: Quantity, shapes: Sequence[Any], bounds: tuple[Any, Any], mean: Any
) -> Any:
    """The mean of a quantity over a family of integers whose masses vanish fast.

    >>> from autojit.scipy.stats.families.family import FAMILIES
    >>> mass = FAMILIES["poisson"].log_density
    >>> square = lambda k, log_mass: k * k
    >>> float(expectation_of_integers(mass, square, (2.0,), (0.0, np.inf), 2.0).round(12))
    6.0
    """
    low, high = bounds
    start = np.where(np.isfinite(low), low, np.round(stop_gradient(mean)))
    low, high, start, *shapes = (along_nodes(x) for x in (low, high, start, *shapes))
    upper = _added(log_mass, quantity, shapes, (start, high, 1.0))
    if holds_everywhere(np.isfinite(low)):
        total, mass = upper
    else:
        lower = _added(log_mass, quantity, shapes, (start - 1, low, -1.0))
        total, mass = (a + b for a, b in zip(upper, lower, strict=True))
    return np.where(np.abs(stop_gradient(mass) - 1) <= OFF, total, np.nan)


def _added(log_mass: Formula, quantity: Quantity, shapes: Sequence[Any], reach: Any) -> Any:
    """The sums of a quantity and of the masses, from a start to an end on one side of it."""
    start, end, side = reach
    shape = np.broadcast_shapes(*map(np.shape, (start, end, *shapes)), (1,))
    zeros = np.zeros(shape[:-1])

    def unfinished(state: Any) -> Any:
        _, mass, last, count = state
        first = start + side * BLOCK * count
        inside = np.broadcast_to(side * (end - first) >= 0, shape)[..., 0]
        # The masses may grow before they vanish, so go on until a quarter of them is added.
        growing = (last > np.finfo(float).eps ** 2) | (mass < 0.25)
        return (count < MOST_BLOCKS) & np.any(inside & growing & (mass == mass))

    def add(state: Any) -> Any:
        total, mass, _, count = state
        k = start + side * (BLOCK * count + np.arange(BLOCK))
        counts = side * (end - k) >= 0
        found = log_mass(np.where(counts, k, start), *shapes)
        counts = counts & (found > _LEAST)
        found = np.where(counts, found, 0.0)
        masses = np.where(counts, np.exp(found), 0.0)
        sums = (np.sum(x, axis=-1) + zeros for x in (quantity(k, found) * masses, masses))
        more, last = sums
        return total + more, mass + last, stop_gradient(last), count + 1

    total, mass, _, _ = while_loop(unfinished, add, (zeros, zeros, zeros + 1.0, np.int64(0)))
    return total, mass
