"""What the CUDA simulator lacks: ``math`` and ``libdevice`` as the device computes.

Python's own functions raise where a device gives NaN or an infinity, and return
float64 for float32.  NumPy's do as the device does.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .mapping.machine import Machine

#: Few threads, as the simulator starts a Python thread for each.
SIMULATED = Machine(
    threads=4,
    most_blocks=3,
    tile=4,
    row=2,
    many=8,
    few=6,
    imports="import numpy as np\nfrom numba import cuda\n\n"
    "from autojit.codegen.cuda.simulator import libdevice\n"
    "from autojit.codegen.cuda.simulator import math\n",
)

_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
    "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh",
}  # fmt: skip
_SAME = (
    "copysign", "cos", "cosh", "exp", "expm1", "fabs", "fmod", "hypot", "log", "log10",
    "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh", "inf", "nan",
)  # fmt: skip


def _special(name: str) -> Any:
    def call(x: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(x)

    return call


math = SimpleNamespace(
    **{name: getattr(np, name) for name in _SAME},
    **{name: getattr(np, numpy) for name, numpy in _NAMES.items()},
    erf=_special("erf"),
    erfc=_special("erfc"),
)
_ROUNDED = ("cbrt", "ceil", "exp2", "floor", "rint", "trunc")
libdevice = SimpleNamespace(
    **{name + suffix: getattr(np, name) for name in _ROUNDED for suffix in ("", "f")}
)
