"""Values of traced arrays in traces with known arguments: ``grad(f)(x)`` without ``jit``.

Such a trace serves a single call, so Python may ask its values for numbers and take the branch of
that call. A value is computed when it is first requested, with everything it depends on, by the
interpreter's functions; each operation runs once in a trace. A trace without requests computes
nothing.

Legal only if the program of the trace is run for exactly these inputs: the starter of a trace
decides whether to give them (:class:`Inputs`). A request for an outer trace's value is answered
only if all traces in between know their values, because the answer becomes part of their programs
too.

A requested value loses its derivative. Nothing is lost if it has none, which the operations declare
(``Declaration.reaches``): integers, bools, and values that do not depend on a differentiated input,
such as ``stop_gradient(x)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import ConcreteValueError, with_place
from autojit.ir.core.errors import name_line
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Op, Value
from autojit.ir.tools.interpreter import evaluated

from .context import CapturedView, Trace, active_traces, outside_of_traces
from .protocol import TracedValue
from .source import user_source


class Unknown(NamedTuple):
    """Represents a value that is not known."""

    #: Whether it differs along a batch.
    batched: bool


UNKNOWN, BATCHED = Unknown(False), Unknown(True)


class Inputs(NamedTuple):
    """The inputs of the one call that a trace is for.

    ``leaves`` are arrays, numbers, traced values of outer traces, or :data:`BATCHED`;
    ``differentiated`` says whether the trace's program is differentiated by them.
    """

    leaves: Sequence[Any]
    differentiated: bool
    #: Gets an element when the trace first asks for a value; None if nobody wants to know.
    asked: list[bool] | None = None


class Known:
    """The values of one trace that have been requested."""

    def __init__(
        self, trace: Trace, inputs: Sequence[Value], sources: Sequence[Any], given: Inputs
    ) -> None:
        # The trace itself is not referenced, because references to it show that its values are
        # kept.
        self._ops: list[Op] = trace.builder.ops
        self._captured, self._captured_inputs = trace.captured, trace.captured_inputs
        self._inputs, self._leaves, self._differentiated = inputs, sources, given.differentiated
        self._asked = given.asked
        #: The values of the surrounding trace, if it knows them.
        self._around: Known | None = _around(trace)
        self._indexed = self._marked = self._seen = self._taken = -1

    def _begin(self) -> None:
        """Create the data needed from the first request on."""
        if self._asked is not None:
            self._asked.append(True)
        #: Inputs and captured values, with their sources: arrays, numbers, outer values.
        self._entered = list(zip(self._inputs, self._leaves, strict=True))
        self._sources: dict[Value, Any] = dict(self._entered)
        self._found: dict[Value, Any] = {}
        self._made: dict[Value, Op] = {}
        #: The values with a derivative by a differentiated input.
        moving = self._inputs if self._differentiated else ()
        self._moving: set[Value] = {v for v in moving if v.type.is_inexact}
        self._indexed = self._marked = self._seen = self._taken = 0

    def find(self, value: Value) -> Any:
        """The array, or Unknown. Raises the error of an operation that fails."""
        self._index()
        if value not in self._found:
            with outside_of_traces(), np.errstate(all="ignore"):
                self._compute(value)
        return self._found[value]

    def knows_inputs(self) -> bool:
        """Whether all inputs are known. No value of an array or number counts as asked for."""
        for value, source in zip(self._inputs, self._leaves, strict=True):
            outer = isinstance(source, CapturedView)
            if isinstance(self.find(value) if outer else source, Unknown):
                return False
        return True

    def attempt(self, op: Op) -> bool:
        """Compute an operation that is not recorded yet, or raise its error; False if its operands
        are not known."""
        if any(isinstance(self.find(v), Unknown) for v in op.operands):
            return False
        with outside_of_traces(), np.errstate(all="ignore"):
            self._run(op)
        return True

    def depends(self, value: Value) -> bool:
        """Whether a value has a derivative by something that is differentiated."""
        self._index()
        moving = self._marked_inputs()
        for op in self._ops[self._marked :]:
            if not moving.isdisjoint(op.operands):
                marks = [v in moving for v in op.operands]
                found = op.kind.reaches(op, marks, inexact=True)
                moving.update(v for v, f in zip(op.results, found, strict=True) if f)
        self._marked = len(self._ops)
        return value in moving

    def _marked_inputs(self) -> set[Value]:
        entered = self._entered[self._seen :]
        self._moving.update(v for v, source in entered if self._moves(source))
        self._seen = len(self._entered)
        return self._moving

    def _index(self) -> None:
        """Index the operations and captured values added since the last call."""
        if self._indexed < 0:
            self._begin()
        for op in self._ops[self._indexed :]:
            self._made.update(dict.fromkeys(op.results, op))
        self._indexed = len(self._ops)
        start, self._taken = self._taken, len(self._captured)
        pairs = zip(self._captured_inputs[start:], self._captured[start:], strict=True)
        for value, source in pairs:
            self._entered.append((value, source))
            self._sources[value] = source

    def _compute(self, value: Value) -> None:
        """Compute a value with an explicit stack, because traces may exceed Python's recursion
        limit.
        """
        stack = [value]
        while stack:
            wanted = stack[-1]
            if wanted in self._found:
                stack.pop()
                continue
            op = self._made.get(wanted)
            if op is None:
                self._found[wanted] = self._input(wanted)
                continue
            missing = [v for v in op.operands if v not in self._found]
            if missing:
                stack += missing
            else:
                self._run(op)

    def _input(self, value: Value) -> Any:
        """The array of an input, or Unknown."""
        source = self._sources.get(value, UNKNOWN)
        if isinstance(source, Unknown):
            return source
        if isinstance(source, CapturedView):
            outer = self.outer(source.tracer)
            return UNKNOWN if outer is None else outer.find(source.value)
        return in_dtype(source, value.dtype)

    def _moves(self, source: Any) -> bool:
        """Whether an input is known to have a derivative by an input that an outer function is
        differentiated by."""
        if not isinstance(source, CapturedView):
            return isinstance(source, Unknown)
        outer = self.outer(source.tracer)
        return outer is None or outer.depends(source.value)

    def outer(self, x: TracedValue) -> Known | None:
        """The values of an outer value's trace, if all traces in between know theirs."""
        known, wanted = self._around, x.owner.builder.known
        while known is not None and known is not wanted:
            known = known._around
        return known

    def _run(self, op: Op) -> None:
        operands = [self._found[v] for v in op.operands]
        unknown = [x for x in operands if isinstance(x, Unknown)]
        if unknown:
            self._found.update(dict.fromkeys(op.results, max(unknown)))
            return
        try:
            results = evaluated(op, operands)
        except Exception as error:
            name_line(error, op.source)
            raise
        if len(op.results) == 1:
            results = (results,)
        for value, result in zip(op.results, results, strict=True):
            self._found[value] = in_dtype(result, value.dtype)


def _around(trace: Trace) -> Any:
    traces = active_traces()
    return traces[-2].builder.known if len(traces) > 1 and traces[-1] is trace else None


# -- questions ---------------------------------------------------------------------------


def _known_of(x: TracedValue) -> Known | None:
    """The known values of the trace of a value, for a request in the active trace."""
    traces = active_traces()
    known = traces[-1].builder.known if traces else None
    if not isinstance(known, Known) or traces[-1] is x.owner:
        return known if isinstance(known, Known) else None
    return known.outer(x)


def _find(x: TracedValue) -> Any:
    known = _known_of(x)
    return UNKNOWN if known is None else known.find(x.value)


def value_of(x: TracedValue) -> np.ndarray | np.generic | None:
    """The value of a traced array, which must not be written to; None if it is not known.

    Raises:
        the error of an operation in its computation, with the user's line.
    """
    found = _find(x)
    if isinstance(found, Unknown):
        return None
    result: np.ndarray | np.generic = found[()] if x.is_number else found
    return result


def at_hand(x: TracedValue) -> Any:
    """The value in Python's form: a traced Python number becomes a Python number."""
    found = value_of(x)
    return found if found is None or x.weak is None else x.weak(found.item())


def depends(x: TracedValue) -> bool:
    """Whether a known value has a derivative by something that is differentiated."""
    known = _known_of(x)
    return known is None or known.depends(x.value)


def arguments_are_known() -> bool:
    """Whether the active trace is for one call, and knows all of its arguments."""
    traces = active_traces()
    known = traces[-1].builder.known if traces else None
    return isinstance(known, Known) and known.knows_inputs()


def is_batched(x: TracedValue) -> bool:
    """Whether a value is unknown because it differs along a batch."""
    return bool(_find(x) == BATCHED)


# -- words -------------------------------------------------------------------------------

#: Under vmap a request has many answers.
ONE_BY_ONE = (
    "Or call the function for one element at a time:\n"
    "    np.stack([f(x) for x in xs])       # not: vmap(f)(xs)"
)


def lost_derivative(x: TracedValue, what: str, fix: str) -> ConcreteValueError:
    """The error if a value with a derivative is converted to a plain number."""
    return ConcreteValueError(
        with_place(
            f"{what} gives plain numbers, so the derivative would be lost: this traced array of "
            f"type {x.type} depends on a variable of differentiation.\n"
            f"{fix.strip()}\n"
            "Or stop the gradient, if only the numbers are meant:\n"
            "    y = autojit.stop_gradient(x)       # then float(y), y.item() or np.asarray(y)",
            user_source(),
        )
    )
