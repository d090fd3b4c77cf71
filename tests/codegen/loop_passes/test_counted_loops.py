"""Loops with a condition that count to a bound: which become counted, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.analysis.integer_facts import Fact, Facts, Level, Nest
from autojit.codegen.analysis.separate_places import are_separate
from autojit.codegen.analysis.verifier import verify_kernel
from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Compute,
    Constant,
    IndexValue,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.codegen.loop_passes.counted_loops import loops_counted
from autojit.ir.core.affine import Affine, Var, of
from tests.codegen.counting import counting


def kernel(**changes: str) -> Any:
    return loops_counted(counting(**changes))


def is_counted(made: Any) -> bool:
    return not any(isinstance(s, Repeat) for s in walk(made.body))


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"test": "<="}, {"left": "n", "right": "c[0]", "test": ">"},
        {"test": ">", "by": "-1", "before": "n[0 : +1] = -9"}, {"body": "y[s8 of 60] = s14"},
    ],
)  # fmt: skip
def test_a_loop_that_counts_to_a_bound_is_counted(changes: dict[str, str]) -> None:
    assert is_counted(kernel(**changes))


def loop_of(body: str) -> Loop:
    (found,) = (s for s in walk(kernel(body=body).body) if isinstance(s, Loop) and s.stop == 9)
    return found


SEPARATE = {
    "one row": ("s11 = y[s8 of 60]; y[s8 of 60] = s11", True),
    "two rows, one of them unknown": ("s11 = y[10*s2 of 6 + s8 of 10]; y[s8 of 10] += s11", False),
    "two rows": ("s11 = y[10*s2 of 6 + s8 of 10]; y[10*s8 of 6 + s8 of 10] += s11", True),
    "a neighbour": ("s13 = s8 + s2; s11 = y[s13 of 60]; y[s8 of 60] = s11", False),
    "rows that overlap": ("y[8*s2 of 6 + s8 of 10] += s14", False),
    "one element": ("y[s2 of 60] += s14", False),
    "a column after all of them": (
        "s20 = 9; s11 = y[10*s2 of 6 + s20 of 10]; y[10*s2 of 6 + s8 of 10] += s11",
        True,
    ),
    "a column that one of them is": (
        "s20 = 3; s11 = y[10*s2 of 6 + s20 of 10]; y[10*s2 of 6 + s8 of 10] += s11",
        False,
    ),
    "a column that does not move": ("s20 = 9; y[10*s2 of 6 + s20 of 10] = s14", False),
    "an element of a column after all of them": (
        "s11 = y[19]; y[10*s2 of 6 + s8 of 10] = s11",
        True,
    ),
    "an element of a column among them": ("s11 = y[13]; y[10*s2 of 6 + s8 of 10] = s11", False),
    "a negative index that wraps": (
        "s20 = 3; s21 = s8 - s20; s22 = 0; s23 = s21 < s22; s24 = 60; s25 = s21 + s24; "
        "s26 = select(s23, s25, s21); y[s26 of 60] += s14",
        False,
    ),
    "an index that is never negative": (
        "s20 = 9; s21 = s20 - s8; s22 = 0; s23 = s21 < s22; s24 = 60; s25 = s21 + s24; "
        "s26 = select(s23, s25, s21); y[s26 of 60] += s14",
        True,
    ),
    "another array": ("s11 = x[s2 of 60]; y[s8 of 60] += s11", True),
    "a sum": ("s11 = y[s8 of 60]; t[0] += s11", True),
    "a number of the step before": ("s11 = t[0]; s13 = y[s8 of 60]; t[0] = s13", False),
    "a number of this step, which is the last step's afterwards": (
        "s13 = y[s8 of 60]; t[0] = s13; s11 = t[0]",
        False,
    ),
}


@pytest.mark.parametrize("words", SEPARATE)
def test_iterations_are_separate_where_one_place_tells_them_apart(words: str) -> None:
    body, known = SEPARATE[words]
    found = loop_of(body.replace("; ", "\n        "))
    assert are_separate(found) == known
    assert (found.role != "sequence") == known


SUMS = {
    "added": ("s11 = t[0]; s13 = s11 + s14; t[0] = s13", True),
    "subtracted": ("s11 = t[0]; s13 = s11 - s14; t[0] = s13", True),
    "subtracted from": ("s11 = t[0]; s13 = s14 - s11; t[0] = s13", False),
    "a product": ("s11 = t[0]; s13 = s11 * s14; t[0] = s13", False),
    "read again": ("s11 = t[0]; s13 = s11 + s14; t[0] = s13; s15 = t[0]; y[s8 of 60] = s15", False),
    "the old one read": ("s11 = t[0]; s13 = s11 + s14; t[0] = s13; y[s8 of 60] = s11", False),
    "the new one read": ("s11 = t[0]; s13 = s11 + s14; t[0] = s13; y[s8 of 60] = s13", False),
    "twice itself": ("s11 = t[0]; s13 = s11 + s11; t[0] = s13", False),
    "set before": ("t[0] = s14; s11 = t[0]; s13 = s11 + s14; t[0] = s13", False),
}


@pytest.mark.parametrize("words", SUMS)
def test_numbers_that_are_only_added_to_are_sums(words: str) -> None:
    body, known = SUMS[words]
    found = loop_of(body.replace("; ", "\n        "))
    assert any(isinstance(s, AccumulateInto) for s in found.body) == known


MIRRORED = "s20 = 8; s21 = s20 - s8; "
ADDITIONS = {
    "two elements": ("y[s8 of 60] += s14; y[s21 of 60] += s14", 2),
    "of a number that is set afterwards": (
        "s11 = z[s8 of 60]; y[s8 of 60] += s11; y[s21 of 60] += s11; z[s8 of 60] = s14",
        2,
    ),
    "of a number that was set before": (
        "z[s8 of 60] = s14; s11 = z[s8 of 60]; y[s8 of 60] += s11; y[s21 of 60] += s11",
        1,
    ),
    "of a number that another iteration sets": (
        "s11 = z[s8 of 60]; y[s8 of 60] += s11; y[s21 of 60] += s11; z[s21 of 60] = s14",
        1,
    ),
    "read in between": ("y[s8 of 60] += s14; s11 = y[s3 of 60]; y[s21 of 60] += s11", 1),
    "set in between": ("y[s8 of 60] += s14; y[s21 of 60] = s14", 1),
    "at a place that may be any": ("y[s8 of 60] += s14; y[s2 of 60] += s14", 1),
    "at one place": ("y[s8 of 60] += s14; y[s20 of 60] += s14", 1),
    "after a sum that is read": (
        "s11 = t[0]; y[s8 of 60] += s11; y[s21 of 60] += s11; t[0] = s14",
        1,
    ),
}


@pytest.mark.parametrize("words", ADDITIONS)
def test_additions_to_two_elements_become_two_loops(words: str) -> None:
    body, count = ADDITIONS[words]
    made = kernel(body=(MIRRORED + body).replace("s3 of", "s20 of").replace("; ", "\n        "))
    found = [s for s in walk(made.body) if isinstance(s, Loop) and s.stop == 9]
    assert len(found) == count
    assert all((s.role == "reduce") == (count == 2) for s in found)
    if count == 2:
        verify_kernel(made)


def test_forms_and_ranges_of_integers() -> None:
    i, j = Var(8), Var(8)
    nest = Nest((Level(i, 0, 8), Level(j, 0, 8, of(i) + 1)))
    assert nest.least(of(i) - of(j)) == 0
    assert nest.least(of(j) - of(i)) == -7
    facts = Facts(nest)
    cell = Buffer("c", "i64", 1, "local")
    a, b, c = (Scalar(k, "i64", 0, None) for k in range(3))
    facts.see(IndexValue(a, of(i) - of(j)))
    facts.see(Constant(b, 0))
    facts.see(Compute(c, "maximum", (a, b)))
    assert facts.of(c) == Fact(0, 7, of(i) - of(j))
    facts.see(Compute(c, "minimum", (a, b)))
    assert facts.of(c) == Fact(0, 0, Affine(0))
    below, one = Scalar(4, "bool", 0, None), Scalar(5, "i64", 0, None)
    facts.see(Compute(below, "gt", (a, b)))  # it may be 0
    assert facts.of(below) is None
    facts.see(Compute(one, "select", (below, a, b)))
    assert facts.of(one) == Fact(0, 7, None)
    facts.see(Compute(below, "ge", (a, b)))
    facts.see(Compute(one, "select", (below, a, b)))
    assert (facts.of(below), facts.of(one)) == (Fact(1, 1, None), facts.of(a))
    facts.see(Constant(one, 8))
    facts.see(Compute(c, "remainder", (a, one)))
    assert facts.of(c) == facts.of(a)
    facts.see(Compute(c, "remainder", (a, b)))  # by zero
    assert facts.of(c) is None
    facts.see(Store(cell, Affine(0), a))
    facts.forget_variable(j, None)
    assert facts.cells[cell] == Fact(0, 7, None)
    facts.see(AccumulateInto(cell, Affine(0), "add", a))
    assert not facts.cells
    large = Scalar(3, "i64", 0, None)
    facts.see(Constant(large, 1 << 62))
    assert facts.of(large) is None


# -- whole functions ------------------------------------------------------------------------


def triangles(a: Any, b: Any, m: Any) -> Any:
    """Rows and columns up to and from counters, forwards and backwards, with traced rows."""
    n = a.shape[0]
    a, s = a.copy(), 0.0
    for k in range(n):
        for i in range(k + 1, n):
            f = a[i, k] / (2.0 + a[k, k])
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
            for j in range(i, k, -1):
                a[m, j] += 0.1 * a[i, j]
                s += a[m, j] * b[i - j]
        for j in range(max(0, k - 3), min(k + 2, n)):
            s += a[j, k] * b[j]
    return s + np.sum(a * a)


def shifted(a: Any, b: Any, m: Any) -> Any:
    """Elements that the next step reads, and equal rows."""
    n = a.shape[0]
    a = a.copy()
    for k in range(n):
        for j in range(k + 1, n):
            a[k, j] = 0.5 * a[k, j - 1] + b[j] * a[m, j]
            a[m, j - 1] += 0.3 * a[k, j]
        for j in range(n - 2, k, -1):
            a[m, j] += a[m, j + 1] * b[k]
    return np.sum(a * b)


def last_numbers(a: Any, b: Any, m: Any) -> Any:
    """Numbers of the last step that later statements read, of loops that go backwards."""
    n = a.shape[0]
    a, s, t, last = a.copy(), 0.0, b[0], 0
    for i in range(n):
        for j in range(n - 1, i, -1):
            t = a[i, j] * 2.0
            a[i, j] = t + 1.0
        s += t * (i + 1)
        for j in range(i, n):
            last = j
            a[m, j] = a[m, j] * b[j]
        for j in range(i - 1, -1, -1):
            last = j
            a[j, i] *= 0.5
        s += a[m, last]
    return s + np.sum(a * a)


def mirrored(a: Any, b: Any, m: Any) -> Any:
    """Elements in opposite orders, negative indices, and rows that may be equal."""
    n = a.shape[0]
    a, s = a.copy(), 0.0
    for k in range(1, n):
        for i in range(k):
            s += b[k - i] * a[k, i]
        for i in range(k):
            a[m, i] += 0.3 * a[k, k - 1 - i] * b[i - k]
        for i in range(n):
            a[k, i] += 0.1 * a[m, i - 4] * b[(i + 1) % n]
    return s + np.sum(a * a)


def aligned(a: Any, b: Any, m: Any) -> Any:
    """The least of three neighbours, one of which the step before has computed."""
    n = a.shape[0]
    c = np.full((n + 1, n + 1), 1e3)
    c[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            here = (a[i - 1, j - 1] - b[j - 1]) ** 2
            c[i, j] = here + min(c[i - 1, j], c[i, j - 1], c[i - 1, j - 1])
    return c[n, n] + c[n - m, n]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", [triangles, shifted, last_numbers, mirrored])
@pytest.mark.parametrize("m", [0, 4, 10])
def test_counted_loops_compute_what_python_does(f: Any, m: int) -> None:
    rng = np.random.default_rng(m)
    a, b = rng.uniform(-0.5, 0.5, (11, 11)), rng.uniform(-0.5, 0.5, 11)
    assert np.isclose(jit(f)(a, b, m), f(a, b, m), rtol=1e-11)
    d = rng.normal(size=a.shape)
    slope = np.sum(jit(grad(f))(a, b, m) * d)
    assert np.isclose(slope, f(a + 1e-30j * d, b, m).imag / 1e-30, rtol=1e-10)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("m", [0, 3])
def test_the_least_of_neighbours(m: int) -> None:
    rng = np.random.default_rng(m)
    a, b = rng.uniform(-0.5, 0.5, (11, 11)), rng.uniform(-0.5, 0.5, 11)
    d, step = rng.normal(size=a.shape), 1e-7
    slope = (aligned(a + step * d, b, m) - aligned(a - step * d, b, m)) / (2 * step)
    assert np.isclose(jit(aligned)(a, b, m), aligned(a, b, m), rtol=1e-13)
    assert np.isclose(np.sum(jit(grad(aligned))(a, b, m) * d), slope, rtol=1e-6)


def test_an_index_that_is_out_of_range_raises() -> None:
    def f(a: Any, k: Any) -> Any:
        s = 0.0
        for i in range(4):
            for j in range(i):
                s += a[i - j - k]
        return s

    a = np.arange(5.0)
    assert jit(f)(a, 2) == f(a, 2)
    with pytest.raises(IndexError):
        jit(f)(a, 7)
