"""Whose memory an array is: whether it may be taken over instead of being copied."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autojit.codegen.cpu.abi.results import Lease


def is_fresh(array: Any) -> bool:
    """Whether an array is all of its memory, which was made here: no view of what others hold."""
    if array.__class__ is not np.ndarray:
        return False
    base = array.base
    return base is None or base.__class__ is Lease


def is_alone(t: Any) -> bool:
    """Whether nobody but this tensor has its array: no view, no graph, no user; so that another
    array in its place is the same as a change of this one."""
    return t._base is None and is_fresh(t._data) and _references(t) == _ALONE


def _references(t: Any) -> int:
    return sys.getrefcount(t._data)


class _Alone:
    def __init__(self) -> None:
        self._data = np.empty(0)


#: How many references the array of a tensor that is alone has, as counted here.
_ALONE = _references(_Alone())
