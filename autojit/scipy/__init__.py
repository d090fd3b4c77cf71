"""Functions of SciPy for traced arrays, with SciPy's names and arguments.

Packages are loaded when they are first used, as in SciPy.

>>> import autojit
>>> autojit.jit(autojit.scipy.special.logsumexp)([0.0, 0.0]) == np.log(2)
np.True_
"""

from __future__ import annotations

import importlib
from typing import Any

_PACKAGES = (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
    "spatial", "special", "stats",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES})
