"""Additions to numba's CUDA simulator: warps, and ``math`` and ``libdevice`` with device behaviour.

Python's own ``math`` raises errors where a device returns NaN or an infinity, and returns
float64 for float32.  NumPy's functions behave like the device's.
"""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np

from .mapping.machine import Machine

#: The machine has few threads because the simulator starts a Python thread for each.
SIMULATED = Machine(
    threads=8,
    processors=4,
    resident=8,
    warp=4,
    tile=4,
    row=2,
    few=6,
    together=False,  # it runs one block after another
    imports="import numpy as np\nfrom numba import cuda\n\n"
    "from autojit.codegen.cuda.simulator import libdevice\n"
    "from autojit.codegen.cuda.simulator import math\n",
)


class _Team:
    """The threads of one mask: they exchange values and wait for each other."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=60)
        self.values: dict[int, Any] = {}


_teams: dict[tuple[int, int, int], _Team] = {}
_making = threading.Lock()


def _team_of(mask: Any) -> tuple[_Team, int]:
    """The team of the calling thread, and the thread's number."""
    thread: Any = threading.current_thread()
    key = (id(thread._manager), thread.thread_id // 32, int(mask))
    with _making:
        team = _teams.get(key)
        if team is None:
            team = _teams[key] = _Team(int(mask).bit_count())
    return team, thread.thread_id


def _syncwarp(mask: Any) -> None:
    _team_of(mask)[0].barrier.wait()


def _shfl_xor_sync(mask: Any, value: Any, distance: int) -> Any:
    team, number = _team_of(mask)
    team.values[number] = value
    team.barrier.wait()
    other = team.values[number ^ distance]
    team.barrier.wait()
    return other


def add_warps() -> None:
    """Add ``syncwarp`` and ``shfl_xor_sync`` to the simulator, which lacks them."""
    from numba.cuda.simulator.kernelapi import FakeCUDAModule

    module: Any = FakeCUDAModule
    module.syncwarp = staticmethod(_syncwarp)
    module.shfl_xor_sync = staticmethod(_shfl_xor_sync)


_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
    "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh",
}  # fmt: skip
_SAME = (
    "copysign", "cos", "cosh", "exp", "expm1", "fabs", "fmod", "hypot", "log", "log10",
    "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh", "inf", "nan", "pi",
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
_SAME_IN_SCIPY = ("erfcinv", "erfcx", "erfinv", "exp10")
_ROUNDED = ("cbrt", "ceil", "exp2", "floor", "rint", "trunc")
libdevice = SimpleNamespace(
    **{name + suffix: getattr(np, name) for name in _ROUNDED for suffix in ("", "f")},
    int_as_float=lambda x: np.int32(x).view(np.float32),
    float_as_int=lambda x: np.float32(x).view(np.int32),
    double_as_longlong=lambda x: np.float64(x).view(np.int64),
    **{name: _special(name) for name in _SAME_IN_SCIPY},
    lgamma=_special("gammaln"),
    normcdfinv=_special("ndtri"),
    tgamma=_special("gamma"),
)
