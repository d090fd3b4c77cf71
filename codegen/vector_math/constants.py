"""Irrational constants as long fractions, and their parts of a chosen length."""

from __future__ import annotations

from fractions import Fraction

from .scalar import Format

_SCALE = 1 << 256

LN2 = Fraction(0xB17217F7D1CF79ABC9E3B39803F2F6AF40F343267298B62D8A0D175B8BAAFA2C, _SCALE)
LN10 = Fraction(0x24D763776AAA2B05BA95B58AE0B4C28A38A3FB3E76977E43A0F187A0807C0B5CA, _SCALE)


def _arctan_of_inverse(integer: int, bits: int) -> int:
    """atan(1 / integer) * 2**bits by its power series."""
    power, total, index = (1 << bits) // integer, 0, 1
    while power:
        total += (power // index) * (1 if index % 4 == 1 else -1)
        power //= integer * integer
        index += 2
    return total


def _pi(bits: int) -> Fraction:
    """Machin's formula, pi = 16 atan(1/5) - 4 atan(1/239), with 20 guard bits."""
    bits += 20
    value = 16 * _arctan_of_inverse(5, bits) - 4 * _arctan_of_inverse(239, bits)
    return Fraction(value, 1 << bits)


PI = _pi(1400)
"""Long enough to reduce the largest double: 1024 bits before the point, 170 after, and to spare."""


def round_to_bits(number: Fraction, bits: int) -> Fraction:
    """The nearest number with that many significant bits."""
    if not number:
        return number
    exponent = abs(number.numerator).bit_length() - number.denominator.bit_length()
    if abs(number) >= Fraction(2) ** exponent:
        exponent += 1
    unit = Fraction(2) ** (exponent - bits)
    return round(number / unit) * unit


def split(number: Fraction, format: Format, *lengths: int) -> tuple[float, ...]:
    """Parts of the given lengths in bits and a last one in full; their sum is the number.

    An integer of few enough bits times a short part is exact.
    """
    parts = []
    for length in (*lengths, format.mantissa + 1):
        part = round_to_bits(number, length)
        parts.append(format.round(float(part)))
        number -= part
    return tuple(parts)
