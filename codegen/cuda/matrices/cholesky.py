"""The derivative of the Cholesky factor, in forward and reverse mode."""

from __future__ import annotations

from autojit.codegen.loop_ir.matrices import Factorization
from autojit.ir.core.affine import Affine

from .builder import Array, Code, Number
from .triangular import substitute


def cholesky_tangent(
    code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]
) -> None:
    """``L Φ(L⁻¹ dA L⁻ᵀ)``, where Φ takes the lower triangle and half of the diagonal."""
    (factor, da), (result,), n = inputs, outputs, s.n
    dtype = result.buffer.dtype
    work = code.workspace(dtype, 1, n, n)
    half, zero = code.constant(0.5, dtype), code.constant(0.0, dtype)
    with code.loop(n) as i, code.loop(n) as j:
        both = code.add(code.load(da, i, j), code.load(da, j, i))
        code.store(work, (i, j), code.scale(both, half))
    substitute(code, factor, work, n, n, lower=True, unit=False)
    substitute(code, factor, work.transposed, n, n, lower=True, unit=False)
    with code.loop(n) as i, code.loop(n) as j:
        with code.sums(n, dtype, 1) as (k, sums):
            term = code.mul(code.load(factor, i, k), halved(code, work.transposed, k, j, n))
            sums.add(code.select(code.within(i - k, 0, n), term, (zero,)))
        code.store(result, (i, j), sums.totals)


def halved(code: Code, x: Array, i: Affine, j: Affine, n: int) -> Number:
    """An element of Φ(x)."""
    dtype = x.buffer.dtype
    value = code.load(x, i, j)
    on_diagonal = code.scale(value, code.constant(0.5, dtype))
    value = code.select(code.within(i - j, 0, 1), on_diagonal, value)
    return code.select(code.within(i - j, 0, n), value, (code.constant(0.0, dtype),))


def cholesky_cotangent(
    code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]
) -> None:
    """The symmetric part of ``L⁻ᵀ Φ(Lᵀ G) L⁻¹``; only lower triangles of L and G are read."""
    (factor, g), (result,), n = inputs, outputs, s.n
    dtype = result.buffer.dtype
    inner, work = code.workspace(dtype, 1, n, n), code.workspace(dtype, 1, n, n)
    half, zero = code.constant(0.5, dtype), code.constant(0.0, dtype)
    with code.loop(n) as i, code.loop(n) as j:
        with code.sums(n, dtype, 1) as (k, sums):
            below = code.compute("and", code.within(k - i, 0, n), code.within(k - j, 0, n))
            term = code.mul(code.load(factor, k, i), code.load(g, k, j))
            sums.add(code.select(below, term, (zero,)))
        code.store(inner, (i, j), sums.totals)
    with code.loop(n) as i, code.loop(n) as j:
        code.store(work, (i, j), halved(code, inner, i, j, n))
    substitute(code, factor.transposed, work, n, n, lower=False, unit=False)
    substitute(code, factor.transposed, work.transposed, n, n, lower=False, unit=False)
    with code.loop(n) as i, code.loop(n) as j:
        both = code.add(code.load(work, i, j), code.load(work, j, i))
        code.store(result, (i, j), code.scale(both, half))
