"""A loop as the user wrote it, and as it is captured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.state.origins import Sharing, Slot
from autojit.capture.state.state import Access, Before, Key, Tree
from autojit.errors import CaptureError, with_place
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type
from autojit.ir.regions.scan import scan
from autojit.ir.regions.switch import switch
from autojit.ir.regions.while_ import while_
from autojit.staging.trace_function import LeafType
from autojit.tracing.tracer import Tracer

from .blocks.block import Block

#: The type of the number of steps so far.
COUNTER = LeafType(Type(np.dtype(np.int64), ()), int)


class Loop(NamedTuple):
    """A loop as the user wrote it.

    ``step`` runs the body, given the traced number of steps before it. ``holds`` is asked before
    each step; it is None if the number of steps decides alone. ``length`` is the greatest number of
    steps, and may be traced (None: any number); ``most`` is a known bound of it.
    """

    step: Callable[[Any], None]
    holds: Callable[[], Any] | None
    length: Any
    most: int | None
    access: Access
    #: Whether ``holds`` is known to be true before the first step.
    begins: bool = False
    #: Whether an exception that is handled around the loop may end it.
    may_be_left: bool = False

    @property
    def is_counted(self) -> bool:
        """Whether the number of steps is known."""
        return self.holds is None and isinstance(self.length, int) and not self.may_be_left

    @property
    def has_steps(self) -> bool:
        """Whether there certainly is a first step."""
        known = self.holds is None and isinstance(self.length, int)
        return self.begins or (known and self.length > 0)


class Carry(NamedTuple):
    """A name or place that each step takes from the one before it."""

    key: Key
    tree: Tree
    types: list[LeafType]
    first: Any
    #: Whether a step reads it; if not, it is only passed on to the code after the loop.
    read: bool
    #: Whether it is bound after each step, and not None.
    always: bool = True
    #: Whether it is the last element of a list that grows.
    is_last: bool = False


class Grown(NamedTuple):
    """A list to which each step appends."""

    items: list[Any]
    trees: list[Tree]
    types: list[LeafType]
    values: list[Value]
    #: By the places of these arrays: the arrays that all rows may be, and that the last one may be.
    same: list[tuple[int, list[Slot | int], list[Slot]]]
    #: The same for the lists, dicts and objects in its elements, by their slots in a step.
    lists: list[tuple[Slot, list[Slot | int], list[Slot]]]


class Step(NamedTuple):
    """A body as it was traced last."""

    block: Block
    ends: dict[Any, Any]
    appended: dict[int, tuple[list[Any], list[Any]]]
    sharing: Sharing
    inputs_of: dict[Slot, Tracer]
    #: The sharing of lists, dicts and objects; those that the step got, and those of them that it
    #: changed in place.
    lists: Sharing
    lists_of: dict[Slot, Any]
    changed_lists: frozenset[Slot]


@dataclass
class Known:
    """The facts found so far about a loop's carries."""

    carries: dict[Any, Carry]
    #: The arrays from outside that are changed in place.
    roots: dict[int, Tracer]
    #: The number of elements that a step appends to each list.
    growing: dict[int, int] = field(default_factory=dict)
    #: The arrays, lists and dicts that are no longer known after a step.
    lost: dict[int, Tracer] = field(default_factory=dict)
    lost_lists: dict[int, Any] = field(default_factory=dict)
    #: The arrays that may be the same when a step begins, if that matters; the latest is the last.
    sharing: list[Sharing] = field(default_factory=list)
    #: The same for lists and dicts.
    lists: list[Sharing] = field(default_factory=list)
    #: Arrays that may not change after a step, because lists hold copies of them: arrays from
    #: outside, and arrays that a step gets in these names and places.
    kept: dict[int, Tracer] = field(default_factory=dict)
    kept_slots: set[Slot] = field(default_factory=set)
    #: The names that hold one array in all steps, which the steps change in place. They are no
    #: carries: the name keeps the array from outside, whose other names see the changes.
    steady: set[Any] = field(default_factory=set)
    #: For names with bounded arrays, the first name that has the same mask.
    leaders: dict[Any, Any] = field(default_factory=dict)


class Captured(NamedTuple):
    """A traced loop that is not yet recorded."""

    carries: list[Carry]
    roots: list[Tracer]
    block: Block
    outputs: list[Value]
    ends: list[list[Any]]
    before: Before
    loop: Loop
    inputs: list[Value]
    grown: list[Grown]
    sharing: Sharing
    lost: list[Tracer]
    lists: Sharing
    lost_lists: list[Any]
    #: The arrays that may no longer change, because lists hold copies of them: arrays from outside,
    #: and the first values of names and places.
    kept: list[Any]
    #: The lists of traced length, and the most elements that they may have at the end.
    most: list[tuple[list[Any], int]] = []  # noqa: RUF012
    #: Whether its steps are recorded as operations on arrays.
    at_once: bool = False
    #: For names with bounded arrays, the first name that has the same mask.
    leaders: dict[Any, Any] = {}  # noqa: RUF012

    @property
    def size(self) -> int:
        """The number of operations of a step."""
        return _size(self.block.trace.builder.ops, self.block.inputs[:1])


#: The number of steps that is assumed for a loop if it is known only when the loop runs.
_STEPS = 100
#: The number of operations that a branch counts as: its gradient takes 7 ms to compile, that of an
#: operation 0.3 ms.
_BRANCH = 25


def _size(ops: Iterable[Op], counters: Iterable[Value]) -> int:
    """The number of operations that ops amount to if loops are unrolled. Ops that depend on
    counters only do not count: Python computes them itself."""
    known, count = set(counters), 0
    for op in ops:
        if known.issuperset(op.operands) and not any(v.shape for v in op.results):
            known.update(op.results)
        else:
            count += _inner(op) + (_BRANCH if op.kind is switch else 1)
    return count


def _inner(op: Op) -> int:
    """The number of operations in the programs of an operation."""
    first = op.params["constants"] if op.kind in (scan, while_) else None
    sizes = [_size(p.ops, [] if first is None else p.inputs[first : first + 1])
             for p in op.programs]  # fmt: skip
    steps = op.params["length"] if op.kind is scan else _STEPS if op.kind is while_ else 1
    return steps * sum(sizes)


def between(access: Access) -> Access:
    """The access of a part of a loop's step; names that the next step reads are live after it."""
    site = access.site
    return access._replace(site=site._replace(live_out=site.live_out | site.live_in))


def refused(loop: Loop, reason: str) -> CaptureError:
    """The error for a loop that cannot be compiled."""
    return CaptureError(with_place(reason, loop.access.source))
