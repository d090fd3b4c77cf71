"""Collects the facts about each step of a compiled program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import prod
from typing import Any

from autojit.codegen.analysis.amounts import Traffic, of_step, own_buffers
from autojit.codegen.analysis.measured import parts_of
from autojit.codegen.cpu.linalg.steps import functions_of
from autojit.codegen.cpu.llvm import vector_remarks
from autojit.codegen.cpu.llvm.vectors import lanes
from autojit.codegen.driver.peaks import LEVELS, measure_again, peaks
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Loop, RunTasks
from autojit.codegen.loop_ir.origins import ops_of, sources_of
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.sheets import Sheet
from autojit.codegen.loop_ir.traversal import (
    bodies_of,
    buffers_named,
    in_sequence,
    memory,
    product_of,
    walk,
)
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_text.printer import text_of
from autojit.ir.core.machine import current
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.pass_manager.remarks import Remarks

from .facts import Line, Reason, Step, Stored, Vectors
from .lines import line_of, short

#: Operations that only determine how arrays are read.
_SILENT = {"broadcast", "constant", "iota", "reshape", "slice", "transpose"}


class Lowering:
    """A lowered program: the results of the passes, and their remarks."""

    def __init__(self, program: Program, loops: LoopProgram, llvm: str, notes: Remarks) -> None:
        self.program = program
        self.loops = loops
        self.notes = notes
        self.lanes = lanes(loops, llvm)
        vector_remarks.remark(loops, llvm)
        self.ops = [ops_of(step) for step in loops.steps]
        self.forward = _forward(self.ops)
        self.own = own_buffers(loops)
        self.one, self.every = peaks()
        #: The bytes that the steps of a call touch, which determine the cache level they fit in.
        self.size = loops.arena + sum(b.size * itemsize(b.dtype) for b in
                                      (*loops.inputs, *loops.outputs))  # fmt: skip

    def measure_again(self) -> None:
        """Measure the peak rates of the machine again."""
        self.one, self.every = measure_again()

    def step_of(self, op: Op) -> int | None:
        """The number of the first step that computes an op."""
        return next((k for k, ops in enumerate(self.ops) if op in ops), None)

    def machine_words(self) -> str:
        """The peak rates of the machine, in words."""
        parts = []
        for each in (self.one, self.every):
            rate, level = each.bandwidth(self.size), LEVELS[each.level(self.size)]
            words = "processor" if each.processors == 1 else "processors"
            parts.append(
                f"{each.processors} {words}: {each.flops / 1e9:.3g} Gflop/s, "
                f"{rate / 1e9:.3g} GB/s from the {level}"
            )
        if self.one.processors == self.every.processors:
            parts.pop()
        return f"{'; '.join(parts)} ({self.one.source})"


def steps_of(found: Lowering, seconds: Mapping[int, float]) -> list[Step]:
    """The facts about each step; ``seconds`` are the times of the fastest runs, by step."""
    parts = [part for part in parts_of(found.loops) if len(part.number) == 1]
    steps = []
    for k, (step, part) in enumerate(zip(found.loops.steps, parts, strict=True)):
        made = Step(
            k + 1,
            part.kind,
            title_of(step),
            lines=[line_of(source) for source in sources_of(step)],
            operations=_operations(found.ops[k]),
            seconds=seconds.get(k),
        )
        _add_code(made, step, found)
        _add_amounts(made, step, found, k)
        _add_memory(made, step, found, k)
        steps.append(made)
    _add_fusion(steps, found)
    return steps


def _operations(ops: list[Op]) -> list[str]:
    """The names of the operations; repeated ones with their count."""
    counts = Counter(op.kind.name for op in ops if op.kind.name not in _SILENT)
    names = counts or Counter(op.kind.name for op in ops)
    return [name if count == 1 else f"{name} × {count}" for name, count in names.items()]


# -- titles --------------------------------------------------------------------------------


def title_of(step: Any) -> str:
    """A short title of a step, or of a statement in one."""
    product = product_of(step)
    if product is not None:
        batch = "".join(f"{n} × " for n in product.batch)
        m, n, k = product.m, product.n, product.k
        return f"product {batch}[{m},{k}] @ [{k},{n}]"
    if isinstance(step, Factorization):
        batch = "".join(f"{n} × " for n in step.batch)
        sides = f", {step.k} right-hand side{'s' if step.k > 1 else ''}" if step.k else ""
        is_vector = len(step.inputs[0].strides) == len(step.batch) + 1
        shape = f"[{step.n}]" if is_vector else f"[{step.m},{step.n}]"
        return f"{step.name} {batch}{shape}{sides}"
    if isinstance(step, Callback):
        return "call of a function in Python"
    if isinstance(step, Sheet):
        return f"table of {len(step.table):,} small operations"
    return title_of_loops(step.body if isinstance(step, Kernel) else [step])


def title_of_loops(body: list[Any]) -> str:
    """A title that names the deepest loop nest."""
    nest = _deepest(body)
    if not nest:
        return "numbers, without a loop"
    words = " × ".join("a number of steps" if n is None else f"{n:,}" for n in nest)
    return f"loop{'s' if len(nest) > 1 else ''} over {words}"


def _deepest(body: list[Any]) -> list[int | None]:
    """The extents of the deepest nest, or of the largest if several are deepest; None for a loop of
    unknown length."""

    def weight(nest: list[int | None]) -> tuple[int, int]:
        return len(nest), prod(n or 1 for n in nest)

    return max(map(_extents, body), key=weight, default=[])


def _extents(s: Any) -> list[int | None]:
    inner = _deepest([x for body in bodies_of(s) for x in body])
    if isinstance(s, Loop):
        return [s.stop - s.start, *inner]
    return [None, *inner] if isinstance(s, Repeat) else inner


# -- code ----------------------------------------------------------------------------------


def _add_code(made: Step, step: Any, found: Lowering) -> None:
    """Add the facts about vectors and threads."""
    body = step.body if isinstance(step, Kernel) else [step]
    made.in_turn = in_sequence(body)
    tasks = [s.tasks for s in walk(body) if isinstance(s, RunTasks)]
    if tasks:
        made.tasks = max(t.count for t in tasks)
        made.tasks_measured = any(t.measured for t in tasks)
    made.library = library_of(step)
    if not made.library:
        made.vectors = vectors_of(step.body, step.body, found)
    if not tasks:
        made.no_tasks = _why_no_tasks(step, found)


def library_of(step: Any) -> str:
    """The library of a product, a factorization or a callback; empty for loops."""
    product = product_of(step)
    if product is not None:
        return _product_library(product)
    if isinstance(step, Factorization):
        return ", ".join(_functions(step)) or "code of our own"
    if isinstance(step, Sheet):
        return "a loop over the table's rows"
    return "Python" if isinstance(step, Callback) else ""


def _functions(step: Factorization) -> list[str]:
    """The library functions of a step, by their usual names: ``dpotrf``, ``numpy.fft``."""
    found = []
    for name in functions_of(step):
        kind, _, rest = name.partition(" ")
        if kind == "gufunc":  # an inner loop of NumPy, by its module, name and types
            module, function, *_ = rest.split(" ")
            found.append(f"{module.rpartition('.')[0]}: {function}")
        elif not rest:
            found.append(name)
    return found


def _product_library(product: MatrixProduct) -> str:
    if not product.tiled:
        return "the BLAS of SciPy"
    lanes = current().lanes(itemsize(product.dtype))
    return f"tiles of vectors of {lanes}{', in blocks for the caches' if product.blocked else ''}"


def vectors_of(body: list[Any], kernel: list[Any], found: Lowering) -> list[Vectors]:
    """The inner loops in ``body``, a part of a kernel, and how many elements they work on at a
    time."""
    made = []
    for s in walk(body):
        width = found.lanes.get(id(s))
        reasons = list(_about(found.notes, "vectors", s))
        if width is None and not reasons:
            continue
        name = text_of(kernel, s)[0].partition(":")[0].strip()
        made.append(Vectors(name, width or 1, reasons[0] if reasons else None))
    return made


def _about(notes: Remarks, by: str, loop: Any) -> Iterator[Reason]:
    """The remarks of a pass about a loop."""
    for remark in notes:
        if remark.by == by and any(loop is x for about in notes.about[remark] for x in about):
            yield Reason("", short(remark.reason), remark.way_out)


def _why_no_tasks(step: Any, found: Lowering) -> Reason | None:
    for remark in found.notes:
        if remark.by == "parallelize":
            for origins, _ in found.notes.about[remark]:
                if origins and set(origins) & set(step.origins):
                    reason = remark.reason.partition(": ")[2] or remark.reason
                    return Reason("", reason, remark.way_out)
    return None


# -- amounts -------------------------------------------------------------------------------


def _add_amounts(made: Step, step: Any, found: Lowering, k: int) -> None:
    counted, traffic = of_step(step), Traffic(step)
    made.flops, made.functions = counted.flops, counted.functions
    made.is_open = counted.is_open
    made.bytes_read, made.bytes_written = traffic.bytes(found.own[k])
    made.bytes_at_most = traffic.at_most
    product = product_of(step)
    in_threads = made.tasks or (product is not None and not product.tiled)
    peaks = found.every if in_threads else found.one
    moved = made.bytes_read + made.bytes_written
    # A slot can hold a multiply-add, which counts as two operations.
    made.compute_seconds = 2 * counted.slots / peaks.flops
    made.memory_seconds = moved / peaks.bandwidth(found.size)


def _add_memory(made: Step, step: Any, found: Lowering, k: int) -> None:
    body = step.body if isinstance(step, Kernel) else [step]
    known = {b for s in found.loops.steps[:k] for b in _named(s)}
    for buffer in dict.fromkeys(_named(step)):
        if buffer.kind != "temp" or buffer in known:
            continue
        if memory(buffer) is not buffer:
            made.reused[buffer.name] = memory(buffer).name
        else:
            made.temporaries[buffer.name] = buffer.size * itemsize(buffer.dtype)
    if any(b.kind == "tape" for s in walk(body) for b in getattr(s, "tapes", ())):
        made.temporaries["tapes, for each step of the loop"] = 0
    if not made.is_backward:
        return
    # A nest that was split became several steps of one origin, which share its operations.
    others = [
        ops
        for ops, other in zip(found.ops[:k], found.loops.steps, strict=False)
        if set(other.origins).isdisjoint(step.origins)
    ]
    earlier = {v: op for ops in others for op in ops for v in op.results}
    done = {op for op in earlier.values() if op in found.forward and op.operands}
    again = [op for op in found.ops[k] if op in done]
    made.repeated = _operations([op for op in again if op.kind.name not in _SILENT])
    for reader, value in _reads(step):
        op = earlier.get(value)
        if op in found.forward and (reader not in found.forward or reader in again):
            stored = _stored(op, value)
            if stored not in made.stored:
                made.stored.append(stored)


def _named(step: Any) -> Iterator[Buffer]:
    for s in walk(step.body if isinstance(step, Kernel) else [step]):
        yield from buffers_named(s)


def _forward(steps: list[list[Op]]) -> set[Op]:
    """The ops that depend on nothing that the reverse pass computes."""
    forward: set[Op] = set()
    moving: set[Value] = set()
    for op in (op for ops in steps for op in ops):
        if (op.source and op.source.backward) or not moving.isdisjoint(op.operands):
            moving.update(op.results)
        else:
            forward.add(op)
    return forward


def _reads(step: Any) -> Iterator[tuple[Op, Value]]:
    for origin in step.origins:
        yield from origin.reads()


def _stored(op: Op, value: Value) -> Stored:
    line: Line | None = line_of(op.source) if op.source else None
    return Stored(line, op.kind.name, str(value.type), value.type.nbytes)


# -- fusion --------------------------------------------------------------------------------


def _add_fusion(steps: list[Step], found: Lowering) -> None:
    """Add the reasons why steps were not fused: remarks of the scheduler, or the steps' kinds."""
    for remark in found.notes:
        if remark.by != "fusion":
            continue
        for item, other, reason in found.notes.about[remark]:
            first, later = found.step_of(other), found.step_of(item)
            if first is not None and later is not None and first < later:
                _note(steps[first], steps[later], reason, remark.way_out)
    for step, following in pairwise(steps):
        number = str(following.number)
        if all(reason.about != number for reason in step.not_fused):
            step.not_fused.insert(0, Reason(number, _by_kind(step, following, found)))


def _note(step: Step, later: Step, reason: str, way_out: str) -> None:
    made = Reason(str(later.number), short(reason), way_out)
    if made not in step.not_fused:
        step.not_fused.append(made)


def _by_kind(step: Step, following: Step, found: Lowering) -> str:
    for each, words in ((step, "this"), (following, f"step {following.number}")):
        if each.kind != "loops":
            return f"{words} is a library call"
    for each, words in ((step, "this"), (following, f"step {following.number}")):
        if each.in_turn:
            return f"the steps of {words} run in turn, or there are branches"
    one, other = (_kernel(found.loops.steps[s.number - 1]) for s in (step, following))
    if set(one.buffers).isdisjoint(other.buffers):
        return "they have no array in common"
    extents = [[n for n in _deepest(loops.body) if n != 1] for loops in (one, other)]
    if extents[0] != extents[1]:
        here, there = (" × ".join(map(str, nest)) or "a number" for nest in extents)
        return f"this one runs over {here}, that one over {there}"
    return "no pass says why"


def _kernel(step: Any) -> Kernel:
    assert isinstance(step, Kernel)
    return step
