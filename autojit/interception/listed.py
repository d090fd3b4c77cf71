"""Stand-ins for NumPy's functions that get lists with traced numbers in them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from autojit.capture.calls.calling import call_as
from autojit.protocols.lists import all_as_arrays
from autojit.protocols.registry import FUNCTIONS
from autojit.tracing.hooks import hooks

from .name_patching import StandIn

#: Functions that take lists of arrays, which stay lists.
_OF_ARRAYS = (
    "block", "select", "multi_dot", "lexsort", "piecewise", "choose", "histogramdd",
    "ravel_multi_index", "poly1d",
)  # fmt: skip


class Listed(StandIn):
    """Stands for a function, or a ufunc and its methods."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = all_as_arrays(args, kwargs)
        return self.original(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        return Listed(found) if name in ("reduce", "accumulate", "outer", "reduceat") else found

    # isinstance sees the class of the ufunc that this stands for.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__dict__["original"])


def covered(module: ModuleType) -> list[str]:
    """The names of a module's functions and ufuncs that take arrays."""
    hooks.load()
    return [
        name
        for name, found in vars(module).items()
        if callable(found)
        and (isinstance(found, np.ufunc) or found in FUNCTIONS)
        and found.__name__ not in _OF_ARRAYS
    ]


def take_lists(module: ModuleType) -> None:
    """Let the ufuncs of a module take lists of traced numbers where a twin calls them."""
    for found in vars(module).values():
        if isinstance(found, np.ufunc):
            call_as(found, Listed(found))
