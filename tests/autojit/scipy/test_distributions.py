"""Distributions of SciPy on traced values: beside SciPy's own values, and differences of them."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.special as sc
import scipy.stats as st

from autojit import grad, jit, jvp, trace, vjp
from autojit.errors import UncoveredFunctionError
from autojit.protocols.ufuncs import find_answer
from autojit.scipy.stats.family import FAMILIES
from autojit.staging.pytrees import flatten, unflatten
from tests.autojit.scipy.families import AGAIN, CONTINUOUS, DISCRETE, Row

PROBABILITIES = np.array([0.1, 0.45, 0.8])
LOC, SCALE = 0.25, 1.6
ROWS = [
    *CONTINUOUS.items(), *((f"{name} again", row) for name, row in AGAIN.items()),
    *DISCRETE.items(),
]  # fmt: skip
each_family = pytest.mark.parametrize(("name", "row"), ROWS, ids=[name for name, _ in ROWS])
OF_POINTS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
OF_PROBABILITIES = ("ppf", "isf")
OF_PARAMETERS = ("mean", "var", "std", "median", "entropy")


class Every:
    """All methods of a distribution that are covered, in one function of everything."""

    def __init__(self, name: str, whole: tuple[float, ...] = ()) -> None:
        self.distribution = getattr(st, name.split()[0])
        #: Shape parameters that are no arguments: the first ones.
        self.whole = whole
        self.names = {*OF_POINTS, *OF_PROBABILITIES, *OF_PARAMETERS}

    def __call__(self, points: Any, probabilities: Any, *parameters: Any) -> dict[str, Any]:
        parameters = self.whole + parameters
        found = {name: (points, *parameters) for name in OF_POINTS}
        found |= {name: (probabilities, *parameters) for name in OF_PROBABILITIES}
        found |= dict.fromkeys(OF_PARAMETERS, parameters)
        return {
            name: result
            for name, arguments in found.items()
            if name in self.names and (result := self.ask(name, *arguments)) is not None
        }

    def ask(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self.distribution, name)(*arguments)
        except UncoveredFunctionError as error:
            assert "covered by autojit" in str(error)
        except AttributeError:  # pdf of a discrete one
            assert name in OF_POINTS
        return None


def by_scipy(f: Every, *arguments: Any) -> dict[str, Any]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*arguments)


def interpreted(f: Any, *arguments: Any) -> Any:
    """What a function returns, an array or lists of arrays, by the interpreter."""
    shape: list[Any] = []

    def listed(*a: Any) -> Any:
        leaves, structure = flatten(f(*a))
        shape[:] = [structure]
        return [0.0, 0.0, *leaves]

    with np.errstate(all="ignore"):
        leaves = trace(listed)(*arguments)(*arguments)[2:]
    return unflatten(shape[0], leaves)


def traced(f: Every, *arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = interpreted(f, *arguments)
    f.names = set(found)  # those that are covered
    return found


def assert_like_scipy(f: Every, *arguments: Any) -> dict[str, Any]:
    found = traced(f, *arguments)
    wanted = by_scipy(f, *arguments)
    for name, got in found.items():
        assert np.shape(got) == np.shape(wanted[name]), name
        np.testing.assert_allclose(got, wanted[name], rtol=1e-9, atol=1e-12, err_msg=name)
    return found


@each_family
def test_values(name: str, row: Row) -> None:
    is_discrete = name in DISCRETE
    place = (1.0,) if is_discrete else (LOC, SCALE)
    points = np.array([*row.points, *row.edges, np.nan]) * place[-1]
    points = points + 1 if is_discrete else points + LOC
    q = np.array([*PROBABILITIES, -0.1, 1.1, np.nan])
    found = assert_like_scipy(Every(name), points, q, *row.shapes, *place)
    assert {"logpmf" if is_discrete else "logpdf"} <= found.keys() or find_answer(sc.zeta) is None


@each_family
def test_invalid_parameters_give_nan(name: str, row: Row) -> None:
    points = np.array([*row.points, *row.edges])
    wrong = [] if row.invalid is None else [(*row.invalid, 0.0)]
    if name not in DISCRETE:
        wrong += [(*row.shapes, 0.0, -1.0), (*row.shapes, 0.0, 0.0)]
    for parameters in wrong:
        found = traced(Every(name), points, PROBABILITIES, *parameters)
        for method, got in found.items():
            assert np.all(np.isnan(got)), method


def differences(f: Every, arguments: list[Any], tangents: list[Any]) -> dict[str, Any]:
    """The derivatives along the tangents, of fourth order."""
    h = 1e-3

    def by(step: float) -> dict[str, Any]:
        up, down = (
            by_scipy(f, *(x + s * t for x, t in zip(arguments, tangents, strict=True)))
            for s in (step, -step)
        )
        return {n: (np.asarray(y) - np.asarray(down[n])) / (2 * step) for n, y in up.items()}

    with np.errstate(all="ignore"):
        near, far = by(h / 2), by(h)
        return {n: (4 * y - far[n]) / 3 for n, y in near.items()}


@each_family
def test_derivatives(name: str, row: Row) -> None:
    """Both modes, beside differences of SciPy's."""
    whole = FAMILIES[name.split()[0]].whole
    f = Every(name, row.shapes[: len(whole)])
    arguments = [PROBABILITIES, *row.shapes[len(whole) :]]
    if name in DISCRETE:
        g = partial(f, np.array(row.points))
    else:
        arguments = [np.array(row.points) * SCALE + LOC, *arguments, LOC, SCALE]
        g = partial(f)
    rng = np.random.default_rng(3)
    tangents = [rng.uniform(0.5, 1.0, np.shape(x)) * 0.1 for x in arguments]
    found = interpreted(g, *arguments)
    f.names = {n for n, y in found.items() if np.all(np.isfinite(y))}
    weights = {n: np.full(np.shape(found[n]), 1.0 + k) for k, n in enumerate(sorted(f.names))}
    changes = interpreted(lambda *a: jvp(g, a, tuple(tangents))[1], *arguments)
    cotangents = interpreted(lambda *a: vjp(g, *a)[1](weights), *arguments)
    wanted = differences(g, arguments, tangents)
    for method, change in changes.items():
        np.testing.assert_allclose(change, wanted[method], rtol=2e-7, atol=1e-8, err_msg=method)
    forward = sum(np.sum(w * changes[n]) for n, w in weights.items())
    backward = sum(np.sum(c * t) for c, t in zip(cotangents, tangents, strict=True))
    np.testing.assert_allclose(backward, forward, rtol=1e-8)
