"""QR by Householder reflections."""

from __future__ import annotations

from autojit.codegen.loop_ir.matrices import Factorization
from autojit.ir.core.affine import Affine

from .builder import Array, Code


def qr(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """``a = Q R`` by LAPACK's ``geqrf`` and ``orgqr``: the same reflections, so the same signs."""
    (a,), (q, r), m, n = inputs, outputs, s.m, s.n
    dtype, parts = a.buffer.dtype, a.parts
    work, vectors = (code.workspace(dtype, parts, *shape) for shape in ((m, n), (n, m)))
    factors = code.workspace(dtype, parts, n)
    columns = m if "complete" in s.params else n
    code.copy(a, work, m, n)
    with code.loop(n, "sequence") as k:
        _reflection(code, work, vectors, factors, k, m)
        _reflect(code, work, vectors, factors, k, m, n, adjoint=True)
    zero = tuple(code.constant(0.0, dtype) for _ in range(parts))
    one = (code.constant(1.0, dtype), *zero[1:])
    with code.loop(columns) as i, code.loop(n) as j:
        above = code.within(j - i, 0, n)
        code.store(r, (i, j), code.select(above, code.load(work, i, j), zero))
    with code.loop(m) as i, code.loop(columns) as j:
        code.store(q, (i, j), code.select(code.within(i - j, 0, 1), one, zero))
    with code.loop(n, "sequence") as step:
        k = step * -1 + (n - 1)
        _reflect(code, q, vectors, factors, k, m, columns, adjoint=False)


def _reflection(code: Code, work: Array, vectors: Array, factors: Array, k: Affine, m: int) -> None:
    """Compute v and τ with ``(1 - τ v vᴴ)ᴴ x = β e``, where x is column k from row k on.

    Let x₀ be the first element of x, and l its length.  Then β is -copysign(l, re x₀), which avoids
    cancellation, v is (x - βe) / (x₀ - β) and τ is (β - x₀) / β (LAPACK's ``larfg``).  If x₀ is
    real and all elements below it are 0, τ is 0.
    """
    dtype = vectors.buffer.dtype
    zero, one = code.constant(0.0, dtype), code.constant(1.0, dtype)
    with code.sums(m, dtype, 1) as (i, below):
        x = code.load(work, i, k)
        here = code.within(i - k, 1, m)
        below.add((code.compute("select", here, code.squared(x), zero),))
    first = code.load(work, k, k)
    nil = tuple(zero for _ in first)
    rest = code.squared(first[1:]) if first[1:] else zero
    nothing = code.compare("eq", code.compute("add", below.totals[0], rest), zero)
    length = code.compute("sqrt", code.compute("add", below.totals[0], code.squared(first)))
    beta = code.compute("neg", code.compute("copysign", length, first[0]))
    head = (code.compute("sub", first[0], beta), *first[1:])
    with code.loop(m) as i:
        tail = code.div(code.load(work, i, k), head)
        value = code.select(code.within(i - k, 1, m), tail, nil)
        value = code.select(code.within(i - k, 0, 1), (one, *nil[1:]), value)
        code.store(vectors, (k, i), code.select(nothing, nil, value))
    with code.loop(1):
        factor = code.over(code.sub(nil, head), beta)
        code.store(factors, (k,), code.select(nothing, nil, factor))


def _reflect(
    code: Code, matrix: Array, vectors: Array, factors: Array, k: Affine, m: int, columns: int,
    *, adjoint: bool,
) -> None:  # fmt: skip
    """Replace each column c by ``c - τ v (vᴴ c)``, with the conjugate of τ if ``adjoint``."""
    with code.loop(columns) as j:
        with code.sums(m, matrix.buffer.dtype, matrix.parts) as (i, sums):
            sums.add(code.mul(code.conj(code.load(vectors, k, i)), code.load(matrix, i, j)))
        factor = code.load(factors, k)
        total = code.mul(code.conj(factor) if adjoint else factor, sums.totals)
        with code.loop(m) as i:
            change = code.mul(code.load(vectors, k, i), total)
            code.store(matrix, (i, j), code.sub(code.load(matrix, i, j), change))
