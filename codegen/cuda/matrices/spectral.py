"""Eigenvalues of Hermitian matrices, singular values, and pseudo-inverses."""

from __future__ import annotations

from dataclasses import dataclass

from autojit.codegen.cuda.device_program.failures import NO_EIGENVALUES, NO_SVD
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core.affine import Affine

from .builder import Array, Code, Number
from .jacobi import completed, least_square, orthogonalised, places_of


def eigh(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """Eigenvalues and eigenvectors by one-sided Jacobi rotations.

    ``a + c`` with c = 2 ‖a‖ has positive eigenvalues. Rotations make its columns orthogonal, and
    the product of the rotations has the eigenvectors. An eigenvalue is then vᴴ (a + c) v - c, with
    an error of ε c.
    """
    (a,), (values, vectors), n = inputs, outputs, s.n
    dtype = values.buffer.dtype
    triangle = _triangle(code, a, n, lower=s.params["lower"])
    largest = _largest(code, triangle, n, n)
    with code.sums(n, dtype, 1) as (i, outer):
        with code.sums(n, dtype, 1) as (j, inner):
            element = code.over(code.load(triangle, i, j), largest)
            inner.add((code.squared(element),))
        outer.add(inner.totals)
    size = code.compute("sqrt", outer.totals[0])
    shift = code.compute("add", size, size)
    work = code.workspace(dtype, a.parts, n, n)
    with code.loop(n) as j, code.loop(n) as i:
        x = code.over(code.load(triangle, i, j), largest)
        moved = (code.compute("add", x[0], shift), *x[1:])
        code.store(work, (j, i), code.select(code.within(i - j, 0, 1), moved, x))
    turns = _identity(code, dtype, a.parts, n)
    orthogonalised(code, work, turns, n, n, NO_EIGENVALUES)
    keys = code.workspace(dtype, 1, n)
    with code.loop(n) as j:
        with code.sums(n, dtype, 1) as (i, sums):
            product = code.mul(code.conj(code.load(turns, j, i)), code.load(work, j, i))
            sums.add(product[:1])
        value = code.compute("sub", sums.totals[0], shift)
        code.store(keys, (j,), (code.compute("mul", value, largest),))
    places = places_of(code, keys, n, descending=False)
    with code.loop(n) as j:
        (place,) = code.load(places, j)
        code.store_row(values, place, n, (), code.load(keys, j))
    with code.loop(n) as j, code.loop(n) as i:
        (place,) = code.load(places, j)
        code.store_row(vectors.transposed, place, n, (i,), code.load(turns, j, i))


def _triangle(code: Code, a: Array, n: int, *, lower: bool) -> Array:
    """The whole Hermitian matrix, from one triangle."""
    whole = code.workspace(a.buffer.dtype, a.parts, n, n)
    zero = code.constant(0.0, a.buffer.dtype)
    with code.loop(n) as i, code.loop(n) as j:
        here = code.within(i - j if lower else j - i, 0, n)
        with code.when(here):
            x = code.load(a, i, j)
            on_diagonal = code.within(i - j, 0, 1)
            x = code.select(on_diagonal, (x[0], *[zero] * (a.parts - 1)), x)
            code.store(whole, (j, i), code.conj(x))
            code.store(whole, (i, j), x)
    return whole


def _identity(code: Code, dtype: str, parts: int, n: int) -> Array:
    made = code.workspace(dtype, parts, n, n)
    zero, one = code.constant(0.0, dtype), code.constant(1.0, dtype)
    with code.loop(n) as i, code.loop(n) as j:
        unit = code.compute("select", code.within(i - j, 0, 1), one, zero)
        code.store(made, (i, j), (unit, *[zero] * (parts - 1)))
    return made


def _largest(code: Code, a: Array, m: int, n: int) -> Scalar:
    """The largest magnitude of a part of any element, or 1 if all are 0."""
    dtype = a.buffer.dtype
    most = code.begin(dtype, "maximum", 0.0)
    with code.loop(m, "reduce") as i:
        row = code.begin(dtype, "maximum", 0.0)
        with code.loop(n, "reduce") as j:
            for part in code.load(a, i, j):
                code.accumulate(row, code.compute("abs", part))
        code.accumulate(most, code.finish(row))
    found, zero, one = code.finish(most), code.constant(0.0, dtype), code.constant(1.0, dtype)
    return code.compute("select", code.compare("gt", found, zero), found, one)


# -- singular values -------------------------------------------------------------------


@dataclass(frozen=True)
class _Factors:
    """The singular vectors of the longer and the shorter side, as rows, and the ordered values."""

    long: Array
    short: Array
    values: Array


def svd(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """``a = U diag(s) Vᴴ``, by rotating the columns of a, or of aᴴ, until they are orthogonal."""
    (a,), (u, values, vh), m, n = inputs, outputs, s.m, s.n
    few, many = min(m, n), max(m, n)
    count = many if "full" in s.params else few
    found = _factors(code, a, m, n, count)
    completed(code, found.long, count, many)
    with code.loop(few) as j:
        code.store(values, (j,), code.load(found.values, j))
    left, right = (found.long, found.short) if m >= n else (found.short, found.long)
    of_left, of_right = (count, few) if m >= n else (few, count)
    with code.loop(of_left) as j, code.loop(m) as i:
        code.store(u, (i, j), code.load(left, j, i))
    with code.loop(of_right) as j, code.loop(n) as i:
        code.store(vh, (j, i), code.conj(code.load(right, j, i)))


def _factors(code: Code, a: Array, m: int, n: int, count: int) -> _Factors:
    """The factors, with ``count`` vectors of the longer side.

    The vectors of the longer side for negligible values, and additional ones, are 0.
    """
    few, many, dtype, parts = min(m, n), max(m, n), a.buffer.dtype, a.parts
    work = code.workspace(dtype, parts, few, many)
    largest = _largest(code, a, m, n)
    with code.loop(few) as j, code.loop(many) as i:
        x = code.load(a, i, j) if m >= n else code.conj(code.load(a, j, i))
        code.store(work, (j, i), code.over(x, largest))
    turns = _identity(code, dtype, parts, few)
    orthogonalised(code, work, turns, few, many, NO_SVD)
    keys = code.workspace(dtype, 1, few)
    with code.loop(few) as j:
        with code.sums(many, dtype, 1) as (i, sums):
            sums.add((code.squared(code.load(work, j, i)),))
        code.store(keys, (j,), (code.compute("sqrt", sums.totals[0]),))
    places = places_of(code, keys, few, descending=True)
    long, short = (code.workspace(dtype, parts, *shape) for shape in ((count, many), (few, few)))
    values = code.workspace(dtype, 1, few)
    nil = tuple(code.constant(0.0, dtype) for _ in range(parts))
    with code.loop(count) as j, code.loop(many) as i:
        code.store(long, (j, i), nil)
    with code.loop(few) as j:
        ((place,), (size,)) = code.load(places, j), code.load(keys, j)
        code.store_row(values, place, few, (), (code.compute("mul", size, largest),))
    least = code.constant(least_square(dtype) ** 0.5, dtype)
    with code.loop(few) as j, code.loop(many) as i:
        ((place,), (size,)) = code.load(places, j), code.load(keys, j)
        unit = code.over(code.load(work, j, i), size)
        unit = code.select(code.compare("gt", size, least), unit, nil)
        code.store_row(long, place, count, (i,), unit)
    with code.loop(few) as j, code.loop(few) as i:
        (place,) = code.load(places, j)
        code.store_row(short, place, few, (i,), code.load(turns, j, i))
    return _Factors(long, short, values)


def pseudo_inverse(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """``V s⁺ Uᴴ``, where values up to ``rtol`` times the largest count as 0."""
    (a,), (x,), m, n = inputs, outputs, s.m, s.n
    few, dtype = min(m, n), a.buffer.dtype
    found = _factors(code, a, m, n, few)
    left, right = (found.long, found.short) if m >= n else (found.short, found.long)
    (first,) = code.load(found.values, 0)
    limit = code.compute("mul", first, code.constant(float(s.params["rtol"]), dtype))
    zero, one = code.constant(0.0, dtype), code.constant(1.0, dtype)

    def term(i: Affine, j: Affine, k: Affine) -> Number:
        (value,) = code.load(found.values, k)
        counts = code.compare("gt", value, limit)
        divisor = code.compute("select", counts, value, one)
        weight = code.compute("select", counts, code.compute("div", one, divisor), zero)
        u, v = code.load(left, k, j), code.load(right, k, i)
        return code.scale(code.mul(v, code.conj(u)), weight)

    with code.loop(n) as i, code.loop(m) as j:
        with code.sums(few, dtype, x.parts) as (k, sums):
            sums.add(term(i, j, k))
        code.store(x, (i, j), sums.totals)
