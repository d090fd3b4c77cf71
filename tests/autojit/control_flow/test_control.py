"""Loops and branches: what they return, eagerly, interpreted and compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import autojit
from autojit import (
    associative_scan,
    checkpoint,
    cond,
    disable_jit,
    fori_loop,
    grad,
    jit,
    scan,
    switch,
    value_and_grad,
    vmap,
    while_loop,
)
from autojit.staging import pytrees

RNG = np.random.default_rng(0)
X = RNG.normal(size=5)
ROWS = RNG.normal(size=(4, 5))


def results(f: Callable[..., Any], *arguments: Any) -> Any:
    """Return the eager result, after checking the interpreted and compiled ones against it."""
    eager = f(*arguments)
    with disable_jit():
        assert_same(f(*arguments), eager)
    assert_same(jit(f)(*arguments), eager)
    return eager


def assert_same(got: Any, want: Any) -> None:
    """Check for the same structure, dtypes and shapes, and equal values up to rounding."""
    got_leaves, got_structure = pytrees.flatten(got)
    want_leaves, want_structure = pytrees.flatten(want)
    assert got_structure == want_structure
    for g, w in zip(got_leaves, want_leaves, strict=True):
        assert (np.asarray(g).dtype, np.shape(g)) == (np.asarray(w).dtype, np.shape(w))
        tolerance = 1e-5 if np.asarray(w).dtype in (np.float32, np.complex64) else 1e-12
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


# -- scan ---------------------------------------------------------------------


@pytest.mark.sampled(5)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c8", "c16", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_scan_is_a_loop(length: int, dtype: str, reverse: bool) -> None:
    rows = (ROWS[:length] * 3).astype(dtype)
    first = (X > 0).astype(dtype)

    def step(c: Any, row: Any) -> Any:
        new = c ^ row if dtype == "?" else c * row + row
        return new, (c, np.sum(new[:3]))

    order = list(range(length))[:: -1 if reverse else 1]
    c, old, sums = first, np.zeros_like(rows), [first[:3].sum()] * length
    for i in order:
        old[i] = c
        c, (_, sums[i]) = step(c, rows[i])
    sums = np.array(sums, np.sum(first[:3]).dtype)
    got = results(lambda c, r: scan(step, c, r, reverse=reverse), first, rows)
    assert_same(got, (c, (old, sums)))


def test_scan_without_rows_or_results() -> None:
    assert results(lambda x: scan(lambda c, _: (c * 2, None), x, length=3), 1.5) == (12.0, None)
    assert results(lambda x: scan(lambda c, r: (c * 2, ()), x, X), 1.0) == (32.0, ())
    carry, ys = results(lambda r: scan(lambda c, row: (c, row * 2), None, r), ROWS)
    assert carry is None
    assert_same(ys, ROWS * 2)


@dataclass
class State:
    position: Any
    speed: Any
    note: Any = None


class Pair(NamedTuple):
    first: Any
    second: Any


def test_carries_and_rows_are_trees() -> None:
    def step(state: State, row: dict[str, Any]) -> Any:
        speed = state.speed + row["push"][0]
        new = State(state.position + speed, speed)
        return new, Pair({"where": new.position}, [None, speed])

    first, rows = State(X, X * 0), {"push": (ROWS, ROWS * 2)}
    last, ys = results(lambda f, r: scan(step, f, r), first, rows)
    speeds = np.cumsum(ROWS, axis=0)
    assert isinstance(last, State)
    assert_same(last.position, X + np.sum(speeds, axis=0))
    assert isinstance(ys, Pair)
    assert_same(ys.first["where"], X + np.cumsum(speeds, axis=0))
    assert ys.second[0] is None
    assert_same(ys.second[1], speeds)


def test_python_numbers_take_the_dtype_of_the_body() -> None:
    single = ROWS.astype(np.float32)
    last, _ = results(lambda r: scan(lambda c, row: (c + row[0], None), 0.0, r), single)
    assert last.dtype == np.float32
    assert results(
        lambda r: scan(lambda c, row: (c + row[0], None), 0, r)[0], ROWS
    ) == pytest.approx(ROWS[:, 0].sum())
    assert results(lambda: fori_loop(0, 3, lambda i, c: c + i, 0)).dtype == np.int64
    assert results(lambda: fori_loop(0, 3, lambda i, c: c * 0.5, 1)) == 0.125
    assert results(lambda: fori_loop(0, 3, lambda i, c: c * 1j, 1.0)) == -1j
    kept = results(
        lambda x: fori_loop(0, 3, lambda i, c: (c[0] * 2, c[1] * x), (1.5, x)), single[0]
    )
    assert kept[1].dtype == np.float32


def test_python_numbers_that_meet_an_array_one_after_the_other() -> None:
    """Each step shifts the carries, so the dtypes settle after one round for each number."""

    def step(c: Any, x: Any) -> Any:
        return (*c[1:], x), None

    last, _ = results(lambda x: scan(step, (0, 0, 0, 0, 0, 0), x), X.astype(np.float32))
    assert [v.dtype for v in last] == [np.float32] * 6
    np.testing.assert_array_equal(last, [0, *X.astype(np.float32)])


def test_a_value_that_is_carried_and_stacked_more_than_once() -> None:
    def step(c: Any, row: Any) -> Any:
        new = np.sin(c[0]) + row
        return (new, new, c[0]), (new, c[0], new)

    (a, b, old), (first, before, again) = results(lambda r: scan(step, (X, X, X), r), ROWS)
    assert_same(a, b)
    assert_same(first, again)
    assert_same(before, np.concatenate([X[None], first[:-1]]))
    assert_same(old, first[-2])


def test_results_are_not_views_of_arguments() -> None:
    def f(x: Any) -> Any:
        return scan(lambda c, r: (c, c), x, length=2)

    x = X.copy()
    last, ys = results(f, x)
    last[:] = 7
    ys[:] = 7
    assert_same(x, X)


def test_what_is_closed_over() -> None:
    table = np.arange(20.0).reshape(4, 5)

    def f(x: Any) -> Any:
        y = np.cos(x)  # a value of the trace around

        def outer(c: Any, row: Any) -> Any:
            inner = scan(lambda s, t: (s + t * y + c, None), x, table)[0]
            return c + np.sum(inner * row), None

        return scan(outer, 0.0, table)[0]

    total = 0.0
    for row in table:
        inner = X.copy()
        for t in table:
            inner = inner + t * np.cos(X) + total
        total = total + np.sum(inner * row)
    assert results(f, X) == pytest.approx(total)


def test_the_body_is_traced_a_few_times_whatever_the_length() -> None:
    calls = []

    def step(c: Any, x: Any) -> Any:
        calls.append(None)
        return c + x, None

    jit(lambda x: scan(step, 0.0, x))(np.ones(100_000))
    assert len(calls) <= 2


def test_python_numbers_stay_python_numbers_as_long_as_the_body_lets_them() -> None:
    single, double = X.astype(np.float32), X
    for first in (0, 0.0):
        ys = results(lambda x, f=first: scan(lambda c, r: (c + 0.5, r * c), f, x)[1], single)
        assert ys.dtype == np.float32
        ys = results(
            lambda x, y, f=first: scan(lambda c, r: (c + r[1], r[0] * c), f, (x, y))[1],
            single, double,
        )  # fmt: skip
        assert ys.dtype == np.float64


# -- fori_loop and while_loop -------------------------------------------------


@pytest.mark.parametrize(
    "bounds", [(0, 4), (2, 5), (-3, 1), (3, 3), (4, 1), (np.int32(1), np.int64(3))]
)
@pytest.mark.parametrize("traced", [False, True])
def test_fori_loop_is_a_loop(bounds: Any, traced: bool) -> None:
    def body(i: Any, c: Any) -> Any:
        return c * 0.5 + i

    want = 1.0
    for i in range(*map(int, bounds)):
        want = body(i, want)
    if traced:
        assert results(lambda a, b: fori_loop(a, b, body, 1.0), *bounds) == want
        assert results(lambda a: fori_loop(a, int(bounds[1]), body, 1.0), int(bounds[0])) == want
    else:
        assert results(lambda: fori_loop(*bounds, body, 1.0)) == want


def test_nested_indices() -> None:
    """Inner loops and branches use the indices of the enclosing loops."""

    def f(x: Any) -> Any:
        def inner(i: Any, c: Any) -> Any:
            def innermost(j: Any, c: Any) -> Any:
                c = while_loop(lambda s: s[0] < j, lambda s: (s[0] + i, s[1] * 1.5), (i, c))[1]
                return switch(i, [lambda a: a + j, lambda a: a * (j + 1), lambda a: a - i * j], c)

            return fori_loop(i, 4, innermost, c + x[i] * x[3 - i])

        return fori_loop(1, 4, inner, x)

    want = X.copy()
    for i in range(1, 4):
        want = want + X[i] * X[3 - i]
        for j in range(i, 4):
            k = i
            while k < j:
                k, want = k + i, want * 1.5
            want = want * (j + 1) if i == 1 else want - i * j
    assert_same(jit(f)(X), want)


def test_while_loop_that_does_not_start_and_conditions_that_are_numbers() -> None:
    assert results(lambda x: while_loop(lambda c: c < 0, lambda c: c + 1, x), 3.0) == 3.0
    assert results(lambda n: while_loop(lambda c: c, lambda c: c - 1, n), 5) == 0
    halves = results(
        lambda n: while_loop(lambda c: c[0], lambda c: (c[0] - 0.5, c[1] + 1), (n, 0)), 2.0
    )
    assert halves == (0, 4)
    got = results(
        lambda b: while_loop(lambda c: c[0], lambda c: (c[1] < 3, c[1] + 1), (b, 0)), True
    )
    assert got == (False, 4)


def test_collatz() -> None:
    def steps(n: Any) -> Any:
        def body(state: Any) -> Any:
            n, k = state
            return cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), k + 1

        return while_loop(lambda s: s[0] != 1, body, (n, 0))[1]

    assert [int(results(steps, n)) for n in (1, 6, 27)] == [0, 8, 111]


# -- branches -----------------------------------------------------------------


@pytest.mark.parametrize("pred", [True, False, 1, 0, 2.5, 0.0, np.bool_(True), np.float32(-1)])
def test_cond(pred: Any) -> None:
    f = lambda p, x: cond(p, lambda x, y: x + y, lambda x, y: x * y, x, 3.0)  # noqa: E731
    assert results(f, pred, 2.0) == (5.0 if pred else 6.0)


@pytest.mark.parametrize("index", [-7, -1, 0, 1, 2, 3, 99])
def test_switch_takes_the_nearest_branch(index: int) -> None:
    cases = [lambda x: x + 1, lambda x: x * 2, lambda x: -x]
    want = cases[min(max(index, 0), 2)](X)
    assert_same(results(lambda i, x: switch(i, cases, x), index, X), want)
    assert_same(results(lambda i, x: switch(i, cases, x), np.int16(index), X), want)
    assert_same(results(lambda x: switch(index, cases, x), X), want)
    assert_same(results(lambda i, x: switch(i, cases[:1], x), index, X), X + 1)


def test_branches_of_python_numbers_take_the_dtype_of_the_others() -> None:
    half = np.float32(0.5)
    for p in (True, False):
        made = results(lambda p, x: cond(p, lambda x: x, lambda x: 1, x), p, half)
        assert (made.dtype, made) == (np.float32, 0.5 if p else 1.0)
        made = results(lambda p: cond(p, lambda: 1, lambda: 0.5), p)
        assert (made.dtype, made) == (np.float64, 1.0 if p else 0.5)
    nothing = results(
        lambda p: cond(p, lambda: {"a": None, "b": ()}, lambda: {"a": None, "b": ()}), True
    )
    assert nothing == {"a": None, "b": ()}


def test_only_the_branch_that_is_taken_runs() -> None:
    def f(i: Any, x: Any) -> Any:
        return cond(i < 5, lambda: x[i], lambda: 0.0)

    assert jit(f)(2, X) == X[2]
    assert jit(f)(7, X) == 0.0
    with pytest.raises(IndexError):
        jit(lambda i, x: cond(i < 9, lambda: x[i], lambda: 0.0))(7, X)


# -- map and associative_scan -------------------------------------------------


def test_map() -> None:
    made = results(lambda r: autojit.map(lambda row: {"s": np.sum(row), "none": None}, r), ROWS)
    assert made["none"] is None
    assert_same(made["s"], ROWS.sum(axis=1))
    scaled = results(lambda r: autojit.map(lambda a: a[0] * a[1], (r, r[:, 0])), ROWS)
    assert_same(scaled, ROWS * ROWS[:, :1])
    assert_same(results(lambda r: autojit.map(np.sum, r), ROWS[:0]), np.zeros(0))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(axis: int, reverse: bool) -> None:
    order = np.flip if reverse else (lambda a, axis: a)
    want = order(np.cumprod(order(ROWS, axis=axis), axis=axis), axis=axis)
    assert_same(results(lambda r: associative_scan(np.multiply, r, reverse, axis), ROWS), want)


def test_associative_scan_of_trees() -> None:
    """Linear recurrences h = a h + b compose: (a, b) then (c, d) is (a c, b c + d)."""

    def after(p: Any, q: Any) -> Any:
        return p[0] * q[0], p[1] * q[0] + q[1]

    a, b = ROWS, ROWS * 2 + 1
    h, want = np.zeros(5), []
    for row, other in zip(a, b, strict=True):
        h = row * h + other
        want.append(h)
    assert_same(results(lambda a, b: associative_scan(after, (a, b))[1], a, b), np.stack(want))
    for length in (0, 1):
        short = X[:length]
        assert_same(results(lambda x: associative_scan(np.add, x), short), short)


# -- derivatives by captured values -------------------------------------------


def test_gradients_of_what_bodies_close_over() -> None:
    def f(x: Any, w: Any) -> Any:
        y = np.sin(w)
        a = scan(lambda c, r: (c * y + r, None), x, ROWS)[0]
        b = while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * y), (0, x))[1]
        return np.sum(a) + np.sum(b) + cond(w > 0, lambda: w * np.sum(x), lambda: y)

    def reference(x: Any, w: Any) -> Any:
        a, b = x, x
        for row in ROWS:
            a = a * np.sin(w) + row
        for _ in range(3):
            b = b * np.sin(w)
        return np.sum(a) + np.sum(b) + w * np.sum(x)

    got = jit(value_and_grad(f, (0, 1)))(X, 0.7)
    assert_same(got, value_and_grad(reference, (0, 1))(X, 0.7))


def test_a_value_that_is_closed_over_by_two_names() -> None:
    """Both names are one value of the program: ``vmap`` of an identity returns its argument."""
    wrappers: list[Callable[[Any, Any], Any]] = [
        lambda f, x: cond(True, f, lambda u: u, x),
        lambda f, x: switch(1, [lambda u: u, f], x),
        lambda f, x: while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1])), (0, x))[1],
        lambda f, x: fori_loop(0, 2, lambda i, c: f(c), x),
        lambda f, x: scan(lambda c, _: (f(c), None), x, length=2)[0],
        lambda f, x: checkpoint(f)(x),
    ]
    for call in wrappers:

        def f(x: Any, call: Any = call) -> Any:
            same = vmap(lambda row: row.astype(float))(x)
            return np.sum(call(lambda u: same * x + np.sin(u), x))

        value = results(f, X)
        h = 1e-6
        numeric = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(len(X))]
        np.testing.assert_allclose(grad(f)(X), numeric, rtol=1e-6)
        assert np.isfinite(value)


def test_carries_without_derivatives() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, i: Any) -> Any:
            count, flag, fixed, y = c
            return (count + i, ~flag, fixed, y * np.where(flag, x, autojit.stop_gradient(y))), flag

        first = (0, True, 2.0, x)
        (count, _, fixed, y), flags = scan(step, first, np.arange(3))
        return np.sum(y) * count * fixed, (count, flags)

    slope, (count, flags) = results(grad(f, has_aux=True), X)
    # y = x, x x, x x sg(x x), then times x once more
    assert_same(slope, 6 * 3 * X**4)
    assert count == 3
    assert_same(flags, np.array([True, False, True]))


def test_a_loop_of_no_steps_around_a_while_has_a_derivative() -> None:
    def turned(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            a, b = c
            _, inner = while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, np.sin(s[1])), (0, b))
            return a + inner[::-1], np.cos(b) * a

        a, b = fori_loop(1, 1, step, (x, x * 2.0))
        return np.sum(a) + np.sum(b)

    np.testing.assert_array_equal(jit(grad(turned))(np.ones(3)), np.full(3, 3.0))
