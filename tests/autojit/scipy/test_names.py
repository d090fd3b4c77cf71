"""SciPy's functions by SciPy's own names, however they were imported."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.special
import scipy.special as sc
import scipy.stats
from scipy.linalg import bandwidth, signm
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp, softmax

from autojit import grad, jit, trace, vmap
from autojit.errors import UncoveredFunctionError
from autojit.interception import scipy_names, visibility
from autojit.interception.scipy_names import ScipyNames
from autojit.scipy import names
from autojit.scipy.registry import FUNCTIONS, answers, original

X = np.array([0.5, 1.0, 3.0])
SOFT = scipy.special.softmax(X)
WITHOUT_SIGNATURE = (np.ufunc, type, BuiltinFunctionType, MethodDescriptorType)

# -- a function of a module ------------------------------------------------------------


def by_local_import(x: Any) -> Any:
    from scipy.special import logsumexp as summed

    return summed(x)


WAYS = {
    "by its name": lambda x: logsumexp(x),
    "from the package": lambda x: scipy.special.logsumexp(x),
    "from the package under another name": lambda x: sc.logsumexp(x),
    "imported in the function": by_local_import,
    "itself": logsumexp,
    "partial": functools.partial(logsumexp, axis=0),
    "partial inside": lambda x: functools.partial(logsumexp, axis=0)(x),
    "as a value": lambda x: (lambda f: f(x))(logsumexp),
    "in a list": lambda x: sum(f(x) for f in [sc.logsumexp]),
    "of a list": lambda x: logsumexp([x[0], x[1], x[2]]),
    "mapped": lambda x: sum(map(logsumexp, [x])),
    "vectorized": lambda x: logsumexp(np.vectorize(logsumexp)(x)),
    "with a keyword": lambda x: logsumexp(a=x, axis=0),
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_call(way: str) -> None:
    np.testing.assert_allclose(grad(WAYS[way])(X), SOFT)


def test_compiled_and_batched() -> None:
    np.testing.assert_allclose(jit(grad(logsumexp))(X), SOFT)
    np.testing.assert_allclose(vmap(softmax)(np.stack([X, X]))[1], SOFT)


def test_a_function_in_c_that_was_imported_by_its_name() -> None:
    costs = np.array([[1.0, 2.0], [1.0, 3.0]])
    slopes = grad(lambda c: np.sum(c[linear_sum_assignment(c)]))
    for f in (slopes, jit(slopes)):
        np.testing.assert_array_equal(f(costs), [[0, 1], [1, 0]])


def without_source(text: str) -> Any:
    """A function that has no twin, since nobody knows its source."""
    return eval(text, {"scipy": scipy, "np": np, "st": scipy.stats})


def test_without_source_the_names_of_the_modules_answer() -> None:
    before = scipy.special.logsumexp
    f = without_source("lambda x: scipy.special.logsumexp(x)")
    np.testing.assert_allclose(grad(f)(X), SOFT)
    assert scipy.special.logsumexp is before
    inspect.signature(scipy.special.logsumexp).bind(X)


def test_other_threads_call_scipys_own() -> None:
    found = []

    def elsewhere() -> None:
        found.append(scipy.special.logsumexp(X))
        found.append(scipy.stats.norm.logpdf(0.5))

    def f(x: Any) -> Any:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return logsumexp(x)

    trace(f)(X)
    np.testing.assert_allclose(found, [np.log(np.sum(np.exp(X))), scipy.stats.norm.logpdf(0.5)])


def test_nothing_traced_is_scipys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("autojit.functions.reductions.logsumexp", refuse)
    table = np.log([1.0, 2.0])
    np.testing.assert_allclose(grad(lambda x: x * logsumexp(table))(1.0), np.log(3))
    f = without_source("lambda x: x * scipy.special.logsumexp(np.log([1.0, 2.0]))")
    np.testing.assert_allclose(grad(f)(1.0), np.log(3))


# -- classes, objects and methods ------------------------------------------------------


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    names.load("interpolate")
    before = dict(FUNCTIONS)
    names._table.cache_clear()
    monkeypatch.setattr(visibility, "_scipy", ScipyNames())

    @answers("scipy.interpolate.PPoly.__call__")
    def evaluated(self: Any, x: Any) -> Any:
        return self.c[0, 0] * x

    @answers("scipy.interpolate.Akima1DInterpolator")
    class Line:
        def __init__(self, x: Any, y: Any) -> None:
            self.slope = y[1] - y[0]

        def __call__(self, x: Any) -> Any:
            return self.slope * x

    @answers("scipy.stats.vonmises_fisher.logpdf")
    def density(x: Any, mu: Any = None, kappa: Any = 1) -> Any:
        return kappa * np.sum(x * mu)

    yield
    FUNCTIONS.clear()
    FUNCTIONS.update(before)
    names._table.cache_clear()


MU = np.array([0.6, 0.8])
OF_OBJECTS = {
    "an object that is called": "lambda x: spline(x)",
    "its method as a value": "lambda x: (lambda f: f(x))(spline.__call__)",
    "a class": "lambda x: scipy.interpolate.Akima1DInterpolator(np.arange(2.0), [0.0, x])(3.0)",
    "a method of a public object": "lambda x: scipy.stats.vonmises_fisher.logpdf(mu, mu, x)",
    "a partial of one": "lambda x: partial(scipy.stats.vonmises_fisher.logpdf, mu=mu)(mu, kappa=x)",
}
SPACE = {
    "scipy": scipy, "np": np, "mu": MU, "partial": functools.partial,
    "spline": scipy.interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0]),
}  # fmt: skip
SLOPES = {"an object that is called": 1.0, "its method as a value": 1.0, "a class": 3.0}


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("has_source", [True, False])
@pytest.mark.parametrize("way", OF_OBJECTS)
def test_objects(way: str, has_source: bool, tmp_path: Any) -> None:
    text = OF_OBJECTS[way]
    file = tmp_path / "made.py"
    file.write_text(f"f = {text}\n")
    space = dict(SPACE)
    exec(compile(file.read_text(), str(file) if has_source else "<nowhere>", "exec"), space)
    np.testing.assert_allclose(grad(space["f"])(0.5), SLOPES.get(way, 1.0))


@pytest.mark.usefixtures("registered")
def test_a_class_stays_one_for_isinstance_and_inheritance() -> None:
    def f(x: Any) -> Any:
        kind = vars(scipy.interpolate)["Akima1DInterpolator"]
        assert not isinstance(x, kind)
        assert issubclass(scipy.interpolate.Akima1DInterpolator, kind)

        class Own(kind):  # type: ignore[misc, valid-type]
            pass

        return x

    trace(f)(0.5)


@pytest.mark.usefixtures("registered")
def test_methods_are_put_back() -> None:
    kinds = scipy.interpolate.PPoly.__mro__
    kind: Any = next(kind for kind in kinds if "__call__" in vars(kind))
    before = vars(kind)["__call__"]

    def f(x: Any) -> Any:
        assert vars(kind)["__call__"] is not before
        assert original("scipy.interpolate.PPoly.__call__") is before
        return x

    trace(f)(0.5)
    assert vars(kind)["__call__"] is before


# -- the table -------------------------------------------------------------------------


#: Arguments that SciPy has dropped in 1.18.
DROPPED = {f"scipy.linalg.{name}": {"disp", "blocksize"} for name in ("sqrtm", "logm", "signm")}


def test_every_name_is_one_of_scipys_with_the_same_arguments() -> None:
    for package in scipy_names._packages():
        names.load(package.rpartition(".")[2])
    for name, answer in FUNCTIONS.items():
        theirs = original(name)
        if isinstance(
            theirs, (np.ufunc, type, BuiltinFunctionType, MethodDescriptorType)
        ):  # without a signature
            continue
        parameters = inspect.signature(theirs).parameters
        positional = [p.name for p in inspect.signature(answer).parameters.values() if p.kind < 2]
        dropped = DROPPED.get(name, set()) - parameters.keys()
        ours = [p for p in positional if p not in dropped]
        known = any(p.kind == p.VAR_POSITIONAL for p in parameters.values())
        assert known or set(ours) <= set(parameters), name
        assert known or [p for p in parameters if p in ours] == ours, name


def test_import_stays_light() -> None:
    code = (
        "import sys, autojit; autojit.trace(lambda x: x)(1.0); "
        "print(*[m for m in sys.modules if m.split('.')[0] == 'scipy'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_trace_begins_in_microseconds() -> None:
    every = ScipyNames()
    every.prepare()
    every.install()
    every.restore()
    count, began = 200, time.process_time()
    for _ in range(count):
        every.prepare()
        every.install()
        every.restore()
    assert (time.process_time() - began) / count < 1e-3  # 10 to 50 us; ten times that under load


# -- what is not covered ---------------------------------------------------------------

UNCOVERED = {
    "scipy.linalg.bandwidth": lambda x: bandwidth(np.outer(x, x)),
    "scipy.interpolate.bisplrep": lambda x: scipy.interpolate.bisplrep(X, X, x),
    "scipy.stats.Normal": lambda x: scipy.stats.Normal(mu=x),
}


@pytest.mark.parametrize("mode", [jit, grad])
@pytest.mark.parametrize("name", UNCOVERED)
def test_uncovered_functions_are_named(name: str, mode: Any) -> None:
    with pytest.raises(UncoveredFunctionError) as caught:
        mode(UNCOVERED[name])(X)
    text = str(caught.value)
    assert text.startswith(f"{name} of traced values is not covered by autojit"), text
    assert "@autojit.custom_jvp" in text
    assert "test_names.py" in text


def test_words_of_scipys_own_error_are_shown() -> None:
    with pytest.raises(UncoveredFunctionError, match="it raises TypeError: "):
        trace(lambda x: scipy.stats.ecdf(x, nothing=x))(X)


def test_uncovered_functions_of_known_values_run() -> None:
    matrix = np.diag(X)
    found = grad(lambda x: x * signm(matrix)[0, 0])(2.0)
    np.testing.assert_allclose(found, 1.0)
