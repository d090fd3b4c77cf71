"""Which values are stored, and the loops that compute each of them.

Everything elementwise is computed where it is used, so most values never exist
in memory.  Stored are: outputs, reductions, operands and results of matrix
products, and values that are expensive and needed in several places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from autojit.ir.ops.contract import Dot, free_axes
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import Gather, ScatterAdd
from autojit.ir.ops.move import Broadcast, transpose
from autojit.ir.ops.reduce import Reduce
from autojit.ir.ops.update import AddAt, Scatter
from autojit.ir.program import Op, Program, Value
from autojit.ir.shapes import row_major_strides

from . import affine
from .affine import Affine, Var
from .chains import Readers, long_chains, readers_of
from .pull import Index, Puller
from .traits import Traits
from .views import Strided, axis_groups, matrix_view, renumbered, strided_view

#: A value this expensive (in additions) is stored when it is needed in two places.
EXPENSIVE = 10
#: A broadcast over outer axes repeats its operand's computation; beyond this it is stored.
CHEAP_TO_REPEAT = 3
#: Inline chains longer than this are cut, which bounds recursion.
DEEPEST = 60
#: Matrix products with at most this many multiplications are loops, not library calls.
SMALL_PRODUCT = 2048


@dataclass(eq=False)
class Stored:
    """A stored value and the loops that compute it.

    ``dims[j]`` is the axis of the value that loop j runs over, or None for an axis
    that is reduced.  ``element(puller, indices)`` gives what is stored or combined,
    ``places(puller, indices)`` at which computed places of the leading ``axes``.
    What updates a ``base`` does so in its buffer, which nothing else reads; ``at(variables)`` is
    then the element's index, if it is not the loop variables themselves.
    """

    op: Op
    extents: tuple[int, ...]
    dims: tuple[int | None, ...]
    element: Callable[[Puller, Index], Any]
    combine: str | None = None
    identity: Any = None
    places: Callable[[Puller, Index], list[Any]] | None = None
    axes: tuple[int, ...] = ()
    base: Value | None = None
    at: Callable[[Iterable[Any]], Index] | None = None
    vars: tuple[Var, ...] = ()
    reads: dict[Value, set[Index]] = field(default_factory=dict)

    @property
    def value(self) -> Value:
        return self.op.result

    @property
    def first_reduced(self) -> int:
        """The position of the outermost loop that is reduced (the number of loops if none is)."""
        return next((j for j, d in enumerate(self.dims) if d is None), len(self.dims))

    @property
    def in_register(self) -> bool:
        """Whether an element is complete in a scalar: no kept loop inside a reduced one."""
        is_kept = self.places is not None or self.at is not None
        return not is_kept and all(d is None for d in self.dims[self.first_reduced :])

    def index(self, variables: Any) -> Index:
        """The element's index in the value, from the loop variables (0 along computed axes)."""
        if self.at is not None:
            return self.at(map(affine.of, variables))
        found: dict[int, Affine] = {axis: Affine(0) for axis in self.axes}
        for d, v in zip(self.dims, variables, strict=True):
            if d is not None:
                found[d] = affine.of(v)
        return tuple(found[d] for d in range(len(found)))


@dataclass(eq=False)
class LibraryCall:
    """A matrix product by the BLAS."""

    op: Op
    operands: tuple[Value, Value]
    views: tuple[Strided, Strided]

    @property
    def value(self) -> Value:
        return self.op.result


class Selection:
    """Decides what is stored, in one walk over the ops from the last to the first."""

    def __init__(self, program: Program, traits: Traits) -> None:
        self.program = program
        self.traits = traits
        self.ops = list(program.ops)
        self.definers = {v: op for op in self.ops for v in op.results}
        self.stored: dict[Value, Stored | LibraryCall] = {}
        self._prepare_products()
        self._prepare_updates()
        self._costs()
        self._choose()

    # -- matrix products --------------------------------------------------

    def _prepare_products(self) -> None:
        """Operands that the BLAS cannot read where they lie get a copy in its layout."""
        self.forced: set[Value] = set()
        self.calls: dict[Value, LibraryCall] = {}
        ops: list[Op] = []
        for op in self.ops:
            if isinstance(op.kind, Dot) and not _as_loops(op):
                self._prepare_product(op, ops)
            ops.append(op)
        self.ops = ops

    def _prepare_product(self, op: Op, ops: list[Op]) -> None:
        operands, views = [], []
        for side in (0, 1):
            groups = axis_groups(op, side)
            value = op.operands[side]
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
        self.calls[op.result] = LibraryCall(op, tuple(operands), tuple(views))  # type: ignore[arg-type]

    def _copy(self, reader: Op, value: Value, order: tuple[int, ...], ops: list[Op]) -> Value:
        """A stored copy with the axes in that order, made before the op that reads it."""
        copy = Value(*transpose.infer(value.type, axes=order))
        ops.append(Op(transpose, (value,), {"axes": order}, (copy,), reader.source))
        self.definers[copy] = ops[-1]
        self.forced.add(copy)
        return copy

    def _matrix_view(self, value: Value, groups: Any) -> Strided | None:
        view = strided_view(value, self.definers, self.calls)
        return None if view is None else matrix_view(view, groups, value)

    # -- updates in place -------------------------------------------------

    def _prepare_updates(self) -> None:
        """What is updated in place is read by nothing else, or is a copy."""
        readers, ops = readers_of(self.ops, self.program.outputs), list[Op]()
        self.windows = long_chains(self.ops, readers)
        self.forced |= self.windows
        for op in self.ops:
            if isinstance(op.kind, _UPDATING) or not self.windows.isdisjoint(op.results):
                op = self._prepare_update(op, readers, ops)
            ops.append(op)
        self.ops = ops

    def _prepare_update(self, op: Op, readers: Readers, ops: list[Op]) -> Op:
        base, *rest = op.operands
        if base in self.definers and readers[base] == 1:
            self.forced.add(base)
            return op
        copy = self._copy(op, base, tuple(range(base.type.ndim)), ops)
        op = Op(op.kind, (copy, *rest), op.params, op.results, op.source)
        self.definers[op.result] = op
        return op

    # -- costs and contexts -----------------------------------------------

    def _costs(self) -> None:
        """The cost of computing one element, and the depth of the inline expression."""
        self.cost: dict[Value, int] = {}
        self.depth: dict[Value, int] = {}
        self.cut: set[Value] = set()
        for op in self.ops:
            value = op.result
            if isinstance(op.kind, _REDUCING):
                continue
            own = op.kind.cost if isinstance(op.kind, Elementwise) else 0
            if isinstance(op.kind, Gather) and op.operands[0] in self.definers:
                self.forced.add(op.operands[0])
            self.cost[value] = min(10**6, own + sum(self.cost.get(v, 0) for v in op.operands))
            self.depth[value] = 1 + max((self.depth.get(v, 0) for v in op.operands), default=0)
            if self.depth[value] > DEEPEST:
                self.cut.add(value)
                self.depth[value] = 0

    def _choose(self) -> None:
        outputs = {v for v in self.program.outputs if v in self.definers}
        contexts: dict[Value, set[Any]] = {}
        repeated: set[Value] = set()
        for op in reversed(self.ops):
            value = op.result
            seen = contexts.pop(value, set())
            if not seen and value not in outputs:
                continue
            if self._is_stored(op, seen, value in outputs or value in repeated):
                self._store(op)
                seen = {(op,)}
            is_move = not isinstance(op.kind, (Elementwise, *_REDUCING))
            # A product may read copies of its operands.
            reads = self.calls[value].operands if value in self.calls else op.operands
            for k, operand in enumerate(reads):
                mine = {(*c, op, k) for c in seen} if is_move else seen
                known = contexts.setdefault(operand, set())
                if len(known) < 3:
                    known |= mine
            if isinstance(op.kind, Broadcast) and _repeats(op) and value not in self.stored:
                self._mark_repeated(op.operands[0], repeated)
            if isinstance(op.kind, Dot) and value not in self.calls:
                for operand in op.operands:
                    self._mark_repeated(operand, repeated)

    def _mark_repeated(self, value: Value, repeated: set[Value]) -> None:
        if self.cost.get(value, 0) > CHEAP_TO_REPEAT:
            repeated.add(value)

    def _is_stored(self, op: Op, contexts: set[Any], needed: bool) -> bool:
        value = op.result
        if needed or isinstance(op.kind, _REDUCING) or value in self.forced:
            return True
        if value in self.cut:
            return True
        worth = isinstance(op.kind, Elementwise) and self.cost[value] >= EXPENSIVE
        return worth and len(contexts) > 1

    def _store(self, op: Op) -> None:
        self.stored[op.result] = self.calls.get(op.result) or self._loops(op)

    def _loops(self, op: Op) -> Stored:
        item = _window(op) if op.result in self.windows else _loops_of(op, self.definers)
        return item if self.traits.reduce_into_buffers else _kept_outermost(item)


_UPDATING = (Scatter, AddAt)
_REDUCING = (Reduce, Dot, ScatterAdd, *_UPDATING)


def _repeats(op: Op) -> bool:
    """Whether a broadcast adds an axis outside of one that it keeps."""
    dims, shape = op.params["dims"], op.params["shape"]
    last = max(dims, default=-1)
    return any(i not in dims and shape[i] > 1 for i in range(last))


# -- the loops of one op --------------------------------------------------------


def _kept_outermost(item: Stored) -> Stored:
    """The same loops with those that are kept around those that are reduced."""
    if item.places is not None:
        return item
    order = sorted(range(len(item.dims)), key=lambda j: item.dims[j] is None)
    place = [order.index(j) for j in range(len(order))]
    element = item.element
    return replace(
        item,
        extents=tuple(item.extents[j] for j in order),
        dims=tuple(item.dims[j] for j in order),
        element=lambda puller, index: element(puller, tuple(index[p] for p in place)),
    )


def _loops_of(op: Op, definers: dict[Value, Op]) -> Stored:
    if isinstance(op.kind, Reduce):
        return _reduction(op)
    if isinstance(op.kind, Dot):
        return _product_loops(op, definers)
    if isinstance(op.kind, (ScatterAdd, *_UPDATING)):
        return _scatter(op)
    shape = op.result.shape
    return Stored(op, shape, tuple(range(len(shape))), lambda p, i: p.pull_op(op, i))


def _reduction(op: Op) -> Stored:
    (x,), axes = op.operands, op.params["axes"]
    kept = [i for i in range(x.type.ndim) if i not in axes]
    dims = tuple(kept.index(i) if i in kept else None for i in range(x.type.ndim))
    kind = op.kind
    assert isinstance(kind, Reduce)
    combine = kind.combine if axes else None
    return Stored(op, x.shape, dims, lambda p, i: p.pull(x, i), combine, kind.identity(x.dtype))


def _scatter(op: Op) -> Stored:
    """Loops over the updates: the axes of the indices are reduced, the others kept."""
    base = op.operands[0] if isinstance(op.kind, _UPDATING) else None
    updates, *indices = op.operands if base is None else op.operands[1:]
    axes, shape = op.params["axes"], op.result.shape
    picked = indices[0].type.ndim
    kept = [d for d in range(len(shape)) if d not in axes]
    # A scalar index has no axis to reduce; a loop of one iteration stands for it.
    extents = updates.shape if picked else (1, *updates.shape)
    skip = 0 if picked else 1
    dims = (*[None] * max(picked, 1), *kept)

    def element(puller: Puller, index: Index) -> Any:
        return puller.pull(updates, index[skip:])

    def places(puller: Puller, index: Index) -> list[Any]:
        return [puller.pull(v, index[skip : skip + picked]) for v in indices]

    zero = op.result.dtype.type(0).item()
    combine = op.kind.combine  # type: ignore[attr-defined]
    return Stored(op, extents, dims, element, combine, zero, places, axes, base)


def _window(op: Op) -> Stored:
    """Loops over the long axes of a window that is replaced."""
    base, v = op.operands
    long = [axis for axis, n in enumerate(v.shape) if n != 1]

    def spread(variables: Iterable[Any]) -> list[Affine]:
        given = iter(variables)
        return [next(given) if axis in long else Affine(0) for axis in range(v.type.ndim)]

    def at(variables: Iterable[Any]) -> Index:
        ranges = zip(spread(variables), op.params["start"], op.params["stride"], strict=True)
        return tuple(i * step + start for i, start, step in ranges)

    def element(puller: Puller, index: Index) -> Any:
        return puller.pull(v, tuple(spread(index)))

    extents = tuple(v.shape[axis] for axis in long)
    return Stored(op, extents, tuple(long), element, base=base, at=at)


def _product_loops(op: Op, definers: dict[Value, Op]) -> Stored:
    """A small product, or one with a vector, as loops: batch, free and contracted axes."""
    from autojit.ir.ops.arithmetic import mul

    a, b = op.operands
    (ca, cb), (ba, bb) = op.params["contract"], op.params["batch"]
    free_a, free_b = free_axes(a.type.ndim, ca, ba), free_axes(b.type.ndim, cb, bb)
    # One loop: (extent, result axis, axis of a, axis of b).
    loops: list[tuple[int, int | None, int | None, int | None]] = []
    for i, j in zip(ba, bb, strict=True):
        loops.append((a.shape[i], len(loops), i, j))
    for i in free_a:
        loops.append((a.shape[i], len(loops), i, None))
    for j in free_b:
        loops.append((b.shape[j], len(loops), None, j))
    for i, j in zip(ca, cb, strict=True):
        loops.append((a.shape[i], None, i, j))
    loops = _in_memory_order(loops, a, b, definers)
    product = Op(mul, (a, b), {}, (op.result,), op.source)

    def element(puller: Puller, index: Index) -> Any:
        at_a = {la: i for (_, _, la, _), i in zip(loops, index, strict=True) if la is not None}
        at_b = {lb: i for (_, _, _, lb), i in zip(loops, index, strict=True) if lb is not None}
        left = puller.pull(a, tuple(at_a[k] for k in range(a.type.ndim)))
        right = puller.pull(b, tuple(at_b[k] for k in range(b.type.ndim)))
        return puller.compute(product, [left, right])

    extents = tuple(n for n, *_ in loops)
    dims = tuple(d for _, d, *_ in loops)
    combine = "add" if ca else None
    return Stored(op, extents, dims, element, combine, op.result.dtype.type(0).item())


def _in_memory_order(loops: Any, a: Value, b: Value, definers: dict[Value, Op]) -> Any:
    """Loops over a matrix and a vector follow the matrix, so that it is read in order."""
    big, column = (a, 2) if a.type.size >= b.type.size else (b, 3)
    if big.type.size <= SMALL_PRODUCT:
        return loops
    view = strided_view(big, definers, ())
    strides = view.strides if view is not None else row_major_strides(big.shape)
    ordered = sorted(
        loops, key=lambda loop: -strides[loop[column]] if loop[column] is not None else 0
    )
    kept = [d for _, d, *_ in ordered if d is not None]
    # Kept axes stay in order, so that what is still open in a buffer is contiguous.
    return ordered if kept == sorted(kept) else loops


def _as_loops(op: Op) -> bool:
    """Whether a product is computed by loops: integers, vectors, outer and small products."""
    a, b = op.operands
    (ca, cb), (ba, bb) = op.params["contract"], op.params["batch"]
    k = prod(a.shape[i] for i in ca)
    m = prod(a.shape[i] for i in free_axes(a.type.ndim, ca, ba))
    n = prod(b.shape[i] for i in free_axes(b.type.ndim, cb, bb))
    return a.dtype.kind not in "fc" or min(m, n, k) <= 1 or m * n * k <= SMALL_PRODUCT
