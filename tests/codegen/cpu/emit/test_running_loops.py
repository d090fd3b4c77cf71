"""Memory, compile time and failures of running loops; and prefix scans."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, fori_loop, grad, jit, scan, trace, while_loop
from autojit.codegen.cpu.emit.prefix_scans import prefix_scan
from autojit.codegen.cpu.entry_point.entry import Module
from autojit.codegen.loop_ir.nodes import Load, Loop, Store
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_ir.values import Scalar
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes.pipeline import optimize

X = np.array([0.5, -1.0, 2.0])


def resident() -> int:
    """The bytes of the process that are resident in memory."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    except FileNotFoundError:
        pytest.skip("only Linux says how much memory is in use")


# -- memory and time ----------------------------------------------------------


def test_a_long_while_loop_in_reverse() -> None:
    steps = 200_000

    def f(x: Any, n: Any) -> Any:
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + 1e-5 * x), (0, x * x))[1]

    assert jit(grad(f))(3.0, steps) == pytest.approx(6 + 1e-5 * steps)

    def g(x: Any, n: Any) -> Any:
        body = lambda s: (s[0] + 1, np.sin(s[1]) + x)  # noqa: E731
        return while_loop(lambda s: s[0] < n, body, (0, x))[1]

    # Near the fixed point y = sin(y) + x the derivative is 1 / (1 - cos(y)).
    y = jit(g)(0.5, steps)
    assert y == pytest.approx(np.sin(y) + 0.5)
    assert jit(grad(g))(0.5, steps) == pytest.approx(1 / (1 - np.cos(y)))


def test_tapes_are_given_back() -> None:
    def f(x: Any, n: Any) -> Any:
        loop = while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, np.sin(s[1]) * x), (0, x))
        return np.sum(loop[1])

    compiled, x, steps = jit(grad(f)), np.ones(1000), 1000
    compiled(x, steps)
    before = resident()
    for _ in range(12):
        compiled(x, steps)
    tape = 8 * x.size * steps
    assert resident() - before < 2 * tape


def test_tapes_are_given_back_where_the_loop_fails() -> None:
    def f(x: Any, n: Any) -> Any:
        body = lambda s: (s[0] + 1, np.sin(s[1]) * x[s[0]])  # noqa: E731
        return np.sum(while_loop(lambda s: s[0] < n, body, (0, x))[1])

    compiled, x = jit(grad(f)), np.ones(1000)
    before = 0
    for k in range(12):
        with pytest.raises(IndexError):
            compiled(x, 1001)
        before = before or (resident() if k else 0)
    assert resident() - before < 2 * 8 * x.size * 1000


def test_temporaries_of_the_gradient_of_a_scan_are_what_is_stored() -> None:
    """A step stores the sine's argument, from which both derivatives are computed."""
    n = 500_000

    def f(rows: Any) -> Any:
        return scan(lambda c, row: (np.sin(c) + row, None), 0.0, rows)[0]

    rows = np.linspace(0, 1, n)
    compiled = jit(grad(f))
    temporaries = compiled.lower(rows).cost()["temporaries"]
    assert 8 * n <= temporaries < 8 * n + 1000
    compiled(rows[:1])  # compiles, without large temporaries
    jit(lambda x: x * 2)(rows)
    before = resident()
    result = compiled(rows)
    used = resident() - before - result.nbytes
    assert used < temporaries + (16 << 20)


def test_compiling_takes_the_same_time_whatever_the_length() -> None:
    def seconds(n: int) -> float:
        def f(x: Any) -> Any:
            c, ys = scan(lambda c, r: (np.sin(c) + r, c * r), 0.0, x)
            return c + np.sum(ys)

        lowered = jit(grad(f)).lower(np.zeros(n))
        start = time.perf_counter()
        lowered.text("asm")
        return time.perf_counter() - start

    seconds(9)
    assert min(seconds(10**6), seconds(10**6 + 1)) < 5 * min(seconds(10), seconds(11))


# -- failures -----------------------------------------------------------------


def walk_over(x: Any, n: Any) -> Any:
    return fori_loop(0, n, lambda i, c: c + x[i], 0.0)


FAILING: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: walk_over(x, 4),
    "fori_loop, first steps": lambda x: fori_loop(-4, 3, lambda i, c: c + x[i], 0.0),
    "fori_loop, traced bound": lambda x: walk_over(x, 3 + (x[0] > 0)),
    "scan": lambda x: scan(lambda c, i: (c + x[i], None), 0.0, np.array([0, 7, 1]))[0],
    "assignment": lambda x: np.sum(fori_loop(0, 4, _assigned, x)),
    "while_loop, body": lambda x: while_loop(lambda s: s[0] < 5, _next(x), (0, 0.0))[1],
    "while_loop, condition": lambda x: x[0] * while_loop(lambda i: x[i] < 9, lambda i: i + 1, 0),
    "nested": lambda x: fori_loop(0, 2, lambda i, c: c + walk_over(x, 3 + i), 0.0),
    "branch": lambda x: cond(x[0] > 0, lambda: walk_over(x, 9), lambda: 0.0),
}


def _assigned(i: Any, u: Any) -> Any:
    u[i] = 1.0
    return u


def _next(x: Any) -> Any:
    return lambda s: (s[0] + 1, s[1] * x[s[0]])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FAILING)
def test_out_of_bounds(name: str) -> None:
    """The loop ends even if its condition always holds for element 0."""
    f = FAILING[name]
    with pytest.raises(IndexError):
        autojit.trace(f)(X)(X)  # interpreted
    for g in (f, grad(f)):
        with pytest.raises(IndexError):
            jit(g)(X)
    with pytest.raises(IndexError):
        jit(autojit.vmap(f))(np.stack([X, X]))


def test_singular_matrices_end_loops() -> None:
    def f(a: Any) -> Any:
        def body(x: Any) -> Any:
            return np.linalg.solve(a, x)

        return while_loop(lambda x: ~(np.sum(x) < 1e-3), body, np.ones(2))

    assert np.sum(jit(f)(np.eye(2) * 4)) < 1e-3
    with pytest.raises(np.linalg.LinAlgError):
        jit(f)(np.ones((2, 2)))


def test_a_call_that_failed_leaves_nothing_behind() -> None:
    compiled = jit(walk_over, static_argnums=1)
    for _ in range(3):
        assert compiled(X, 3) == 1.5
        with pytest.raises(IndexError):
            compiled(X, 4)


# -- prefix scans: four elements at a time -------------------------------------


def accumulated(x: Any) -> Any:
    prefix_scan = (np.cumsum(x), np.cumprod(x))
    if x.shape[0]:
        prefix_scan += (np.maximum.accumulate(x), np.minimum.accumulate(x))
    return prefix_scan


def reversed_sums(x: Any) -> Any:
    return np.cumsum(x[::-1])[::-1], np.cumprod(x[::-1])[::-1]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("size", [*range(14), 100])
def test_prefix_sums_of_all_lengths(size: int, dtype: str) -> None:
    """The last few elements are handled one by one."""
    x = np.random.default_rng(size).uniform(-2, 2, size)
    x = (4 * x).astype(dtype) if dtype == "i8" else x.astype(dtype)
    for f in (accumulated, reversed_sums):
        for ours, theirs in zip(jit(f)(x), f(x), strict=True):
            assert ours.dtype == theirs.dtype
            # Sums near zero are only as accurate as the numbers that were summed.
            close = {"rtol": 0, "atol": 0} if dtype == "i8" else {"rtol": 1e-5, "atol": 1e-5}
            if dtype == "f8":
                close = {"rtol": 1e-13, "atol": 1e-13}
            np.testing.assert_allclose(ours, theirs, **close)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(1, 11), (11, 1), (3, 21), (21, 3), (2, 9, 2)])
def test_prefix_sums_along_axes(shape: tuple[int, ...]) -> None:
    a = np.random.default_rng(0).normal(size=shape)

    def along(a: Any) -> Any:
        return [
            f(a, axis=axis)
            for axis in range(a.ndim)
            for f in (np.cumsum, np.cumprod, np.maximum.accumulate, np.minimum.accumulate)
        ]

    for ours, theirs in zip(jit(along)(a), along(a), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_prefix_extremes_keep_nan_and_infinities(dtype: str) -> None:
    """They may be at any position in a group of four."""
    special = [np.nan, np.inf, -np.inf, -0.0, 0.0]
    extremes = (np.maximum.accumulate, np.minimum.accumulate)
    for f in extremes:
        compiled = jit(f)
        for value in special:
            for place in range(14):
                x = np.random.default_rng(place).normal(size=14).astype(dtype)
                x[place] = value
                np.testing.assert_array_equal(compiled(x), f(x))
        zeros = np.array([0.0, -0.0] * 7, dtype)
        for x in (zeros, -zeros):
            found = jit(lambda x, f=f: scan(lambda c, v: (_first(f)(c, v),) * 2, x[0], x)[1])(x)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(x[0]))


def _first(accumulate: Any) -> Any:
    """Return the function that gives the first of two equal operands."""
    return np.maximum if accumulate == np.maximum.accumulate else np.minimum


def test_prefix_sums_with_infinities() -> None:
    for place in range(13):
        x = np.arange(1.0, 14)
        x[place] = np.inf
        np.testing.assert_array_equal(jit(np.cumsum)(x), np.cumsum(x))
        np.testing.assert_array_equal(jit(np.cumprod)(x), np.cumprod(x))


def test_prefix_sums_of_what_is_not_negative_never_fall() -> None:
    """Searches in distribution functions rely on this."""
    for seed in range(20):
        x = np.random.default_rng(seed).exponential(size=1001) ** 9
        x[::3] = 0
        assert np.all(np.diff(jit(np.cumsum)(x)) >= 0)


PREFIX_SCANS: dict[str, Callable[[Any], Any]] = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "maximum": np.maximum.accumulate,
    "minimum": np.minimum.accumulate,
    "reversed": lambda x: np.cumsum(x[::-1])[::-1],
    "cumprod of cumsum": lambda x: np.cumprod(np.cumsum(x)),
    "of a quotient": lambda x: np.cumsum(x / (1 + x * x)),
    "exclusive": lambda x: scan(lambda c, v: (c + v, c), 0.0, x)[1],
    "the carry second": lambda x: scan(lambda c, v: (v + c, c * v), 1.0, x)[1],
    "old and new": lambda x: scan(lambda c, v: (c * v, (c * c, c * v + c)), 1.0, x)[1][1],
    "minus": lambda x: scan(lambda c, v: (c - v, c), 0.0, x)[1],
    "of nothing else": lambda x: scan(lambda c, _: (c + 0.5, c * x[0]), 0.0, length=x.size)[1],
    "twice the carry": lambda x: scan(lambda c, v: (c + c * v, c), 1.0, x)[1],
    "doubled": lambda x: scan(lambda c, v: (c + c, c * v), 1.0, x)[1],
    "two carries": lambda x: scan(lambda c, v: ((c[0] + v, c[1] * v), c[0] * c[1]), (0.0, 1.0), x)[
        1
    ],
    "swapped": lambda x: scan(lambda c, v: ((c[1] + v, c[0]), c[0]), (0.0, 1.0), x)[1],
    "guarded": lambda x: np.cumsum(np.concatenate([x, np.ones(3), x])),
    "gathered": lambda x: np.cumsum(x[np.arange(x.size) * 7 % x.size]),
    "over itself": lambda x: scan(lambda c, v: (c + v, np.sin(c) * v), 0.0, x)[1],
    "assigned to": lambda x: fori_loop(0, x.size, lambda i, c: c + x[i] * i, 0.0) * x,
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", PREFIX_SCANS)
@pytest.mark.parametrize("size", [9, 22, 100])
def test_prefix_sums_and_their_gradients(name: str, size: int) -> None:
    """They agree with the interpreter, which adds one element at a time."""
    x = np.random.default_rng(size).uniform(0.6, 1.5, size)
    f = PREFIX_SCANS[name]

    def loss(x: Any) -> Any:
        y = f(x)
        return np.sum(y * np.cos(np.arange(y.size)))

    for g in (f, grad(loss)):
        reference = trace(g)(x)(x)
        scale = np.max(np.abs(reference))
        np.testing.assert_allclose(jit(g)(x), reference, rtol=1e-12, atol=1e-13 * scale)


def carried(f: Callable[[Any], Any], x: Any) -> list[int]:
    """For each number that a loop carries: how many operations of an iteration use it."""
    program = trace(f)(x)
    module = Module(lower(optimize(program)), program.in_types, program.out_types)
    found = []
    for block in re.split(r"\n(?=\S+:)", str(module.module)):
        phi = re.search(r'(%"[^"]+") = phi  ?double', block)
        if phi:
            found.append(len(re.findall(rf" f\w+ [^\n]*{phi[1]}", block)))
    return found


def test_of_four_additions_one_waits() -> None:
    """The carry is combined with the sums of one, two, three and four elements."""
    x = np.ones(1001)
    assert carried(np.cumsum, x) == [4]
    assert carried(grad(lambda x: np.sum(np.cumsum(x) ** 2)), x) == [4, 4]
    assert carried(np.cumsum, x[:8]) == []
    assert carried(lambda x: scan(lambda c, v: (c * v + v, c), 1.0, x)[1], x) == []
    assert carried(PREFIX_SCANS["exclusive"], x) == [4]


def test_loops_that_are_no_prefix_scans() -> None:
    """The loop is unchanged if its statements cannot be done for four elements at a time."""

    def loop_of(f: Any) -> Loop:
        program = lower(optimize(trace(f)(np.ones(100))))
        return next(s for s in statements(program) if isinstance(s, Loop) and not s.unroll)

    loop = loop_of(np.cumsum)
    store = next(s for s in loop.body if isinstance(s, Store) and s.buffer.kind == "output")
    assert prefix_scan(loop) is not None
    assert prefix_scan(replace(loop, stop=9)) is not None
    assert prefix_scan(replace(loop, stop=8)) is None
    assert prefix_scan(replace(loop, share=loop.var)) is None
    # Another iteration would write before this one does, or read an element that this one still has
    # to write.
    again = replace(store, index=store.index + 1)
    assert prefix_scan(replace(loop, body=[*loop.body, again])) is None
    read = Load(Scalar(99, "f64", 1, None), store.buffer, store.index, None)
    assert prefix_scan(replace(loop, body=[*loop.body, read])) is None
    assert prefix_scan(replace(loop, body=[*loop.body, replace(loop)])) is None
    # Long code is not repeated.
    assert prefix_scan(loop_of(lambda x: scan(lambda c, v: (c + np.sin(v), c), 0.0, x)[1])) is None
    assert (
        prefix_scan(loop_of(lambda x: scan(lambda c, v: (c + np.sqrt(v), c), 0.0, x)[1]))
        is not None
    )


def test_prefix_products_of_floats_are_in_order() -> None:
    """A product of later elements may overflow when the product of all of them does not."""
    x = np.tile([1e-300, 1e200, 1e200, 1e-200, 1e-200, 1e300], 4)
    np.testing.assert_allclose(jit(np.cumprod)(x), np.cumprod(x), rtol=1e-14)
    counts = np.arange(1, 30)
    np.testing.assert_array_equal(jit(np.cumprod)(counts), np.cumprod(counts))
