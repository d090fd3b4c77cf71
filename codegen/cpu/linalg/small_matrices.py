"""Linear algebra on small matrices: unrolled, with rows as vectors, and no library call.

Rows are exchanged by selection, so that there are no branches and every row stays in a register.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.llvm.scalars import llvm_type
from autojit.codegen.loop_ir.errors import NOT_POSITIVE, OUT_OF_BOUNDS, SINGULAR
from autojit.codegen.loop_ir.matrices import Factorization

from .matrices import I32, I64, Matrix, MatrixEmitter, Place

#: Matrices up to this order are small.
LARGEST = 8
#: Right-hand sides are solved for in groups of at most this many columns.
COLUMNS = 8

Rows = list[ir.Value]


def is_small(step: Factorization) -> bool:
    """Whether a step is computed without a library."""
    if step.dtype[0] == "c":
        return False
    return step.name in SMALL and (step.n <= LARGEST or step.name == "permutation")


# -- rows as vectors ----------------------------------------------------------


def _lane(i: int) -> ir.Constant:
    return ir.Constant(I32, i)


def _load_row(e: MatrixEmitter, m: Matrix, i: int, first: Place, width: int) -> ir.Value:
    """Load a part of a row; a single element is a scalar."""
    if width == 1:
        return e.load(m, i, first)
    kind = ir.VectorType(llvm_type(m.dtype), width)
    if m.column == 1:
        align = 4 if m.dtype == "f32" else 8
        return e.builder.load(e.at(m, i, first), align=align, typ=kind)
    row: ir.Value = ir.Constant(kind, ir.Undefined)
    for j in range(width):
        row = e.builder.insert_element(row, e.load(m, i, e.add(first, j)), _lane(j))
    return row


def _store_row(
    e: MatrixEmitter, row: ir.Value, m: Matrix, i: int, first: Place, width: int
) -> None:
    e.builder.store(row, e.at(m, i, first), align=4 if m.dtype == "f32" else 8)


def _spread(e: MatrixEmitter, value: ir.Value, width: int) -> ir.Value:
    """Return a vector with a scalar in every lane."""
    if width == 1:
        return value
    kind = ir.VectorType(value.type, width)
    first = e.builder.insert_element(ir.Constant(kind, ir.Undefined), value, _lane(0))
    lanes = ir.Constant(ir.VectorType(I32, width), [0] * width)
    return e.builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), lanes)


def _exchange(e: MatrixEmitter, rows: Rows, i: int, place: ir.Value) -> None:
    """Exchange row i and the row at ``place``, which is not above it."""
    b, own, chosen = e.builder, rows[i], rows[i]
    for r in range(i + 1, len(rows)):
        is_it = b.icmp_unsigned("==", place, ir.Constant(I64, r))
        chosen = b.select(is_it, rows[r], chosen)
        rows[r] = b.select(is_it, own, rows[r])
    rows[i] = chosen


def _exchange_back(e: MatrixEmitter, rows: Rows, places: Rows) -> None:
    """Apply the inverse of all exchanges."""
    for i in reversed(range(len(rows))):
        _exchange(e, rows, i, places[i])


# -- factorisations -----------------------------------------------------------


def cholesky(e: MatrixEmitter, a: Matrix, factor: Matrix) -> None:
    """Factorize column by column, with all elements in registers."""
    b, n = e.builder, e.step.n
    kind = llvm_type(e.step.dtype)
    root = e.module.declare_intrinsic("llvm.sqrt", [kind])
    left = {(i, j): e.load(a, i, j) for i in range(n) for j in range(i + 1)}
    for j in range(n):
        e.fail_if(b.fcmp_ordered("<=", left[j, j], e.number(0)), NOT_POSITIVE)
        left[j, j] = b.call(root, [left[j, j]])
        for i in range(j + 1, n):
            left[i, j] = b.fdiv(left[i, j], left[j, j])
        for i in range(j + 1, n):
            for k in range(j + 1, i + 1):
                left[i, k] = e.minus_product(left[i, k], left[i, j], left[k, j])
    for i in range(n):
        for j in range(n):
            e.store(left.get((i, j), e.number(0)), factor, i, j)


def lu(e: MatrixEmitter, a: Matrix, packed: Matrix, pivots: Matrix) -> None:
    """Apply Gaussian elimination with partial pivoting to rows in vectors."""
    b, n = e.builder, e.step.n
    if n == 1:
        e.store(e.load(a, 0, 0), packed, 0, 0)
        e.store(ir.Constant(I64, 0), pivots, 0)
        return
    rows = [_load_row(e, a, i, 0, n) for i in range(n)]
    for k in range(n):
        place = _largest(e, rows, k)
        e.store(place, pivots, k)
        _exchange(e, rows, k, place)
        pivot = b.extract_element(rows[k], _lane(k))
        # Elements below a zero pivot are all zero and stay so.
        zero = b.fcmp_ordered("==", pivot, e.number(0))
        divisor = b.select(zero, e.number(1), pivot)
        for r in range(k + 1, n):
            rows[r] = _eliminated(e, rows[r], rows[k], divisor, k)
    for i in range(n):
        _store_row(e, rows[i], packed, i, 0, n)


def _largest(e: MatrixEmitter, rows: Rows, k: int) -> ir.Value:
    """Return the row of the largest element of column k, from row k on; the first if equal."""
    b = e.builder
    size = e.module.declare_intrinsic("llvm.fabs", [llvm_type(e.step.dtype)])
    best = b.call(size, [b.extract_element(rows[k], _lane(k))])
    place: ir.Value = ir.Constant(I64, k)
    for r in range(k + 1, len(rows)):
        other = b.call(size, [b.extract_element(rows[r], _lane(k))])
        larger = b.fcmp_ordered(">", other, best)
        best = b.select(larger, other, best)
        place = b.select(larger, ir.Constant(I64, r), place)
    return place


def _eliminated(
    e: MatrixEmitter, row: ir.Value, own: ir.Value, divisor: ir.Value, k: int
) -> ir.Value:
    """Subtract a multiple of the pivot's row; the result has the factor at k, the rest after it."""
    b, n = e.builder, e.step.n
    factor = b.fdiv(b.extract_element(row, _lane(k)), divisor)
    rest = e.minus_product(row, _spread(e, factor, n), own)
    lanes = [j if j <= k else n + j for j in range(n)]
    merged = b.shuffle_vector(row, rest, ir.Constant(ir.VectorType(I32, n), lanes))
    return b.insert_element(merged, factor, _lane(k))


# -- equations ----------------------------------------------------------------


def _by_columns(e: MatrixEmitter, solve: Callable[[Place, int], None]) -> None:
    """Call ``solve(first, width)`` for groups of columns."""
    whole, rest = divmod(e.step.k, COLUMNS)
    if whole == 1:
        solve(0, COLUMNS)
    elif whole:
        with e.loop(0, whole) as group:
            solve(e.times(group, COLUMNS), COLUMNS)
    if rest:
        solve(whole * COLUMNS, rest)


def _substitute(
    e: MatrixEmitter, t: dict[Any, ir.Value], x: Rows, *, width: int, lower: bool, unit: bool
) -> None:
    """Solve ``T x = b`` in place, with element (i, j) of T in ``t``."""
    n = len(x)
    order = list(range(n)) if lower else list(reversed(range(n)))
    for position, i in enumerate(order):
        if not unit:
            x[i] = e.builder.fdiv(x[i], _spread(e, t[i, i], width))
        for r in order[position + 1 :]:
            x[r] = e.minus_product(x[r], _spread(e, t[r, i], width), x[i])


def _elements(e: MatrixEmitter, t: Matrix, transpose: bool) -> dict[Any, ir.Value]:
    n = e.step.n
    turned = t._replace(row=t.column, column=t.row) if transpose else t
    return {(i, j): e.load(turned, i, j) for i in range(n) for j in range(n)}


def triangular_solve(e: MatrixEmitter, t: Matrix, b: Matrix, x: Matrix) -> None:
    params, n = e.step.params, e.step.n
    elements = _elements(e, t, params["transpose"])
    lower = params["lower"] != params["transpose"]

    def columns(first: Place, width: int) -> None:
        rows = [_load_row(e, b, i, first, width) for i in range(n)]
        _substitute(e, elements, rows, width=width, lower=lower, unit=params["unit"])
        for i, row in enumerate(rows):
            _store_row(e, row, x, i, first, width)

    _by_columns(e, columns)


def solve(e: MatrixEmitter, packed: Matrix, pivots: Matrix, b: Matrix, x: Matrix) -> None:
    """Solve with the factors of :func:`lu`."""
    n, transpose = e.step.n, e.step.params["transpose"]
    elements = _elements(e, packed, transpose)
    places = [e.load(pivots, i) for i in range(n)]
    for i in range(n):
        zero = e.builder.fcmp_ordered("==", elements[i, i], e.number(0))
        e.fail_if(zero, SINGULAR)

    def columns(first: Place, width: int) -> None:
        rows = [_load_row(e, b, i, first, width) for i in range(n)]
        if not transpose:
            for i in range(n):
                _exchange(e, rows, i, places[i])
        # aᵀ = Uᵀ Lᵀ P: then the lower triangle is the one without a unit diagonal.
        _substitute(e, elements, rows, width=width, lower=True, unit=not transpose)
        _substitute(e, elements, rows, width=width, lower=False, unit=transpose)
        if transpose:
            _exchange_back(e, rows, places)
        for i, row in enumerate(rows):
            _store_row(e, row, x, i, first, width)

    _by_columns(e, columns)


def permutation(e: MatrixEmitter, pivots: Matrix, rows: Matrix) -> None:
    """Apply the exchanges to 0, 1, … in memory; an index out of bounds is a failure."""
    b, n = e.builder, e.step.n
    with e.loop(0, n) as i:
        e.store(i, rows, i)
    with e.loop(0, n) as i:
        asked = e.load(pivots, i)
        inside = b.icmp_unsigned("<", asked, ir.Constant(I64, n))
        e.fail_if(b.not_(inside), OUT_OF_BOUNDS)
        place = b.select(inside, asked, i)
        here, there = e.load(rows, i), e.load(rows, place)
        e.store(there, rows, i)
        e.store(here, rows, place)


#: By op: ``emit(emitter, *inputs, *results)`` for one element of the batch.
SMALL: dict[str, Callable[..., None]] = {
    "cholesky": cholesky,
    "triangular_solve": triangular_solve,
    "lu": lu,
    "solve": solve,
    "permutation": permutation,
}
