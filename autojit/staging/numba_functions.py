"""Functions that Numba has compiled, as the Python functions that they were made from.

Numba is never imported for it: a function of its can only be there if Numba is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def numba_kind(kind: type) -> str | None:
    """What of Numba's a type is of: "function" (`@njit`), "ufunc" (`@vectorize`), "gufunc"
    (`@guvectorize`); None if it is none.

    >>> numba_kind(int) is None
    True
    """
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "numba":
            found = _KINDS.get(base.__name__)
            if found is not None:
                return found
    return None


_KINDS = {"Dispatcher": "function", "DUFunc": "ufunc", "GUFunc": "gufunc"}


def python_function(f: Any) -> Callable[..., Any]:
    """What a function of Numba's was made from, or f itself."""
    made: Callable[..., Any] = f.py_func if numba_kind(type(f)) == "function" else f
    return made
