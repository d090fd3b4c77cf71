"""The reference interpreter of loop programs: one scalar at a time. Slow, obvious, the oracle.

Iterations of ``map`` loops, and tasks, may run in any order, which the caller chooses:

    interpret_loops(program, arrays)                                  # first to last
    interpret_loops(program, arrays, lambda numbers: numbers[::-1])   # last to first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    RunTasks,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Branch, Keep, Recall, Release, Repeat, Steps, Swap
from autojit.codegen.loop_ir.sheets import Sheet
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Buffer, Operand, Scalar, Trips
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.declaration import declaration
from autojit.ir.core.halves import converted as in_halves
from autojit.ir.core.halves import is_bfloat16
from autojit.ir.core.types import Type, dtype_from_name
from autojit.ir.linalg.factorizations import Matrices

from .memory import Memory, place, poison
from .sheets import run_sheet
from .words import combined, converted, evaluate

#: Returns the order in which iterations, or tasks, run.
Order = Callable[[Sequence[int]], Sequence[int]]


def interpret_loops(
    program: LoopProgram, arrays: Sequence[Any], order: Order | None = None
) -> list[np.ndarray]:
    """Return the outputs of a program, flat, for flat arrays of its inputs."""
    inputs = [np.array(a, dtype_from_name(b.dtype)).reshape(-1)
              for a, b in zip(arrays, program.inputs, strict=True)]  # fmt: skip
    for array, buffer in zip(inputs, program.inputs, strict=True):
        if array.size != buffer.size:
            raise TypeError(f"{buffer} has {buffer.size} scalars, got {array.size}")
    memory = Memory(program, inputs)
    known: set[Buffer] = set()
    with np.errstate(all="ignore"):
        for step in program.steps:
            body = step.body if isinstance(step, Kernel) else [step]
            new = [b for b in buffers_of(body) if b not in known]
            known.update(new)
            memory.begin(new)
            _Function(memory, order or (lambda numbers: numbers)).body(body)
    return [memory.arrays[b] for b in program.outputs]


@dataclass
class _Function:
    """A kernel, or one of its tasks, while it runs."""

    memory: Memory
    order: Order
    vars: dict[Var, int] = field(default_factory=dict)
    scalars: dict[int, Any] = field(default_factory=dict)
    accumulators: dict[int, Any] = field(default_factory=dict)
    locals: dict[Buffer, np.ndarray] = field(default_factory=dict)
    trips: dict[Trips, int] = field(default_factory=dict)

    def body(self, statements: list[Any]) -> None:
        for s in statements:
            _HANDLERS[type(s)](self, s)

    # -- scalars ----------------------------------------------------------------

    def of(self, scalar: Scalar) -> Any:
        return self.scalars[scalar.number]

    def define(self, scalar: Scalar, value: Any) -> None:
        kind = dtype_from_name(scalar.dtype)
        array = np.asarray(value)
        made = in_halves(array, kind) if is_bfloat16(kind) else array.astype(kind)
        self.scalars[scalar.number] = made[()]

    def index(self, index: Affine) -> int:
        return index.constant + sum(c * self.atom(atom) for atom, c in index.terms)

    def atom(self, atom: Any) -> int:
        if isinstance(atom, Var):
            return self.vars[atom]
        operand = self.index(atom.operand)
        return operand % atom.divisor if atom.remainder else operand // atom.divisor

    def compute(self, s: Compute) -> None:
        self.scalars[s.result.number] = evaluate(s.name, [*map(self.of, s.args)], s.result.dtype)

    def constant(self, s: Constant) -> None:
        self.define(s.result, s.value)

    def index_value(self, s: IndexValue) -> None:
        kind = dtype_from_name(s.result.dtype)
        self.define(s.result, converted(np.int64(self.index(s.index)), kind))

    def in_range(self, s: InRange) -> None:
        self.define(s.result, self.index(s.index) in range(s.low, s.high, s.step))

    # -- memory -----------------------------------------------------------------

    def array(self, buffer: Buffer) -> np.ndarray:
        return self.memory.array(buffer, self.locals)

    def load(self, s: Load) -> None:
        if s.guard is not None and not self.of(s.guard):
            self.define(s.result, 0)
            return
        array = self.array(s.buffer)
        self.define(s.result, array[place(array, self.index(s.index), s.buffer)])

    def computed(self, s: Gather | ScatterInto) -> int:
        """Return an index with computed places; an out-of-bounds place is the user's error.

        A place with a wrong form is an error of a pass.
        """
        total = self.index(s.index)
        for p in s.places:
            at = int(self.of(p.scalar))
            if not 0 <= at < p.extent:
                raise IndexError("an index is out of bounds")
            if p.line is not None and self.index(p.line) != at:
                raise AssertionError(f"{s.buffer} has a place {at}, but the form {p.line}")
            total += p.stride * at
        return total

    def gather(self, s: Gather) -> None:
        if s.guard is not None and not self.of(s.guard):
            self.define(s.result, 0)
            return
        array = self.array(s.buffer)
        self.define(s.result, array[place(array, self.computed(s), s.buffer)])

    def scatter(self, s: ScatterInto) -> None:
        self.combine_into(s.buffer, self.computed(s), s.combine, s.value)

    def store(self, s: Store) -> None:
        self.combine_into(s.buffer, self.index(s.index), "set", s.value)

    def accumulate_into(self, s: AccumulateInto) -> None:
        self.combine_into(s.buffer, self.index(s.index), s.combine, s.value)

    def combine_into(self, buffer: Buffer, index: int, combine: str, value: Scalar) -> None:
        array = self.array(buffer)
        at = place(array, index, buffer)
        array[at] = combined(combine, array[at], self.of(value))

    def fill(self, s: Fill) -> None:
        array, start = self.array(s.buffer), self.index(s.start)
        array[place(array, np.arange(start, start + s.count), s.buffer)] = s.value

    # -- accumulators -----------------------------------------------------------

    def begin(self, s: Begin) -> None:
        kind = dtype_from_name(s.accumulator.dtype)
        self.accumulators[s.accumulator.number] = np.asarray(s.accumulator.identity, kind)[()]

    def accumulate(self, s: Accumulate) -> None:
        n = s.accumulator.number
        self.accumulators[n] = combined(
            s.accumulator.combine, self.accumulators[n], self.of(s.value)
        )

    def finish(self, s: Finish) -> None:
        self.define(s.result, self.accumulators.pop(s.accumulator.number))

    # -- loops ------------------------------------------------------------------

    def loop(self, s: Loop) -> None:
        numbers: Sequence[int] = range(s.start, s.stop)
        if s.share is not None:
            numbers = self.part(numbers, s.share)
        if s.only is not None and self.of(s.only) >= 0:
            numbers = [int(self.of(s.only))]
        if s.lower is not None:
            numbers = [n for n in numbers if n >= self.of(s.lower)]
        if s.upper is not None:
            numbers = [n for n in numbers if n < self.of(s.upper)]
        for number in self.order(numbers) if s.role == "map" else numbers:
            self.vars[s.var] = number
            self.body(s.body)

    def part(self, numbers: Sequence[int], task: Var) -> Sequence[int]:
        """Return a task's part; it does not matter how a target divides a range."""
        count, n = len(numbers), self.vars[task]
        return numbers[n * count // task.extent : (n + 1) * count // task.extent]

    def run_tasks(self, s: RunTasks) -> None:
        for number in self.order(range(s.tasks.count)):
            task = _Function(self.memory, self.order, {s.tasks.var: number})
            task.body(s.tasks.body)

    def repeat(self, s: Repeat) -> None:
        step = 0
        while True:
            self.vars[s.step] = step
            self.body(s.condition)
            if not self.of(s.test):
                break
            for tape in s.tapes:
                self.memory.grow(tape, step + 1)
            self.body(s.body)
            step += 1
        self.trips[s.trips] = step

    def steps(self, s: Steps) -> None:
        numbers = range(self.trips[s.trips])
        for number in reversed(numbers) if s.backward else numbers:
            self.vars[s.step] = number
            self.body(s.body)

    def branch(self, s: Branch) -> None:
        self.body(s.bodies[int(np.clip(self.of(s.index), 0, len(s.bodies) - 1))])

    # -- moves of memory ------------------------------------------------------------

    def keep(self, s: Keep) -> None:
        note, steps = self.array(s.note), self.trips[s.trips]
        note[0], note[1] = steps, len(self.memory.kept)
        self.memory.kept.append(([self.array(t) for t in s.tapes], steps))

    def recall(self, s: Recall) -> None:
        tapes, self.trips[s.trips] = self.memory.kept[self.array(s.note)[1]]
        self.memory.arrays.update(zip(s.tapes, tapes, strict=True))

    def release(self, s: Release) -> None:
        for tape in s.tapes:
            self.memory.arrays.pop(tape, None)

    def swap(self, s: Swap) -> None:
        self.memory.swap(s.first, s.second, self.locals)

    # -- matrices -----------------------------------------------------------------

    def elements(
        self,
        buffer: Buffer,
        offset: Affine,
        strides: Sequence[int],
        shape: Sequence[int],
        dtype: str,
    ) -> tuple[np.ndarray, Any]:
        """Return an array of numbers, and the places of a matrix in it."""
        array = self.array(buffer).view(dtype_from_name(dtype))
        at = np.full(shape, self.index(offset))
        for axis, (stride, count) in enumerate(zip(strides, shape, strict=True)):
            at += (np.arange(count) * stride).reshape(-1, *[1] * (len(shape) - axis - 1))
        return array, place(array, at, buffer)

    def matrix(self, o: Operand, shape: Sequence[int], dtype: str) -> np.ndarray:
        array, at = self.elements(o.buffer, o.offset, o.strides, shape, dtype)
        found: np.ndarray = array[at]
        return found

    def product(self, s: MatrixProduct) -> None:
        a = self.matrix(s.a, (*s.batch, s.m, s.k), s.dtype)
        b = self.matrix(s.b, (*s.batch, s.k, s.n), s.dtype)
        made = np.matmul(a, b).reshape(-1, s.n)
        array, at = self.elements(
            s.c, s.c_offset, s.strides_of_results, (*s.batch, s.m, s.n), s.dtype
        )
        rows = range(len(made))
        mine = rows if s.share is None else self.part(rows, s.share)
        array[at.reshape(-1, s.n)[list(mine)]] = made[list(mine)]
        if s.panel is not None and s.share is None:
            poison(self.array(s.panel.buffer))

    def factorization(self, s: Factorization) -> None:
        if not s.is_some:
            return
        kind = declaration(s.name)
        assert isinstance(kind, Matrices)
        inputs = [
            self.matrix(o, shape, dtype)
            for o, shape, dtype in zip(s.inputs, _shapes(s), s.elements, strict=False)
        ]
        # Operands that only derivatives need are not inputs, so any array can replace them.
        inputs = [*inputs[:1] * kind.unread, *inputs]
        results = kind.evaluate(*inputs, **s.params)
        if len(s.outputs) == 1:
            results = (results,)
        types = kind.infer(*(Type(a.dtype, a.shape) for a in inputs), **s.params)
        dtypes = s.elements[len(s.inputs) :]
        for o, result, type, dtype in zip(s.outputs, results, types, dtypes, strict=True):
            array, at = self.elements(o.buffer, o.offset, o.strides, type.shape, dtype)
            array[at] = result

    def callback(self, s: Callback) -> None:
        arrays = [
            self._scalars(o, count).view(t.dtype).reshape(t.shape)
            for o, count, t in zip(s.inputs, s.read, s.call.in_types, strict=True)
        ]
        made = s.call([np.array(a) for a in arrays])
        for o, count, result in zip(s.outputs, s.written, made, strict=True):
            array, at = self.elements(o.buffer, o.offset, (1,), (count,), o.buffer.dtype)
            array[at] = flat(result, o.buffer)

    def sheet(self, s: Sheet) -> None:
        run_sheet(s, self.array)

    def _scalars(self, o: Operand, count: int) -> np.ndarray:
        array, at = self.elements(o.buffer, o.offset, (1,), (count,), o.buffer.dtype)
        return np.ascontiguousarray(array[at])


def _shapes(s: Factorization) -> list[tuple[int, ...]]:
    """Return the shapes of the inputs, from the known sizes and their numbers of axes."""
    first, *others = s.inputs
    axes = [len(o.strides) - len(s.batch) for o in others]
    shapes = [(*s.batch, s.m, s.n)[: len(first.strides)]]
    for o, count in zip(others, axes, strict=True):
        columns = s.k if o is others[-1] else s.n
        shapes.append((*s.batch, s.n, columns)[: len(s.batch) + count])
    return shapes


def flat(array: Any, buffer: Buffer) -> np.ndarray:
    """Return an array as its scalars, in the order of memory; complex numbers are pairs."""
    array = np.ascontiguousarray(array).reshape(-1)
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def shaped(array: np.ndarray, type: Type) -> np.ndarray:
    """Return scalars as an array of a type."""
    return array.view(type.dtype)[: prod(type.shape)].reshape(type.shape)


_HANDLERS: dict[type, Callable[[_Function, Any], None]] = {
    Compute: _Function.compute,
    Constant: _Function.constant,
    IndexValue: _Function.index_value,
    InRange: _Function.in_range,
    Load: _Function.load,
    Gather: _Function.gather,
    ScatterInto: _Function.scatter,
    Store: _Function.store,
    AccumulateInto: _Function.accumulate_into,
    Fill: _Function.fill,
    Begin: _Function.begin,
    Accumulate: _Function.accumulate,
    Finish: _Function.finish,
    Loop: _Function.loop,
    RunTasks: _Function.run_tasks,
    Repeat: _Function.repeat,
    Steps: _Function.steps,
    Branch: _Function.branch,
    Keep: _Function.keep,
    Recall: _Function.recall,
    Release: _Function.release,
    Swap: _Function.swap,
    MatrixProduct: _Function.product,
    Factorization: _Function.factorization,
    Callback: _Function.callback,
    Sheet: _Function.sheet,
}
