"""``np.r_`` and ``np.c_`` with traced values between the brackets."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer, result_dtype, shape_of
from autojit.tracing.context import WEAK_TYPES
from autojit.tracing.created_arrays import bare, is_traced

from .name_patching import StandIn


class Concatenator(StandIn):
    """Stands for ``np.r_`` or ``np.c_``."""

    def __getitem__(self, key: Any) -> Any:
        if not is_traced(key):
            return self.original[key]
        parts = list(bare(key)) if isinstance(key, tuple) else [bare(key)]
        axis, ndmin, trans1d = self._settings(parts)
        arrays = [_part(item, ndmin, trans1d) for item in parts]
        numbers = [k for k, item in enumerate(parts) if type(item) in WEAK_TYPES]
        if len(numbers) == len(parts):
            return np.concatenate(arrays, axis=axis)
        # Python numbers take the dtype of the parts beside them.
        kind = result_dtype(*(parts[k] if k in numbers else x for k, x in enumerate(arrays)))
        return np.concatenate([as_tracer(x).astype(kind) for x in arrays], axis=axis)

    def __len__(self) -> int:
        return 0

    def _settings(self, parts: list[Any]) -> tuple[int, int, int]:
        """The axis, the least number of axes, and the place where an array's own axes begin."""
        found = [self.original.axis, self.original.ndmin, self.original.trans1d]
        if parts and isinstance(parts[0], str):
            words = parts.pop(0).split(",")
            found[: len(words)] = [int(word) for word in words]  # 'r' and 'c' make matrices
        return found[0], found[1], found[2]


def _part(item: Any, ndmin: int, trans1d: int) -> Any:
    if isinstance(item, slice):
        row = _range(item)
        return np.swapaxes(np.array(row, ndmin=ndmin), -1, trans1d) if ndmin > 1 else row
    x = as_tracer(item)
    if not shape_of(x):
        return np.reshape(x, (1,) * max(ndmin, 1))
    missing = ndmin - x.ndim
    if missing <= 0:
        return x
    wide = np.reshape(x, (1,) * missing + x.shape)
    first = trans1d + missing + 1 if trans1d < 0 else trans1d
    order = list(range(missing))
    axes = order[:first] + list(range(missing, ndmin)) + order[first:]
    return np.transpose(wide, axes)


def _range(item: slice) -> Any:
    start, step = item.start or 0, item.step
    if isinstance(step, complex):
        return np.linspace(start, item.stop, int(abs(step)))
    return np.arange(start, item.stop, 1 if step is None else step)
