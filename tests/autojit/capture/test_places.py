"""Loops over `x.flat`, `np.ndindex` and `np.ndenumerate` are captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import errors, grad, jit

KNOWN = np.random.default_rng(1).normal(size=(30, 40))
SMALL, LARGE = (np.random.default_rng(0).normal(size=shape) for shape in ((3, 4), (30, 40)))
CUBE = np.random.default_rng(0).normal(size=(6, 7, 8))


def elements(a: Any) -> Any:
    s = 0.0
    for x in a.flat:
        if x > 0:
            s += x * x
    return s


def places(a: Any) -> Any:
    out = np.zeros(a.shape)
    for at in np.ndindex(a.shape):
        if a[at] > 0:
            out[at] = a[at] ** 2
    return np.sum(out)


def places_and_elements(a: Any) -> Any:
    out = np.zeros_like(a)
    for at, v in np.ndenumerate(a):
        out[at] = np.sin(v) * at[0] + at[-1]
    return np.sum(out)


def lower_triangle(a: Any) -> Any:
    s = 0.0
    for i, j in np.ndindex(*a.shape[-2:]):
        if i > j:
            continue
        s += a[..., i, j].sum() ** 2
        if s > 50:
            break
    return s


def by_pairs(a: Any) -> Any:
    s = 0.0
    for k, (x, y) in enumerate(zip(a.flat, a.T.flat, strict=True)):
        s += x * y * k
    return s


def known_elements(a: Any) -> Any:
    s, n = 0.0, 0
    for v in KNOWN.flat:
        n += 1
        if v * a[0, 0].sum() > 0:
            s += a[0, 0].sum() * v
    return s * n


def in_place(a: Any) -> Any:
    a = a.copy()
    for at, v in np.ndenumerate(a):
        a[at] = 2 * v + (a[0, 0].sum() if at[0] > 0 else 0)
    return np.sum(a)


def in_a_sum(a: Any) -> Any:
    return sum(a[at] ** 2 for at in np.ndindex(a.shape) if a[at] > 0)


def in_a_list(a: Any) -> Any:
    return np.sum(np.array([v * v for v in a.flat]) * np.arange(a.size))


def largest(a: Any) -> Any:
    return max(v * (1 + at[0]) for at, v in np.ndenumerate(a))


FUNCTIONS = [
    elements, places, places_and_elements, lower_triangle, by_pairs, known_elements, in_place,
    in_a_sum, in_a_list, largest,
]  # fmt: skip


@pytest.mark.parametrize("a", [SMALL, LARGE, CUBE], ids=["small", "large", "three axes"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
def test_values_and_gradients(f: Callable[[Any], Any], a: np.ndarray) -> None:
    compiled = jit(f)
    np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)
    along = np.random.default_rng(2).normal(size=a.shape)
    change = (f(a + 1e-6 * along) - f(a - 1e-6 * along)) / 2e-6
    np.testing.assert_allclose(np.sum(jit(grad(f))(a) * along), change, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(np.sum(grad(f)(a) * along), change, rtol=1e-5, atol=1e-7)
    if a.size > 1000 and f is not in_a_list:
        assert compiled.cache_info().loops == 1


def used_up(a: Any) -> Any:
    it, s, n = np.ndindex(30, 40), 0.0, 0
    for i, j in it:
        s += np.sin(s + a[i, j])
    for _ in it:
        n += 1
    flat = KNOWN.flat
    for v in flat:
        s += np.sin(s + v)
    for _ in flat:
        n += 1
    return s, n, flat.index


def test_iterators_are_used_up() -> None:
    assert jit(used_up)(LARGE) == pytest.approx(used_up(LARGE))


def left_early(a: Any) -> Any:
    it, s = np.ndindex(30, 40), 0.0
    for i, j in it:
        s += a[i, j] ** 2
        if s > 3:
            break
    return s, next(it)


def test_an_unknown_position_is_refused() -> None:
    with pytest.raises(errors.CaptureError, match="iterator"):
        jit(left_early)(LARGE)


def pairs_of_places(a: Any) -> Any:
    it, s = np.ndindex(a.shape), 0.0
    for p, q in zip(it, it, strict=True):
        s += a[p] * p[1] - a[q]
    return s


def pairs_of_elements(a: Any) -> Any:
    f, s = a.flat, 0.0
    for v, w in zip(f, f, strict=True):
        s += v - 2 * w
    return s


def counted_pairs(a: Any) -> Any:
    it, s = enumerate(np.ndindex(a.shape)), 0.0
    for (i, p), (j, q) in zip(it, it, strict=True):
        s += a[p] * i - a[q] * j
    return s


def parts_are_used_up(a: Any) -> Any:
    it, flat, s, n = np.ndindex(a.shape), a.flat, 0.0, 0
    for i, p in enumerate(it):
        s += a[p] * i
    for v, k in zip(flat, a.ravel(), strict=True):
        s += v * k
    for _ in it:
        n += 1
    for _ in flat:
        n += 1
    return s, n


def a_part_is_left(a: Any) -> Any:
    flat, s, n = a.flat, 0.0, 0
    for w, v in zip(a.ravel()[:700], flat, strict=False):
        s += np.sin(s + v * w)
    for _ in flat:
        n += 1
    return s, n


def by_itself(a: Any) -> Any:
    f = a.flat
    s, n = sum(v for v in f if v > 0), 0
    for _ in f:
        n += 1
    g = a.flat
    return s, n, next(g), next(g), g.index, g[5]


SHARED = [
    pairs_of_places, pairs_of_elements, counted_pairs, parts_are_used_up, a_part_is_left, by_itself,
]  # fmt: skip


@pytest.mark.parametrize("f", SHARED, ids=[f.__name__ for f in SHARED])
def test_iterators_that_are_used_twice(f: Callable[[Any], Any]) -> None:
    assert np.allclose(jit(f)(LARGE), f(LARGE), rtol=1e-10)


def kinds(a: Any) -> Any:
    found = np.ndindex(30, 40)
    pairs = np.ndenumerate(a)
    return isinstance(found, np.ndindex), isinstance(pairs, np.ndenumerate), a[next(found)]


def test_types_are_numpys() -> None:
    assert jit(kinds)(LARGE) == (True, True, LARGE[0, 0])


def test_wrong_shapes_raise_as_in_numpy() -> None:
    with pytest.raises(ValueError, match="negative dimensions"):
        jit(lambda x: [x for _ in np.ndindex(-1, 40)])(1.0)
