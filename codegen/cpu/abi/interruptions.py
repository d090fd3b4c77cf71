"""Loops whose end is not known let Python's signals in, so that Ctrl-C ends them.

Such a loop runs so many steps, and then calls ``pause``.  That looks at the clock, and every
twentieth of a second it takes the interpreter's lock and calls a Python function that does nothing.
Python looks for what is to be done as it enters a function: in the main thread it runs the handlers
of signals, in each thread it raises what ``PyThreadState_SetAsyncExc`` has asked for.  An error
stays set in the thread, where the entry finds it.

The number of steps adapts to the time that they take.  The loop itself pays a comparison a step.
Where the machine has no clock, Python is asked each time.
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

#: Ticks between two looks of Python's, some fiftieth to a twentieth of a second: cycles of a
#: processor of 1 to 5 GHz, or nanoseconds.
PERIOD = 1 << 27, 1 << 26
#: The additions after which a loop looks at the clock for the first time.
FIRST = 1 << 16

#: The words of a loop's memory: the step at which it pauses, steps between two pauses, and the
#: ticks when Python was last asked (0 before the first pause).
_LIMIT, _CHUNK, _ASKED = range(3)
WORDS = 3
#: table, status, words
_PAUSE = ir.FunctionType(I64, [POINTER, POINTER, POINTER])


class Kernel(Protocol):
    """What loops are written into, as far as their pauses need it."""

    allocas: ir.IRBuilder
    table: ir.Value | None
    status: ir.Value | None


class Pauses:
    """The pauses of a loop that begins where the builder is: the first after so many steps."""

    def __init__(self, kernel: Kernel, b: ir.IRBuilder, steps: int) -> None:
        self.b = b
        self.words = kernel.allocas.alloca(I64, size=WORDS)
        self.arguments = [kernel.table, kernel.status, self.words]
        for place, number in ((_LIMIT, steps), (_CHUNK, steps), (_ASKED, 0)):
            b.store(ir.Constant(I64, number), _word(b, self.words, place))

    def limit(self) -> ir.Value:
        """The step at which the loop pauses next."""
        return self.b.load(_word(self.b, self.words, _LIMIT), typ=I64)

    def due(self, step: ir.Value) -> ir.Value:
        """Whether the loop pauses before this step."""
        return self.b.icmp_unsigned("==", step, self.limit())

    def pause(self) -> ir.Value:
        """Pause: whether the loop has to end.  Then the status of the call says so too."""
        function = library.plain_function(self.b.module, "pause", _PAUSE, _write_pause)
        return self.b.icmp_unsigned("!=", self.b.call(function, self.arguments), _ZERO)


def _word(b: ir.IRBuilder, words: ir.Value, place: int) -> ir.Value:
    return b.gep(words, [ir.Constant(I64, place)], inbounds=True, source_etype=I64)


def _write_pause(function: ir.Function) -> None:
    """``int64 pause(table, status, words)``: 1 where Python has raised an error."""
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
    if clock.has_clock():  # to wait for the lock takes no time of the steps
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
    """Have Python do what is to be done: whether it has raised an error, which is set in the
    thread."""
    state = arrays.call(b, table, "PyGILState_Ensure", I32)
    function = abi.load(b, table, abi.SLOTS["ask_python"])
    made = arrays.call(b, table, "PyObject_CallNoArgs", POINTER, function)
    arrays.call(b, table, "Py_DecRef", ir.VoidType(), made)  # null is none to count
    arrays.call(b, table, "PyGILState_Release", ir.VoidType(), state)
    return b.icmp_unsigned("==", made, ir.Constant(POINTER, None))


def _ticks(b: ir.IRBuilder, table: ir.Value) -> ir.Value:
    """The time.  It is written here in full: what is compiled together calls nothing."""
    return cycles(b) if has_cycle_counter() else clock.nanoseconds(b, table)
