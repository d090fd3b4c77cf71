"""Affine forms of integers are valid only if the integers do not wrap around."""

from __future__ import annotations

import pytest

import autojit
from autojit.ir.autodiff.final.integers import Bounds, Integers, made_by


@pytest.mark.parametrize(
    ("dtype", "step", "known"),
    [("i64", 1, True), ("i32", 1, False), ("i8", 1, False), ("i64", 2**31, False)],
)
def test_counters_that_may_wrap_around_have_no_form(dtype: str, step: int, known: bool) -> None:
    program = autojit.parse(f"""program main(%k: {dtype}[]) {{
  %by: {dtype}[] = constant {{dtype={dtype}, shape=(), value={step}}}
  %next: {dtype}[] = add %k, %by
  return %next
}}""")
    integers = Integers(Bounds(), made_by(program.ops))
    apart = integers.of(program.outputs[0]) - integers.of(program.inputs[0])
    assert (not apart.terms) is known
    assert not known or apart.constant == step
