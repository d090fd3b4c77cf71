"""Functions of ``math`` on whole numbers, as loops. Results are exact within 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.capture.values.scalars import is_traced
from autojit.capture.values.table import answers

from .conversions import integer
from .library import WHOLE


def _whole(x: Any) -> Any:
    """A traced whole number as Python's; TypeError for others, as in Python."""
    found = integer(x)
    if found is None:
        kind = "float" if is_traced(x) else type(x).__name__
        raise TypeError(f"'{kind}' object cannot be interpreted as an integer")
    return found


def _in_python(original: Any) -> Callable[..., Any]:
    def answer(call: Any, *args: Any) -> Any:
        return call(WHOLE[original], *map(_whole, args))

    return answer


for _function in WHOLE:
    answers(_function, calls=True)(_in_python(_function))
