"""Tasks in LLVM IR: a function for one task, and one that runs them until none is left.

A thread claims the next task from a shared counter, so the threading layer only
has to call the runner once a thread, and no task runs twice or never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ..loops import Kernel, RunTasks
from . import abi, apart, library
from .stopwatch import TIMES, Stopwatch, memory

if TYPE_CHECKING:
    from .emit import KernelEmitter

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()
_ZERO, _NONE = ir.Constant(I64, 0), ir.Constant(POINTER, None)

#: fn, args, dimensions, steps, data, inner_ndim, array_count, num_threads
PARALLEL_FOR = ir.FunctionType(ir.VoidType(), [POINTER] * 5 + [I64, I64, I32])
_COUNT = ir.FunctionType(I32, [])
#: runner, its data, table, memory for times or null
_RUN = ir.FunctionType(ir.VoidType(), [apart.RUNNER.as_pointer(), *[POINTER] * 3])


def emit_run(emitter: KernelEmitter, step: RunTasks) -> None:
    """Run the tasks on as many threads as there may be."""
    from .emit import KernelEmitter

    tasks = step.tasks
    symbol = f"{emitter.function.name}_task"
    body = Kernel(symbol, tasks.body, tasks.buffers)
    task = KernelEmitter(emitter.module, body, symbol, indices=[tasks.var])
    function = task.emit()
    runner = _runner(emitter.module, function, f"{symbol}_runner", tasks.count)
    arguments = [emitter.places.fixed[b] for b in task.arguments]
    if task.checks:
        arguments.append(emitter.status)
    data = _pack(emitter, arguments)
    _launch(emitter, runner, data, measured=tasks.measured)


def _pack(emitter: KernelEmitter, pointers: list[ir.Value]) -> ir.Value:
    """The task counter, then the arguments of every task."""
    b = emitter.builder
    data = emitter.allocas.alloca(I64, size=1 + len(pointers))
    b.store(ir.Constant(I64, 0), data)
    for i, pointer in enumerate(pointers):
        place = b.gep(data, [ir.Constant(I64, 1 + i)], inbounds=True, source_etype=I64)
        b.store(b.ptrtoint(pointer, I64), place)
    return data


def _launch(emitter: KernelEmitter, runner: ir.Function, data: ir.Value, *, measured: bool) -> None:
    run = library.plain_function(emitter.module, "run", _RUN, _write_run)
    times = memory(emitter.module, runner.name) if measured else _NONE
    emitter.builder.call(run, [runner, data, emitter.table, times])


def _write_run(function: ir.Function) -> None:
    """``void run(runner, data, table, times)``: on as many threads as there may be.

    Where there is memory for times, on one if that is faster.
    """
    runner, data, table, times = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    nothing, threads, told = b.alloca(I64, size=2), b.alloca(I64), apart.room(b)
    for i in range(2):
        b.store(ir.Constant(I64, 0), b.gep(nothing, [ir.Constant(I64, i)], source_etype=I64))
    unmeasured = b.icmp_unsigned("==", times, _NONE)
    stopwatch = Stopwatch(b, b.select(unmeasured, b.alloca(I64, size=TIMES), times))
    allowed = abi.load(b, abi.load(b, table, abi.SLOTS["threads_allowed"]), 0, I64)
    wanted = b.or_(unmeasured, stopwatch.start())
    alone, together, done = (b.append_basic_block(n) for n in ("alone", "together", "done"))
    b.cbranch(b.and_(b.icmp_unsigned("!=", allowed, _ZERO), wanted), together, alone)
    b.position_at_end(together)
    count = b.call(abi.load(b, table, abi.COUNT_SLOT, _COUNT.as_pointer()), [])
    b.store(b.zext(count, I64), threads)
    parallel_for = abi.load(b, table, abi.PARALLEL_SLOT, PARALLEL_FOR.as_pointer())
    apart.tell(b, told, runner, data, table)
    join = apart.join(b.module)
    b.call(parallel_for, [join, nothing, threads, nothing, told, _ZERO, _ZERO, count])
    b.branch(done)
    b.position_at_end(alone)
    b.call(runner, [nothing, nothing, nothing, data])
    b.branch(done)
    b.position_at_end(done)
    stopwatch.stop()
    b.ret_void()


def _runner(module: ir.Module, task: ir.Function, symbol: str, count: int) -> ir.Function:
    """``void runner(args, dimensions, steps, data)``: claims and runs tasks until none is left."""
    runner = ir.Function(module, apart.RUNNER, symbol)
    runner.linkage = "internal"
    data = runner.args[3]
    entry, claim, run, done = (
        runner.append_basic_block(n) for n in ("entry", "claim", "run", "done")
    )
    b = ir.IRBuilder(entry)
    pointers = []
    for i in range(len(task.args) - 1):
        place = b.gep(data, [ir.Constant(I64, 1 + i)], inbounds=True, source_etype=I64)
        pointers.append(b.inttoptr(b.load(place, typ=I64), POINTER))
    b.branch(claim)
    b.position_at_end(claim)
    number = b.atomic_rmw("add", data, ir.Constant(I64, 1), "acq_rel")
    b.cbranch(b.icmp_unsigned("<", number, ir.Constant(I64, count)), run, done)
    b.position_at_end(run)
    b.call(task, [number, *pointers])
    b.branch(claim)
    b.position_at_end(done)
    b.ret_void()
    return runner
