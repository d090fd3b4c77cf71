"""Arithmetic, comparison, logic and selection, element by element.

Kinks: ``abs`` and ``sign`` have derivative 0 at 0; ``maximum``/``minimum`` give
each operand half at a tie; ``select`` gives the branch not taken exactly 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.core.registry import declared
from autojit.ir.core.values import OPERATORS

from . import complex_kernels
from .elementwise import (
    ANY,
    BITS,
    FLOAT,
    INEXACT,
    NUMBER,
    ORDERED_NUMBER,
    REAL,
    Compare,
    Convert,
    Elementwise,
    IntegerPower,
    MakeComplex,
    RealPart,
    Select,
)


def _zero(like: Value) -> Value:
    return full(0, like.type)


# -- the four operations ------------------------------------------------------

add = Elementwise(
    "add", np.add, [lambda t, y, a, b: t, lambda t, y, a, b: t],
    answers=[np.add], kinds=ANY, commutative=True,
    complex_kernel=lambda k, a, b: (a.re + b.re, a.im + b.im),
)  # fmt: skip
sub = Elementwise(
    "sub", np.subtract, [lambda t, y, a, b: t, lambda t, y, a, b: -t],
    answers=[np.subtract], kinds=NUMBER,
    complex_kernel=lambda k, a, b: (a.re - b.re, a.im - b.im),
)  # fmt: skip
mul = Elementwise(
    "mul", np.multiply, [lambda t, y, a, b: t * b, lambda t, y, a, b: a * t],
    answers=[np.multiply], kinds=ANY, commutative=True,
    complex_kernel=lambda k, a, b: (a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re),
)  # fmt: skip


div = Elementwise(
    "div", np.true_divide, [lambda t, y, a, b: t / b, lambda t, y, a, b: -((t / b) * y)],
    answers=[np.true_divide], kinds=INEXACT, complex_kernel=complex_kernels.divide, cost=4,
    poles=True,
)  # fmt: skip
#: For complex numbers, for which NumPy's zeros and infinities differ from those of 1 / z.
reciprocal = Elementwise(
    "reciprocal", np.reciprocal, [lambda t, y, z: -(t * (y * y))], kinds="c",
    complex_kernel=complex_kernels.reciprocal, cost=4, poles=True,
)  # fmt: skip
neg = Elementwise(
    "neg", np.negative, [lambda t, y, x: -t], answers=[np.negative], kinds=NUMBER,
    complex_kernel=lambda k, x: (-x.re, -x.im),
)  # fmt: skip
floor_divide = Elementwise(
    "floor_divide", np.floor_divide, [None, None],
    answers=[np.floor_divide], kinds=ORDERED_NUMBER, cost=8,
)  # fmt: skip
remainder = Elementwise(
    "remainder", np.remainder,
    [lambda t, y, a, b: t, lambda t, y, a, b: -(t * floor_divide(a, b))],
    answers=[np.remainder], kinds=ORDERED_NUMBER, cost=8,
)  # fmt: skip
fmod = Elementwise(
    "fmod", np.fmod, [lambda t, y, a, b: t, lambda t, y, a, b: -(t * trunc(a / b))],
    answers=[np.fmod], kinds=ORDERED_NUMBER, cost=8,
)  # fmt: skip

# -- powers -------------------------------------------------------------------


def _power_base_rule(t: Value, y: Value, x: Value, p: Value) -> Value:
    # d/dx x**p = p x**(p-1), which is 0 for p = 0 even where x**(p-1) is infinite.
    trivial = eq(p, 0)
    lower = power(x, select(trivial, full(1, p.type), p - 1))
    return t * select(trivial, _zero(x), p * lower)


def _power_exponent_rule(t: Value, y: Value, x: Value, p: Value) -> Value:
    # d/dp x**p = x**p log x, taken as 0 at x = 0 where x**p is 0 or p is; it is -inf where p < 0.
    at_zero = bitwise_and(eq(x, 0), bitwise_or(eq(y, 0), eq(p, 0)))
    return t * select(at_zero, _zero(x), y * declared.log(select(at_zero, full(1, x.type), x)))


power = Elementwise(
    "power", np.power, [_power_base_rule, _power_exponent_rule],
    answers=[np.power], kinds=NUMBER,
    kernel=lambda k, x, p: k("pow", x, p), complex_kernel=complex_kernels.power, cost=30,
    fails="i", poles=True,
)  # fmt: skip


def _repeated_squaring(multiply: Any, one: Any, invert: Any, x: Any, exponent: int) -> Any:
    result, square, n = None, x, abs(exponent)
    while n:
        if n & 1:
            result = square if result is None else multiply(result, square)
        n >>= 1
        if n:
            square = multiply(square, square)
    result = one if result is None else result
    return invert(result) if exponent < 0 else result


def _integer_power_kernel(k: Any, x: Any, *, exponent: int) -> Any:
    one = k.like(1, x)
    return _repeated_squaring(lambda a, b: a * b, one, lambda a: one / a, x, exponent)


def _complex_integer_power(k: Any, x: Any, *, exponent: int) -> Any:
    def multiply(a: Any, b: Any) -> Any:
        return k.pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)

    def invert(a: Any) -> Any:
        zero = k("and", k("eq", x.re, 0.0), k("eq", x.im, 0.0))
        nan = k.like(float("nan"), x.re)
        parts = complex_kernels.divide(k, one, a)
        return k.pair(*(k("select", zero, nan, part) for part in parts))

    one = k.pair(k.like(1.0, x.re), k.like(0.0, x.re))
    return _repeated_squaring(multiply, one, invert, x, exponent)


def _integer_power_rule(t: Value, y: Value, x: Value, *, exponent: int) -> Value:
    if exponent == 0:
        return full(0, t.type)
    return t * (full(exponent, x.type) * integer_power(x, exponent=exponent - 1))


integer_power = IntegerPower(
    "integer_power", np.power, [_integer_power_rule], kinds=NUMBER, cost=4, fails="i",
    kernel=_integer_power_kernel, complex_kernel=_complex_integer_power,
)  # fmt: skip

# -- sign and rounding --------------------------------------------------------

sign = Elementwise(
    "sign", np.sign, [None], answers=[np.sign], kinds=ORDERED_NUMBER, cost=2,
    kernel=lambda k, x: k("sign", x),
)  # fmt: skip


def _magnitude_rule(t: Value, y: Value, z: Value) -> Value:
    return real(t * conj(z)) / select(eq(y, 0), full(1, y.type), y)


def _magnitude_adjoint(t: Value, y: Value, z: Value) -> Value:
    scaled = t / select(eq(y, 0), full(1, y.type), y)
    return make_complex(scaled, _zero(scaled)) * conj(z)


magnitude = RealPart(
    "magnitude", np.abs, [_magnitude_rule], adjoints=[_magnitude_adjoint], kinds="c",
    complex_kernel=lambda k, z: k("hypot", z.re, z.im), cost=10,
)  # fmt: skip
absolute = Elementwise(
    "abs", np.absolute, [lambda t, y, x: t * sign(x)],
    answers=[np.absolute, np.fabs], kinds="?" + ORDERED_NUMBER,
)  # fmt: skip
floor = Elementwise("floor", np.floor, [None], answers=[np.floor], kinds=FLOAT)
ceil = Elementwise("ceil", np.ceil, [None], answers=[np.ceil], kinds=FLOAT)
trunc: Elementwise = Elementwise("trunc", np.trunc, [None], answers=[np.trunc], kinds=FLOAT)
rint = Elementwise("rint", np.rint, [None], answers=[np.rint], kinds=FLOAT)
copysign: Elementwise = Elementwise(
    "copysign", np.copysign,
    [lambda t, y, a, b: t * (sign(a) * copysign(full(1, a.type), b)), None],
    answers=[np.copysign], kinds="f",
)  # fmt: skip

# -- order --------------------------------------------------------------------


def _share(wins: Value, ties: Value) -> Value:
    """1 where an operand wins, 1/2 where it ties, else 0, in the operand's dtype."""
    return select(ties, full(0.5, wins.type), wins)


def _extremum(name: str, numpy: Any, better: Any) -> Elementwise:
    def share(a: Value, b: Value) -> Value:
        one, zero = full(1, a.type), full(0, a.type)
        return _share(select(better(a, b), one, zero), eq(a, b))

    return Elementwise(
        name, numpy,
        [lambda t, y, a, b: t * share(a, b), lambda t, y, a, b: t * share(b, a)],
        answers=[numpy], kinds=REAL,
    )  # fmt: skip


maximum = _extremum("maximum", np.maximum, lambda a, b: gt(a, b))
minimum = _extremum("minimum", np.minimum, lambda a, b: lt(a, b))
fmax = _extremum("fmax", np.fmax, lambda a, b: logical_or(gt(a, b), ne(b, b)))
fmin = _extremum("fmin", np.fmin, lambda a, b: logical_or(lt(a, b), ne(b, b)))

eq: Compare = Compare(
    "eq", np.equal, [None, None], answers=[np.equal], commutative=True,
    complex_kernel=lambda k, a, b: k("and", k("eq", a.re, b.re), k("eq", a.im, b.im)),
)  # fmt: skip
ne: Compare = Compare(
    "ne", np.not_equal, [None, None], answers=[np.not_equal], commutative=True,
    complex_kernel=lambda k, a, b: k("or", k("ne", a.re, b.re), k("ne", a.im, b.im)),
)  # fmt: skip
lt: Compare = Compare("lt", np.less, [None, None], answers=[np.less], kinds=REAL)
le = Compare("le", np.less_equal, [None, None], answers=[np.less_equal], kinds=REAL)
gt: Compare = Compare("gt", np.greater, [None, None], answers=[np.greater], kinds=REAL)
ge = Compare("ge", np.greater_equal, [None, None], answers=[np.greater_equal], kinds=REAL)

isnan = Compare(
    "isnan", np.isnan, [None], answers=[np.isnan], kinds=INEXACT,
    kernel=lambda k, x: k("ne", x, x),
    complex_kernel=lambda k, z: k("or", k("ne", z.re, z.re), k("ne", z.im, z.im)),
)  # fmt: skip


def _is_infinite(k: Any, x: Any) -> Any:
    return k("eq", k("abs", x), float("inf"))


def _is_finite(k: Any, x: Any) -> Any:
    return k("lt", k("abs", x), float("inf"))


isinf = Compare(
    "isinf", np.isinf, [None], answers=[np.isinf], kinds=INEXACT, kernel=_is_infinite,
    complex_kernel=lambda k, z: k("or", _is_infinite(k, z.re), _is_infinite(k, z.im)),
)  # fmt: skip
isfinite = Compare(
    "isfinite", np.isfinite, [None], answers=[np.isfinite], kinds=INEXACT, kernel=_is_finite,
    complex_kernel=lambda k, z: k("and", _is_finite(k, z.re), _is_finite(k, z.im)),
)  # fmt: skip
signbit = Compare("signbit", np.signbit, [None], answers=[np.signbit], kinds="f",
                  kernel=lambda k, x: k("lt", k("copysign", k.like(1.0, x), x), 0.0))  # fmt: skip

# -- bits and logic -----------------------------------------------------------


def _bitwise(name: str, numpy: Any) -> Elementwise:
    return Elementwise(name, numpy, [None, None], answers=[numpy], kinds=BITS, commutative=True)


bitwise_and = _bitwise("and", np.bitwise_and)
bitwise_or = _bitwise("or", np.bitwise_or)
bitwise_xor = _bitwise("xor", np.bitwise_xor)
bitwise_not = Elementwise("not", np.invert, [None], answers=[np.invert], kinds=BITS)
shift_left = Elementwise(
    "shift_left", np.left_shift, [None, None], answers=[np.left_shift], kinds="iu"
)
shift_right = Elementwise(
    "shift_right", np.right_shift, [None, None], answers=[np.right_shift], kinds="iu"
)


def truth(x: Value) -> Value:
    """Whether an element is true, as Python sees it."""
    return x if x.dtype.kind == "b" else ne(x, 0)


def logical_or(a: Value, b: Value) -> Value:
    return bitwise_or(truth(a), truth(b))


# -- choice and conversion ----------------------------------------------------

select: Select = Select(
    "select", np.where,
    [
        None,
        lambda t, y, c, a, b: select(c, t, _zero(t)),
        lambda t, y, c, a, b: select(c, _zero(t), t),
    ],
    complex_kernel=lambda k, c, a, b: (k("select", c, a.re, b.re), k("select", c, a.im, b.im)),
)  # fmt: skip

real: RealPart = RealPart(
    "real", np.real, [lambda t, y, z: real(t)],
    adjoints=[lambda t, y, z: make_complex(t, _zero(t))],
    kinds="c", complex_kernel=lambda k, z: z.re,
)  # fmt: skip
imag: RealPart = RealPart(
    "imag", np.imag, [lambda t, y, z: imag(t)],
    adjoints=[lambda t, y, z: make_complex(_zero(t), -t)],
    kinds="c", complex_kernel=lambda k, z: z.im,
)  # fmt: skip
conj: Elementwise = Elementwise(
    "conj", np.conjugate, [lambda t, y, z: conj(t)], answers=[np.conjugate], kinds="c",
    complex_kernel=lambda k, z: (z.re, -z.im),
)  # fmt: skip


def _make_complex(re: Any, im: Any) -> Any:
    # Set the parts separately: in re + 1j * im, an infinite part would make the other one NaN.
    result = np.empty(np.shape(re), np.result_type(re, np.complex64))
    result.real, result.imag = re, im
    return result


def _like(x: Value, part: Value) -> Value:
    """A part in the dtype of an operand, which may be narrower than the dtype of parts."""
    return part if part.dtype == x.dtype else convert(part, dtype=x.dtype)


make_complex: MakeComplex = MakeComplex(
    "complex", _make_complex,
    [lambda t, y, a, b: make_complex(t, _zero(t)), lambda t, y, a, b: make_complex(_zero(t), t)],
    adjoints=[lambda t, y, a, b: _like(a, real(t)), lambda t, y, a, b: _like(b, -imag(t))],
    kinds="f", kernel=lambda k, a, b: k.pair(a, b),
)  # fmt: skip


def _convert_rule(t: Value, y: Value, x: Value, *, dtype: np.dtype) -> Value:
    return convert(t, dtype=y.dtype)


def _convert_adjoint(t: Value, y: Value, x: Value, *, dtype: np.dtype) -> Value:
    return convert(t, dtype=x.dtype)


convert: Convert = Convert("convert", np.asarray, [_convert_rule], adjoints=[_convert_adjoint])


#: The identity with derivative 0.
stop_gradient = Elementwise(
    "stop_gradient",
    np.array,
    [None],
    kernel=lambda k, x: x,
    complex_kernel=lambda k, z: (z.re, z.im),
)


OPERATORS.update(add=add, sub=sub, mul=mul, div=div, neg=neg)
