"""The builder of a trace. While it records operations it refuses exception handlers: Python would
run them when an operation fails, and a trace, which computes nothing, cannot.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, Protocol

import numpy as np

from autojit.errors import HandledFailureError, with_place
from autojit.ir.autodiff.kept_errors import Applied
from autojit.ir.core.program import Builder, Op, Program, Source, Value, current_builder
from autojit.ir.core.values import shown_file
from autojit.session.frames import is_internal

from .handlers import handler_line, manager_line
from .hooks import hooks


def _found_error_state() -> Callable[[], Any]:
    """A function that identifies NumPy's error state, by identity if possible, for speed."""
    from numpy._core import umath

    variable = getattr(umath, "_extobj_contextvar", None)
    return (lambda: variable.get(None)) if variable is not None else np.geterr


_error_state = _found_error_state()


class KnownValues(Protocol):
    """The values of a trace."""

    def find(self, value: Value) -> Any:
        """The array, or what says that it is not known."""

    def attempt(self, op: Op) -> bool:
        """Compute an operation or raise its error; False where its operands are not known."""

    def knows_inputs(self) -> bool:
        """Whether the inputs are numbers."""

    def depends(self, value: Value) -> bool:
        """Whether a value has a derivative by something that is differentiated."""


class TracingBuilder(Builder):
    """Records the operations of a trace, which may lie inside of another one's."""

    def __init__(self, source: Callable[[], Source | None], outer: TracingBuilder | None) -> None:
        super().__init__(source)
        #: The error state outside of the outermost traced function, which has no effect.
        self.outside: Any = _error_state() if outer is None else outer.outside
        self.state = self.outside
        #: How many traces are open.
        self.depth: int = 1 if outer is None else outer.depth + 1
        #: The trace's values, if they are known (see ``known``).
        self.known: KnownValues | None = None
        #: The number of ops of each inlined program without repetitions.
        self.irregular: list[int] = []
        #: The inlined programs that may fail, which no other one contains.
        self.applied: list[Applied] = []
        #: Whether a program is being inlined, whose ops all belong to one block.
        self._is_inlining = False

    def append(self, op: Op) -> None:
        if op.kind.fallible and self._check_handlers(op):
            builder = current_builder()  # of the code that runs only if the operation succeeds
            assert isinstance(builder, TracingBuilder)
            builder.record(op)
        else:
            self.record(op)

    def record(self, op: Op) -> None:
        """Append an operation whose failure the function does not handle."""
        self.ops.append(op)
        state = _error_state()
        if state is not self.state:
            self._check_error_state(op.source)
            self.state = state

    def inline(self, program: Program, arguments: Sequence[Value]) -> list[Value]:
        around, self._is_inlining = self._is_inlining, True
        try:
            return super().inline(program, arguments)
        finally:
            self._is_inlining = around

    def _check_handlers(self, op: Op) -> bool:
        """Refuse an operation whose run-time failure the function would handle, unless the handler
        can be compiled; return whether it is. If its operands are known, it fails here or not at
        all."""
        is_checked = False
        for error in sorted(errors_of(op), key=lambda kind: kind.__name__):
            place = _handled_at(error, self.depth)
            if place is None:
                continue
            if self.known is not None and self.known.attempt(op):
                return False
            if self._is_inlining or not hooks.is_checked_op(op, error):
                raise _handled(f"The operation `{op.kind.name}`", error, place, op.source)
            is_checked = True
        return is_checked

    def handles(self, error: type[BaseException]) -> bool:
        """Whether the traced function would handle an exception that is raised here."""
        return _handled_at(error, self.depth) is not None

    def handler(self, error: type[BaseException]) -> FrameType | None:
        """The function that would handle an exception that is raised here."""
        found = _handling(error, self.depth)
        return None if found is None else found[0]

    def manager_line(self, ends: Container[CodeType]) -> int | None:
        """The line of a ``with`` of the user's around the present code, up to a function that one
        of these has called."""
        for frame in _users_frames(self.depth):
            line = manager_line(frame)
            if line is not None:
                return line
            if frame.f_back is not None and frame.f_back.f_code in ends:
                return None
        return None

    def check_raise(
        self, error: type[BaseException], source: Source | None,
        what: str = "A branch on a traced condition",
    ) -> None:  # fmt: skip
        """Refuse an exception that Python would raise as the code runs, which the function
        handles."""
        place = _handled_at(error, self.depth)
        if place is not None:
            raise _handled(what, error, place, source)

    def _check_error_state(self, source: Source | None) -> None:
        found = [f"{k}={v!r}" for k, v in np.geterr().items() if v in ("raise", "call")]
        if found and _error_state() is not self.outside:
            raise HandledFailureError(
                with_place(
                    f"np.errstate({', '.join(found)}) inside a traced function has no effect: "
                    "warnings are off in compiled code, where infinities and NaN are results. "
                    "Check the result instead, where the transformed function is called:\n"
                    "    y = jit(f)(x)\n"
                    "    if not np.all(np.isfinite(y)): raise FloatingPointError",
                    source,
                )
            )


def errors_of(op: Op) -> frozenset[type[Exception]]:
    """The errors of an operation that Python raises too. Its integers do not overflow."""
    if op.programs:
        return frozenset().union(*(errors_of(each) for p in op.programs for each in p.ops))
    if not op.kind.fallible or op.params.get("failure") == "overflow":
        return frozenset()
    return op.kind.raises(op)


#: The code of the functions that begin a trace.
beginnings: set[CodeType] = set()


def _users_frames(depth: int) -> Iterator[FrameType]:
    """The functions on the stack that are not ours, NumPy's or SciPy's, innermost first, up to the
    beginning of the outermost trace."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code in beginnings:
            depth -= 1
            if not depth:
                return
        elif not is_internal(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def _handled_at(error: type[BaseException], depth: int) -> str | None:
    """Where the traced functions would handle an error raised now."""
    found = _handling(error, depth)
    return None if found is None else f"{shown_file(found[0].f_code.co_filename)}:{found[1]}"


def _handling(error: type[BaseException], depth: int) -> tuple[FrameType, int] | None:
    """The traced function that would handle an error raised now, and the line of its handler."""
    for frame in _users_frames(depth):
        line = handler_line(frame, frame.f_lasti, error)
        if line is not None:
            return frame, line
    return None


def _handled(
    words: str, error: type[BaseException], place: str, source: Source | None
) -> HandledFailureError:
    name = "np.linalg.LinAlgError" if error is np.linalg.LinAlgError else error.__name__
    file, _, line = place.rpartition(":")
    word = "with" if linecache.getline(file, int(line)).strip().startswith("with") else "except"
    return HandledFailureError(
        with_place(
            f"{words} may raise {name} when the compiled code runs. The "
            f"`{word}` at {place} would handle it in Python; it runs only while the function "
            "is traced, when no value is known. Handle it where the transformed function is "
            "called, without a `try` in the function itself:\n"
            "    try:\n"
            "        value = jit(f)(x)\n"
            f"    except {name}:\n"
            "        value = np.inf",
            source,
        )
    )
