"""The methods of SciPy's distributions on traced values, and distributions with traced parameters.

>>> from autojit import grad
>>> from scipy.stats import norm
>>> grad(lambda mu: norm.logpdf(0.5, mu, 2.0))(0.0)
np.float64(0.125)
>>> grad(lambda scale: norm(0.0, scale).ppf(0.75))(1.0).round(6)
np.float64(0.67449)
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from autojit.scipy.arguments import known, refused
from autojit.scipy.names import uncovered
from autojit.scipy.registry import FUNCTIONS, answers, original
from autojit.tracing.created_arrays import is_traced

from . import families
from .families.conditions import Uncovered
from .families.family import FAMILIES, Family
from .methods import METHODS
from .samples import check_seed, drawn, samples

_tables = families  # importing it registers the families

#: The densities of continuous (False) and discrete (True) families, and methods without points.
_DENSITIES = {False: ("pdf", "logpdf"), True: ("pmf", "logpmf")}
_OF_PARAMETERS = ("mean", "var", "std", "median", "entropy", "support")
_KINDS = {False: "rv_continuous", True: "rv_discrete"}


def _family_of(distribution: Any, method: str) -> Family:
    """The family of a distribution, which must be SciPy's own, with its original support."""
    name = str(distribution.name)
    public: Any = getattr(sys.modules["scipy.stats"], name, None)
    if type(public) is not type(distribution):
        uncovered("stats", f"{type(distribution).__name__}.{method}")
    if (public.a, public.b) != (distribution.a, distribution.b) or name not in FAMILIES:
        uncovered("stats", f"{name}.{method}")
    return FAMILIES[name]


def _parameters(distribution: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The shape parameters, location and scale of a call, read from its arguments as in SciPy."""
    shapes = distribution.shapes.split(", ") if distribution.shapes else []
    is_discrete = FAMILIES[distribution.name].is_discrete
    names = [*shapes, "loc"] if is_discrete else [*shapes, "loc", "scale"]
    given = dict(zip(names, args, strict=False))
    name = distribution.name
    if len(args) > len(names):
        raise TypeError(f"{name} takes {', '.join(names)}, but {len(args)} arguments were given")
    for key, value in kwargs.items():
        if key not in names or key in given:
            raise TypeError(
                f"{name} got {key!r} twice, or has no parameter of this name; it has "
                f"{', '.join(names)}"
            )
        given[key] = value
    missing = [shape for shape in shapes if shape not in given]
    if missing:
        raise TypeError(f"{name} is missing a shape parameter: {', '.join(missing)}")
    return [given[shape] for shape in shapes], given.get("loc", 0), given.get("scale", 1)


def _ask(method: str, distribution: Any, points: Any, args: Any, kwargs: Any) -> Any:
    family = _family_of(distribution, method)
    try:
        return METHODS[method](family, *points, *_parameters(distribution, args, kwargs))
    except Uncovered:
        uncovered("stats", f"{family.name}.{method}")


def _of_points(method: str, argument: str) -> Callable[..., Any]:
    """A method that takes a point, whose argument has the name that SciPy gives it."""

    def answer(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if argument in kwargs:
            args = (kwargs.pop(argument), *args)
        if not args:
            raise TypeError(f"{self.name}.{method}() is missing its first argument, {argument}")
        return _ask(method, self, args[:1], args[1:], kwargs)

    return answer


def _of_parameters(method: str) -> Callable[..., Any]:
    def answer(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return _ask(method, self, (), args, kwargs)

    return answer


_MOMENTS = {"m": "mean", "v": "var", "s": "skew", "k": "kurtosis"}


def _moments(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``stats``: the mean, the variance, the skewness and the kurtosis."""
    letters = kwargs.pop("moments", "mv")
    found = [name for letter, name in _MOMENTS.items() if letter in letters]
    results = [_ask(name, self, (), args, kwargs) for name in found]
    return results[0] if len(results) == 1 else tuple(results)


def _moment(self: Any, /, order: Any, *args: Any, **kwargs: Any) -> Any:
    """``moment``: a moment about 0; the first two come from the mean and the variance."""
    order = known(order, "order", f"scipy.stats.{self.name}.moment")
    if order != np.floor(order) or order < 0:
        raise ValueError("Moment must be an integer." if order > 0 else "Moment must be positive.")
    if order not in (1, 2):
        return _ask("moment", self, (int(order),), args, kwargs)
    mean = _ask("mean", self, (), args, kwargs)
    if order == 1:
        return mean
    return _ask("var", self, (), args, kwargs) + np.square(mean)


def _samples(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``rvs`` during a trace, whether or not its arguments are traced."""
    size, seed = kwargs.pop("size", None), kwargs.pop("random_state", None)
    seed = check_seed(str(self.name), seed)
    if not is_traced((args, kwargs, size)):
        kwargs.setdefault("discrete", isinstance(self, original("scipy.stats.rv_discrete")))
        return drawn(self, size, seed, *args, **kwargs)
    family = _family_of(self, "rvs")
    kwargs.pop("discrete", None)
    most = self.numargs + (1 if family.is_discrete else 2)
    if len(args) > most:
        *args, size = args  # type: ignore[assignment]
    try:
        return samples(self, family, size, seed, _parameters(self, tuple(args), kwargs))
    except Uncovered:
        uncovered("stats", f"{family.name}.rvs")


def _fitted(self: Any, data: Any, /, *args: Any, **kwargs: Any) -> NoReturn:
    name = str(self.name)
    shapes = "" if not self.shapes else f"{self.shapes}, "
    raise refused(
        f"scipy.stats.{name}.fit",
        "SciPy's own code does the search. Minimize the negative log-likelihood from a known "
        "start instead; the derivative by the data then follows from the equations at the "
        "minimum:\n"
        "    from scipy.optimize import minimize\n"
        f"    fitted = minimize(lambda p: -scipy.stats.{name}.logpdf(data, *p).sum(), start).x"
        f"  # p: {shapes}loc, scale",
    )


def _freeze(self: Any, /, *args: Any, **kwargs: Any) -> Frozen:
    return Frozen(self, args, kwargs)


class Frozen:
    """A distribution with traced parameters, such as ``norm(mu, sigma)``."""

    def __init__(self, dist: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist: Any = dist
        self.args: tuple[Any, ...] = args
        self.kwds: dict[str, Any] = kwds
        _family_of(dist, "__call__")
        _parameters(dist, args, kwds)

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        answer = FUNCTIONS["scipy.stats.rv_continuous.rvs"]
        return answer(self.dist, *self.args, **self.kwds, size=size, random_state=random_state)

    def stats(self, moments: str = "mv") -> Any:
        return _moments(self.dist, *self.args, moments=moments, **self.kwds)

    def __getattr__(self, name: str) -> Any:
        kind = _KINDS[FAMILIES[self.dist.name].is_discrete]
        answer = FUNCTIONS.get(f"scipy.stats.{kind}.{name}")
        if answer is None:
            uncovered("stats", f"{self.dist.name}.{name}")
        return functools.partial(_of_frozen, answer, self)


def _of_frozen(answer: Callable[..., Any], self: Any, /, *first: Any, **kwargs: Any) -> Any:
    """Call a method of a frozen distribution, whose parameters follow the call's arguments."""
    return answer(self.dist, *first, *self.args, **kwargs, **self.kwds)


# -- the functions that answer for SciPy's methods -----------------------------------------
#
# SciPy's frozen distributions with plain parameters call these methods as well.


def _register(kind: str, method: str, answer: Callable[..., Any]) -> None:
    answers(f"scipy.stats.{kind}.{method}")(answer)


for _is_discrete, _kind in _KINDS.items():
    _point = "k" if _is_discrete else "x"
    for _name in (*_DENSITIES[_is_discrete], "cdf", "logcdf", "sf", "logsf"):
        _register(_kind, _name, _of_points(_name, _point))
    for _name in ("ppf", "isf"):
        _register(_kind, _name, _of_points(_name, "q"))
    for _name in _OF_PARAMETERS:
        _register(_kind, _name, _of_parameters(_name))
    _register(_kind, "interval", _of_points("interval", "confidence"))
    _register(_kind, "stats", _moments)
    _register(_kind, "moment", _moment)
    answers(f"scipy.stats.{_kind}.rvs", always=True)(_samples)
    if not _is_discrete:
        _register(_kind, "fit", _fitted)
    _register(_kind, "freeze", _freeze)  # __call__ calls it

# Some families have a fit method of their own.
for _name in FAMILIES:
    _found = original(f"scipy.stats.{_name}")
    if getattr(type(_found), "fit", None) not in (None, original("scipy.stats.rv_continuous.fit")):
        answers(f"scipy.stats.{_name}.fit")(functools.partial(_fitted, _found))
