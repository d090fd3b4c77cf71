"""Loops as numerical programs write them, in which slices grow and shrink with the index.

Each takes the loop as an argument: :func:`in_python`, or `fori_loop`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

N = 4
_rng = np.random.default_rng(0)
SQUARE, OTHER, VECTOR = _rng.normal(size=(N, N)), _rng.normal(size=(N, N)), _rng.normal(size=N)
POSITIVE = SQUARE @ SQUARE.T + N * np.eye(N)

Loop = Callable[[Any, Any, Callable[[Any, Any], Any], Any], Any]


def in_python(lower: int, upper: int, body: Callable[[Any, Any], Any], carry: Any) -> Any:
    for i in range(lower, upper):
        carry = body(i, carry)
    return carry


def cholesky(loop: Loop, matrix: Any) -> Any:
    def row(i: Any, A: Any) -> Any:
        def element(j: Any, A: Any) -> Any:
            A = np.copy(A)
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
            return A

        A = np.copy(loop(0, i, element, A))
        A[i, i] = np.sqrt(A[i, i] - np.dot(A[i, :i], A[i, :i]))
        return A

    return loop(0, N, row, matrix)


def lu(loop: Loop, matrix: Any) -> Any:
    def row(i: Any, A: Any) -> Any:
        def lower(j: Any, A: Any) -> Any:
            A = np.copy(A)
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
            return A

        def upper(j: Any, A: Any) -> Any:
            A = np.copy(A)
            A[i, j] -= A[i, :i] @ A[:i, j]
            return A

        return loop(i, N, upper, loop(0, i, lower, A))

    return loop(0, N, row, matrix)


def solve(loop: Loop, matrix: Any, right: Any) -> Any:
    A = lu(loop, matrix)

    def forward(i: Any, y: Any) -> Any:
        y = np.copy(y)
        y[i] = right[i] - A[i, :i] @ y[:i]
        return y

    def backward(k: Any, x: Any) -> Any:
        i = N - 1 - k
        x = np.copy(x)
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
        return x

    y = loop(0, N, forward, np.zeros(N))
    return loop(0, N, backward, np.zeros(N))


def with_pivots(loop: Loop, matrix: Any) -> Any:
    def column(k: Any, A: Any) -> Any:
        A = np.copy(A)
        p = k + np.argmax(np.abs(A[k:, k]))
        row = np.copy(A[k])
        A[k] = A[p]
        A[p] = row
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
        return A

    return loop(0, N, column, matrix)


def durbin(loop: Loop, r: Any) -> Any:
    def step(k: Any, state: Any) -> Any:
        y, alpha, beta = state
        y = np.copy(y)
        beta = beta * (1 - alpha * alpha)
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * y[k - 1 :: -1]
        y[k] = alpha
        return y, alpha, beta

    first = np.zeros(N)
    first[0] = -r[0]
    return loop(1, N, step, (first, -r[0], 1.0))[0]


def gram_schmidt(loop: Loop, matrix: Any) -> Any:
    def column(k: Any, state: Any) -> Any:
        A, Q, R = (np.copy(x) for x in state)
        R[k, k] = np.linalg.norm(A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= Q[:, k, None] * R[k, None, k + 1 :]
        return A, Q, R

    zeros = np.zeros((N, N))
    _, Q, R = loop(0, N, column, (matrix, zeros, zeros))
    return Q + R


def trmm(loop: Loop, A: Any, B: Any) -> Any:
    def row(i: Any, B: Any) -> Any:
        B = np.copy(B)
        B[i] += A[i + 1 :, i] @ B[i + 1 :]
        return B

    return loop(0, N, row, B * 1.0)


def symm(loop: Loop, C: Any, A: Any, B: Any) -> Any:
    def row(i: Any, C: Any) -> Any:
        def column(j: Any, state: Any) -> Any:
            C, products = (np.copy(x) for x in state)
            C[:i, j] += 1.5 * B[i, j] * A[i, :i]
            products[j] = B[:i, j] @ A[i, :i]
            return C, products

        C, products = loop(0, N, column, (C, np.zeros(N)))
        C = np.copy(C)
        C[i, :] += 1.5 * B[i, :] * A[i, i] + 1.5 * products
        return C

    return loop(0, N, row, C * 1.2)


def syr2k(loop: Loop, C: Any, A: Any, B: Any) -> Any:
    def row(i: Any, C: Any) -> Any:
        C = np.copy(C)
        C[i, : i + 1] *= 1.2

        def add(k: Any, C: Any) -> Any:
            C = np.copy(C)
            C[i, : i + 1] += A[: i + 1, k] * 1.5 * B[i, k] + B[: i + 1, k] * 1.5 * A[i, k]
            return C

        return loop(0, N, add, C)

    return loop(0, N, row, C * 1.0)


def correlation(loop: Loop, data: Any) -> Any:
    data = (data - np.mean(data, axis=0)) / np.std(data, axis=0)

    def row(i: Any, found: Any) -> Any:
        found = np.copy(found)
        found[i + 1 : N, i] = found[i, i + 1 : N] = data[:, i] @ data[:, i + 1 : N]
        return found

    return loop(0, N - 1, row, np.eye(N))


def moving(loop: Loop, x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y = np.copy(y)
        y[i] = np.sum(x[i - 1 : i + 2] ** 2) / np.std(x[: i + 1] + x[i])
        y[i - 1 : i + 1] += np.cumsum(x[i:][::-1])[-1] * np.max(x[i - 1 :])
        return y

    return loop(1, N - 1, step, np.zeros(N))


PROGRAMS = [
    (cholesky, (POSITIVE,)), (lu, (POSITIVE,)), (solve, (POSITIVE, VECTOR)),
    (with_pivots, (SQUARE,)), (durbin, (VECTOR / 5,)), (gram_schmidt, (SQUARE,)),
    (trmm, (SQUARE, OTHER)), (symm, (SQUARE, OTHER, POSITIVE)),
    (syr2k, (SQUARE, OTHER, POSITIVE)), (correlation, (SQUARE,)), (moving, (VECTOR,)),
]  # fmt: skip
