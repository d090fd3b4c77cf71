"""A few words on an array of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Up to how many elements of an array are shown.
MOST_NUMBERS = 4


def numbers(x: Any) -> str:
    """The numbers of an array; of a larger one the least and the greatest, and how many are NaN.

    >>> numbers(np.array([1.0, 2.5])), numbers(np.arange(9) / 8), numbers(True)
    ('[1, 2.5]', '0 to 1', 'True')
    """
    array = np.asarray(x)
    if array.size <= MOST_NUMBERS:
        words = [_number(v) for v in array.ravel()]
        return words[0] if array.shape == () else f"[{', '.join(words)}]"
    if array.dtype.kind == "b":
        return f"{np.count_nonzero(array)} of {array.size} true"
    if array.dtype.kind == "c":
        return f"|x| {_range(abs(array))}"
    return _range(array)


def _range(array: Any) -> str:
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    found = array[~missing]
    ends = dict.fromkeys([_number(found.min()), _number(found.max())]) if found.size else {}
    words = " to ".join(ends) if len(ends) != 1 else f"all {next(iter(ends))}"
    count = int(np.count_nonzero(missing))
    return ", ".join(filter(None, [words, f"{count} NaN" if count else ""]))


def _number(v: Any) -> str:
    return f"{v:.4g}" if isinstance(v, (float, complex, np.inexact)) else str(v)
