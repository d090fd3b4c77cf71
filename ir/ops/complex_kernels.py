"""Complex arithmetic and elementary functions in real parts, for the code generator.

At infinities, NaN and zeros they are what NumPy's are: its own formulas of division, reciprocals
and powers, and annex G of the C standard for the elementary functions.  ``k`` is the vocabulary
of the backends; complex scalars are pairs with ``re`` and ``im``.
"""

from __future__ import annotations

import math
from typing import Any

_LOG_2 = 0.6931471805599453
_INFINITE = float("inf")
_PI = math.pi
_LN2, _LN10 = math.log(2.0), math.log(10.0)


def _is_finite(k: Any, x: Any) -> Any:
    return k("lt", k("abs", x), _INFINITE)


def _is_infinite(k: Any, x: Any) -> Any:
    return k("eq", k("abs", x), _INFINITE)


def _is_double(x: Any) -> bool:
    return bool(x.dtype == "f64")


# -- division -----------------------------------------------------------------


def divide(k: Any, a: Any, b: Any) -> Any:
    # Smith's method, both cases computed and one selected. By 0, each part is divided by it.
    first = k("ge", k("abs", b.re), k("abs", b.im))
    big, small = k("select", first, b.re, b.im), k("select", first, b.im, b.re)
    zero = k("and", k("eq", big, 0.0), k("eq", small, 0.0))
    ratio = small / big
    scale = k.like(1.0, big) / k("select", zero, k("abs", big), big + small * ratio)
    re = k("select", first, a.re + a.im * ratio, a.re * ratio + a.im)
    im = k("select", first, a.im - a.re * ratio, a.im * ratio - a.re)
    return k("select", zero, a.re, re) * scale, k("select", zero, a.im, im) * scale


def reciprocal(k: Any, z: Any) -> Any:
    first = k("le", k("abs", z.im), k("abs", z.re))
    big, small = k("select", first, z.re, z.im), k("select", first, z.im, z.re)
    ratio = small / big
    scale = big + small * ratio
    one = k.like(1.0, big)
    return k("select", first, one, ratio) / scale, -(k("select", first, ratio, one) / scale)


# -- powers -------------------------------------------------------------------


def power(k: Any, x: Any, p: Any) -> Any:
    # x**p = exp(p log x); x**0 is 1, x**1 is x, 0**p is 0 where Re p > 0 and otherwise NaN.
    modulus, angle = log(k, x)
    exponent = k.pair(p.re * modulus - p.im * angle, p.im * modulus + p.re * angle)
    re, im = exp(k, exponent)
    zero, one, nan = (k.like(v, x.re) for v in (0.0, 1.0, float("nan")))
    zero_base = k("and", k("eq", x.re, 0.0), k("eq", x.im, 0.0))
    vanishes = k("select", k("gt", p.re, 0.0), zero, nan)
    zero_power = k("and", k("eq", p.re, 0.0), k("eq", p.im, 0.0))
    re, im = (k("select", zero_base, vanishes, part) for part in (re, im))
    first_power = k("and", k("eq", p.re, 1.0), k("eq", p.im, 0.0))
    re, im = (k("select", first_power, of_x, part) for of_x, part in ((x.re, re), (x.im, im)))
    return k("select", zero_power, one, re), k("select", zero_power, zero, im)


# -- elementary functions -------------------------------------------------------


def exp(k: Any, z: Any) -> Any:
    # In two factors where exp(Re z) alone is too large.
    large = k("gt", z.re, 709.0 if _is_double(z.re) else 88.0)
    scale = k("exp", k("select", large, z.re * k.like(0.5, z.re), z.re))
    more = k("select", large, scale, k.like(1.0, scale))
    wild = k("not", _is_finite(k, z.im))
    limit = k("and", wild, _is_infinite(k, z.re))
    vanishes = k("and", wild, k("eq", z.re, -_INFINITE))
    re = k("select", limit, scale, scale * k("cos", z.im) * more)
    im = scale * k("sin", z.im) * more
    at_zero = k("or", k("eq", z.im, 0.0), vanishes)
    return re, k("select", at_zero, k("copysign", k.like(0.0, im), z.im), im)


def log(k: Any, z: Any) -> Any:
    # Of half of z where the modulus would overflow.
    largest = k("maximum", k("abs", z.re), k("abs", z.im))
    huge = k("gt", largest, 2.0**1022 if _is_double(largest) else 2.0**126)
    scale = k("select", huge, k.like(0.5, largest), k.like(1.0, largest))
    more = k("select", huge, k.like(_LOG_2, largest), k.like(0.0, largest))
    return k("log", k("hypot", z.re * scale, z.im * scale)) + more, k("atan2", z.im, z.re)


def sqrt(k: Any, z: Any) -> Any:
    # The half-angle formulas without cancellation: the larger part by a sum, the other by
    # 2ab = Im z. Scaled by a power of 4 where the modulus would overflow or lose digits.
    a, b = k("abs", z.re), k("abs", z.im)
    largest = k("maximum", a, b)
    huge = k("gt", largest, 2.0**1020 if _is_double(a) else 2.0**124)
    tiny = k("lt", largest, 2.0**-960 if _is_double(a) else 2.0**-90)

    def scaled(down: float, up: float) -> Any:
        rest = k("select", tiny, k.like(up, a), k.like(1.0, a))
        return k("select", huge, k.like(down, a), rest)

    factor, back = scaled(2.0**-4, 2.0**64), scaled(2.0**2, 2.0**-32)
    a, b = a * factor, b * factor
    large = k("sqrt", (k("hypot", a, b) + a) * k.like(0.5, a))
    zero = k("eq", large, 0.0)
    small = b / (k("select", zero, k.like(1.0, a), large) * k.like(2.0, a))
    right = k("ge", z.re, 0.0)
    re, im = k("select", right, large, small) * back, k("select", right, small, large) * back
    upright = _is_infinite(k, z.im)
    infinite = k.like(_INFINITE, a)
    re, im = (k("select", upright, infinite, part) for part in (re, im))
    return re, k("copysign", im, z.im)


def _hyperbolic(k: Any, z: Any) -> tuple[Any, Any, Any]:
    """sinh Re z and cosh Re z but for a factor, without overflow; and that factor."""
    large = k("gt", k("abs", z.re), 709.0 if _is_double(z.re) else 88.0)
    x = k("select", large, z.re * k.like(0.5, z.re), z.re)
    s, c = k("sinh", x), k("cosh", x)
    return s, c, k("select", large, c + c, k.like(1.0, c))


def sinh(k: Any, z: Any) -> Any:
    s, c, more = _hyperbolic(k, z)
    re, im = s * k("cos", z.im) * more, c * k("sin", z.im) * more
    wild = k("not", _is_finite(k, z.im))
    re = k("select", k("and", wild, k("eq", z.re, 0.0)), z.re, re)
    re = k("select", k("and", wild, _is_infinite(k, z.re)), k("abs", z.re), re)
    return re, k("select", k("eq", z.im, 0.0), z.im, im)


def cosh(k: Any, z: Any) -> Any:
    s, c, more = _hyperbolic(k, z)
    re, im = c * k("cos", z.im) * more, s * k("sin", z.im) * more
    wild = k("not", _is_finite(k, z.im))
    re = k("select", k("and", wild, _is_infinite(k, z.re)), k("abs", z.re), re)
    one, zero = k.like(1.0, im), k.like(0.0, im)
    sign = k("select", k("eq", z.re, z.re), k("copysign", one, z.re), one)
    im = k("select", k("eq", z.im, 0.0), sign * z.im, im)
    return re, k("select", k("and", wild, k("eq", z.re, 0.0)), zero, im)


def tanh(k: Any, z: Any) -> Any:
    # In terms of t = tanh Re z and u = tan Im z: no overflow for large Re z.
    # 1 - t*t from an exponential, because the difference would cancel.
    t, u = k("tanh", z.re), k("tan", z.im)
    one = k.like(1.0, z.re)
    e = k("exp", k("abs", z.re) * k.like(-2.0, z.re))
    rest = k.like(4.0, e) * e / ((one + e) * (one + e))
    scale = one + (t * u) * (t * u)
    re, im = t * (one + u * u) / scale, u * rest / scale
    wild = k("not", _is_finite(k, z.im))
    infinite = _is_infinite(k, z.re)
    re = k("select", k("and", wild, k("eq", z.re, 0.0)), z.re, re)
    re = k("select", infinite, t, re)
    zero = k("or", k("eq", z.im, 0.0), k("and", wild, infinite))
    return re, k("select", zero, k("copysign", k.like(0.0, im), z.im), im)


def sin(k: Any, z: Any) -> Any:
    re, im = sinh(k, k.pair(-z.im, z.re))
    limit = k("and", k("not", _is_finite(k, z.re)), _is_infinite(k, z.im))
    return im, k("select", limit, re, -re)


def cos(k: Any, z: Any) -> Any:
    return cosh(k, k.pair(-z.im, z.re))


def tan(k: Any, z: Any) -> Any:
    re, im = tanh(k, k.pair(-z.im, z.re))
    return im, -re


# -- logarithms beside log, and inverses ------------------------------------------


def exp2(k: Any, z: Any) -> Any:
    factor = k.like(_LN2, z.re)
    return exp(k, k.pair(z.re * factor, z.im * factor))


def expm1(k: Any, z: Any) -> Any:
    half = k("sin", z.im * k.like(0.5, z.im))
    re = k("expm1", z.re) * k("cos", z.im) - k.like(2.0, half) * half * half
    return re, k("exp", z.re) * k("sin", z.im)


def log1p(k: Any, z: Any) -> Any:
    return log(k, k.pair(z.re + k.like(1.0, z.re), z.im))


def log2(k: Any, z: Any) -> Any:
    re, im = log(k, z)
    return re * k.like(1 / _LN2, re), im * k.like(1 / _LN2, im)


def log10(k: Any, z: Any) -> Any:
    re, im = log(k, z)
    return re * k.like(1 / _LN10, re), im * k.like(1 / _LN10, im)


def _roots(k: Any, z: Any, *, from_one: bool) -> tuple[Any, Any]:
    """sqrt(1 - z), or sqrt(z - 1), and sqrt(1 + z), as pairs."""
    one = k.like(1.0, z.re)
    low = k.pair(one - z.re, -z.im) if from_one else k.pair(z.re - one, z.im)
    return k.pair(*sqrt(k, low)), k.pair(*sqrt(k, k.pair(one + z.re, z.im)))


def _is_far(k: Any, z: Any) -> Any:
    return k("or", _is_infinite(k, z.re), _is_infinite(k, z.im))


def arcsin(k: Any, z: Any) -> Any:
    # W. Kahan, Branch cuts for complex elementary functions (1987).
    a, b = _roots(k, z, from_one=True)
    re = k("atan2", z.re, a.re * b.re - a.im * b.im)
    im = k("asinh", a.re * b.im - a.im * b.re)
    far, infinite = _is_far(k, z), k.like(_INFINITE, im)
    re = k("select", far, k("atan2", z.re, k("abs", z.im)), re)
    re = k("select", k("eq", z.re, 0.0), z.re, re)
    return re, k("copysign", k("select", far, infinite, im), z.im)


def arccos(k: Any, z: Any) -> Any:
    a, b = _roots(k, z, from_one=True)
    re = k("atan2", a.re, b.re)
    im = k("asinh", b.re * a.im - b.im * a.re)
    far, infinite = _is_far(k, z), k.like(_INFINITE, im)
    re = k("select", far, k("atan2", k("abs", z.im), z.re), re + re)
    re = k("select", k("eq", z.re, 0.0), k.like(_PI / 2, re), re)
    return re, k("copysign", k("select", far, infinite, im), -z.im)


def arccosh(k: Any, z: Any) -> Any:
    a, b = _roots(k, z, from_one=False)
    re = k("asinh", a.re * b.re + a.im * b.im)
    im = k("atan2", a.im, b.re)
    far, infinite = _is_far(k, z), k.like(_INFINITE, re)
    re = k("select", far, infinite, re)
    im = k("select", far, k("atan2", z.im, z.re), im + im)
    upright = k("and", k("eq", z.re, 0.0), k("ne", z.im, z.im))
    return re, k("select", upright, k.like(_PI / 2, im), im)


def arctanh(k: Any, z: Any) -> Any:
    # Half the difference of log(1 + z) and log(1 - z), in real parts.
    one, two, four = (k.like(v, z.re) for v in (1.0, 2.0, 4.0))
    x, y = k("abs", z.re), z.im
    rest = (one - x) * (one - x) + y * y
    re = k("log1p", four * x / rest) / four
    im = k("atan2", two * y, (one - x) * (one + x) - y * y) / two
    most = 1e150 if _is_double(x) else 1e18
    far = k("or", _is_far(k, z), k("gt", x + k("abs", y), most))
    re = k("select", k("or", far, k("eq", x, 0.0)), k.like(0.0, re), re)
    quarter = k("copysign", k.like(_PI / 2, im), y)
    quarter = k("select", k("eq", y, y), quarter, y)
    return k("copysign", re, z.re), k("select", far, quarter, im)


def arcsinh(k: Any, z: Any) -> Any:
    re, im = arcsin(k, k.pair(-z.im, z.re))
    return im, -re


def arctan(k: Any, z: Any) -> Any:
    re, im = arctanh(k, k.pair(-z.im, z.re))
    return im, -re
