"""A family of distributions: its formulas at location 0 and scale 1.

The other modules of this folder define the families, with SciPy's names, and with SciPy's shape
parameters in SciPy's order. SciPy's documentation of each distribution has its formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Formula = Callable[..., Any]
Bounds = tuple[Any, Any]

REAL: Bounds = (-np.inf, np.inf)
POSITIVE: Bounds = (0.0, np.inf)
UNIT: Bounds = (0.0, 1.0)


def always(*shapes: Any) -> Any:
    """True: there are no shape parameters, or each value of them is valid."""
    return True


def positive(*shapes: Any) -> Any:
    """Whether all shape parameters are greater than 0."""
    valid = shapes[0] > 0
    for shape in shapes[1:]:
        valid = valid & (shape > 0)
    return valid


@dataclass(frozen=True)
class Family:
    """The formulas of one family, as functions of a point or probability and of shape parameters.

    ``bounds`` is the support, and ``inside`` is a point of it at which every formula is finite.
    Both may be functions of the shape parameters. ``valid`` tells which shape parameters are
    allowed, and ``whole`` has the positions of integer parameters, which have no derivatives.
    ``is_open``: whether the density is 0 at the ends of the support although its formula is not.
    ``is_finite``: whether the support is infinite but the formulas hold only at finite points.
    ``kink`` is a point of the support near which the density changes abruptly. ``period`` has the
    ends of one period of a density on a circle. ``has_long_tail``: whether the masses of a discrete
    family vanish so slowly that they cannot be added up.

    Formulas are evaluated only at points of the support. Missing formulas follow from others:
    ``pdf`` from ``logpdf``, ``sf`` and the logarithms from ``cdf``, ``isf`` and ``median`` from
    ``ppf``.
    """

    name: str
    bounds: Bounds | Formula
    #: None if there is no formula for the density, only for the distribution function.
    log_density: Formula | None
    inside: float | Formula = 0.0
    valid: Formula = always
    whole: tuple[int, ...] = ()
    is_open: bool = False
    is_finite: bool = False
    density: Formula | None = None
    cdf: Formula | None = None
    logcdf: Formula | None = None
    sf: Formula | None = None
    logsf: Formula | None = None
    ppf: Formula | None = None
    isf: Formula | None = None
    median: Formula | None = None
    entropy: Formula | None = None
    mean: Formula | None = None
    var: Formula | None = None
    skew: Formula | None = None
    kurtosis: Formula | None = None
    kink: Formula | None = None
    period: Bounds | None = None
    has_long_tail: bool = False
    #: Whether the family is on the integers, so that ``cdf`` is a step function.
    is_discrete: bool = False


#: The families by SciPy's names.
FAMILIES: dict[str, Family] = {}


def family(
    name: str, bounds: Bounds | Formula, log_density: Formula | None, **formulas: Any
) -> Family:
    """Add a family to the table."""
    made = FAMILIES[name] = Family(name, bounds, log_density, **formulas)
    return made


def discrete(name: str, bounds: Bounds | Formula, log_mass: Formula, **formulas: Any) -> Family:
    """Add a family on the integers to the table."""
    return family(name, bounds, log_mass, is_discrete=True, **formulas)
