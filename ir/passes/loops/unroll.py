"""Combines several steps of a loop whose steps sweep over arrays into one sweep.

Before (Horner's rule at all points at once)::

    %3: f64[4096] = scan %0, %1, %2 {body=program body(%0: f64[128], %1: f64[4096], %2: i64[],
                                                        %3: f64[4096]) {
      … %9: f64[4096] = add (mul %3, %1), (gather %0, %2); return %9
    }, carries=1, constants=2, length=128, reverse=False}

After: a loop of 16 steps, each of which does the work of eight.  Each element of the array is then
loaded and stored once in eight steps instead of in each step, because the elementwise operations of
consecutive steps become one loop.  (Unroll and jam: Callahan, Carr, Kennedy, "Improving Register
Allocation for Subscripted Variables", PLDI 1990.)

Legal where the number of steps in a sweep divides that of the loop.  The operations and their order
are the same: nothing changes in the results.
"""

from __future__ import annotations

from autojit.ir.core.declaration import full
from autojit.ir.core.machine import current
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import INDEX, groups
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import Gather, ScatterAdd
from autojit.ir.ops.linear import Constant, Iota
from autojit.ir.ops.move import Move, concatenate, reshape, slice_axis
from autojit.ir.ops.reduce import Reduce
from autojit.ir.ops.update import Updating
from autojit.ir.regions.scan import Scan
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, SIMPLIFIED, program_pass

#: Kinds of ops in a step; other kinds are not fused across steps.
KINDS = (Elementwise, Constant, Iota, Move, Reduce, Gather, ScatterAdd, Updating)
#: Arrays of at least this many elements take most of the time of a step.
SWEEP = 32
#: With at least this many elementwise operations on arrays, a step computes more than it loads.
ENOUGH = 8
#: The most steps in a sweep, and the most operations in it per vector register.
MOST_STEPS = 8
MOST_OPS = 1


@program_pass(
    "Merges several steps of a loop into one sweep over an array.",
    needs=[CALLS_INLINED, SIMPLIFIED],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with these loops unrolled; the same object if there are none."""
    if not program.has(Scan) or not any(_factor(op) > 1 for op in program.ops):
        return program
    builder = Builder()
    replaced: dict[Value, Value] = {}
    with building(builder):
        for op in program.ops:
            operands = tuple([replaced.get(v, v) for v in op.operands])
            op = Op(op.kind, operands, op.params, op.results, op.source)
            factor = _factor(op)
            if factor == 1:
                builder.append(op)
                continue
            with builder.at(op.source):
                replaced.update(zip(op.results, _unrolled(builder, op, factor), strict=True))
    return program.with_body(builder.ops, [replaced.get(v, v) for v in program.outputs])


def _factor(op: Op) -> int:
    """The number of steps to combine; 1 if combining does not pay."""
    if not isinstance(op.kind, Scan):
        return 1
    body, length = op.params["body"], op.params["length"]
    if not all(isinstance(inner.kind, KINDS) for inner in body.ops):
        return 1
    swept = _swept(op)
    if not 0 < swept < ENOUGH:
        return 1
    most = min(MOST_STEPS, int(MOST_OPS * current().vector_registers) // swept)
    return max((k for k in range(2, most + 1) if length % k == 0), default=1)


def _swept(op: Op) -> int:
    """The number of elementwise ops on arrays in a step; 0 if steps cannot share a sweep.

    To share it, an element of the next array may depend only on the same element of the carried
    array. There may also be sums of the swept arrays, and arrays of which a step replaces a part.
    """
    body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
    long = {v: k for k, v in enumerate(body.inputs[n + 1 : n + 1 + m]) if v.type.size >= SWEEP}
    flow = _Flow(long)
    if not all(map(flow.follow, body.ops)) or _is_streaming(op):
        return 0
    moved = False
    for v, k in long.items():
        after = body.outputs[k]
        moved = moved or (after in flow.each and after is not v)
        if after not in flow.each and flow.replaced.get(after) != k:
            return 0
    return flow.count if moved else 0


def _is_streaming(op: Op) -> bool:
    """Whether steps read or write arrays of their own; combining them then saves no loads."""
    body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
    own = [*body.inputs[n + 1 + m :], *body.outputs[m:]]
    own += [inner.result for inner in body.ops if isinstance(inner.kind, Gather)]
    return any(v.type.size >= SWEEP for v in own)


class _Flow:
    """The values that depend on long carries, and how.

    They depend on them element by element, as the carry with a part replaced, or through sums.
    """

    def __init__(self, long: dict[Value, int]) -> None:
        self.each = set(long)
        self.replaced = dict(long)
        self.sums: set[Value] = set()
        #: The number of elementwise ops on the swept arrays.
        self.count = 0

    def follow(self, op: Op) -> bool:
        """Record what an op computes; return whether steps that contain it can share a sweep."""
        if isinstance(op.kind, Updating) and op.operands[0] in self.replaced:
            base, *others = op.operands
            self.replaced[op.result] = self.replaced.pop(base)
            self.each.discard(base)
            return self.each.isdisjoint(others)
        if self.each.isdisjoint(op.operands):
            if not self.sums.isdisjoint(op.operands):
                self.sums.update(op.results)
            return True
        for v in op.operands:
            self.replaced.pop(v, None)
        if isinstance(op.kind, Reduce):
            self.sums.update(op.results)
            return True
        self.each.update(op.results)
        self.count += 1
        return isinstance(op.kind, Elementwise) and self.sums.isdisjoint(op.operands)


def _unrolled(builder: Builder, op: Op, factor: int) -> list[Value]:
    n, m = op.params["constants"], op.params["carries"]
    length = op.params["length"] // factor
    constants, carries, xs = groups(op.operands, n, m)
    blocks = [reshape(x, shape=(length, factor, *x.shape[1:])) for x in xs]
    body = _body(op, factor)
    params = {**op.params, "body": body, "length": length}
    results = builder.emit(op.kind, [*constants, *carries, *blocks], params)
    stacked = [
        reshape(made, shape=old.shape)
        for made, old in zip(results[m:], op.results[m:], strict=True)
    ]
    return [*results[:m], *stacked]


def _body(op: Op, factor: int) -> Program:
    """A body of ``factor`` consecutive steps."""
    body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
    builder = Builder()
    constants = [Value(v.type) for v in body.inputs[:n]]
    index = Value(INDEX)
    firsts = [Value(v.type) for v in body.inputs[n + 1 : n + 1 + m]]
    blocks = [Value(v.type.with_shape((factor, *v.shape))) for v in body.inputs[n + 1 + m :]]
    order = range(factor)[::-1] if op.params["reverse"] else range(factor)
    carries, rows = firsts, {}
    with building(builder):
        first = index * full(factor, INDEX)
        for k in order:
            at = first + full(k, INDEX)
            slices = [reshape(slice_axis(b, 0, k, k + 1), shape=b.shape[1:]) for b in blocks]
            made = builder.inline(body, [*constants, at, *carries, *slices])
            carries, rows[k] = made[:m], made[m:]
        stacked = [
            concatenate(*[reshape(rows[k][j], shape=(1, *rows[k][j].shape)) for k in range(factor)],
                        axis=0)
            for j in range(len(body.outputs) - m)
        ]  # fmt: skip
    return builder.finish(
        [*constants, index, *firsts, *blocks], [*carries, *stacked], name=body.name
    )
