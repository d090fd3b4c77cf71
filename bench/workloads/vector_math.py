"""Branch-free `exp`, `log`, normal cdf, sine and cosine for hand-written Numba loops.

Numba calls libm for these, one element at a time. Written as arithmetic, they are inlined and
vectorised like the rest of the loop, as in a hand-tuned loop. They are accurate to a few ulp for
ordinary arguments; NaN, subnormal numbers and overflow are not handled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workload import Function

# Hart's rational approximation of the normal cdf (Computer Approximations, 1968, 5666), as given
# by G. West, "Better approximations to cumulative normal functions", Wilmott, 2005.
_TOP = (
    220.206867912376,
    221.213596169931,
    112.079291497871,
    33.912866078383,
    6.37396220353165,
    0.700383064443688,
    3.52624965998911e-02,
)
_BOTTOM = (
    440.413735824752,
    793.826512519948,
    637.333633378831,
    296.564248779674,
    86.7807322029461,
    16.064177579207,
    1.75566716318264,
    8.83883476483184e-02,
)

_EXP_TERMS = tuple(1.0 / math.factorial(n) for n in range(14))
_LOG_TERMS = tuple(2.0 / (2 * n + 1) for n in range(11))
_SINE_TERMS = tuple((-1.0) ** n / math.factorial(2 * n + 1) for n in range(9))
_COSINE_TERMS = tuple((-1.0) ** n / math.factorial(2 * n) for n in range(10))
_LOG2_E = math.log2(math.e)
# ln 2 in two parts: products of the first part with a small integer are exact.
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
# pi / 2 in three parts.
_QUARTERS = 2.0 / math.pi
_HALF_PI_HIGH = float.fromhex("0x1.921fb54400000p+0")
_HALF_PI_MIDDLE = float.fromhex("0x1.0b4611a600000p-34")
_HALF_PI_LOW = float.fromhex("0x1.3198a2e037073p-69")
_ROUNDER = 1.5 * 2.0**52  # adding it rounds to an integer, which is then in the low bits
_ONE_BITS = 1023 << 52
_SQRT_HALF_BITS = int(np.float64(math.sqrt(0.5)).view(np.int64))
_EXPONENT_MASK = -1 << 52

# The error function after M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions",
# 7.1.26, with an error of 1.5e-7, about the precision of a float32 near one.
_ERF_STEP = np.float32(0.3275911 * math.sqrt(0.5))
_ERF_TERMS = (0.0, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_LOG2_E_32 = np.float32(_LOG2_E)
_LN2_HIGH_32, _LN2_LOW_32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUNDER_32 = np.float32(1.5 * 2.0**23)
_ONE_32, _HALF_32, _LOWEST_32 = np.float32(1.0), np.float32(0.5), np.float32(-87.0)
_ONE_BITS_32 = 127 << 23


def _horner(numba: Any, coefficients: tuple[float, ...], dtype: str = "float64") -> Function:
    """A polynomial with its coefficients written out; Numba unrolls no loop over a tuple."""
    namespace: dict[str, Any] = {
        f"c{n}": np.dtype(dtype).type(coefficient) for n, coefficient in enumerate(coefficients)
    }
    expression = f"c{len(coefficients) - 1}"
    for n in reversed(range(len(coefficients) - 1)):
        expression = f"({expression} * x + c{n})"
    exec(f"def polynomial(x):\n    return {expression}\n", namespace)
    return numba.njit(fastmath={"contract"})(namespace["polynomial"])


def vector_math(numba: Any) -> tuple[Function, Function, Function]:
    """`exp(x)`, `log(x)` and `cdf(x, exp(-x * x / 2))` of a float64."""
    njit = numba.njit(fastmath={"contract"}, error_model="numpy")
    exp_polynomial = _horner(numba, _EXP_TERMS)
    log_polynomial = _horner(numba, _LOG_TERMS)
    top, bottom = _horner(numba, _TOP), _horner(numba, _BOTTOM)

    @njit
    def exp(x):
        shifted = x * _LOG2_E + _ROUNDER
        power = shifted - _ROUNDER
        remainder = (x - power * _LN2_HIGH) - power * _LN2_LOW
        bits = (np.float64(shifted).view(np.int64) << 52) + _ONE_BITS
        return exp_polynomial(remainder) * np.int64(bits).view(np.float64)

    @njit
    def log(x):
        bits = np.float64(x).view(np.int64)
        offset = bits - _SQRT_HALF_BITS
        power = np.float64(offset >> 52)
        mantissa = np.int64(bits - (offset & _EXPONENT_MASK)).view(np.float64)
        s = (mantissa - 1.0) / (mantissa + 1.0)
        return power * _LN2_HIGH + (s * log_polynomial(s * s) + power * _LN2_LOW)

    @njit
    def cdf(x, bell):
        distance = abs(x)
        upper = bell * top(distance) / bottom(distance)
        return 1.0 - upper if x > 0.0 else upper

    return exp, log, cdf


def vector_math_32(numba: Any) -> tuple[Function, Function]:
    """`exp(x)` and `cdf(x, exp(-x * x / 2))` of a float32; below -87 the first is 1.6e-38."""
    njit = numba.njit(fastmath={"contract"}, error_model="numpy")
    exp_polynomial = _horner(numba, _EXP_TERMS[:8], "float32")
    erf_polynomial = _horner(numba, _ERF_TERMS, "float32")

    @njit
    def exp(x):
        x = max(x, _LOWEST_32)
        shifted = x * _LOG2_E_32 + _ROUNDER_32
        power = shifted - _ROUNDER_32
        remainder = (x - power * _LN2_HIGH_32) - power * _LN2_LOW_32
        bits = (np.float32(shifted).view(np.int32) << 23) + _ONE_BITS_32
        return exp_polynomial(remainder) * np.int32(bits).view(np.float32)

    @njit
    def cdf(x, bell):
        step = _ONE_32 / (_ONE_32 + _ERF_STEP * abs(x))
        upper = _HALF_32 * bell * erf_polynomial(step)
        return _ONE_32 - upper if x > 0 else upper

    return exp, cdf


def largest_of_row(numba: Any) -> Function:
    """The maximum of a row whose length is a multiple of eight.

    Eight running maxima form one vector; a single one would be a chain of scalar operations.
    """

    @numba.njit(fastmath={"contract"})
    def largest(row):
        a = b = c = d = e = f = g = h = row[0]
        for j in range(0, row.size, 8):
            a, b = max(a, row[j]), max(b, row[j + 1])
            c, d = max(c, row[j + 2]), max(d, row[j + 3])
            e, f = max(e, row[j + 4]), max(f, row[j + 5])
            g, h = max(g, row[j + 6]), max(h, row[j + 7])
        return max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))

    return largest


def sine_cosine(numba: Any) -> Function:
    """`both(x)`: sine and cosine of a float64, for arguments up to a few thousand."""
    sine_of, cosine_of = _horner(numba, _SINE_TERMS), _horner(numba, _COSINE_TERMS)

    @numba.njit(fastmath={"contract"})
    def both(x):
        shifted = x * _QUARTERS + _ROUNDER
        turns = shifted - _ROUNDER
        r = ((x - turns * _HALF_PI_HIGH) - turns * _HALF_PI_MIDDLE) - turns * _HALF_PI_LOW
        square = r * r
        sine, cosine = r * sine_of(square), cosine_of(square)
        quarter = np.float64(shifted).view(np.int64)
        odd, late, lost = quarter & 1, quarter & 2, (quarter + 1) & 2
        first, second = (cosine, sine) if odd else (sine, cosine)
        return (-first if late else first), (-second if lost else second)

    return both
