"""The loops of one op: their axes, the computation of an element, and how it is combined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.halves import number_of
from autojit.ir.core.program import Op, Value
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.linalg.factorizations import Matrices
from autojit.ir.ops.callback import Callback
from autojit.ir.ops.contract import Dot, free_axes
from autojit.ir.ops.index import ScatterAdd
from autojit.ir.ops.move import transpose
from autojit.ir.ops.reduce import Reduce
from autojit.ir.ops.update import AddAt, Scatter

from .element_walk import ElementWalk, Index
from .views import strided_view

#: Matrix products with at most this many multiplications are loops, not library calls.
SMALL_PRODUCT = 2048
#: Ops that change an array in place.
UPDATING = (Scatter, AddAt)
#: Ops whose results are stored: they have their own loops, or a call.
REDUCING = (Reduce, Dot, ScatterAdd, Matrices, Callback, *UPDATING)


@dataclass(eq=False)
class Stored:
    """A stored value and the loops that compute it.

    ``dims[j]`` is the axis of the value that loop j runs over, or None for an axis
    that is reduced.  ``element(walk, indices)`` gives the stored or combined element, and
    ``places(walk, indices)`` its computed indices in the leading ``axes``. An update of a ``base``
    happens in its buffer, which nothing else reads; ``at(variables)`` is then the element's index,
    unless it is the loop variables themselves. A result that is computed ``over`` a value takes
    that value's buffer, element by element.
    """

    op: Op
    extents: tuple[int, ...]
    dims: tuple[int | None, ...]
    element: Callable[[ElementWalk, Index], Any]
    combine: str | None = None
    identity: Any = None
    places: Callable[[ElementWalk, Index], list[Any]] | None = None
    axes: tuple[int, ...] = ()
    base: Value | None = None
    over: Value | None = None
    at: Callable[[Iterable[Any]], Index] | None = None
    vars: tuple[Var, ...] = ()
    reads: dict[Value, set[Index]] = field(default_factory=dict)

    @property
    def value(self) -> Value:
        return self.op.result

    @property
    def values(self) -> tuple[Value, ...]:
        return self.op.results

    @property
    def copied(self) -> Value | None:
        """The value that this is a copy of."""
        op = self.op
        in_order = op.kind is transpose and op.params["axes"] == tuple(range(op.result.type.ndim))
        return op.operands[0] if in_order else None

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


def kept_outermost(item: Stored) -> Stored:
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
        element=lambda walk, index: element(walk, tuple(index[p] for p in place)),
    )


def loops_of(op: Op, definers: dict[Value, Op]) -> Stored:
    if isinstance(op.kind, Reduce):
        return _reduction(op)
    if isinstance(op.kind, Dot):
        return _product_loops(op, definers)
    if isinstance(op.kind, (ScatterAdd, *UPDATING)):
        return _scatter(op)
    shape = op.result.shape
    return Stored(op, shape, tuple(range(len(shape))), lambda p, i: p.walk_op(op, i))


def _reduction(op: Op) -> Stored:
    (x,), axes = op.operands, op.params["axes"]
    kept = [i for i in range(x.type.ndim) if i not in axes]
    dims = tuple(kept.index(i) if i in kept else None for i in range(x.type.ndim))
    kind = op.kind
    assert isinstance(kind, Reduce)
    combine = kind.combine if axes else None
    return Stored(op, x.shape, dims, lambda p, i: p.walk(x, i), combine, kind.identity(x.dtype))


def _scatter(op: Op) -> Stored:
    """Loops over the updates: the axes of the indices are reduced, the others kept."""
    base = op.operands[0] if isinstance(op.kind, UPDATING) else None
    updates, *indices = op.operands if base is None else op.operands[1:]
    axes, shape = op.params["axes"], op.result.shape
    picked = indices[0].type.ndim
    kept = [d for d in range(len(shape)) if d not in axes]
    # A scalar index has no axis to reduce; a loop of one iteration replaces it.
    extents = updates.shape if picked else (1, *updates.shape)
    skip = 0 if picked else 1
    dims = (*[None] * max(picked, 1), *kept)

    def element(walk: ElementWalk, index: Index) -> Any:
        return walk.walk(updates, index[skip:])

    def places(walk: ElementWalk, index: Index) -> list[Any]:
        return [walk.walk(v, index[skip : skip + picked]) for v in indices]

    zero = number_of(0, op.result.dtype)
    combine = op.kind.combine  # type: ignore[attr-defined]
    return Stored(op, extents, dims, element, combine, zero, places, axes, base)


def window(op: Op) -> Stored:
    """Loops over the long axes of a window that is replaced."""
    base, v = op.operands
    long = [axis for axis, n in enumerate(v.shape) if n != 1]

    def spread(variables: Iterable[Any]) -> list[Affine]:
        given = iter(variables)
        return [next(given) if axis in long else Affine(0) for axis in range(v.type.ndim)]

    def at(variables: Iterable[Any]) -> Index:
        ranges = zip(spread(variables), op.params["start"], op.params["stride"], strict=True)
        return tuple(i * step + start for i, start, step in ranges)

    def element(walk: ElementWalk, index: Index) -> Any:
        return walk.walk(v, tuple(spread(index)))

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

    def element(walk: ElementWalk, index: Index) -> Any:
        at_a = {la: i for (_, _, la, _), i in zip(loops, index, strict=True) if la is not None}
        at_b = {lb: i for (_, _, _, lb), i in zip(loops, index, strict=True) if lb is not None}
        left = walk.walk(a, tuple(at_a[k] for k in range(a.type.ndim)))
        right = walk.walk(b, tuple(at_b[k] for k in range(b.type.ndim)))
        return walk.compute(product, [left, right])

    extents = tuple(n for n, *_ in loops)
    dims = tuple(d for _, d, *_ in loops)
    combine = "add" if ca else None
    return Stored(op, extents, dims, element, combine, number_of(0, op.result.dtype))


def _in_memory_order(loops: Any, a: Value, b: Value, definers: dict[Value, Op]) -> Any:
    """Order the loops of a matrix-vector product so that the matrix is read in memory order."""
    big, column = (a, 2) if a.type.size >= b.type.size else (b, 3)
    if big.type.size <= SMALL_PRODUCT:
        return loops
    view = strided_view(big, definers, ())
    strides = view.strides if view is not None else row_major_strides(big.shape)
    long = [loop for loop in loops if loop[0] != 1]
    ordered = sorted(
        long, key=lambda loop: -strides[loop[column]] if loop[column] is not None else 0
    )
    kept = [d for _, d, *_ in ordered if d is not None]
    # Kept axes stay in order, so that the unfinished part of a buffer is contiguous.
    if kept != sorted(kept):
        return loops
    for loop in loops:
        if loop[0] == 1:  # beside its neighbours among the axes of the result
            axis = -1 if loop[1] is None else loop[1]
            after = (at for at, (_, d, *_) in enumerate(ordered) if d is not None and d > axis)
            ordered.insert(next(after, len(ordered)), loop)
    return ordered


def as_loops(op: Op) -> bool:
    """Whether a product is computed by loops: integers, vectors, outer and small products."""
    a, b = op.operands
    (ca, cb), (ba, bb) = op.params["contract"], op.params["batch"]
    k = prod(a.shape[i] for i in ca)
    m = prod(a.shape[i] for i in free_axes(a.type.ndim, ca, ba))
    n = prod(b.shape[i] for i in free_axes(b.type.ndim, cb, bb))
    return a.dtype.kind not in "fc" or min(m, n, k) <= 1 or m * n * k <= SMALL_PRODUCT


def times_read(op: Op) -> list[int]:
    """The number of times that a product reads each element of its operands."""
    free = [
        prod(v.shape[axis] for axis in free_axes(v.type.ndim, contract, batch))
        for v, contract, batch in zip(
            op.operands, op.params["contract"], op.params["batch"], strict=True
        )
    ]
    return free[::-1]
