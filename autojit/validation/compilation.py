"""``AUTOJIT_VERIFY=points``: compare compiled results with an interpreted run of the trace.

Rules:

- A program is checked at the arguments of its first call and at :data:`POINTS` other points. For
  these, its floating-point inputs are multiplied by random numbers between 0.5 and 1.5. Integers
  and bools stay, since they are usually positions and lengths, and so do captured values.
- Integers and bools must be equal.  Floating-point numbers must be as close as ``rounding`` says.
  If the interpreter gives a NaN or an infinity and compiled code does not, the interpreter's result
  of the optimised program counts instead: passes may remove terms that cancel, and with them such
  numbers.
- Functions of the process (``pure_callback``) must not be called twice, so programs with them are
  skipped.
- The interpreter may take :data:`SHARE` of the time to compile the program, both by a model. A
  longer run is skipped: it stops when the time is over, so that infinite loops do no harm.
- A remark says what was skipped.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.errors import EnvironmentVariableError, MiscompilationError
from autojit.ir.core.program import Op, Program
from autojit.ir.linalg.factorizations import Matrices
from autojit.ir.ops.callback import calls_functions
from autojit.ir.ops.contract import Dot
from autojit.ir.pass_manager import remarks
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.interpreter import Watch, interpret, watching
from autojit.tracing.hooks import hooks

from .differences import difference

VARIABLE = "AUTOJIT_VERIFY"
#: The number of points besides that of the first call.
POINTS = 2
#: The interpreter's time as a share of the compilation time.
SHARE = 0.25
#: The model of times, in seconds. Compilation: per program, and per operation. Interpretation: per
#: run of a program or a body, per operation, per element of operands and results, and per addition.
TO_COMPILE, EACH_OP = 0.1, 1e-3
TO_ENTER, TO_CALL, EACH_ELEMENT, EACH_ADDITION = 2e-5, 1e-5, 4e-9, 1e-9

#: A compiled program: maps the arrays of its inputs to its results.
Compiled = Callable[[Sequence[Any]], Sequence[Any]]


def share_of(value: str) -> int:
    """N if one program in N is checked by the setting; 0 if none is.

    >>> share_of("points"), share_of("points/8"), share_of("0")
    (1, 8, 0)
    """
    if value in ("", "0"):
        return 0
    name, mark, number = value.partition("/")
    if name == "points" and (not mark or (number.isdecimal() and int(number) > 0)):
        return int(number) if mark else 1
    raise EnvironmentVariableError(
        f"{VARIABLE}={value} is not a valid setting. Valid settings:\n"
        f"    {VARIABLE}=points      # check each program that is compiled\n"
        f"    {VARIABLE}=points/8    # one in eight, always the same ones\n"
        f"    {VARIABLE}=0           # check none (the default)"
    )


def is_chosen(program: Program, share: int) -> bool:
    """Whether a program is checked; the choice depends on the program alone."""
    if share <= 1:
        return share == 1
    return zlib.crc32(program.text().encode()) % share == 0


class TooLong(Exception):
    """Raised when the interpreter's time is over."""


def seconds_of(op: Op) -> float:
    """The interpreter's time for an operation by the model; bodies are counted as they run."""
    sizes = [v.type.size for v in (*op.operands, *op.results)]
    return TO_CALL + EACH_ELEMENT * sum(sizes) + EACH_ADDITION * _additions(op, sizes)


def _additions(op: Op, sizes: Sequence[int]) -> float:
    """The work of an operation that is not proportional to its elements, in additions."""
    if isinstance(op.kind, Dot):  # (m, k) @ (k, n): m * k * n
        return math.sqrt(math.prod(sizes))
    if isinstance(op.kind, Matrices):
        return 10.0 * max(sizes) ** 1.5
    work = op.kind.work(op)
    return 0.0 if math.isinf(work) else work


class Budget(Watch):
    """A watch that stops the interpreter after a number of seconds, by the model."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def entered(self, program: Program, arguments: Sequence[Any]) -> None:
        self._spend(TO_ENTER)

    def computed(self, op: Op, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        self._spend(seconds_of(op))
        return results

    def _spend(self, seconds: float) -> None:
        self.seconds -= seconds
        if self.seconds < 0:
            raise TooLong


def verify(program: Program, arrays: Sequence[Any], compiled: Compiled) -> None:
    """Raise MiscompilationError if the compiled results differ from the interpreter's."""
    if not is_chosen(program, share_of(os.environ.get(VARIABLE, ""))):
        return
    if calls_functions(program):
        _left_out(program, "it calls functions of this process, which are not called twice")
        return
    budget = Budget(SHARE * (TO_COMPILE + EACH_OP * _size(program)))
    rng = np.random.default_rng(0)
    for number in range(1 + POINTS):
        point = arrays if number == 0 else _other(program, arrays, rng)
        try:
            with watching(budget):
                wanted = interpret(program, point)
        except TooLong:
            if number == 0:
                _left_out(program, "the interpreter would take too long")
            return
        except Exception:  # the function raises at this point
            continue
        _check(program, point, wanted, compiled)


def _size(program: Program) -> int:
    return sum(1 + sum(map(_size, op.programs)) for op in program.ops)


def _left_out(program: Program, reason: str) -> None:
    notes = remarks.current()
    if notes is not None:
        source = next((op.source for op in program.ops if op.source is not None), None)
        notes.add("verify", str(source or program.name), f"not verified: {reason}")


def _other(program: Program, arrays: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """Another point of the same types."""
    given = len(arrays) - len(program.captured)
    made = []
    for k, array in enumerate(map(np.asarray, arrays)):
        if k < given and array.dtype.kind in "fc":
            with np.errstate(all="ignore"):  # the largest numbers may overflow
                array = np.asarray(array * rng.uniform(0.5, 1.5, array.shape), array.dtype)
        made.append(array)
    return made


def _check(
    program: Program, point: Sequence[Any], wanted: Sequence[Any], compiled: Compiled
) -> None:
    before = [np.array(a) for a in point]
    try:
        got = list(compiled(point))
    except Exception as error:
        words = f"it raises {type(error).__name__} ({error}), but the interpreter does not"
    else:
        wanted = _with_what_passes_leave_out(program, before, wanted, got)
        found = difference(program, before, wanted, got)
        if found is None:
            return
        words = str(found)
    _refuse(program, before, wanted, words)


def _refuse(program: Program, point: Sequence[Any], wanted: Sequence[Any], words: str) -> None:
    from .reproducers import write
    from .suspects import named_pass

    culprit = named_pass(program, point, wanted)
    path = write(program, point, culprit)
    raise MiscompilationError(
        f"{program.name} was miscompiled: {words}. The cause is {culprit}.\n"
        "This is a bug in autojit, not in your code. Please report it, and attach this file, "
        "which `autojit run` reads:\n"
        f"    {path}"
    )


def _with_what_passes_leave_out(
    program: Program, arrays: Sequence[Any], wanted: Sequence[Any], got: Sequence[Any]
) -> list[Any]:
    """The wanted results, corrected where compiled ones are finite and they are not.

    There, the results of the optimised program replace NaN and infinities.
    """

    def left_out(w: Any, g: Any) -> Any:
        return ~np.isfinite(w) & np.isfinite(g)

    inexact = [np.asarray(w).dtype.kind in "fc" for w in wanted]
    pairs = list(zip(wanted, got, inexact, strict=True))
    if not any(np.any(left_out(w, g)) for w, g, has in pairs if has):
        return list(wanted)
    with watching(None):
        optimized = interpret(optimize(program.bound_to(())), arrays)
    return [
        np.where(left_out(w, g), o, w) if has else w
        for (w, g, has), o in zip(pairs, optimized, strict=True)
    ]


hooks.verify = verify
