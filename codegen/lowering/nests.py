"""Loop nests of one program: the tree of loops with the statements of each element."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from math import prod
from typing import Any, Self

from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Fill,
    Finish,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.origins import Origin
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.codegen.scheduling.bufferization import Location, Placement, parts_of, scalar_dtype
from autojit.codegen.scheduling.element_walk import Index
from autojit.codegen.scheduling.fusion import Node, Schedule
from autojit.codegen.scheduling.materialization import BodyCall, LibraryCall
from autojit.codegen.scheduling.op_loops import Stored
from autojit.codegen.scheduling.traits import Traits
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.program import Op, Program, Value

from .library_calls import library_call
from .scalar_code import Pair, ScalarCode, Scope, parts

#: Sums of at most this many float32 are accumulated in float32: each vector lane adds only a few.
FEW_SUMMED = 1024
#: Innermost loops of at most this extent are unrolled.
UNROLL = 4
#: A longer innermost loop than this is split where conditions on its index change.
WORTH_SPLITTING = 8
#: The most parts of an innermost loop, and of a loop around others.
MOST_SEGMENTS, MOST_AROUND = 8, 64
#: The most parts of an innermost loop while surrounding loops are at a border, so it runs seldom.
MOST_AT_BORDER = 2


class Nests(ScalarCode):
    """Writes loop nests at the current position; subclasses lower ops with bodies."""

    def __init__(
        self,
        program: Program,
        traits: Traits,
        schedule: Schedule | None = None,
        placement: Placement | None = None,
    ) -> None:
        self.schedule = schedule or Schedule(program, traits)
        self.traits = traits
        self.program = program
        placement = placement or Placement(program, self.schedule, traits)
        super().__init__(self.schedule, placement)
        self._accumulators: dict[Value, list[Accumulator]] = {}
        #: For each loop that keeps its tapes: the tapes, and the note with their places.
        self.tapes: dict[Op, tuple[list[Buffer], Buffer]] = {}
        #: Whether this is the body of a loop or a branch.
        self.in_steps = False
        #: Copies that are not made because the original may be changed in place.
        self.needless: Collection[Value] = ()

    # -- writing the nests ------------------------------------------------

    def write(self) -> None:
        """Write the statements of a body in one scope."""
        self.scopes = [Scope()]
        copies = self.placement.copies
        inputs = set(self.program.inputs)
        for place, value in copies:  # inputs may be overwritten later
            if value in inputs:
                self.copy(self._location(value), place, value)
        for child in self.schedule.root.children:
            self._child(child)
        for place, value in copies:
            if value not in inputs:
                self.copy(self._location(value), place, value)

    def _location(self, value: Value) -> Location:
        base = self.placement.base.get(value, Affine(0))
        return Location(self.placement.of[value], base)

    def _kernel(self, name: str, children: list[Any]) -> Kernel:
        self.scopes = [Scope()]
        self.registers.clear()
        self._accumulators.clear()
        for child in children:
            self._child(child)
        body = self.scopes[0].body
        leaves = [x for c in children for x in (c.leaves() if isinstance(c, Node) else [c])]
        origin = self._origin(leaf.op for leaf in leaves)
        return Kernel(name, body, buffers_of(body), next(self.numbers), (origin,))

    def _origin(self, ops: Iterable[Op]) -> Origin:
        return Origin(ops, self.schedule.definers, self.schedule.stored)

    def _child(self, child: Any) -> None:
        if isinstance(child, Node):
            self._loop(child)
        elif isinstance(child, Stored):
            self._leaf(child)
        elif isinstance(child, LibraryCall):
            self.scopes[-1].body.append(self._library_call(child))
        else:
            self.bodies(child)

    def bodies(self, call: BodyCall) -> None:
        """Write the statements of an op with bodies."""
        raise NotImplementedError

    def nested(self, program: Program, schedule: Schedule, placement: Placement) -> Self:
        """Return the writer of the body of an op with bodies."""
        return type(self)(program, self.traits, schedule, placement)

    def _loop(self, node: Node) -> None:
        assert node.var is not None
        if self.needless and all(leaf.values[0] in self.needless for leaf in node.leaves()):
            return
        depth = len(self.scopes) - 1
        beginning = [
            leaf
            for leaf in node.leaves()
            if isinstance(leaf, Stored) and leaf.combine and leaf.first_reduced == depth
        ]
        for leaf in beginning:
            self._begin(leaf)
        if node.var.extent:
            for start, stop in self._segments(node):
                self._segment(node, start, stop)
        for leaf in beginning:
            self.source = leaf.op.source
            self._finish(leaf)

    def _segment(self, node: Node, start: int, stop: int) -> None:
        assert node.var is not None
        self.level[node.var] = len(self.scopes)
        self.bounds[node.var] = (start, stop - 1)
        self.scopes.append(Scope())
        registers = dict(self.registers)
        for child in node.children:
            self._child(child)
        body = self.scopes.pop().body
        self.registers = registers
        innermost = not any(isinstance(s, Loop) for s in body)
        unroll = innermost and stop - start <= UNROLL
        role = "reduce" if self._carries(node) else "map"
        self.scopes[-1].body.append(Loop(node.var, start, stop, body, role, unroll))
        del self.bounds[node.var], self.level[node.var]

    def _carries(self, node: Node) -> bool:
        """Whether the loop is a reduction for any leaf below it."""
        for leaf in node.leaves():
            if isinstance(leaf, Stored) and leaf.combine:
                position = self.schedule.path[leaf.value].index(node)
                if leaf.dims[position] is None:
                    return True
        return False

    def _segments(self, node: Node) -> list[tuple[int, int]]:
        """Return the ranges of a loop in which the conditions on its variable do not change."""
        assert node.var is not None
        extent = node.var.extent
        cuts: set[int] = set()
        around = any(isinstance(child, Node) for child in node.children)
        if (extent > WORTH_SPLITTING or around) and self.traits.splits:
            for leaf in node.leaves():
                if isinstance(leaf, Stored):
                    cuts |= self._cuts(leaf, node)
        points = sorted({0, extent} | {c for c in cuts if 0 < c < extent})
        most = MOST_AROUND if around else MOST_SEGMENTS
        if len(points) - 1 > most:
            points = _without_narrow(points)
        if len(points) - 1 > most:
            points = [0, extent]
        if not around and len(points) > MOST_AT_BORDER + 1 and self._is_border():
            points = [0, extent]
        return list(pairwise(points))

    def _is_border(self) -> bool:
        """Whether one of the surrounding loops is at one or two of its many iterations."""
        ranges = [self.bounds[v] for v in self.bounds if v.extent > WORTH_SPLITTING]
        return len(ranges) > 1 and any(last - first < 2 for first, last in ranges)

    def _cuts(self, leaf: Stored, node: Node) -> set[int]:
        own = leaf.vars[self.schedule.path[leaf.value].index(node)]
        cuts: set[int] = set()
        for condition in self.schedule.conditions[leaf.value]:
            bounds = (condition.low, condition.high)
            found = (condition.index.crossing(own, bound) for bound in bounds)
            cuts.update(cut for cut in found if cut is not None)
        return cuts

    # -- leaves -----------------------------------------------------------

    def _leaf(self, leaf: Stored) -> None:
        if leaf.value in self.needless:
            return
        self.source = leaf.op.source
        path = self.schedule.path[leaf.value]
        indices = tuple(affine.of(node.var) for node in path if node.var is not None)
        element = leaf.element(self, indices)
        here = leaf.index([node.var for node in path])
        if leaf.combine is None:
            self.registers[leaf.value] = (here, element)
            self._store(leaf.value, here, element)
        elif leaf.value in self._accumulators:
            for accumulator, part in zip(
                self._accumulators[leaf.value], parts(element), strict=True
            ):
                part = self.cast(part, accumulator.dtype)
                self.scopes[-1].body.append(Accumulate(accumulator, part))
        else:
            self._accumulate_into(leaf, here, indices, element)

    def _store(self, value: Value, index: Index, element: Any) -> None:
        buffer = self.placement.of.get(value)
        if buffer is None:
            return
        scalars = parts(element)
        offset = self.placement.offset(value, index) * len(scalars)
        for i, part in enumerate(scalars):
            self.scopes[-1].body.append(Store(buffer, offset + i, part, self.source))

    def _accumulate_into(self, leaf: Stored, index: Index, loops: Index, element: Any) -> None:
        buffer = self.placement.of[leaf.value]
        scalars = parts(element)
        offset = self.placement.offset(leaf.value, index) * len(scalars)
        combine, body = leaf.combine, self.scopes[-1].body
        assert combine is not None
        for i, part in enumerate(scalars):
            if leaf.places is not None:
                found = self.places(leaf.value, leaf.axes, leaf.places(self, loops), len(scalars))
                body.append(ScatterInto(buffer, offset + i, found, combine, part, self.source))
            else:
                body.append(AccumulateInto(buffer, offset + i, combine, part, self.source))

    def _begin(self, leaf: Stored) -> None:
        """Prepare for the first reduced loop: start an accumulator, or fill a buffer or part."""
        if leaf.in_register:
            self._accumulators[leaf.value] = self._new_accumulators(leaf)
            self.scopes[-1].body.extend(map(Begin, self._accumulators[leaf.value]))
        elif leaf.base is None:
            self.scopes[-1].body.append(self._fill(leaf))

    def _new_accumulators(self, leaf: Stored) -> list[Accumulator]:
        dtype = scalar_dtype(leaf.value.dtype)
        assert leaf.combine is not None
        if parts_of(leaf.value.dtype) == 1:
            # Sums of many float32 are kept in float64, to be as accurate as NumPy's.
            is_sum = dtype == "f32" and leaf.combine == "add"
            wide = "f64" if is_sum and self._combined(leaf) > FEW_SUMMED else dtype
            source = leaf.op.source
            return [Accumulator(next(self.numbers), wide, leaf.combine, leaf.identity, source)]
        if leaf.combine != "add":
            raise TargetError(
                f"{leaf.op.kind.name} of complex numbers cannot be compiled", leaf.op.source
            )
        return [
            Accumulator(next(self.numbers), dtype, "add", 0.0, leaf.op.source) for _ in range(2)
        ]

    def _combined(self, leaf: Stored) -> int:
        """Return the number of elements that are combined into one."""
        path = self.schedule.path[leaf.value]
        return prod(
            node.var.extent
            for node, d in zip(path, leaf.dims, strict=False)
            if d is None and node.var is not None
        )

    def _fill(self, leaf: Stored) -> Fill:
        value, count = leaf.value, parts_of(leaf.value.dtype)
        path = self.schedule.path[value][: leaf.first_reduced]
        fixed = {
            d: affine.of(node.var)
            for d, node in zip(leaf.dims, path, strict=False)
            if d is not None and node.var is not None
        }
        start = tuple(fixed.get(d, Affine(0)) for d in range(value.type.ndim))
        gone = self.placement.gone(value) | set(fixed)
        size = prod(n for d, n in enumerate(value.shape) if d not in gone)
        # The loops outside the reduction run over leading axes, so the rest is contiguous.
        first = self.placement.offset(value, start) * count
        identity = leaf.identity if count == 1 else 0.0
        return Fill(self.placement.of[value], first, size * count, identity, leaf.op.source)

    def _finish(self, leaf: Stored) -> None:
        value = leaf.value
        accumulators = self._accumulators.get(value)
        if accumulators is None:
            return
        depth = len(self.scopes) - 1
        scalars = []
        for accumulator in accumulators:
            total = Scalar(next(self.numbers), accumulator.dtype, depth, self, self.source)
            self.scopes[-1].body.append(Finish(total, accumulator))
            scalars.append(self.cast(total, scalar_dtype(value.dtype)))
        element = scalars[0] if len(scalars) == 1 else Pair(*scalars)
        index = leaf.index([node.var for node in self.schedule.path[value]])
        self.registers[value] = (index, element)
        self._store(value, index, element)

    # -- library calls and copies -----------------------------------------

    def _library_call(self, call: LibraryCall) -> MatrixProduct | Factorization | Callback:
        for base in {view.base for view in call.views if view.base in self.indices}:
            self._store_index(base)
        made = library_call(call, self.placement, self.traits, in_steps=self.in_steps)
        made.origins = (self._origin([call.op]),)
        return made

    def _store_index(self, value: Value) -> None:
        """Store the index of a surrounding loop, which has no location."""
        place = Buffer(f"index{next(self.placement.names)}", "i64", 1, "local")
        self.scopes[-1].body.append(Store(place, Affine(0), self.walk(value, ()), self.source))
        self.placement.of[value] = place

    def copy(self, source: Location, target: Location, like: Value) -> None:
        """Write a loop that copies a value's elements to another place."""
        parts = parts_of(like.dtype)
        size = like.type.size * parts
        if not size:
            return
        variable = Var(size)
        depth = len(self.scopes)
        self.level[variable] = depth
        self.scopes.append(Scope())
        here = affine.of(variable)
        element = self.load(source.buffer, source.offset * parts + here, None)
        store = Store(target.buffer, target.offset * parts + here, element, self.source)
        self.scopes[-1].body.append(store)
        body = self.scopes.pop().body
        del self.level[variable]
        self.scopes[-1].body.append(Loop(variable, 0, size, body, "map", size <= UNROLL))


def _without_narrow(points: list[int]) -> list[int]:
    """The bounds of ranges, with narrow ranges next to each other joined. A joined range keeps its
    conditions, so that the wide ranges on both sides of it have none."""
    wide = [p for p, following in pairwise(points) if following - p > UNROLL]
    ends = [following for p, following in pairwise(points) if following - p > UNROLL]
    return sorted({points[0], *wide, *ends, points[-1]})
