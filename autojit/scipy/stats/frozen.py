"""Multivariate distributions with parameters: ``multivariate_normal(mu, cov)``.

If a parameter is traced, the object is a `Frozen`. If only the point is traced, the object is
SciPy's, and functions of this module answer for its methods.
"""

from __future__ import annotations

import functools
from typing import Any

from autojit.scipy.names import uncovered
from autojit.scipy.registry import FUNCTIONS, answers

from . import compound, multivariate

_tables = (multivariate, compound)  # importing them registers the densities

#: The parameters of each distribution, in SciPy's order, and their place in SciPy's object: the
#: name of an attribute, or the index among its shapes.
PARAMETERS: dict[str, dict[str, str | int]] = {
    "multivariate_normal": {"mean": "mean", "cov": "cov"},
    "multivariate_t": {"loc": "loc", "shape": "shape", "df": "df"},
    "matrix_normal": {"mean": "mean", "rowcov": "rowcov", "colcov": "colcov"},
    "dirichlet": {"alpha": "alpha"},
    "dirichlet_multinomial": {"alpha": "alpha", "n": "n"},
    "vonmises_fisher": {"mu": "mu", "kappa": "kappa"},
    "matrix_t": {key: key for key in ("mean", "row_spread", "col_spread", "df")},
    "normal_inverse_gamma": {"mu": 0, "lmbda": 1, "a": 2, "b": 3},
    "multinomial": {"n": "n", "p": "p"},
    "wishart": {"df": "df", "scale": "scale"},
    "invwishart": {"df": "df", "scale": "scale"},
}
_OF_POINTS = ("pdf", "logpdf", "pmf", "logpmf")


class Frozen:
    """A multivariate distribution with traced parameters."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        known = PARAMETERS[name]
        given = dict(zip(known, args, strict=False)) | kwargs
        allowed = given.pop("allow_singular", False)
        if allowed and name != "multivariate_normal":
            uncovered("stats", f"{name} with allow_singular=True")
        if len(args) > len(known) or not given.keys() <= known.keys():
            raise TypeError(f"{name} takes {', '.join(known)}; got {', '.join(given)}")
        self.name: str = name
        self.parameters: dict[str, Any] = given
        #: Further arguments for methods that take points.
        self.settings = {"allow_singular": True} if allowed else {}

    def __getattr__(self, method: str) -> Any:
        answer = FUNCTIONS.get(f"scipy.stats.{self.name}.{method}")
        if answer is None or method.startswith("__"):
            uncovered("stats", f"{self.name}.{method}")
        settings = self.settings if method in _OF_POINTS else {}
        return functools.partial(answer, **self.parameters, **settings)


def _freeze(name: str, /, *args: Any, **kwargs: Any) -> Frozen:
    return Frozen(name, args, kwargs)


def _of_scipys(name: str, method: str) -> Any:
    """A density of a SciPy distribution with plain parameters."""

    def answer(self: Any, x: Any, *others: Any) -> Any:
        parameters = {
            key: self._shapes[place] if isinstance(place, int) else getattr(self, place)
            for key, place in PARAMETERS[name].items()
        }
        return FUNCTIONS[f"scipy.stats.{name}.{method}"](x, *others, **parameters)

    def of_matrices(self: Any, X: Any) -> Any:
        return answer(self, X)

    return of_matrices if name in ("matrix_normal", "matrix_t") else answer


for _name in PARAMETERS:
    answers(f"scipy.stats.{_name}.__call__")(functools.partial(_freeze, _name))
    for _method in _OF_POINTS:
        if f"scipy.stats.{_name}.{_method}" in FUNCTIONS:
            answers(f"scipy.stats._multivariate.{_name}_frozen.{_method}")(
                _of_scipys(_name, _method)
            )
