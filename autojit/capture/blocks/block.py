"""A part of a traced function, traced by itself into the body of an op."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from autojit.capture.state.state import Before
from autojit.capture.values.rehearsal import rehearsed
from autojit.ir.autodiff.kept_errors import Applied
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.ops.update import Updating
from autojit.ir.pass_manager import remarks
from autojit.protocols.kinds import note_kinds, note_several
from autojit.protocols.lifting import in_type
from autojit.staging.bodies import Body
from autojit.staging.trace_function import LeafType
from autojit.staging.unrolled import without_long_stretches
from autojit.tracing.blocks import changed, kept, lost
from autojit.tracing.context import Trace, current_trace, inside, new_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift


class Block:
    """A trace of a block. The block runs once; its outputs are chosen after its sibling blocks have
    been traced too."""

    trace: Trace

    def __init__(self, types: Sequence[LeafType] = (), *, begins_inside: bool = False) -> None:
        #: Whether it may begin in the middle of a library function, which then goes on with values
        #: that it has computed before the block.
        self.begins_inside = begins_inside
        hooks.count_block()
        self.inputs = [Value(t.type) for t in types]
        self._types = types

    @contextmanager
    def running(self) -> Iterator[list[Tracer]]:
        """A context in which the block is traced; gives its inputs."""
        with new_trace(block=True) as trace:
            self.trace = trace
            made = [Tracer(v, trace, t.weak) for v, t in zip(self.inputs, self._types, strict=True)]
            for x, t in zip(made, self._types, strict=True):
                note_several(x, t.kinds)
            yield made

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """A context in which more can be recorded at the block's end."""
        self.trace.open = True
        try:
            with inside(self.trace):
                yield
        finally:
            self.trace.open = False

    @property
    def changed(self) -> dict[int, tuple[Tracer, Tracer]]:
        """The arrays from outside that the block changed in place, each with its stand-in, by the
        identity of the array."""
        return {id(x): (x, made) for x, made in changed(self.trace)}

    @property
    def lost(self) -> list[Tracer]:
        """The arrays from outside that are no longer known at the block's end."""
        return lost(self.trace)

    @property
    def kept(self) -> list[Tracer]:
        """The arrays from outside that may no longer change, because lists hold copies of them."""
        return kept(self.trace)

    def values(self, leaves: Sequence[Any], types: Sequence[LeafType]) -> list[Value]:
        """Leaves at the block's end, as values of the given dtypes."""
        with self.resumed():
            return [in_type(leaf, t.type.dtype) for leaf, t in zip(leaves, types, strict=True)]

    def recorded(self, record: Callable[..., list[Value]], *given: Any) -> list[Value]:
        """Values that ``record`` records at the block's end."""
        with self.resumed():
            return record(*given)

    def check_unread(self, outputs: Sequence[Value]) -> None:
        """Check the operations that may fail and that the block's outputs do not need."""
        with self.resumed():
            hooks.check_unread(outputs)

    def taken_over(self, results: Sequence[Any]) -> list[Tracer] | None:
        """The block's numbers in the trace around it, which gets all of the block's operations.
        None if the block did more than compute numbers, or if the results are not its own."""
        trace, around = self.trace, current_trace()
        assert around is not None
        more = (trace.checks, trace.bounds, trace.generators, trace.facts, trace.elsewhere)
        program = trace.builder.finish(trace.captured_inputs, (), captured=trace.captured)
        if any(more) or trace.slices or self.changed or self.lost or program.has(Updating):
            return None
        if not all(type(x) is Tracer and x.owner is trace and not x.shape for x in results):
            return None
        applied = trace.builder.applied
        outputs = [x.value for x in results] + [v for each in applied for v in each.outputs]
        bound = [lift(c.tracer if hasattr(c, "tracer") else c) for c in trace.captured]
        start = len(around.builder.ops)
        made = around.builder.inline(program.with_body(program.ops, outputs), bound)
        rest = iter(made[len(results) :])
        for begin, end, given in applied:
            mine = list(islice(rest, len(given)))
            around.builder.applied.append(Applied(start + begin, start + end, mine))
        around.constructs |= trace.constructs
        trace.let_go()
        found = [Tracer(v, around, x.weak) for v, x in zip(made, results, strict=False)]
        for x, other in zip(found, results, strict=True):
            x.boxed = other.boxed
            note_kinds(x, [other])
        return found

    def finish(
        self,
        outputs: Sequence[Value],
        name: str,
        more: Sequence[Value] = (),
        *,
        is_last: bool = True,
    ) -> Body:
        """The block's program, with the values that it reads from the trace around it. It takes
        ``more`` inputs that it does not read. With ``is_last=False`` there will be another program
        of the block."""
        trace, around = self.trace, current_trace()
        if around is not None:
            around.constructs |= trace.constructs
        own = [*self.inputs, *more]
        free = self._free(own, outputs) if self.begins_inside else []
        inputs = [*own, *trace.captured_inputs, *free]
        program = trace.builder.finish(inputs, outputs, name=name)
        captured = [c.tracer if hasattr(c, "tracer") else c for c in trace.captured]
        bound = [*(lift(c) for c in captured), *free]
        if free:
            program = _with_inputs(program, inputs)
        program = _resolved(program)
        if is_last:
            trace.let_go()
        program = without_long_stretches(program, is_body=True)
        tables = [lift(c) for c in program.captured]  # of what differs from step to step
        return Body(program, None, [], [*bound, *tables])

    def _free(self, own: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
        """The values from before the block that it reads without having captured them."""
        known = {*own, *self.trace.captured_inputs}
        found: dict[Value, None] = {}
        for op in self.trace.builder.ops:
            found.update(dict.fromkeys(v for v in op.operands if v not in known))
            known.update(op.results)
        found.update(dict.fromkeys(v for v in outputs if v not in known))
        return list(found)


def _with_inputs(program: Program, inputs: Sequence[Value]) -> Program:
    """A program with inputs of its own."""
    builder = Builder()
    own = [Value(v.type) for v in inputs]
    with building(builder):
        made = builder.inline(program, own)
    return builder.finish(own, made, name=program.name, captured=program.captured)


def _resolved(program: Program) -> Program:
    from autojit.ir.passes import resolve_parts
    from autojit.session.transform_cache import cached_transform

    return cached_transform(resolve_parts, program) if program.has(Updating) else program


class _Local(threading.local):
    loops = 0


_local = _Local()


def loops_around() -> int:
    """The number of loops that are being traced, one inside another."""
    return _local.loops


@contextmanager
def inside_loop() -> Iterator[None]:
    """A context in which a step of a loop is traced."""
    _local.loops += 1
    try:
        yield
    finally:
        _local.loops -= 1


@contextmanager
def thrown_away(before: Before, *, keeps_sizes: bool = False) -> Iterator[None]:
    """A context in which code is traced to find something out, and all its changes are undone,
    except what it found out about the sizes of loops if these are kept."""
    trace, notes = current_trace(), remarks.current()
    assert trace is not None
    began = 0 if notes is None else len(notes)
    unrolled, sizes = set(trace.unrolled), dict(trace.unrolled_sizes)
    lists = trace.short_loops, trace.captured_loops, trace.loops_at_once
    lengths = [len(x) for x in lists]
    try:
        with rehearsed(), Block().running():
            yield
    finally:
        before.restore()
        trace.unrolled.intersection_update(unrolled)
        if not keeps_sizes:
            trace.unrolled_sizes.clear()
            trace.unrolled_sizes.update(sizes)
        for x, length in zip(lists, lengths, strict=True):
            del x[length:]
        if notes is not None:
            notes.forget("capture", began)


def common_leaders(blocks: Sequence[Block], states: Mapping[Any, Sequence[Any]]) -> dict[Any, Any]:
    """For names with bounded arrays, the first name that has the same mask at the end of each
    block; ``states`` are the values of each name, by blocks."""
    found = []
    for number, block in enumerate(blocks):
        with block.resumed():
            found.append(hooks.leaders({k: values[number] for k, values in states.items()}))
    first, *others = found
    return {k: j if all(f.get(k) == j for f in others) else k for k, j in first.items()}


#: The most elements that a way may read and compute in vain: a mispredicted jump costs as much.
IN_VAIN = 32


def is_free(program: Program) -> bool:
    """Whether a way may run without being taken: it has no derivative, cannot fail and is cheap, so
    nobody can tell."""
    ops = program.ops
    return (
        not any(t.is_inexact for t in program.out_types if ops)
        and not any(op.programs or op.kind.may_fail(op) for op in ops)
        and sum(v.type.size for op in ops for v in (*op.operands, *op.results)) <= IN_VAIN
    )
