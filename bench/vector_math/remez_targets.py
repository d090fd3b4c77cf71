"""The targets for `remez.py`: function, weight, interval and degree of each polynomial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf  # type: ignore[import-untyped]

HALF_LN2 = mp.log(2) / 2 * mpf("1.0001")
"""Rounding can take reduced arguments past the end; the intervals are a ten-thousandth wider."""


@dataclass(frozen=True)
class Target:
    function: Callable[[mpf], mpf]
    weight: Callable[[mpf], mpf]
    low: mpf
    high: mpf
    degrees: dict[int, int]
    """The degree for each width."""


def tail(function: Callable[[mpf], mpf], *head: float | str) -> Callable[[mpf], mpf]:
    """(function(x) - head[0] - head[1] x - ...) / x**len(head), safe near zero."""

    def value(x: mpf) -> mpf:
        if abs(x) < mpf(10) ** -9:
            x = mpf(10) ** -9
        with mp.workdps(160):
            powers = sum(mpf(c) * x**k for k, c in enumerate(head))
            return (function(x) - powers) / x ** len(head)

    return value


def in_square(odd: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """odd(s) / s as a function of z = s * s."""

    def value(z: mpf) -> mpf:
        s = mp.sqrt(max(z, mpf(10) ** -40))
        return odd(s) / s

    return value


def sinc(z: mpf) -> mpf:
    return in_square(mp.sin)(z)


def scaled_erfcx(t: mpf) -> mpf:
    a = (mpf("1.75") + 3 * t) / (1 - t)
    return mp.exp(a * a) * mp.erfc(a) * (a + mpf("0.5"))


TARGETS = {
    # exp(r) = 1 + r + r**2 P(r), with the relative error of expm1(r) = r + r**2 P(r)
    "exp": Target(tail(mp.expm1, 0, 1), lambda r: abs(r), -HALF_LN2, HALF_LN2, {64: 10, 32: 4}),
    # 2**r = 1 + r P(r)
    "exp2": Target(
        tail(lambda r: mpf(2) ** r, 1),
        lambda r: abs(r) / mpf(2) ** r,
        mpf("-0.50001"),
        mpf("0.50001"),
        {64: 11, 32: 6},
    ),
    # log(1 + f) = 2 atanh(s) = 2 s + s z P(z), s = f / (2 + f), z = s * s
    "log": Target(
        tail(in_square(lambda s: 2 * mp.atanh(s)), 2),
        lambda z: z / 2,
        mpf(0),
        mpf("0.02945"),
        {64: 6, 32: 2},
    ),
    # the same with s z (2/3 + P(z)), where 2/3 is rounded to double: P[0] corrects this rounding
    "log_double_word": Target(
        tail(lambda z: in_square(lambda s: 2 * mp.atanh(s))(z) - z * mpf(2 / 3), 2),
        lambda z: z / 2,
        mpf(0),
        mpf("0.02945"),
        {64: 7},
    ),
    # sin(r) = r + r z P(z) and cos(r) = 1 - z/2 + z**2 P(z), |r| <= pi/4, z = r * r
    "sin": Target(tail(sinc, 1), lambda z: z / sinc(z), mpf(0), mpf("0.617"), {64: 5, 32: 2}),
    "cos": Target(
        tail(lambda z: mp.cos(mp.sqrt(z)), 1, "-0.5"),
        lambda z: z**2 / mp.cos(mp.sqrt(z)),
        mpf(0),
        mpf("0.617"),
        {64: 5, 32: 2},
    ),
    # atan(t) = t + t z P(z), |t| <= tan(pi/8)
    "atan": Target(
        tail(in_square(mp.atan), 1), lambda z: z, mpf(0), mpf("0.1716"), {64: 10, 32: 4}
    ),
    # asin(s) = s + s z P(z), |s| <= 1/2
    "asin": Target(tail(in_square(mp.asin), 1), lambda z: z, mpf(0), mpf("0.25"), {64: 12, 32: 4}),
    # erf(x) = x + x P(z), |x| <= 1, z = x * x
    "erf": Target(
        lambda z: in_square(mp.erf)(z) - 1,
        lambda z: 1 / in_square(mp.erf)(z),
        mpf(0),
        mpf("1.0001"),
        {64: 11, 32: 6},
    ),
    # erf(x) = 1 - exp(-P(x - 1)), x >= 1; the weight is an error of erf
    "erf_tail": Target(
        lambda u: -mp.log(mp.erfc(1 + u)),
        lambda u: mp.erfc(1 + u),
        mpf(0),
        mpf("4.95"),
        {64: 17},
    ),
    "erf_tail_float": Target(
        lambda u: -mp.log(mp.erfc(1 + u)),
        lambda u: mp.erfc(1 + u),
        mpf(0),
        mpf("2.95"),
        {32: 5},
    ),
    # erfc(a) = exp(-a * a) P(t) / (a + 1/2), 0.8 <= a <= 27.4, t = (a - 7/4) / (a + 3)
    "erfc": Target(
        scaled_erfcx, lambda t: 1 / scaled_erfcx(t), mpf("-0.2501"), mpf("0.844"), {64: 20}
    ),
    "erfc_float": Target(
        scaled_erfcx, lambda t: 1 / scaled_erfcx(t), mpf("-0.2501"), mpf("0.643"), {32: 9}
    ),
    # a first guess at the cube root of m, completed by a series
    "cbrt": Target(mp.cbrt, lambda m: 1 / mp.cbrt(m), mpf("0.7071"), mpf("1.4143"), {64: 5, 32: 2}),
}
