"""Digits of numbers, by which blocks sort them (``matrices/radix.py``)."""

from __future__ import annotations

from collections.abc import Mapping

#: Positive numbers are ordered as the integers of their bits, and negative ones the other way
#: round. The sum with zero makes one zero of both.
_FLOAT = """
def $name(x, shift):
    bits = np.int64(libdevice.$bits(x + $t(0.0)))
    key = $most if x != x else bits ^ (bits >> $high & $most)
    return np.int64((key ^ $sign) >> shift & 255)
"""
_SIGNED = """
def $name(x, shift):
    return np.int64((np.int64(x) ^ $sign) >> shift & 255)
"""
_UNSIGNED = """
def $name(x, shift):
    return np.int64(np.int64(x) >> shift & 255)
"""
_BITS = {"f32": "float_as_int", "f64": "double_as_longlong"}


def template(dtype: str) -> str:
    """The function of a number and a shift that returns a digit."""
    return {"f": _FLOAT, "i": _SIGNED}.get(dtype[0], _UNSIGNED)


def fields(dtype: str) -> Mapping[str, object]:
    """The names in the function.

    >>> fields("i16")["sign"]
    'np.int64(-32768)'
    """
    if dtype[0] not in "fi":
        return {}
    high = int(dtype[1:]) - 1
    return {
        "t": f"np.float{dtype[1:]}", "bits": _BITS.get(dtype), "high": high,
        "most": f"np.int64({(1 << high) - 1})", "sign": f"np.int64({-1 << high})",
    }  # fmt: skip
