"""Rows that loops inside a step read: which are read before the loops, and that values are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit
from autojit.ir.autodiff.final.integers import Bounds, Integers, made_by
from autojit.ir.autodiff.final.rows import with_rows
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.verifier import verify

LOOP = """program main(%a: f64[5,7], %n: i64[]) {
  %k: i64[] = constant {dtype=i64, shape=(), value=3}
  %zero: i64[] = constant {dtype=i64, shape=(), value=0}
  %s: f64[] = constant {dtype=f64, shape=(), value=0.0}
  %m: i64[] = constant {dtype=i64, shape=(), value=4}
  %e: i64[], %x: f64[] = while %a, %k, %m, %zero, %s {backward=(False,), carries=(2,), \
condition=program condition(%a: f64[5,7], %k: i64[], %m: i64[], %j: i64[], %s: f64[]) {
    %t: bool[] = lt %j, %m
    return %t
  }, constants=3, \
sweeps=(program step(%a: f64[5,7], %k: i64[], %m: i64[], %j: i64[], %s: f64[]) {
    %v: f64[] = gather %a, %k, %j {axes=(0, 1)}
    %w: f64[] = add %s, %v
    %one: i64[] = constant {dtype=i64, shape=(), value=1}
    %next: i64[] = add %j, %one
    return %next, %w
  },)}
  return %x
}"""
BRANCH = """program main(%a: f64[5,7], %n: i64[]) {
  %k: i64[] = constant {dtype=i64, shape=(), value=3}
  %x: f64[] = switch %n, %a, %k {branches=(program no(%a: f64[5,7], %k: i64[]) {
    %z: f64[] = constant {dtype=f64, shape=(), value=0.0}
    return %z
  }, program yes(%a: f64[5,7], %k: i64[]) {
    %r: f64[7] = gather %a, %k {axes=(0,)}
    %y: f64[] = sum %r {axes=(0,)}
    return %y
  })}
  return %x
}"""


def rewritten(program: Program) -> Program:
    ops = with_rows(program.ops, Integers(Bounds(), made_by(program.ops)))
    return Program(program.inputs, ops, program.outputs, name=program.name)


@pytest.mark.parametrize(
    ("text", "edit", "legal"),
    [
        (LOOP, ("", ""), True),
        (LOOP, ("gather %a, %k, %j", "gather %a, %m, %j"), True),
        (BRANCH, ("", ""), True),
        # The index may be outside of the array, which only a step that is made would notice.
        (LOOP, ("value=3", "value=5"), False),
        (LOOP, ("value=3", "value=-1"), False),
        (LOOP, ("while %a, %k,", "while %a, %n,"), False),
        (BRANCH, ("switch %n, %a, %k", "switch %n, %a, %n"), False),
        # Each step reads another row.
        (LOOP, ("gather %a, %k, %j", "gather %a, %j, %j"), False),
    ],
)  # fmt: skip
def test_rows_of_one_index_are_read_before_a_loop(
    text: str, edit: tuple[str, str], legal: bool
) -> None:
    program = autojit.parse(text.replace(*edit))
    made = rewritten(program)
    verify(made)
    assert (len(made.ops) > len(program.ops)) is legal
    a = np.random.default_rng(0).normal(size=(5, 7))
    for n in (0, 1) if legal else ():
        got, wanted = (interpret(each, [a, np.int64(n)])[0] for each in (made, program))
        assert got == pytest.approx(wanted, rel=1e-15)
    if legal:
        inner: Any = next(op for op in made.ops if op.kind.name in ("while", "switch"))
        assert all(v.shape != (5, 7) for v in inner.operands)
