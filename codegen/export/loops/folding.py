"""Decides which scalars of a kernel are inlined into the expression that reads them.

A scalar that one statement of the same list reads, once, is a part of it; one that nothing reads is
left out.  So is one that is read
from memory, unless that may have changed on the way to the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from autojit.codegen.loop_ir.effects import accesses, changed_buffers, is_read_only
from autojit.codegen.loop_ir.errors import is_check
from autojit.codegen.loop_ir.nodes import Compute, Finish, RunTasks
from autojit.codegen.loop_ir.traversal import bodies_of, defined, memory, used, walk
from autojit.codegen.loop_ir.values import Buffer

#: How many operations an expression has at most.
DEEPEST = 6


def folded(body: list[Any]) -> set[int]:
    """The ids of the statements whose scalars are parts of expressions, in a list of statements and
    in those inside of it.  (Lists that follow each other may use the same numbers.)"""
    found: set[int] = set()
    for statement in body:
        if not isinstance(statement, RunTasks):  # tasks have scalars of their own
            for inner in bodies_of(statement):
                found |= folded(inner)
    every = list(_own(body))
    uses = Counter(s.number for statement in every for s in used(statement))
    unread = _unread(body, uses)
    return found | unread | _parts(body, uses, unread)


def _own(body: list[Any]) -> Iterator[Any]:
    for statement in body:
        yield statement
        if not isinstance(statement, RunTasks):
            for inner in bodies_of(statement):
                yield from _own(inner)


def _unread(body: list[Any], uses: Counter[int]) -> set[int]:
    """Scalars that nothing reads but scalars of this kind."""
    found: set[int] = set()
    for statement in reversed(body):  # readers come later
        scalar = defined(statement)
        if scalar is not None and not uses[scalar.number] and _can_move(statement):
            found.add(id(statement))
            uses.subtract(s.number for s in used(statement))
    return found


def _parts(body: list[Any], uses: Counter[int], unread: set[int]) -> set[int]:
    """Scalars that one statement of the list reads, once."""
    reader = {
        s.number: k
        for k, statement in enumerate(body) if id(statement) not in unread
        for s in used(statement)
    }  # fmt: skip
    found: set[int] = set()
    reads: dict[int, set[Buffer]] = {}
    sizes: dict[int, int] = {}
    for k, statement in enumerate(body):
        scalar = defined(statement)
        if scalar is None or not _can_move(statement) or uses[scalar.number] != 1:
            continue
        parts = [s.number for s in used(statement) if s.number in sizes]
        size = isinstance(statement, Compute) + sum(sizes[n] for n in parts)
        read = {memory(a.buffer) for a in accesses(statement)}
        read.update(*(reads[n] for n in parts))
        last = reader.get(scalar.number)
        if last is None or size > DEEPEST or _changes(body[k + 1 : last], read):
            continue
        found.add(id(statement))
        reads[scalar.number], sizes[scalar.number] = read, size
    return found


def _can_move(statement: Any) -> bool:
    if isinstance(statement, Compute):
        return not is_check(statement.name)
    return isinstance(statement, Finish) or is_read_only(statement)


def _changes(statements: list[Any], read: set[Buffer]) -> bool:
    if not read:
        return False
    return any(memory(b) in read for s in walk(statements) for b in changed_buffers(s))
