"""The sizes of nests of short loops, as they are if all of their loops are unrolled.

A nest of eight loops of two to six steps has a thousand innermost steps. Each of its loops is short
enough to be unrolled, and all of them together are a program that takes half a minute to compile.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from autojit.capture.state.state import Before
from autojit.ir.core.program import Op
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.linear import Constant
from autojit.ir.ops.move import Move
from autojit.staging.unrolled import BUDGET, LEAST_LOOP
from autojit.tracing.context import current_trace
from autojit.tracing.known import arguments_are_known

from .blocks.attempts import attempted
from .blocks.block import thrown_away
from .loop import Loop

#: The most work of compiling loops that are unrolled in a captured nest, or around captured loops.
UNROLLED = LEAST_LOOP
#: The work of compiling an op on arrays, and of one that has loops of its own; that of an op on
#: scalars is 1. Measured on arrays of 3 x 3, ms: scalars 0.2, sums of arrays 1, products 7, sums
#: along an axis 5, parts at indices 6; complex ones take twice as long.
ON_ARRAYS, WITH_LOOPS = 5, 30


def is_long_nest(loop: Loop) -> bool:
    """Whether a loop of few steps has nests of loops in it, and all of them unrolled are a long
    program: two loops of few steps make at most 64.

    In a captured nest, or around captured loops, a loop is unrolled only if that is short.
    """
    trace = current_trace()
    assert trace is not None
    if loop.access.site.depth < (1 if trace.in_nest else 2) or arguments_are_known():
        return False
    key = id(loop.access.site), loop.length
    if key not in trace.unrolled_sizes and not _try_first_step(loop):
        return False
    has_loops = key in trace.around_loops
    return trace.unrolled_sizes[key] > (UNROLLED if trace.in_nest or has_loops else BUDGET)


def _try_first_step(loop: Loop) -> bool:
    """Trace the first step of a loop, and of short loops in it, to note their sizes; return whether
    that is possible."""
    before = Before(loop.access)
    if not before.heap.can_be_restored():
        return False
    with thrown_away(before, keeps_sizes=True), attempted():
        measure_in_nest(loop)
    return True


def is_measured() -> bool:
    """Whether a nest is traced only to find out how large it is."""
    return bool(_local.repeated)


def measure_in_nest(loop: Loop) -> None:
    """Trace the first step of a loop, and note the size of all of its steps."""
    trace = current_trace()
    assert trace is not None
    ops, loops = trace.builder.ops, len(trace.captured_loops)
    first = len(ops)
    _local.repeated.append(0)
    try:
        loop.step(0)
    finally:
        traced = work(ops[first:])
        size = loop.length * (traced + _local.repeated.pop())
        if _local.repeated:
            _local.repeated[-1] += size - traced
        _note(loop, size, has_loops=len(trace.captured_loops) > loops)


class _Local(threading.local):
    def __init__(self) -> None:
        #: The work of steps that were not traced, for each loop around.
        self.repeated: list[int] = []


_local = _Local()


def note_unrolled(loop: Loop, ops: Sequence[Op]) -> None:
    """Note the work of compiling a loop that was unrolled."""
    _note(loop, work(ops))


def _note(loop: Loop, size: int, *, has_loops: bool = False) -> None:
    """Note the size of a loop; the largest counts, since some steps have nothing to do."""
    trace = current_trace()
    assert trace is not None
    key = id(loop.access.site), loop.length
    if has_loops:
        trace.around_loops.add(key)
    trace.unrolled_sizes[key] = max(trace.unrolled_sizes.get(key, 0), size)


def work(ops: Sequence[Op]) -> int:
    """The work of compiling ops, in that of ops on scalars."""
    return sum(map(_work, ops))


def _work(op: Op) -> int:
    if programs := op.programs:
        return WITH_LOOPS + sum(work(p.ops) for p in programs)
    shape = op.results[0].shape
    if not shape or isinstance(op.kind, (Move, Constant)):
        return 1
    size = ON_ARRAYS if isinstance(op.kind, Elementwise) else WITH_LOOPS
    return 2 * size if op.results[0].dtype.kind == "c" else size
