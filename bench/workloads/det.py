"""A determinant by minors: recursion in plain Python over single elements, thousands of scalars.

GradBench's `det`, from cmpad's `det_by_minor` (https://github.com/gradbench/gradbench, evals/det).
As written, the same minors are computed again and again: 1,236 products for a matrix of six rows,
of which 186 differ. For tensor libraries, the text computes all minors of the last rows at once,
one for each set of columns.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy

from bench.workload import Arrays, Function, Workload, not_written

OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def primal(np: Any, special: Any) -> Function:
    def det_by_minors(a):
        def minor(row, columns):
            """The determinant of the rows from `row` on, in these columns."""
            if len(columns) == 1:
                return a[row, columns[0]]
            total, sign = 0.0, 1.0
            for k, column in enumerate(columns):
                rest = columns[:k] + columns[k + 1 :]
                total = total + sign * a[row, column] * minor(row + 1, rest)
                sign = -sign
            return total

        return minor(0, tuple(range(a.shape[0])))

    return det_by_minors


def expansions(n: int) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    """For k = 2 to n, for each set of k columns: the columns, and the places of the sets that lack
    one of them.

    The sets of k columns are in the order of `itertools.combinations`.
    """
    found = []
    for k in range(2, n + 1):
        place = {columns: i for i, columns in enumerate(combinations(range(n), k - 1))}
        sets = list(combinations(range(n), k))
        rests = [[place[s[:j] + s[j + 1 :]] for j in range(k)] for s in sets]
        found.append((numpy.array(sets), numpy.array(rests)))
    return found


def by_sets(np: Any, signs_of: Function) -> Function:
    """Compute minors of the last row, then of the last two, and so on."""

    def det_by_minors(a):
        n = a.shape[0]
        minors = a[n - 1]
        for k, (columns, rests) in enumerate(expansions(n), 2):
            signs = signs_of([(-1.0) ** j for j in range(k)])
            minors = np.sum(signs * a[n - k][columns] * minors[rests], 1)
        return minors[0]

    return det_by_minors


def jax_primal(jax: Any) -> Function:
    return by_sets(jax.numpy, jax.numpy.array)


def torch_primal(torch: Any) -> Function:
    return by_sets(torch, lambda signs: torch.tensor(signs, dtype=torch.float64))


def numpy_gradient(np: Any) -> Function:
    """Jacobi's formula: the determinant times the inverse's transpose."""

    def gradient(a):
        return np.linalg.det(a) * np.linalg.inv(a).T

    return gradient


def numba_tables(n: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """All (set, column in it, sign) by the size of the set, with sets as bits; the begin of each
    size."""
    rows, begins = [], [0]
    for k in range(1, n + 1):
        for columns in combinations(range(n), k):
            bits = sum(1 << column for column in columns)
            rows += [(bits, column, (-1) ** j) for j, column in enumerate(columns)]
        begins.append(len(rows))
    return numpy.array(rows), numpy.array(begins)


def numba_minors(numba: Any, n: int) -> Function:
    """`minors(a, found)` computes, for each set of k columns, the minor of the last k rows."""
    lines = ["def minors(a, found):", "    found[0] = 1.0"]
    rows, begins = numba_tables(n)
    for k in range(1, n + 1):
        for bits in sorted({int(bits) for bits, _, _ in rows[begins[k - 1] : begins[k]]}):
            terms = [
                f"{'-' if sign < 0 else '+'} a[{n - k}, {column}] * found[{bits ^ (1 << column)}]"
                for at, column, sign in rows[begins[k - 1] : begins[k]]
                if at == bits
            ]
            lines.append(f"    found[{bits}] = {' '.join(terms)}")
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    return numba.njit(**OPTIONS)(namespace["minors"])


def numba_version(numba: Any, n: int) -> tuple[Function, Function]:
    """Compute each minor once, and its cotangent once, from the whole matrix down."""
    minors = numba_minors(numba, n)
    rows, begins = numba_tables(n)

    @numba.njit(**OPTIONS)
    def value(a):
        found = numpy.empty(1 << n)
        minors(a, found)
        return found[-1]

    @numba.njit(**OPTIONS)
    def gradient(a):
        found, back = numpy.empty(1 << n), numpy.zeros(1 << n)
        minors(a, found)
        result = numpy.zeros_like(a)
        back[-1] = 1.0
        for k in range(n, 0, -1):
            for at in range(begins[k - 1], begins[k]):
                bits, column, sign = rows[at, 0], rows[at, 1], rows[at, 2]
                rest = bits ^ (1 << column)
                weight = sign * back[bits]
                result[n - k, column] += weight * found[rest]
                back[rest] += weight * a[n - k, column]
        return result

    return value, gradient


def _workload(n: int) -> Workload:
    def inputs() -> Arrays:
        return (numpy.random.default_rng(0).uniform(0.0, 1.0, (n, n)),)

    return Workload(
        name=f"det_{n}",
        derivative_of=f"determinant of {n} x {n} by expansion by minors",
        dtype="float64",
        target=None,
        inputs=inputs,
        argnums=(0,),
        primal=primal,
        versions={
            "numba": lambda numba: numba_version(numba, n),
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "torch": torch_primal,
            "pytensor": not_written("a graph of thousands of scalars is not PyTensor's"),
        },
    )


WORKLOADS = (_workload(5), _workload(6))
