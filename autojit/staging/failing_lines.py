"""The user's line of an error that compiled code raises, as a note of the error.

Compiled code does not know the line, because programs of one structure share code whatever lines
they come from. After an error, the traced program is searched for operations that raise such an
error. Calls without an error pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from traceback import walk_tb
from typing import Any

import numpy as np

from autojit.ir.core.errors import name_line, with_place
from autojit.ir.core.program import Op, Program, Source
from autojit.ir.core.values import has_place
from autojit.ir.ops.checks import Reported
from autojit.ir.regions.while_ import While
from autojit.ir.tools.interpreter import Watch, interpret, watching
from autojit.session.devices import CPU
from autojit.session.messages import OUTSIDE, Report, report_by, report_of, reporting
from autojit.session.transform_cache import cached_transform
from autojit.version import VERSION

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
        self.reports: dict[Any, Report] = {}

    def computed(self, op: Op, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        self.left_over -= CALL + _size(op)
        if self.left_over < 0:
            raise _TooLong
        if isinstance(op.kind, Reported) and not np.all(operands[0]):
            key = op.params["failure"], op.source and op.source.place
            if key not in self.reports:
                self.reports[key] = report_of(op.params, op.source, operands)
        return results


def _size(op: Op) -> int:
    return sum(v.type.size for v in (*op.operands, *op.results))


def _largest(program: Program) -> int:
    """The largest number of elements of an operation."""
    inner = [_largest(p) for op in program.ops for p in op.programs]
    return max([0, *map(_size, program.ops), *inner])


def with_line(
    error: BaseException, program: Program, arrays: Sequence[Any] | None
) -> BaseException:
    """An error raised by a program's code for these inputs, with the line, as the user's code
    raises it: of the user's class, and with the values that its message names.

    If several lines may have raised it, the interpreter finds out which one, which index is out of
    bounds, and the values, unless that takes long. An error that a GPU raises late may already have
    its line; ``arrays`` is None if the call that raised it is unknown.
    """
    if not is_of_code(error):
        return error
    if not isinstance(error, Exception):
        if not has_place(error):
            _name(error, _once(_loops(program)))
        return error
    reported = list(_reported(program, error))
    if has_place(error) and not reported:
        return error
    report = _report_of_constants(reported)
    if report is not None:
        if not has_place(error):
            _name_lines(error, program, arrays)
    else:
        report = _name_lines(error, program, arrays, has_values=bool(reported))
    if report is None:
        return error
    if report.own is None:
        error.args = report.arguments
        return error
    for note in getattr(error, "__notes__", ()):
        report.own.add_note(note)
    return report.own.with_traceback(error.__traceback__)


def _report_of_constants(reported: Sequence[Op]) -> Report | None:
    """The report of those operations, if it is the same for all and names no value."""
    if len({op.params["form"] for op in reported}) != 1 or len(reported[0].operands) > 1:
        return None
    return report_of(reported[0].params, None, [np.array(False)])


def _name_lines(
    error: Exception, program: Program, arrays: Sequence[Any] | None, *, has_values: bool = False
) -> Report | None:
    """Add the line of an error, or some of the possible lines; return the report of its values."""
    lines = _once(_lines(program, error))
    is_unclear = len(lines) > 1 or (lines and isinstance(error, IndexError))
    if arrays is None or not (is_unclear or has_values):
        _name(error, lines)
        return None
    same, report = _again(error, program, arrays)
    report = report or (None if same is not None else _of_code(error, program, arrays))
    if report is None and same is not None and str(same) != str(error):
        _add_words(error, same)
    if has_place(error):
        return report
    if same is not None:
        for note in getattr(same, "__notes__", ()):
            error.add_note(note)
        return report
    _name(error, [report.source] if report is not None and report.source is not None else lines)
    return report


def _add_words(error: Exception, same: Exception) -> None:
    """Add what the interpreter says about an error whose message names no values."""
    if _failure(error) == OUTSIDE:
        error.args = same.args
    else:
        error.add_note(str(same))


def _again(
    error: Exception, program: Program, arrays: Sequence[Any]
) -> tuple[Exception | None, Report | None]:
    """The error as the interpreter raises it, and the values that its message names; None if it
    does not raise one, or if that would take long."""
    watch, same = _Bounded(), None
    if _largest(program) > MOST_WORK // 4:
        return None, None
    try:
        with watching(watch):
            interpret(program, arrays)
    except type(error) as found:
        same = found
    except Exception:  # too long, or another one: the line is not known
        return None, None
    reports = [x for x in watch.reports.values() if x.failure == _failure(error)]
    own = [x for x in reports if x.source is not None and _is_at(same, x.source)] or reports
    return same, own[0] if own and same is not None else None


def _of_code(error: Exception, program: Program, arrays: Sequence[Any]) -> Report | None:
    """The report of an error by another run of the compiled program."""
    code = _reporting_code(cached_transform(reporting, program).bound_to(()))
    return report_by(lambda: code.call(arrays), _failure(error))


@lru_cache(maxsize=16)
def _reporting_code(program: Program) -> Any:
    from autojit.codegen.driver.cache import user_cache
    from autojit.codegen.driver.executable import compile_program

    return compile_program(program, CPU, user_cache(), VERSION)


def _failure(error: Exception) -> tuple[str, str]:
    return type(error).__name__, "".join(map(str, error.args))


def _is_at(error: Exception | None, source: Source) -> bool:
    return with_place("", source).strip("\n") in getattr(error, "__notes__", ())


def _reported(program: Program, error: Exception) -> Iterator[Op]:
    """The operations of a program that have the class of an error, or values of its message."""
    for op in program.ops:
        if isinstance(op.kind, Reported):
            if op.params["failure"] == _failure(error):
                yield op
        else:
            for inner in op.programs:
                yield from _reported(inner, error)


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
