"""`and`, `or`, `not`, `in`, `any` and `all`: their values, and which operands they evaluate."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.capture import calls
from autojit.errors import CaptureError, ConcreteValueError

from .differential import Traced, check, check_derivative

VALUES = (1.5, 0.0, -0.0, math.nan, 2, 0, True, False, np.float64(0.0), np.int64(3))


def test_values_of_and_and_or() -> None:
    for x, y in itertools.product(VALUES, VALUES):
        check(lambda c, x, y: c.and_(x, lambda: y), x, y)
        check(lambda c, x, y: c.or_(x, lambda: y), x, y)
    for x, y, z in itertools.product((0.0, 1.0), repeat=3):
        check(lambda c, *v: c.and_(v[0] > 0, lambda: v[1], lambda: v[2] * 2), x, y, z)
        check(lambda c, *v: c.or_(v[0], lambda: c.and_(v[1], lambda: v[2] > 0)), x, y, z)
        check(lambda c, *v: c.not_(c.or_(v[0], lambda: v[1], lambda: c.not_(v[2]))), x, y, z)


def test_known_values_are_pythons() -> None:
    c = Traced()
    assert c.and_([], lambda: 1) == []
    assert c.or_("", lambda: "b") == "b"
    assert c.not_([]) is True
    assert c.and_(1, lambda: 2, lambda: 3) == 3
    assert c.and_(0, lambda: pytest.fail("evaluated")) == 0
    assert c.or_(2, lambda: pytest.fail("evaluated")) == 2

    def f(x: Any) -> Any:
        assert c.or_(True, lambda: x) is True
        assert c.and_(True, lambda: x) is x
        return x

    jit(f)(1.0)


def test_what_may_fail_is_only_evaluated_where_python_would() -> None:
    def f(x: Any, i: Any) -> Any:
        return Traced().and_(i < 3, lambda: x[i] > 0.5)

    run = jit(f)
    row = np.array([0.0, 1.0, 0.0])
    assert [bool(run(row, i)) for i in range(5)] == [False, True, False, False, False]
    with pytest.raises(IndexError):
        jit(lambda x, i: Traced().and_(i < 9, lambda: x[i] > 0.5))(row, 5)
    assert "switch" in str(autojit.trace(f)(row, 1))


def test_what_cannot_fail_is_no_branch() -> None:
    text = str(autojit.trace(lambda x: Traced().and_(x > 0, lambda: x < 3, lambda: x != 2))(1.0))
    assert "switch" not in text
    costly = str(autojit.trace(lambda x: Traced().and_(x[0] > 0, lambda: x @ x > 1))(np.ones(50)))
    assert "switch" in costly


@pytest.mark.parametrize("x", [-1.5, -0.5, 0.5, 2.0])
def test_derivatives_of_what_was_chosen(x: float) -> None:
    check_derivative(lambda c, x: c.or_(c.and_(x > 0, lambda: x * x), lambda: 3.0 * x), x)
    check_derivative(lambda c, x: c.and_(x > 0, lambda: math.sqrt(2) * x, lambda: x**3) * 1.0, x)


def test_derivative_is_none_of_what_was_not_evaluated() -> None:
    def f(x: Any) -> Any:
        return Traced().or_(Traced().and_(x > 0, lambda: np.sqrt(x)), lambda: 2.0 * x)

    assert grad(f)(-1.0) == 2.0
    assert grad(f)(4.0) == 0.25


def test_conditions_on_arrays_are_refused_as_numpy_does() -> None:
    for of in (Traced().not_, lambda x: Traced().and_(x, lambda: 1)):
        with pytest.raises(ValueError, match=r"more than one element is ambiguous. Use a.any\(\)"):
            jit(of)(np.ones(3))
        with pytest.raises(ValueError, match="truth value of an empty array is ambiguous"):
            jit(of)(np.ones(0))
    check(lambda c, x: c.not_(x), np.array([[0.0]]))


def test_results_of_different_types_are_refused() -> None:
    with pytest.raises(CaptureError, match=r"bool\[\].*where|f64\[3\] where"):
        jit(lambda x: Traced().and_(x[0] > 0, lambda: x))(np.ones(3))
    with pytest.raises(CaptureError, match="where the condition does not hold"):
        jit(lambda x: Traced().and_(x > 0, lambda: (x, x)))(1.0)


CONTAINERS = [
    (1.0, 2.0, 3.0), [1, 5], {1, 2}, {1.0: "a"}, (), range(0, 10, 3), range(9, 0, -2), range(4),
    np.array([1.0, 2.0]), frozenset({3}),
]  # fmt: skip


@pytest.mark.parametrize("container", CONTAINERS, ids=str)
def test_in(container: Any) -> None:
    for x in (1.0, 2.0, 3, 9, 2.5, -1, math.nan):
        check(lambda c, x: c.in_(x, container), x)


def test_in_with_traced_elements() -> None:
    check(lambda c, x, y: [c.in_(2.0, (x, y)), c.in_(x, [y, 1.0]), c.in_(x, [y, x])], 2.0, 3.0)
    check(lambda c, x: [c.in_(2.0, x), c.in_(7.0, x), c.in_(x[0], x)], np.array([1.0, 2.0]))
    check(lambda c, n, k: c.in_(k, c(range, n)), 4, 3)
    check(lambda c, n, k: c.in_(k, c(range, n)), 4, 4)
    check(lambda c, n: c.in_(2, c(range, n)), 4)
    assert Traced().in_("a", "cab") is True
    with pytest.raises(ConcreteValueError, match="a traced number and a string"):
        jit(lambda x: Traced().in_(x, "abc"))(1)


@pytest.mark.parametrize("row", [[0.0, 0.0], [0.0, 2.0], [1.0, 2.0], []])
def test_any_and_all(row: list[float]) -> None:
    check(lambda c, *x: [c(any, x), c(all, x)], *row)
    check(lambda c, *x: [c(any, (v > 1 for v in x)), c(all, (v > 1 for v in x))], *row)
    check(lambda c, *x: [c(any, [False, *x]), c(all, [True, *x])], *row)
    check(lambda c, x: [c(any, x), c(all, x)], np.array(row))


def test_any_stops_where_python_stops() -> None:
    def f(x: Any, n: Any) -> Any:
        c = Traced()
        return c(any, (x[i + n] > 0.5 for i in range(4)))

    row = np.array([0.0, 1.0, 0.0])
    assert jit(f)(row, 0)
    with pytest.raises(IndexError):
        jit(f)(row, 2)

    def known(x: Any) -> Any:
        c = Traced()

        def items() -> Any:
            for k, v in enumerate((x > 0, True, x > 1)):
                assert k < 2
                yield v

        return c(any, items())

    assert jit(known)(-1.0)
    assert calls.call(any, ([0, 1],), {}, lambda f: f) is True
    assert calls.call(all, ([0, 1],), {}, lambda f: f) is False
