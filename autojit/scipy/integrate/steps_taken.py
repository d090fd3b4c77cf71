"""The times and states of a solver's own steps, whose number is not known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np


class StepsTaken:
    """An array of which only the first and the last element along the axis of steps are known.

    ``sol.y[:, -1]``, ``sol.y[0, -1]``, ``x, v = sol.y`` and then ``x[-1]``, ``sol.y.T[-1]`` and
    ``sol.t[-1]`` work as in SciPy; any other use calls ``refuse``, which raises an error.

    ``first``, ``last``  the first and the last element: arrays without the axis of steps
    ``axis``             the index of the axis of steps
    """

    __slots__ = ("_axis", "_first", "_last", "_refuse")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, first: Any, last: Any, axis: int, refuse: Callable[[], NoReturn]) -> None:
        self._first, self._last, self._axis, self._refuse = first, last, axis, refuse

    @property
    def ndim(self) -> int:
        axes: int = np.ndim(self._first) + 1
        return axes

    @property
    def dtype(self) -> Any:
        return self._first.dtype

    @property
    def T(self) -> StepsTaken:
        first, last = np.transpose(self._first), np.transpose(self._last)
        return StepsTaken(first, last, self.ndim - 1 - self._axis, self._refuse)

    def __getitem__(self, index: Any) -> Any:
        parts = list(index) if isinstance(index, tuple) else [index]
        dots = [k for k, part in enumerate(parts) if part is Ellipsis]
        if len(dots) > 1 or any(part is None for part in parts):
            self._refuse()
        missing = self.ndim - len(parts) + len(dots)
        at = dots[0] if dots else len(parts)
        parts[at : at + len(dots)] = [slice(None)] * missing
        if len(parts) != self.ndim:
            raise IndexError("too many indices for array")
        step = parts.pop(self._axis)
        if type(step) is slice and step == slice(None):
            kept = sum(isinstance(part, slice) for part in parts[: self._axis])
            first, last = self._first[tuple(parts)], self._last[tuple(parts)]
            return StepsTaken(first, last, kept, self._refuse)
        try:
            number = operator.index(step)
        except TypeError:
            self._refuse()
        if number not in (0, -1):
            self._refuse()
        end = self._end(number)
        return end[tuple(parts)] if parts else end

    def _end(self, number: int) -> Any:
        """The first element (0) or the last one (-1)."""
        return self._last if number else self._first

    def __iter__(self) -> Iterator[Any]:
        if self._axis == 0:
            self._refuse()
        return (self[k] for k in range(len(self._first)))

    def __len__(self) -> int:
        if self._axis == 0:
            self._refuse()
        return len(self._first)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()

    def __array_function__(self, *args: Any) -> Any:
        self._refuse()

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()

    def __repr__(self) -> str:
        return f"<array with {self.ndim} axes; axis {self._axis} has the solver's steps>"


def _refused(self: StepsTaken, *others: Any) -> Any:
    self._refuse()


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    for _prefix in ("", "r"):
        setattr(StepsTaken, f"__{_prefix}{_name}__", _refused)
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "bool", "setitem",
              "contains"):  # fmt: skip
    setattr(StepsTaken, f"__{_name}__", _refused)
