"""Element loops as people write them for Numba, and two loops whose elements are replaced later."""

from __future__ import annotations

from typing import Any

import numpy as np


def lu(a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return np.sum(a * a)


def cholesky(a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for j in range(n):
        for k in range(j):
            a[j, j] -= a[j, k] * a[j, k]
        a[j, j] = np.sqrt(a[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
    return np.sum(a * a)


def cholesky_of_a_band(a: Any) -> Any:
    n, width = a.shape[0], 2
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(max(0, i - width), i + 1):
            s = a[i, j]
            for k in range(max(0, i - width), j):
                s -= factor[i, k] * factor[j, k]
            if j == i:
                factor[i, j] = np.sqrt(s)
            else:
                factor[i, j] = s / factor[j, j]
    return np.sum(factor * factor)


def forward_substitution(a: Any) -> Any:
    x = a[0].copy()
    for i in range(x.shape[0]):
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]
    return np.sum(x * x)


def backward_substitution(a: Any) -> Any:
    n = a.shape[0]
    x = a[0].copy()
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]
    return np.sum(x * x)


def cholesky_by_slices(a: Any) -> Any:
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return np.sum(a * a)


def substitution_by_slices(a: Any) -> Any:
    n = a.shape[0]
    x = np.zeros_like(a[0])
    for i in range(n - 1, -1, -1):
        x[i] = (a[0, i] - np.dot(a[i, i + 1 :], x[i + 1 :])) / a[i, i]
    return np.sum(x * x)


def gauss_jordan(a: Any) -> Any:
    """Eliminating a column also replaces elements in rows that were finished before."""
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(n):
            if i != k:
                factor = a[i, k] / a[k, k]
                for j in range(n):
                    a[i, j] -= factor * a[k, j]
    return np.sum(a * a)


def jordan_rows(a: Any) -> Any:
    """Each step of the inner loop but one reads a row that the others leave alone."""
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        pivot = 2.0 + a[k, k]
        for j in range(k, n):
            a[k, j] = a[k, j] / pivot
        for i in range(n):
            if i != k:
                factor = a[i, k]
                for j in range(k, n):
                    a[i, j] -= factor * a[k, j]
    return np.sum(a * a)


def in_both_branches(a: Any) -> Any:
    """The other branch writes the row that this one reads."""
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(n):
            if i != k:
                for j in range(k, n):
                    a[i, j] -= 0.1 * a[i, k] * a[k, j]
            else:
                for j in range(k, n):
                    a[i, j] = np.sin(a[i, j])
    return np.sum(a * a)


def where_less(a: Any) -> Any:
    """Different rows because one is less, and rows that may be the same."""
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(n):
            if i < k:
                for j in range(n):
                    a[i, j] -= 0.1 * a[i, k] * a[k, j]
            if i <= k:
                for j in range(n):
                    a[i, j] = a[i, j] * np.cos(0.3 * a[k, j])
    return np.sum(a * a)


def of_another_counter(a: Any) -> Any:
    """The comparison says nothing about the rows that are read and written."""
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for m in range(n):
            for i in range(n):
                if i != k:
                    for j in range(n):
                        a[i, j] -= 0.1 * np.sin(a[m, k] * a[m, j])
    return np.sum(a * a)


def smoothed(a: Any) -> Any:
    """Each sweep replaces elements of the previous one, which its neighbours have read."""
    a = a.copy()
    n = a.shape[0]
    for _ in range(3):
        for i in range(1, n):
            for j in range(1, n):
                a[i, j] = np.sin(a[i - 1, j]) * np.cos(a[i, j - 1] + a[i, j])
    return np.sum(a * a)


#: Every element that a step reads is final.
FINAL = (
    lu, cholesky, cholesky_of_a_band, forward_substitution, backward_substitution,
    cholesky_by_slices, substitution_by_slices,
)  # fmt: skip
REPLACED = (
    gauss_jordan, jordan_rows, in_both_branches, where_less, of_another_counter, smoothed,
)  # fmt: skip
