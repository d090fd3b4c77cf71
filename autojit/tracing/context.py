"""Tracing contexts: which trace is active, and how values enter it.

Traces nest (``grad`` inside ``jit``).  A value of an outer trace, or an array, that is used inside
a trace becomes a *captured* input of that trace's program; applying the program binds it again.
The stack of traces belongs to the thread and is restored in ``finally``, so an exception leaves
nothing active.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit.codegen.cuda.arrays import DeviceArray
from autojit.errors import (
    LeakedTracerError,
    MissingDtypeError,
    TracingError,
    TypeMismatch,
    with_place,
)
from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import Source, Value, building
from autojit.ir.core.types import Type, canonical_dtype, dtype_name
from autojit.ir.ops.move import reshape, slice_
from autojit.session.devices import Request, chosen

from .captures import Part, keys, part_of_another
from .hooks import hooks
from .protocol import Bounds, TracedValue
from .recording import TracingBuilder
from .source import Lines, user_source

#: Python's own scalar types take the dtype of the arrays they are combined with (NEP 50).
WEAK_TYPES = {int: np.dtype(np.int64), float: np.dtype(float), complex: np.dtype(complex)}
#: The types of Python's numbers: bool takes no other operand's dtype, but its operators count.
PYTHON_TYPES = {bool: np.dtype(bool), **WEAK_TYPES}

#: The identities of traces that have noted types (see ``Trace.kinds``).
noting: set[int] = set()

#: The paths of a function's arguments, for messages: ``argument 0['w']``, one a leaf.
Paths = Callable[[], Sequence[str]]


class Trace:
    """One active trace: a builder, and the captured values."""

    def __init__(self, outer: Trace | None = None) -> None:
        around: TracingBuilder | None = None if outer is None else outer.builder
        #: The decisions about loops in the outermost trace, by source position.
        self.unrolled: set[Any] = set() if outer is None else outer.unrolled
        #: The loops captured so far, by source position.
        self.captured_loops: list[Any] = [] if outer is None else outer.captured_loops
        #: The loops whose steps were recorded as operations on arrays, by source position.
        self.loops_at_once: list[Any] = [] if outer is None else outer.loops_at_once
        #: The values whose types the user's code has tested, each with the test and its place.
        self.type_tests: list[Any] = []
        #: The types of numbers that have another one on another way.
        self.kinds: dict[Any, set[type]] = {}
        #: The short loops that were unrolled, and whether short loops become arrays instead.
        self.short_loops: list[Any] = [] if outer is None else outer.short_loops
        self.as_arrays: bool = outer is not None and outer.as_arrays
        #: The work of compiling loops that were unrolled, with that of the loops in them; which of
        #: them have captured loops in them; and whether this trace is in a nest of loops that is
        #: too long to be unrolled.
        self.unrolled_sizes: dict[Any, int] = {} if outer is None else outer.unrolled_sizes
        self.around_loops: set[Any] = set() if outer is None else outer.around_loops
        self.in_nest: bool = outer is not None and outer.in_nest
        #: Objects that traced conditions choose from: the code of each is its position in this
        #: list.
        self.coded: list[Any] = [] if outer is None else outer.coded
        self._first_coded = len(self.coded)
        #: The traced values that messages of exceptions name, by their numbers.
        self.named: dict[int, Any] = {} if outer is None else outer.named
        self._known_names = frozenset(self.named)
        #: Python's iterators that it has asked for elements, by identity (see `asked`).
        self.asked: dict[int, Any] = {} if outer is None else outer.asked
        self._known_asked = frozenset(self.asked)
        #: Whether anything depends on the difference between arguments that are scalars and those
        #: that are arrays without axes.
        self.tells_scalars: list[bool] = [False] if outer is None else outer.tells_scalars
        #: The number of blocks of functions that can be left and continued (see `capture.runs`).
        self.resumed: list[int] = [0] if outer is None else outer.resumed
        #: Facts about dicts whose keys traced conditions decide.
        self.optional_keys: list[Any] = [] if outer is None else outer.optional_keys
        self._first_optional = len(self.optional_keys)
        self.builder: TracingBuilder = TracingBuilder(Lines(), around)
        #: The requests for a device in this trace, by device.
        self.devices: dict[str, Request] = {}
        self.captured: list[Any] = []
        self.captured_inputs: list[Value] = []
        self._found: dict[Hashable, list[int]] = {}
        #: Arrays with a captured part, by identity.
        self._read_in_part: dict[int, np.ndarray] = {}
        #: The captured objects, kept alive so that no other object gets the same id while the trace
        #: is open.
        self._alive: list[Any] = []
        self.open = True
        #: Errors about uses of its values in other threads, which may have been handled there.
        self.elsewhere: list[TracingError] = []
        #: The bounds of Python integers, if narrower than 64 bits.
        self.bounds: dict[Value, Bounds] = {}
        #: The user's code for the arguments of the traced function.
        self.paths: Paths | None = None
        #: The trees of arguments that were built for the traced function.
        self.rebuilt: list[Any] = []
        #: Checks as traced bools, and the exceptions raised if they are false.
        self.checks: list[tuple[Any, Any]] = []
        #: The user's traced branches and loops: "branch", "loop" or "unrolled", and the line.
        self.constructs: set[tuple[str, Source | None]] = set()
        #: For a block (see ``blocks``): the trace of the surrounding function; the stand-ins with
        #: their arrays, by the identity of the array; and the first value of each stand-in, by its
        #: identity.
        self.around: Trace | None = None
        self.stand_ins: dict[int, tuple[Any, Any]] = {}
        self.first_values: dict[int, Value] = {}
        #: Random generators created from seeds in this trace.
        self.generators: list[Any] = []
        #: Whether the function has been left at its end, so that nobody reads its names.
        self.left = False
        #: Whether it, or a block in it, reads or writes slices with traced bounds.
        self.slices = False
        #: The identities of stand-ins whose value differs from the outside array's.
        self.given: set[int] = set()
        #: The array of each stand-in, by the identity of the stand-in.
        self.originals: dict[int, Any] = {}
        #: Arrays that may be one, by their identities: each itself, then the others.
        self.peers: dict[int, dict[int, Any]] = {}
        #: Arrays of this function that dicts in `peers` of other functions' traces hold, each with
        #: that dict.
        self.peers_outside: list[tuple[dict[int, Any], Any]] = []
        #: Lists and dicts that may be one, by their identities (see ``capture.state.sharing``).
        self.containers: dict[int, Any] = {}
        #: Flags of optional values that are known in this trace, by identity: the flag, and whether
        #: it holds.
        self.facts: dict[int, tuple[Any, bool]] = {}
        #: What functions under `functools.lru_cache` have returned in it, by their arguments.
        self.cached: dict[Any, Any] = {}

    def note_types(self, value: Value, kinds: Iterable[type]) -> None:
        """Note the types that a number may have in Python, if there are several."""
        found = set(kinds)
        if len(found) > 1:
            self.kinds[value] = found
            noting.add(id(self))

    def capture(self, thing: Any, type: Type) -> Value:
        """An input of this trace's program that stands for an outer value or an array."""
        found = keys(thing)
        for index in (k for key in found for k in self._found.get(key, ())):
            if _unchanged(self.captured[index], thing):
                return self.captured_inputs[index]
        value = Value(type)
        for key in found:
            self._found.setdefault(key, []).append(len(self.captured))
        self.captured.append(_snapshot(thing))
        self.captured_inputs.append(value)
        self._alive.append(thing)
        return value

    def capture_part(self, array: Any) -> Value | None:
        """A part of an array with another captured part, read from the whole array."""
        part = part_of_another(array)
        if part is None or id(part.whole) not in self._read_in_part:
            if part is not None:
                self._read_in_part[id(part.whole)] = part.whole
            return None
        whole = self._captured_with(part, array)
        if whole is None:
            whole = self.capture(part.whole, Type(canonical_dtype(array.dtype), part.whole.shape))
        ranges = {"start": part.start, "stop": part.stop, "stride": part.stride}
        return reshape(slice_(whole, **ranges), shape=array.shape)

    def _captured_with(self, part: Part, array: np.ndarray) -> Value | None:
        """The captured value of the array that contains a part, if this part has not changed. So a
        loop that reads all rows of an array compares each row once."""
        ranges = zip(part.start, part.stop, part.stride, strict=True)
        window = tuple([slice(*r) for r in ranges])
        for index in (k for key in keys(part.whole) for k in self._found.get(key, ())):
            if _unchanged(self.captured[index][window].reshape(array.shape), array):
                return self.captured_inputs[index]
        return None

    def let_go(self) -> None:
        """Forget the captured objects, now that capturing is over, and the arguments."""
        self._alive.clear()
        self.rebuilt.clear()
        self.checks.clear()
        self.peers.clear()
        for outside, array in self.peers_outside:
            outside.pop(id(array), None)
        self.peers_outside.clear()
        self.containers.clear()
        self.facts.clear()
        self.cached.clear()
        noting.discard(id(self))
        if self.around is None:  # not a block, whose objects are used behind it
            del self.coded[self._first_coded :]
            for number in self.named.keys() - self._known_names:
                del self.named[number]
            for iterator in self.asked.keys() - self._known_asked:
                del self.asked[iterator]
            for keys in self.optional_keys[self._first_optional :]:
                keys.end()
            del self.optional_keys[self._first_optional :]

    def undo(self) -> None:
        """Restore the dicts that tracing has changed, since the function could not be traced."""
        noting.discard(id(self))
        for known in self.optional_keys[self._first_optional :]:
            known.undo()


class CapturedView:
    """The captured state of an outer tracer: its value at that time."""

    __slots__ = ("tracer", "value")

    def __init__(self, tracer: TracedValue) -> None:
        self.tracer = tracer
        self.value = tracer.value


def _snapshot(thing: Any) -> Any:
    # The user may change the array later; the program keeps the old contents.
    if isinstance(thing, np.ndarray):
        return np.array(thing)
    return thing if isinstance(thing, DeviceArray) else CapturedView(thing)


def _unchanged(snapshot: Any, thing: Any) -> bool:
    if isinstance(snapshot, CapturedView):
        return snapshot.value is thing.value
    if isinstance(snapshot, DeviceArray):
        return snapshot is thing
    return snapshot.dtype == thing.dtype and np.array_equal(
        snapshot, thing, equal_nan=kind_of(snapshot.dtype) in "fc"
    )


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_stack = _Stack()


def current_trace() -> Trace | None:
    """The innermost active trace of this thread."""
    return _stack.traces[-1] if _stack.traces else None


@contextmanager
def inside(trace: Trace) -> Iterator[None]:
    """A context in an outer trace: operations recorded in it come before the current block."""
    _stack.traces.append(trace)
    try:
        with building(trace.builder):
            yield
    finally:
        _stack.traces.pop()


@contextmanager
def new_trace(*, block: bool = False) -> Iterator[Trace]:
    """A trace that is active inside of the context; with ``block``, it belongs to the function of
    the current one."""
    outer = current_trace()
    trace = Trace(outer)
    if block:
        trace.around = current_trace()
        assert trace.around is not None
        trace.paths = trace.around.paths
        trace.containers = dict(trace.around.containers)
        trace.builder.depth = trace.around.builder.depth  # no function of its own
    _stack.traces.append(trace)
    try:
        with building(trace.builder), seldom_collected(), hooks.visible():
            yield trace
        if outer is not None and not block:
            outer.constructs |= trace.constructs
    finally:
        trace.open = False
        trace.builder.known = None
        _stack.traces.pop()
    if block:  # part of the function
        require(trace.devices.values())


def require(requests: Iterable[Request]) -> None:
    """Note requests for a device in the active trace; MixedDevicesError unless all agree."""
    trace = current_trace()
    assert trace is not None
    for request in requests:
        if request.device not in trace.devices:
            chosen([*trace.devices.values(), request])
            trace.devices[request.device] = request


def active_traces() -> Sequence[Trace]:
    """The active traces of this thread, the innermost last."""
    return _stack.traces


def is_kept() -> bool:
    """Whether the trace serves further calls or iterations, so that it knows no values."""
    return any(trace.builder.known is None for trace in _stack.traces)


@contextmanager
def outside_of_traces() -> Iterator[None]:
    """A context without an active trace, in which NumPy computes."""
    traces, _stack.traces = _stack.traces, []
    try:
        yield
    finally:
        _stack.traces = traces


#: How to keep a value that is needed after the trace.
RETURN_IT = (
    "    def f(x):\n        y = ...\n        return loss, y      # then grad(f, has_aux=True)"
)


def check_not_leaked(tracer: TracedValue) -> None:
    """Raise if the tracer's trace is not active in this thread."""
    if not tracer.owner.open or tracer.owner not in _stack.traces:
        error = LeakedTracerError(
            with_place(
                f"A traced value of type {tracer.type} is used after the function in which it was "
                "traced has returned (or in another thread). It was probably kept in a global, an "
                "attribute or a closure.\nReturn it instead:\n"
                f"{RETURN_IT}",
                user_source(),
            )
        )
        if tracer.owner.open:
            tracer.owner.elsewhere.append(error)
        raise error


_OF_OBJECTS = (
    " NumPy creates arrays of objects from None, which a function without `return` returns, and "
    "from lists that do not fit together."
)


def check_dtype(dtype: np.dtype) -> None:
    """Raise MissingDtypeError, with the user's line, for a dtype that programs cannot hold."""
    try:
        dtype_name(dtype.newbyteorder("="))
    except TypeMismatch as error:
        words = f"{error}.{_OF_OBJECTS}" if dtype.kind == "O" else str(error)
        raise MissingDtypeError(with_place(words, user_source())) from None
