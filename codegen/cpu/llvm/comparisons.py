"""Comparisons for selections in a recurrence: each selection has its own, and no jump.

    for i in 0..n:
      c = u[i] < v[i]
      y[i + 1] = select(c, y[i], 0.0) * …
      z[i + 1] = select(c, 0.0, y[i]) * …

On x86, LLVM writes a selection of scalar floats as bit operations if the comparison has no other
use, and as a jump otherwise. The reverse of a minimum has two such selections. Wrong predictions of
the jumps took more than half of the time of a recurrence over random numbers. So each further
selection compares again, with an operand behind ``llvm.arithmetic.fence``: LLVM does not know that
it is the same number.  The fence prevents vector code, so it is for recurrences only.
"""

from __future__ import annotations

from collections import Counter

from llvmlite import ir

from autojit.codegen.loop_ir.nodes import Compute
from autojit.codegen.loop_ir.vocabulary import PREDICATES

from .scalars import Scalars


class Comparisons:
    """The comparisons of selections in a recurrence."""

    def __init__(self, scalars: Scalars) -> None:
        self.scalars = scalars
        self._made: dict[int, tuple[Compute, list[ir.Value]]] = {}
        self._uses = Counter[int]()

    def see(self, s: Compute, args: list[ir.Value]) -> None:
        """Note a comparison of floats."""
        if s.name in PREDICATES and s.args[0].dtype in ("f32", "f64"):
            self._made[s.result.number] = s, args

    def own(self, s: Compute, condition: ir.Value) -> ir.Value:
        """The condition of a selection: a comparison with no other use, up to the fourth one."""
        number = s.args[0].number
        if number not in self._made or self._made[number][0].args[0].dtype != s.result.dtype:
            return condition
        uses = self._uses[number]
        self._uses[number] += 1
        if uses not in (1, 2, 3):  # the first has the comparison as it is
            return condition
        compared, operands = self._made[number]
        x, y = (
            self._fenced(v) if uses & bit else v for v, bit in zip(operands, (1, 2), strict=True)
        )
        return self.scalars.compare(compared.name, x, y, s.result.dtype)

    def _fenced(self, value: ir.Value) -> ir.Value:
        kind = ir.FunctionType(value.type, [value.type])
        module = self.scalars.module
        fence = module.declare_intrinsic("llvm.arithmetic.fence", [value.type], kind)
        return self.scalars.builder.call(fence, [value])
