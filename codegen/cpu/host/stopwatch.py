"""Stopwatches measure at run time whether threads pay.

The gain from threads depends on the machine's load, so loops of a tenth of a millisecond are timed
both ways: alternately at first, then the faster way, with an occasional run of the other. The
shortest time of each way is kept, and forgotten slowly: an interrupted run has little effect, and a
machine that has become busy is noticed after some runs.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.loop_ir.machine import has_cycle_counter

I1, I64 = ir.IntType(1), ir.IntType(64)

#: The runs that alternate between both ways; then one run in EVERY tries the other way.
TRIALS = 6
EVERY = 64
#: How fast a shortest time is forgotten. A longer time moves it by this fraction of the difference,
#: and a far longer one (the first after a pause) at most by this fraction of its old value.
FORGET = 16

_RUNS, _TIMES = 0, 1
#: Words of memory for the times of one place in the code.
TIMES = 3


def memory(module: ir.Module, name: str) -> ir.Value:
    """Return memory of a module for the times of one place in the code."""
    kind = ir.ArrayType(I64, TIMES)
    times = ir.GlobalVariable(module, kind, f"{name}_times")
    times.initializer = ir.Constant(kind, None)
    times.linkage = "internal"
    return times.bitcast(ir.PointerType())


def cycles(builder: ir.IRBuilder) -> ir.Value:
    """Read the processor's cycle counter, if it has one (``has_cycle_counter``)."""
    counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), _COUNTER)
    return builder.call(counter, [])


class Stopwatch:
    """The times of one place where tasks run, in the code's own memory."""

    def __init__(self, builder: ir.IRBuilder, memory: ir.Value) -> None:
        self.module, self.b = builder.module, builder
        self.memory = memory

    def start(self) -> ir.Value:
        """Start the clock. Return whether this run uses threads."""
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
        """Record the time of the way that was taken."""
        b = self.b
        if not has_cycle_counter():
            return
        taken = b.sub(cycles(b), self.begun)
        place = b.add(b.zext(self.way, I64), _number(_TIMES))
        known = self._load(place)
        excess = b.sub(taken, known)
        excess = b.select(b.icmp_unsigned("<", excess, known), excess, known)
        longer = b.add(known, b.udiv(excess, _number(FORGET)))
        # The first run of each way finds caches empty and memory untouched; forget it at once.
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
