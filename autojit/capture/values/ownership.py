"""Arrays that nothing else refers to, by CPython's count of references."""

from __future__ import annotations

import sys
import sysconfig
import weakref
from typing import Any

import numpy as np

from autojit.tracing.created_arrays import fresh

#: The count of references to an array that only the caller of :meth:`Runtime.own` has, and to
#: memory that only a view has: two variables, and the argument of ``getrefcount``. Python counts
#: differently from 3.14 on, and in builds without the global interpreter lock.
ALONE = 3
_COUNTS = sys.version_info < (3, 14) and not sysconfig.get_config_var("Py_GIL_DISABLED")


def owned(x: Any) -> Any:
    """A plain array that nothing else refers to, as a fresh one; anything else unchanged.

    The caller has the array in one variable, and its own caller in none. So nobody else can see the
    array change, or change it.
    """
    if type(x) is not np.ndarray or not _COUNTS or sys.getrefcount(x) != ALONE:
        return x
    block = x
    while isinstance(block.base, np.ndarray):
        block = block.base
        if sys.getrefcount(block) != ALONE:
            return x
    return x if weakref.getweakrefcount(x) or weakref.getweakrefcount(block) else fresh(x)
