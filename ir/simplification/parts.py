"""Rules for parts of arrays: replaced windows, and reads of them. All are exact.

Legal where the ranges show for every element that is read or replaced again whether it is in a
window. Indices stay the same, and so do their errors. Nothing changes in the results.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from math import gcd

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.move import concatenate, slice_
from autojit.ir.ops.update import scatter, update
from autojit.ir.rewriting import dce
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable, rewrite
from autojit.ir.rewriting.update_chains import link_of, ranges_of
from autojit.ir.tools.program_passes import STRUCTURE, program_pass

rules = RuleTable()


@rules(update)
def update_everything(op: Op, at: Rewriter) -> Value | None:
    """x[:] = v → v; a window without elements → x"""
    x, v = op.operands
    if v.shape == x.shape:
        return v
    return None if v.type.size else x


@rules(update)
def update_again(op: Op, at: Rewriter) -> Value | None:
    """A window replaced twice → once"""
    x, v = op.operands
    inner = at.definition(x, update)
    if inner is None or _inside(ranges_of(inner), ranges_of(op)) is None:
        return None
    return update(inner.operands[0], v, **op.params)


@rules(scatter)
def scatter_again(op: Op, at: Rewriter) -> Value | None:
    """The same places set twice → once

    Not if something reads the array in between, so that all writes stay in one array.
    """
    x, v, *indices = op.operands
    inner = at.definition(x, scatter)
    if inner is None or list(inner.operands[2:]) != indices or inner.params != op.params:
        return None
    if at.is_read(x):
        return None
    return scatter(inner.operands[0], v, *indices, **op.params)


@rules(slice_)
def slice_of_update(op: Op, at: Rewriter) -> Value | None:
    """Part of x with a window replaced → part of the window, or of x, if it is in one of the two"""
    (x,), asked = op.operands, ranges_of(op)
    while inner := at.definition(x, update):
        link = link_of(inner, at)
        if all(asked) and link.is_apart(asked):
            x = link.before
            continue
        window = ranges_of(inner)
        found = _inside(asked, window)
        if found is not None:
            return _sliced(inner.operands[1], found)
        if not apart(asked, window):
            break
        x = inner.operands[0]
    return None if x is op.operands[0] else slice_(x, **op.params)


@rules(slice_)
def slice_of_concatenate(op: Op, at: Rewriter) -> Value | None:
    """Part of one of the joined arrays → part of that one"""
    inner = at.definition(op.operands[0], concatenate)
    if inner is None:
        return None
    axis, asked = inner.params["axis"], ranges_of(op)
    begins = at.notes.get(inner)
    if begins is None:
        begins = at.notes[inner] = [0, *accumulate(v.shape[axis] for v in inner.operands)]
    k = bisect_right(begins, asked[axis][0]) - 1 if asked[axis] else 0
    whole = [range(n) for n in op.operands[0].shape]
    whole[axis] = range(begins[k], begins[k + 1])
    found = _inside(asked, whole)
    return None if found is None else _sliced(inner.operands[k], found)


def _inside(asked: list[range], window: list[range]) -> list[range] | None:
    """Return the ranges of positions in a window that contains them all; None if it does not."""
    found: list[range] = []
    for a, w in zip(asked, window, strict=True):
        if not a:
            found.append(range(0))
        elif a[0] in w and a[-1] in w and (len(a) == 1 or not a.step % w.step):
            step = a.step // w.step if len(a) > 1 else 1
            start = w.index(a[0])
            found.append(range(start, start + len(a) * step, step))
        else:
            return None
    return found


def apart(asked: list[range], window: list[range]) -> bool:
    """Whether two boxes of ranges have no common element."""
    return any(_never_meet(a, w) for a, w in zip(asked, window, strict=True))


def _never_meet(a: range, b: range) -> bool:
    if not a or not b or a[-1] < b[0] or b[-1] < a[0]:
        return True
    step = gcd(a.step if len(a) > 1 else 0, b.step if len(b) > 1 else 0)
    return bool(step) and (a[0] - b[0]) % step != 0


def _sliced(x: Value, ranges: list[range]) -> Value:
    def each() -> Iterator[tuple[int, int, int]]:
        for r in ranges:
            yield r.start, r[-1] + 1 if r else r.start, r.step

    start, stop, stride = zip(*each(), strict=True) if ranges else ((), (), ())
    return slice_(x, start=start, stop=stop, stride=stride)


@program_pass(
    "Reads parts of replaced windows from the values that replaced them.",
    name="resolve_parts",
    keeps=STRUCTURE,
)
def resolve_parts(program: Program) -> Program:
    """Read parts of replaced windows from where they were computed.

    This runs before a program is differentiated: otherwise the derivative of ``u[i + 1] = f(u[i])``
    would carry cotangents of the whole array from each step to the step before.
    """
    return dce.run(rewrite(program, [rules.rule]))
