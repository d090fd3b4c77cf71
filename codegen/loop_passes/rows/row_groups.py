"""Groups steps that may run tile by tile over the same rows, with the steps before and after them.

A step joins the group if it depends on each member through its own row only.  Of the steps in
between, those that are independent of the group run before it, and those that wait for it after.
"""

from __future__ import annotations

from typing import Any

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.machine import L2, current

from .row_steps import Access, RowStep, as_rows, conflict, touched

#: A matrix of at least this part of the second-level cache is evicted before it is read again.
LEAST = 1
#: How many steps after the first one are searched for members of its group.
AHEAD = 24


def is_large(access: Access, extent: int) -> bool:
    """Whether a matrix of so many rows leaves the cache before it is read again."""
    if access.row is None:
        return False
    size = access.row * extent * itemsize(access.memory.dtype)
    return size >= current().cache(L2, LEAST)


class RowGroup:
    """Steps that run over the same rows, and the other steps around them."""

    def __init__(self, extent: int, first: RowStep, steps: list[Any]) -> None:
        self.extent = extent
        self.members = [first]
        #: Steps that run before the group.
        self.ahead: list[Any] = []
        behind: list[Any] = []
        skipped: list[tuple[Any, bool]] = []
        used = 1
        for position, step in enumerate(steps[1 : 1 + AHEAD], 1):
            mine = touched(step)
            waits = any(conflict(mine, touched(s)) for s in behind) or any(
                conflict(mine, touched(s)) for s, later in skipped if later
            )
            free = not any(conflict(mine, m.accesses) for m in self.members)
            member = None if waits or free else self._joining(step)
            if member is None:
                skipped.append((step, waits or not free))
                continue
            self.members.append(member)
            self.ahead += [s for s, later in skipped if not later]
            behind += [s for s, later in skipped if later]
            skipped = []
            used = position + 1
        #: Steps that run after the group, in order.
        self.left = [*behind, *steps[used:]]

    def _joining(self, step: Any) -> RowStep | None:
        """The step as a member, if it depends on each member through the same row only."""
        for member in as_rows(step, self.extent):
            if all(_in_step(earlier, member) for earlier in self.members):
                return member
        return None

    def leave(self, members: list[RowStep]) -> None:
        """Let members run after the group, whose results no other member reads."""
        self.members = [m for m in self.members if m not in members]
        self.left = [*(m.step for m in members), *self.left]

    def products(self) -> list[tuple[RowStep, MatrixProduct]]:
        """The members that are matrix products, and the products."""
        return [(m, m.step) for m in self.members if isinstance(m.step, MatrixProduct)]

    def shared(self) -> dict[Buffer, int]:
        """Large matrices that one member writes and another reads, with their row strides."""
        found: dict[Buffer, int] = {}
        written: dict[Buffer, int] = {}
        for member in self.members:
            for access in member.inside:
                if not access.writes and access.memory in written:
                    found[access.memory] = written[access.memory]
            for access in member.inside:
                if access.writes and access.row and is_large(access, self.extent):
                    written[access.memory] = access.row
        return found

    def is_own(self, buffer: Buffer, row: int) -> bool:
        """Whether members access a temporary by their own rows only.  Then memory for one tile is
        enough."""
        accesses = [a for m in self.members for a in m.accesses if a.memory is buffer]
        is_whole = buffer.kind == "temp" and buffer.size == row * self.extent
        return is_whole and all(a.row == row for a in accesses)


def _in_step(earlier: RowStep, later: RowStep) -> bool:
    """Whether the later step depends on the earlier one through the same row only, so that the two
    may alternate tile by tile."""
    if conflict(earlier.outside, later.accesses) or conflict(earlier.accesses, later.outside):
        return False
    for one in earlier.inside:
        for other in later.inside:
            together = one.memory is other.memory and (one.writes or other.writes)
            if together and (one.row is None or one.row != other.row):
                return False
    return True
