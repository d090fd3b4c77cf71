"""Ownership of arrays' memory: whether an array may be taken over instead of being copied."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autojit.codegen.cpu.abi.results import Lease


def is_fresh(array: Any) -> bool:
    """Whether an array owns its memory or is the whole result of compiled code, so that it is not a
    view of another array."""
    if array.__class__ is not np.ndarray:
        return False
    base = array.base
    return base is None or base.__class__ is Lease


def is_alone(t: Any) -> bool:
    """Whether only this tensor refers to its array: no view, no graph, no user.  Replacing the
    array is then the same as changing it in place."""
    return t._base is None and is_fresh(t._data) and _references(t) == _ALONE


def _references(t: Any) -> int:
    return sys.getrefcount(t._data)


class _Alone:
    def __init__(self) -> None:
        self._data = np.empty(0)


#: The number of references that `_references` counts for such a tensor.
_ALONE = _references(_Alone())
