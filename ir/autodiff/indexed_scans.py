"""A loop that reads and writes an array at its own index takes the array's rows instead.

Before::

    %2: f64[], %3: f64[99] = scan %x, %0, %1 {body=program step(%x: f64[100], %i: i64[],
                                                              %c: f64[], %y: f64[99]) {
      %j: i64[] = add %i, 1
      %a: f64[] = gather %x, %j {axes=(0,)}
      %d: f64[] = mul %c, %a
      %z: f64[99] = scatter %y, %d, %i {axes=(0,)}
      return %d, %z
    }, carries=2, constants=1, length=99, reverse=False}

After::

    %r: f64[99] = slice %x {start=(1,), stop=(100,), stride=(1,)}
    %2: f64[], %s: f64[99] = scan %0, %r {body=program step(%i: i64[], %c: f64[], %a: f64[]) {
      %d: f64[] = mul %c, %a
      return %d, %d
    }, carries=1, constants=0, length=99, reverse=False}
    %3: f64[99] = update %1, %s {start=(0,), stride=(1,)}

So loops that users write with indices become loops over rows. This is also done before
differentiation, because cotangents of rows are stacked, while cotangents of elements at an index
would be added to an array that the loop carries.

Legal where an index is ``stride * index + offset``, in int64, along one axis, and fixed along the
others, and in bounds in every step; and, for writes, where the loop does not read the array in
another way, and no two steps set the same element.  Numbers that are added to one element may be
added in another order; nothing else changes in the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import (
    Builder,
    Op,
    Program,
    Value,
    building,
    current_builder,
    readers_of,
)
from autojit.ir.core.registry import declared
from autojit.ir.ops.arithmetic import add, lt, mul, select, sub
from autojit.ir.ops.bodies import groups
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import Constant, Iota
from autojit.ir.ops.move import Broadcast, Reshape, Transpose, flip, reshape, slice_, transpose
from autojit.ir.ops.update import add_at, scatter, update
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import ROWS, STRUCTURE, program_pass


@program_pass(
    "Replaces array elements that a loop reads and writes at its index by rows.",
    gives=[ROWS],
    keeps=STRUCTURE,
)
def run(program: Program) -> Program:
    """The program with such loops over rows; the same object if there are none."""
    return rewrite(program, [_rule]) if declared.scan in program.kinds else program


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if op.kind is not declared.scan or op.params["length"] < 2:
        return None
    loop = _Loop(op)
    return loop.emit() if loop.reads or loop.writes else None


_ARITHMETIC: dict[Declaration, Callable[[Affine, Affine], Affine | None]] = {
    add: Affine.__add__,
    sub: Affine.__sub__,
    mul: Affine.times,
}


class _Place(NamedTuple):
    """The elements of an array at one step: those along one axis move."""

    axis: int
    #: The number at each axis that is indexed, by that of the step.
    lines: tuple[tuple[int, Affine], ...]
    step: Var

    def window(self, shape: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """Start, stop and stride, along each axis, of the part that all steps read together."""
        lines, ranges = dict(self.lines), []
        for axis, extent in enumerate(shape):
            first, last = lines[axis].range({}) if axis in lines else (0, extent - 1)
            ranges.append((first, last + 1, abs(self.stride) if axis == self.axis else 1))
        start, stop, stride_ = zip(*ranges, strict=True)
        return {"start": start, "stop": stop, "stride": stride_}

    def others(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The extents of the axes that are not indexed."""
        indexed = {axis for axis, _ in self.lines}
        return tuple(extent for axis, extent in enumerate(shape) if axis not in indexed)

    @property
    def moving(self) -> Affine:
        return dict(self.lines)[self.axis]

    @property
    def stride(self) -> int:
        """The distance along that axis between the elements of a step and of the previous step."""
        return self.moving.coefficient(self.step)


class _Loop:
    """A loop, with its reads and writes at its index."""

    def __init__(self, op: Op) -> None:
        self.op, self.body = op, op.params["body"]
        self.n, self.m, self.length = (op.params[k] for k in ("constants", "carries", "length"))
        self.constants, (self.index,), self.carries, _ = groups(self.body.inputs, self.n, 1, self.m)
        #: The number of the step.
        self.step = Var(self.length)
        self.maker = {v: inner for inner in self.body.ops for v in inner.results}
        self.reads = self._reads()
        self.parts = self._parts()
        self.writes = self._writes()

    def _reads(self) -> dict[Op, tuple[Value, _Place]]:
        """The reads of arrays that are the same in all steps, with their places."""
        constants, found = set(self.constants), {}
        for inner in self.body.ops:
            if inner.kind is gather and inner.operands[0] in constants:
                place = self._place(inner, inner.operands[0].shape, inner.operands[1:])
                if place is not None:
                    found[inner] = (inner.operands[0], place)
        return found

    def _parts(self) -> dict[Op, tuple[Value, _Place, list[Value]]]:
        """Reads that are parts of rows the step already gets: ``A[i, i]`` is a part of ``A[i]``.

        Then the cotangents of both are one row.
        """
        rows = set(self.reads.values())
        found = {}
        for inner in self.body.ops if rows else ():
            if inner.kind is not gather or inner in self.reads or inner.result.shape:
                continue
            x, axes = inner.operands[0], inner.params["axes"]
            for axis, v in zip(axes, inner.operands[1:], strict=True):
                line = self._line(v) if v.type.size == 1 else None
                place = _Place(axis, ((axis, line),), self.step) if line is not None else None
                if place is not None and (x, place) in rows:
                    others = [u for a, u in zip(axes, inner.operands[1:], strict=True) if a != axis]
                    found[inner] = (x, place, others)
                    break
        return found

    def _writes(self) -> dict[int, list[tuple[Op, _Place]]]:
        """Carries that steps only write to, each step at another place, by their positions."""
        readers = readers_of(self.body.ops, self.body.outputs)
        found = {}
        for k, own in enumerate(self.carries):
            chain: list[tuple[Op, _Place]] = []
            v = self.body.outputs[k]
            while v is not own and readers[v] == 1:
                inner = self.maker.get(v)
                if inner is None or inner.kind not in (scatter, add_at):
                    break
                place = self._place(inner, v.shape, inner.operands[2:])
                if place is None:
                    break
                chain.insert(0, (inner, place))
                v = inner.operands[0]
            if chain and v is own and readers[own] == 1 and _is_apart(chain):
                found[k] = chain
        return found

    def _place(self, op: Op, shape: Sequence[int], indices: Sequence[Value]) -> _Place | None:
        """The place where an op reads or writes; None unless it moves along one axis, in bounds."""
        if any(v.type.size != 1 for v in indices):
            return None
        lines = {}
        for axis, v in zip(op.params["axes"], indices, strict=True):
            line = self._line(v)
            if line is None:
                return None
            low, high = line.range({})
            if low < 0 or high >= shape[axis]:
                return None
            lines[axis] = line
        moving = [axis for axis, line in lines.items() if line.terms]
        if len(moving) != 1:
            return None
        return _Place(moving[0], tuple(lines.items()), self.step)

    def _line(self, v: Value) -> Affine | None:
        """A number (an array of one element) as a form of the loop's index."""
        if v is self.index:
            return affine.of(self.step)
        op = self.maker.get(v)
        if op is None or v.type.size != 1 or v.dtype != self.index.dtype:  # others wrap earlier
            return None
        if isinstance(op.kind, Constant):
            return Affine(op.params["value"])
        if isinstance(op.kind, Iota):
            return Affine(0)
        if isinstance(op.kind, (Broadcast, Reshape, Transpose)):
            return self._line(op.operands[0])
        if op.kind is select:
            chosen = self._is_less(op.operands[0])
            return None if chosen is None else self._line(op.operands[1 if chosen else 2])
        if op.kind not in _ARITHMETIC:
            return None
        a, b = map(self._line, op.operands)
        return None if a is None or b is None else _ARITHMETIC[op.kind](a, b)

    def _is_less(self, v: Value) -> bool | None:
        """Whether a number is less than another in each step; None if unknown."""
        op = self.maker.get(v)
        if op is None or op.kind is not lt:
            return None
        a, b = map(self._line, op.operands)
        if a is None or b is None:
            return None
        low, high = (b - a).range({})
        return True if low > 0 else False if high <= 0 else None

    # -- the loop over rows ------------------------------------------------------------

    def emit(self) -> list[Value]:
        """The results of the loop."""
        constants, carries, rows = groups(self.op.operands, self.n, self.m)
        kept = [k for k in range(self.m) if k not in self.writes]
        body, used, places = self._body(kept)
        whole = dict(zip(self.constants, constants, strict=True))
        more = [_rows(whole[x], place, self.length) for x, place in places]
        params = {**self.op.params, "body": body, "constants": len(used), "carries": len(kept)}
        given = [*(whole[v] for v in used), *(carries[k] for k in kept), *rows, *more]
        made = current_builder().emit(declared.scan, given, params)
        last, stacked, written = groups(made, len(kept), len(self.body.outputs) - self.m)
        results = dict(zip(kept, last, strict=True))
        stacks = iter(written)
        for k, chain in self.writes.items():
            results[k] = carries[k]
            for op, place in chain:
                results[k] = _written(results[k], op, place, next(stacks), self.length)
        return [*(results[k] for k in range(self.m)), *stacked]

    def _body(self, kept: list[int]) -> tuple[Program, list[Value], list[tuple[Value, _Place]]]:
        """The steps on rows, the constants they read, and the values of the new rows."""
        rows: dict[tuple[Value, _Place], Value] = {}
        written = {op for chain in self.writes.values() for op, _ in chain}
        ops, outputs = [], []
        for op in self.body.ops:
            if op in self.reads:
                x, place = self.reads[op]
                row = rows.setdefault((x, place), Value(x.type.with_shape(place.others(x.shape))))
                op = Op(reshape, (row,), {"shape": op.result.shape}, op.results, op.source)
            elif op in self.parts:
                x, place, others = self.parts[op]
                row = rows.setdefault((x, place), Value(x.type.with_shape(place.others(x.shape))))
                axes = tuple(a - (a > place.axis) for a in op.params["axes"] if a != place.axis)
                op = Op(gather, (row, *others), {"axes": axes}, op.results, op.source)
            if op not in written:
                ops.append(op)
        builder = Builder()
        with building(builder):
            for chain in self.writes.values():
                for op, place in chain:
                    row_shape = place.others(op.result.shape)
                    outputs.append(reshape(op.operands[1], shape=row_shape))
        ops += builder.ops
        read = {v for op in ops for v in op.operands} | {*self.body.outputs}
        used = [v for v in self.constants if v in read]
        inputs = [
            *used, self.index, *(self.carries[k] for k in kept),
            *self.body.inputs[self.n + 1 + self.m :], *rows.values(),
        ]  # fmt: skip
        results = [*(self.body.outputs[k] for k in kept), *self.body.outputs[self.m :], *outputs]
        return Program(inputs, ops, results, name=self.body.name), used, list(rows)


def _is_apart(chain: list[tuple[Op, _Place]]) -> bool:
    """Whether all steps write to different places, so that their order does not matter."""
    if all(op.kind is add_at for op, _ in chain):
        return True
    places = [place for _, place in chain]
    return all(op.kind is scatter for op, _ in chain) and all(
        _never_meet(a, b) for k, a in enumerate(places) for b in places[:k]
    )


def _never_meet(a: _Place, b: _Place) -> bool:
    """Whether no step writes to one place where another step writes to the other."""
    if (a.axis, a.moving) == (b.axis, b.moving):
        return True
    first, second = dict(a.lines), dict(b.lines)
    return any(
        not (first[axis].terms or second[axis].terms) and first[axis] != second[axis]
        for axis in first.keys() & second.keys()
    )


def _rows(x: Value, place: _Place, steps: int) -> Value:
    """The values that the steps read, along a new first axis."""
    part = slice_(x, **place.window(x.shape))
    if place.stride < 0:
        part = flip(part, axes=(place.axis,))
    rest = [axis for axis in range(x.type.ndim) if axis != place.axis]
    return reshape(transpose(part, axes=(place.axis, *rest)), shape=(steps, *place.others(x.shape)))


def _written(x: Value, op: Op, place: _Place, rows: Value, steps: int) -> Value:
    """An array with the values that the steps have written."""
    window = place.window(x.shape)
    rest = [axis for axis in range(x.type.ndim) if axis != place.axis]
    indexed = {axis for axis, _ in place.lines}
    wide = reshape(rows, shape=(steps, *(1 if axis in indexed else x.shape[axis] for axis in rest)))
    order = (place.axis, *rest)
    part = transpose(wide, axes=tuple(order.index(axis) for axis in range(x.type.ndim)))
    if place.stride < 0:
        part = flip(part, axes=(place.axis,))
    if op.kind is add_at:
        part = slice_(x, **window) + part
    return update(x, part, start=window["start"], stride=window["stride"])
