"""A point relative to a family's location and scale, with the checks of SciPy's methods.

SciPy checks parameters in each call; here, only checks whose result is not known beforehand are
compiled. If a parameter is not valid, the scale (or the point) becomes NaN, and so do the result
and its derivatives. Thus the check of a scalar parameter stays outside loops over data. A point
outside the support is replaced by one inside before it reaches a formula, so its derivative is 0
instead of NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lifting import as_value, to_dtype, tracer
from autojit.scipy.arguments import floats
from autojit.scipy.whole import without_derivative
from autojit.tracing.created_arrays import bare
from autojit.tracing.tracer import Tracer

from .families.conditions import holds_everywhere
from .families.family import REAL, Family

_FLOAT = np.dtype(np.float64)


def number(x: Any) -> Any:
    """An argument in double precision, the precision in which SciPy computes."""
    x = bare(x)
    if isinstance(x, Tracer):
        return tracer(to_dtype(as_value(x), _FLOAT))
    return floats(x)[()]


class Standardized:
    """The parameters of a call, and the point (if any) relative to location and scale."""

    def __init__(self, family: Family, x: Any, shapes: Any, loc: Any, scale: Any) -> None:
        self.family = family
        self.shapes: list[Any] = [self._shape(i, shape) for i, shape in enumerate(shapes)]
        self.loc: Any = number(loc)
        self.scale: Any = number(scale)
        valid = self._valid()
        known = holds_everywhere(valid)
        #: 0 where the parameters are valid, else NaN; None if they are known to be valid.
        self.fault: Any = None if known else np.where(valid, 0.0, np.nan)
        in_scale = isinstance(self.scale, Tracer) and not known
        if in_scale:
            self.scale = self.scale + self.fault
        arrays = [*self.shapes, self.loc, self.scale]
        self.x: Any = None if x is None else number(x)
        if x is not None:
            arrays.append(self.x)
            self.z: Any = self._moved()
            if not known and not in_scale:
                self.z = self.z + self.fault
        self.result_shape: tuple[int, ...] = np.broadcast_shapes(*map(np.shape, arrays))
        bounds, inside = family.bounds, family.inside
        self.lower: Any
        self.upper: Any
        self.lower, self.upper = bounds(*self.shapes) if callable(bounds) else bounds
        self.inside: Any = inside(*self.shapes) if callable(inside) else inside

    def _shape(self, position: int, given: Any) -> Any:
        shape = number(given)
        return without_derivative(shape) if position in self.family.whole else shape

    def _valid(self) -> Any:
        valid = self.family.valid(*self.shapes) if self.shapes else True
        for position in self.family.whole:
            shape = self.shapes[position]
            valid = valid & (shape == np.floor(shape))
        positive = self.scale > 0
        if holds_everywhere(positive):
            return valid
        return positive if valid is True else valid & positive

    @property
    def is_bounded(self) -> bool:
        """Whether points may lie outside the support."""
        return self.family.bounds is not REAL

    @property
    def has_unit_scale(self) -> bool:
        """Whether the scale is known to be 1."""
        return _is(self.scale, 1.0)

    def _moved(self) -> Any:
        #: The point relative to the location; it can be compared with a bound of 0 at any scale.
        self.shifted: Any = self.x if _is(self.loc, 0.0) else self.x - self.loc
        return self.shifted if self.has_unit_scale else self.shifted / self.scale

    def beyond(self, z: Any, at_low: bool, at_high: bool) -> tuple[Any, Any]:
        """Whether points lie below and above the support; ``at_low``, ``at_high`` add its ends."""
        low, high = (
            self.shifted if z is self.z and _is(bound, 0.0) else z
            for bound in (self.lower, self.upper)
        )
        finite = self.family.is_finite
        return (
            below(low, self.lower, at_low, finite),
            above(high, self.upper, at_high, finite),
        )

    def scaled(self, z: Any) -> Any:
        """A point multiplied by the scale and moved by the location."""
        z = z if self.has_unit_scale else z * self.scale
        z = z if _is(self.loc, 0.0) else z + self.loc
        return self.complete(z)

    def complete(self, result: Any) -> Any:
        """A result in the common shape of all arguments, NaN where a parameter is not valid."""
        if self.fault is not None and (self.x is None or self.shapes or self.is_bounded):
            result = result + self.fault  # because NaN to the power 0 is 1
        if np.shape(result) != self.result_shape:
            return np.broadcast_to(result, self.result_shape)
        return result


def below(z: Any, lower: Any, closed: bool, finite: bool) -> Any:
    """``z < lower``, or ``z <= lower`` if ``closed``; False if the support has no lower end.

    With ``finite``, a point at infinity lies below an end at infinity.
    """
    if _is(lower, -np.inf) and not finite:
        return np.False_
    beyond = z <= lower if closed else z < lower
    return beyond | (z == -np.inf) if finite and not closed else beyond


def above(z: Any, upper: Any, closed: bool, finite: bool) -> Any:
    """``z > upper``, or ``z >= upper`` if ``closed``; False if the support has no upper end.

    With ``finite``, a point at infinity lies above an end at infinity.
    """
    if _is(upper, np.inf) and not finite:
        return np.False_
    beyond = z >= upper if closed else z > upper
    return beyond | (z == np.inf) if finite and not closed else beyond


def _is(x: Any, value: float) -> bool:
    """Whether x is known to equal a value."""
    return not isinstance(x, Tracer) and bool(np.all(np.asarray(x) == value))
