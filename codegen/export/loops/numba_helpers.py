"""Functions that modules for Numba contain if they need them: their text is copied from here.

In the modules each is compiled with ``@njit``.
"""

from __future__ import annotations

import math

import numpy as np


def _bounded(place, extent):
    """A computed place in an axis."""
    if place < 0 or place >= extent:
        raise IndexError("an index is out of bounds")
    return place


def _room(tape, size):
    """The tape, with room for so many numbers."""
    if len(tape) >= size:
        return tape
    grown = np.empty(2 * size, tape.dtype)
    grown[: len(tape)] = tape
    return grown


def _sigmoid(x):
    e = math.exp(-abs(x))
    return (1.0 if x >= 0 else e) / (1.0 + e)


def _softplus(x):
    tail = math.log1p(math.exp(-abs(x)))
    return x + tail if x > 0 else tail


def _ndtr(x):
    return 0.5 * math.erfc(-0.7071067811865476 * x)


def _remainder(x, y):
    rest = math.fmod(x, y)
    if rest == 0:
        return math.copysign(0.0, y)
    return rest + y if (rest < 0) != (y < 0) else rest


def _floor_divide(x, y):
    if y == 0:
        return x / y
    rest = math.fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0 and (rest < 0) != (y < 0):
        quotient -= 1.0
    if quotient == 0:
        return math.copysign(0.0, x / y)
    whole = math.floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else float(whole)


def _integer_power(x, p):
    if p < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    result = x * 0 + 1
    while p > 0:
        if p % 2 == 1:
            result *= x
        x *= x
        p //= 2
    return result


def _integer_floor_divide(x, y):
    return x * 0 if y == 0 else x // y


def _integer_remainder(x, y):
    return x * 0 if y == 0 else x % y


def _integer_fmod(x, y):
    if y == 0:
        return x * 0
    rest = x % y
    return rest - y if rest != 0 and (x < 0) != (y < 0) else rest


def _shifted_left(x, y):
    return x << y if 0 <= y < 64 else x * 0


def _shifted_right(x, y):
    return x >> (y if 0 <= y < 63 else 63)


def _saturated(x, least, greatest):
    """A float as an integer: too large ones become the largest, NaN 0."""
    if math.isnan(x):
        return 0
    if x >= greatest:
        return greatest
    return least if x <= least else np.int64(x)


def _cholesky(n, a, start, row, column, made, to):
    for i in range(n):
        for j in range(n):
            rest = a[start + i * row + j * column] if j <= i else 0.0 * made[to]
            if j > i:
                made[to + i * n + j] = 0.0
                continue
            for k in range(j):
                rest -= made[to + i * n + k] * made[to + j * n + k]
            if i == j and rest <= 0:
                raise np.linalg.LinAlgError("Matrix is not positive definite")
            made[to + i * n + j] = math.sqrt(rest) if i == j else rest / made[to + j * n + j]


def _substituted(n, m, t, start, lower, transpose, unit, x, to):
    row, column = (1, n) if transpose else (n, 1)
    for p in range(n):
        i = p if lower else n - 1 - p
        for j in range(m):
            for k in range(0 if lower else i + 1, i if lower else n):
                x[to + i * m + j] -= t[start + i * row + k * column] * x[to + k * m + j]
            if not unit:
                x[to + i * m + j] /= t[start + i * row + i * column]


def _triangular_solve(n, m, t, start, b, of, row, column, lower, transpose, unit, x, to):
    for i in range(n):
        for j in range(m):
            x[to + i * m + j] = b[of + i * row + j * column]
    _substituted(n, m, t, start, lower != transpose, transpose, unit, x, to)


def _exchanged(m, x, to, i, p):
    for j in range(m):
        first, second = to + i * m + j, to + p * m + j
        x[first], x[second] = x[second], x[first]


def _lu(n, a, start, row, column, lu, to, pivots, at):
    for i in range(n):
        for j in range(n):
            lu[to + i * n + j] = a[start + i * row + j * column]
    for k in range(n):
        p = k
        for i in range(k, n):
            if abs(lu[to + i * n + k]) > abs(lu[to + p * n + k]):
                p = i
        pivots[at + k] = p
        _exchanged(n, lu, to, k, p)
        for i in range(k + 1, n):
            if lu[to + k * n + k] != 0:
                lu[to + i * n + k] /= lu[to + k * n + k]
            for j in range(k + 1, n):
                lu[to + i * n + j] -= lu[to + i * n + k] * lu[to + k * n + j]


def _solve(n, m, lu, start, pivots, at, b, of, row, column, transpose, x, to):
    for i in range(n):
        if lu[start + i * n + i] == 0:
            raise np.linalg.LinAlgError("Singular matrix")
        for j in range(m):
            x[to + i * m + j] = b[of + i * row + j * column]
    if not transpose:
        for i in range(n):
            _exchanged(m, x, to, i, pivots[at + i])
    _substituted(n, m, lu, start, True, transpose, not transpose, x, to)
    _substituted(n, m, lu, start, False, transpose, transpose, x, to)
    if transpose:
        for p in range(n):
            _exchanged(m, x, to, n - 1 - p, pivots[at + n - 1 - p])


def _permutation(n, pivots, at, stride, rows, to):
    for i in range(n):
        rows[to + i] = i
    for i in range(n):
        p = _bounded(pivots[at + i * stride], n)
        rows[to + i], rows[to + p] = rows[to + p], rows[to + i]


def _before(x, y):
    """Whether x stands before y: NaN comes last."""
    return x < y or (y != y and x == x)


def _argsort(n, x, start, step, places, to):
    """The stable order of numbers, by merging."""
    order, made = np.arange(n), np.empty(n, np.int64)
    width = 1
    while width < n:
        for first in range(0, n, 2 * width):
            middle, end = min(first + width, n), min(first + 2 * width, n)
            a, b = first, middle
            for k in range(first, end):
                left = a < middle
                if left and b < end:
                    left = not _before(x[start + order[b] * step], x[start + order[a] * step])
                made[k] = order[a if left else b]
                if left:
                    a += 1
                else:
                    b += 1
        order, made = made, order
        width *= 2
    places[to : to + n] = order


def _transformed(n, step, x, at, y, to, sign):
    """The transform of n complex numbers, by the least factor of n."""
    if n == 1:
        y[to] = x[at]
        return
    p = 2
    while p * p <= n and n % p != 0:
        p += 1
    p = n if n % p != 0 else p
    m = n // p
    for r in range(p):
        _transformed(m, p * step, x, at + r * step, y, to + r * m, sign)
    made = np.empty(p, np.complex128)
    for k in range(m):
        for q in range(p):
            total = 0j
            for r in range(p):
                angle = sign * 6.283185307179586 * (r * (k + q * m) % n) / n
                total += y[to + r * m + k] * complex(math.cos(angle), math.sin(angle))
            made[q] = total
        for q in range(p):
            y[to + q * m + k] = made[q]


def _fourier(rows, n, kind, scale, x, start, row, column, y, to, to_row, to_column):
    """Rows transformed; kinds are 0 forward, 1 backward, 2 of real numbers, 3 of half a spectrum.
    Complex numbers are pairs; places count numbers."""
    found, made = np.empty(n, np.complex128), np.empty(n, np.complex128)
    for i in range(rows):
        for j in range(n):
            mirrored = kind == 3 and j > n // 2
            place = start + i * row + (n - j if mirrored else j) * column
            if kind == 2:
                found[j] = complex(x[place], 0.0)
            else:
                edge = kind == 3 and (j == 0 or 2 * j == n)
                imaginary = 0.0 if edge else x[2 * place + 1]
                found[j] = complex(x[2 * place], -imaginary if mirrored else imaginary)
        _transformed(n, 1, found, 0, made, 0, 1 if kind % 2 == 1 else -1)
        for j in range(n // 2 + 1 if kind == 2 else n):
            place = to + i * to_row + j * to_column
            if kind == 3:
                y[place] = scale * made[j].real
            else:
                y[2 * place] = scale * made[j].real
                y[2 * place + 1] = scale * made[j].imag


def _matrix(m, n, a, start, row, column):
    """A matrix of its own."""
    made = np.empty((m, n), a.dtype)
    for i in range(m):
        for j in range(n):
            made[i, j] = a[start + i * row + j * column]
    return made


def _placed(made, x, to):
    """A matrix row by row at its place."""
    m, n = made.shape
    for i in range(m):
        for j in range(n):
            x[to + i * n + j] = made[i, j]


def _eigh(n, a, start, row, column, values, at, vectors, to):
    """Eigenvalues and vectors of the lower triangle."""
    found, made = np.linalg.eigh(_matrix(n, n, a, start, row, column))
    values[at : at + n] = found
    _placed(made, vectors, to)


def _qr(m, n, a, start, row, column, q, at, r, to):
    orthogonal, triangle = np.linalg.qr(_matrix(m, n, a, start, row, column))
    _placed(orthogonal, q, at)
    _placed(triangle, r, to)


def _svd(m, n, a, start, row, column, full, u, at, values, of, vh, to):
    left, found, right = np.linalg.svd(_matrix(m, n, a, start, row, column), full)
    values[of : of + len(found)] = found
    _placed(left, u, at)
    _placed(right, vh, to)


def _pinv(m, n, a, start, row, column, rtol, x, to):
    made = _matrix(m, n, a, start, row, column)
    left, found, right = np.linalg.svd(made, False)
    for i in range(n):
        for j in range(m):
            total = 0.0 * made[0, 0]
            for k in range(len(found)):
                if found[k] > rtol * found[0]:
                    total += right[k, i] / found[k] * left[j, k]
            x[to + i * m + j] = total
