"""What a comparison says about the integers of the branches that it selects."""

from __future__ import annotations

import math

import pytest

import autojit
from autojit.ir.autodiff.final.branches import branch_test, in_branch
from autojit.ir.autodiff.final.integers import Bounds, Integers, made_by

TEXT = """program main(%i: i64[], %k: i64[]) {
  %t: bool[] = KIND %i, %k
  %n: i64[] = convert %t {dtype=i64}
  %x: i64[] = switch %n, %i, %k {branches=(program no(%i: i64[], %k: i64[]) {
    return %i
  }, program yes(%i: i64[], %k: i64[]) {
    return %k
  })}
  return %x
}"""
#: By the comparison and the branch: the least values of `k - i` and of `i - k` there.
LEAST = {
    ("lt", 1): (1, -math.inf), ("lt", 0): (-math.inf, 0), ("le", 1): (0, -math.inf),
    ("gt", 1): (-math.inf, 1), ("ge", 0): (1, -math.inf), ("eq", 1): (0, 0),
    ("ne", 0): (0, 0), ("eq", 0): (-math.inf, -math.inf), ("ne", 1): (-math.inf, -math.inf),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "number"), LEAST)
def test_facts_hold_in_the_branch_that_is_taken_only(kind: str, number: int) -> None:
    program = autojit.parse(TEXT.replace("KIND", kind))
    outer = Integers(Bounds(), made_by(program.ops))
    i, k = map(outer.of, program.inputs)
    inner = in_branch(program.ops[2], number, outer)
    assert (inner.bounds.least(k - i), inner.bounds.least(i - k)) == LEAST[kind, number]
    assert outer.bounds.least(k - i) == outer.bounds.least(i - k) == -math.inf
    found = branch_test(program.ops[2], number, outer)
    assert found is not None
    opposite = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
    assert found[0].name == (kind if number else opposite[kind])
