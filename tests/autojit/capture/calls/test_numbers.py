"""Conversions, min and max, sorting and `math`, against Python on the same numbers."""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, vmap
from autojit.capture import calls
from autojit.errors import ConcreteValueError
from autojit.tracing.protocol import LARGEST, LEAST, bounds_of

from .differential import Traced, check, check_derivative

NAN, INF = math.nan, math.inf
FLOATS = (1.5, -2.5, 0.0, -0.0, 2.0, NAN, INF, -INF)
PAIRS = list(itertools.product(FLOATS, FLOATS))
MIXED = [(1, 2.5), (3, 3.0), (True, 0.5), (np.float64(2.0), 2), (np.int64(3), 3.5), (2, 7)]


def test_complex_numbers_keep_the_signs_of_zeros() -> None:
    numbers = [*FLOATS, 1 + 2j, complex(-0.0, -0.0), complex(0.0, -1.0)]
    both = jit(lambda a, b: complex(a, b))
    for a, b in itertools.product(numbers, numbers):
        found, expected = both(a, b), complex(a, b)
        for x, y in ((found.real, expected.real), (found.imag, expected.imag)):
            assert x == y or (math.isnan(x) and math.isnan(y))
            assert math.isnan(y) or math.copysign(1, x) == math.copysign(1, y)
    sign = jit(lambda a: math.copysign(1.0, complex(a, 1.0).real))
    assert [sign(-0.0), sign(0.0)] == [-1.0, 1.0]
    assert jit(grad(lambda x: abs(complex(x, 2 * x))))(1.5) == pytest.approx(5**0.5)


def ordered(a: Any, b: Any, n: Any) -> Any:
    return (
        (a, b) < (b, a), (a, n) <= (a, 2), (a, b) > (a, b), (a, b) >= (a, b), (a,) < (a, b),
        (a, (b, 1)) < (a, (b, n)), [a, b] < [b, 1.0], (b, "x") < (a, "y"),
        operator.lt((a, n), (b, 1)), max((a, n), (b, 2)), min([(b, n), (a, 1), (b, 0)]),
        max([a, b, 1.0], key=lambda v: (v > 1, -v)), sorted([(b > 0, b), (a > 0, a)]),
        max((v * v, k) for k, v in enumerate((a, b, a))),
    )  # fmt: skip


def test_orders_of_tuples() -> None:
    compiled = jit(ordered)
    for a, b in itertools.product((1.5, -2.5, 0.0, NAN, INF), repeat=2):
        for n in (1, 2):
            if math.isnan(a) or math.isnan(b):  # the sorted order of NaNs is no order
                found, expected = compiled(a, b, n)[:6], ordered(a, b, n)[:6]
                same = (a, b) == (b, a) or math.isnan(a)  # Python compares identities first
                if same:
                    continue
            else:
                found, expected = compiled(a, b, n), ordered(a, b, n)
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(np.asarray(x, float), np.asarray(y, float))


def test_the_largest_pair_of_a_loop() -> None:
    def f(x: Any, n: Any) -> Any:
        best = (0.0, -1)
        for i in range(n):
            if (x[i], -i) > best:
                best = (x[i], -i)
        return best

    x = np.array([0.5, 2.0, 2.0, -1.0, 2.0])
    assert jit(f)(x, 5) == f(x, 5)
    np.testing.assert_array_equal(jit(grad(lambda x: f(x, 5)[0]))(x), [0, 1, 0, 0, 0])


@pytest.mark.parametrize("of", [min, max])
def test_min_and_max_of_pairs(of: Any) -> None:
    run = jit(lambda x, y: calls.call(of, (x, y), {}, lambda f: f))
    for x, y in PAIRS:
        found, expected = run(x, y), of(x, y)
        assert found == expected or (math.isnan(found) and math.isnan(expected))
        assert math.copysign(1, found) == math.copysign(1, expected) or math.isnan(expected)
    for x, y in MIXED:
        check(lambda c, x, y: c(of, x, y), x, y)


@pytest.mark.parametrize("of", [min, max])
@pytest.mark.parametrize(
    "row", [[3.0, 1.0, 2.0], [NAN, 1.0], [1.0, NAN, 2.0, 0.5], [-0.0, 0.0], [0.0, -0.0], [5.0]]
)
def test_min_and_max_of_rows(of: Any, row: list[float]) -> None:
    check(lambda c, x: c(of, x), np.array(row))
    check(lambda c, *x: c(of, x), *row)
    check(lambda c, *x: c(of, (v * v for v in x)), *row)
    check(lambda c, *x: c(of, list(x), key=lambda v: -v), *row)
    check(lambda c, *x: c(of, *x, 0.25, key=abs), *row)


def test_min_and_max_with_a_default_and_of_tuples() -> None:
    check(lambda c, x: c(max, [], default=x), 2.0)
    check(lambda c, x, y: c(max, [(x, 1.0), (y, 2.0)], key=lambda pair: pair[0]), 3.0, 4.0)
    check(lambda c, k: c(max, k), np.array([3, 1, 7, 7]))


def test_extremes_refuse_arrays_and_names() -> None:
    with pytest.raises(ValueError, match=r"truth value of an array with more than one element"):
        jit(lambda x: calls.call(max, (x, 2 * x), {}, lambda f: f))(np.ones(3))
    with pytest.raises(TypeError, match="not numbers or arrays, such as 'b'"):
        jit(lambda x: Traced()(max, ["a", "b"], key=lambda n: {"a": x, "b": -x}[n]))(1.0)


@pytest.mark.parametrize("x", [-3.0, -0.5, 0.5, 2.0])
def test_derivative_is_that_of_the_chosen(x: float) -> None:
    check_derivative(lambda c, x: c(max, x * x, 3 * x + 1.0, 0.3), x)
    check_derivative(lambda c, x: c(min, [x, 1.0, 2 * x]), x)
    check_derivative(lambda c, x: c(abs, x), x)


def test_a_tie_has_the_derivative_of_the_first() -> None:
    assert grad(lambda x: Traced()(max, x, 2 * x))(0.0) == 1.0
    assert grad(lambda x: Traced()(max, 2 * x, x))(0.0) == 2.0


VALUES = (0.5, 1.5, 2.5, -0.5, -1.5, 2.675, 0.15, 1e15 + 0.5, -7.25, 123456.789, 0.0, -0.0)


@pytest.mark.parametrize("digits", [None, 0, 1, 2, 3, 10, -1, -2])
def test_round(digits: int | None) -> None:
    run = jit(lambda x: calls.call(round, (x, digits), {}, lambda f: f))
    for x in (*VALUES, *np.random.default_rng(0).uniform(-100, 100, 200).tolist()):
        found, expected = run(x), round(x, digits)
        assert found == expected, (x, digits)
        assert math.copysign(1, found) == math.copysign(1, expected)
    for k in np.random.default_rng(0).integers(0, 2000, 200):  # ties in decimal, as in prices
        x = int(k) / 200
        assert run(x) == round(x, digits)
    for n in (5, 15, 25, -15, -25, 149, 0):
        check(lambda c, n: c(round, n, digits), n)


def test_round_of_numpys_scalars_and_of_what_is_not_finite() -> None:
    check(lambda c, x: c(round, x, 1), np.float64(0.15))
    check(lambda c, x: c(round, x), np.float32(2.5))
    check(lambda c, x: c(round, x, 2), NAN)
    check(lambda c, x: c(round, x, 2), INF)
    check(lambda c, x: c(round, x, -2), -INF)
    assert grad(lambda x: Traced()(round, x, 1) * x)(0.26) == 0.3
    with pytest.raises(TypeError, match="doesn't define __round__"):
        jit(lambda x: Traced()(round, x))(np.ones(2))


@pytest.mark.parametrize("of", [int, math.floor, math.ceil, math.trunc])
def test_integers(of: Any) -> None:
    for x in (2.7, -2.7, 0.0, -0.0, 1e18, -3.0, np.float64(2.5), 4, 7, True):
        check(lambda c, x: c(of, x), x)
    for x in (INF, -INF, 1e19):
        with pytest.raises(OverflowError, match="infinite or does not fit into the 64 bits"):
            jit(lambda x: calls.call(of, (x,), {}, lambda f: f))(x)
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        jit(lambda x: calls.call(of, (x,), {}, lambda f: f))(NAN)


def test_conversions_are_pythons_numbers() -> None:
    def f(x: Any) -> Any:
        c = Traced()
        made = [c(float, x), c(int, x), c(complex, x), c(bool, x)]
        assert [m.weak for m in made] == [float, int, complex, bool]
        return made

    assert jit(f)(np.float32(2.5)) == [2.5, 2, 2.5 + 0j, True]
    assert jit(f)(np.array(-0.5))[:2] == [-0.5, 0]
    check(lambda c, x, y: c(complex, x, y), 1.0, -0.5)
    assert grad(lambda x: Traced()(float, x * x))(np.float64(3.0)) == 6.0
    for of in (float, int, complex, math.sin):
        with pytest.raises(TypeError, match="only 0-dimensional arrays"):
            jit(lambda x, of=of: Traced()(of, x))(np.ones(2))
    with pytest.raises(TypeError, match="not 'complex'"):
        jit(lambda x: Traced()(float, x))(1j)


def test_items_and_lists() -> None:
    def f(x: Any) -> Any:
        c = Traced()
        first = c(x.item, 0)
        assert first.weak is float
        return first * 2, c(x.tolist)

    assert jit(f)(np.array([1.0, 2.0])) == (2.0, [1.0, 2.0])
    check(lambda c, x: [c(x.item, 1, 0), c(x.item, 3), c(x[:1, :1].item)], np.eye(2) * 3)
    with pytest.raises(ValueError, match="can only convert an array of size 1"):
        jit(lambda x: Traced()(x.item))(np.ones(2))
    assert grad(lambda x: sum(Traced()((x * x).tolist)))(np.array([1.0, 2.0])).tolist() == [2, 4]


ROWS = [[3.0, 1.0, 2.0], [1.0, 1.0, 0.5], [2.0], [-1.0, -0.5, 3.0, 3.0, -7.0]]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("reverse", [False, True])
def test_sorting(row: list[float], reverse: bool) -> None:
    check(lambda c, *x: c(sorted, x, reverse=reverse), *row)
    check(lambda c, *x: c(sorted, list(x), key=abs, reverse=reverse), *row)
    check(lambda c, x: c(sorted, x, reverse=reverse), np.array(row))

    def pairs(c: Any, *x: Any) -> Any:
        return c(sorted, [(v, i) for i, v in enumerate(x)], key=lambda p: p[0], reverse=reverse)

    check(pairs, *row)

    def in_place(c: Any, *x: Any) -> Any:
        items = list(x)
        c(items.sort, reverse=reverse)
        return items

    check(in_place, *row)


def test_sorting_keeps_pythons_numbers_and_derivatives() -> None:
    def f(x: Any) -> Any:
        found = Traced()(sorted, [x, 1.0, x * x])
        assert [v.weak for v in found] == [float] * 3
        return found[0]

    assert jit(grad(f))(0.5) == 1.0  # of x * x, which is 0.25
    assert jit(grad(f))(-3.0) == 1.0
    with pytest.raises(ConcreteValueError, match=r"key=lambda x: x\[0\]"):
        jit(lambda x: Traced()(sorted, [(x, 1), (x, 2)], key=lambda p: (p[0], 1)) and
            Traced()(sorted, [np.ones(2) * x]))(1.0)  # fmt: skip


ONE = {
    math.acos: 0.3, math.acosh: 1.5, math.asin: 0.3, math.asinh: 0.3, math.atan: 0.3,
    math.atanh: 0.3, math.cbrt: 2.0, math.cos: 0.3, math.cosh: 0.3, math.degrees: 0.3,
    math.erf: 0.3, math.erfc: 0.3, math.exp: 0.3, math.exp2: 0.3, math.expm1: 0.3, math.fabs: -0.3,
    math.log: 0.3, math.log10: 0.3, math.log1p: 0.3, math.log2: 0.3, math.radians: 0.3,
    math.sin: 0.3, math.sinh: 0.3, math.sqrt: 0.3, math.tan: 0.3, math.tanh: 0.3,
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("of", ONE, ids=lambda f: f.__name__)
def test_functions_of_one_number(of: Any) -> None:
    x = ONE[of]
    run = jit(lambda x: calls.call(of, (x,), {}, lambda f: f))
    for given in (x, 1.3 * x, np.float32(x), np.array(x)):
        assert abs(run(given) - of(given)) <= 4e-16 * abs(of(given))
    check_derivative(lambda c, x: c(of, x), x)

    def weak(x: Any) -> Any:
        assert Traced()(of, x).weak is float
        return x

    jit(weak)(np.float32(x))


TWO = [
    (math.atan2, 0.3, -2.0), (math.copysign, 0.3, -2.0), (math.fmod, 7.5, -2.0),
    (math.hypot, 3.0, 4.0), (math.log, 8.0, 3.0), (math.pow, 2.5, 3.0), (math.remainder, 7.5, 2.0),
    (math.remainder, -7.0, 2.0), (math.remainder, 5.0, 2.0), (math.remainder, 3.5, INF),
    (math.isclose, 1.0, 1.0 + 1e-10), (math.isclose, 1.0, 1.1), (math.isclose, INF, INF),
    (math.isclose, INF, 1.0), (operator.pow, 2.0, 0.5), (divmod, 7.5, -2.0), (divmod, 7, 2),
    (pow, 2.0, 3.0), (math.dist, (1.0, 2.0), (3.0, 5.0)), (math.prod, [2.0, 3.0], None),
]  # fmt: skip


@pytest.mark.parametrize(("of", "x", "y"), TWO)
def test_functions_of_two(of: Any, x: Any, y: Any) -> None:
    check(lambda c, x, y: c(of, x, y) if y is not None else c(of, x), x, y)


def test_functions_of_many() -> None:
    check(lambda c, x, y: c(math.hypot, x, y, 2.0), 1.0, 2.0)
    check(lambda c, x: c(math.fsum, [x, 1.0, -x]), 1e100)
    assert jit(lambda x: Traced()(math.fsum, [x, 1.0, -x]))(1e100) == 1.0
    check(lambda c, x: c(math.fsum, [x] * 10), 0.1)
    check(lambda c, x: c(math.fsum, [x, INF]), 0.1)
    check(lambda c, x: c(math.prod, x, start=2), np.array([2, 3]))
    check(lambda c, x: [c(math.modf, x), c(math.modf, -x)], 2.75)
    check(lambda c, x: c(math.ldexp, x, 4), 2.75)
    for x in (INF, NAN, 1.0):
        check(lambda c, x: [c(f, x) for f in (math.isnan, math.isinf, math.isfinite)], x)
    check_derivative(lambda c, x: c(math.hypot, x, 2.0 * x, 3.0), 0.5)
    check_derivative(lambda c, x: c(math.fsum, [x, x * x, 1.0]), 0.5)
    check_derivative(lambda c, x: c(math.dist, [x, 1.0], [0.0, x * x]), 0.5)


@pytest.mark.parametrize("of", [cmath.exp, cmath.sqrt, cmath.log, cmath.sin, cmath.cos, cmath.tanh,
                                cmath.phase, cmath.polar])  # fmt: skip
def test_complex_functions(of: Any) -> None:
    for z in (1.0 + 2.0j, -0.5 + 0.25j, 2.0):
        found = np.asarray(jit(lambda z: Traced()(of, z))(z))
        assert np.allclose(found, of(z), rtol=1e-14)


def test_outside_of_the_domain_is_nan() -> None:
    assert math.isnan(jit(lambda x: Traced()(math.sqrt, x))(-1.0))
    assert jit(lambda x: Traced()(math.log, x))(0.0) == -INF


def test_known_arguments_go_to_the_original() -> None:
    c = Traced()
    assert c(math.factorial, 5) == 120
    assert c(round, 2.675, 2) == 2.67
    assert c(max, [], default=3) == 3
    assert c(sorted, "bca") == ["a", "b", "c"]
    assert c(int, "12", 8) == 10
    assert c(functools.partial(max, 3), 2) == 3
    assert c(float, "2.5") == 2.5
    with pytest.raises(ValueError, match=r"empty"):
        c(max, [])
    with pytest.raises(TypeError):
        c(max, 1)


def test_bounds_of_integers_are_known() -> None:
    def f(i: Any, byte: Any) -> Any:
        c = Traced()
        small = c(min, c(max, i, 0), 10)
        assert bounds_of(c(max, i, 3)) == (3, LARGEST)
        assert bounds_of(c(min, i, 3)) == (LEAST, 3)
        assert bounds_of(small) == (0, 10)
        assert bounds_of(c.item([4, 9, 7], i)) == (4, 9)
        assert bounds_of(c(int, i > 3)) == (0, 1)
        assert bounds_of(c(int, byte)) == (0, 255)
        assert bounds_of(c(len, c(range, i))) == (0, LARGEST)
        return small

    assert [jit(f)(i, np.uint8(1)) for i in (-1, 2)] == [0, 2]


def test_integers_that_do_not_fit() -> None:
    check(lambda c, x, n: c(max, x, n), np.uint8(7), 300)
    check(lambda c, x, n: c(min, x, n), np.int8(7), -300)
    check(lambda c, x: c(int, x), np.uint64(2**62))
    with pytest.raises(OverflowError):
        jit(lambda x: Traced()(int, x))(np.uint64(2**63))
    with pytest.raises(TypeError, match=r"np.uint64\(n\)"):
        jit(lambda x, n: Traced()(max, x, n))(np.uint64(1), 2)


def test_under_vmap() -> None:
    c = Traced()

    def f(x: Any, i: Any) -> Any:
        largest = c(max, x, 1.0, c.item([x, 3.0 * x, 0.0], i))
        return c.or_(c.and_(x > 0, lambda: largest), lambda: c.item(np.array([7.0, 8.0]), i % 2))

    xs, places = np.array([-1.0, 2.0, 0.5]), np.array([0, 1, 2])
    assert vmap(f)(xs, places).tolist() == [7.0, 6.0, 1.0]


def test_integers_that_do_not_fit_name_the_line() -> None:
    for f in (lambda n: n + 2**63, lambda n: 2**64 - n, lambda n: n * -(2**70)):
        with pytest.raises(OverflowError, match="does not fit into the 64 bits") as raised:
            jit(f)(2)
        assert "float(n) + 2.0**63" in str(raised.value)
        assert "test_numbers.py" in str(raised.value)
    assert jit(lambda n: n < 2**70)(2)
