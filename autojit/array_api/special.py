"""The ufuncs of ``scipy.special``, as an extension that SciPy looks for in a namespace."""

from __future__ import annotations

from typing import Any

import numpy as np


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import scipy.special

    f = getattr(scipy.special, name, None)
    f = getattr(f, "__wrapped__", f)
    if not isinstance(f, np.ufunc):
        raise AttributeError(f"scipy.special has no ufunc {name!r}")
    return f
