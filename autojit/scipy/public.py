"""SciPy's public names, for packages of autojit that do not define all of them.

The ufuncs of ``scipy.special`` and the distributions of ``scipy.stats`` are SciPy's own objects,
which take traced arrays as they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from .registry import FUNCTIONS, original


def under_scipys_names(
    package: str, not_covered: Container[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for the counterpart of the module ``scipy.<package>``.

    For a name that SciPy has and autojit does not cover, they raise an AttributeError that says so.
    """
    theirs = f"scipy.{package}"

    def covered(name: str, found: Any) -> bool:
        if isinstance(found, np.ufunc):
            return name not in not_covered
        kinds = [kind.__name__ for kind in type(found).__mro__]
        starts = tuple(f"{theirs}.{owner}." for owner in (name, *kinds))
        return not isinstance(found, type(np)) and any(n.startswith(starts) for n in FUNCTIONS)

    def get(name: str) -> Any:
        if f"{theirs}.{name}" in FUNCTIONS:
            return FUNCTIONS[f"{theirs}.{name}"]
        if name.startswith("_") or not hasattr(importlib.import_module(theirs), name):
            raise AttributeError(f"module 'autojit.{theirs}' has no attribute {name!r}")
        found = original(f"{theirs}.{name}")
        if not covered(name, found):
            raise AttributeError(
                f"autojit does not cover {theirs}.{name}. For arrays that are not traced, call "
                "SciPy's own:\n"
                f"    from {theirs} import {name}"
            )
        return found

    def names() -> list[str]:
        module = importlib.import_module(theirs)
        known = {n for n in dir(module) if n[0] != "_" and covered(n, getattr(module, n))}
        known |= {n.removeprefix(f"{theirs}.").partition(".")[0] for n in FUNCTIONS
                  if n.startswith(f"{theirs}.")}  # fmt: skip
        return sorted(known)

    return get, names
