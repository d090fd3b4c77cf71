"""Loops over arrays in LLVM IR: the values they carry in registers, and the hints for LLVM."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from autojit.codegen.analysis.recurrences import chain, shares_comparisons
from autojit.codegen.cpu.llvm.comparisons import Comparisons
from autojit.codegen.cpu.llvm.counted import MOST_EXPANDED, MOST_UNROLLED, CountedLoop, access_group
from autojit.codegen.cpu.llvm.scalars import constant, memory_type
from autojit.codegen.cpu.llvm.vectors import is_dear
from autojit.codegen.loop_ir.cost import CHEAP, itemsize
from autojit.codegen.loop_ir.machine import has_masks
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    Compute,
    Fill,
    Gather,
    InRange,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.traversal import used, walk
from autojit.ir.core.affine import Affine, Var

from . import outlined, prefix_scans
from .context import KernelContext
from .independent import is_independent
from .predictive_commoning import Commoning, commoning

I64 = ir.IntType(64)
#: LLVM vectorizes loops of fewer iterations with masks, unless they are whole vectors
#: (its `TinyTripCountVectorThreshold`).
FOLDED = 16
#: Fills of at most this many scalars are unrolled.
FEW = 16
#: The parts of a range have a multiple of this many iterations, if the range has.
GRAIN = 64
#: A task has at least this many such grains, so that no task has far more than the others.
EVEN = 16
#: From these numbers of iterations on, two or four vectors are computed at a time; shorter loops
#: would leave too many iterations over.
INTERLEAVED = {"sums": (32, 200), "extremes": (256, 256)}
#: The most statements of an interleaved loop.
MOST_INTERLEAVED = 16


def fill(e: KernelContext, s: Fill) -> None:
    """Set elements to a number."""
    dtype = s.buffer.dtype
    value = constant(s.value, dtype)
    if s.count <= FEW:
        for i in range(s.count):
            e.store_to(e.address(s.buffer, s.start + i), value, dtype)
        return
    start = e.index(s.start)
    zero, count = ir.Constant(I64, 0), ir.Constant(I64, s.count)
    rolled = s.count > MOST_UNROLLED
    with CountedLoop(e.builder, zero, count, keep_rolled=rolled) as i:
        address = e.builder.gep(
            e.pointer(s.buffer),
            [e.builder.add(start, i)],
            inbounds=True,
            source_etype=memory_type(dtype),
        )
        e.store_to(address, value, dtype)


def loop(e: KernelContext, s: Loop) -> None:
    """Write a loop: unrolled, as a function of its own, or counted."""
    if s.unroll and s.share is None:
        e.apart += s.var in e.looped
        for i in range(s.start, s.stop):
            e.vars[s.var] = ir.Constant(I64, i)
            e.body(s.body)
        e.apart -= s.var in e.looped
        return
    if id(s) in e.outlined:
        outlined.emit(e, s, e.outlined[id(s)])
        return
    if prefix_scans.emit(e, s):
        return
    e.looped.add(s.var)
    start, stop = ir.Constant(I64, s.start), ir.Constant(I64, s.stop)
    if s.share is not None:
        start, stop = _own_part(e, s)
    if s.only is not None:
        b, only = e.builder, e.registers[s.only.number]
        is_one = b.icmp_signed(">=", only, ir.Constant(I64, 0))
        start = b.select(is_one, only, start)
        stop = b.select(is_one, b.add(only, ir.Constant(I64, 1)), stop)
    if s.lower is s.upper is None:
        _counted(e, s, start, stop)
        return
    start, stop = _bounded(e, s, start, stop)
    with e.builder.if_then(e.builder.icmp_signed("<", start, stop)):
        _counted(e, s, start, stop)


def _bounded(
    e: KernelContext, s: Loop, start: ir.Value, stop: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Return the range between the bounds, which may be empty."""
    b = e.builder
    if s.lower is not None:
        lower = e.registers[s.lower.number]
        start = b.select(b.icmp_signed(">", lower, start), lower, start)
    if s.upper is not None:
        upper = e.registers[s.upper.number]
        stop = b.select(b.icmp_signed("<", upper, stop), upper, stop)
    return start, stop


def _counted(e: KernelContext, s: Loop, start: ir.Value, stop: ir.Value) -> None:
    long = s.stop - s.start > MOST_UNROLLED
    found = commoning(s) if long and not s.is_partial else Commoning([], s.body, False)
    e.vars[s.var] = start
    firsts = []
    for a, _ in found.carried:
        e.body(found.before(a, s))
        firsts.append(e.registers[a.result.number])
    alone = long and is_independent(s, e.moving)
    group = access_group(e.module) if alone else None
    is_known = s.share is None and not s.is_partial
    unrolled = not long and is_known and s.expanded <= MOST_EXPANDED
    # If one of two conditions implies the other, LLVM replaces an address by the one that it then
    # knows. The vectorizer of LLVM 22 takes a vector's address from the first element, even if that
    # element is masked, and with it the replaced address: it would read other elements. So the ends
    # of ranges are hidden from LLVM.
    guards = _guards(s)
    are_ranges = _are_ranges(s, guards)
    counted = CountedLoop(
        e.builder, start, stop, label=e.labels.get(id(s)),
        keep_rolled=long, unrolled=unrolled,
        masked=is_dear(s) and has_masks() and not found.computed and not _is_narrow(s),
        interleaved=_interleaved(s),
        group=group,
        scalar=_has_strides_back(s) or (len(guards) > 1 and not are_ranges) or (
            _is_narrow(s) and _may_be_folded(s)
        ),
    )  # fmt: skip
    with counted as i:
        e.vars[s.var] = i
        phis = [counted.carry(first) for first in firsts]
        for (a, _), phi in zip(found.carried, phis, strict=True):
            e.registers[a.result.number] = phi
        around = e.group, e.veiled, e.comparisons, e.chain
        e.group, e.veiled = group, e.veiled or len(guards) > 1
        e.chain = chain(s.body, s.var) if long else frozenset()
        own_comparisons = e.chain and shares_comparisons(s.body)
        e.comparisons = Comparisons(e.scalars) if own_comparisons else None
        e.body(found.body)
        e.group, e.veiled, e.comparisons, e.chain = around
        for (_, b), phi in zip(found.carried, phis, strict=True):
            phi.add_incoming(e.registers[b.result.number], e.builder.block)


def _is_narrow(s: Loop) -> bool:
    """Whether a loop touches numbers of one or two bytes.

    Eight numbers of one byte are half of the shortest vector. LLVM 22 uses a whole vector for them,
    and extends a mask that is the same for all eight to sixteen: eight bytes too many are read or
    written. It has such masks if no iterations are left over.
    """
    return any(itemsize(x.buffer.dtype) < 4 for x in s.body if hasattr(x, "buffer"))


def _may_be_folded(s: Loop) -> bool:
    """Whether LLVM may vectorize a loop with masks because it is short, requested or not."""
    extent = s.stop - s.start
    return extent < FOLDED and extent & (extent - 1) != 0


def _interleaved(s: Loop) -> int:
    """Return the number of vectors that a loop computes at a time: several if each vector would
    otherwise wait for the sum of the one before."""
    combined = {x.accumulator.combine for x in s.body if isinstance(x, Accumulate)}
    if not combined or len(s.body) > MOST_INTERLEAVED or not all(map(_is_plain, s.body)):
        return 1
    extremes = not combined.isdisjoint(("maximum", "minimum"))
    few, many = INTERLEAVED["extremes" if extremes else "sums"]
    extent = s.stop - s.start
    return 4 if extent >= many else 2 if extent >= few else 1


def _guards(s: Loop) -> list[int]:
    """Return the conditions of reads that vary with a loop."""
    guards = {x.guard.number for x in walk(s.body) if isinstance(x, (Gather, Load)) and x.guard}
    changing: set[int] = set()
    for x in walk(s.body) if len(guards) > 1 else ():
        index = getattr(x, "index", None)
        moves = isinstance(index, Affine) and s.var in index.variables()
        if hasattr(x, "result") and (moves or any(a.number in changing for a in used(x))):
            changing.add(x.result.number)
    return sorted(guards & changing)


def _has_strides_back(s: Loop) -> bool:
    """Whether a loop accesses memory backwards with a stride of two elements or more.

    LLVM 22 estimates the cost of vectors of such reads in two ways that disagree, and aborts the
    process when it finds out.
    """
    accesses = (x for x in walk(s.body) if isinstance(x, (Load, Store)))
    return any((x.index.stride(s.var) or 0) < -1 for x in accesses)


def _is_nest(s: Any) -> bool:
    """Whether a statement prevents the loop around it from being vectorized."""
    is_long = isinstance(s, Loop) and s.stop - s.start > MOST_UNROLLED
    return is_long or isinstance(s, MatrixProduct)


def _are_ranges(s: Loop, guards: list[int]) -> bool:
    """Whether all conditions are ranges of indices."""
    made = {x.result.number for x in walk(s.body) if isinstance(x, InRange)}
    return made.issuperset(guards)


def _is_plain(s: Any) -> bool:
    if isinstance(s, Gather):
        return all(p.line is not None for p in s.places)
    return not isinstance(s, Loop) and (
        not isinstance(s, Compute) or s.name in CHEAP or s.result.dtype == "bool"
    )


def part(
    e: KernelContext, var: Var, start: int, extent: int, grain: int = 1
) -> tuple[ir.Value, ir.Value]:
    """Return a task's part of a range; the parts are equal up to one grain of iterations."""
    b, task, count = e.builder, e.vars[var], ir.Constant(I64, var.extent)
    bounds = []
    for number in (task, b.add(task, ir.Constant(I64, 1))):
        pieces = b.mul(number, ir.Constant(I64, extent // grain), flags=("nuw", "nsw"))
        part = b.udiv(pieces, count)
        if grain > 1:
            part = b.mul(part, ir.Constant(I64, grain), flags=("nuw", "nsw"))
        bounds.append(b.add(part, ir.Constant(I64, start), flags=("nuw", "nsw")))
    return bounds[0], bounds[1]


def _own_part(e: KernelContext, s: Loop) -> tuple[ir.Value, ir.Value]:
    """Return a task's part of a loop.

    LLVM is told that it is not empty, and sees the factor that divides its length; then the
    vectorized loop needs no remainder loop.
    """
    assert s.share is not None
    start, stop = part(e, s.share, s.start, s.stop - s.start, grain(s))
    if s.stop - s.start >= s.share.extent:
        assume = e.module.globals.get("llvm.assume") or ir.Function(
            e.module, ir.FunctionType(ir.VoidType(), [ir.IntType(1)]), "llvm.assume"
        )
        e.builder.call(assume, [e.builder.icmp_unsigned("<", start, stop)])
    return start, stop


def grain(s: Loop) -> int:
    """Return the number of iterations that divides the length of each task's part.

    In a loop that may be vectorized, parts are whole vectors if the whole loop is, as long as no
    task gets far more than another.
    """
    assert s.share is not None
    extent, found = s.stop - s.start, GRAIN
    if any(_is_nest(x) for x in s.body):
        return 1
    while found > 1 and (extent % found or extent // found < EVEN * s.share.extent):
        found //= 2
    return found
