"""Short texts for arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The most elements of an array that are shown.
MOST_NUMBERS = 4


def numbers(x: Any) -> str:
    """The numbers of a small array; for a larger one, its least and greatest number and its count
    of NaN.

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
