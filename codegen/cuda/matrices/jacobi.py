"""Rotations of pairs make vectors orthogonal (Hestenes' one-sided Jacobi method).

A step rotates disjoint pairs, with one thread each.  In round r these are the pairs
(r + i, r - i) modulo the number n of vectors, which must be odd; n rounds then meet every pair
once.  If the number of vectors is even, a dummy vector is added.  Sweeps are repeated until no pair
needs a rotation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine
from autojit.ir.core.types import dtype_from_name

from .builder import Array, Code, Number

#: The number of sweeps after which the method fails.  Matrices of order 1,000 take about 12
#: (Drmač, Veselić: "New fast and accurate Jacobi SVD algorithm", 2008).
SWEEPS = 40


def precision(dtype: str) -> float:
    """The distance from 1 to the next larger number."""
    return float(np.finfo(dtype_from_name(dtype)).eps)


def least_square(dtype: str) -> float:
    """The square of a length below which a vector counts as 0, because digits are lost.

    The largest element is 1, so this is far below a rounding error.
    """
    return float(np.finfo(dtype_from_name(dtype)).tiny) / precision(dtype)


def orthogonalised(
    code: Code, vectors: Array, also: Array, count: int, length: int, words: str
) -> None:
    """Rotate the rows of ``vectors`` until they are orthogonal, and the rows of ``also`` likewise.

    The largest element must be about 1.  Two rows count as orthogonal if their product is at most
    ε √length times that of their lengths, as in LAPACK's ``gesvj``.  NaN, or no convergence, fails
    with the message ``words``.
    """
    _require_numbers(code, vectors, count, length, words)
    odd = count | 1
    pairs = odd // 2
    if not pairs:
        return
    turned = code.workspace("i64", 1, pairs)
    with code.loop(pairs) as i:
        code.store(turned, (i,), (code.constant(1, "i64"),))
    with code.loop(SWEEPS, "sequence"), code.when(_any(code, turned, pairs)):
        with code.loop(pairs) as i:
            code.store(turned, (i,), (code.constant(0, "i64"),))
        with code.loop(odd, "sequence") as r, code.loop(pairs) as i:
            p = affine.divide(r + i + 1, odd, {})[1]
            q = affine.divide(r - i + (odd - 1), odd, {})[1]
            there = code.compute("and", code.within(p, 0, count), code.within(q, 0, count))
            with code.when(there):
                _turn(code, vectors, also, (p, q), (length, count), turned, i)
    code.fail(_any(code, turned, pairs), words)


def _require_numbers(code: Code, vectors: Array, count: int, length: int, words: str) -> None:
    dtype = vectors.buffer.dtype
    with code.sums(count, dtype, 1) as (j, outer):
        with code.sums(length, dtype, 1) as (i, inner):
            inner.add((code.squared(code.load(vectors, j, i)),))
        outer.add(inner.totals)
    (total,) = outer.totals
    code.fail(code.compare("ne", total, total), words)


def _any(code: Code, flags: Array, count: int) -> Scalar:
    found = code.begin("i64", "maximum", 0)
    with code.loop(count, "reduce") as i:
        code.accumulate(found, code.load(flags, i)[0])
    return code.compare("gt", code.finish(found), code.constant(0, "i64"))


def _turn(
    code: Code, vectors: Array, also: Array, pair: tuple[Affine, Affine],
    lengths: tuple[int, int], turned: Array, number: Affine,
) -> None:  # fmt: skip
    """Replace a pair x, y by ``c x - s ȳ, s x + c ȳ``, where ȳ is y with the phase of x."""
    p, q = pair
    dtype = vectors.buffer.dtype
    with code.sums(lengths[0], dtype, 2 + vectors.parts) as (i, sums):
        x, y = code.load(vectors, p, i), code.load(vectors, q, i)
        sums.add((code.squared(x), code.squared(y), *code.mul(code.conj(x), y)))
    xx, yy, *rest = sums.totals
    product = tuple(rest)
    size = code.absolute(product)
    roots = [code.compute("sqrt", each) for each in (xx, yy)]
    limit = code.constant(precision(dtype) * max(1, lengths[0]) ** 0.5, dtype)
    most = code.compute("mul", limit, code.compute("mul", *roots))
    least = code.constant(least_square(dtype), dtype)
    shorter = code.compute("minimum", xx, yy)
    is_something = code.compare("gt", shorter, least)
    with code.when(code.compute("and", is_something, code.compare("gt", size, most))):
        cosine, sine = _angle(code, xx, yy, size)
        phase = code.conj(code.over(product, size))
        for array, length in ((vectors, lengths[0]), (also, lengths[1])):
            with code.loop(length) as i:
                x, y = code.load(array, p, i), code.mul(phase, code.load(array, q, i))
                first = code.sub(code.scale(x, cosine), code.scale(y, sine))
                second = code.add(code.scale(x, sine), code.scale(y, cosine))
                code.store(array, (p, i), first)
                code.store(array, (q, i), second)
        code.store(turned, (number,), (code.constant(1, "i64"),))


def _angle(code: Code, xx: Scalar, yy: Scalar, size: Scalar) -> tuple[Scalar, Scalar]:
    """The cosine and sine of the angle; the tangent is the smaller root of ``t² + 2 ζ t = 1``."""
    dtype = size.dtype
    one = code.constant(1.0, dtype)
    twice = code.compute("add", size, size)
    zeta = code.compute("div", code.compute("sub", yy, xx), twice)
    long = code.compute("hypot", one, zeta)
    below = code.compute("add", code.compute("abs", zeta), long)
    tangent = code.compute("div", code.compute("copysign", one, zeta), below)
    cosine = code.compute("div", one, code.compute("hypot", one, tangent))
    return cosine, code.compute("mul", cosine, tangent)


def places_of(code: Code, keys: Array, count: int, *, descending: bool) -> Array:
    """The rank of each number in a stable order, in which NaN counts as infinite."""
    places = code.workspace("i64", 1, count)
    with code.loop(count) as j:
        mine = _ordered(code, keys, j)
        before = code.begin("i64", "add", 0)
        with code.loop(count, "reduce") as k:
            other = _ordered(code, keys, k)
            ahead = code.compare("gt" if descending else "lt", other, mine)
            tie = code.compute("and", code.compare("eq", other, mine), code.within(j - k, 1, count))
            found = code.compute("or", ahead, tie)
            code.accumulate(before, code.compute("convert", found, dtype="i64"))
        code.store(places, (j,), (code.finish(before),))
    return places


def _ordered(code: Code, keys: Array, j: Affine) -> Scalar:
    (key,) = code.load(keys, j)
    infinite = code.constant(float("inf"), key.dtype)
    return code.compute("select", code.compare("eq", key, key), key, infinite)


def completed(code: Code, vectors: Array, count: int, length: int) -> None:
    """Replace rows of zeros by vectors of length 1 that are orthogonal to all others.

    Each starts as the unit vector farthest from the span of the others.  Its components along them
    are subtracted twice (Parlett, "The Symmetric Eigenvalue Problem", 1980, section 6.9).
    """
    dtype, parts = vectors.buffer.dtype, vectors.parts
    new = code.workspace(dtype, parts, length)
    along = code.workspace(dtype, parts, count)
    within = code.workspace(dtype, 1, length)
    zero, one = code.constant(0.0, dtype), code.constant(1.0, dtype)
    with code.loop(count, "sequence") as j:
        with code.sums(length, dtype, 1) as (i, sums):
            sums.add((code.squared(code.load(vectors, j, i)),))
        with code.when(code.compare("eq", sums.totals[0], zero)):
            row = _farthest(code, vectors, within, count, length)
            with code.loop(length) as i:
                here = code.compare("eq", code.number(i), row)
                unit = code.compute("select", here, one, zero)
                code.store(new, (i,), (unit, *[zero] * (parts - 1)))
            for _ in range(2):
                _without(code, new, vectors, along, (count, length))
            with code.sums(length, dtype, 1) as (i, sums):
                sums.add((code.squared(code.load(new, i)),))
            size = code.compute("sqrt", sums.totals[0])
            with code.loop(length) as i:
                code.store(vectors, (j, i), code.over(code.load(new, i), size))


def _farthest(code: Code, vectors: Array, within: Array, count: int, length: int) -> Scalar:
    """The number of the unit vector with the smallest component in the span of the rows."""
    dtype = vectors.buffer.dtype
    with code.loop(length) as i:
        with code.sums(count, dtype, 1) as (c, sums):
            sums.add((code.squared(code.load(vectors, c, i)),))
        code.store(within, (i,), sums.totals)
    least = code.begin(dtype, "minimum", float("inf"))
    with code.loop(length, "reduce") as i:
        code.accumulate(least, code.load(within, i)[0])
    found = code.finish(least)
    first = code.begin("i64", "minimum", length - 1)
    with code.loop(length, "reduce") as i:
        here = code.compare("eq", code.load(within, i)[0], found)
        other = code.constant(length - 1, "i64")
        code.accumulate(first, code.compute("select", here, code.number(i), other))
    return code.finish(first)


def _without(code: Code, new: Array, vectors: Array, along: Array, shape: Sequence[int]) -> None:
    count, length = shape
    dtype, parts = vectors.buffer.dtype, vectors.parts
    with code.loop(count) as c:
        with code.sums(length, dtype, parts) as (i, sums):
            sums.add(code.mul(code.conj(code.load(vectors, c, i)), code.load(new, i)))
        code.store(along, (c,), sums.totals)
    with code.loop(length) as i:
        with code.sums(count, dtype, parts) as (c, sums):
            sums.add(code.mul(code.load(along, c), code.load(vectors, c, i)))
        rest: Number = code.sub(code.load(new, i), sums.totals)
        code.store(new, (i,), rest)
