"""Known values of scalars when conditions are false."""

from __future__ import annotations

from typing import Any

from autojit.codegen.analysis.no_effect import has_no_effect
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.traversal import defined, ranges, walk
from autojit.codegen.loop_text.parse import parse_loops

#: The task computes s1 again, by the statement "{again}".
TEXT = """loops tasks:
  input x: f64[20]
  output y: f64[20]
  kernel k0:
    s1 = 0.0
    s8 = 7
    for task i in 0..2, in threads if that is faster:
      a0 = 0.0
      for j in 0..20:  # reduces
        s1 = {again}
        s2 = i64(j)
        s3 = s2 < s8
        s4 = x[j]
        s5 = select(s3, s4, s1)
        a0 += s5
      s6 = a0
      y[10*i] = s6
"""


def found(again: str) -> bool:
    kernel: Any = parse_loops(TEXT.format(again=again)).steps[0]
    loop = next(s for s in walk(kernel.body) if isinstance(s, Loop))
    before = {defined(s).number: s for s in kernel.body[:2]}  # type: ignore[union-attr]
    wrong = {s.result.number for s in loop.body if getattr(s, "name", "") == "lt"}
    return has_no_effect(loop.body, wrong, before, ranges([loop]))


def test_a_scalar_that_is_computed_again_is_not_what_it_was() -> None:
    assert found("0.0")
    assert not found("x[j]")
