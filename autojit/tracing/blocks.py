"""Blocks: parts of a traced function that are traced separately, such as branches and loop bodies.

A block runs in the frame of the function around it: it sees that function's arrays, and may change
them in place.  Inside of a block each outside array has a stand-in, which holds its value there.
When the block ends, the stand-ins show which arrays have changed. The caller that traces the block
makes these arrays results of its op, and assigns them to the outside arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from autojit.ir.core.program import Value

from .context import CapturedView, Trace, current_trace, inside
from .protocol import TracedValue

T = TypeVar("T", bound=TracedValue)


def here(x: T) -> T:
    """The array that stands for an array of an outer function in the current block.

    Outside of blocks, and for arrays of another transformed function, this is the array itself.
    Scalars need no stand-in, because they do not change.
    """
    trace = current_trace()
    if trace is None or x.owner is trace or trace.around is None or x.is_number:
        return x
    x = original(x)
    found = trace.stand_ins.get(id(x))
    if found is not None:
        stand_in: T = found[1]
        return stand_in
    if not _lies_in(trace, x.owner):
        return x
    made = _stand_in(x, trace)
    trace.stand_ins[id(x)] = x, made
    trace.originals[id(made)] = x
    return made


def original(x: T) -> T:
    """The array that a stand-in stands for; any other array itself."""
    found: T = x.owner.originals.get(id(x), x)
    return found


def _lies_in(trace: Trace, owner: Trace) -> bool:
    """Whether a block belongs to the function of a trace."""
    around = trace.around
    while around is not None and around is not owner:
        around = around.around
    return around is owner


def _stand_in(x: T, trace: Trace) -> T:
    assert trace.around is not None
    base = None if x.base is None else here(x.base)
    with inside(trace.around):
        outer = here(x)
        if outer.lost and base is None:
            return _lost_here(x, trace)
        if base is None or _is_as_outside(base, trace):
            value = trace.capture(outer, x.type)  # of a view: read in the trace around
        else:
            value = Value(x.type)  # stale: read from the base's present value when it is used
    made: T = x.stand_in(value, trace)
    if base is not None:
        made.base, made.how = base, outer.how
        if hasattr(outer.how, "within"):
            made.how = FromAround(outer, trace)
        made.seen = base.value if _is_as_outside(base, trace) else None
    trace.first_values[id(made)] = value
    return made


def _lost_here(x: T, trace: Trace) -> T:
    """The stand-in of an array that is no longer known: it may not be read."""
    made: T = x.stand_in(Value(x.type), trace)
    made.lost = True
    trace.first_values[id(made)] = made.own
    return made


class FromAround:
    """A view whose indices are values of the trace around a block. The block captures them when the
    view is first used there."""

    def __init__(self, outer: Any, trace: Trace) -> None:
        self._array = outer
        self._outer = outer.how
        self._trace = trace
        self._view: Any = None

    @property
    def view(self) -> Any:
        """The view with indices of the block's trace."""
        if self._view is None:
            self._view = self._outer.within(self._taken)
        return self._view

    def _taken(self, value: Value) -> Value:
        trace, around = self._trace, self._trace.around
        assert around is not None
        for thing, mine in zip(trace.captured, trace.captured_inputs, strict=True):
            if isinstance(thing, CapturedView) and thing.value is value:
                return mine
        return trace.capture(self._array.stand_in(value, around), value.type)

    def within(self, take: Any) -> Any:
        return self.view.within(take)

    def read(self, base: Value) -> Value:
        read: Value = self.view.read(base)
        return read

    def write(self, base: Value, part: Value) -> Value:
        written: Value = self.view.write(base, part)
        return written


def _is_as_outside(x: TracedValue, trace: Trace) -> bool:
    """Whether a stand-in still has its array's value outside of the block: the block has not
    changed it, and is not the body of a loop that carries it."""
    value = x.value
    is_captured = any(value is v for v in trace.captured_inputs)
    return is_captured and value is trace.first_values[id(x)]


def stands_for(x: T, value: Value, trace: Trace) -> T:
    """Give an array of the surrounding function this value in a block that has just begun."""
    made: T = x.stand_in(value, trace)
    trace.stand_ins[id(x)] = x, made
    trace.originals[id(made)] = x
    trace.first_values[id(made)] = value
    trace.given.add(id(made))
    return made


def lost(trace: Trace) -> list[Any]:
    """The outside arrays that are no longer known after a block, because an array that may be the
    same has changed in it."""
    return [x for x, made in trace.stand_ins.values() if made.lost and not x.lost]


def kept(trace: Trace) -> list[Any]:
    """The arrays from outside that a block has put into lists that hold copies of them."""
    return [x for x, made in trace.stand_ins.values() if made.kept]


def changed(trace: Trace) -> list[tuple[Any, Any]]:
    """The outside arrays that a block has changed in place, with their stand-ins; views are parts
    of these."""
    return [
        (x, made)
        for x, made in trace.stand_ins.values()
        if made.base is None and not made.lost and made.own is not trace.first_values[id(made)]
    ]


def _maker(builder: object) -> Trace | None:
    trace = current_trace()
    while trace is not None and trace.builder is not builder:
        trace = trace.around
    return trace


def is_around(builder: object) -> bool:
    """Whether a builder belongs to the current trace, or to a trace whose function contains the
    current block."""
    return _maker(builder) is not None


@contextmanager
def where_made(builder: object) -> Iterator[None]:
    """A context in the trace with this builder, if it surrounds the current one; else a null
    context.
    """
    trace = _maker(builder)
    if trace is None:
        yield
    else:
        with inside(trace):
            yield


def is_outside(builder: object) -> bool:
    """Whether values of the trace with this builder are from outside of the current block."""
    trace = current_trace()
    return trace is not None and trace.around is not None and trace.builder is not builder
