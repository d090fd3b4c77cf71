"""Tensors as text, as PyTorch prints them: four digits, one format for all elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import dtypes
from .widening import plain

#: Digits after the point; the number of elements above which a tensor is summarized; how many
#: elements a summary shows at each end of an axis; characters of a line.
PRECISION, THRESHOLD, EDGE, WIDTH = 4, 1000, 3, 80


class _Format:
    """The format of the elements of one tensor."""

    def __init__(self, values: np.ndarray) -> None:
        self.is_float = values.dtype.kind == "f"
        self.scientific = self.whole = False
        self.width = 1
        if self.is_float:
            self._choose(values)
        counted = values.ravel()
        if self.is_float:
            counted = counted[np.isfinite(counted) & (counted != 0)]
        shown = [self.text(v, pad=False) for v in counted]
        self.width = max(map(len, shown), default=1)

    def _choose(self, values: np.ndarray) -> None:
        sizes = np.abs(values[np.isfinite(values) & (values != 0)].astype(np.float64))
        if not sizes.size:
            self.whole = True  # zeros, infinities and NaN
            return
        low, high = sizes.min(), sizes.max()
        self.whole = bool(np.all(sizes == np.ceil(sizes)))
        if self.whole:
            self.scientific = high / low > 1000.0 or high > 1.0e8
        else:
            self.scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4

    def text(self, value: Any, pad: bool = True) -> str:
        width = self.width if pad else 1
        if not self.is_float:
            return f"{value!s:>{width}}"
        value = float(value)
        if self.scientific:
            return f"{value:>{width}.{PRECISION}e}"
        if not math.isfinite(value):
            return f"{value:>{width}}"
        if self.whole:
            return f"{f'{value:.0f}.':>{width}}"
        return f"{value:>{width}.{PRECISION}f}"


def _joined(array: np.ndarray, form: _Format, indent: int, summarize: bool) -> str:
    if array.ndim == 0:
        return form.text(array[()])
    n = len(array)
    cut = summarize and n > 2 * EDGE
    picks = [*range(EDGE), None, *range(n - EDGE, n)] if cut else list(range(n))
    if array.ndim == 1:
        words = [" ..." if i is None else form.text(array[i]) for i in picks]
        room = max(1, (WIDTH - indent) // (form.width + 2))
        lines = [", ".join(words[k : k + room]) for k in range(0, len(words), room)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = ["..." if i is None else _joined(array[i], form, indent + 1, summarize) for i in picks]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _corners(array: np.ndarray) -> np.ndarray:
    for axis, n in enumerate(array.shape):
        if n > 2 * EDGE:
            array = np.take(array, [*range(EDGE), *range(n - EDGE, n)], axis)
    return array


def _body(array: np.ndarray, indent: int) -> str:
    if array.dtype.kind == "c":
        return str(array.tolist())
    summarize = array.size > THRESHOLD
    return _joined(array, _Format(_corners(array) if summarize else array), indent, summarize)


def text(x: Any) -> str:
    """A tensor as PyTorch prints it.

    >>> from autojit import torch
    >>> torch.tensor([[1.5, -2.0]])
    tensor([[ 1.5000, -2.0000]])
    """
    name = type(x)._printed if hasattr(type(x), "_printed") else "tensor"
    prefix = f"{name}("
    if not isinstance(x._data, np.ndarray):
        return f"{prefix}{x._data!r})"
    array = plain(x._data)
    end = []
    if array.size == 0:
        body = "[]"
        if array.shape != (0,):
            end.append(f"size={tuple(array.shape)}")
    else:
        body = _body(array, len(prefix))
    usual = (dtypes.default.float, dtypes.int64, dtypes.bool_)
    if x.dtype not in usual or (array.size == 0 and x.dtype is not dtypes.default.float):
        end.append(f"dtype={x.dtype!r}")
    if x.grad_fn is not None:
        end.append(f"grad_fn=<{x.grad_fn.name()}>")
    elif x.requires_grad:
        end.append("requires_grad=True")
    made = prefix + body
    room = WIDTH - len(made) + made.rfind("\n") - 1
    for part in end:
        fits = len(part) + 2 <= room
        made += f", {part}" if fits else f",\n{' ' * len(prefix)}{part}"
        room = room - len(part) - 2 if fits else WIDTH - len(prefix) - len(part)
    return made + ")"
