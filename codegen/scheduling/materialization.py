"""Decides which values are stored, and the loops that compute them.

Everything elementwise is computed where it is used, so most values never exist in memory. Stored
are: outputs, reductions, operands and results of matrix products, and expensive values with several
uses.

Any choice is legal where

- an array is updated in its own memory only if the update is its only reader and it is neither an
  input nor a result of the program: otherwise a copy is updated (``_prepare_update``);
- the BLAS and the bodies of loops read elements in place only if their strides are supported by the
  call: otherwise they read a copy (``_prepare_product``, ``_prepare_bodies``);
- a value that is compared with its own extreme is computed once, if its rounding may differ from
  place to place (``compared_with_extremes``).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autojit.ir.core.machine import current
from autojit.ir.core.program import Op, Program, Readers, Value, readers_of
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.linalg.factorizations import Matrices
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.callback import Callback
from autojit.ir.ops.contract import Dot
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import Gather
from autojit.ir.ops.linear import Constant
from autojit.ir.ops.move import Broadcast, Pad, Reshape, transpose
from autojit.ir.ops.shear import Windows
from autojit.ir.ops.update import is_sparse

from .chains import long_chains, may_read, sparse_windows
from .compared_extremes import compared_with_extremes
from .kept_tapes import kept_tapes
from .op_loops import (
    REDUCING,
    UPDATING,
    Stored,
    as_loops,
    kept_outermost,
    loops_of,
    times_read,
    window,
)
from .range_masks import range_masks
from .rotate import rotated
from .traits import Traits
from .views import Strided, axis_groups, is_row_major, matrix_view, renumbered, strided_view

#: A value that costs as much as this many function calls is stored if it has two uses.
EXPENSIVE = 1
#: The most repetitions of its operand's computation by a broadcast; above, it is stored.
CHEAP_TO_REPEAT = 3
#: A value with this many repetitions and elements is stored without steps between them.
MANY = 16
#: Inline chains longer than this are cut, which bounds recursion.
DEEPEST = 60


@dataclass(eq=False)
class LibraryCall:
    """A product, linear algebra or a function of the process, which reads ``operands``."""

    op: Op
    operands: tuple[Value, ...]
    views: tuple[Strided, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """The values that the call computes."""
        return self.op.results

    @property
    def reads(self) -> list[Value]:
        """The stored values that it reads."""
        return [view.base for view in self.views]


@dataclass(eq=False)
class BodyCall:
    """An op with bodies: a loop or a branch, with its operands as contiguous parts of stored
    values, or as constants (``views[k]`` is then None).

    ``taken`` is computed on demand: by result number of a branch, the operands whose memory the
    result may take over.
    """

    op: Op
    views: tuple[Strided | None, ...]
    taken: dict[int, int] | None = None

    @property
    def values(self) -> tuple[Value, ...]:
        """The values that the op computes."""
        return self.op.results

    @property
    def reads(self) -> list[Value]:
        """The stored values that it reads."""
        return [view.base for view in self.views if view is not None]


#: The ops that are separate steps between loops.
Call = LibraryCall | BodyCall


class Selection:
    """Decides which values are stored, in one walk over the ops from the last to the first."""

    def __init__(self, program: Program, traits: Traits, *, inside: bool = False) -> None:
        self.program = program
        self.traits = traits
        #: Whether this is the body of a loop, whose carries may be updated in place.
        self.inside = inside
        self.ops = _updates_last(program.ops) if inside else list(program.ops)
        #: Loops that keep their tapes for later ones.
        self.kept = rotated(kept_tapes(self.ops, program.outputs))
        self.ops = self.kept.ops
        #: Values that are no operands: outputs, and results that a later loop copies.
        self.copied = (*program.outputs, *self.kept.same.values())
        self.definers = {v: op for op in self.ops for v in op.results}
        self.stored: dict[Value, Stored | Call] = {}
        readers = readers_of(self.ops, self.copied)
        #: Updates of windows that are written in sequence, not selected for each element.
        self.windows = long_chains(self.ops, readers) | sparse_windows(self.ops)
        self._prepare_products()
        self._prepare_updates()
        self.forced |= compared_with_extremes(self.ops, self.definers)
        self.masks, self.sliced = range_masks(self.ops, self.definers)
        self._costs()
        self._choose()

    # -- matrix products --------------------------------------------------

    def _prepare_products(self) -> None:
        """Copy operands that the BLAS cannot read in place into its layout."""
        self.forced: set[Value] = set()
        self.calls: dict[Value, LibraryCall] = {}
        #: Values that are stored in any case, so that views of them are known to be views.
        self.bases = ChainMap[Value, Any](self.calls, dict.fromkeys(self.windows))
        self.bodies: dict[Op, BodyCall] = {}
        ops: list[Op] = []
        for op in self.ops:
            if isinstance(op.kind, Dot) and not as_loops(op):
                self._prepare_product(op, ops)
            elif isinstance(op.kind, (Matrices, Callback)):
                self._prepare_arrays(op)
            elif isinstance(op.kind, BodyOp):
                self._prepare_bodies(op)
            ops.append(op)
        self.ops = ops

    def _prepare_bodies(self, op: Op) -> None:
        """Let operands of an op with bodies be read in place if they are contiguous."""
        initial = op.kind.initial(op.params)  # type: ignore[attr-defined]
        views: list[Strided | None] = []
        # The initial values of a sweep that another loop has run.
        skipped = initial[: op.params["carries"][0]] if op in self.kept.source else ()
        for k, value in enumerate(op.operands):
            if k in skipped or (k in initial and _can_be_filled(self.definers.get(value))):
                views.append(None)
                continue
            view = strided_view(value, self.definers, self.bases)
            if view is None or view.strides != row_major_strides(value.shape):
                view = Strided(value, 0, row_major_strides(value.shape))
            self.forced.add(view.base)
            views.append(view)
        self.bodies[op] = BodyCall(op, tuple(views))

    def _prepare_product(self, op: Op, ops: list[Op]) -> None:
        operands, views = [], []
        for side, value in enumerate(op.operands):
            groups = axis_groups(op, side)
            view = self._matrix_view(value, groups)
            if view is None:
                value = copy = self._copy(op, value, tuple(a for g in groups for a in g), ops)
                view = matrix_view(
                    Strided(copy, 0, row_major_strides(copy.shape)), renumbered(groups), copy
                )
                assert view is not None
            else:
                self.forced.add(view.base)
            operands.append(value)
            views.append(view)
        self.calls[op.result] = LibraryCall(op, tuple(operands), tuple(views))

    def _prepare_arrays(self, op: Op) -> None:
        """Make arrays that are read in place contiguous; the last matrix may have any strides."""
        operands, views = op.operands[getattr(op.kind, "unread", 0) :], []
        for position, value in enumerate(operands, 1):
            strides = row_major_strides(value.shape)
            view = strided_view(value, self.definers, self.bases)
            fits = view is not None and view.strides == strides
            if view is not None and isinstance(op.kind, Matrices):
                fits = position == len(operands) or is_row_major(view, value)
            views.append(view if view is not None and fits else Strided(value, 0, strides))
            self.forced.add(views[-1].base)
        call = LibraryCall(op, operands, tuple(views))
        self.calls.update((v, call) for v in op.results)

    def _copy(self, reader: Op, value: Value, order: tuple[int, ...], ops: list[Op]) -> Value:
        """A stored copy with the axes in that order, made before the op that reads it."""
        copy = Value(*transpose.infer(value.type, axes=order))
        ops.append(Op(transpose, (value,), {"axes": order}, (copy,), reader.source))
        self.definers[copy] = ops[-1]
        self.forced.add(copy)
        return copy

    def _matrix_view(self, value: Value, groups: Any) -> Strided | None:
        view = strided_view(value, self.definers, self.bases)
        return None if view is None else matrix_view(view, groups, value)

    # -- updates in place -------------------------------------------------

    def _prepare_updates(self) -> None:
        """Copy arrays that are updated in place, unless they have no other reader."""
        #: Results of updates that begin with a copy.
        self.over_copies: set[Value] = set()
        #: The elements read at indices, by their array.
        self.picked: dict[Value, list[Value]] = {}
        for op in self.ops:
            if isinstance(op.kind, Gather) and is_sparse(op.result.type, op.operands[0].type):
                self.picked.setdefault(op.operands[0], []).append(op.result)
        readers, ops = readers_of(self.ops, self.copied), list[Op]()
        self.forced |= self.windows
        for op in self.ops:
            if isinstance(op.kind, UPDATING) or not self.windows.isdisjoint(op.results):
                op = self._prepare_update(op, readers, ops)
            ops.append(op)
        self.ops = ops

    def _prepare_update(self, op: Op, readers: Readers, ops: list[Op]) -> Op:
        base, rest = self._memory_of(op.operands[0], readers), op.operands[1:]
        alone = base in self.definers and readers[base] == 1
        if self.inside and (not alone or base in self.over_copies):
            # If no copy turns out to be needed, nothing reads the written array any more.
            self.forced.update(self.picked.get(base, ()))
            made = [v for v in rest if v in self.definers]
            self.forced.update(v for v in made if may_read(v, base, self.definers, self.forced))
            self.over_copies.add(op.result)
        if alone:
            self.forced.add(base)
            copy = base
        else:
            copy = self._copy(op, base, tuple(range(base.type.ndim)), ops)
        op = Op(op.kind, (copy, *rest), op.params, op.results, op.source)
        self.definers[op.result] = op
        return op

    def _memory_of(self, value: Value, readers: Readers) -> Value:
        """The value with the memory of a value that is only reshaped for its only reader."""
        while (op := self.definers.get(value)) is not None:
            if not isinstance(op.kind, Reshape) or readers[value] != 1:
                break
            (value,) = op.operands
        return value

    # -- costs and contexts -----------------------------------------------

    def _costs(self) -> None:
        """The cost of computing one element, and the depth of the inline expression."""
        self.cost: dict[Value, int] = {}
        self.depth: dict[Value, int] = {}
        self.cut: set[Value] = set()
        for op in self.ops:
            if isinstance(op.kind, (*REDUCING, BodyOp)):
                continue
            value = op.result
            cost = op.kind.cost if isinstance(op.kind, Elementwise) else 0
            if isinstance(op.kind, (Gather, Windows)) and op.operands[0] in self.definers:
                made = self.definers[op.operands[0]]
                if not isinstance(op.kind, Windows) or not isinstance(made.kind, Windows):
                    self.forced.add(op.operands[0])  # whose elements are read more than once
            cost += sum(self.cost.get(v, 0) for v in op.operands)
            self.cost[value] = 0 if value in self.masks else min(10**6, cost)
            self.depth[value] = 1 + max((self.depth.get(v, 0) for v in op.operands), default=0)
            if self.depth[value] > DEEPEST:
                self.cut.add(value)
                self.depth[value] = 0

    def _choose(self) -> None:
        outputs = {v for v in self.program.outputs if v in self.definers}
        contexts: dict[Value, set[Any]] = {}
        repeated: set[Value] = set()
        for op in reversed(self.ops):
            if isinstance(op.kind, BodyOp):
                self._choose_bodies(op, outputs, contexts)
                continue
            value = op.results[0]
            seen = set().union(*(contexts.pop(v, set()) for v in op.results))
            if not seen and outputs.isdisjoint(op.results):
                continue
            if self._is_stored(op, seen, value in outputs or value in repeated):
                self._store(op)
                seen = {(op,)}
            is_move = not isinstance(op.kind, (Elementwise, *REDUCING))
            # A product may read copies of its operands.
            reads = self.calls[value].operands if value in self.calls else op.operands
            for k, operand in enumerate(reads):
                mine = {(*c, op, k) for c in seen} if is_move else seen
                known = contexts.setdefault(operand, set())
                if len(known) < 3:
                    known |= mine
            spread = isinstance(op.kind, Broadcast) and _repeats(op)
            if (spread or _is_mostly_margin(op)) and value not in self.stored:
                times = op.result.type.size // max(op.operands[0].type.size, 1) if spread else 1
                self._mark_repeated(op.operands[0], times, repeated)
            if isinstance(op.kind, Dot) and value not in self.calls:
                for operand, times in zip(op.operands, times_read(op), strict=True):
                    self._mark_repeated(operand, times, repeated)

    def _choose_bodies(self, op: Op, outputs: set[Value], contexts: dict[Value, set[Any]]) -> None:
        if outputs.isdisjoint(op.results) and contexts.keys().isdisjoint(op.results):
            return
        call = self.bodies[op]
        for value in op.results:
            contexts.pop(value, None)
            self.stored[value] = call
        for k, value in enumerate(call.reads):
            contexts.setdefault(value, set()).add((op, k))

    def _mark_repeated(self, value: Value, times: int, repeated: set[Value]) -> None:
        most = current().costs.function if value in self.sliced else CHEAP_TO_REPEAT
        if self.cost.get(value, 0) > most or (
            min(times, value.type.size) >= MANY and self._is_read_apart(value)
        ):
            repeated.add(value)

    def _is_read_apart(self, value: Value) -> bool:
        """Whether a cheap value reads memory with a stride."""
        left = [value]
        while left:
            value = left.pop()
            made = self.definers.get(value)
            if made is not None and isinstance(made.kind, Elementwise):
                left += made.operands
                continue
            view = strided_view(value, self.definers, self.bases)
            if view is not None:
                last = [s for s, n in zip(view.strides, value.shape, strict=True) if n > 1][-1:]
                if last and last[0] not in (0, 1):
                    return True
        return False

    def _is_stored(self, op: Op, contexts: set[Any], needed: bool) -> bool:
        value = op.results[0]
        if needed or isinstance(op.kind, REDUCING) or value in self.forced:
            return True
        if value in self.cut:
            return True
        least = EXPENSIVE * current().costs.function
        worth = isinstance(op.kind, Elementwise) and self.cost[value] >= least
        return worth and len(contexts) > 1

    def _store(self, op: Op) -> None:
        for value in op.results:
            self.stored[value] = self.calls.get(value) or self._loops(op)

    def _loops(self, op: Op) -> Stored:
        item = window(op) if op.result in self.windows else loops_of(op, self.definers)
        return item if self.traits.reduce_into_buffers else kept_outermost(item)


def _updates_last(ops: Sequence[Op]) -> list[Op]:
    """The ops, with ops that do not need an update moved before it: an array can be updated in
    place after all its readers."""
    level: dict[Value, int] = {}
    levels = []
    for op in ops:
        own = max((level.get(v, 0) for v in op.operands), default=0)
        own += isinstance(op.kind, UPDATING)
        levels.append(own)
        level.update((v, own) for v in op.results)
    return [op for _, op in sorted(zip(levels, ops, strict=True), key=lambda pair: pair[0])]


def _can_be_filled(op: Op | None) -> bool:
    """Whether an op makes a constant of equal scalars."""
    if op is None or not isinstance(op.kind, Constant):
        return False
    return op.params["dtype"].kind != "c" or repr(op.params["value"]) == "0j"


def _is_mostly_margin(op: Op) -> bool:
    """Whether an op puts an array into one of more than twice its size: a loop over the larger one
    would compute many elements only to discard them."""
    return isinstance(op.kind, Pad) and op.result.type.size > 2 * op.operands[0].type.size


def _repeats(op: Op) -> bool:
    """Whether a broadcast adds an axis outside of an axis that it keeps."""
    dims, shape = op.params["dims"], op.params["shape"]
    last = max(dims, default=-1)
    return any(i not in dims and shape[i] > 1 for i in range(last))
