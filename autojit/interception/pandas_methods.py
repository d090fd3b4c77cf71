"""Methods of pandas' Series and DataFrames that do not check what their operand is.

The other operators leave the work to a traced array (``__pandas_priority__``).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.errors import RefusedInPlaceError, with_place
from autojit.tracing.created_arrays import bare, is_traced
from autojit.tracing.source import user_source


def _dot_of_values(original: Any) -> Any:
    """``dot`` and ``@``; with a traced array they use the values."""

    @functools.wraps(original)
    def dot(self: Any, other: Any) -> Any:
        if is_traced(other):
            return np.asarray(self) @ bare(other)
        return original(self, other)

    return dot


def _change_refused(original: Any) -> Any:
    """``s += x`` and the like: pandas changes the Series under all of its names, which tracing does
    not see."""

    @functools.wraps(original)
    def in_place(self: Any, other: Any, op: Any) -> Any:
        if not is_traced(other):
            return original(self, other, op)
        sign = _SIGNS.get(op.__name__, "+")
        raise RefusedInPlaceError(
            with_place(
                f"{sign}= would write a traced array into a {type(self).__name__} of pandas, "
                "which holds ordinary numbers.\n"
                "Rebind the name to a traced array of the values:\n"
                f"    s = s {sign} x                         # not: s {sign}= x",
                user_source(),
            )
        )

    return in_place


_SIGNS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//",
    "__mod__": "%", "__pow__": "**", "__and__": "&", "__or__": "|", "__xor__": "^",
}  # fmt: skip
_MAKERS: dict[str, Callable[[Any], Any]] = {
    "dot": _dot_of_values,
    "_inplace_method": _change_refused,
}


class PandasMethods:
    """The methods that are replaced while a function is traced."""

    def __init__(self) -> None:
        self._originals: dict[tuple[type, str], Any] = {}

    def install(self) -> None:
        """Put the replacements in place, unless they are there."""
        pandas = sys.modules.get("pandas")
        if self._originals or pandas is None:
            return
        classes = [getattr(pandas, name, None) for name in ("Series", "DataFrame")]
        self._originals = {
            (owner, name): vars(owner)[name]
            for kind in classes
            for owner in (kind.__mro__ if kind is not None else ())
            for name in _MAKERS
            if name in vars(owner)
        }
        for (owner, name), original in self._originals.items():
            setattr(owner, name, _MAKERS[name](original))

    def restore(self) -> None:
        for (owner, name), original in self._originals.items():
            setattr(owner, name, original)
        self._originals = {}
