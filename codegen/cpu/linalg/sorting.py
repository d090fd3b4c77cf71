"""Sort and argsort.

Values are sorted by NumPy's function, which compares whole vectors. An argsort counts ranks if
there are few numbers, and uses a radix sort if there are many; numbers of one or two bytes are left
to NumPy. If rows differ, half of the branches on comparisons are mispredicted: NumPy's stable
argsort takes 60 to 150 ns a number for rows of 80 to 600, these methods 5 to 14.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.abi import abi
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.loop_ir.errors import OUT_OF_MEMORY
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.scheduling.selected import Window, sample_size, windows

from . import radix, ranks
from .matrices import I1, I32, I64, POINTER, Matrix, MatrixEmitter

#: ``int argsort(void *keys, npy_intp *places, npy_intp n, void *array)``
SIGNATURE = ir.FunctionType(I32, [POINTER, POINTER, I64, POINTER])


def is_counted(step: Factorization) -> bool:
    """Whether the argsort counts ranks."""
    return step.n <= ranks.MOST and radix.is_sortable(step.dtype, step.n)


def has_radix(step: Factorization) -> bool:
    """Whether the argsort is a radix sort."""
    return step.n > ranks.MOST and radix.is_sortable(step.dtype, step.n)


#: ``int sort(void *row, npy_intp n, void *array)``
SORT = ir.FunctionType(I32, [POINTER, I64, POINTER])


def function_names(step: Factorization) -> set[str]:
    """Return the names of NumPy's functions in the table."""
    if step.name in ("sort", "order_statistics"):
        return {f"{abi.SORT}{step.dtype}"}
    return set() if is_counted(step) or has_radix(step) else {_function_name(step)}


def _function_name(step: Factorization) -> str:
    return f"{abi.ARGSORT}{step.dtype}"


def sort(e: MatrixEmitter, row: Matrix, result: Matrix) -> None:
    """Copy a row's values, and sort them in place."""
    e.copy(row, result, e.step.n, 1)
    _sort(e, result.pointer, ir.Constant(I64, e.step.n))


def _sort(e: MatrixEmitter, numbers: ir.Value, count: ir.Value) -> None:
    """Sort numbers in place."""
    function = e.function_of(f"{abi.SORT}{e.step.dtype}", SORT)
    error = e.builder.call(function, [numbers, count, ir.Constant(POINTER, None)])
    e.fail_if(e.builder.icmp_signed("<", error, ir.Constant(I32, 0)), OUT_OF_MEMORY)


def order_statistics(e: MatrixEmitter, row: Matrix, result: Matrix) -> None:
    """Find the numbers at given ranks of a row. For each window of ranks, one pass keeps the
    numbers near it according to a sample, and these are sorted; the whole row is sorted if the
    sample was misleading."""
    b, n, places = e.builder, e.step.n, e.step.params["places"]
    m, passes = sample_size(n), windows(places, n)
    kept = Matrix(e.scratch(row.dtype, n + 1), 1, 1, row.dtype)
    sample = Matrix(e.scratch(row.dtype, m), 1, 1, row.dtype)
    missing = b.icmp_unsigned("==", kept.pointer, ir.Constant(POINTER, None))
    e.fail_if(missing, OUT_OF_MEMORY)
    with b.if_then(b.not_(missing), likely=True):
        with e.loop(0, m) as i:
            e.store(e.load(row, e.times(i, n // m)), sample, i)
        _sort(e, sample.pointer, ir.Constant(I64, m))
        for window in passes:
            below, count = _near(e, row, kept, sample, window)
            found = b.and_(
                b.icmp_signed("<=", below, ir.Constant(I64, window.first)),
                b.icmp_signed("<", ir.Constant(I64, window.last), b.add(below, count)),
            )
            before = b.block
            with b.if_then(b.not_(found), likely=False):
                e.copy(row, kept, n, 1)
                copied = b.block
            first, total = b.phi(I64), b.phi(I64)
            for value, near, whole in ((first, below, 0), (total, count, n)):
                value.add_incoming(near, before)
                value.add_incoming(ir.Constant(I64, whole), copied)
            _sort(e, kept.pointer, total)
            for k, place in enumerate(places):
                if window.first <= place <= window.last:
                    at = b.sub(ir.Constant(I64, place), first)
                    e.store(e.load(kept, at), result, k)


def _near(
    e: MatrixEmitter, row: Matrix, kept: Matrix, sample: Matrix, window: Window
) -> tuple[ir.Value, ir.Value]:
    """Return how many numbers are below a window, and how many were kept, as they may be in it."""
    b, zero = e.builder, ir.Constant(I64, 0)
    low, high = (None if k is None else e.load(sample, k) for k in (window.low, window.high))
    loop = CountedLoop(b, zero, ir.Constant(I64, e.step.n), keep_rolled=True, scalar=True)
    with loop as i:
        below, count = loop.carry(zero), loop.carry(zero)
        value = e.load(row, i)
        # NaN comes after all numbers: it is below no bound, and above each.
        is_below = ir.Constant(I1, 0) if low is None else _compared(e, "<", value, low)
        is_near = ir.Constant(I1, 1) if high is None else _compared(e, "<=", value, high)
        is_near = b.and_(is_near, b.not_(is_below))
        e.store(value, kept, count)  # the next store overwrites a value that is not near
        below_now = b.add(below, b.zext(is_below, I64))
        count_now = b.add(count, b.zext(is_near, I64))
        below.add_incoming(below_now, b.block)
        count.add_incoming(count_now, b.block)
    return below_now, count_now


def _compared(e: MatrixEmitter, relation: str, a: ir.Value, b: ir.Value) -> ir.Value:
    if e.step.dtype[0] == "f":
        return e.builder.fcmp_ordered(relation, a, b)
    compare = e.builder.icmp_unsigned if e.step.dtype[0] == "u" else e.builder.icmp_signed
    return compare(relation, a, b)


def argsort(e: MatrixEmitter, keys: Matrix, places: Matrix) -> None:
    """Write the indices in sorted order: by counting, radix sort, or NumPy's function, which
    permutes the given indices."""
    b, n = e.builder, e.step.n
    if keys.row != 1:
        together = keys._replace(pointer=e.scratch(keys.dtype, n), row=1)
        e.copy(keys, together, n, 1)
        keys = together
    if is_counted(e.step):
        sort = ranks.argsort(e.module, keys.dtype)
        b.call(sort, [keys.pointer, places.pointer, ir.Constant(I64, n)])
        return
    if has_radix(e.step):
        memory = e.scratch("i64", n)
        missing = b.icmp_unsigned("==", memory, ir.Constant(POINTER, None))
        e.fail_if(missing, OUT_OF_MEMORY)
        with b.if_then(b.not_(missing), likely=True):
            sort = radix.argsort(e.module, keys.dtype, n)
            b.call(sort, [keys.pointer, places.pointer, memory, ir.Constant(I64, n)])
        return
    with e.loop(0, n) as i:
        e.store(i, places, i)
    function = e.function_of(_function_name(e.step), SIGNATURE)
    arguments = [keys.pointer, places.pointer, ir.Constant(I64, n), ir.Constant(POINTER, None)]
    error = b.call(function, arguments)
    e.fail_if(b.icmp_signed("<", error, ir.Constant(I32, 0)), OUT_OF_MEMORY)
