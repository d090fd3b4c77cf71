"""Each pass on a legal program and on programs that break one of its conditions, which must stay
unchanged.

A row is a legal program, which the pass changes, and edits of its text that make it illegal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.linear import constant
from autojit.ir.passes import optimize
from autojit.ir.passes.reroll.bodies import as_arrays
from autojit.ir.passes.reroll.numbers import with_arrays
from autojit.ir.passes.reroll.reroll import roll
from autojit.ir.regions.scan import scan
from autojit.ir.rewriting import bodies
from autojit.ir.rewriting.rewrite import rewrite
from autojit.ir.simplification import simplify
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests.ir.modules import PASSES, REWRITES, documentation, pass_named
from tests.ir.passes.legal_programs import (
    ADDED,
    ADDED_TO_ONE,
    BRANCHES_UNDONE,
    CHAIN,
    CHOSEN,
    CLEARED,
    COUNTED,
    DOUBLED,
    EARLY_PRODUCT,
    FIRST_READS,
    HORNER,
    INNER_LOOP,
    LATE_ROWS,
    LATE_SUM,
    LOOP,
    NESTED,
    NUMBERS,
    NUMBERS_CHOSEN,
    PART,
    PICK,
    PICKED,
    READS,
    RECURRENCE,
    RESTORE,
    ROWS_UNDONE,
    SCALARS,
    SEGMENTS,
    SET,
    SHIFT,
    STORED,
    STREAM,
    SUM,
    SUMMED,
    UNEVEN,
    WINDOWS,
    WRITES,
    unary,
    with_constant,
)
from tests.ir.random_programs import arguments_for


@dataclass(frozen=True)
class Row:
    """``edits`` change the program's text; each must be found in it."""

    module: str
    why: str
    program: str
    edits: tuple[tuple[str, str], ...]

    def illegal(self) -> Program:
        text = self.program
        for old, new in self.edits:
            assert old in text, (self.why, old)
            text = text.replace(old, new)
        return parse(text)


def row(module: str, why: str, program: str, *edits: tuple[str, str]) -> Row:
    text = program.strip().replace("(\n", "(", 1) if program.lstrip().startswith("(\n") else program
    return Row(module, why, f"program main{text}", edits)


TABLE = [
    # -- the passes of one rule each
    row("rewriting.cse", "operands change places", """(%a: f64[3], %b: f64[3]) {
      %c: f64[3] = add %a, %b
      %d: f64[3] = add %b, %a
      return %c, %d
    }""", ("add", "maximum")),
    row("rewriting.cse", "the sign of a zero", """() {
      %a: f64[] = constant {dtype=f64, shape=(), value=0.0}
      %b: f64[] = constant {dtype=f64, shape=(), value=-0.0}
      return %a, %b
    }""".replace("-0.0", "0.00"), ("0.00", "-0.0")),
    row("rewriting.dce", "an output depends on it", """(%x: f64[3]) {
      %a: f64[3] = sin %x
      %b: f64[3] = exp %a
      return %a
    }""", ("return %a", "return %b")),
    row("rewriting.fold", "it fails at run time", """() {
      %a: i64[] = constant {dtype=i64, shape=(), value=2}
      %b: i64[] = constant {dtype=i64, shape=(), value=3}
      %c: i64[] = power %a, %b
      return %c
    }""", ("value=3", "value=-3")),
    row("rewriting.fold", "the sum is rounded", """() {
      %a: f64[1000] = constant {dtype=f64, shape=(1000,), value=0.75}
      %b: f64[] = sum %a {axes=(0,)}
      return %b
    }""", ("0.75", "0.1")),
    row("autodiff.zero_cotangents", "the result depends on the shift", """(%x: f64[5]) {
      %m: f64[] = max %x {axes=(0,)}
      %b: f64[5] = broadcast %m {dims=(), shape=(5,)}
      %d: f64[5] = sub %x, %b
      %e: f64[5] = exp %d
      %s: f64[] = sum %e {axes=(0,)}
      %l: f64[] = log %s
      %y: f64[] = add %l, %m
      return %y
    }""", ("add %l, %m", "sub %l, %m")),
    row("rewriting.inline_calls", "the call is to be repeated in reverse mode", """(%x: f64[3]) {
      %y: f64[3] = checkpoint %x {body=program f(%0: f64[3]) {
        %1: f64[3] = sin %0
        return %1
      }, keep=False, policy="nothing"}
      return %y
    }""", ("keep=False", "keep=True")),
    row("autodiff.indexed_scans",
        "the last step reads beyond the end", READS, ("value=1}", "value=2}")),
    row("autodiff.indexed_scans",
        "the first step reads before the beginning", READS, ("value=1}", "value=-1}")),
    row("autodiff.indexed_scans", "steps write to one place", WRITES, ("value=1}", "value=0}")),
    row("autodiff.indexed_scans", "a step reads what it has written", WRITES,
        ("return %2", "%s: f64[] = sum %2 {axes=(0,)}\n%t: f64[] = sin %s\n"
                      "%3: f64[9] = update %2, %q {start=(0,), stride=(1,)}\nreturn %3"),
        ("%3: f64[9]", "%q: f64[1] = reshape %t {shape=(1,)}\n%3: f64[9]")),
    row("autodiff.indexed_scans", "numbers of this dtype wrap", CHOSEN,
        ("%3: i64[]", "%3: u8[]"), ("%5: i64[]", "%5: u8[]"), ("%k: i64[]", "%k: u8[]"),
        ("dtype=i64, shape=(), value=3", "dtype=u8, shape=(), value=3"),
        ("dtype=i64, shape=(), value=5", "dtype=u8, shape=(), value=5")),
    row("autodiff.branch_stores", "a branch computes another array", STORED,
        ("%4: f64[9] = scatter %0, %3, %2 {axes=(0,)}", "%4: f64[9] = neg %0")),
    row("autodiff.branch_stores", "a branch stores twice", STORED,
        ("%4: f64[9] = scatter %0, %3, %2 {axes=(0,)}",
         "%5: f64[9] = scatter %0, %1, %2 {axes=(0,)}\n"
         "%4: f64[9] = scatter %5, %3, %2 {axes=(0,)}")),
    row("autodiff.branch_stores", "what is stored is read", STORED,
        ("%4: f64[9] = scatter %0, %3, %2 {axes=(0,)}",
         "%5: f64[9] = scatter %0, %3, %2 {axes=(0,)}\n"
         "%6: f64[] = sum %5 {axes=(0,)}\n"
         "%4: f64[9] = scatter %5, %6, %2 {axes=(0,)}")),
    row("autodiff.branch_stores", "no branch stores", STORED,
        ("return %3", "return %0"), ("return %4", "return %0")),
    row("autodiff.branch_elements", "only the branch knows the place", PICKED,
        ("add %2, %2", "sum %1 {axes=(0,)}")),
    row("autodiff.branch_elements", "computing the place may fail", PICKED,
        ("add %2, %2", "power %2, %2")),
    row("autodiff.branch_elements", "the array is read otherwise", PICKED,
        ("convert %3 {dtype=f64}", "sum %0 {axes=(0,)}")),
    row("passes.loops.select_branches", "a branch may fail", NUMBERS_CHOSEN,
        ("mul %1, %1", "power %1, %1")),
    row("passes.algebra.push_gathers",
        "rows that are not picked may fail", PICK, ("mul %w", "power %w")),
    row("passes.algebra.push_gathers", "all rows are read", PICK, ("return %r", "return %r, %y")),
    row("passes.algebra.push_gathers",
        "nothing would check the indices", PICK, ("mul %w, %x", "mul %w, %w")),
    row("passes.algebra.quotients",
        "another divisor", """(%0: f64[4], %1: f64[4], %2: f64[4], %3: f64[4]) {
      %4: f64[4] = div %0, %1
      %5: f64[4] = div %2, %1
      %6: f64[4] = neg %5
      %9: f64[4] = mul %0, %6
      return %4, %9
    }""", ("div %2, %1", "div %2, %3")),
    row("passes.algebra.sorted_places",
        "the places are of other values", """(%0: f64[3,5], %1: f64[3,5]) {
      %2: f64[3,5] = sort %0
      %3: i64[3,5] = argsort %0
      return %2, %3
    }""", ("argsort %0", "argsort %1")),
    row("passes.loops.distribute_recurrences",
        "the state is squared", RECURRENCE, ("mul %u, %2", "mul %u, %u")),
    row("passes.loops.distribute_recurrences", "the choice depends on the state", RECURRENCE,
        ("%4: f64[] = add %3, %g", "%b: bool[] = lt %u, %g\n%4: f64[] = select %b, %3, %u")),
    row("passes.loops.undo_tapes",
        "the reader runs the same way", RESTORE, ("reverse=True", "reverse=False")),
    row("passes.loops.undo_tapes",
        "the tape is a result", RESTORE, ("return %l, %r", "return %l, %r, %tape")),
    row("passes.loops.undo_tapes", "the inner loop may have any number of steps", INNER_LOOP,
        ("lt %1, %0", "ne %1, %0")),
    row("passes.loops.undo_tapes", "the inner loop may run backwards", INNER_LOOP,
        ("%7: i64[] = add %1, %6", "%7: i64[] = sub %1, %6")),
    row("passes.loops.undo_tapes", "the inner loop's counter may stand still", INNER_LOOP,
        ("%6: i64[] = constant {dtype=i64, shape=(), value=1}",
         "%6: i64[] = constant {dtype=i64, shape=(), value=0}"), ("lt %1, %0", "lt %0, %1")),
    row("passes.loops.undo_tapes", "the inner loop computes the array anew", INNER_LOOP,
        ("%5: f64[99] = scatter %2, %4, %1 {axes=(0,)}", "%5: f64[99] = sin %2")),
    row("passes.loops.recomputed_tapes", "the reader runs the same way", PART,
        ("reverse=True", "reverse=False")),
    row("passes.loops.recomputed_tapes", "the tape is a result", PART,
        ("return %l, %r", "return %l, %r, %tape")),
    row("passes.loops.nested_tapes", "the reader runs the same way", NESTED,
        ("length=6, reverse=True", "length=6, reverse=False")),
    row("passes.loops.nested_tapes", "the tape is a result", NESTED,
        ("return %l, %r\n}", "return %l, %r, %tapes\n}")),
    row("passes.loops.nested_tapes", "the step of the outer loop reads the row", NESTED,
        ("    return %r\n", "    %s: f64[] = sum %row {axes=(0, 1)}\n"
         "    %t: f64[] = add %r, %s\n    return %t\n")),
    row("passes.loops.nested_tapes", "steps compute the array anew", NESTED,
        ("%4: f64[40] = scatter %1, %3, %2 {axes=(0,)}", "%4: f64[40] = sin %1")),
    row("passes.loops.undo_steps", "the reader runs the same way", STREAM,
        ("backward=(False, True)", "backward=(False, False)")),
    row("passes.loops.undo_steps", "steps compute the array anew", STREAM,
        ("%6: f64[40] = scatter %1, %3, %5 {axes=(0,)}", "%6: f64[40] = sin %1")),
    row("passes.loops.recomputed_streams", "the reader runs the same way", DOUBLED,
        ("backward=(False, True)", "backward=(False, False)")),
    row("passes.loops.recomputed_streams", "steps compute the array anew", DOUBLED,
        ("%6: f64[40] = scatter %1, %3, %5 {axes=(0,)}", "%6: f64[40] = sin %1")),
    row("passes.loops.begun_sums", "it does not begin with zero", ADDED,
        ("value=0.0", "value=1.0")),
    row("passes.loops.begun_sums", "steps read the sum", ADDED, ("broadcast %2", "broadcast %q"),
        ("%4: f64[9]", "%p: i64[] = constant {dtype=i64, shape=(), value=0}\n"
                       "%q: f64[] = gather %3, %p {axes=(0,)}\n%4: f64[9]")),
    row("passes.loops.begun_sums", "the result is read otherwise", ADDED,
        ("return %y", "return %y, %s")),
    row("passes.loops.begun_sums", "what is added depends on the loop", ADDED,
        ("scan %z, %v", "scan %z, %z2, %v"), ("%s: f64[9]", "%s: f64[9], %t: f64[9]"),
        ("%2: f64[]) {", "%n: f64[9], %2: f64[]) {"),
        ("return %5", "%n2: f64[9] = sin %n\nreturn %5, %n2"), ("carries=1", "carries=2"),
        ("%z: f64[9]", "%z2: f64[9] = cos %x\n%z: f64[9]"), ("sin %x", "sin %t")),
    row("passes.loops.begun_sums", "steps multiply the sum", ADDED, ("add %4, %3", "mul %4, %3")),
    row("passes.loops.counted_back", "the reader runs the same way", COUNTED,
        ("backward=(False, True)", "backward=(False, False)")),
    row("passes.loops.counted_back", "a carry is no counter", COUNTED, ("add %3", "mul %3")),
    row("passes.loops.counted_back", "the counter that ends the loop grows by two", COUNTED,
        ("add %2, %one", "add %2, %two")),
    row("passes.loops.counted_back", "the loop ends by another test", COUNTED, ("lt %2", "ne %2")),
    row("passes.loops.restored_elements", "another element is picked", CLEARED,
        ("gather %x, %i", "gather %x, %j")),
    row("passes.loops.restored_elements", "it is not cleared", CLEARED, ("value=0.0", "value=1.0")),
    row("passes.loops.restored_elements", "the array is read in between", CLEARED,
        ("%w: f64[9]", "%q: f64[] = gather %z, %i {axes=(0,)}\n%w: f64[9]"),
        ("return %w", "return %w, %q")),
    row("passes.loops.restored_elements", "the array is changed otherwise in between", CLEARED,
        ("add_at %y, %b, %j", "scatter %y, %b, %j")),
    row("passes.loops.summed_elements", "a step reads the element", SUMMED,
        ("gather %4, %3", "gather %4, %1")),
    row("passes.loops.summed_elements", "a step may come to the element", SUMMED,
        ("%s: i64[] = constant {dtype=i64, shape=(), value=4}",
         "%s: i64[] = constant {dtype=i64, shape=(), value=2}")),
    row("passes.loops.summed_elements", "the element may lie outside", SUMMED,
        ("(%x: f64[9], %a: f64[9])", "(%x: f64[9], %a: f64[9], %k: i64[])"),
        ("%k: i64[] = constant {dtype=i64, shape=(), value=3}", "")),
    row("passes.loops.summed_elements", "the element differs from step to step", SUMMED,
        ("add_at %4, %8, %1", "add_at %4, %8, %3")),
    row("passes.loops.first_reads", "a step reads what an earlier one has written", FIRST_READS,
        ("gather %2, %4", "gather %2, %0"), ("scatter %2, %6, %1", "scatter %2, %6, %0")),
    row("passes.loops.first_reads", "a step reads what it has written itself", FIRST_READS,
        ("gather %7, %4", "gather %7, %1")),
    row("passes.loops.first_reads", "the loop counts down to what it has written", FIRST_READS,
        ("scatter %2, %6, %1", "scatter %2, %6, %4"), ("gather %2, %4", "gather %2, %1")),
    row("passes.loops.first_reads", "the array is read after the loop", FIRST_READS,
        ("return %r, %x", "return %r, %y")),
    row("passes.loops.first_reads", "the array is pushed", FIRST_READS,
        ("return %4, %7, %5, %8", "return %4, %7, %5, %8, %7"),
        ("%3: f64[]) {\n    %4: f64[] = mul", "%9: f64[9], %3: f64[]) {\n    %4: f64[] = mul")),
    row("passes.loops.undo_tapes", "a branch makes the array otherwise", BRANCHES_UNDONE,
        ("return %0, %1\n", "%3: f64[40] = sin %0\n      return %3, %1\n")),
    row("passes.loops.undo_tapes", "branches replace much", BRANCHES_UNDONE, ("f64[40]", "f64[9]"),
        ("f64[6,40]", "f64[6,9]")),
    row("passes.loops.undo_tapes", "an inner loop makes the array otherwise", ROWS_UNDONE,
        ("return %7\n", "%8: f64[40] = sin %7\n      return %8\n")),
    row("passes.loops.undo_tapes", "an inner loop replaces much", ROWS_UNDONE,
        ("f64[40]", "f64[15]"), ("f64[6,40]", "f64[6,15]")),
    row("passes.loops.scalar_replacement",
        "elements that nobody reads may fail", SCALARS, ("mul %4", "power %4")),
    row("passes.algebra.shares", "the divisor is no count", """(%0: f64[5,3], %n: f64[5]) {
      %3: bool[5,3] = isnan %0
      %4: f64[5,3] = convert %3 {dtype=f64}
      %5: f64[5] = sum %4 {axes=(1,)}
      %6: f64[5,3] = broadcast %5 {dims=(0,), shape=(5, 3)}
      %7: f64[5,3] = div %4, %6
      return %7
    }""", ("broadcast %5", "broadcast %n")),
    row("passes.algebra.push_reductions", "the factor differs along what is summed", """(
        %0: f64[4,3], %1: f64[3,4], %2: f64[4]) {
      %3: f64[4,4] = dot %0, %1 {batch=((), ()), contract=((1,), (0,))}
      %4: f64[4,4] = broadcast %2 {dims=(1,), shape=(4, 4)}
      %5: f64[4,4] = mul %3, %4
      %6: f64[4] = sum %5 {axes=(0,)}
      return %6
    }""", ("dims=(1,)", "dims=(0,)")),
    row("passes.algebra.push_reductions",
        "the product is read otherwise too", """(%0: f64[5,3], %1: f64[3,4]) {
      %2: f64[5,4] = dot %0, %1 {batch=((), ()), contract=((1,), (0,))}
      %3: f64[4] = sum %2 {axes=(0,)}
      return %3
    }""", ("return %3", "return %3, %2")),
    row("passes.algebra.push_reductions",
        "nothing is summed: 0, also where a factor is infinite", """(
        %0: f64[4,3], %1: f64[3,4], %2: f64[4]) {
      %3: f64[4,4] = dot %0, %1 {batch=((), ()), contract=((1,), (0,))}
      %4: f64[4,4] = broadcast %2 {dims=(1,), shape=(4, 4)}
      %5: f64[4,4] = mul %3, %4
      %6: f64[4] = sum %5 {axes=(0,)}
      return %6
    }""", ("%0: f64[4,3]", "%0: f64[0,3]"), ("f64[4,4]", "f64[0,4]"), ("(4, 4)", "(0, 4)")),
    row("passes.algebra.masked_products", "elements without the mask are read", EARLY_PRODUCT,
        ("select %7, %11, %2", "add %11, %2")),
    row("passes.algebra.masked_products", "elements outside the mask are read", EARLY_PRODUCT,
        ("select %7, %11, %2", "select %7, %2, %11")),
    row("passes.algebra.masked_products", "the factor is a carry", EARLY_PRODUCT,
        ("dot %3", "dot %2")),
    row("passes.algebra.masked_products", "the mask depends on a carry", EARLY_PRODUCT,
        ("broadcast %1 {dims=(), shape=(128,)}", "convert %2 {dtype=i64}")),
    row("passes.algebra.masked_products", "the mask is along the sum", EARLY_PRODUCT,
        ("dims=(1,)", "dims=(0,)")),
    row("passes.algebra.masked_products", "what the mask drops is not zero", EARLY_PRODUCT,
        ("value=0.0", "value=1.0")),
    row("passes.algebra.masked_products", "the step reads the product", LATE_ROWS,
        ("mul %2, %3", "mul %2, %11")),
    row("passes.algebra.masked_products", "the matrix changes", LATE_ROWS,
        ("%10: f64[128,128]", "%13: f64[128,128] = add %9, %9\n    %10: f64[128,128]"),
        ("select %8, %0, %9", "select %8, %13, %9")),
    row("passes.algebra.masked_products", "the mask is along the result", LATE_ROWS,
        ("dims=(1,)", "dims=(0,)")),
    row("passes.algebra.masked_products", "the step reads the sum", LATE_SUM,
        ("mul %2, %3", "sum %0 {axes=(0,)}")),
    row("passes.algebra.masked_products", "the step does not add the product", LATE_SUM,
        ("add %0, %11", "maximum %0, %11")),
    row("passes.algebra.masked_products", "the mask depends on a carry", LATE_SUM,
        ("broadcast %1 {dims=(), shape=(128,)}", "convert %2 {dtype=i64}")),
    row("passes.algebra.swap_products",
        "another order of the axes", """(%0: f64[2,5,40], %1: f64[2,5,3]) {
      %5: f64[2,40,3] = dot %0, %1 {batch=((0,), (0,)), contract=((1,), (1,))}
      %6: f64[2,3,40] = transpose %5 {axes=(0, 2, 1)}
      return %6
    }""", ("%6: f64[2,3,40]", "%6: f64[3,2,40]"), ("axes=(0, 2, 1)", "axes=(2, 0, 1)")),
    row("passes.loops.rematerialize_tapes", "the reader runs the same way", SEGMENTS,
        ("reverse=True", "reverse=False")),
    row("passes.loops.rematerialize_tapes", "the tape is a result", SEGMENTS,
        ("return %y, %h", "return %y, %h, %t")),
    row("passes.loops.unroll",
        "the steps are no whole number of sweeps", HORNER, ("length=12", "length=11")),
    row("rewriting.bodies", "the operand is not known", """(%0: f64[]) {
      %c: f64[] = constant {dtype=f64, shape=(), value=2.0}
      %1: f64[] = scan %c, %0 {body=program body(%0: f64[], %1: i64[], %2: f64[]) {
        %3: f64[] = mul %2, %0
        return %3
      }, carries=1, constants=1, length=9, reverse=False}
      return %1
    }""", ("scan %c, %0", "scan %0, %c")),
    # -- the rules of `simplify`
    row("simplification.simplify", "no rule applies", unary("neg"), ("neg %x", "sin %x")),
    row("simplification.arithmetic",
        "-0.0 + 0.0 is 0.0", with_constant("add", "-0.0"), ("-0.0", "0.0")),
    row("simplification.arithmetic",
        "-0.0 - -0.0 is 0.0", with_constant("sub", "0.0"), ("0.0", "-0.0")),
    row("simplification.arithmetic",
        "infinity and NaN", with_constant("mul", "1.0"), ("1.0", "0.0")),
    row("simplification.arithmetic",
        "1 / 3 is rounded", with_constant("div", "4.0"), ("4.0", "3.0")),
    row("simplification.arithmetic", "-1 of an unsigned dtype is no magnitude", unary("abs"),
        ("f64", "u8")),
    row("simplification.arithmetic", "sqrt differs at -0.0", with_constant("power", "2.0"),
        ("2.0", "0.5")),
    row("simplification.arithmetic", "an error belongs to the run", """(%x: i64[3]) {
      %c: i64[3] = constant {dtype=i64, shape=(3,), value=2}
      %y: i64[3] = power %x, %c
      return %y
    }""", ("value=2", "value=-2")),
    row("simplification.choice", "NaN is not ordered", """(%a: f64[3], %b: f64[3]) {
      %c: bool[3] = eq %a, %b
      %d: bool[3] = not %c
      return %d
    }""", ("eq %a", "lt %a")),
    row("simplification.choice", "the dtype between is narrower", """(%x: f32[3]) {
      %a: f64[3] = convert %x {dtype=f64}
      %b: f32[3] = convert %a {dtype=f32}
      return %b
    }""", ("f64", "f16x"), ("f32", "f64"), ("f16x", "f32")),
    row("simplification.choice", "half precision rounds", """(%x: f16[3]) {
      %a: f32[3] = convert %x {dtype=f32}
      %b: f16[3] = convert %a {dtype=f16}
      return %b
    }""", ("f16", "f3x"), ("f32", "f16"), ("f3x", "f32")),
    row("passes.algebra.widen_halves", "elements are moved only", """(%x: f16[3]) {
      %a: f16[3] = neg %x
      return %a
    }""", ("neg %x", "flip %x {axes=(0,)}")),
    row("simplification.arithmetic", "half precision is soon too large", """(%x: f32[3]) {
      %c: f32[3] = constant {dtype=f32, shape=(3,), value=1024.0}
      %y: f32[3] = mul %x, %c
      %z: f32[3] = mul %y, %c
      return %z
    }""", ("f32", "f16")),
    row("simplification.products", "half precision rounds each sum", """(%x: f32[9], %y: f32[]) {
      %r: f32[9] = broadcast %y {dims=(), shape=(9,)}
      %z: f32[] = dot %x, %r {batch=((), ()), contract=((0,), (0,))}
      return %z
    }""", ("f32", "f16")),
    row("simplification.moves", "half precision rounds each sum", """(%x: f32[]) {
      %r: f32[9] = broadcast %x {dims=(), shape=(9,)}
      %z: f32[] = sum %r {axes=(0,)}
      return %z
    }""", ("f32", "f16")),
    row("simplification.choice", "float64 has not every int64", """(%x: i32[3]) {
      %a: f64[3] = convert %x {dtype=f64}
      %b: bool[3] = convert %a {dtype=bool}
      return %b
    }""", ("i32", "i64")),
    row("simplification.masks", "the conditions differ", """(
      %c: bool[3], %d: bool[3], %x: f64[3], %y: f64[3]) {
      %z: f64[3] = constant {dtype=f64, shape=(3,), value=0.0}
      %a: f64[3] = select %c, %z, %x
      %b: f64[3] = select %c, %y, %z
      %s: f64[3] = add %a, %b
      return %s
    }""", ("select %c, %y", "select %d, %y")),
    row("simplification.masks", "what is added is no zero", """(
      %c: bool[3], %x: f64[3], %y: f64[3]) {
      %z: f64[3] = constant {dtype=f64, shape=(3,), value=0.0}
      %a: f64[3] = select %c, %z, %x
      %b: f64[3] = select %c, %y, %z
      %s: f64[3] = add %a, %b
      return %s
    }""", ("value=0.0", "value=1.0")),
    row("simplification.moves",
        "sums of truths are no sums at places", """(%x: f64[100], %v: f64[2]) {
      %z: f64[100] = constant {dtype=f64, shape=(100,), value=0}
      %u: f64[100] = update %z, %v {start=(3,), stride=(1,)}
      %y: f64[100] = add %x, %u
      return %y
    }""".replace("f64", "i64"), ("i64", "bool"), ("value=0", "value=False")),
    row("simplification.moves", "a complex product mixes the parts", """(%x: f64[]) {
      %b: f64[3] = broadcast %x {dims=(), shape=(3,)}
      %y: f64[] = sum %b {axes=(0,)}
      return %y
    }""", ("f64", "c128")),
    row("simplification.moves", "the sum of nothing is 0", """(%x: f64[]) {
      %b: f64[3] = broadcast %x {dims=(), shape=(3,)}
      %y: f64[] = sum %b {axes=(0,)}
      return %y
    }""", ("f64[3]", "f64[0]"), ("(3,)", "(0,)")),
    row("simplification.parts", "one element is not replaced again", """(
        %x: f64[9], %v: f64[3], %w: f64[5]) {
      %a: f64[9] = update %x, %v {start=(1,), stride=(2,)}
      %b: f64[9] = update %a, %w {start=(1,), stride=(1,)}
      return %b
    }""", ("%w {start=(1,)", "%w {start=(2,)")),
    row("simplification.parts", "the part reaches across the border", """(%x: f64[9], %v: f64[3]) {
      %a: f64[9] = update %x, %v {start=(1,), stride=(1,)}
      %b: f64[2] = slice %a {start=(2,), stop=(4,), stride=(1,)}
      return %b
    }""", ("start=(2,), stop=(4,)", "start=(3,), stop=(5,)")),
    row("simplification.places", "an index beyond the part is no error of the whole", """(
        %x: f64[6,6], %i: i64[3]) {
      %a: f64[6,3] = slice %x {start=(0, 1), stop=(6, 4), stride=(1, 1)}
      %n: i64[3] = constant {dtype=i64, shape=(3,), value=3}
      %j: i64[3] = remainder %i, %n
      %b: f64[3,3] = gather %a, %j {axes=(0,)}
      return %b
    }""", ("axes=(0,)", "axes=(1,)"), ("%b: f64[3,3]", "%b: f64[3,6]")),
    row("simplification.products", "whole numbers are left", """(%x: f64[3], %b: f64[4,5]) {
      %r: f64[3,5] = broadcast %x {dims=(0,), shape=(3, 5)}
      %y: f64[3,4] = dot %r, %b {batch=((), ()), contract=((1,), (1,))}
      return %y
    }""", ("f64", "i64")),
    row("simplification.products", "a sum of no terms is 0, also of infinities", """(
        %x: f64[3], %b: f64[4,5]) {
      %r: f64[3,5] = broadcast %x {dims=(0,), shape=(3, 5)}
      %y: f64[3,4] = dot %r, %b {batch=((), ()), contract=((1,), (1,))}
      return %y
    }""", (",5]", ",0]"), ("(3, 5)", "(3, 0)")),
    row("simplification.shifts", "what is left is small, and no rounding error", SHIFT,
        ("%c: f64[] = constant {dtype=f64, shape=(), value=1.0}",
         "%c: f64[] = constant {dtype=f64, shape=(), value=1.0000000001}")),
    row("simplification.units", "rows are compared with rows", """(%x: f64[3]) {
      %i: i64[3,3] = iota {axis=0, dtype=i64, shape=(3, 3)}
      %j: i64[3,3] = iota {axis=1, dtype=i64, shape=(3, 3)}
      %e: bool[3,3] = eq %i, %j
      %u: f64[3,3] = convert %e {dtype=f64}
      %a: f64[3] = dot %u, %x {batch=((), ()), contract=((1,), (0,))}
      return %a
    }""", ("axis=1", "axis=0")),
    row("simplification.windows", "the last windows are cut off", """(%g: f64[7], %v: f64[3]) {
      %o: f64[7,3] = dot %g, %v {batch=((), ()), contract=((), ())}
      %s: f64[9,3] = shear %o {along=1, axis=0, by=-1, extent=9, start=0}
      %y: f64[9] = sum %s {axes=(1,)}
      return %y
    }""", ("f64[9", "f64[8"), ("extent=9", "extent=8")),
    # -- rolling
    row("passes.reroll.rows", "a step waits for the one before", SUM, ("add %t", "mul %t")),
    row("passes.reroll.rows", "the total is read on the way", SUM,
        ("return %t12", "%r: f64[] = sin %t5\nreturn %t12, %r")),
    row("passes.reroll.rows", "steps replace the same window", WINDOWS,
        *((f"start=({k},), stride", "start=(0,), stride") for k in range(1, 12))),
    row("passes.reroll.loop", "a step in the middle is another one", CHAIN,
        ("%s6: f64[] = sin", "%s6: f64[] = cos")),
    row("passes.reroll.steps",
        "a step reads another value", CHAIN, ("mul %s6, %x", "mul %s6, %t0")),
    row("passes.reroll.repetitions", "too few steps in a row are equal", CHAIN,
        ("%s5: f64[] = sin", "%s5: f64[] = cos"), ("mul %s7, %x", "mul %x, %s7")),
    row("passes.reroll.reroll", "too few steps in a row are equal", CHAIN,
        ("%s6: f64[] = sin", "%s6: f64[] = exp")),
    row("passes.reroll.round", "the steps would not become fewer ops", CHAIN,
        ("%s4: f64[] = sin", "%s4: f64[] = exp"), ("%s8: f64[] = sin", "%s8: f64[] = exp")),
    row("passes.reroll.tables", "not every step reads a number", UNEVEN,
        *((f"mul %t{k}, %c{k}\n", f"mul %t{k}, %x\n") for k in (6, 13, 20))),
    row("passes.reroll.numbers", "too few numbers have one type", NUMBERS,
        ("%n8: f64", "%n8: f32"), ("%m8: f64", "%m8: f32")),
    row("passes.reroll.bodies", "a step multiplies what the one before made", LOOP,
        ("add %s, %p", "mul %s, %p")),
    row("passes.reroll.roles", "a step reads the sum so far", LOOP,
        ("mul %a, %b", "mul %a, %s")),
    row("passes.reroll.roles", "a step may raise an error of its own", LOOP,
        ("ensure %i, %h {failure='overflow'}", "ensure %i, %h {failure='zero_division'}")),
    row("passes.reroll.places", "a place is out of range", LOOP, ("value=3", "value=4")),
    row("passes.reroll.stores", "a step reads what an earlier one has set", SET,
        ("gather %out, %n", "gather %out, %i"), ("scatter %out, %p, %i", "scatter %out, %p, %n")),
    row("passes.reroll.stores", "two steps set one element", SET,
        ("scatter %out, %p, %i", "scatter %out, %p, %o")),
    row("passes.reroll.stores", "a step reads the whole array", SET,
        ("gather %out, %n {axes=(0,)}", "sum %out {axes=(0,)}")),
    row("passes.reroll.stores", "a step reads out of range", SET, ("value=1", "value=2")),
    row("passes.reroll.stores", "the element is multiplied", ADDED_TO_ONE,
        ("add %t, %a", "mul %t, %a")),
    row("passes.reroll.stores", "a step sets another element than it reads", ADDED_TO_ONE,
        ("scatter %out, %u, %j", "scatter %out, %u, %i")),
    row("passes.reroll.stores", "a step adds another element of the array", ADDED_TO_ONE,
        ("gather %x, %i", "gather %out, %i")),
    row("passes.reroll.indices", "values decide which elements are set", SET,
        ("scatter %out, %p, %i", "scatter %out, %p, %j")),
    row("rewriting.in_order",
        "operations stand where they are asked for", """(%x: f64[], %y: f64[]) {
      %a: f64[] = sin %x
      %b: f64[] = cos %y
      %c: f64[] = add %b, %a
      return %c
    }""", ("add %b, %a", "add %a, %b")),
]  # fmt: skip


AT_ONCE = {f"passes.reroll.{name}" for name in ("bodies", "indices", "places", "roles", "stores")}


def runner(module: str) -> Callable[[Program], Program]:
    """A function that runs a pass, or the rules of a family, or the rerolling that a module belongs
    to."""
    if module.startswith("simplification"):
        return simplify.run
    if module == "rewriting.bodies":
        return lambda program: rewrite(program, [bodies.rule(lambda body: body)])
    if module == "passes.reroll.numbers":
        return with_numbers_joined
    if module in AT_ONCE:
        return at_once
    name = module.split(".")[-1]
    if name == "recomputed_streams":  # the first half of that pass
        return pass_named("undo_steps")
    if name in ("recomputed_tapes", "nested_tapes"):
        return pass_named("undo_tapes")
    if module.startswith("passes.reroll") and name not in PASSES:
        return partial(roll, least=8, least_loop=10**6 if name == "rows" else 8)
    return pass_named(name)


def with_numbers_joined(program: Program) -> Program:
    made = with_arrays(program)
    return program if made is None else made.of_numbers(made.program)


def at_once(program: Program) -> Program:
    """The program with the steps of its loops as array operations, if that is legal."""
    builder = Builder()
    replaced: dict[Value, Value] = {}
    with building(builder):
        for op in program.ops:
            given = [replaced.get(v, v) for v in op.operands]
            made = None
            if op.kind is scan:
                constants, steps = op.params["constants"], op.params["length"]
                made = as_arrays(op.params["body"], given, constants, steps, {}, no_table)
            if made is None:
                builder.append(Op(op.kind, tuple(given), op.params, op.results, op.source))
            else:
                replaced |= dict(zip(op.results, made.results, strict=True))
    return program.with_body(builder.ops, [replaced.get(v, v) for v in program.outputs])


def no_table(numbers: np.ndarray) -> Value:
    raise AssertionError("places that move evenly need no table")


def check_results(before: Program, after: Program) -> None:
    verify(after)
    assert after.in_types[: len(before.inputs)] == before.in_types
    for seed in range(3):
        arguments = arguments_for(before, np.random.default_rng(seed), low=0.25, high=1)
        try:
            interpret(before, arguments)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                interpret(after, [*arguments, *after.captured])
        else:
            results = interpret(after, [*arguments, *after.captured])
            for want, got in zip(interpret(before, arguments), results, strict=True):
                close = 1e-6 if want.dtype == np.float32 else 1e-10
                np.testing.assert_allclose(got, want, close, close)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.module}: {row.why}")
def test_legal_program_is_changed_and_illegal_one_is_left(row: Row) -> None:
    run, legal, illegal = runner(row.module), parse(row.program), row.illegal()
    verify(legal)
    verify(illegal)
    changed = run(legal)
    assert changed.text() != legal.text(), "the neighbour is not legal"
    check_results(legal, changed)
    left = run(illegal)
    assert left.text() == illegal.text()
    check_results(illegal, left)


def test_arrays_that_are_the_same_in_each_step_are_not_taken_apart_again_and_again() -> None:
    program = parse(
        "program main(%a: f64[1], %y: f64[3]) {\n"
        "%z: f64[3] = scan %a, %y {body=program step(%a: f64[1], %i: i64[], %y: f64[3]) {\n"
        "%4: f64[3] = concatenate %a, %a, %a {axis=0}\n%5: f64[3] = mul %4, %y\nreturn %5\n"
        "}, carries=1, constants=1, length=9, reverse=False}\nreturn %z\n}"
    )
    check_results(program, optimize(program, verify=True))


def test_bodies_of_other_names_keep_theirs() -> None:
    """Programs that differ only in names are equal, but a cached result must not bring the other
    program's name."""
    text = next(r.program for r in TABLE if r.module == "autodiff.zero_cotangents")
    run = runner("autodiff.zero_cotangents")
    for name in ("main", "step"):
        assert run(parse(text.replace("main", name))).name == name


def test_every_pass_has_an_illegal_program() -> None:
    assert {row.module for row in TABLE} == REWRITES


@pytest.mark.parametrize("module", sorted(REWRITES))
def test_every_pass_says_where_it_is_legal(module: str) -> None:
    assert "\nLegal where" in documentation(module)


def test_numbers_of_float32_that_move_evenly_only_in_float64() -> None:
    """The fourth number is 8388612, but in float32 3 * 8388609 is rounded."""
    first, by = -16777215.0, 8388609.0
    params = [{"dtype": np.dtype("f4"), "shape": (), "value": first + k * by} for k in range(4)]
    assert constant.slide(params[:3]) == by
    assert constant.slide(params) is None
    assert constant.slide([{**p, "dtype": np.dtype("f8")} for p in params]) == by
