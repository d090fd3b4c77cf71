"""Indexing: every mixture of indices gives what NumPy gives, and so does its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autojit
from autojit import grad, jit
from tests.sampling import share

SHAPE = (3, 4, 2, 3)
X = np.random.default_rng(0).normal(size=SHAPE)
#: Shapes of index arrays: all of them broadcast together.
INDEX_SHAPES = [(), (2,), (3, 1), (1, 2), (3, 2)]


@st.composite
def items(draw: Any, extent: int) -> Any:
    """One index of an axis: an integer, a slice, an array, or a mask."""
    kind = draw(st.sampled_from(["integer", "slice", "slice", "array", "list"]))
    if kind == "integer":
        return draw(st.integers(-extent, extent - 1))
    if kind == "slice":
        bounds = st.none() | st.integers(-extent - 1, extent + 1)
        steps = st.sampled_from([None, 1, 2, 3, -1, -2])
        return slice(draw(bounds), draw(bounds), draw(steps))
    shape = draw(st.sampled_from(INDEX_SHAPES)) if kind == "array" else (2,)
    flat = draw(st.lists(st.integers(-extent, extent - 1), min_size=6, max_size=6))
    array = np.array(flat[: int(np.prod(shape))]).reshape(shape)
    return array if kind == "array" else array.tolist()


@st.composite
def indices(draw: Any) -> tuple[Any, ...]:
    """A tuple of indices with None and an ellipsis anywhere."""
    used = draw(st.integers(0, len(SHAPE)))
    ellipsis = draw(st.booleans()) or used < len(SHAPE)
    at = draw(st.integers(0, used)) if ellipsis else used
    axes = [*range(at), *range(len(SHAPE) - used + at, len(SHAPE))]
    result = [draw(items(SHAPE[axis])) for axis in axes]
    if ellipsis:
        result.insert(at, Ellipsis)
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        result.insert(draw(st.integers(0, len(result))), None)
    return tuple(result)


@settings(max_examples=share(300), derandomize=True, deadline=None)
@given(indices())
def test_any_mixture(index: tuple[Any, ...]) -> None:
    with autojit.disable_jit():
        want, got = X[index], jit(lambda x: x[index])(X)
        assert np.shape(got) == np.shape(want)
        np.testing.assert_array_equal(got, want)
        # The derivative adds up how often each element was picked.
        picked = np.zeros(SHAPE)
        np.add.at(picked, index, 1.0)
        np.testing.assert_array_equal(grad(lambda x: np.sum(x[index]))(X), picked)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(indices())
def test_any_mixture_compiled(index: tuple[Any, ...]) -> None:
    value, gradient = jit(autojit.value_and_grad(lambda x: np.sum(x[index] ** 2)))(X)
    assert value == pytest.approx(np.sum(X[index] ** 2), rel=1e-13)
    want = np.zeros(SHAPE)
    np.add.at(want, index, 2 * X[index])
    np.testing.assert_allclose(gradient, want, rtol=1e-14, atol=1e-14)


MASKS = {
    "rows": np.array([True, False, True]),
    "nothing": np.zeros(3, bool),
    "two axes": np.arange(12).reshape(3, 4) % 3 == 1,
    "everything": X > 0,
}


@pytest.mark.parametrize("name", MASKS)
def test_known_masks(name: str) -> None:
    mask = MASKS[name]
    np.testing.assert_array_equal(jit(lambda x: x[mask])(X), X[mask])
    np.testing.assert_allclose(jit(lambda x: x[mask].sum())(X), X[mask].sum(), rtol=1e-14)


def test_masks_beside_other_indices() -> None:
    rows = MASKS["rows"]
    for pick in (lambda x: x[rows, 1], lambda x: x[1:, :, :, rows], lambda x: x[rows, ..., rows]):
        np.testing.assert_array_equal(jit(pick)(X), pick(X))


def test_indices_out_of_bounds() -> None:
    for index in ((3,), (0, -5), (slice(None), [0, 4])):
        for run in (lambda x, i=index: x[i], jit(lambda x, i=index: x[i])):
            with pytest.raises(IndexError, match="out of bounds"):
                run(X)


def test_traced_indices() -> None:
    pick = jit(lambda x, i, j: x[i, :, j])
    i, j = np.array([[0], [2], [-1]]), np.array([1, 0])
    np.testing.assert_array_equal(pick(X, i, j), X[i, :, j])
    small = jit(lambda x, i: x[i])(X, np.array([2, -3], np.int8))
    np.testing.assert_array_equal(small, X[[2, -3]])
    unsigned = jit(lambda x, i: x[i])(X, np.array([2, 0], np.uint8))
    np.testing.assert_array_equal(unsigned, X[[2, 0]])


def test_traced_indices_out_of_bounds() -> None:
    pick = jit(lambda x, i: x[i])
    for index in ([3], [0, -4], [2**40]):
        with pytest.raises(IndexError):
            pick(X, np.array(index))
        with autojit.disable_jit(), pytest.raises(IndexError):
            pick(X, np.array(index))
    np.testing.assert_array_equal(pick(X, np.array([2])), X[[2]])


def test_embedding_gradient_adds_up_repeats() -> None:
    table, words = np.ones((5, 2)), np.array([1, 3, 1, 1])
    gradient = jit(grad(lambda t, w: np.sum(t[w] * np.arange(1.0, 5.0)[:, None])))(table, words)
    np.testing.assert_array_equal(gradient[:, 0], [0, 8, 0, 2, 0])


def test_indices_that_are_not_indices() -> None:
    for index in ("a", 1.5, (1.0,), np.array([1.0])):
        with pytest.raises((IndexError, NotImplementedError)):
            jit(lambda x, i=index: x[i])(X)


def test_known_tables_are_read_at_traced_indices() -> None:
    table = np.arange(12.0).reshape(4, 3)

    def f(i: Any, x: Any) -> Any:
        row = np.take(table, i, axis=0)
        return (
            np.sum(row * x) + np.take(table, indices=i) + np.sum(np.take(a=table, indices=[i, 1]))
        )

    def g(i: int, x: float) -> float:
        return np.sum(table[i] * x) + table.ravel()[i] + table.ravel()[i] + table.ravel()[1]

    for i in (0, 3, -1):
        assert jit(f)(i, 2.0) == g(i, 2.0)
    assert grad(f, 1)(2, 2.0) == table[2].sum()
    with pytest.raises(IndexError):
        jit(f)(4, 2.0)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2), (3, 0, 1)])
def test_known_index_arrays_without_elements(shape: tuple[int, ...]) -> None:
    index = np.zeros(shape, int)
    np.testing.assert_array_equal(jit(lambda x: x[index])(X), X[index])
    assert jit(np.searchsorted)(np.ones(3), np.zeros(shape)).shape == shape
