"""The Python functions behind functions compiled by Numba.

This never imports Numba: its functions can only exist if it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def numba_kind(kind: type) -> str | None:
    """The kind of a Numba type: "function" (`@njit`), "ufunc" (`@vectorize`), "gufunc"
    (`@guvectorize`); None for other types.

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
    """The Python function that Numba compiled, or f itself."""
    made: Callable[..., Any] = f.py_func if numba_kind(type(f)) == "function" else f
    return made
