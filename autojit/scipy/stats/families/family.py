"""What a family of distributions is: its formulas at location 0 and scale 1.

The families stand in the tables beside this module, by SciPy's names, with SciPy's shape
parameters in SciPy's order.  The formulas are those that SciPy's documentation
of each distribution states.
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
    """No shape parameters, or none that could be wrong."""
    return True


def positive(*shapes: Any) -> Any:
    """All shape parameters are greater than 0."""
    valid = shapes[0] > 0
    for shape in shapes[1:]:
        valid = valid & (shape > 0)
    return valid


@dataclass(frozen=True)
class Family:
    """The formulas of one family, each given a point, or a probability, and the shape parameters.

    ``bounds`` is the support, or gives it for shape parameters; ``inside`` is a point in it,
    likewise, at which every formula is finite.  ``valid`` says which shape parameters there are.
    ``is_open``: whether the density is 0 at the ends of the support, where the formula is not.
    ``is_finite``: whether the formulas hold at finite points alone, in an infinite support.
    ``whole`` are the positions of those that are integers, by which there is no derivative.
    ``kink`` is a point inside of the support near which the density changes abruptly.
    ``period`` are the ends of one period of a density on a circle.  ``has_long_tail``: whether the
    masses of a discrete family vanish so slowly that they are not added up.

    A formula is asked at points of the support alone.  Missing ones follow from others: ``pdf``
    from ``logpdf``, ``sf`` and the logarithms from ``cdf``, ``isf`` and ``median`` from ``ppf``.
    """

    name: str
    bounds: Bounds | Formula
    #: None where the density is the derivative of the others alone.
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
    kink: Formula | None = None
    period: Bounds | None = None
    has_long_tail: bool = False
    #: Whether ``cdf`` is a step function of the integers.
    is_discrete: bool = False


#: The families by SciPy's names.
FAMILIES: dict[str, Family] = {}


def family(
    name: str, bounds: Bounds | Formula, log_density: Formula | None, **formulas: Any
) -> Family:
    """Enter a family into the table."""
    made = FAMILIES[name] = Family(name, bounds, log_density, **formulas)
    return made


def discrete(name: str, bounds: Bounds | Formula, log_mass: Formula, **formulas: Any) -> Family:
    """Enter a family on the integers."""
    return family(name, bounds, log_mass, is_discrete=True, **formulas)
