"""Linear algebra by the LAPACK and the BLAS that SciPy ships.

They store by columns, so what is row-major here is the transposed matrix there: a lower
triangle is an upper one, and right-hand sides in columns stand in rows.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ..errors import NOT_POSITIVE, SINGULAR
from ..loops import Factorization
from .blas import character, integer, scalar
from .matrices import I32, I64, Matrix, MatrixEmitter
from .scalars import constant, llvm_type

_PREFIX = {"f32": "s", "f64": "d"}
_ROUTINES = {"cholesky": "potrf", "lu": "getrf"}


def function_names(step: Factorization) -> list[str]:
    """The library functions that a step calls."""
    routine = _ROUTINES.get(step.name) or _solver(step)
    return [_PREFIX[step.dtype] + routine]


def _solver(step: Factorization) -> str:
    return "trsv" if step.k == 1 else "trsm"


def cholesky(e: MatrixEmitter, a: Matrix, factor: Matrix) -> None:
    """The lower triangle copied, zeros above, and factorised in place."""
    n, zero = e.step.n, e.number(0)
    with e.loop(0, n * n) as place:
        e.store(zero, factor._replace(row=1), place)
    with e.loop(0, n) as i, e.loop(0, e.add(i, 1)) as j:
        e.store(e.load(a, i, j), factor, i, j)
    info = e.allocas.alloca(I32)
    order = _integer(e, n)
    e.call(_name(e, "potrf"), character(e.module, "U"), order, factor.pointer, order, info)
    e.fail_if(_some(e, info), NOT_POSITIVE)


def triangular_solve(e: MatrixEmitter, t: Matrix, b: Matrix, x: Matrix) -> None:
    """The right-hand sides copied, and solved for in place."""
    if not e.step.k:
        return
    e.copy(b, x, e.step.n, e.step.k)
    lower, transpose, unit = (e.step.params[name] for name in ("lower", "transpose", "unit"))
    _solve_in_place(e, t, x, lower=lower, transpose=transpose, unit=unit)


def _solve_in_place(
    e: MatrixEmitter, t: Matrix, x: Matrix, *, lower: bool, transpose: bool, unit: bool
) -> None:
    """T X = B (or Tᵀ X = B) there reads Xᵀ Tᵀ = Bᵀ (or Xᵀ T = Bᵀ), Tᵀ being what t holds."""
    n, k = _integer(e, e.step.n), _integer(e, e.step.k)
    lead = _integer(e, max(e.step.n, t.row))
    side, uplo = character(e.module, "R"), character(e.module, "U" if lower else "L")
    diagonal = character(e.module, "U" if unit else "N")
    if e.step.k == 1:
        turned = character(e.module, "N" if transpose else "T")
        e.call(_name(e, "trsv"), uplo, turned, diagonal, n, t.pointer, lead, x.pointer, k)
        return
    turned = character(e.module, "T" if transpose else "N")
    one = scalar(e.module, e.step.dtype, 1, 1.0)
    e.call(_name(e, "trsm"), side, uplo, turned, diagonal, k, n, one, t.pointer, lead, x.pointer, k)


def lu(e: MatrixEmitter, a: Matrix, packed: Matrix, pivots: Matrix) -> None:
    """Factorised by columns, as rows are exchanged, and transposed back."""
    n = e.step.n
    by_columns = packed._replace(row=1, column=n)
    e.copy(a, by_columns, n, n)
    order, info = _integer(e, n), e.allocas.alloca(I32)
    e.call(_name(e, "getrf"), order, order, packed.pointer, order, pivots.pointer, info)
    if n > 1:
        with e.loop(1, n) as i, e.loop(0, i) as j:
            above, below = e.load(packed, j, i), e.load(packed, i, j)
            e.store(below, packed, j, i)
            e.store(above, packed, i, j)
    _widen(e, pivots)


def _widen(e: MatrixEmitter, pivots: Matrix) -> None:
    """LAPACK's 32-bit numbers, counted from 1, as ours: in place, from the last to the first."""
    b, n = e.builder, e.step.n
    narrow = pivots._replace(dtype="i32")
    with e.loop(0, n) as k:
        i = b.sub(ir.Constant(I64, n - 1), k)
        place = b.load(e.at(narrow, i), typ=llvm_type("i32"), align=4)
        e.store(b.sub(b.sext(place, I64), ir.Constant(I64, 1)), pivots, i)


def solve(e: MatrixEmitter, packed: Matrix, pivots: Matrix, b: Matrix, x: Matrix) -> None:
    """With the factors of :func:`lu`: rows exchanged, and two triangular solutions."""
    n, transpose = e.step.n, e.step.params["transpose"]
    with e.loop(0, n) as i:
        zero = e.builder.fcmp_ordered("==", e.load(packed, i, i), e.number(0))
        e.fail_if(zero, SINGULAR)
    if not e.step.k:
        return
    e.copy(b, x, n, e.step.k)
    if not transpose:
        _exchange(e, pivots, x, backwards=False)
    for lower in (True, False) if not transpose else (False, True):
        _solve_in_place(e, packed, x, lower=lower, transpose=transpose, unit=lower)
    if transpose:
        _exchange(e, pivots, x, backwards=True)


def _exchange(e: MatrixEmitter, pivots: Matrix, x: Matrix, *, backwards: bool) -> None:
    n, k = e.step.n, e.step.k
    with e.loop(0, n) as step:
        i = e.builder.sub(ir.Constant(I64, n - 1), step) if backwards else step
        p = e.load(pivots, i)
        with e.loop(0, k) as j:
            here, there = e.load(x, i, j), e.load(x, p, j)
            e.store(there, x, i, j)
            e.store(here, x, p, j)


def _name(e: MatrixEmitter, routine: str) -> str:
    return _PREFIX[e.step.dtype] + routine


def _integer(e: MatrixEmitter, value: int) -> ir.Value:
    return integer(e.module, I32, value)


def _some(e: MatrixEmitter, info: ir.Value) -> ir.Value:
    found = e.builder.load(info, typ=I32)
    return e.builder.icmp_signed(">", found, constant(0, "i32"))


#: By op: ``emit(emitter, *inputs, *results)`` for one element of the batch.
LARGE: dict[str, Callable[..., None]] = {
    "cholesky": cholesky,
    "triangular_solve": triangular_solve,
    "lu": lu,
    "solve": solve,
}
