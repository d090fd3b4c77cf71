"""The user's line of an error that compiled code raises, as a note of the error.

Compiled code does not know the line, because programs of one structure share code whatever lines
they come from. After an error, the traced program is searched for operations that raise such an
error. Calls without an error pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from traceback import walk_tb
from typing import Any

from autojit.ir.core.errors import name_line, with_place
from autojit.ir.core.program import Op, Program, Source
from autojit.ir.core.values import has_place
from autojit.ir.regions.while_ import While
from autojit.ir.tools.interpreter import Watch, interpret, watching

#: The errors of compiled code: its own, any that the user's code raises, and Ctrl-C in a loop.
FAILURES = (Exception, KeyboardInterrupt)
#: The most lines named, if it is not known which one failed.
MOST = 3


#: The most work interpreted to find the line: computed elements, plus CALL per operation. It takes
#: a tenth of a second.
MOST_WORK, CALL = 20_000_000, 1000


class _TooLong(Exception):
    """The interpreter has reached its limit of work."""


class _Bounded(Watch):
    """Stops the interpreter after some work; steps of loops count as they run."""

    def __init__(self) -> None:
        self.left_over = MOST_WORK

    def computed(self, op: Op, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        self.left_over -= CALL + _size(op)
        if self.left_over < 0:
            raise _TooLong
        return results


def _size(op: Op) -> int:
    return sum(v.type.size for v in (*op.operands, *op.results))


def _largest(program: Program) -> int:
    """The largest number of elements of an operation."""
    inner = [_largest(p) for op in program.ops for p in op.programs]
    return max([0, *map(_size, program.ops), *inner])


def name_failing_line(error: BaseException, program: Program, arrays: Sequence[Any] | None) -> None:
    """Add the line to an error raised by a program's code for these inputs.

    If several lines may have raised it, the interpreter finds out which one, and which index is out
    of bounds, unless that takes long. An error that a GPU raises late may already have its line;
    ``arrays`` is None if the call that raised it is unknown.
    """
    if not is_of_code(error) or has_place(error):
        return
    if not isinstance(error, Exception):
        _name(error, _once(_loops(program)))
        return
    lines = _once(_lines(program, error))
    if arrays is not None and (len(lines) > 1 or (lines and isinstance(error, IndexError))):
        same = _again(error, program, arrays)
        if same is not None:
            if str(same) != str(error):
                error.add_note(str(same))
            for note in getattr(same, "__notes__", ()):
                error.add_note(note)
            return
    _name(error, lines)


def _again(error: Exception, program: Program, arrays: Sequence[Any]) -> Exception | None:
    """The error as the interpreter raises it; None if it does not, or if that would take long."""
    if _largest(program) > MOST_WORK // 4:
        return None
    try:
        with watching(_Bounded()):
            interpret(program, arrays)
    except type(error) as same:
        return same
    except Exception:  # too long, or another one: the line is not known
        return None
    return None


def _name(error: BaseException, lines: list[Source]) -> None:
    """Add the line, or some of the possible lines."""
    if len(lines) == 1:
        name_line(error, lines[0])
    elif lines:
        named = "".join(with_place("", line) for line in lines[:MOST])
        more = f"\n  and {len(lines) - MOST} more lines" if len(lines) > MOST else ""
        error.add_note(f"It comes from one of these lines:{named}{more}")


def _once(lines: Iterable[Source]) -> list[Source]:
    return list({line.place: line for line in lines}.values())


def is_of_code(error: BaseException) -> bool:
    """Whether compiled code may have raised an error. It raises Ctrl-C only where it polls for
    signals, not while Python prepares a call."""
    if isinstance(error, Exception):
        return True
    from autojit.codegen.cpu.abi.abi import ask_python
    from autojit.codegen.cpu.abi.callbacks import raise_error

    codes = ask_python.__code__, raise_error.__code__
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))


def _loops(program: Program) -> Iterator[Source]:
    """The lines of loops of unknown length, each with the lines in it."""
    for op in program.ops:
        if isinstance(op.kind, While) and op.source is not None:
            yield op.source
        else:
            for inner in op.programs:
                yield from _loops(inner)


def _lines(program: Program, error: Exception) -> Iterator[Source]:
    """The lines of operations that may have raised an error."""
    for op in program.ops:
        if op.programs:
            for inner in op.programs:
                yield from _lines(inner, error)
        elif op.source is not None and op.kind.may_raise(op, error):
            yield op.source
