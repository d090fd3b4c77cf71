"""QR by Householder's reflections."""

from __future__ import annotations

from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core.affine import Affine

from .builder import Array, Code, Number


def qr(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """``a = Q R``, with the signs of LAPACK's ``geqrf``: the diagonal of R is real, and has the sign
    of -x where there is something below x."""
    (a,), (q, r), m, n = inputs, outputs, s.m, s.n
    dtype, parts = a.buffer.dtype, a.parts
    work, vector = (code.workspace(dtype, parts, *shape) for shape in ((m, n), (n, m)))
    phases = code.workspace(dtype, parts, n)
    columns = m if "complete" in s.params else n
    code.copy(a, work, m, n)
    with code.loop(n, "sequence") as k:
        _reflection(code, work, vector, phases, k, m)
        _reflect(code, work, vector, k, m, n)
    zero = tuple(code.constant(0.0, dtype) for _ in range(parts))
    one = (code.constant(1.0, dtype), *zero[1:])
    with code.loop(columns) as i, code.loop(n) as j:
        code.store(r, (i, j), zero)
        with code.when(code.within(j - i, 0, n)):
            phase = code.conj(code.load(phases, i))
            code.store(r, (i, j), code.mul(code.load(work, i, j), phase))
    with code.loop(m) as i, code.loop(columns) as j:
        code.store(q, (i, j), code.select(code.within(i - j, 0, 1), one, zero))
    with code.loop(n, "sequence") as step:
        _reflect(code, q, vector, step * -1 + (n - 1), m, columns)
    with code.loop(m) as i, code.loop(n) as j:
        code.store(q, (i, j), code.mul(code.load(q, i, j), code.load(phases, j)))


def _reflection(
    code: Code, work: Array, vector: Array, phases: Array, k: Affine, m: int
) -> None:
    """Row k of ``vector`` is the v of length √2 with ``(1 - v vᴴ) x = α e``, where x is column k from
    its element k on: with the length l of x, v is x - αe over √(l² + l|x₀|), and α = -l x₀ / |x₀|.

    The phase of α goes to Q, so that R is real.  Where all is zero below a real x₀, v is 0.
    """
    dtype = vector.buffer.dtype
    zero = code.constant(0.0, dtype)
    with code.sums(m, dtype, 1) as (i, below):
        x = code.load(work, i, k)
        here = code.within(i - k, 1, m)
        below.add((code.compute("select", here, code.squared(x), zero),))
    first = code.load(work, k, k)
    rest = code.squared(first[1:]) if first[1:] else zero
    nothing = code.compare("eq", code.compute("add", below.totals[0], rest), zero)
    square = code.compute("add", below.totals[0], code.squared(first))
    length, size = code.compute("sqrt", square), code.absolute(first)
    unit = _unit(code, first, size)
    root = code.compute("sqrt", code.compute("add", square, code.compute("mul", length, size)))
    alpha = code.scale(unit, code.compute("neg", length))
    with code.loop(m) as i:
        nil = tuple(zero for _ in first)
        x = code.load(work, i, k)
        tail = code.select(code.within(i - k, 1, m), x, nil)
        value = code.select(code.within(i - k, 0, 1), code.sub(x, alpha), tail)
        code.store(vector, (k, i), code.select(nothing, nil, code.over(value, root)))
    with code.loop(1):
        one = (code.constant(1.0, dtype), *(zero for _ in first[1:]))
        sign = code.compute("copysign", one[0], first[0])
        phase = code.scale(unit, sign) if len(first) > 1 else one
        code.store(phases, (k,), code.select(nothing, one, phase))


def _unit(code: Code, x: Number, size: Scalar) -> Number:
    """A number over its absolute value; 1 where it is zero."""
    dtype = size.dtype
    zero, one = code.constant(0.0, dtype), code.constant(1.0, dtype)
    if len(x) == 1:
        return (code.compute("copysign", one, x[0]),)
    is_zero = code.compare("eq", size, zero)
    divisor = code.compute("select", is_zero, one, size)
    return code.select(is_zero, (one, zero), code.over(x, divisor))


def _reflect(code: Code, matrix: Array, vector: Array, k: Affine, m: int, columns: int) -> None:
    """Each column c becomes ``c - v (vᴴ c)``."""
    with code.loop(columns) as j:
        with code.sums(m, matrix.buffer.dtype, matrix.parts) as (i, sums):
            sums.add(code.mul(code.conj(code.load(vector, k, i)), code.load(matrix, i, j)))
        with code.loop(m) as i:
            change = code.mul(code.load(vector, k, i), sums.totals)
            code.store(matrix, (i, j), code.sub(code.load(matrix, i, j), change))
