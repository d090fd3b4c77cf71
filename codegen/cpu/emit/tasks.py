"""Tasks in LLVM IR: a function for one task, and one that runs tasks until none is left.

Threads claim tasks by setting bits of a shared word. So the threading layer only has to call the
runner once per thread, and each task runs exactly once. Each thread begins with tasks of its own,
the same at every call, whose data is in its caches from the last call. When they are done it helps
the others, starting with their last tasks.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.abi import abi, thread_affinity
from autojit.codegen.cpu.host.stopwatch import TIMES, Stopwatch, memory
from autojit.codegen.cpu.llvm import library
from autojit.codegen.loop_ir.nodes import RunTasks
from autojit.codegen.loop_ir.program import Kernel

from .context import KernelContext

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()
_ZERO, _ONE, _NONE = ir.Constant(I64, 0), ir.Constant(I64, 1), ir.Constant(POINTER, None)

#: The number of bits of the word in which tasks are claimed.
MOST = 64
#: Words before the arguments of tasks: the claimed tasks, and the number of threads.
_CLAIMED, _THREADS, _FIRST = range(3)

#: fn, args, dimensions, steps, data, inner_ndim, array_count, num_threads
PARALLEL_FOR = ir.FunctionType(ir.VoidType(), [POINTER] * 5 + [I64, I64, I32])
_COUNT = ir.FunctionType(I32, [])
_FALSE = ir.Constant(ir.IntType(1), 0)
#: data, the thread's number, the number of tasks
_CLAIM = ir.FunctionType(I64, [POINTER, POINTER, I64])
#: runner, its data, table, memory for times or null
_RUN = ir.FunctionType(ir.VoidType(), [thread_affinity.RUNNER.as_pointer(), *[POINTER] * 3])


def emit_run(emitter: KernelContext, step: RunTasks) -> None:
    """Run the tasks on as many threads as are allowed."""
    tasks = step.tasks
    symbol = f"{emitter.function.name}_task"
    body = Kernel(symbol, tasks.body, tasks.buffers)
    task = emitter.nested(body, symbol, [tasks.var])
    function = task.emit()
    runner = _runner(emitter.module, function, f"{symbol}_runner", tasks.count)
    arguments = [emitter.places.fixed[b] for b in task.arguments]
    if task.checks:
        arguments.append(emitter.status)
    if task.needs_table:
        arguments.append(emitter.table)
    data = _pack(emitter, arguments)
    _launch(emitter, runner, data, measured=tasks.measured)


def _pack(emitter: KernelContext, pointers: list[ir.Value]) -> ir.Value:
    """Store the arguments of all tasks, with no task claimed."""
    b = emitter.builder
    data = emitter.allocas.alloca(I64, size=_FIRST + len(pointers))
    b.store(_ZERO, _word(b, data, _CLAIMED))
    for i, pointer in enumerate(pointers):
        b.store(b.ptrtoint(pointer, I64), _word(b, data, _FIRST + i))
    return data


def _word(b: ir.IRBuilder, words: ir.Value, place: int) -> ir.Value:
    return b.gep(words, [ir.Constant(I64, place)], inbounds=True, source_etype=I64)


def _launch(emitter: KernelContext, runner: ir.Function, data: ir.Value, *, measured: bool) -> None:
    run = library.plain_function(emitter.module, "run", _RUN, _write_run)
    times = memory(emitter.module, runner.name) if measured else _NONE
    emitter.builder.call(run, [runner, data, emitter.table, times])


def _write_run(function: ir.Function) -> None:
    """Write ``void run(runner, data, table, times)``: run tasks on all allowed threads.

    If there is memory for times, run them on one thread if that is faster.
    """
    runner, data, table, times = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    # The threading layer sees the threads' numbers as an array of bytes at address 0.
    numbers, threads, byte, told = (
        b.alloca(I64),
        b.alloca(I64),
        b.alloca(I64),
        thread_affinity.room(b),
    )
    b.store(_ZERO, numbers)
    b.store(_ONE, byte)
    unmeasured = b.icmp_unsigned("==", times, _NONE)
    stopwatch = Stopwatch(b, b.select(unmeasured, b.alloca(I64, size=TIMES), times))
    allowed = abi.load(b, abi.load(b, table, abi.SLOTS["threads_allowed"]), 0, I64)
    wanted = b.or_(unmeasured, stopwatch.start())
    alone, together, done = (b.append_basic_block(n) for n in ("alone", "together", "done"))
    b.cbranch(b.and_(b.icmp_unsigned("!=", allowed, _ZERO), wanted), together, alone)
    b.position_at_end(together)
    count = b.call(abi.load(b, table, abi.COUNT_SLOT, _COUNT.as_pointer()), [])
    b.store(b.zext(count, I64), threads)
    b.store(b.zext(count, I64), _word(b, data, _THREADS))
    parallel_for = abi.load(b, table, abi.PARALLEL_SLOT, PARALLEL_FOR.as_pointer())
    thread_affinity.tell(b, told, runner, data, table)
    join = thread_affinity.join(b.module)
    b.call(parallel_for, [join, numbers, threads, byte, told, _ZERO, _ONE, count])
    b.branch(done)
    b.position_at_end(alone)
    b.store(_ONE, _word(b, data, _THREADS))
    b.call(runner, [numbers, threads, byte, data])
    b.branch(done)
    b.position_at_end(done)
    stopwatch.stop()
    b.ret_void()


def _runner(module: ir.Module, task: ir.Function, symbol: str, count: int) -> ir.Function:
    """Return ``void runner(args, dimensions, steps, data)``: it runs tasks until none is left.

    The first array that the arguments point to contains the thread's number.
    """
    assert count <= MOST, count
    runner = ir.Function(module, thread_affinity.RUNNER, symbol)
    runner.linkage = "internal"
    args, *_, data = runner.args
    entry, asks, run, done = (
        runner.append_basic_block(n) for n in ("entry", "claim", "run", "done")
    )
    b = ir.IRBuilder(entry)
    pointers = [
        b.inttoptr(b.load(_word(b, data, _FIRST + i), typ=I64), POINTER)
        for i in range(len(task.args) - 1)
    ]
    claim = library.plain_function(module, "claim", _CLAIM, _write_claim)
    b.branch(asks)
    b.position_at_end(asks)
    number = b.call(claim, [data, args, ir.Constant(I64, count)])
    b.cbranch(b.icmp_signed(">=", number, _ZERO), run, done)
    b.position_at_end(run)
    b.call(task, [number, *pointers])
    b.branch(asks)
    b.position_at_end(done)
    b.ret_void()
    return runner


def _write_claim(function: ir.Function) -> None:
    """Write ``int64 claim(data, args, count)``, which returns a task that no other thread runs, or
    -1: the next of the thread's own tasks, or else the last free one of others."""
    data, args, count = function.args
    entry, look, choose, claimed, done = (
        function.append_basic_block(n) for n in ("entry", "look", "choose", "claimed", "done")
    )
    b = ir.IRBuilder(entry)
    own = _own(b, b.load(args, typ=I64), b.load(_word(b, data, _THREADS), typ=I64), count)
    all_ = _below(b, count)
    b.branch(look)
    b.position_at_end(look)
    free = b.and_(b.not_(b.load_atomic(data, "monotonic", 8, typ=I64)), all_)
    b.cbranch(b.icmp_unsigned("!=", free, _ZERO), choose, done)
    b.position_at_end(choose)
    mine = b.and_(free, own)
    first = b.cttz(mine, _FALSE)
    last = b.sub(ir.Constant(I64, MOST - 1), b.ctlz(free, _FALSE))
    number = b.select(b.icmp_unsigned("!=", mine, _ZERO), first, last)
    bit = b.shl(_ONE, number)
    before = b.atomic_rmw("or", data, bit, "acq_rel")
    b.cbranch(b.icmp_unsigned("==", b.and_(before, bit), _ZERO), claimed, look)
    b.position_at_end(claimed)
    b.ret(number)
    b.position_at_end(done)
    b.ret(ir.Constant(I64, -1))


def _own(b: ir.IRBuilder, thread: ir.Value, threads: ir.Value, count: ir.Value) -> ir.Value:
    """Return the bits of the tasks with which a thread begins, its share of all."""
    first, last = (
        _below(b, b.udiv(b.mul(number, count), threads)) for number in (thread, b.add(thread, _ONE))
    )
    return b.and_(last, b.not_(first))


def _below(b: ir.IRBuilder, count: ir.Value) -> ir.Value:
    """Return a word with the lowest ``count`` bits set."""
    some = b.sub(b.shl(_ONE, count), _ONE)
    is_all = b.icmp_unsigned(">=", count, ir.Constant(I64, MOST))
    return b.select(is_all, ir.Constant(I64, -1), some)
