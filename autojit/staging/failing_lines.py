"""The user's line of an error that compiled code raises, as a note of the error.

Compiled code does not know it: programs of one structure share their code, whatever lines they come
from.  Once the code has raised, the traced program is asked which of its operations raise such an
error.  Before that nothing is paid for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from autojit.ir.core.errors import name_line, with_place
from autojit.ir.core.program import Program, Source
from autojit.ir.tools.interpreter import interpret

#: What compiled code raises: errors of its own, and all that the user does.
FAILURES = Exception
#: So many lines are named at most, where it is not known which one failed.
MOST = 3


def name_failing_line(
    error: Exception, program: Program, arrays: Sequence[Any], *, quick: bool
) -> None:
    """Add the line to an error that the code of a program has raised for these inputs.

    Where several lines may have raised it, the interpreter tells which one, if it is quick, and
    which index is out of bounds. An error that a GPU raises late may have its line already.
    """
    if any('  File "' in note for note in getattr(error, "__notes__", ())):
        return
    lines = list({line.place: line for line in _lines(program, error)}.values())
    if quick and (len(lines) > 1 or (lines and isinstance(error, IndexError))):
        try:
            interpret(program, arrays)
        except type(error) as same:
            if str(same) != str(error):
                error.add_note(str(same))
            for note in getattr(same, "__notes__", ()):
                error.add_note(note)
            return
    if len(lines) == 1:
        name_line(error, lines[0])
    elif lines:
        named = "".join(with_place("", line) for line in lines[:MOST])
        more = f"\n  and {len(lines) - MOST} more lines" if len(lines) > MOST else ""
        error.add_note(f"It comes from one of these lines:{named}{more}")


def _lines(program: Program, error: Exception) -> Iterator[Source]:
    """The lines of operations that may have raised an error."""
    for op in program.ops:
        if op.programs:
            for inner in op.programs:
                yield from _lines(inner, error)
        elif op.source is not None and op.kind.may_raise(op, error):
            yield op.source
