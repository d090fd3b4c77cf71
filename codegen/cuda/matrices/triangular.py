"""LU, Cholesky, and triangular solves.

Matrices are changed in place, a column at a time; each step updates the rest of the matrix at once
(the right-looking variants).
"""

from __future__ import annotations

from typing import Any

from autojit.codegen.cuda.device_program.failures import NOT_POSITIVE, SINGULAR
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.ir.core.affine import Affine

from .builder import Array, Code, Number


def lu(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """Gaussian elimination with partial pivoting; pivots are chosen as in LAPACK's ``getrf``."""
    (a,), (packed, pivots), n = inputs, outputs, s.n
    code.copy(a, packed, n, n)
    with code.loop(n, "sequence") as k:
        row = _pivot_row(code, packed, k, n)
        code.store(pivots, (k,), (row,))
        _exchange(code, packed, k, row, n, n)
        divisor = code.load(packed, k, k)
        zero = code.constant(0.0, divisor[0].dtype)
        is_zero = [code.compare("eq", part, zero) for part in divisor]
        nothing = is_zero[0] if len(is_zero) == 1 else code.compute("and", *is_zero)
        with code.loop(n) as i, code.when(code.within(i - k, 1, n)):
            old = code.load(packed, i, k)
            code.store(packed, (i, k), code.select(nothing, old, code.div(old, divisor)))
        with code.loop(n) as i, code.loop(n) as j:
            below, right = code.within(i - k, 1, n), code.within(j - k, 1, n)
            with code.when(code.compute("and", below, right)):
                term = code.mul(code.load(packed, i, k), code.load(packed, k, j))
                code.store(packed, (i, j), code.sub(code.load(packed, i, j), term))


def _pivot_row(code: Code, a: Array, k: Affine, n: int) -> Any:
    """The first row, from k on, with the largest element in column k.

    The size of a complex element is the sum of the magnitudes of its parts.
    """
    dtype = a.buffer.dtype

    def size(i: Affine) -> Any:
        parts = [code.compute("abs", part) for part in code.load(a, i, k)]
        whole = parts[0] if len(parts) == 1 else code.compute("add", *parts)
        below = code.within(i - k, 0, n)
        return code.compute("select", below, whole, code.constant(-1.0, dtype))

    largest = code.begin(dtype, "maximum", float("-inf"))
    with code.loop(n, "reduce") as i:
        code.accumulate(largest, size(i))
    found = code.finish(largest)
    first = code.begin("i64", "minimum", n)
    with code.loop(n, "reduce") as i:
        here = code.compute("and", code.compare("eq", size(i), found), code.within(i - k, 0, n))
        code.accumulate(
            first, code.compute("select", here, code.number(i), code.constant(n, "i64"))
        )
    row = code.finish(first)
    none = code.compare("eq", row, code.constant(n, "i64"))  # all are NaN
    return code.compute("select", none, code.number(k), row)


def _exchange(code: Code, a: Array, k: Affine, row: Any, n: int, columns: int) -> None:
    """Exchange row k and another one."""
    with code.loop(columns) as j:
        mine, other = code.load(a, k, j), code.load_row(a, row, n, j)
        code.store(a, (k, j), other)
        code.store_row(a, row, n, (j,), mine)


def permutation(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """The order of rows after the exchanges in ``pivots``."""
    (pivots,), (rows,), n = inputs, outputs, s.m
    with code.loop(n) as i:
        code.store(rows, (i,), (code.number(i),))
    with code.loop(n, "sequence") as k:
        (row,) = code.load(pivots, k)
        mine, other = code.load(rows, k), code.load_row(rows, row, n)
        with code.loop(1):  # one thread writes both
            code.store(rows, (k,), other)
            code.store_row(rows, row, n, (), mine)


def solve(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """Solve with the factors of LU."""
    (packed, pivots, b), (x,), n, columns = inputs, outputs, s.n, s.k
    with code.loop(n) as i:
        diagonal = code.load(packed, i, i)
        zero = code.constant(0.0, diagonal[0].dtype)
        tests = [code.compare("eq", part, zero) for part in diagonal]
        code.fail(tests[0] if len(tests) == 1 else code.compute("and", *tests), SINGULAR)
    code.copy(b, x, n, columns)
    if not s.params["transpose"]:
        _exchange_all(code, x, pivots, n, columns, backward=False)
        substitute(code, packed, x, n, columns, lower=True, unit=True)
        substitute(code, packed, x, n, columns, lower=False, unit=False)
    else:
        substitute(code, packed.transposed, x, n, columns, lower=True, unit=False)
        substitute(code, packed.transposed, x, n, columns, lower=False, unit=True)
        _exchange_all(code, x, pivots, n, columns, backward=True)


def _exchange_all(
    code: Code, x: Array, pivots: Array, n: int, columns: int, *, backward: bool
) -> None:
    with code.loop(n, "sequence") as step:
        k = step * -1 + (n - 1) if backward else step
        (row,) = code.load(pivots, k)
        _exchange(code, x, k, row, n, columns)


def triangular_solve(
    code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]
) -> None:
    """Solve with a triangular matrix."""
    (t, b), (x,), n, columns = inputs, outputs, s.n, s.k
    turned, lower = s.params["transpose"], s.params["lower"]
    code.copy(b, x, n, columns)
    matrix = t.transposed if turned else t
    substitute(code, matrix, x, n, columns, lower=lower != turned, unit=s.params["unit"])


def substitute(
    code: Code, t: Array, x: Array, n: int, columns: int, *, lower: bool, unit: bool
) -> None:
    """Solve with a triangle in place, one unknown after the other."""
    with code.loop(n, "sequence") as step:
        i = step if lower else step * -1 + (n - 1)
        if not unit:
            divisor = code.load(t, i, i)
            with code.loop(columns) as c:
                code.store(x, (i, c), code.div(code.load(x, i, c), divisor))
        with code.loop(n) as r, code.loop(columns) as c:
            later = r - i if lower else i - r
            with code.when(code.within(later, 1, n)):
                term: Number = code.mul(code.load(t, r, i), code.load(x, i, c))
                code.store(x, (r, c), code.sub(code.load(x, r, c), term))


def cholesky(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """The lower Cholesky factor, one column after the other."""
    (a,), (factor,), n = inputs, outputs, s.n
    dtype = factor.buffer.dtype
    with code.loop(n) as i, code.loop(n) as j:
        zero = tuple(code.constant(0.0, dtype) for _ in range(factor.parts))
        here = code.within(i - j, 0, n)
        code.store(factor, (i, j), code.select(here, code.load(a, i, j), zero))
    with code.loop(n, "sequence") as k:
        square = code.load(factor, k, k)[0]
        positive = code.compare("gt", square, code.constant(0.0, dtype))
        code.fail(code.compute("not", positive), NOT_POSITIVE)
        root = code.compute("sqrt", square)
        with code.loop(n) as i, code.when(code.within(i - k, 1, n)):
            code.store(factor, (i, k), code.over(code.load(factor, i, k), root))
        with code.loop(1):
            real = (root, *(code.constant(0.0, dtype) for _ in range(factor.parts - 1)))
            code.store(factor, (k, k), real)
        with code.loop(n) as i, code.loop(n) as j:
            right, below = code.within(j - k, 1, n), code.within(i - j, 0, n)
            with code.when(code.compute("and", right, below)):
                term = code.mul(code.load(factor, i, k), code.conj(code.load(factor, j, k)))
                code.store(factor, (i, j), code.sub(code.load(factor, i, j), term))
