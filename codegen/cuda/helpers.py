"""Device functions that the source defines where Python and libdevice have none.

A template is printed once for each dtype that needs it: ``$name`` is the function,
``$t`` the NumPy type of its operands.  Results are those of NumPy, with NaN, signed
zeros and divisors of zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

import numpy as np

_FLOAT = {
    "maximum": """
def $name(x, y):
    return x if x >= y or x != x else y
""",
    "minimum": """
def $name(x, y):
    return x if x <= y or x != x else y
""",
    "fmax": """
def $name(x, y):
    return x if x >= y or y != y else y
""",
    "fmin": """
def $name(x, y):
    return x if x <= y or y != y else y
""",
    "sign": """
def $name(x):
    if x > $t(0.0):
        return $t(1.0)
    if x < $t(0.0):
        return $t(-1.0)
    return x if x != x else $t(0.0)
""",
    "remainder": """
def $name(x, y):
    rest = math.fmod(x, y)
    if rest == $t(0.0):
        return math.copysign($t(0.0), y)
    return rest + y if (rest < $t(0.0)) != (y < $t(0.0)) else rest
""",
    "floor_divide": """
def $name(x, y):
    if y == $t(0.0):
        return x / y
    rest = math.fmod(x, y)
    quotient = (x - rest) / y
    if rest != $t(0.0) and (rest < $t(0.0)) != (y < $t(0.0)):
        quotient = quotient - $t(1.0)
    if quotient == $t(0.0):
        return math.copysign($t(0.0), x / y)
    whole = $floor(quotient)  # the quotient is whole up to rounding
    return whole + $t(1.0) if quotient - whole > $t(0.5) else whole
""",
    "sigmoid": """
def $name(x):
    e = math.exp(-math.fabs(x))
    return ($t(1.0) if x >= $t(0.0) else e) / ($t(1.0) + e)
""",
    "softplus": """
def $name(x):
    tail = math.log1p(math.exp(-math.fabs(x)))
    return x + tail if x > $t(0.0) else tail
""",
    "logaddexp": """
def $name(x, y):
    if x == y:  # equal infinities too
        return x + $t(0.6931471805599453)
    difference = x - y
    if difference > $t(0.0):
        return x + math.log1p(math.exp(-difference))
    if difference <= $t(0.0):
        return y + math.log1p(math.exp(difference))
    return difference
""",
    "ndtr": """
def $name(x):
    return $t(0.5) * math.erfc(x * $t(-0.7071067811865476))
""",
}

_INTEGER = {
    "sign": """
def $name(x):
    return $t(1) if x > $t(0) else $t(-1) if x < $t(0) else $t(0)
""",
    "floor_divide": """
def $name(x, y):
    if y == $t(0):
        return $t(0)
    return $t($t(0) - x) if y == $t(-1) else $t(x // y)
""",
    "remainder": """
def $name(x, y):
    return $t(0) if y == $t(0) or y == $t(-1) else $t(x % y)
""",
    "fmod": """
def $name(x, y):
    if y == $t(0) or y == $t(-1):
        return $t(0)
    rest = x % y
    return $t(rest - y) if rest != 0 and (x < $t(0)) != (y < $t(0)) else $t(rest)
""",
    "shift_left": """
def $name(x, y):
    return $t(x << y) if $t(0) <= y < $t($bits) else $t(0)
""",
    "shift_right": """
def $name(x, y):
    if $t(0) <= y < $t($bits):
        return $t(x >> y)
    return $t(-1) if x < $t(0) else $t(0)
""",
    "pow": """
def $name(x, p, status):
    if p < $t(0):
        status[1] = 1  # no such integer
        return $t(0)
    result = $t(1)
    while p != $t(0):
        if p % $t(2) != $t(0):
            result = $t(result * x)
        x = $t(x * x)
        p = $t(p // $t(2))
    return result
""",
}

_UNSIGNED = {
    "sign": """
def $name(x):
    return $t(1) if x > $t(0) else $t(0)
""",
    "floor_divide": """
def $name(x, y):
    return $t(0) if y == $t(0) else $t(x // y)
""",
    "remainder": """
def $name(x, y):
    return $t(0) if y == $t(0) else $t(x % y)
""",
    "fmod": """
def $name(x, y):
    return $t(0) if y == $t(0) else $t(x % y)
""",
    "shift_left": """
def $name(x, y):
    return $t(x << y) if y < $t($bits) else $t(0)
""",
    "shift_right": """
def $name(x, y):
    return $t(x >> y) if y < $t($bits) else $t(0)
""",
    "pow": """
def $name(x, p, status):
    result = $t(1)
    while p != $t(0):
        if p % $t(2) != $t(0):
            result = $t(result * x)
        x = $t(x * x)
        p = $t(p // $t(2))
    return result
""",
}

_SATURATE = """
def $name(x):
    if x != x:
        return $r(0)
    if x <= $t($low):
        return $r($least)
    return $r($greatest) if x >= $t($high) else $r(x)
"""

_BOUNDED = """
def $name(index, extent, status):
    if 0 <= index < extent:
        return index
    status[0] = 1  # out of bounds
    return 0
"""

#: A tree over the threads of a block, whose number is a power of two.
_BLOCK = """
def $name(value):
    shared = cuda.shared.array(THREADS, $t)
    thread = cuda.threadIdx.x
    shared[thread] = value
    cuda.syncthreads()
    width = cuda.blockDim.x // 2
    while width > 0:
        if thread < width:
            x, y = shared[thread], shared[thread + width]
            shared[thread] = $combined
        cuda.syncthreads()
        width //= 2
    result = shared[0]
    cuda.syncthreads()  # before the next use of the shared array
    return result
"""


def numpy_type(dtype: str) -> str:
    """The NumPy type of a scalar dtype, as source."""
    if dtype == "bool":
        return "np.bool_"
    names = {"f": "float", "i": "int", "u": "uint"}
    return f"np.{names[dtype[0]]}{dtype[1:]}"


def libdevice(name: str, dtype: str) -> str:
    """A function of libdevice: those of float32 end in f."""
    return f"libdevice.{name}f" if dtype == "f32" else f"libdevice.{name}"


def family(dtype: str) -> dict[str, str]:
    """The helpers that operands of a dtype have."""
    return {"f": _FLOAT, "i": _INTEGER, "u": _UNSIGNED, "b": {}}[dtype[0]]


class Helpers:
    """The device functions that a source needs, each printed once."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def name(self, word: str, dtype: str) -> str:
        """The function for a word on operands of a dtype."""
        text = family(dtype)[word]
        floor = libdevice("floor", dtype) if dtype[0] == "f" else ""
        fields = {"t": numpy_type(dtype), "bits": dtype[1:], "floor": floor}
        return self._define(f"{word}_{dtype}", text, fields)

    def saturate(self, old: str, new: str) -> str:
        """The function that converts a float to an integer type, clipped to its range."""
        info = np.iinfo(new.replace("i", "int", 1) if new[0] == "i" else f"uint{new[1:]}")
        fields = {
            "t": numpy_type(old),
            "r": numpy_type(new),
            "low": float(info.min),
            "high": float(2 ** (info.bits - (new[0] == "i"))),
            "least": info.min,
            "greatest": info.max,
        }
        return self._define(f"{old}_to_{new}", _SATURATE, fields)

    def block(self, word: str, dtype: str, combined: str) -> str:
        """The function that combines a value of every thread of a block, for all of them."""
        fields = {"t": numpy_type(dtype), "combined": combined}
        return self._define(f"block_{word}_{dtype}", _BLOCK, fields)

    def bounded(self) -> str:
        """The function that checks a computed index."""
        return self._define("bounded", _BOUNDED, {})

    def _define(self, name: str, text: str, fields: Mapping[str, object]) -> str:
        if name not in self.texts:
            body = Template(text.strip()).substitute(fields, name=name)
            self.texts[name] = f"@cuda.jit(device=True)\n{body}\n"
        return name
