"""Tracing contexts: which trace is active, and how values enter it.

Traces nest (``grad`` inside ``jit``).  A value of an outer trace, or an array,
that is used inside a trace becomes a *captured* input of that trace's program;
whoever applies the program binds it again.  The stack of traces belongs to the
thread and is restored in ``finally``, so an exception leaves nothing active.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from autojit.errors import (
    LeakedTracerError,
    MissingDtypeError,
    NotArrayError,
    TracingError,
    TypeMismatch,
    with_place,
)
from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Program, Value, building
from autojit.ir.core.types import Type, canonical_dtype, dtype_name
from autojit.ir.ops.move import reshape, slice_
from autojit.ir.ops.update import Updating

from .caught import RaisedAgain
from .progress import stage
from .protocol import Bounds
from .recording import TracingBuilder
from .source import Lines
from .source import is_internal as is_internal
from .source import user_instruction as user_instruction
from .source import user_source as user_source

if TYPE_CHECKING:
    from .captures import Part
    from .created_arrays import FreshArray
    from .tracer import Tracer

#: Python's own scalar types take the dtype of the arrays that they meet (NEP 50).
WEAK_TYPES = {int: np.dtype(np.int64), float: np.dtype(float), complex: np.dtype(complex)}


class Trace:
    """One active trace: a builder, and what it captured."""

    def __init__(self, outer: Trace | None = None) -> None:
        around: TracingBuilder | None = None if outer is None else outer.builder
        self.builder: TracingBuilder = TracingBuilder(Lines(), around)
        self.captured: list[Any] = []
        self.captured_inputs: list[Value] = []
        self._found: dict[Hashable, list[int]] = {}
        #: Arrays of which a part was captured, by identity.
        self._read_in_part: dict[int, np.ndarray] = {}
        #: What is captured: while the trace is open no other object may get the same id.
        self._alive: list[Any] = []
        self.open = True
        #: Uses of its values in other threads, which may have been handled there.
        self.elsewhere: list[TracingError] = []
        #: Between which bounds Python's integers lie, where more is known than their 64 bits.
        self.bounds: dict[Value, Bounds] = {}
        #: How the user writes the arguments of the traced function.
        self.paths: Paths | None = None
        #: Trees of its arguments, as they were put together for the traced function.
        self.rebuilt: list[Any] = []

    def capture(self, thing: Any, type: Type) -> Value:
        """An input of this trace's program that stands for an outer value or an array."""
        from .captures import keys

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
        """A part of an array of which another part has been captured: read from all of it."""
        from .captures import part_of_another

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
        """The array that a part is of, as it was captured, if this part of it has not changed: so
        a loop that reads all rows of an array compares each of them once."""
        from .captures import keys

        ranges = zip(part.start, part.stop, part.stride, strict=True)
        window = tuple([slice(*r) for r in ranges])
        for index in (k for key in keys(part.whole) for k in self._found.get(key, ())):
            if _unchanged(self.captured[index][window].reshape(array.shape), array):
                return self.captured_inputs[index]
        return None

    def let_go(self) -> None:
        """Forget who was captured, now that nothing else is, and the arguments."""
        self._alive.clear()
        self.rebuilt.clear()


class _View:
    """The captured state of an outer tracer: its value then, whatever happens to it later."""

    __slots__ = ("tracer", "value")

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.value = tracer.value


def _snapshot(thing: Any) -> Any:
    # The user may change the array later; the program holds what it was.
    return np.array(thing) if isinstance(thing, np.ndarray) else _View(thing)


def _unchanged(snapshot: Any, thing: Any) -> bool:
    if isinstance(snapshot, _View):
        return snapshot.value is thing.value
    return snapshot.dtype == thing.dtype and np.array_equal(
        snapshot, thing, equal_nan=snapshot.dtype.kind in "fc"
    )


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_stack = _Stack()


def current_trace() -> Trace | None:
    """The innermost active trace of this thread."""
    return _stack.traces[-1] if _stack.traces else None


@contextmanager
def new_trace() -> Iterator[Trace]:
    """A trace that is active inside the block."""
    from autojit.interception.patches import visible

    trace = Trace(current_trace())
    _stack.traces.append(trace)
    try:
        with building(trace.builder), visible(), seldom_collected():
            yield trace
    finally:
        trace.open = False
        _stack.traces.pop()


def check_not_leaked(tracer: Tracer) -> None:
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


#: What to do with a value that is needed after the trace.
RETURN_IT = (
    "    def f(x):\n        y = ...\n        return loss, y      # then grad(f, has_aux=True)"
)


def lift(x: Any, dtype: np.dtype | None = None) -> Value:
    """The value of the current trace that stands for a tracer, an array or a number."""
    from .created_arrays import FreshArray, bare
    from .tracer import Tracer

    trace, x = current_trace(), bare(x)
    if isinstance(x, Tracer):
        check_not_leaked(x)
        if trace is x.owner:
            return x.value
        assert trace is not None
        return trace.capture(x, x.type)
    assert trace is not None
    if isinstance(x, FreshArray):
        return _lift_fresh(x, dtype, trace)
    if is_special_array(x):
        raise NotArrayError(with_place(SPECIAL.format(type(x).__name__), user_source()))
    array = np.asarray(x)
    if dtype is not None and array.dtype != dtype:
        array = np.asarray(x, dtype)
    check_dtype(array.dtype)
    if array.ndim == 0:
        return full(array[()], Type(canonical_dtype(array.dtype), ()))
    found = trace.capture_part(array) if array is x else None
    return found or trace.capture(
        x if array is x else array, Type(canonical_dtype(array.dtype), array.shape)
    )


def _lift_fresh(x: FreshArray, dtype: np.dtype | None, trace: Trace) -> Value:
    """What the function has made itself."""
    from .created_arrays import plain

    array = plain(x)
    if dtype is not None and array.dtype != dtype:
        array = x = array.astype(dtype)
    return known(array, x, trace)


def known(array: np.ndarray, thing: Any, trace: Trace) -> Value:
    """The contents of an array as a value: a constant, or a captured thing that has them."""
    type = Type(canonical_dtype(array.dtype), array.shape)
    bytes_of = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)
    if array.size and (bytes_of == bytes_of[0]).all():
        return full(array.flat[0], type)
    return trace.capture(thing, type)


SPECIAL = (
    "{} is a subclass of np.ndarray with arithmetic of its own, which autojit would not follow. "
    "Pass its data and what else it holds as plain arrays:\n"
    "    np.asarray(x)                      # and for masked arrays x.data, x.mask"
)


def is_special_array(x: Any) -> bool:
    """Whether x is an array of a subclass that may compute in another way (masks, units)."""
    from .created_arrays import FreshArray

    known = (np.ndarray, np.memmap)
    return isinstance(x, np.ndarray) and type(x) not in known and not isinstance(x, FreshArray)


def check_dtype(dtype: np.dtype) -> None:
    """Raise MissingDtypeError, with the user's line, for a dtype that programs cannot hold."""
    try:
        dtype_name(dtype.newbyteorder("="))
    except TypeMismatch as error:
        raise MissingDtypeError(with_place(str(error), user_source())) from None


@contextmanager
def _numpys_errors_taken_off() -> Iterator[None]:
    """Our error where NumPy has raised one of its own because of it (in ``a[0] = x``, say)."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error.__cause__, TracingError):
            raise error.__cause__ from None
        raise


#: The paths of a function's arguments, for messages: ``argument 0['w']``, one a leaf.
Paths = Callable[[], Sequence[str]]


def trace_flat(
    function: Callable[..., Sequence[Any]],
    types: Sequence[Type],
    weak: Sequence[type | None],
    name: str,
    paths: Paths | None = None,
) -> Program:
    """Trace ``function(*tracers) -> flat results`` into a program.

    With ``paths`` the inputs are arrays of a caller, which the function may not change; without,
    they are its own.  The program's captured things are arrays and tracers of outer traces; the
    inputs for them come last.
    """
    from autojit.protocols.registry import load

    load()
    with new_trace() as trace, stage("tracing", name, lambda: len(trace.builder.ops)):
        trace.paths = paths
        known = sys.getrefcount(trace)
        inputs = [Value(t) for t in types]
        with RaisedAgain(name), _numpys_errors_taken_off():
            outputs = _outputs(function, inputs, weak, trace)
        if trace.elsewhere:
            raise trace.elsewhere[0]
        trace.let_go()
        if sys.getrefcount(trace) > known:
            from .leaks import check_nothing_left

            check_nothing_left(trace, known, name)
        captured = [c.tracer if isinstance(c, _View) else c for c in trace.captured]
        program = trace.builder.finish(
            [*inputs, *trace.captured_inputs], outputs, name=name, captured=captured
        )
    return _with_parts_resolved(program)


def _outputs(
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[Value],
    weak: Sequence[type | None],
    trace: Trace,
) -> list[Value]:
    """The values of the results.  When it returns, nothing of ours holds a tracer any more."""
    from .tracer import Argument, Tracer

    pairs = zip(inputs, weak, strict=True)
    if trace.paths is None:
        tracers = [Tracer(v, trace, w) for v, w in pairs]
    else:
        tracers = [Argument(v, trace, w, number) for number, (v, w) in enumerate(pairs)]
    return [lift(result) for result in function(*tracers)]


def _with_parts_resolved(program: Program) -> Program:
    if not program.has(Updating):
        return program
    from autojit.ir.passes import resolve_parts

    from .transform_cache import remembered

    return remembered(resolve_parts, program)


def inline(program: Program, arguments: Sequence[Any]) -> list[Tracer]:
    """Apply a program, captured things included, inside the current trace."""
    from .tracer import Tracer

    trace = current_trace()
    assert trace is not None
    values = [
        lift(a, t.dtype)
        for a, t in zip((*arguments, *program.captured), program.in_types, strict=True)
    ]
    results = trace.builder.inline(program, values)
    return [Tracer(v, trace) for v in results]


def is_tracer(x: Any) -> bool:
    from .created_arrays import TracedArray
    from .tracer import Tracer

    return isinstance(x, (Tracer, TracedArray))
