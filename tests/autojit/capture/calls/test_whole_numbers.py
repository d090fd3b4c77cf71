"""The functions of `math` on traced integers, and those whose results Python may refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special

from autojit import grad, jit
from autojit.errors import ConcreteValueError

LARGE = 2**63 - 1
CASES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "gcd": (lambda a, b: math.gcd(a, b), [
        (12, 18), (0, 0), (0, 5), (-12, 18), (7, -3), (LARGE, 7), (2**62, 2**40)]),
    "gcd of three": (lambda a, b: math.gcd(a, b, 10), [(20, 30), (0, 15), (7, 7)]),
    "gcd of one": (lambda a: math.gcd(a), [(-4,), (0,)]),
    "lcm": (lambda a, b: math.lcm(a, b), [
        (4, 6), (0, 5), (5, 0), (-4, 6), (2**40, 2**41), (3037000500, 3037000501)]),
    "lcm of three": (lambda a, b: math.lcm(a, 6, b), [(4, 10), (3, 0)]),
    "factorial": (lambda n: math.factorial(n), [(0,), (1,), (5,), (20,), (21,), (-1,), (10**3,)]),
    "comb": (lambda n, k: math.comb(n, k), [
        (5, 2), (5, 0), (5, 5), (5, 6), (0, 0), (66, 33), (67, 33), (68, 34), (10**9, 2),
        (LARGE, 1), (LARGE, LARGE - 1), (10**9, 500), (-1, 2), (5, -2), (62, 40)]),
    "perm": (lambda n, k: math.perm(n, k), [
        (5, 2), (5, 0), (5, 5), (5, 6), (20, 20), (21, 21), (10**6, 3), (10**6, 4), (-1, 2),
        (5, -2), (3, 10**9), (10**9, 100)]),
    "perm of one": (lambda n: math.perm(n), [(5,), (21,)]),
    "isqrt": (lambda n: math.isqrt(n), [
        (0,), (1,), (3,), (4,), (99,), (2**52 - 1,), (3037000499**2,), (3037000499**2 - 1,),
        (LARGE,), ((2**31) ** 2 - 1,), (94906267**2 - 1,), (-1,)]),
    "power of a remainder": (lambda b, e, m: pow(b, e, m), [
        (2, 10, 7), (0, 0, 5), (0, 0, 1), (-3, 5, 7), (3, 5, -7), (3, 0, -7), (5, 3, 0),
        (123456789, 10**18, 998244353), (LARGE - 1, LARGE, LARGE - 2), (10**18, 3, 10**18 + 9),
        (3, -1, 11), (-3, -5, 11), (4, -1, 8), (5, -1, 1), (2, -1, LARGE), (2, 5, -1)]),
    "rounded": (lambda n, d: round(n, d), [
        (12345, 2), (12345, -1), (12355, -1), (-12345, -1), (-12355, -1), (-17, -2), (50, -2),
        (150, -2), (LARGE, -18), (5 * 10**18, -19), (LARGE, -19), (LARGE, -20), (7, -25)]),
    "bits": (lambda n: n.bit_length() * 100 + n.bit_count(), [
        (0,), (1,), (-1,), (255,), (256,), (-255,), (LARGE,), (-LARGE,), (2**40,)]),
}  # fmt: skip


def outcome(f: Any, *args: Any) -> Any:
    try:
        found = f(*args)
    except (ValueError, OverflowError, TypeError) as error:
        words = error.args if not isinstance(error, OverflowError) else ()
        return type(error), words
    return int(found) if abs(int(found)) <= LARGE else (OverflowError, ())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_whole_numbers(name):
    f, rows = CASES[name]
    compiled = jit(f)
    for args in rows:
        assert outcome(compiled, *args) == outcome(f, *args), args


def test_bools_and_numpys_integers():
    for args in ((True, 6), (np.int32(12), np.uint8(18))):
        assert jit(lambda a, b: math.gcd(a, b))(*args) == math.gcd(*args)


def test_floats_are_refused_as_in_python():
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        jit(lambda x: math.gcd(x, 4))(8.0)


def fraction(a, b):
    total = 0.0
    for k in range(1, 40):
        total += math.gcd(a * k, b) / math.comb(k + 3, 3)
    return total


def safe(n, x):
    try:
        return x * math.factorial(n)
    except ValueError:
        return -1.0
    except OverflowError:
        return -2.0


def power(x, y):
    try:
        return math.pow(x, y)
    except ValueError:
        return -1.0
    except OverflowError:
        return -2.0


def rest(x, y):
    try:
        return math.fmod(x, y)
    except ValueError:
        return -1.0


def gamma(x):
    try:
        return math.gamma(x)
    except ValueError:
        return -1.0
    except OverflowError:
        return -2.0


def lgamma(x):
    try:
        return math.lgamma(x)
    except ValueError as error:
        return -1.0 if str(error) == "math domain error" else -3.0


def scaled(x, i):
    try:
        return math.ldexp(x, i)
    except OverflowError:
        return -2.0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("f", "rows"), [
    (gamma, [(3.5,), (-0.5,), (0.0,), (-2.0,), (200.0,), (-math.inf,), (math.inf,), (170.0,)]),
    (lgamma, [(3.5,), (-0.5,), (0.0,), (-2.0,), (200.0,), (-math.inf,), (math.inf,)]),
    (scaled, [(1.5, 3), (1.5, -1080), (0.75, 1024), (1.5, 1024), (0.0, 10**9), (-1.0, 10**9),
              (math.inf, 2000)]),
    (fraction, [(6, 4), (35, 14)]),
    (safe, [(5, 2.0), (-1, 2.0), (20, 2.0)]),
    (power, [(2.0, 3.0), (-2.0, 0.5), (0.0, -1.0), (10.0, 400.0), (-2.0, 3.0), (0.0, 0.0),
             (math.inf, 2.0), (-1.0, math.inf), (0.5, -math.inf), (-8.0, math.nan), (2, 10),
             (0.0, -math.inf), (-10.0, 401.0)]),
    (rest, [(5.0, 3.0), (5.0, 0.0), (math.inf, 3.0), (5.0, math.inf), (math.nan, 0.0)]),
])  # fmt: skip
def test_handled_around(f, rows):
    compiled = jit(f)
    for args in rows:
        np.testing.assert_allclose(
            float(compiled(*args)), float(f(*args)), rtol=1e-13, err_msg=str(args)
        )


FLOATS: dict[str, tuple[Any, list[tuple[Any, ...]]]] = {
    "rounded": (lambda x, n: round(x, n), [
        (2.675, 2), (2.675, 1), (2.5, 0), (-0.125, 2), (1234.5, -2), (1250.0, -2), (1e300, 3),
        (0.1, 22), (0.1, 30), (1e21, -30), (math.inf, 2), (-math.inf, -30), (5e-324, 1),
        (-0.04, 1), (2.0, 400)]),
    "mantissa": (lambda x: math.frexp(x)[0] + 4 * math.frexp(x)[1], [
        (3.0,), (-8.25,), (0.0,), (5e-324,), (1e308,), (math.inf,)]),
    "next": (lambda x, y: math.nextafter(x, y) - x, [(1.0, 2.0), (1.0, -2.0), (0.0, 1.0)]),
    "unit": (lambda x: math.ulp(x), [(1.0,), (-3e10,), (0.0,), (math.inf,), (5e-324,)]),
    "whole": (lambda x: x.is_integer(), [(1.0,), (0.5,), (math.inf,), (math.nan,), (-2.0,)]),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    f, rows = FLOATS[name]
    compiled = jit(f)
    for args in rows:
        np.testing.assert_equal(float(compiled(*args)), float(f(*args)), err_msg=str(args))


def test_derivatives():
    assert jit(grad(math.lgamma))(3.0) == pytest.approx(float(scipy.special.digamma(3.0)))
    assert jit(grad(lambda x: math.gamma(x)))(2.0) == pytest.approx(1 - np.euler_gamma)
    assert jit(grad(lambda x, n: math.ldexp(x, n)))(1.5, 3) == 8.0
    assert jit(grad(lambda x: math.frexp(x)[0]))(12.0) == 1 / 16
    assert jit(grad(lambda x, n: x + round(x, n)))(12.3, 1) == 1.0


def test_more_digits_than_are_exact_raise():
    with pytest.raises(OverflowError, match="more than 22 digits"):
        jit(lambda x, n: round(x, n))(1e-9, 30)


def test_methods_that_are_not_there():
    with pytest.raises(AttributeError, match="bit_length"):
        jit(lambda x: x.bit_length())(2.0)
    with pytest.raises(ConcreteValueError, match="may exceed 64 bits"):
        jit(lambda x: x.as_integer_ratio())(2.5)
    with pytest.raises(TypeError, match="not allowed unless all arguments are integers"):
        jit(lambda x: pow(x, 2, 5))(2.5)
