"""Device functions for words that Python and libdevice lack.

A template is printed once for each dtype that needs it: ``$name`` is the name of the function,
``$t`` the NumPy type of its operands.  Results equal NumPy's, also for NaN, signed zeros and
division by zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

import numpy as np

from . import digits
from .special import TEXTS

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
def $name(x, p, status, place):
    if p < $t(0):
        status[place] = 1  # no such integer
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
def $name(x, p):
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
    status[$place] = 1  # out of bounds
    return 0
"""

#: The threads of a team, as a mask of bits of its warp.
_MASK = """
def $name():
    return np.uint32($bits) << np.uint32(cuda.threadIdx.x % 32 // $width * $width)
"""

#: Threads of one warp exchange values, each time at half the distance.
_TEAM = """
def $name(value):
    x = value
    distance = $half
    while distance > 0:
        y = $back(cuda.shfl_xor_sync($mask(), $carried(x), distance))
        x = $combined
        distance //= 2
    return x
"""

#: Each warp of a block stores one value in shared memory; all threads combine these in order.
_BLOCK = """
def $name(value):
    shared = cuda.shared.array($warps, $t)
    value = $team(value)
    if cuda.threadIdx.x % $width == 0:
        shared[cuda.threadIdx.x // $width] = value
    cuda.syncthreads()
    x = shared[0]
    for n in range(1, $warps):
        y = shared[n]
        x = $combined
    cuda.syncthreads()  # before the next use of the shared array
    return x
"""

#: Each thread combines the values of the threads that are $stride apart.
_COLUMNS = """
def $name(value):
    shared = cuda.shared.array($size, $t)
    shared[cuda.threadIdx.x] = value
    cuda.syncthreads()
    x = shared[cuda.threadIdx.x % $stride]
    for n in range(1, $width):
        y = shared[cuda.threadIdx.x % $stride + n * $stride]
        x = $combined
    cuda.syncthreads()  # before the next use of the shared array
    return x
"""


#: The first thread of each block counts its block, and waits until all are counted.  Its fences
#: order all stores of its block before those loads of others that come later, as in NVIDIA's
#: cooperative groups: the barriers order it with the other threads of the block (PTX ISA, "Memory
#: Consistency Model", causality order).
_MEETING = """
def $name(arrived):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        blocks = np.int64(cuda.gridDim.x)
        before = cuda.atomic.add(arrived, 0, np.int64(1))
        last = (before // blocks + np.int64(1)) * blocks
        while cuda.atomic.add(arrived, 0, np.int64(0)) < last:
            pass
        cuda.threadfence()
    cuda.syncthreads()
"""


_WIDENED = """
def $name(x):
    return libdevice.int_as_float(np.int32(np.int64(x) << 16))
"""
_NARROWED = """
def $name(x):
    bits = int(libdevice.float_as_int(x)) & 0xFFFFFFFF
    upper = bits >> 16
    if x != x:
        return np.uint16(upper | 64)
    return np.uint16((bits + 0x7FFF + (upper & 1)) >> 16)
"""


def _carrier(dtype: str) -> str:
    """The dtype in which threads exchange a scalar, one of four."""
    if dtype in ("f32", "f64"):
        return dtype
    return "i64" if dtype in ("i64", "u64") else "i32"


def numpy_type(dtype: str) -> str:
    """The NumPy type of a scalar dtype, as source."""
    if dtype in ("bool", "bf16"):  # bfloat16 is represented by its bits
        return "np.bool_" if dtype == "bool" else "np.uint16"
    names = {"f": "float", "i": "int", "u": "uint"}
    return f"np.{names[dtype[0]]}{dtype[1:]}"


def libdevice(name: str, dtype: str) -> str:
    """A function of libdevice; the name for float32 ends in f."""
    return f"libdevice.{name}f" if dtype == "f32" else f"libdevice.{name}"


def family(dtype: str) -> dict[str, str]:
    """The templates for operands of a dtype."""
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

    def special(self, function: str) -> str:
        """The function for one of scipy.special, in float64."""
        return self._define(f"special_{function}", TEXTS[function], {})

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

    def of_bfloat16(self, *, widens: bool) -> str:
        """The function from the bits of bfloat16 to float32, or back with rounding to nearest."""
        if widens:
            return self._define("widened_bf16", _WIDENED, {})
        return self._define("narrowed_bf16", _NARROWED, {})

    def mask(self, width: int) -> str:
        """The function that returns the mask of a team's threads in a warp."""
        fields = {"bits": (1 << width) - 1, "width": width}
        return self._define(f"team_of_{width}", _MASK, fields)

    def team(self, word: str, dtype: str, combined: str, width: int) -> str:
        """The function that combines the values of a team's threads within a warp."""
        carried = _carrier(dtype)
        fields = {
            "combined": combined, "half": width // 2, "mask": self.mask(width),
            "carried": numpy_type(carried), "back": numpy_type(dtype),
        }  # fmt: skip
        return self._define(f"team_{word}_{dtype}_{width}", _TEAM, fields)

    def block(self, word: str, dtype: str, combined: str, threads: int, width: int) -> str:
        """The function that combines the values of a block's threads; all of them get the
        result."""
        team = self.team(word, dtype, combined, width)
        fields = {
            "t": numpy_type(dtype), "combined": combined, "team": team, "width": width,
            "warps": threads // width,
        }  # fmt: skip
        return self._define(f"block_{word}_{dtype}_{threads}", _BLOCK, fields)

    def columns(self, word: str, dtype: str, combined: str, width: int, stride: int) -> str:
        """The function that combines the values of threads that are ``stride`` apart in a block."""
        fields = {
            "t": numpy_type(dtype), "combined": combined, "width": width, "stride": stride,
            "size": width * stride,
        }  # fmt: skip
        return self._define(f"columns_{word}_{dtype}_{width}x{stride}", _COLUMNS, fields)

    def meeting(self) -> str:
        """The function in which all blocks of a launch wait for each other."""
        return self._define("meeting", _MEETING, {})

    def bounded(self, place: int) -> str:
        """The function that checks a computed index."""
        return self._define("bounded", _BOUNDED, {"place": place})

    def digit(self, dtype: str) -> str:
        """The function that returns a digit of a number."""
        return self._define(f"digit_{dtype}", digits.template(dtype), digits.fields(dtype))

    def _define(self, name: str, text: str, fields: Mapping[str, object]) -> str:
        if name not in self.texts:
            body = Template(text.strip()).substitute(fields, name=name)
            self.texts[name] = f"@cuda.jit(device=True)\n{body}\n"
        return name
