"""Evenly spaced bins have the counts of NumPy's, also for numbers on the edges and beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit

RANGES: list[Any] = [(0, 7), (-0.3, 2.7), (np.float64(0.1), np.float64(0.9)), (2.0, 2.0)]


def numbers(dtype: Any, ends: Any, bins: int) -> np.ndarray:
    random = np.random.default_rng(bins)
    x = random.normal(size=200) * 2
    edges = np.linspace(*ends, bins + 1)
    x[:40] = random.choice(edges, 40)
    x[40:60], x[60:80] = np.nextafter(x[:20], 9), np.nextafter(x[:20], -9)
    x[-3:] = np.nan, np.inf, -np.inf
    return x.astype(dtype)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("bins", [1, 17, 1000])
@pytest.mark.parametrize("ends", RANGES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_counts(dtype: Any, ends: Any, bins: int) -> None:
    x = numbers(dtype, ends, bins)
    if dtype is np.float16 and (ends, bins) == ((2.0, 2.0), 1000):
        with pytest.raises(ValueError, match="Too many bins for data range"):
            jit(lambda x: np.histogram(x, bins, ends))(x)
        return
    found, edges = jit(lambda x: np.histogram(x, bins, ends))(x)
    expected, expected_edges = np.histogram(x, bins, ends)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(edges, expected_edges)
    assert edges.dtype == expected_edges.dtype
    edges = jit(lambda x: np.histogram_bin_edges(x, bins, ends))(x)
    assert edges.dtype == expected_edges.dtype


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_integers(dtype: Any) -> None:
    x = np.random.default_rng(0).integers(0, 12, 100).astype(dtype)
    for ends in (None, (0, 7)):
        found, edges = jit(lambda x, ends=ends: np.histogram(x, 5, ends))(x)
        np.testing.assert_array_equal(found, np.histogram(x, 5, ends)[0])
        np.testing.assert_allclose(edges, np.histogram(x, 5, ends)[1], rtol=1e-14)


def test_weights_and_traced_ends() -> None:
    x = np.array([0.25, 0.5, 0.75, 2.5, np.nan, 1.0])
    w = np.arange(6.0)

    def f(w: Any, high: Any) -> Any:
        return np.sum(np.histogram(x, 4, (0.0, high), weights=w)[0] ** 2)

    counts = np.histogram(x, 4, (0.0, 1.0), weights=w)[0]
    assert jit(f)(w, 1.0) == np.sum(counts**2)
    places = [1, 2, 3, None, None, 3]
    slope = [0 if p is None else 2 * counts[p] for p in places]
    np.testing.assert_allclose(jit(grad(f))(w, 1.0), slope)
    with pytest.raises(ValueError, match="max must be larger than min"):
        jit(f)(w, -1.0)
