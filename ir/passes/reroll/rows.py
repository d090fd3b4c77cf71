"""Turns a repeated stretch with independent steps into ops on all steps at once.

Before (the trace of ``for i in range(n): total = total + np.exp(x[i]) * w``)::

    %3: f64[1] = slice %0 {start=(0,), stop=(1,), stride=(1,)}
    %4: f64[] = reshape %3 {shape=()}
    %5: f64[] = exp %4
    %6: f64[] = mul %5, %1
    %7: f64[] = add %2, %6
    …

After::

    %3: f64[n] = exp %0
    %4: f64[n] = broadcast %1 {dims=(), shape=(n,)}
    %5: f64[n] = mul %3, %4
    %6: f64[] = sum %5 {axes=(0,)}
    %7: f64[] = add %2, %6

A step may take two things from the previous step: a running sum, and an array in which each step
replaces a window. Both are computed for all steps together.  The rest of a step is batched by the
usual rules.  (Larsen, Amarasinghe: "Exploiting Superword Level Parallelism with Multimedia
Instruction Sets", PLDI 2000, does this for one vector register; here a vector is as long as the
loop.)

Legal where values handed on from step to step are read only by their own chain, and are running
sums or differences of numbers, or an array of which no two ops, in any steps, replace the same
element. Sums are rounded in another order, and a sum of zeros alone may lose the sign of -0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd
from typing import NamedTuple

from autojit.ir.autodiff.batch import batch
from autojit.ir.core.batching import Batched, along
from autojit.ir.core.program import Builder, Op, Value, building
from autojit.ir.ops.arithmetic import add, mul, sub
from autojit.ir.ops.bodies import INDEX
from autojit.ir.ops.contract import Dot, dot
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import Gather
from autojit.ir.ops.linear import Constant, Iota, Linear, iota
from autojit.ir.ops.move import (
    Broadcast,
    Concatenate,
    Reshape,
    Slice,
    Transpose,
    broadcast,
    concatenate,
    reshape,
    transpose,
)
from autojit.ir.ops.reduce import Reduce, sum_
from autojit.ir.ops.update import Update, update
from autojit.ir.ops.windows import update_windows
from autojit.ir.simplification.parts import apart

from .likeness import compared, slide_of
from .steps import Made, Read, Steps, row

#: Kinds without a body of which many small ops are slower than one large op.
KINDS = (Elementwise, Linear, Constant, Iota, Concatenate, Reduce, Dot, Gather, Update)
#: The most elements of the largest value of a step, since larger steps are efficient by themselves;
#: and the most elements of the largest value of all steps.
LARGEST_ROW = 4096
LARGEST = 1 << 22
#: The most dissimilar values, one per step, that are joined one by one.
MOST_UNLIKE = 64
#: The most windows of an array that a step replaces.
MOST_WINDOWS = 64
#: The most moves between a value of a step and the array that contains it.
MOST_MOVES = 4


class _Link(NamedTuple):
    """An op that hands on a value from step to step, and the operand that is the old value."""

    op: int
    operand: int


def as_rows(
    builder: Builder, steps: Steps, maker: Mapping[Value, Op | None]
) -> dict[Value, Value] | None:
    """Emit the ops of all steps; return the values that replace the results needed later.

    ``maker`` has the ops that compute the values read. None if the steps depend on each other or it
    would not pay; nothing that was emitted is then used.
    """
    if not _pays(steps):
        return None
    chains = _chains(steps)
    if chains is None:
        return None
    return _Rows(builder, steps, chains, maker).run()


def _pays(steps: Steps) -> bool:
    largest = max(v.type.size for op in steps.template for v in op.results)
    return (
        all(isinstance(op.kind, KINDS) for op in steps.template)
        and largest <= LARGEST_ROW
        and largest * steps.count <= LARGEST
    )


# -- values handed on ---------------------------------------------------------------


def _chains(steps: Steps) -> dict[Made, list[_Link]] | None:
    """The ops of the chain of each value that steps hand on; None if anything else reads it."""
    readers: dict[Made, list[_Link]] = {}
    for k, reads in enumerate(steps.reads):
        for place, read in enumerate(reads):
            if isinstance(read, Made):
                readers.setdefault(read, []).append(_Link(k, place))
    last = steps.count - 1
    found = {}
    for made in steps.carried:
        if made.ago != 1:
            return None
        links = _links(steps, made, readers)
        if links is None:
            return None
        inner = {link.op for link in links}
        if any(k in inner and (step, k) != (last, made.op) for step, k, _ in steps.later):
            return None
        found[made] = links
    return found


def _links(steps: Steps, made: Made, readers: dict[Made, list[_Link]]) -> list[_Link] | None:
    links: list[_Link] = []
    at = made
    while not links or links[-1].op != made.op:
        if len(readers.get(at, ())) != 1:
            return None
        (link,) = readers[at]
        kind = steps.template[link.op].kind
        if not (kind is add or ((kind is sub or kind is update) and link.operand == 0)):
            return None
        if links and (kind is update) != (steps.template[links[-1].op].kind is update):
            return None
        links.append(link)
        at = Made(link.op, 0, 0)
    if at in readers:
        return None  # a step reads the sum including its own term
    if steps.template[made.op].kind is update and not _all_apart(steps, links):
        return None
    last = steps.template[made.op]
    return links if last.kind is update or last.result.dtype.kind in "iufc" else None


def _all_apart(steps: Steps, links: list[_Link]) -> bool:
    """Whether no two of the ops replace the same element, in any steps."""
    if len(links) > MOST_WINDOWS:
        return False
    boxes = [_box(steps, link.op) for link in links]
    return all(apart(a, b) for i, a in enumerate(boxes) for b in boxes[:i])


def _box(steps: Steps, k: int) -> list[range]:
    """The range of each axis that contains all elements that an op replaces in all steps."""
    op, slide = steps.template[k], steps.slide(k)
    found = []
    for axis, m in enumerate(op.operands[1].shape):
        start, stride = op.params["start"][axis], op.params["stride"][axis]
        by = slide[axis] if slide is not None else 0
        ends = [start + t * by + i * stride for t in (0, steps.count - 1) for i in (0, m - 1)]
        step = gcd(by, stride if m > 1 else 0)
        found.append(range(min(ends), max(ends) + 1 if m else min(ends), step or 1))
    return found


# -- all steps at once ----------------------------------------------------------------


class _Rows:
    def __init__(
        self,
        builder: Builder,
        steps: Steps,
        chains: dict[Made, list[_Link]],
        maker: Mapping[Value, Op | None],
    ) -> None:
        self.builder = builder
        self.steps = steps
        self.chains = chains
        self.n = steps.count
        self.made: dict[tuple[int, int], Batched] = {}
        self.maker = maker
        self.first = len(builder.ops)

    def run(self) -> dict[Value, Value] | None:
        linked = {link.op for links in self.chains.values() for link in links}
        for k, op in enumerate(self.steps.template):
            if k in linked:
                continue
            with self.builder.at(op.source):
                result = self._op(k, op)
            if result is None:
                return None
            self.made[k, 0] = result
        ends: dict[int, Value] = {}
        for made, links in self.chains.items():
            with self.builder.at(self.steps.template[made.op].source):
                end = self._end(made, links)
            if end is None:
                return None
            ends[made.op] = end
        stacks: dict[int, Value] = {}
        replaced = {}
        for (step, k, _), value in self.steps.later.items():
            if k in ends:
                replaced[value] = ends[k]
                continue
            if k not in stacks:
                stacks[k] = along(self.made[k, 0], self.n)
            replaced[value] = row(stacks[k], step)
        return replaced

    def _op(self, k: int, op: Op) -> Batched | None:
        operands = []
        for place in range(len(op.operands)):
            operand = self._operand(k, place)
            if operand is None:
                return None
            operands.append(operand)
        slide = self.steps.slide(k)
        if slide is not None:
            return self._sliding(op, operands, slide)
        return self._same(op, operands)

    def _same(self, op: Op, operands: list[Batched]) -> Batched | None:
        if not any(o.batched for o in operands):
            (value,) = self.builder.emit(op.kind, [o.value for o in operands], op.params)
            return Batched(value, False)
        made = op.kind.batch(op, operands, self.n)
        assert isinstance(made, Value)
        return Batched(made, True)

    def _sliding(self, op: Op, operands: list[Batched], slide: object) -> Batched:
        made = op.kind.at_all_steps(operands, op, slide, self.n)
        return Batched(self._one_by_one(op, operands, slide) if made is None else made, True)

    def _one_by_one(self, op: Op, operands: list[Batched], slide: object) -> Value:
        """The op at each step, by batching the op at one step."""
        builder = Builder()
        inputs = [Value(v.type) for v in op.operands]
        step = Value(INDEX)
        with building(builder):
            result = op.kind.at_step(inputs, op, slide, step)
        program = builder.finish([*inputs, step], [result], name=op.kind.name)
        whole = batch(program, self.n, [*[o.batched for o in operands], True])
        every = self.builder.emit(iota, (), {"dtype": step.dtype, "shape": (self.n,), "axis": 0})
        (made,) = self.builder.inline(whole, [*[o.value for o in operands], *every])
        return made

    def _operand(self, k: int, place: int) -> Batched | None:
        read: Read = self.steps.reads[k][place]
        if isinstance(read, Value):
            return Batched(read, False)
        if isinstance(read, Made):
            return self.made[read.op, read.result]
        return self._together(read.values)

    # -- earlier values, one per step ------------------------------------------------

    def _together(self, values: tuple[Value, ...]) -> Batched | None:
        """Join values along a new axis; parts of one array become a part of that array."""
        found = self._parts(values, MOST_MOVES)
        if found is None and len(values) <= MOST_UNLIKE:
            rows = [reshape(v, shape=(1, *v.shape)) for v in values]
            found = Batched(concatenate(*rows, axis=0), True)
        return found

    def _parts(self, values: tuple[Value, ...], depth: int) -> Batched | None:
        if all(v is values[0] for v in values):
            return Batched(values[0], False)
        made = [self.maker.get(v) for v in values]
        ops = [op for op in made if op is not None]
        if not depth or len(ops) < len(made):
            return None
        if not isinstance(ops[0].kind, (Broadcast, Reshape, Slice, Transpose)):
            return None
        if not all(compared(ops[0], op)[0] for op in ops[1:]):
            return None
        slide = slide_of(ops)
        if slide is None and not all(compared(ops[0], op)[1] for op in ops[1:]):
            return None
        whole = self._parts(tuple([op.operands[0] for op in ops]), depth - 1)
        if whole is None:
            return None
        return (
            self._same(ops[0], [whole]) if slide is None else self._sliding(ops[0], [whole], slide)
        )

    # -- chains -----------------------------------------------------------------------

    def _end(self, made: Made, links: list[_Link]) -> Value | None:
        """The value that the last step hands on."""
        value = self.steps.carried[made]
        for k, operand in links:
            op = self.steps.template[k]
            other = self._operand(k, 1 - operand)
            if other is None:
                return None
            if op.kind is update:
                found = self._update(value, k, along(other, self.n))
                if found is None:
                    return None
                value = found
                continue
            total = summed(along(other, self.n), self.builder.ops[self.first :])
            value = add(value, total) if op.kind is add else sub(value, total)
        return value

    def _update(self, value: Value, k: int, windows: Value) -> Value | None:
        slide = self.steps.slide(k)
        if slide is None:  # the same window in each step
            return None
        params = self.steps.template[k].params
        return update_windows(value, windows, params["start"], params["stride"], slide, self.n)


def summed(terms: Value, ops: Iterable[Op]) -> Value:
    """The sum of terms, one per step.

    A sum of products of factors with no other axis in common becomes a product of matrices. ``ops``
    contains the ops that compute the terms.
    """
    made = {v: op for op in ops for v in op.results}
    op = made.get(terms)
    if op is None or op.kind is not mul:
        return sum_(terms, axes=(0,))
    (x, of_x), (y, of_y) = (_repeated(v, made.get(v)) for v in op.operands)
    if set(of_x) & set(of_y) != {0}:
        return sum_(terms, axes=(0,))
    total = dot(x, y, contract=((of_x.index(0),), (of_y.index(0),)), batch=((), ()))
    axes = [axis - 1 for axis in (*of_x, *of_y) if axis]
    total = transpose(total, axes=tuple(sorted(range(len(axes)), key=axes.__getitem__)))
    return broadcast(total, shape=terms.shape[1:], dims=tuple(sorted(axes)))


def _repeated(v: Value, op: Op | None) -> tuple[Value, tuple[int, ...]]:
    """The value that a broadcast repeats, and the axes of its own axes in the result."""
    if op is not None and op.kind is broadcast:
        return op.operands[0], op.params["dims"]
    return v, tuple(range(v.type.ndim))
