"""Whether threads pay, found out as the code runs.

What threads gain depends on what else the machine does, so loops of a tenth of a millisecond are
timed both ways: in turn at first, then the faster way, with a look at the other now and then.  Of
each way the shortest time is remembered, and forgotten slowly: a run that was interrupted says
little, a machine that has become busy shows after some runs.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.loop_ir.machine import has_cycle_counter

I1, I64 = ir.IntType(1), ir.IntType(64)

#: Runs that go one way and the other in turn; then every so many runs look at the other way.
TRIALS = 6
EVERY = 64
#: How fast a shortest time is forgotten: a longer one moves it by a part of the difference, and one
#: that is far longer (the first after a pause) by no more than by a part of what it was.
FORGET = 16

_RUNS, _TIMES = 0, 1
#: Words of memory for the times of one place.
TIMES = 3


def memory(module: ir.Module, name: str) -> ir.Value:
    """Memory of a module for the times of one place."""
    kind = ir.ArrayType(I64, TIMES)
    times = ir.GlobalVariable(module, kind, f"{name}_times")
    times.initializer = ir.Constant(kind, None)
    times.linkage = "internal"
    return times.bitcast(ir.PointerType())


def cycles(builder: ir.IRBuilder) -> ir.Value:
    """The processor's counter of cycles, where there is one (``has_cycle_counter``)."""
    counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), _COUNTER)
    return builder.call(counter, [])


class Stopwatch:
    """The times of one place where tasks are run, in memory that the code has for itself."""

    def __init__(self, builder: ir.IRBuilder, memory: ir.Value) -> None:
        self.module, self.b = builder.module, builder
        self.memory = memory

    def start(self) -> ir.Value:
        """Start the clock; whether this run goes to threads."""
        b = self.b
        if not has_cycle_counter():
            return ir.Constant(I1, 0)
        runs = self._load(_number(_RUNS))
        self._store(b.add(runs, _number(1)), _number(_RUNS))
        alone, threads = self._load(_number(_TIMES)), self._load(_number(_TIMES + 1))
        faster = b.icmp_unsigned("<", threads, alone)
        look = b.icmp_unsigned("==", b.urem(runs, _number(EVERY)), _number(0))
        even = b.icmp_unsigned("==", b.and_(runs, _number(1)), _number(0))
        trial = b.icmp_unsigned("<", runs, _number(TRIALS))
        self.way = b.select(trial, even, b.xor(faster, look))
        self.begun = cycles(b)
        return self.way

    def stop(self) -> None:
        """Note the time of the way that was taken."""
        b = self.b
        if not has_cycle_counter():
            return
        taken = b.sub(cycles(b), self.begun)
        place = b.add(b.zext(self.way, I64), _number(_TIMES))
        known = self._load(place)
        excess = b.sub(taken, known)
        excess = b.select(b.icmp_unsigned("<", excess, known), excess, known)
        longer = b.add(known, b.udiv(excess, _number(FORGET)))
        # The first run finds caches empty and memory untouched, and is forgotten at once.
        first = b.icmp_unsigned("<=", self._load(_number(_RUNS)), _number(3))
        shorter = b.icmp_unsigned("<", taken, known)
        self._store(b.select(b.or_(first, shorter), taken, longer), place)

    def _place(self, position: ir.Value) -> ir.Value:
        return self.b.gep(self.memory, [position], inbounds=True, source_etype=I64)

    def _load(self, position: ir.Value) -> ir.Value:
        return self.b.load_atomic(self._place(position), "monotonic", 8, typ=I64)

    def _store(self, value: ir.Value, position: ir.Value) -> None:
        self.b.atomic_rmw("xchg", self._place(position), value, "monotonic")


_COUNTER = ir.FunctionType(I64, ())


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)
