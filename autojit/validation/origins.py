"""Tracing of a NaN or an infinity from a result's element back to the operation that made it.

The operation is the one that made the number from finite numbers.

The walk follows one element. To find the element of an operand to blame, the operation is
evaluated again with some bad numbers replaced by good ones (:func:`_blamed`), so that the walk
needs no knowledge of particular operations. An operation with bodies is run again while the runs
of its bodies are recorded (:class:`Calls`). The walk then continues in the run of the body that
produced the element, then in the previous run, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.linear import constant
from autojit.ir.ops.move import Move
from autojit.ir.regions.scan import scan
from autojit.ir.tools.interpreter import Watch, values_of, watching

#: The index of an element in an array; None if it is not known.
Element = tuple[int, ...] | None

#: Bytes of arguments and outputs of bodies that are kept for one operation.  Of the remaining runs
#: of a longer loop, only the first one that makes a bad number from finite ones is kept.
MOST_BYTES = 1 << 29


class Call(NamedTuple):
    """A run of a body of an operation."""

    program: Program
    arguments: Sequence[Any]
    outputs: Sequence[Any]
    #: The number of earlier runs of this program by the same operation.
    number: int


class Calls(Watch):
    """Records the runs of an operation's own bodies, but not of the bodies inside them."""

    def __init__(self) -> None:
        self.kept: list[Call] = []
        #: Of the runs not kept, the first one that makes a NaN or an infinity from finite
        #: arguments.
        self.first: Call | None = None
        self._open: list[Sequence[Any]] = []
        self._runs: dict[int, int] = {}
        self._bytes = 0

    def entered(self, program: Program, arguments: Sequence[Any]) -> None:
        self._open.append(arguments)

    def left(self, program: Program, outputs: Sequence[Any]) -> None:
        arguments = self._open.pop()
        if self._open:
            return
        number = self._runs.get(id(program), 0)
        self._runs[id(program)] = number + 1
        call = Call(program, arguments, outputs, number)
        self._bytes += sum(np.asarray(a).nbytes for a in (*arguments, *outputs))
        if self._bytes <= MOST_BYTES:
            self.kept.append(call)
        elif self.first is None and _all_fine(arguments) and not _all_fine(outputs):
            self.first = call


def is_bad(array: Any) -> Any:
    """A mask of the elements that are NaN or infinite."""
    array = np.asarray(array)
    return ~np.isfinite(array) if array.dtype.kind in "fc" else np.zeros(array.shape, bool)


def _all_fine(arrays: Sequence[Any]) -> bool:
    return not any(np.any(is_bad(a)) for a in arrays)


def first_bad(array: Any) -> Element:
    """The index of the first NaN or infinity; None if there is none."""
    bad = np.argwhere(is_bad(array))
    return tuple(int(i) for i in bad[0]) if len(bad) else None


# -- a run of a program -----------------------------------------------------------------


@dataclass
class Frame:
    """A run of a program with all its values, and the operation whose body it is, if any."""

    program: Program
    arguments: Sequence[Any]
    around: Inside | None = None
    values: dict[Value, Any] = field(init=False)
    makers: dict[Value, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        with watching(None):
            self.values = values_of(self.program, self.arguments)
        self.makers = {
            v: (k, j) for k, op in enumerate(self.program.ops) for j, v in enumerate(op.results)
        }

    def operands(self, op: Op) -> list[Any]:
        return [self.values[v] for v in op.operands]


class Inside(NamedTuple):
    """A run of a body: the frame and operation around it, its runs, and the number of this run."""

    frame: Frame
    op: Op
    calls: Sequence[Call]
    run: int

    @property
    def call(self) -> Call:
        return self.calls[self.run]


class Place(NamedTuple):
    """An element of a value, in a run of a program."""

    frame: Frame
    value: Value
    element: Element

    @property
    def op(self) -> Op | None:
        """The operation that makes the value; None for an input."""
        found = self.frame.makers.get(self.value)
        return None if found is None else self.frame.program.ops[found[0]]

    @property
    def number(self) -> Any:
        """The element; None if its index is not known."""
        if self.element is None:
            return None
        return np.asarray(self.frame.values[self.value])[self.element]


class Origin(NamedTuple):
    """The origin of a NaN or an infinity: an operation, or an input if the place has no ``op``."""

    place: Place
    #: Whether operands are infinite and the result is NaN.
    of_infinities: bool = False


def origin_of(frame: Frame, value: Value, element: Element) -> Origin:
    """The operation that made the element, or the input of the program that it comes from.

    If initial infinities became NaN, the origin is the operation that turned them into NaN.
    """
    place, fallback = Place(frame, value, element), None
    while True:
        op = place.op
        if op is None:
            outer = outside(place)
            if outer is None:
                return fallback or Origin(place)
            place = outer
        elif op.kind is constant:
            return fallback or Origin(place)
        else:
            step, of_infinities = _blamed_by(place, op)
            if of_infinities:
                fallback = Origin(place, True)
            if step is None:
                return Origin(place)
            place = step


def _blamed_by(place: Place, op: Op) -> tuple[Place | None, bool]:
    """The place where the walk goes on from a result of an operation."""
    frame = place.frame
    _, position = frame.makers[place.value]
    operands = frame.operands(op)
    if op.programs:
        inner = _inside(place, op, operands, position)
        if inner is not None:
            return inner, False
    found, of_infinities = _blamed(op, operands, position, place.element)
    if found is None:
        return None, False
    return Place(frame, op.operands[found[0]], found[1]), of_infinities


# -- between a body and its surroundings ----------------------------------------------------


def _inside(place: Place, op: Op, operands: list[Any], position: int) -> Place | None:
    """The same element in the run of a body that returned it; None if no body ran."""
    calls = Calls()
    with np.errstate(all="ignore"), watching(calls):
        made = op.kind.evaluate(*operands, **op.params)
    result = made if len(op.results) == 1 else made[position]
    for k, operand in enumerate(operands):
        if result is operand:  # a loop without steps
            return Place(place.frame, op.operands[k], place.element)
    if calls.first is not None:
        return _in_first(place, op, calls.first)
    if op.kind is scan and position >= op.params["carries"] and place.element is not None:
        return _in_step(place, op, calls.kept, position)
    for index in reversed(range(len(calls.kept))):
        for j, output in enumerate(calls.kept[index].outputs):
            if output is result:
                return _entered(place, op, calls.kept, index, j, place.element)
    return None


def _in_step(place: Place, op: Op, calls: Sequence[Call], position: int) -> Place:
    """The place in the step of a scan that made the row of a stacked result."""
    assert place.element is not None
    step, *rest = place.element
    index = len(calls) - 1 - step if op.params["reverse"] else step
    return _entered(place, op, calls, index, position, tuple(rest))


def _in_first(place: Place, op: Op, call: Call) -> Place:
    position, element = next(
        (j, found) for j, v in enumerate(call.outputs) if (found := first_bad(v)) is not None
    )
    return _entered(place, op, [call], 0, position, element)


def _entered(
    place: Place, op: Op, calls: Sequence[Call], index: int, position: int, element: Element
) -> Place:
    call = calls[index]
    frame = Frame(call.program, call.arguments, Inside(place.frame, op, calls, index))
    return Place(frame, call.program.outputs[position], element)


def outside(place: Place) -> Place | None:
    """The source of an input of a body: an earlier run, or an operand; None at the top level."""
    around = place.frame.around
    if around is None:
        return None
    position = place.frame.program.inputs.index(place.value)
    given = around.call.arguments[position]
    for index in reversed(range(around.run)):
        for j, output in enumerate(around.calls[index].outputs):
            if output is given:
                outer = Place(around.frame, around.op.results[0], None)
                return _entered(outer, around.op, around.calls, index, j, place.element)
    return _operand(place, around, position, given)


def _operand(place: Place, around: Inside, position: int, given: Any) -> Place | None:
    """The operand of the surrounding operation that an input of a body is, or is a row of."""
    op, frame = around.op, around.frame
    for v in op.operands:
        if frame.values[v] is given:
            return Place(frame, v, place.element)
    if op.kind is scan:
        constants, carries = op.params["constants"], op.params["carries"]
        k = position - (position > constants)
        row: Element = place.element
        if position > constants + carries and row is not None:
            row = (int(around.call.arguments[constants]), *row)
        return Place(frame, op.operands[k], row)
    for v in op.operands:
        if np.array_equal(frame.values[v], given, equal_nan=v.type.is_inexact):
            return Place(frame, v, place.element)
    return None


def steps_of(frame: Frame) -> Iterator[tuple[Op, int]]:
    """The loops, branches and calls around a frame, from the outermost.

    Each is an operation and the number of the run of its body.
    """
    if frame.around is not None:
        yield from steps_of(frame.around.frame)
        op, call = frame.around.op, frame.around.call
        is_scan = op.kind is scan
        yield op, int(call.arguments[op.params["constants"]]) if is_scan else call.number


# -- one operation ------------------------------------------------------------------------


class _Suspects:
    """The elements of operands that are NaN or infinite."""

    def __init__(self, op: Op, operands: Sequence[Any], position: int, element: Element) -> None:
        self.op, self.position, self.element = op, position, element
        self.operands = [np.asarray(a) for a in operands]
        places = [np.flatnonzero(is_bad(a)) for a in self.operands]
        #: The number of the operand, and the index in it.
        self.numbers = np.repeat(np.arange(len(places)), [len(p) for p in places])
        self.places = np.concatenate(places) if places else np.zeros(0, np.int64)
        self.all = np.arange(len(self.places))

    def made(self, guilty: np.ndarray) -> Any:
        """The element of the result if 1 replaces all suspects but the guilty ones.

        None if the operation raises, as for a singular matrix.
        """
        arrays = [np.array(a) for a in self.operands]
        innocent = np.setdiff1d(self.all, guilty, assume_unique=True)
        for k, array in enumerate(arrays):
            array.reshape(-1)[self.places[innocent[self.numbers[innocent] == k]]] = 1
        try:
            with np.errstate(all="ignore"), watching(None):
                made = self.op.kind.evaluate(*arrays, **self.op.params)
        except Exception:
            return None
        result = np.asarray(made if len(self.op.results) == 1 else made[self.position])
        at = first_bad(result) if self.element is None else self.element
        return None if at is None else result[at]

    def is_nan(self, which: Any) -> bool:
        k, place = self.numbers[which], self.places[which]
        return bool(np.isnan(self.operands[k].reshape(-1)[place]))

    def place(self, which: Any) -> tuple[int, tuple[int, ...]]:
        k = int(self.numbers[which])
        found = np.unravel_index(int(self.places[which]), self.operands[k].shape)
        return k, tuple(int(i) for i in found)


def _blamed(
    op: Op, operands: list[Any], position: int, element: Element
) -> tuple[tuple[int, Element] | None, bool]:
    """Find the operand and its element that a bad element of a result comes from.

    Return None for it if the operation makes the bad element from finite operands; and whether it
    makes a NaN from infinities.
    """
    alone = isinstance(op.kind, Elementwise) and element is not None
    if alone:
        operands = [np.asarray(a[element]) for a in operands]
    suspects = _Suspects(op, operands, position, () if alone else element)
    wanted = suspects.made(suspects.all)
    is_nan = wanted is not None and bool(np.isnan(wanted))

    def to_blame(some: np.ndarray) -> bool:
        made = suspects.made(some)
        return made is not None and bool(np.isnan(made) if is_nan else not np.isfinite(made))

    left = suspects.all
    if not len(left) or to_blame(left[:0]):
        return None, False
    while len(left) > 1:
        halves = np.array_split(left, 2)
        part = next((half for half in halves if to_blame(half)), None)
        if part is None:  # several are to blame together, as in inf - inf
            part = np.array(sorted(left, key=lambda which: not suspects.is_nan(which))[:1])
        left = part
    k, found = suspects.place(left[0])
    return (k, element if alone else found), is_nan and not suspects.is_nan(left[0])


def source_element(op: Op, operands: Sequence[Any], k: int, element: Element) -> Element:
    """The element of operand ``k`` from which an element of the result is computed.

    It is known for elementwise operations and for operations that move elements; None for others.
    """
    if element is None or isinstance(op.kind, Elementwise):
        return element
    if not isinstance(op.kind, Move):
        return None
    places = np.arange(np.size(operands[k])).reshape(np.shape(operands[k]))
    found = int(np.asarray(op.kind.evaluate(places, **op.params))[element])
    return tuple(int(i) for i in np.unravel_index(found, places.shape))
