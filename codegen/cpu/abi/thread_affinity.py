"""Keep threads of the pool off their caller's processor.

Linux wakes a thread on the processor where it last ran only if it considers that processor idle. In
a virtual machine a halted processor may count as busy.  Threads are then woken on the processor of
their waker and stay there for tens of milliseconds, while other processors idle: each call is
slower than one thread alone.  A thread that finds itself on its caller's processor removes that
processor from its affinity mask, so that Linux wakes it elsewhere from then on.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.abi import abi

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()
VOID = ir.VoidType()

#: args, dimensions, steps, data
RUNNER = ir.FunctionType(VOID, [POINTER] * 4)
_GET_PROCESSOR = ir.FunctionType(I32, [])
_SELF = ir.FunctionType(I64, [])
#: thread, bytes of the mask, mask
_AFFINITY = ir.FunctionType(I32, [I64, I64, POINTER])
#: processor, caller, table
_MOVE = ir.FunctionType(VOID, [I32, I64, POINTER])

#: The number of bits of a processor mask, as in C libraries' ``cpu_set_t``.
PROCESSORS = 1024

#: The words of the record of a call.
_RUN, _DATA, _TABLE, _CALLER, _PROCESSOR, _COUNT = range(6)


def join(module: ir.Module) -> ir.Function:
    """Return the function that each thread runs: it moves away if needed, then calls the runner.

    Its data is the record that ``tell`` fills in.
    """
    function = ir.Function(module, RUNNER, "join")
    _write_join(function)
    return function


def room(b: ir.IRBuilder) -> ir.Value:
    """Allocate the record of a call."""
    return b.alloca(I64, size=_COUNT)


def tell(
    b: ir.IRBuilder, told: ir.Value, runner: ir.Value, data: ir.Value, table: ir.Value
) -> None:
    """Fill in the record: the runner and its data, the calling thread and its processor."""
    for place, pointer in ((_RUN, runner), (_DATA, data), (_TABLE, table)):
        _store(b, told, place, b.ptrtoint(pointer, I64))
    _store(b, told, _CALLER, _call(b, table, "pthread_self", _SELF, ir.Constant(I64, 0)))
    processor = _call(b, table, "sched_getcpu", _GET_PROCESSOR, ir.Constant(I32, -1))
    _store(b, told, _PROCESSOR, b.sext(processor, I64))


def _write_join(function: ir.Function) -> None:
    """Write ``void join(args, dimensions, steps, told)``: move away from the caller, then run."""
    args, dimensions, steps, told = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    table = b.inttoptr(_load(b, told, _TABLE), POINTER)
    here = _call(b, table, "sched_getcpu", _GET_PROCESSOR, ir.Constant(I32, -1))
    known = b.icmp_signed(">=", here, ir.Constant(I32, 0))
    of_caller = b.icmp_unsigned("==", b.sext(here, I64), _load(b, told, _PROCESSOR))
    with b.if_then(b.and_(known, of_caller)):
        thread = _call(b, table, "pthread_self", _SELF, ir.Constant(I64, 0))
        caller = _load(b, told, _CALLER)
        with b.if_then(b.icmp_unsigned("!=", thread, caller), likely=False):
            b.call(_move_away(b.module), [here, caller, table])
    runner = b.inttoptr(_load(b, told, _RUN), RUNNER.as_pointer())
    b.call(runner, [args, dimensions, steps, b.inttoptr(_load(b, told, _DATA), POINTER)])
    b.ret_void()


def _move_away(module: ir.Module) -> ir.Function:
    """Return ``void move_away(processor, caller, table)``: it sets the caller's affinity mask
    without that processor.

    A thread that may run nowhere else stays where it is, since Linux refuses an empty mask.
    """
    function = ir.Function(module, _MOVE, "move_away")
    function.linkage = "internal"
    processor, caller, table = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    size, mask = ir.Constant(I64, PROCESSORS // 8), b.alloca(I64, size=PROCESSORS // 64)
    names = ("pthread_self", "pthread_getaffinity_np", "pthread_setaffinity_np")
    kinds = (_SELF, _AFFINITY, _AFFINITY)
    own, get, set_ = (
        abi.load(b, table, abi.SLOTS[name], kind.as_pointer())
        for name, kind in zip(names, kinds, strict=True)
    )
    failed = b.call(get, [caller, size, mask])
    inside = b.icmp_unsigned("<", processor, ir.Constant(I32, PROCESSORS))
    with b.if_then(b.and_(b.icmp_signed("==", failed, ir.Constant(I32, 0)), inside)):
        word = b.zext(b.lshr(processor, ir.Constant(I32, 6)), I64)
        bit = b.zext(b.and_(processor, ir.Constant(I32, 63)), I64)
        place = b.gep(mask, [word], inbounds=True, source_etype=I64)
        without = b.not_(b.shl(ir.Constant(I64, 1), bit))
        b.store(b.and_(b.load(place, typ=I64), without), place)
        b.call(set_, [b.call(own, []), size, mask])
    b.ret_void()
    return function


def _call(
    b: ir.IRBuilder, table: ir.Value, name: str, kind: ir.FunctionType, otherwise: ir.Value
) -> ir.Value:
    """Call a system function without arguments; return a default on systems without it."""
    function = abi.load(b, table, abi.SLOTS[name], kind.as_pointer())
    before, asks, after = b.block, *(b.append_basic_block(n) for n in ("asks", "after"))
    b.cbranch(b.icmp_unsigned("!=", function, ir.Constant(function.type, None)), asks, after)
    b.position_at_end(asks)
    answer = b.call(function, [])
    b.branch(after)
    b.position_at_end(after)
    value = b.phi(otherwise.type)
    value.add_incoming(otherwise, before)
    value.add_incoming(answer, asks)
    return value


def _store(b: ir.IRBuilder, words: ir.Value, place: int, value: ir.Value) -> None:
    b.store(value, b.gep(words, [ir.Constant(I64, place)], inbounds=True, source_etype=I64))


def _load(b: ir.IRBuilder, words: ir.Value, place: int) -> ir.Value:
    address = b.gep(words, [ir.Constant(I64, place)], inbounds=True, source_etype=I64)
    return b.load(address, typ=I64)
