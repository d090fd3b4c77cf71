"""Einsum of random subscripts: repeated, summed out, stretched, with and without an ellipsis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import autojit
from autojit import grad, jit
from autojit.errors import ShapeError
from tests.sampling import share

LABELS = "abcd"


@st.composite
def cases(draw: Any) -> tuple[str, list[np.ndarray]]:
    """Return random subscripts and operands."""
    extents = {c: draw(st.integers(1, 3)) for c in LABELS}
    rng = np.random.default_rng(0)
    terms, arrays = [], []
    for _ in range(draw(st.integers(1, 4))):
        labels = "".join(draw(st.lists(st.sampled_from(LABELS), max_size=3)))
        shape = [extents[c] for c in labels]
        if draw(st.booleans()):
            outer = draw(st.sampled_from([(), (2,), (1,), (3, 2), (3, 1)]))
            at = draw(st.integers(0, len(labels)))
            labels, shape = f"{labels[:at]}...{labels[at:]}", [*shape[:at], *outer, *shape[at:]]
        terms.append(labels)
        arrays.append(rng.normal(size=shape))
    text = ",".join(terms)
    if draw(st.booleans()):
        found = sorted(set("".join(terms)) - {"."})
        output = draw(st.permutations(found))[: draw(st.integers(0, len(found)))]
        text += "->" + "..." * ("..." in text) + "".join(output)
    return text, arrays


@settings(max_examples=share(100), derandomize=True, deadline=None)
@given(cases())
def test_values_and_gradients(case: tuple[str, list[np.ndarray]]) -> None:
    subscripts, arrays = case
    try:
        want = np.einsum(subscripts, *arrays)
    except ValueError:  # not covered by NumPy either
        assume(False)
    weights = np.random.default_rng(1).normal(size=np.shape(want))
    with autojit.disable_jit():
        got = jit(lambda *a: np.einsum(subscripts, *a))(*arrays)
        gradients = grad(
            lambda *a: np.sum(weights * np.einsum(subscripts, *a)), tuple(range(len(arrays)))
        )(*arrays)
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    # Linear in each operand: <gradient, operand> is the value itself.
    value = float(np.sum(weights * want))
    for array, gradient in zip(arrays, gradients, strict=True):
        assert float(np.sum(array * gradient)) == pytest.approx(value, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128", "bool"])
def test_vecdot_along_an_axis_keeps_the_dtype(axis: int, dtype: str) -> None:
    x, y = np.array([[1, 200], [3, 0]]).astype(dtype), np.array([[9, 2], [1, 7]]).astype(dtype)
    for f in (np.vecdot, np.linalg.vecdot):
        with autojit.disable_jit():
            found, expected = jit(lambda a, b, f=f: f(a, b, axis=axis))(x, y), f(x, y, axis=axis)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_vecdot_of_lengths_that_differ() -> None:
    with pytest.raises(ShapeError, match="both vectors must have as many components"):
        autojit.trace(np.vecdot)(np.ones((2, 3)), np.ones(1))
