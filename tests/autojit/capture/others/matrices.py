"""Linear algebra by loops over elements."""

from __future__ import annotations

import math

import numpy as np

from .program import program

_rng = np.random.default_rng(3)
_A = _rng.normal(size=(4, 4))
_B = _A[::-1] + np.eye(4)
_S = _A @ _A.T + np.eye(4)
_b = _rng.normal(size=4)


@program((_A, _b), (_B, _b), by=(0, 1))
def gauss_with_pivoting(A, b):
    A, b = A.copy(), b.copy()
    n = len(b)
    for i in range(n):
        p = i
        for r in range(i + 1, n):
            if abs(A[r, i]) > abs(A[p, i]):
                p = r
        if p != i:
            for c in range(n):
                A[i, c], A[p, c] = A[p, c], A[i, c]
            b[i], b[p] = b[p], b[i]
        for r in range(i + 1, n):
            factor = A[r, i] / A[i, i]
            for c in range(i, n):
                A[r, c] -= factor * A[i, c]
            b[r] -= factor * b[i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for c in range(i + 1, n):
            s -= A[i, c] * x[c]
        x[i] = s / A[i, i]
    return np.sum(x * x)


@program((_A,), (_B,))
def determinant_by_lu(A):
    lu = A.copy()
    n = lu.shape[0]
    sign = 1
    for k in range(n - 1):
        p = k + np.argmax(np.abs(lu[k:, k]))
        if p != k:
            lu[[k, p]] = lu[[p, k]]
            sign = -sign
        for i in range(k + 1, n):
            lu[i, k] /= lu[k, k]
            lu[i, k + 1 :] -= lu[i, k] * lu[k, k + 1 :]
    det = sign
    for k in range(n):
        det *= lu[k, k]
    return det


@program((_A,), (_B,))
def inverse_by_gauss_jordan(matrix):
    n = len(matrix)
    m = np.hstack([matrix, np.eye(n)])
    for col in range(n):
        pivot = col
        for row in range(col + 1, n):
            if abs(m[row, col]) > abs(m[pivot, col]):
                pivot = row
        if pivot != col:
            saved = m[col].copy()
            m[col] = m[pivot]
            m[pivot] = saved
        m[col] /= m[col, col]
        for row in range(n):
            if row != col:
                m[row] -= m[row, col] * m[col]
    return np.sum(m[:, n:] ** 2)


@program((np.array([0.0, 1.0, 0.5, 0.2, 0.1]), _rng.uniform(3, 4, 5), _rng.normal(size=5)),
         by=(0, 1, 2))  # fmt: skip
def thomas(a, b, d):
    n = len(d)
    c = 0.3
    cp, dp = np.empty(n), np.empty(n)
    cp[0], dp[0] = c / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.empty(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return np.sum(x * np.arange(n))


@program((_S,), (_S @ _S,))
def cholesky(A):
    n = A.shape[0]
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if s <= 0:
                    return np.nan
                L[i, j] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return np.sum(L)


@program((_A,), (_B,))
def householder_qr(A):
    R = A.copy()
    n = R.shape[1]
    total = 0.0
    for k in range(n - 1):
        x = R[k:, k]
        norm = np.sqrt(np.sum(x * x))
        v = x.copy()
        if x[0] < 0:
            v[0] -= norm
        else:
            v[0] += norm
        v = v / np.sqrt(np.sum(v * v))
        R[k:, k:] -= 2 * np.outer(v, v @ R[k:, k:])
    for k in range(n):
        total += math.log(abs(R[k, k]))
    return total


@program((_A,), (_B,))
def gram_schmidt(A):
    Q = A.copy()
    n = Q.shape[1]
    for j in range(n):
        for i in range(j):
            Q[:, j] -= np.dot(Q[:, i], A[:, j]) * Q[:, i]
        length = np.sqrt(np.sum(Q[:, j] ** 2))
        if length > 1e-10:
            Q[:, j] /= length
        else:
            Q[:, j] = 0
    return np.sum(Q[0] * Q[1:].sum(axis=0)) + Q[0, 0] * 2


@program((_S,), (_S + np.diag([5.0, 0, 0, 0]),))
def power_iteration(A, tol=1e-13):
    v = np.ones(A.shape[0])
    old, value = 0.0, 1.0
    steps = 0
    while abs(value - old) > tol * abs(value) and steps < 2000:
        w = A @ v
        old, value = value, np.sqrt(np.sum(w * w))
        v = w / value
        steps += 1
    return value


@program((_S,), (np.diag([3.0, 1.0, 2.0]) + 0.1,))
def jacobi_eigenvalues(S):
    """Cyclic rotations until the rest off the diagonal is small; a function of the eigenvalues."""
    A = S.copy()
    n = A.shape[0]
    for _ in range(30):
        off = 0.0
        for p in range(n):
            for q in range(p + 1, n):
                off += A[p, q] ** 2
        if off < 1e-16:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) < 1e-18:
                    continue
                theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
                if theta >= 0:
                    t = 1 / (theta + math.sqrt(theta * theta + 1))
                else:
                    t = -1 / (-theta + math.sqrt(theta * theta + 1))
                c = 1 / math.sqrt(t * t + 1)
                s = t * c
                for k in range(n):
                    akp, akq = A[k, p], A[k, q]
                    A[k, p], A[k, q] = c * akp - s * akq, s * akp + c * akq
                for k in range(n):
                    apk, aqk = A[p, k], A[q, k]
                    A[p, k], A[q, k] = c * apk - s * aqk, s * apk + c * aqk
    return np.sum(np.diag(A) ** 3)


@program((_S, _b), (_S + 3 * np.eye(4), _b), by=(0, 1))
def conjugate_gradients(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for _ in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        if np.sqrt(new) < 1e-10:
            break
        p = r + (new / rs) * p
        rs = new
    return np.sum(x**2)


@program((_S, _b), (_S + 3 * np.eye(4), _b), by=(0, 1))
def gauss_seidel(A, b):
    A = A + 3 * np.eye(4)
    x = np.zeros(len(b))
    n = len(b)
    for _ in range(500):
        change = 0.0
        for i in range(n):
            s = 0.0
            for j in range(n):
                if i != j:
                    s += A[i, j] * x[j]
            new = (b[i] - s) / A[i, i]
            change = max(change, abs(new - x[i]))
            x[i] = new
        if change < 1e-13:
            break
    return np.sum(x)


@program((_rng.normal(size=8),), (_rng.normal(size=16),))
def radix_two_fft(x):
    """Return the energy of the upper half; bit reversal, then butterflies, without recursion."""
    n = len(x)
    X = x.astype(complex)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            X[i], X[j] = X[j], X[i]
    length = 2
    while length <= n:
        w_len = np.exp(-2j * np.pi / length)
        for start in range(0, n, length):
            w = 1.0 + 0j
            for k in range(length // 2):
                u = X[start + k]
                v = X[start + k + length // 2] * w
                X[start + k] = u + v
                X[start + k + length // 2] = u - v
                w = w * w_len
        length *= 2
    return np.sum(np.abs(X[n // 2 :]) ** 2 * np.arange(n // 2))
