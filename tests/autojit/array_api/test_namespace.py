"""The array API standard on traced arrays; the suite `array-api-tests` covers the rest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autojit
from autojit import array_api as xp
from autojit import grad, jit, jvp, trace
from autojit.errors import ConcreteValueError
from autojit.tracing.created_arrays import is_traced
from tests.autojit.array_api.traced_suite import allowed_by_note, either

ROOT = Path(__file__).resolve().parents[3]
X = np.array([1.0, 2.5, 4.0, 7.0, 3.0])

#: Calls that create an array without taking one.
CREATED = [
    lambda: xp.zeros(3),
    lambda: xp.ones((2, 1), dtype=xp.float32),
    lambda: xp.full((2,), 3),
    lambda: xp.empty(2),
    lambda: xp.arange(4),
    lambda: xp.arange(1.0, 4.0, 0.5),
    lambda: xp.linspace(0, 1, 5),
    lambda: xp.eye(2, 3, k=1),
    lambda: xp.asarray([[1.0, 2.0]]),
    lambda: xp.asarray(2),
    lambda: xp.asarray(X),
    lambda: xp.fft.fftfreq(5, d=0.5),
    lambda: xp.fft.rfftfreq(5, dtype=xp.float32),
    lambda: xp.from_dlpack(X),
    lambda: xp.nonzero(xp.asarray(X > 2))[0],
    lambda: xp.unique_inverse(xp.asarray(X)).inverse_indices,
    lambda: xp.unique_all(xp.asarray(X)).indices,
    lambda: xp.unique_counts(xp.asarray(X)).counts,
    lambda: xp.linalg.matrix_power(xp.eye(2), 0),
]


@pytest.mark.parametrize("number", range(len(CREATED)))
def test_created_arrays_are_traced_in_a_trace_and_numpys_elsewhere(number: int) -> None:
    make = CREATED[number]
    outside, traced = make(), []

    def f(x: object) -> object:
        made = make()
        traced.append(is_traced(made))
        return made

    inside = jvp(f, (X,), (X,))[0]
    assert isinstance(outside, np.ndarray)
    assert traced == [True]
    assert inside.dtype == outside.dtype
    np.testing.assert_array_equal(inside, outside)


#: Functions whose arguments or results differ from NumPy's, on both kinds of arrays.
ADJUSTED = {
    "clip": (lambda x: xp.clip(x, 2, None), np.clip(X, 2, None)),
    "clip to nothing": (lambda x: xp.clip(x), X),
    "sort": (lambda x: xp.sort(x, descending=True), X[[3, 2, 4, 1, 0]]),
    "argsort": (lambda x: xp.argsort(x, descending=True), [3, 2, 4, 1, 0]),
    "argsort of equal ones": (lambda x: xp.argsort(x * 0, descending=True), [0, 1, 2, 3, 4]),
    "unstack": (lambda x: xp.unstack(xp.reshape(x[:4], (2, 2)), axis=1)[1], X[[1, 3]]),
    "cumulative_sum": (
        lambda x: xp.cumulative_sum(x, include_initial=True),
        np.concatenate([[0], np.cumsum(X)]),
    ),
    "cumulative_prod": (lambda x: xp.cumulative_prod(x), np.cumprod(X)),
    "floor_divide": (lambda x: xp.floor_divide(x * np.inf, -x), np.full(5, -np.inf)),
    "expm1": (lambda x: xp.expm1((x[:1] - np.inf) + 0j), [-1 + 0j]),
    "count_nonzero": (lambda x: xp.count_nonzero(x > 2), 4),
    "take_along_axis": (lambda x: xp.take_along_axis(x, xp.asarray([1, 0])), X[[1, 0]]),
    "astype": (lambda x: xp.astype(x, xp.int64), X.astype(int)),
    "conversion": (lambda x: xp.asarray(x, dtype=xp.float32), X.astype(np.float32)),
    "list": (lambda x: xp.asarray([x[0], 2.0]), [1.0, 2.0]),
    "one truth value": (lambda x: x[xp.asarray(True)], X[None]),
    "no truth": (lambda x: x[False], X[None][:0]),
    "mask without elements": (lambda x: x[xp.asarray([], dtype=xp.bool)], X[:0]),
    "repeats of nothing": (lambda x: xp.repeat(x[:0], xp.arange(0)), X[:0]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ADJUSTED)
def test_adjusted_functions(name: str) -> None:
    f, expected = ADJUSTED[name]
    np.testing.assert_array_equal(f(X), expected)
    np.testing.assert_array_equal(jvp(f, (X,), (X,))[0], expected)


def test_all_names_are_those_of_the_standard() -> None:
    assert all(hasattr(xp, name) for name in xp.__all__)
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert info.dtypes(kind=("bool", "complex floating")).keys() == {
        "bool", "complex64", "complex128",
    }  # fmt: skip
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["integral"] == xp.int64
    assert info.capabilities()["boolean indexing"]


def test_attributes_of_traced_arrays() -> None:
    def f(x: object) -> object:
        assert x.__array_namespace__() is xp
        assert x.__array_namespace__(api_version="2023.12") is xp
        assert x.device == "cpu"
        assert x.__dlpack_device__() == (1, 0)
        return xp.sum(x.to_device("cpu").mT)

    assert jit(f)(X[None]) == X.sum()


def test_an_array_that_became_traced_has_the_namespace() -> None:
    def f(x: object) -> object:
        out = np.zeros(2)
        out[0] = x[1]
        assert out.__array_namespace__() is xp
        return out

    np.testing.assert_array_equal(jit(f)(X), [2.5, 0])


REFUSED = [
    (lambda x: x.to_device("cuda"), ValueError, 'jit(f, device="cuda")'),
    (lambda x: x.to_device("cpu", stream=1), ValueError, "leave out stream="),
    (lambda x: xp.zeros(3, device="gpu"), ValueError, "not on 'gpu'"),
    (lambda x: x.__array_namespace__(api_version="2199.12"), ValueError, "x.__array_namespace__()"),
    (lambda x: x.__dlpack__(), ConcreteValueError, "torch.from_dlpack(jit(f)(x))"),
    (lambda x: xp.from_dlpack(x), ConcreteValueError, "torch.from_dlpack(jit(f)(x))"),
    (lambda x: xp.asarray(x, dtype=xp.float32, copy=False), ValueError, "not: copy=False"),
    (lambda x: xp.cumulative_sum(x[None]), ValueError, "axis=0"),
    (lambda x: xp.expand_dims(x, 2), IndexError, "axis 2 is out of bounds"),
    (lambda x: xp.nonzero(x[0]), ValueError, "xp.reshape(x, (1,))"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals(number: int) -> None:
    f, kind, words = REFUSED[number]
    with pytest.raises(kind, match=re.escape(words)):
        trace(f)(X)


def test_memory_of_known_values_is_given_away_without_jit() -> None:
    given = []

    def f(x: object) -> object:
        given.append(np.from_dlpack(autojit.stop_gradient(x)))
        return xp.sum(x)

    grad(f)(X)
    np.testing.assert_array_equal(given[0], X)


def test_assignment_at_one_truth_value() -> None:
    def f(x: object) -> object:
        y = x.copy()
        y[True] = 2 * x
        y[xp.asarray(False)] = 0.0
        return y

    np.testing.assert_array_equal(jvp(f, (X,), (np.ones(5),))[1], np.full(5, 2.0))


def test_sign_of_complex_zeros_is_numpys() -> None:
    z = np.array([0j, complex(-0.0, 0.0), complex(0.0, -0.0), 3 - 4j])
    found = jvp(np.sign, (z,), (np.ones(4, complex),))[0]
    np.testing.assert_array_equal(np.signbit(found.real), np.signbit(np.sign(z).real))
    np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(np.sign(z).imag))
    np.testing.assert_allclose(found, np.sign(z))


#: SciPy's own functions, which take the namespace of their arguments: names, and a call.
OF_SCIPY = """
import numpy as np
import scipy.fft, scipy.signal, scipy.special, scipy.stats
import scipy.constants
from autojit import grad, jit
from autojit.scipy.registry import FUNCTIONS

def direction(x):
    return scipy.stats.directional_stats(x[:4].reshape(2, 2)).mean_direction[0]

x = np.array([1.0, 2.5, 4.0, 7.0, 3.0])
cases = {
    "stats.directional_stats": lambda x: direction(x),
    "constants.convert_temperature": lambda x: scipy.constants.convert_temperature(x, "C", "K")[0],
    "special.erf": lambda x: scipy.special.erf(x)[0],
    "special.xlogy": lambda x: scipy.special.xlogy(np.arange(5.0), x)[1],
}
# Answered for by autojit, with the names that SciPy wraps.
ours = {
    "signal.envelope": lambda x: scipy.signal.envelope(x)[0, 1],
    "stats.kstat": lambda x: scipy.stats.kstat(x, 3),
    "stats.circvar": lambda x: scipy.stats.circvar(x),
    "stats.differential_entropy": lambda x: scipy.stats.differential_entropy(x),
    "stats.ttest_1samp": lambda x: scipy.stats.ttest_1samp(x, 0.5).statistic,
    "stats.bartlett": lambda x: scipy.stats.bartlett(x, x**2).statistic,
    "signal.zpk2tf": lambda x: scipy.signal.zpk2tf(x[:2], x[2:4], 1.0)[0][1],
    "stats.zscore": lambda x: scipy.stats.zscore(x)[0],
    "stats.skew": lambda x: scipy.stats.skew(x),
    "stats.entropy": lambda x: scipy.stats.entropy(x),
    "stats.pearsonr": lambda x: scipy.stats.pearsonr(x, x**2).pvalue,
    "fft.fht": lambda x: scipy.fft.fht(x, 0.1, 1.5)[1],
}
for name, f in {**cases, **ours}.items():
    assert ("scipy." + name in FUNCTIONS) == (name in ours), name
    slope = grad(f)(x)
    for i in (0, 3):
        h = 1e-5 * (np.arange(5) == i)
        expected = (f(x + h) - f(x - h)) / 2e-5
        np.testing.assert_allclose(slope[i], expected, rtol=1e-6, atol=1e-8, err_msg=name)
hankel = jit(grad(ours["fft.fht"]))(x)  # calls a ufunc that SciPy wraps
np.testing.assert_allclose(hankel, grad(ours["fft.fht"])(x), rtol=1e-12)
both = jit(lambda x: [f(x) for f in cases.values()])
np.testing.assert_allclose(both(x), [f(x) for f in cases.values()], rtol=1e-9)
"""


@pytest.mark.slow
def test_scipys_own_functions_run_in_the_namespace(tmp_path: Path) -> None:
    script = tmp_path / "of_scipy.py"
    script.write_text(OF_SCIPY, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_signs_of_complex_zeros() -> None:
    x = np.array([complex(-0.0, 0.0), complex(-0.0, -0.0), complex(0.0, -0.0)])
    for made in (xp.expm1(x), jit(xp.expm1)(x)):
        assert not np.signbit(made.real).any()
        np.testing.assert_array_equal(np.signbit(made.imag), [False, True, True])
    x = np.array([complex(np.inf, 2.0), complex(np.inf, -2.0), complex(-np.inf, 2.0)])
    for made in (xp.tanh(x), jit(xp.tanh)(x)):
        np.testing.assert_array_equal(made.real, [1, 1, -1])
        np.testing.assert_array_equal(np.signbit(made.imag), [False, True, False])
        assert not made.imag.any()


def test_the_plugin_accepts_the_value_of_a_note_and_no_third_one() -> None:
    text = "If ``x1_i`` is ``+infinity`` and ``x2_i`` is finite, the result is ``+infinity``"
    note = "(**note**: libraries may return ``NaN`` to match Python behavior"
    assert allowed_by_note(text) is None
    found = allowed_by_note(f"{text}. {note}")
    assert found is not None
    assert np.isnan(found)
    check = either(lambda x1, x2, result: result == np.inf, found)
    assert [check(np.inf, 1.0, value) for value in (np.inf, np.nan, -np.inf)] == [True, True, False]
    below = allowed_by_note(f"{text}. {note}".replace("NaN", "-1.0"))
    assert below == -1.0
    check = either(lambda result: result == 0.0, below)
    assert [check(value) for value in (0.0, -1.0, np.nan)] == [True, True, False]
