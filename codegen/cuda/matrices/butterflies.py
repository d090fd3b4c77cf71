"""Fourier transforms of a few numbers in registers, and the passes of longer transforms.

In a pass of radix r, each thread reads r numbers, multiplies them by twiddle factors, transforms
them, and writes them to the places where the next pass reads neighbours.  This is the self-sorting
algorithm of Stockham in the form of Govindaraju et al. ("High Performance Discrete Fourier
Transforms on Graphics Processors", 2008, figure 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, pi, sin

from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine

from .builder import Array, Code, Number

#: The largest prime whose transform is written out.
LARGEST = 13
#: Radices by preference.  Powers of two use passes of 8: in float32, 16 numbers and 16 products
#: with twiddle factors fit without spills into the registers that a thread has on a full processor
#: (64 of 32 bits).
_RADICES = (8, 4, 2, 3, 5, 7, 11, 13)


def radices_of(n: int) -> tuple[int, ...] | None:
    """The radices of the passes of a transform; None if a prime factor is too large.

    >>> radices_of(1024), radices_of(30), radices_of(34)
    ((8, 8, 8, 2), (2, 3, 5), None)
    """
    found = []
    for radix in _RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 else None


def root(code: Code, number: Scalar, period: int, dtype: str) -> Number:
    """``exp(-2πi number/period)`` for a number from 0 to the period.

    The angle is measured from the nearest multiple of a quarter turn, so only one rounding affects
    it.
    """
    one = code.constant(period, "i64")
    eighths = code.compute("mul", code.constant(8, "i64"), number)
    eighths = code.compute("add", eighths, one)
    two = code.constant(2 * period, "i64")
    quarter = code.compute("floor_divide", eighths, two)
    rest = code.compute("sub", eighths, code.compute("mul", quarter, two))
    angle = code.compute("convert", code.compute("sub", rest, one), dtype="f64")
    angle = code.compute("mul", angle, code.constant(pi / (4 * period), "f64"))
    cosine, sine = code.compute("cos", angle), code.compute("sin", angle)
    is_odd = code.compare("eq", code.compute("and", quarter, code.constant(1, "i64")),
                          code.constant(1, "i64"))  # fmt: skip
    sum_of_bits = code.compute("add", quarter, code.constant(1, "i64"))
    turned = [code.compute("and", x, code.constant(2, "i64")) for x in (sum_of_bits, quarter)]
    zero = code.constant(0, "i64")
    pairs = zip(((cosine, sine), (sine, cosine)), turned, strict=True)
    parts = []
    for (even, odd), turn in pairs:
        x = code.compute("select", is_odd, odd, even)
        negative = code.compare("ne", turn, zero)
        parts.append(code.compute("select", negative, code.compute("neg", x), x))
    real, imaginary = parts[0], code.compute("neg", parts[1])
    if dtype != "f64":
        real, imaginary = (code.compute("convert", x, dtype=dtype) for x in (real, imaginary))
    return real, imaginary


def turns(code: Code, n: int, dtype: str) -> Array:
    """A table of ``exp(-2πi k/n)``."""
    table = code.workspace(dtype, 2, n)
    with code.loop(n) as k:
        code.store(table, (k,), root(code, code.number(k), n, dtype))
    return table


def transformed(code: Code, x: Sequence[Number], sign: int) -> list[Number]:
    """The transform of a few numbers, ``exp(sign 2πi jk/n)``."""
    n = len(x)
    if n == 1:
        return list(x)
    if n % 2:
        return _odd(code, x, sign)
    half = n // 2
    even, odd = (transformed(code, x[k::2], sign) for k in (0, 1))
    odd = [_turned(code, value, k, n, sign) for k, value in enumerate(odd)]
    pairs = list(zip(even, odd, strict=True))
    assert len(pairs) == half
    return [code.add(*p) for p in pairs] + [code.sub(*p) for p in pairs]


def _turned(code: Code, x: Number, k: int, n: int, sign: int) -> Number:
    """``exp(sign 2πi k/n) x`` for k below n/2."""
    if k == 0:
        return x
    if 4 * k == n:
        return (code.compute("neg", x[1]), x[0]) if sign > 0 else (x[1], code.compute("neg", x[0]))
    dtype = x[0].dtype
    if 8 * k in (n, 3 * n):
        # (±1 + sign i) / √2
        r = code.constant(sin(pi / 4), dtype)
        total, difference = code.compute("add", *x), code.compute("sub", *x)
        if sign > 0:
            pair = (difference, total) if 8 * k == n else (code.compute("neg", total), difference)
        elif 8 * k == n:
            pair = total, code.compute("neg", difference)
        else:
            pair = code.compute("neg", difference), code.compute("neg", total)
        return code.scale(pair, r)
    angle = sign * 2 * pi * k / n
    return code.mul(x, (code.constant(cos(angle), dtype), code.constant(sin(angle), dtype)))


def _odd(code: Code, x: Sequence[Number], sign: int) -> list[Number]:
    """The transform of an odd count n; numbers k and n - k share products with sines and
    cosines."""
    n, dtype = len(x), x[0][0].dtype
    half = n // 2
    sums = [code.add(x[k], x[n - k]) for k in range(1, half + 1)]
    differences = [code.sub(x[k], x[n - k]) for k in range(1, half + 1)]
    first = x[0]
    for each in sums:
        first = code.add(first, each)
    made: list[Number] = [first] * n
    for q in range(1, half + 1):
        along = x[0]
        across: Number = ()
        for k in range(1, half + 1):
            angle = 2 * pi * (q * k % n) / n
            along = code.add(along, code.scale(sums[k - 1], code.constant(cos(angle), dtype)))
            part = code.scale(differences[k - 1], code.constant(sign * sin(angle), dtype))
            across = part if k == 1 else code.add(across, part)
        turned = code.compute("neg", across[1]), across[0]
        made[q], made[n - q] = code.add(along, turned), code.sub(along, turned)
    return made


def one_pass(
    code: Code, n: int, radix: int, done: int, table: Array | None, sign: int, j: Affine,
    load: Callable[[Affine], Number], store: Callable[[Affine, Number], None],
) -> None:  # fmt: skip
    """Do work item ``j`` of the ``n / radix`` items of a pass.

    ``done`` is the product of the radices of the earlier passes.
    """
    block, at = affine.divide(j, done, {})
    values = [load(j + q * (n // radix)) for q in range(radix)]
    if table is not None and done > 1:
        for q in range(1, radix):
            turn = code.load(table, at * (q * n // (done * radix)))
            values[q] = code.mul(values[q], turn if sign < 0 else code.conj(turn))
    for q, value in enumerate(transformed(code, values, sign)):
        store(block * (done * radix) + at + q * done, value)
