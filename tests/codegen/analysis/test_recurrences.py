"""Recurrences: which loops are some, and that their selections have comparisons of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.analysis.recurrences import chain, is_recurrence, shares_comparisons
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_text.parse import parse_loops

TEXT = """loops steps:
  input x: f64[60]
  output y: f64[61]
  kernel k0:
    local c: f64[1]
    for i in 0..60:  # in turn
      s1 = x[i]
      s2 = {read}
      s3 = s1 < s2
      s4 = 0.0
      s5 = select(s3, s2, s4)
      s6 = s1 < s4
      s7 = select({second}, s4, s1)
      s8 = s5 + s7
      {write}
"""
GIVEN = {"read": "y[i]", "second": "s3", "write": "y[i + 1] = s8"}


def loop_of(**changes: str) -> Loop:
    program = parse_loops(TEXT.format(**{**GIVEN, **changes}))
    (loop,) = (s for s in walk(program.steps[0].body) if isinstance(s, Loop))
    return loop


@pytest.mark.parametrize(
    ("changes", "is_one"),
    [
        ({}, True),
        ({"read": "c[0]", "write": "c[0] = s8"}, True),
        ({"write": "y[i + 1] += s5"}, True),
        # Nothing that the step before has written.
        ({"read": "x[i]"}, False),
        ({"write": "y[i] = s8"}, False),
        ({"write": "y[i + 1] = s7"}, False),
        ({"read": "y[i + 1]", "write": "y[i] = s8"}, False),
        # Vector code may compute it.
        ({"write": "y[i + 1] = s5"}, False),
    ],
)
def test_what_is_a_recurrence(changes: dict[str, str], is_one: bool) -> None:
    loop = loop_of(**changes)
    assert is_recurrence(loop.body, loop.var) is is_one
    assert shares_comparisons(loop.body)
    assert not shares_comparisons(loop_of(**changes, second="s6").body)


def test_the_chain_is_what_waits_for_the_iteration_before() -> None:
    loop = loop_of()
    assert chain(loop.body, loop.var) == {1, 2, 4, 6, 7}  # s2, s3, s5, s7, s8
    assert not chain(loop_of(read="x[i]").body, loop.var)


def least(x: Any, y: Any) -> Any:
    cost = np.full((91, 91), 1e9)
    cost[0, 0] = 0.0
    for i in range(1, 91):
        for j in range(1, 91):
            here = (x[i - 1] - y[j - 1]) ** 2
            cost[i, j] = here + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[90, 90]


def clipped(x: Any, y: Any) -> Any:
    return np.sum(np.where(x < y, x, 0.0) * np.where(x < y, 0.0, y))


@pytest.mark.optimised
def test_only_recurrences_compare_again() -> None:
    x, y = np.random.default_rng(0).uniform(size=(2, 90))
    for f, again in (least, True), (clipped, False):
        text = jit(grad(f)).lower(x, y).text("llvm")
        assert ("call double @llvm.arithmetic.fence" in text) is again


@pytest.mark.optimised
def test_sums_of_a_chain_wait_for_no_product() -> None:
    x, y = np.random.default_rng(0).uniform(size=(2, 90))
    sums = [s for s in jit(least).lower(x, y).text("llvm").splitlines() if " = fadd " in s]
    assert sums
    assert not any("contract" in s for s in sums)

    def decayed(x: Any, y: Any) -> Any:
        for i in range(1, 90):
            y[i] = y[i - 1] * 0.9 + x[i]
        return y

    text = jit(lambda x, y: decayed(x, y.copy())).lower(x, y).text("llvm")
    assert "fadd contract" in text
