"""Blocks: parts of a traced function that are traced by themselves, as branches and loop bodies.

A block runs in the frame of the function around it: it sees that function's arrays, and may change
them in place.  Inside of a block each array from outside has a stand-in, which holds its value
there.  What the block has changed is known from the stand-ins when it ends; whoever traces the
block makes these arrays results of its op, and assigns them to the arrays outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from autojit.ir.core.program import Value

from .context import Trace, current_trace, inside
from .protocol import TracedValue

T = TypeVar("T", bound=TracedValue)


def here(x: T) -> T:
    """The array that stands for an array of an outer function in the current block.

    Outside of blocks, and for what belongs to another transformed function, this is the array
    itself; scalars need no stand-in, since they do not change.
    """
    trace = current_trace()
    if trace is None or x.owner is trace or trace.around is None or x.is_scalar:
        return x
    found = trace.stand_ins.get(id(x))
    if found is not None:
        stand_in: T = found[1]
        return stand_in
    if not _lies_in(trace, x.owner):
        return x
    made = _stand_in(x, trace)
    trace.stand_ins[id(x)] = x, made
    return made


def _lies_in(trace: Trace, owner: Trace) -> bool:
    """Whether a block lies in the function of a trace."""
    around = trace.around
    while around is not None and around is not owner:
        around = around.around
    return around is owner


def _stand_in(x: T, trace: Trace) -> T:
    assert trace.around is not None
    base = None if x.base is None else here(x.base)
    with inside(trace.around):
        outer = here(x)
        value = trace.capture(outer, x.type)  # of a view: read from its base, in the trace around
    made: T = x.stand_in(value, trace)
    if base is not None:
        made.base, made.how, made.seen = base, outer.how, _captured(base, trace)
    trace.first_values[id(made)] = value
    return made


def _captured(x: TracedValue, trace: Trace) -> Value | None:
    """The value of a stand-in that is captured; None where it has another one from the start.

    What is captured of a view agrees with that of its base.  The block may have changed the base
    since, and a loop's carry is another value in each step.
    """
    first = trace.first_values[id(x)]
    return first if any(first is value for value in trace.captured_inputs) else None


def stands_for(x: T, value: Value, trace: Trace) -> T:
    """In a block that has just begun: an array of the function around it has this value there."""
    made: T = x.stand_in(value, trace)
    trace.stand_ins[id(x)] = x, made
    trace.first_values[id(made)] = value
    return made


def changed(trace: Trace) -> list[tuple[Any, Any]]:
    """The arrays from outside that a block has changed in place, with their stand-ins; views are
    parts of these."""
    return [
        (x, made)
        for x, made in trace.stand_ins.values()
        if made.base is None and made.own is not trace.first_values[id(made)]
    ]


def _maker(builder: object) -> Trace | None:
    trace = current_trace()
    while trace is not None and trace.builder is not builder:
        trace = trace.around
    return trace


def is_around(builder: object) -> bool:
    """Whether a builder is that of the current trace, or of one in whose function the current
    block lies."""
    return _maker(builder) is not None


@contextmanager
def where_made(builder: object) -> Iterator[None]:
    """A context in the trace with this builder, if it is around; else nothing."""
    trace = _maker(builder)
    if trace is None:
        yield
    else:
        with inside(trace):
            yield


def is_outside(builder: object) -> bool:
    """Whether what the trace with this builder has made lies outside of the current block."""
    trace = current_trace()
    return trace is not None and trace.around is not None and trace.builder is not builder
