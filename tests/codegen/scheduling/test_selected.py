"""A few of the sorted values, found without sorting the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, vmap
from autojit.codegen.scheduling import selected as selecting
from autojit.codegen.scheduling.selected import selected, windows
from autojit.codegen.scheduling.traits import CPU, CUDA
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests import thresholds

READ = """program f(%0: f64[2,5000]) {
  %1: f64[2,5000] = sort %0
  %2: f64[2,2] = slice %1 {start=(0, 2499), stop=(2, 2501), stride=(1, 1)}
  %3: f64[1,1] = slice %1 {start=(1, 4999), stop=(2, 5000), stride=(1, 1)}
  return %2, %3
}"""
SELECTED = """program f(%0: f64[2,5000]) {
  %1: f64[2,3] = order_statistics %0 {places=(2499, 2500, 4999)}
  %2: f64[2,2] = slice %1 {start=(0, 0), stop=(2, 2), stride=(1, 1)}
  %3: f64[1,1] = slice %1 {start=(1, 2), stop=(2, 3), stride=(1, 1)}
  return %2, %3
}"""


def test_values_that_are_read_take_the_place_of_sorted_ones() -> None:
    made = selected(parse(READ))
    verify(made)
    assert made == parse(SELECTED)


@pytest.mark.parametrize(
    ("why", "old", "new"),
    [
        ("they are an output", "return %2, %3", "return %2, %1"),
        ("another op reads them", "slice %1 {start=(1, 4999), stop=(2, 5000), stride=(1, 1)}",
         "max %1 {axes=(0, 1)}"),
        ("the places are apart", "start=(0, 2499), stop=(2, 2501), stride=(1, 1)",
         "start=(0, 2499), stop=(2, 2502), stride=(1, 2)"),
        ("most are read", "%2: f64[2,2] = slice %1 {start=(0, 2499)",
         "%2: f64[2,2501] = slice %1 {start=(0, 0)"),
        ("rows are short", "5000", "300"),
    ],
)  # fmt: skip
def test_otherwise_all_are_sorted(why: str, old: str, new: str) -> None:
    text = READ.replace(old, new)
    if "max" in new:
        text = text.replace("%3: f64[1,1] =", "%3: f64[] =")
    if new == "300":
        text = text.replace("2499", "149").replace("2501", "151").replace("4999", "299")
    program = parse(text)
    verify(program)
    assert selected(program) is program


def test_only_the_processor_selects() -> None:
    assert CPU.selects
    assert not CUDA.selects


def test_windows_cover_the_places_in_order() -> None:
    for n in (1, 2, 7, 500, 3000, 10**6):
        for places in ([0], [n - 1], [n // 2], sorted({0, n // 3, n // 2, n - 1})):
            found = windows(places, n)
            assert [p for w in found for p in places if w.first <= p <= w.last] == places
            for w in found:
                assert w.low is None or w.low >= 0
                assert w.high is None or w.high < selecting.sample_size(n)


@pytest.fixture(params=[{}, {"SAMPLE": 2, "DEVIATIONS": 0.0, "MOST_KEPT": 10.0}], ids=["", "wrong"])
def samples(request: Any) -> Iterator[None]:
    """Samples as they are, and samples that are wrong about nearly all places."""
    module = "codegen.scheduling.selected"
    drawn = {f"{module}.{name}": value for name, value in request.param.items()}
    with thresholds.Thresholds({f"{module}.LEAST": 5, **drawn}):
        yield


def rows(dtype: Any, n: int) -> Any:
    """Random, ascending, descending, all equal, few different values, and values that mislead a
    sample."""
    x = np.random.default_rng(0).normal(size=(6, n)) * 50
    x[1], x[2], x[3], x[4] = np.sort(x[1]), -np.sort(-x[2]), 7, np.round(x[4] / 50)
    x[5, :: n // selecting.sample_size(n)] = 100
    return (np.abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)


def read(x: Any) -> Any:
    n = x.shape[-1]
    ordered = np.sort(x)
    return (
        ordered[..., :2],
        ordered[..., n // 2],
        ordered[..., n // 3 : n // 3 + 3],
        ordered[..., -1],
    )


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "u4"])
def test_they_are_those_of_numpy(dtype: str) -> None:
    compiled = jit(read)
    for n in (20, 1500):
        x = rows(dtype, n)
        for view in (x, np.asfortranarray(x), x[:, ::-1]):
            for got, want in zip(compiled(view), read(view), strict=True):
                np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("where", [0, slice(None, None, 2), slice(3, None), slice(None)])
def test_nan_comes_last(where: Any) -> None:
    x = rows("f8", 1500)
    x[:, 40:50], x[:, 50:60] = math.inf, -math.inf
    x[:4, where] = np.nan
    for got, want in zip(jit(read)(x), read(x), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(jit(lambda x: np.median(x, axis=1))(x), np.median(x, axis=1))


def test_medians_under_transformations() -> None:
    x = rows("f8", 601)[:1]
    middle = np.argsort(x[0], kind="stable")[300]
    want = np.zeros_like(x)
    want[0, middle] = 2 * x[0, middle]
    np.testing.assert_array_equal(jit(grad(lambda x: np.sum(np.median(x, axis=1) ** 2)))(x), want)
    np.testing.assert_array_equal(jit(vmap(np.median))(x), np.median(x, axis=1))

    def in_steps(x: Any) -> Any:
        for k in range(600):
            x = x + np.median(x) * k / 1e6
        return x

    y = rows("f8", 601)[0]
    np.testing.assert_allclose(jit(in_steps)(y), in_steps(y), rtol=1e-12)
