"""Decides which scalars of a kernel are inlined into the expression that reads them.

A scalar that is read once, by a statement of the same list, is inlined into it; a scalar that is
never read is left out. A scalar that is loaded from memory is inlined only if the memory cannot
change before the reader.
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

#: The most operations in an expression.
DEEPEST = 6


def folded(body: list[Any]) -> set[int]:
    """Return the ids of statements whose scalars are inlined, in a list of statements and in nested
    lists. (Consecutive lists may use the same numbers.)"""
    found: set[int] = set()
    for statement in body:
        if not isinstance(statement, RunTasks):  # tasks have their own scalars
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
    """Return scalars that are never read, except by other such scalars."""
    found: set[int] = set()
    for statement in reversed(body):  # readers come later
        scalar = defined(statement)
        if scalar is not None and not uses[scalar.number] and _can_move(statement):
            found.add(id(statement))
            uses.subtract(s.number for s in used(statement))
    return found


def _parts(body: list[Any], uses: Counter[int], unread: set[int]) -> set[int]:
    """Return scalars that one statement of the list reads, once."""
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
