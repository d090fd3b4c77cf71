"""The failures in a function so far are bits of a word (see ``errors.FAILURES``)."""

from __future__ import annotations

from llvmlite import ir

I64 = ir.IntType(64)


class Failures:
    """The word of failures on the function's stack, which LLVM keeps in a register."""

    def __init__(
        self, allocas: ir.IRBuilder, builder: ir.IRBuilder, *, first: bool = False
    ) -> None:
        self.builder = builder
        #: Whether only the first failure counts, so that user errors are raised in their order.
        self.first = first
        self.slot = allocas.alloca(I64)
        allocas.store(ir.Constant(I64, 0), self.slot)

    @property
    def found(self) -> ir.Value:
        return self.builder.load(self.slot, typ=I64)

    def mark_if(self, condition: ir.Value, failure: int) -> None:
        """Record a failure if a condition holds."""
        b, found = self.builder, self.found
        if self.first:
            condition = b.and_(condition, b.icmp_unsigned("==", found, ir.Constant(I64, 0)))
        mark = b.select(condition, ir.Constant(I64, failure), ir.Constant(I64, 0))
        b.store(b.or_(found, mark), self.slot)

    def report(self, status: ir.Value, found: ir.Value | None = None) -> None:
        """Add the failures to the status of the call."""
        b, found = self.builder, found or self.found
        if self.first:
            none = ir.Constant(I64, 0)
            b.cmpxchg(status, none, found, "monotonic", "monotonic")
        else:
            b.atomic_rmw("or", status, found, "monotonic")
