"""Counted loops in LLVM IR, and the metadata that keeps long ones rolled."""

from __future__ import annotations

import re
from typing import Any

from llvmlite import ir

from .vectors import MARK

I64 = ir.IntType(64)
#: Loops of at most this extent may be unrolled completely. If longer ones were, LLVM would
#: vectorize the loop around them instead, with strided reads.
MOST_UNROLLED = 8
#: The most statements to which a nest of such loops may grow.
MOST_EXPANDED = 1000

# llvmlite fills its table of characters on the first request: do it now, not in two threads at
# once, or in one while another forks.
ir.MetaDataString(ir.Module(), "").get_reference()


class CountedLoop:
    """``for i in range(start, stop)`` with at least one iteration, in rotated form.

    ``masked``: the remaining iterations are a masked vector, not a loop of their own.
    ``scalar``: the loop is not vectorized.
    ``interleaved``: the number of vectors that are computed at a time.
    ``group``: memory accesses in this group are independent of those of other iterations.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        start: ir.Value,
        stop: ir.Value,
        *,
        keep_rolled: bool = False,
        unrolled: bool = False,
        masked: bool = False,
        interleaved: int = 1,
        scalar: bool = False,
        label: str | None = None,
        group: ir.MDValue | None = None,
    ) -> None:
        self.keep_rolled = keep_rolled
        self.unrolled = unrolled
        self.masked = masked
        self.interleaved = interleaved
        self.scalar = scalar
        self.label = label
        self.group = group
        self.builder = builder
        self.start = start
        self.stop = stop

    def __enter__(self) -> ir.Value:
        b = self.builder
        before = self.before = b.block
        self.block = b.append_basic_block("loop")
        b.branch(self.block)
        b.position_at_end(self.block)
        self.variable = b.phi(I64)
        self.variable.add_incoming(self.start, before)
        return self.variable

    def carry(self, first: ir.Value) -> ir.PhiInstr:
        """Return a value carried between iterations; the writer of the body adds the next one."""
        value = self.builder.phi(first.type)
        value.add_incoming(first, self.before)
        return value

    def __exit__(self, *exception: Any) -> None:
        b = self.builder
        following = b.add(self.variable, ir.Constant(I64, 1), flags=("nuw", "nsw"))
        more = b.icmp_unsigned("<", following, self.stop)
        self.variable.add_incoming(following, b.block)
        after = b.append_basic_block("after")
        branch = b.cbranch(more, self.block, after)
        told = (self.keep_rolled, self.unrolled, self.masked, self.scalar)
        if any(told) or self.label or self.group:
            branch.set_metadata("llvm.loop", self._metadata())
        b.position_at_end(after)

    def _metadata(self) -> ir.MDValue:
        """Make loop metadata. It must refer to itself, which ``naming_itself`` adds to the text."""
        module = self.builder.module
        words: list[tuple[str, ...]] = [("llvm.loop.unroll.disable",)] if self.keep_rolled else []
        words += [("llvm.loop.unroll.full",)] if self.unrolled else []
        words += [(MARK, self.label)] if self.label else []
        said = [module.add_metadata([ir.MetaDataString(module, w) for w in line]) for line in words]
        if self.masked:
            name = ir.MetaDataString(module, "llvm.loop.vectorize.predicate.enable")
            said.append(module.add_metadata([name, ir.Constant(ir.IntType(1), 1)]))
        if self.scalar:
            name = ir.MetaDataString(module, "llvm.loop.vectorize.enable")
            said.append(module.add_metadata([name, ir.Constant(ir.IntType(1), 0)]))
        if self.interleaved > 1:
            name = ir.MetaDataString(module, "llvm.loop.interleave.count")
            said.append(module.add_metadata([name, ir.Constant(ir.IntType(32), self.interleaved)]))
        if self.group is not None:
            name = ir.MetaDataString(module, "llvm.loop.parallel_accesses")
            said.append(module.add_metadata([name, self.group]))
        return _loop_node(module, said)


def never_unrolled(module: ir.Module) -> ir.MDValue:
    """Return metadata for a loop without a counter. Without any, it may take over that of an inner
    loop when LLVM merges their branches, and with it impossible requests."""
    return _loop_node(
        module, [module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])]
    )


def _loop_node(module: ir.Module, said: list[ir.MDValue]) -> ir.MDValue:
    serial = len(module.metadata)
    return module.add_metadata([ir.MetaDataString(module, f"loop {serial}"), *said])


def access_group(module: ir.Module) -> ir.MDValue:
    """Make a new group of memory accesses."""
    serial = len(module.metadata)
    return module.add_metadata([ir.MetaDataString(module, f"group {serial}")])


_LOOP_NODE = re.compile(r'^!(\d+) = !{ !"loop \d+", (.*) }$', re.MULTILINE)
_GROUP_NODE = re.compile(r'^!(\d+) = !{ !"group \d+" }$', re.MULTILINE)


def text(module: ir.Module) -> str:
    """Return the module's LLVM IR, with loop metadata that refers to itself."""
    return naming_itself(str(module))


def naming_itself(words: str) -> str:
    """Rewrite the text of metadata as loops need it, with distinct nodes."""
    words = _GROUP_NODE.sub(r"!\1 = distinct !{}", words)
    return _LOOP_NODE.sub(r"!\1 = distinct !{ !\1, \2 }", words)
