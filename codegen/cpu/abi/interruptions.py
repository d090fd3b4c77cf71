"""Loops of unknown length let Python handle signals, so that Ctrl-C ends them.

Such a loop runs some steps and then calls ``pause``, which reads the clock. Every twentieth of a
second it takes the interpreter's lock and calls a Python function that does nothing. On entering
the function Python handles pending work: in the main thread it runs signal handlers, and in every
thread it raises the exceptions that ``PyThreadState_SetAsyncExc`` requested. An error stays set in
the thread, and the entry finds it there.

The number of steps between pauses adapts to their duration. The loop itself executes one comparison
per step. On a machine without a clock, Python is called at each pause.
"""

from __future__ import annotations

from typing import Protocol

from llvmlite import ir

from autojit.codegen.cpu.host.stopwatch import cycles
from autojit.codegen.cpu.llvm import library
from autojit.codegen.loop_ir.errors import INTERRUPTED
from autojit.codegen.loop_ir.machine import has_cycle_counter

from . import abi, arrays, clock

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()
_ZERO, _ONE = ir.Constant(I64, 0), ir.Constant(I64, 1)

#: Ticks between two calls of Python, between a fiftieth and a twentieth of a second: cycles of a
#: processor of 1 to 5 GHz, or nanoseconds.
PERIOD = 1 << 27, 1 << 26
#: The number of additions after which a loop reads the clock for the first time.
FIRST = 1 << 16

#: The words of a loop's memory: the step of the next pause, the steps between two pauses, and the
#: time of the last call of Python (0 before the first pause).
_LIMIT, _CHUNK, _ASKED = range(3)
WORDS = 3
#: table, status, words
_PAUSE = ir.FunctionType(I64, [POINTER, POINTER, POINTER])


class Kernel(Protocol):
    """The part of a kernel that its loops need for pauses."""

    allocas: ir.IRBuilder
    table: ir.Value | None
    status: ir.Value | None


class Pauses:
    """The pauses of a loop at the builder's position; the first is after ``steps`` steps."""

    def __init__(self, kernel: Kernel, b: ir.IRBuilder, steps: int) -> None:
        self.b = b
        self.words = kernel.allocas.alloca(I64, size=WORDS)
        self.arguments = [kernel.table, kernel.status, self.words]
        for place, number in ((_LIMIT, steps), (_CHUNK, steps), (_ASKED, 0)):
            b.store(ir.Constant(I64, number), _word(b, self.words, place))

    def limit(self) -> ir.Value:
        """Return the step of the next pause."""
        return self.b.load(_word(self.b, self.words, _LIMIT), typ=I64)

    def due(self, step: ir.Value) -> ir.Value:
        """Whether the loop pauses before this step."""
        return self.b.icmp_unsigned("==", step, self.limit())

    def pause(self) -> ir.Value:
        """Pause, and return whether the loop must end. If so, the call's status is set too."""
        function = library.plain_function(self.b.module, "pause", _PAUSE, _write_pause)
        return self.b.icmp_unsigned("!=", self.b.call(function, self.arguments), _ZERO)


def _word(b: ir.IRBuilder, words: ir.Value, place: int) -> ir.Value:
    return b.gep(words, [ir.Constant(I64, place)], inbounds=True, source_etype=I64)


def _write_pause(function: ir.Function) -> None:
    """Write ``int64 pause(table, status, words)``, which returns 1 if Python raised an error."""
    table, status, words = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    names = "late", "early", "on", "failed"
    late, early, on, failed = (function.append_basic_block(n) for n in names)
    chunk = b.load(_word(b, words, _CHUNK), typ=I64)
    if clock.has_clock():
        period = ir.Constant(I64, PERIOD[0] if has_cycle_counter() else PERIOD[1])
        asked, now = b.load(_word(b, words, _ASKED), typ=I64), _ticks(b, table)
        first = b.icmp_unsigned("==", asked, _ZERO)
        b.store(b.select(first, now, asked), _word(b, words, _ASKED))
        passed = b.select(first, _ZERO, b.sub(now, asked))
        b.cbranch(b.icmp_unsigned("<", passed, period), early, late)
        b.position_at_end(late)
        too_late = b.icmp_unsigned(">", passed, b.mul(period, ir.Constant(I64, 2)))
        halved = b.or_(b.lshr(chunk, _ONE), _ONE)
        b.store(b.select(too_late, halved, chunk), _word(b, words, _CHUNK))
    else:
        b.branch(late)
        b.position_at_end(late)
    raised = _ask(b, table)
    if clock.has_clock():  # time spent waiting for the lock does not count as the steps' time
        b.store(_ticks(b, table), _word(b, words, _ASKED))
    b.cbranch(raised, failed, on)
    b.position_at_end(early)
    b.store(b.shl(chunk, _ONE), _word(b, words, _CHUNK))
    b.branch(on)
    b.position_at_end(on)
    following = b.load(_word(b, words, _CHUNK), typ=I64)
    place = _word(b, words, _LIMIT)
    b.store(b.add(b.load(place, typ=I64), following), place)
    b.ret(_ZERO)
    b.position_at_end(failed)
    b.atomic_rmw("or", status, ir.Constant(I64, INTERRUPTED), "monotonic")
    b.ret(_ONE)


def _ask(b: ir.IRBuilder, table: ir.Value) -> ir.Value:
    """Let Python handle pending work. Return whether it raised an error, which is then set in the
    thread."""
    state = arrays.call(b, table, "PyGILState_Ensure", I32)
    function = abi.load(b, table, abi.SLOTS["ask_python"])
    made = arrays.call(b, table, "PyObject_CallNoArgs", POINTER, function)
    arrays.call(b, table, "Py_DecRef", ir.VoidType(), made)  # ignores null
    arrays.call(b, table, "PyGILState_Release", ir.VoidType(), state)
    return b.icmp_unsigned("==", made, ir.Constant(POINTER, None))


def _ticks(b: ir.IRBuilder, table: ir.Value) -> ir.Value:
    """Return the time. The code is inlined, because functions compiled together call nothing."""
    return cycles(b) if has_cycle_counter() else clock.nanoseconds(b, table)
