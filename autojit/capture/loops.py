"""Loops on traced values: the body is traced once, whatever the number of steps.

A loop's carry are the names, places and arrays that its body changes and that the next step, or
what comes after the loop, may read.  Which these are, and their types, is known when the body has
been traced; then it is traced again, until nothing is new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import CaptureError, with_place
from autojit.ir.core.program import Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import bitwise_and, lt
from autojit.ir.regions.scan import scan
from autojit.ir.regions.while_ import while_
from autojit.protocols.lifting import to_dtype, tracer
from autojit.staging.bodies import Body, merged
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.aliasing import assign
from autojit.tracing.blocks import stands_for
from autojit.tracing.protocol import with_bounds
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .aliases import results_of
from .block import Block
from .checks import add_checks
from .maybe import Maybe
from .rewriting.plain import UNBOUND
from .state import (
    Access, Before, Key, ShapesDiffer, Tree, is_state, joined, tree_of, with_flags, zeros_like,
)  # fmt: skip
from .truth import truth_of

_WAYS = "before the loop, and after a step"
#: The number of steps so far.
_COUNTER = LeafType(Type(np.dtype(np.int64), ()), int)
#: Times that a body is traced until its carry is settled: a number may become a float, a complex
#: number and an array's dtype, and each round adds at least one carry.
_ROUNDS = 50


class Loop(NamedTuple):
    """A loop as the user wrote it.

    ``step`` runs the body, given the traced number of steps before it; ``holds`` is asked before
    each step, if there is more to ask than the number of steps, of which there are ``length`` at
    most (None: any number).
    """

    step: Callable[[Any], None]
    holds: Callable[[], Any] | None
    length: Any
    most: int | None
    access: Access

    @property
    def has_steps(self) -> bool:
        """Whether there surely is a first step."""
        return self.holds is None and isinstance(self.length, int) and self.length > 0


class _Carry(NamedTuple):
    """A name or place that each step takes from the one before it."""

    key: Key
    tree: Tree
    types: list[LeafType]
    first: Any
    #: Whether a step reads it; if not, it is only handed on to what comes after the loop.
    read: bool
    #: Whether it is bound after each step.
    always: bool = True


class Captured(NamedTuple):
    """A traced loop that is not yet recorded."""

    carries: list[_Carry]
    roots: list[Tracer]
    block: Block
    outputs: list[Value]
    ends: list[list[Any]]
    before: Before
    loop: Loop
    inputs: list[Value]

    @property
    def size(self) -> int:
        """The number of operations of a step."""
        return sum(_weight(op) for op in self.block.trace.builder.ops)


#: Steps that a loop is taken to have where their number is known only when it runs.
_STEPS = 100


def _weight(op: Any) -> int:
    """The number of operations that an operation stands for where loops are unrolled."""
    inner = sum(_weight(each) for program in op.programs for each in program.ops)
    if op.kind is while_:
        return 1 + _STEPS * inner
    return 1 + (op.params["length"] if op.kind is scan else 1) * inner


def trace_loop(loop: Loop) -> Captured:
    """Trace the body until its carry is settled."""
    before = Before(loop.access)
    carries: dict[Any, _Carry] = {}
    for name, value in zip(loop.access.site.names, before.values, strict=True):
        if name in loop.access.site.live_in and is_state(value):
            tree = tree_of(value)
            types = [leaf_type(leaf) for leaf in tree.arrays]
            carries[name] = _Carry(Key(name, None), tree, types, value, True)
    roots: dict[int, Tracer] = {}
    for _ in range(_ROUNDS):
        found = _round(loop, before, carries, roots)
        if found is not None:
            return found
    raise AssertionError("the carry of a loop does not settle")


def _round(
    loop: Loop, before: Before, carries: dict[Any, _Carry], roots: dict[int, Tracer]
) -> Captured | None:
    """Trace the body once; None if its carry turns out to be another one, which is noted."""
    read = [c for c in carries.values() if c.read]
    given = list(roots.values())
    block = Block(
        [_COUNTER, *(t for c in read for t in c.types), *(LeafType(x.type, None) for x in given)]
    )
    try:
        with block.running() as inputs:
            counter, rest = inputs[0], inputs[1:]
            taken = _take(before, read, rest)
            for x, made in zip(given, rest[len(rest) - len(given) :], strict=True):
                stands_for(x, made.own, block.trace)
            if loop.most is not None:
                with_bounds(counter, (0, max(loop.most - 1, 0)))
            loop.step(counter)
            changes = before.changes()
            ends = {k: (key, value) for k, (key, value) in changes.items()}
    finally:
        before.restore()
    is_settled = _note(loop, before, carries, ends, taken)
    changed = block.changed
    new = {k: x for k, (x, _) in changed.items() if k not in roots}
    if new:
        roots.update(new)
        is_settled = False
    if not is_settled:
        return None
    return _captured(loop, before, carries, roots, block, ends)


def _take(before: Before, read: Sequence[_Carry], inputs: Sequence[Tracer]) -> dict[Any, Any]:
    """Names and places get the inputs of the body as their values."""
    pairs, taken, start = [], {}, 0
    for carry in read:
        stop = start + len(carry.types)
        value = carry.tree.filled(inputs[start:stop])
        pairs.append((carry.key, value))
        taken[_of(carry.key)] = value
        start = stop
    before.assign(pairs)
    return taken


def _of(key: Key) -> Any:
    return key.name if key.place is None else (id(key.place.container), key.place.key)


def _note(
    loop: Loop, before: Before, carries: dict[Any, _Carry], ends: dict[Any, Any],
    taken: dict[Any, Any],
) -> bool:  # fmt: skip
    """Bring the carries up to what a step ends with; whether nothing is new."""
    site, is_settled = loop.access.site, True
    for k, (key, end) in ends.items():
        if k in taken and _is_same(taken[k], end):
            continue
        old = carries.get(k)
        is_read = key.place is not None or key.name in site.live_in
        if not is_read and key.name not in site.live_out:
            continue
        first = before.of(key) if old is None else old.first
        silent = key.name in site.internal
        if not is_read and loop.has_steps and not _could_be(first, end):
            first = UNBOUND  # nobody sees what a name held before
        first, value = with_flags([first, end], silent=silent)
        trees = [tree_of(first), tree_of(value)]
        types = joined(trees, key.words, loop.access.source, _WAYS)
        if old is not None:
            types = _no_narrower(old.types, types) if len(types) == len(old.types) else types
        made = _Carry(key, trees[0], types, first, is_read, not isinstance(end, Maybe))
        same = old is not None and old.types == types and old.tree.structure == made.tree.structure
        carries[k] = made
        if is_read and not same:
            is_settled = False
    return is_settled


def _is_same(taken: Any, end: Any) -> bool:
    if taken is end:
        return True
    a, b = tree_of(taken), tree_of(end)
    return a.structure == b.structure and all(
        x is y for x, y in zip(a.leaves, b.leaves, strict=True)
    )


def _could_be(first: Any, end: Any) -> bool:
    """Whether a name could go on holding what it held before, in a loop without a step."""
    if isinstance(first, Maybe) or isinstance(end, Maybe):
        return True
    a, b = tree_of(first), tree_of(end)
    if a.structure != b.structure:
        return False
    shapes = zip(a.leaves, b.leaves, strict=True)
    return all(np.shape(x) == np.shape(y) for x, y in shapes) if is_state(first) else False


def _no_narrower(old: Sequence[LeafType], new: Sequence[LeafType]) -> list[LeafType]:
    kinds = []
    for a, b in zip(old, new, strict=True):
        if a == b or a.type.shape != b.type.shape:
            kinds.append(b)
            continue
        weak = [x for x in (a, b) if x.weak is not None]
        dtype = np.result_type(*(x.weak(0) if x in weak else x.type.dtype for x in (a, b)))
        is_weak = len(weak) == 2
        strongest = max((x.weak for x in weak), key=(int, float, complex).index) if is_weak else None
        kinds.append(LeafType(Type(dtype, b.type.shape), strongest))
    return kinds


def _captured(
    loop: Loop, before: Before, carries: dict[Any, _Carry], roots: dict[int, Tracer],
    block: Block, ends: dict[Any, Any],
) -> Captured:  # fmt: skip
    """What a settled body takes and returns."""
    kept = {k: c for k, c in carries.items() if k in ends or c.read}
    order = [c for c in kept.values() if c.read] + [c for c in kept.values() if not c.read]
    leaves: list[list[Any]] = []
    outputs: list[Value] = []
    stand_ins = {id(x): made for x, made in block.trace.stand_ins.values()}
    start = 1
    for carry in order:
        stop = start + len(carry.types)
        k = _of(carry.key)
        if k in ends:
            silent = carry.key.name in loop.access.site.internal
            _, value = with_flags([carry.first, ends[k][1]], silent=silent)
            arrays = tree_of(value).arrays
            outputs += block.values(arrays, carry.types)
        else:  # the step hands on what it was given
            arrays = [tracer_like(v, block) for v in block.inputs[start:stop]]
            outputs += block.inputs[start:stop]
        leaves.append(arrays)
        start = stop if carry.read else start
    for x in roots.values():
        outputs += block.recorded(lambda x=x: [stand_ins[id(x)].value])
    more = [Value(t.type) for c in order if not c.read for t in c.types]
    read = sum(len(c.types) for c in order if c.read)
    inputs = [*block.inputs[1 : 1 + read], *more, *block.inputs[1 + read :]]
    return Captured(order, list(roots.values()), block, outputs, leaves, before, loop, inputs)


def tracer_like(value: Value, block: Block) -> Tracer:
    """An input of a block as a leaf of its end."""
    return Tracer(value, block.trace)


def emit(captured: Captured) -> None:
    """Record a loop, and give names, places and arrays what it ends with."""
    loop, block, before = captured.loop, captured.block, captured.before
    types = [t for c in captured.carries for t in c.types]
    firsts = [
        to_dtype(lift(leaf), t.type.dtype)
        for c in captured.carries
        for leaf, t in zip(tree_of(c.first).arrays, c.types, strict=True)
    ]
    operands = [*firsts, *(lift(x) for x in captured.roots)]
    outputs = list(captured.outputs)
    take_checks = _with_checks(captured, outputs, operands)
    body = _body(captured, outputs, len(operands))
    emitted = _emit_scan if loop.holds is None and not isinstance(loop.length, Tracer) and (
        loop.length is not None) else _emit_while  # fmt: skip
    results = emitted(captured, body, operands)
    ends = [leaf for part in captured.ends for leaf in part]
    tracers = results_of(results[: len(types)], types, [ends])
    pairs, start = [], 0
    for carry in captured.carries:
        stop = start + len(carry.types)
        if captured.outputs[start:stop] != captured.inputs[start:stop]:  # else as it was
            value = carry.tree.filled(tracers[start:stop])
            pairs.append((carry.key, _bound(value, loop, carry.always)))
        start = stop
    roots = results[start : start + len(captured.roots)]
    for x, value in zip(captured.roots, roots, strict=True):
        assign(x, value)
    before.assign(pairs)
    take_checks(results[start + len(captured.roots) :])
    del block


def _bound(value: Any, loop: Loop, always: bool) -> Any:
    """A name that each step binds is bound after a loop that has steps."""
    return value.value if isinstance(value, Maybe) and loop.has_steps and always else value


def _with_checks(captured: Captured, outputs: list[Value], operands: list[Value]) -> Any:
    """Checks of a step hold as long as they held at all steps before it."""
    mine: list[Value] = []
    take = add_checks([captured.block], [mine])
    for held in mine:
        before = Value(held.type)
        captured.inputs.append(before)
        outputs += captured.block.recorded(lambda b=before, h=held: [bitwise_and(b, h)])
        operands.append(lift(np.True_))
    return take


def _body(captured: Captured, outputs: Sequence[Value], count: int) -> Body:
    block = captured.block
    block.inputs = [block.inputs[0], *captured.inputs]
    assert len(captured.inputs) == len(outputs) == count
    return block.finish(outputs, f"loop_{captured.loop.access.site.line}")


def _emit_scan(captured: Captured, body: Body, operands: Sequence[Value]) -> Sequence[Value]:
    from autojit.ir.core.program import Program

    program = Program(
        [*body.bound, *body.own], body.program.ops, body.program.outputs, name=body.program.name
    )
    params = {
        "body": program, "constants": len(body.captured), "carries": len(operands),
        "length": int(captured.loop.length), "reverse": False,
    }  # fmt: skip
    return current_builder().emit(scan, [*body.captured, *operands], params)


def _emit_while(captured: Captured, body: Body, operands: Sequence[Value]) -> Sequence[Value]:
    loop = captured.loop
    types = [LeafType(v.type, None) for v in operands]
    condition = Block([_COUNTER, *types])
    with condition.running() as inputs:
        counter, rest = inputs[0], inputs[1:]
        held: list[Value] = []
        if loop.length is not None:
            held.append(lt(counter.own, lift(loop.length, counter.dtype)))
        if loop.holds is not None:
            held.append(_asked(captured, rest))
        checks = len(operands) - len(captured.roots) - sum(len(c.types) for c in captured.carries)
        held += [x.own for x in rest[len(rest) - checks :]] if checks else []
        result = held[0]
        for other in held[1:]:
            result = bitwise_and(result, other)
    stepped = body.program
    with_next = _counted(stepped)
    (test, step), bound = merged(
        [condition.finish([result], "condition"), body._replace(program=with_next)]
    )
    results = current_builder().emit(
        while_,
        [*bound, lift(np.int64(0)), *operands],
        {
            "condition": test, "sweeps": (step,), "carries": (len(operands) + 1,),
            "backward": (False,), "constants": len(bound),
        },
    )  # fmt: skip
    return results[1:]


def _asked(captured: Captured, inputs: Sequence[Tracer]) -> Value:
    """Whether there is another step, asked with the values that the last one ended with."""
    loop, before = captured.loop, captured.before
    pairs, start = [], 0
    for carry in captured.carries:
        stop = start + len(carry.types)
        value = carry.tree.filled(
            [Tracer(x.own, x.owner, t.weak)
             for x, t in zip(inputs[start:stop], carry.types, strict=True)]
        )  # fmt: skip
        pairs.append((carry.key, value))
        start = stop
    try:
        before.assign(pairs)
        for x, made in zip(captured.roots, inputs[start:], strict=False):
            stands_for(x, made.own, made.owner)
        assert loop.holds is not None
        return truth_of(loop.holds()).value
    finally:
        before.restore()


def _counted(program: Any) -> Any:
    """The body of a loop that also returns the number of steps after it."""
    from autojit.ir.core.declaration import full
    from autojit.ir.core.program import Builder, building

    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    with building(builder):
        made = builder.inline(program, inputs)
        following = inputs[0] + full(1, inputs[0].type)
    return builder.finish(inputs, [following, *made], name=program.name, captured=program.captured)


def refused(loop: Loop, reason: str) -> CaptureError:
    """A loop that cannot be compiled."""
    return CaptureError(with_place(reason, loop.access.source))


__all__ = ["Captured", "Loop", "ShapesDiffer", "emit", "trace_loop", "tracer", "zeros_like"]
