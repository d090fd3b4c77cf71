"""``numpy.polynomial`` on traced coefficients and points.

Its functions and classes are Python code that uses NumPy's public names. They take traced arrays if
these names do what they do in the user's code, if a traced array counts as an ndarray, and if no
coefficients are left out because their values are zero: traced ones count as nonzero.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from autojit.capture.calls.calling import call_as
from autojit.functions.checks import ensured
from autojit.protocols.lifting import as_tracer
from autojit.protocols.registry import implements
from autojit.tracing.created_arrays import is_traced, plain
from autojit.tracing.tracer import Tracer

from .name_patching import StandIn


class _Arrays(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, Tracer):
            return not instance.is_scalar
        return isinstance(instance, np.ndarray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, np.ndarray)


class _Array(metaclass=_Arrays):
    """Stands for ``np.ndarray`` in ``isinstance``."""


class _NumPy(StandIn):
    """Stands for the module `numpy`."""

    ndarray = _Array

    def __init__(self, original: Any) -> None:
        self.original = original


class _TrimSequence(StandIn):
    """Stands for ``polyutils.trimseq``, which leaves out trailing coefficients that are 0."""

    def __call__(self, seq: Any) -> Any:
        return seq if is_traced(seq) else self.original(plain(seq))


class _Complex(StandIn):
    """Stands for the function that makes roots with zero imaginary parts real; traced ones stay
    complex."""

    def __call__(self, w: Any, t: Any) -> Any:
        return w if is_traced(w) else self.original(w, t)


class _Line(StandIn):
    """Stands for ``polyline`` and the like: a straight line, in two coefficients."""

    def __call__(self, off: Any, scl: Any) -> Any:
        if not is_traced((off, scl)):
            return self.original(off, scl)
        constant, slope = self.original(0, 1), self.original(1, 0)
        return as_tracer(scl) * constant + as_tracer(off) * np.append(slope, 0)


class _TimesX(StandIn):
    """Stands for ``polymulx`` and the like, which leave a single zero as it is."""

    def __call__(self, c: Any) -> Any:
        if not is_traced(c):
            return self.original(plain(c))
        (row,) = _as_series([c])
        if row.shape != (1,):
            return self.original(row)
        return row * self.original(np.ones(1, row.dtype))


class _Multiply(StandIn):
    """Stands for ``polymul`` and the like: a known zero leaves one coefficient, as in NumPy."""

    def __call__(self, c1: Any, c2: Any) -> Any:
        for factor, other in ((c1, c2), (c2, c1)):
            if is_traced(other) and not is_traced(factor) and not np.any(plain(factor)):
                return np.sum(as_tracer(other) * 0.0, keepdims=True)
        return self.original(c1, c2)


class _Divide(StandIn):
    """Stands for ``polyutils._div``: division with a remainder."""

    def __call__(self, multiply: Any, c1: Any, c2: Any) -> Any:
        if not is_traced((c1, c2)):
            return self.original(multiply, plain(c1), plain(c2))
        return _divided(multiply, *_as_series([c1, c2]))


class _DividePowers(StandIn):
    """Stands for ``polydiv``."""

    def __call__(self, c1: Any, c2: Any) -> Any:
        if not is_traced((c1, c2)):
            return self.original(plain(c1), plain(c2))
        return _divided(np.convolve, *_as_series([c1, c2]))


class _DivideChebyshev(StandIn):
    """Stands for ``chebdiv``."""

    def __call__(self, c1: Any, c2: Any) -> Any:
        from numpy.polynomial.chebyshev import chebmul

        if not is_traced((c1, c2)):
            return self.original(plain(c1), plain(c2))
        return _divided(chebmul, *_as_series([c1, c2]))


_DIVISIONS = {"polydiv": _DividePowers, "chebdiv": _DivideChebyshev}


class _ClassNames:
    """The names of a class that hold static methods, as a dict of the functions."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def __getitem__(self, name: str) -> Any:
        return vars(self._kind)[name].__func__

    def __setitem__(self, name: str, function: Any) -> None:
        setattr(self._kind, name, staticmethod(function))


def _as_series(rows: list[Any]) -> list[Any]:
    from numpy.polynomial import polyutils

    return polyutils.as_series(rows)


def _divided(multiply: Any, c1: Any, c2: Any) -> tuple[Any, Any]:
    """Quotient and remainder; the compiled call raises if the divisor's last coefficient is 0."""
    rest, divisor = as_tracer(c1), as_tracer(c2)
    divisor = ensured(divisor, divisor[-1] != 0, ZeroDivisionError("division by zero"))
    n, m = rest.shape[0], divisor.shape[0]
    if n < m:
        return rest[:1] * 0, rest
    if m == 1:
        return rest / divisor[-1], rest[:1] * 0
    quotient = []
    for i in reversed(range(n - m + 1)):
        multiple = multiply(np.eye(1, i + 1, i, dtype=divisor.dtype)[0], divisor)
        quotient.append(rest[-1] / multiple[-1])
        rest = rest[:-1] - quotient[-1] * multiple[:-1]
    return np.stack(quotient[::-1]), rest


class _MapDomain(StandIn):
    """Stands for ``polyutils.mapdomain``, also for a polynomial."""

    def __call__(self, x: Any, old: Any, new: Any) -> Any:
        from numpy.polynomial import polyutils

        if not (isinstance(x, _base()) and is_traced((old, new))):
            return self.original(x, old, new)
        off, scl = polyutils.mapparms(old, new)
        return off + scl * x


@functools.cache
def _base() -> Any:
    """The base class of all polynomials."""
    from numpy.polynomial import _polybase

    return _polybase.ABCPolyBase


#: The prefixes of the names of each module's functions.
_PREFIXES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm",
    "hermite_e": "herme", "laguerre": "lag",
}  # fmt: skip


def _makers(module: Any) -> dict[str, Any]:
    prefix = _PREFIXES[module.__name__.rpartition(".")[2]]
    makers = {
        "np": _NumPy, f"{prefix}line": _Line, f"{prefix}mulx": _TimesX, f"{prefix}mul": _Multiply,
    }  # fmt: skip
    return makers | {name: _DIVISIONS[name] for name in _DIVISIONS if name == f"{prefix}div"}


def _cover(*functions: Any) -> None:
    """Answer functions that NumPy dispatches with their own code, which NumPy does not dispatch."""
    for function in functions:
        if hasattr(function, "__wrapped__"):
            implements(function)(function.__wrapped__)


class PolynomialNames:
    """The names in all modules and classes, and their stand-ins.

    Names that someone else has rebound stay as they are.
    """

    def __init__(self, makers: list[tuple[Any, dict[str, Any]]]) -> None:
        self._entries = [
            (space, name, space[name], maker(space[name]))
            for space, of_space in makers
            for name, maker in of_space.items()
        ]

    def install(self) -> None:
        for space, name, original, stand_in in self._entries:
            if space[name] is original:
                space[name] = stand_in

    def restore(self) -> None:
        for space, name, original, stand_in in self._entries:
            if space[name] is stand_in:
                space[name] = original


@functools.cache
def names() -> PolynomialNames:
    """The names that are replaced while a function is traced."""
    from numpy.linalg import _linalg
    from numpy.polynomial import (
        _polybase,
        chebyshev,
        hermite,
        hermite_e,
        laguerre,
        legendre,
        polynomial,
        polyutils,
    )

    modules = (chebyshev, hermite, hermite_e, laguerre, legendre, polynomial)
    kinds = (
        chebyshev.Chebyshev, hermite.Hermite, hermite_e.HermiteE, laguerre.Laguerre,
        legendre.Legendre, polynomial.Polynomial,
    )  # fmt: skip
    _cover(polynomial.polyval2d, polynomial.polygrid2d)
    of_utilities = {"trimseq": _TrimSequence, "_div": _Divide, "mapdomain": _MapDomain}
    known = {name: maker for name, maker in of_utilities.items() if hasattr(polyutils, name)}
    for module in modules:  # also where a user has imported the function by itself
        for name, maker in _makers(module).items():
            if name != "np":
                call_as(getattr(module, name), maker(getattr(module, name)))
    of_roots = {"_to_real_if_imag_zero": _Complex}  # called by NumPy from 2.5
    here = {name: maker for name, maker in of_roots.items() if hasattr(_linalg, name)}
    return PolynomialNames([
        (vars(_linalg), here),
        (vars(polyutils), {"np": _NumPy, **known}),
        (vars(_polybase), {"np": _NumPy}),
        *((vars(module), _makers(module)) for module in modules),
        *((_ClassNames(kind), {"_mul": _Multiply}) for kind in kinds),
        (_ClassNames(polynomial.Polynomial), {"_div": _DividePowers}),
        (_ClassNames(chebyshev.Chebyshev), {"_div": _DivideChebyshev}),
    ])  # fmt: skip
