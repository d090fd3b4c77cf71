"""The methods of distributions, computed from the formulas of their families.

`Standardized` checks the parameters and brings points to location 0 and scale 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.scipy.whole import without_derivative
from autojit.tracing.tracer import Tracer
from autojit.transformations.derivatives import stop_gradient

from .expectations import Quantity, expectation, expectation_of_integers
from .families.conditions import Uncovered, chosen, either, holds_everywhere, holds_nowhere
from .families.double_exponential import along_nodes
from .families.family import Family
from .quantiles import quantile
from .standardized import Standardized, number

Method = Callable[..., Any]


#: The methods by SciPy's names; the last arguments are shape parameters, location and scale.
METHODS: dict[str, Method] = {}


def _method(*names: str) -> Callable[[Method], Method]:
    def register(method: Method) -> Method:
        METHODS.update(dict.fromkeys(names, method))
        return method

    return register


def _asked(formula: Callable[..., Any] | None) -> Callable[..., Any]:
    if formula is None:
        raise Uncovered
    return formula


# -- densities -------------------------------------------------------------------------


@_method("logpdf", "logpmf")
def log_density(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    formula = _asked(family.log_density)
    s, outside = _at(family, x, shapes, loc, scale)
    result = formula(chosen(outside, s.inside, s.z), *s.shapes)
    if not s.has_unit_scale:
        result = result - np.log(s.scale)
    return s.complete(chosen(outside, -np.inf, result))


@_method("pdf", "pmf")
def density(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    formula = family.density or _exponential(_asked(family.log_density))
    s, outside = _at(family, x, shapes, loc, scale)
    result = formula(chosen(outside, s.inside, s.z), *s.shapes)
    result = result if s.has_unit_scale else result / s.scale
    return s.complete(chosen(outside, 0.0, result))


def _exponential(formula: Callable[..., Any]) -> Callable[..., Any]:
    return lambda z, *shapes: np.exp(formula(z, *shapes))


def _at(family: Family, x: Any, shapes: Any, loc: Any, scale: Any) -> tuple[Standardized, Any]:
    """A point, and whether its density is 0: outside the support, or between integers."""
    s = Standardized(family, x, shapes, loc, scale)
    outside = either(*s.beyond(s.z, family.is_open, family.is_open))
    if family.is_discrete:
        broken = s.z != np.floor(s.z)
        if not holds_nowhere(broken) and not _is_integer(x):
            outside = np.logical_or(outside, broken & (s.z == s.z))
        s.z = without_derivative(s.z)
    return s, outside


def _is_integer(x: Any) -> bool:
    return getattr(x, "dtype", np.dtype(type(x))).kind in "iub"


# -- distribution functions ------------------------------------------------------------


@_method("cdf")
def cdf(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    return _distribution(cdf_of(family), (0.0, 1.0), family, x, shapes, loc, scale)


@_method("sf")
def sf(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    return _distribution(_sf_of(family), (1.0, 0.0), family, x, shapes, loc, scale)


@_method("logcdf")
def logcdf(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    def formula(z: Any, *shapes: Any) -> Any:
        return np.log(cdf_of(family)(z, *shapes))

    ends = -np.inf, 0.0
    return _distribution(family.logcdf or formula, ends, family, x, shapes, loc, scale)


@_method("logsf")
def logsf(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    def formula(z: Any, *shapes: Any) -> Any:
        return np.log(_sf_of(family)(z, *shapes))

    ends = 0.0, -np.inf
    return _distribution(family.logsf or formula, ends, family, x, shapes, loc, scale)


def cdf_of(family: Family) -> Callable[..., Any]:
    """The distribution function at location 0 and scale 1."""
    if family.cdf is None and family.sf is not None:
        upper = family.sf
        return lambda z, *shapes: 1 - upper(z, *shapes)
    return _asked(family.cdf)


def _sf_of(family: Family) -> Callable[..., Any]:
    if family.sf is None:
        lower = _asked(family.cdf)
        return lambda z, *shapes: 1 - lower(z, *shapes)
    return family.sf


def _distribution(
    formula: Callable[..., Any], ends: tuple[float, float], family: Family, x: Any,
    shapes: Sequence[Any], loc: Any, scale: Any,
) -> Any:  # fmt: skip
    """Evaluate a distribution function; it is constant on both sides of the support."""
    s = Standardized(family, x, shapes, loc, scale)
    z = np.floor(s.z) if family.is_discrete else s.z
    low, high = s.beyond(z, not family.is_discrete, True)
    safe = chosen(low, s.inside, chosen(high, s.inside, z))
    result = formula(safe, *s.shapes)
    return s.complete(chosen(low, ends[0], chosen(high, ends[1], result)))


# -- inverses of distribution functions ------------------------------------------------


@_method("ppf")
def ppf(family: Family, q: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    if family.ppf is None and family.isf is not None:
        upper = family.isf
        return _inverse(lambda q, *a: upper(1 - q, *a), family, q, shapes, loc, scale)
    return _inverse(_ppf_of(family), family, q, shapes, loc, scale)


def _ppf_of(family: Family) -> Callable[..., Any]:
    if family.ppf is not None:
        return family.ppf
    cdf, bounds = cdf_of(family), family.bounds
    if callable(bounds):
        raise Uncovered
    return lambda q, *shapes: quantile(cdf, bounds, q, shapes)


@_method("isf")
def isf(family: Family, q: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    if family.isf is None:
        lower = _ppf_of(family)
        return _inverse(lambda q, *a: lower(1 - q, *a), family, q, shapes, loc, scale)
    return _inverse(family.isf, family, q, shapes, loc, scale)


def _inverse(
    formula: Callable[..., Any], family: Family, q: Any, shapes: Sequence[Any], loc: Any, scale: Any
) -> Any:
    if family.is_discrete:
        raise Uncovered
    s = Standardized(family, None, shapes, loc, scale)
    q = number(q)
    valid = (q >= 0) & (q <= 1)
    if not holds_everywhere(valid):
        q = np.where(valid, q, np.nan)
    s.result_shape = np.broadcast_shapes(s.result_shape, np.shape(q))
    return s.scaled(formula(q, *s.shapes))


@_method("median")
def median(family: Family, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    if family.median is not None:
        s = Standardized(family, None, shapes, loc, scale)
        return s.scaled(family.median(*s.shapes))
    return ppf(family, 0.5, shapes, loc, scale)


@_method("interval")
def interval(family: Family, confidence: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    confidence = number(confidence)
    if not isinstance(confidence, Tracer) and np.any((confidence > 1) | (confidence < 0)):
        raise ValueError("confidence must be between 0 and 1 inclusive")
    ends = (1 - confidence) / 2, (1 + confidence) / 2
    return tuple(ppf(family, q, shapes, loc, scale) for q in ends)


# -- means, moments and entropy --------------------------------------------------------


@_method("mean")
def mean(family: Family, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    s = Standardized(family, None, shapes, loc, scale)
    return s.scaled(_mean_of(family, s))


@_method("var")
def var(family: Family, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    s = Standardized(family, None, shapes, loc, scale)
    result = _var_of(family, s)
    return s.complete(result if s.has_unit_scale else result * s.scale * s.scale)


@_method("std")
def std(family: Family, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    s = Standardized(family, None, shapes, loc, scale)
    result = np.sqrt(_var_of(family, s))
    return s.complete(result if s.has_unit_scale else result * s.scale)


@_method("entropy")
def entropy(family: Family, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    s = Standardized(family, None, shapes, loc, scale)
    if family.entropy is not None:
        result = family.entropy(*s.shapes)
    else:
        result = -_average(family, lambda x, log_density: log_density, s)
    return s.complete(result if s.has_unit_scale else result + np.log(s.scale))


@_method("skew")
def skew(family: Family, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    s = Standardized(family, None, shapes, loc, scale)
    if family.skew is not None:
        return s.complete(family.skew(*s.shapes))
    return s.complete(_central(family, 3, s) / _var_of(family, s) ** 1.5)


@_method("kurtosis")
def kurtosis(family: Family, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    s = Standardized(family, None, shapes, loc, scale)
    if family.kurtosis is not None:
        return s.complete(family.kurtosis(*s.shapes))
    return s.complete(_central(family, 4, s) / np.square(_var_of(family, s)) - 3)


@_method("moment")
def moment(family: Family, order: int, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    """The moment about 0, with location and scale."""
    s = Standardized(family, None, shapes, loc, scale)
    first, second = along_nodes(s.loc), along_nodes(s.scale)
    return s.complete(_average(family, lambda x, log_density: (first + second * x) ** order, s))


def _mean_of(family: Family, s: Standardized) -> Any:
    if family.mean is not None:
        return family.mean(*s.shapes)
    return _average(family, lambda x, log_density: x, s)


def _var_of(family: Family, s: Standardized) -> Any:
    if family.var is not None:
        return family.var(*s.shapes)
    return _central(family, 2, s)


def _central(family: Family, order: int, s: Standardized) -> Any:
    """A moment about the mean, at location 0 and scale 1."""
    mean = along_nodes(_mean_of(family, s))
    return _average(family, lambda x, log_density: (x - mean) ** order, s)


def _average(family: Family, quantity: Quantity, s: Standardized) -> Any:
    still = [stop_gradient(shape) for shape in s.shapes]
    bounds = family.period or (s.lower, s.upper)
    if not family.is_discrete:
        return expectation(family, quantity, s.shapes, bounds, _split_of(family)(*still))
    if family.has_long_tail:
        raise Uncovered
    mean = _asked(family.mean)(*still)
    formula = _asked(family.log_density)
    return expectation_of_integers(formula, quantity, s.shapes, bounds, mean)


def _split_of(family: Family) -> Callable[..., Any]:
    """A point in the middle of the mass: the median if it is known, else the mean."""
    if family.kink is not None:
        return family.kink
    if family.median is not None:
        return family.median
    if family.isf is not None and family.ppf is None:
        upper = family.isf
        return lambda *shapes: upper(0.5, *shapes)
    if family.ppf is not None or (
        not callable(family.bounds) and (family.cdf is not None or family.sf is not None)
    ):
        lower = _ppf_of(family)
        return lambda *shapes: lower(0.5, *shapes)
    return _asked(family.mean)


@_method("support")
def support(family: Family, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    s = Standardized(family, None, shapes, loc, scale)
    return s.scaled(np.asarray(s.lower)[()] if not isinstance(s.lower, Tracer) else s.lower), (
        s.scaled(np.asarray(s.upper)[()] if not isinstance(s.upper, Tracer) else s.upper)
    )
