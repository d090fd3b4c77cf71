"""Facts that hold in all iterations of a bounded loop: comparisons, and computed indices.

    for j in 0..n, below k:          for j in 0..n, below k:
      c = j < k                        c = True
      i = k - 1 - j             ->     i = k - 1 - j
      d = i >= 0                       d = True
      p = select(c & d, i, 0)          p = select(c & d, i, 0)
      x[p of n]                        x[p of n]            # where p is the form k - 1 - j

Legal where the iterations outside of the bounds are not run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.nodes import Compute, Constant, Gather, IndexValue, Loop, ScatterInto
from autojit.codegen.loop_ir.traversal import bodies_of, defined
from autojit.codegen.loop_ir.values import Place, Scalar
from autojit.ir.core.affine import Affine, Bounds

_COMPARED = ("lt", "le", "gt", "ge")


def fold_inside(
    loop: Loop, holding: set[int], before: dict[int, Any], outer: Bounds, ends: dict[str, Affine]
) -> None:
    """Write down in a loop's body what its bounds imply.

    ``holding`` are the numbers of the comparisons that the bounds come from; ``before`` the
    statements that compute scalars outside; ``ends`` the first iteration and the one after the last
    as far as they are forms of outer variables, under ``from`` and ``below``.
    """
    _Inside(loop, holding, before, ends).follow(loop.body, outer)


class _Inside:
    def __init__(
        self, loop: Loop, holding: set[int], before: dict[int, Any], ends: dict[str, Affine]
    ) -> None:
        self.loop = loop
        self.holding = holding
        self.made = dict(before)
        self.ends = ends

    def follow(self, body: list[Any], bounds: Bounds) -> None:
        for number, s in enumerate(body):
            if isinstance(s, Compute) and s.name in _COMPARED and self._holds(s, bounds):
                s = body[number] = Constant(s.result, True)
            elif isinstance(s, (Gather, ScatterInto)):
                places = tuple(self._place(p, bounds) for p in s.places)
                if places != s.places or any(p.line is not None for p in places):
                    s = body[number] = replace(s, places=places)
            result = defined(s)
            if result is not None:
                self.made[result.number] = s
            inner = {**bounds, s.var: (s.start, s.stop - 1)} if isinstance(s, Loop) else bounds
            for statements in bodies_of(s):
                self.follow(statements, inner)

    def _holds(self, s: Compute, bounds: Bounds) -> bool:
        if s.result.number in self.holding:
            return True
        left, right = (self._line(a) for a in s.args)
        if left is None or right is None:
            return False
        less = right - left if s.name in ("lt", "le") else left - right
        return self._least(less, bounds) >= (1 if s.name in ("lt", "gt") else 0)

    def _least(self, line: Affine, bounds: Bounds) -> int:
        """A lower bound of a form in the iterations that are run."""
        var = self.loop.var
        stride, least = line.stride(var), line.range(bounds)[0]
        end = self.ends.get("from" if stride is not None and stride > 0 else "below")
        if not stride or end is None:
            return least
        at_end = end if stride > 0 else end - 1
        return max(least, (line.without(var) + at_end * stride).range(bounds)[0])

    def _line(self, x: Scalar) -> Affine | None:
        """An integer as a form of the loops' variables."""
        s = self.made.get(x.number)
        if isinstance(s, IndexValue):
            return s.index
        if isinstance(s, Constant) and x.dtype == "i64":
            return Affine(int(s.value))
        if isinstance(s, Compute) and s.name == "select" and self._is_true(s.args[0]):
            return self._line(s.args[1])
        return None

    def _is_true(self, x: Scalar) -> bool:
        s = self.made.get(x.number)
        if isinstance(s, Compute) and s.name == "and":
            return all(map(self._is_true, s.args))
        return isinstance(s, Constant) and x.dtype == "bool" and bool(np.all(s.value))

    def _place(self, place: Place, bounds: Bounds) -> Place:
        """A computed index with its form, if it is certainly within its range."""
        line = self._line(place.scalar)
        if line is None or self.loop.var not in line.variables():
            return place
        inside = self._least(line, bounds) >= 0 and (
            self._least(line * -1 + (place.extent - 1), bounds) >= 0
        )
        return replace(place, line=line) if inside else place
