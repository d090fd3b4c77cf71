"""Peaks of signals: places from known values, measures with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import signal

import autojit
from autojit import errors, grad, jit, jvp, vmap
from tests.autojit.scipy.checks import assert_same, by_scipy, differences

X = np.random.default_rng(0).standard_normal(60).cumsum()
IMAGE = np.random.default_rng(1).standard_normal((7, 5))
MEASURED = (
    "peak_heights", "left_thresholds", "right_thresholds", "prominences", "widths",
    "width_heights", "left_ips", "right_ips",
)  # fmt: skip


def _properties(x: Any) -> Any:
    places, found = signal.find_peaks(x, height=(None, x.max()), threshold=0, distance=1.5,
                                      prominence=0.2, width=0.1, rel_height=0.6)  # fmt: skip
    return [x[places], *(found[name] for name in MEASURED)]


def _measures(x: Any) -> Any:
    places = signal.argrelextrema(x, np.greater, order=2)[0]
    stands = signal.peak_prominences(x, places, wlen=21)
    return [stands[0], *signal.peak_widths(x, places), *signal.peak_widths(x, places, 0.3, stands)]


def _ended(x: Any) -> Any:
    """A peak whose width ends at its bases, which are above the height."""
    return [signal.peak_widths(x, [30], 1.2, wlen=7)[0]]


CASES = {
    "find_peaks": (_properties, X),
    "peak_prominences, peak_widths": (_measures, X),
    "peak_widths at an end": (_ended, -((np.arange(60.0) - 30) ** 2)),
    "argrelmax": (lambda x: [x[signal.argrelmax(x, axis=1, order=2)]], IMAGE),
    "argrelmin": (lambda x: [x[signal.argrelmin(x, mode="wrap")]], IMAGE),
    "find_peaks_cwt": (lambda x: [x[signal.find_peaks_cwt(x, np.arange(1, 5))]], X),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    function, x = CASES[name]
    tangent = np.random.default_rng(2).standard_normal(x.shape) * 1e-3
    with autojit.disable_jit():
        values, changes = jvp(function, (x,), (tangent,))
        assert_same(values, by_scipy(function, x), rtol=1e-12)
        assert sum(np.size(v) for v in values) >= 1
        for got, wanted in zip(changes, differences(function, [x], [tangent]), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-9)
        weights = [np.cos(np.arange(v.size)).reshape(v.shape) for v in values]

        def weighed(x: Any) -> Any:
            return sum(np.sum(w * v) for w, v in zip(weights, function(x), strict=True))

        slopes = grad(weighed)(x)
    forward = sum(np.sum(w * c) for w, c in zip(weights, changes, strict=True))
    np.testing.assert_allclose(np.sum(slopes * tangent), forward, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("transform", [jit, lambda f: lambda x: vmap(f)(x[None])])
def test_places_need_values(transform: Any) -> None:
    with pytest.raises(errors.UncoveredFunctionError, match=r"find_peaks.*\n +peak = np\.r_"):
        transform(_properties)(X)


def test_known_sections_of_a_filter_give_scipys_padding() -> None:
    # An odd order has sections whose last coefficients are zero.
    def filtered(cutoff: Any) -> Any:
        return signal.sosfiltfilt(signal.butter(3, cutoff, output="sos"), X)

    with autojit.disable_jit():
        value, change = jvp(filtered, (0.2,), (1.0,))
        assert_same(value, by_scipy(filtered, 0.2), rtol=1e-9)
        (wanted,) = differences(filtered, [0.2], [1.0])
    np.testing.assert_allclose(change, wanted, rtol=1e-4, atol=1e-6)
