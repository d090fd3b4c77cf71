"""Arrays in Fortran order and transposes get code of their own, and are not copied."""

from __future__ import annotations

import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.driver import executable
from autojit.dispatch import calls
from autojit.dispatch.layouts import MOST, WORTH, order_of
from autojit.testing import assert_no_retrace

N = 40
SQUARE = np.sin(np.arange(float(N * N))).reshape(N, N)
FORTRAN = np.asfortranarray(SQUARE)
CUBE = np.sin(np.arange(10.0 * 11 * 12)).reshape(10, 11, 12)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect the arrays that are copied for native code."""
    made: list[Any] = []
    as_native, canonical = calls._as_native, executable.canonical

    def noted(convert: Any) -> Any:
        def call(array: Any, *rest: Any) -> Any:
            found = convert(array, *rest)
            if isinstance(array, np.ndarray) and not np.shares_memory(array, found):
                made.append(array)
            return found

        return call

    monkeypatch.setattr(calls, "_as_native", noted(as_native))
    for module in (executable, calls):
        monkeypatch.setattr(module, "canonical", noted(canonical))
    monkeypatch.setattr("autojit.dispatch.specialization.canonical", noted(canonical))
    return made


FUNCTIONS: dict[str, Any] = {
    "elementwise": lambda x: np.sin(x) * x + 1,
    "sum": lambda x: np.sum(x * x),
    "sum of columns": lambda x: np.sum(x, axis=0),
    "standardized": lambda x: (x - x.mean(0)) / x.std(0),
    "softmax": lambda x: np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True),
    "differences": lambda x: x[1:] - x[:-1],
    "gradient": grad(lambda x: np.sum(np.exp(x) * x)),
    "trees": lambda x: {"a": x * 2, "b": (x.sum(), x.T)},
    "product": lambda x: np.tanh(x @ np.swapaxes(x, -1, -2)),
    "running": lambda x: np.cumsum(x, axis=0),
    "itself": lambda x: x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_c_order(name: str, copies: list[Any]) -> None:
    f = jit(FUNCTIONS[name])
    want = f(SQUARE)
    for _ in range(3):
        got = f(FORTRAN)
        assert str(np.shape(got)) == str(np.shape(want))
        for a, b in zip(_leaves(want), _leaves(got), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14)
    assert not copies
    with assert_no_retrace():
        f(SQUARE)
    assert f.cache_info().traces == 1


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [x for v in tree.values() for x in _leaves(v)]
    return [x for v in tree for x in _leaves(v)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize("order", list(permutations(range(3)))[1:], ids=str)
def test_any_order_of_axes(order: tuple[int, ...], copies: list[Any]) -> None:
    x = np.ascontiguousarray(CUBE.transpose(order)).transpose(np.argsort(order))
    assert order_of(x) == order
    f = jit(lambda x: (np.sin(x) + x.sum(axis=1, keepdims=True), x.max(axis=0)))
    for a, b in zip(f(CUBE), f(x), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-13)
    assert not copies


def test_results_lie_as_those_of_numpy() -> None:
    f = jit(lambda x: (np.sin(x), x.sum(0), x.T, x * np.arange(float(N))))
    for large in (FORTRAN, np.asfortranarray(np.ones((300, 200)))):
        g = f if large is FORTRAN else jit(lambda x: (np.sin(x), x.sum(0), x.T, x * 2.0))
        for a, b in zip(g(large), (np.sin(large), large.sum(0), large.T, large), strict=True):
            assert a.strides == b.strides
            assert a.flags.writeable
            assert a.flags.aligned
            assert a.flags.c_contiguous == b.flags.c_contiguous


def test_calls_go_straight_to_native_code() -> None:
    f = jit(lambda x: np.sum(x * x))
    f(FORTRAN)
    assert f._fast is not None
    assert f._fast(FORTRAN) is not None
    assert f._fast(SQUARE) is None
    assert f._fast(FORTRAN.astype(np.float32)) is None
    f(SQUARE)
    assert f._fast(SQUARE) is not None


def test_only_one_code_for_one_order() -> None:
    f = jit(lambda x: np.sum(x * 3.0))
    for _ in range(3):
        f(FORTRAN)
    (found,) = f.specializations()
    assert found.native is None
    assert len(found.others) == 1


def test_orders_of_several_arguments(copies: list[Any]) -> None:
    f = jit(lambda x, y, n: x * y + n)
    for x in (SQUARE, FORTRAN):
        for y in (SQUARE, FORTRAN):
            np.testing.assert_allclose(f(x, y, 2.0), x * y + 2.0)
    assert not copies


def test_with_gaps_beside_an_order(copies: list[Any]) -> None:
    f = jit(lambda x, y: x + y)
    gaps = np.repeat(SQUARE, 2, axis=1)[:, ::2]
    for _ in range(3):
        np.testing.assert_array_equal(f(FORTRAN, gaps), FORTRAN + gaps)
    assert copies
    assert all(a is gaps for a in copies)


@pytest.mark.filterwarnings("ignore::autojit.errors.RetraceWarning")
def test_at_most_so_many_orders() -> None:
    f = jit(lambda x: np.sin(x) * 2)
    for order in permutations(range(3)):
        x = np.ascontiguousarray(CUBE.transpose(order)).transpose(np.argsort(order))
        for _ in range(3):
            np.testing.assert_array_equal(f(x), f(CUBE))
    (found,) = f.specializations()
    assert sum(each is not None for each in found.others.values()) == MOST


COPIED = {
    "every second row": SQUARE[::2],
    "some columns": SQUARE[:, :30],
    "reversed": FORTRAN[::-1],
    "repeated": np.broadcast_to(np.arange(40.0), (40, 40)).T,
    "other bytes": FORTRAN.astype(">f8"),
    "small": FORTRAN[:4, :4].copy(order="F"),
    "unaligned": np.frombuffer(b"." + SQUARE.tobytes(), np.uint8)[1:].view(float).reshape(40, 40).T,
}


@pytest.mark.parametrize("name", COPIED)
def test_others_are_copied(name: str) -> None:
    x = COPIED[name]
    assert order_of(x) is None
    f = jit(lambda x: np.sin(x) + x.sum(axis=0))
    for _ in range(3):
        np.testing.assert_allclose(f(x), np.sin(x) + x.sum(axis=0), rtol=1e-12, atol=1e-13)


def test_axes_of_one_element_mean_nothing() -> None:
    x = np.asfortranarray(CUBE)[:, None]
    odd = np.lib.stride_tricks.as_strided(x, x.shape, (x.strides[0], 7, *x.strides[2:]))
    assert order_of(x) == order_of(odd) == (1, 3, 2, 0)
    f = jit(lambda x: x * 2)
    np.testing.assert_array_equal(f(x), x * 2)
    assert f._fast is not None
    assert f._fast(odd) is not None


@pytest.mark.filterwarnings("ignore::autojit.errors.RetraceWarning")
def test_numbers_and_static_arguments() -> None:
    f = jit(lambda x, n, k: np.sum(x, axis=k) * n, static_argnums=2)
    for n in (2, 2.5, True, 1j, np.float64(3.0)):
        for k in (0, 1):
            for _ in range(2):
                np.testing.assert_allclose(f(FORTRAN, n, k), FORTRAN.sum(axis=k) * n, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "i8", "c16", "?", "f2", "u1"])
def test_dtypes(dtype: str) -> None:
    x = np.asfortranarray(np.tile(SQUARE > 0, (2, 2)).astype(dtype))
    f = jit(lambda x: (x + x, x.max(axis=0) if dtype != "c16" else x))
    for a, b in zip(f(x), (x + x, x.max(axis=0) if dtype != "c16" else x), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_many_numbers_beside() -> None:
    numbers = [float(i) for i in range(100)]
    f = jit(lambda x, numbers: (x * numbers[3], [n + 1.0 for n in numbers]))
    for _ in range(2):
        a, b = f(FORTRAN, numbers)
        np.testing.assert_array_equal(a, FORTRAN * 3.0)
        assert a.flags.f_contiguous
        assert b == [n + 1.0 for n in numbers]


def test_what_is_closed_over_keeps_its_order() -> None:
    w = np.asfortranarray(np.arange(float(N * N)).reshape(N, N))
    f = jit(lambda x: x @ w + w)
    np.testing.assert_allclose(f(FORTRAN), FORTRAN @ w + w)


def test_it_pickles() -> None:
    f = jit(lambda x: np.sin(x))
    f(FORTRAN)
    g = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(g(FORTRAN), f(FORTRAN))
    assert g(FORTRAN).flags.f_contiguous


def test_code_on_disk_is_that_of_the_order() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.cos(x) * 1.25, axis=0)

    first, again = jit(f), jit(f)
    assert first.cache_key(FORTRAN) != first.cache_key(SQUARE)
    np.testing.assert_allclose(first(FORTRAN), first(SQUARE))
    assert again.cache_key(FORTRAN) == first.cache_key(FORTRAN)


def test_compiled_results_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOJIT_VERIFY", "points")
    f = jit(lambda x: (np.exp(x) * 1.5, x.sum(axis=1)))
    for _ in range(2):
        np.testing.assert_allclose(f(FORTRAN)[0], np.exp(FORTRAN) * 1.5)
    (found,) = f.specializations()
    assert not found.held
    assert found.others


def test_small_ones_have_no_code_of_their_own() -> None:
    side = int((WORTH // 8) ** 0.5)
    f = jit(np.sin)
    f(np.asfortranarray(np.ones((side - 1, side))))
    assert not f.specializations()[0].others
