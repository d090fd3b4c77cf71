"""Many short sorts, whose gradients need the permutations, and medians."""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.sorting import pytensor_sort, sort_primal, torch_sort

ROWS, COLUMNS = 3_000, 300
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def numpy_sort(np: Any) -> Function:
    def gradient(x):
        order = np.argsort(x, axis=1)
        result = np.empty_like(x)
        ranks = 2.0 / COLUMNS * np.arange(1, COLUMNS + 1)
        np.put_along_axis(result, order, ranks * np.take_along_axis(x, order, 1), 1)
        return result

    return gradient


def numba_sort(numba: Any) -> tuple[Function, Function]:
    """Sort rows one by one, by Numba's quicksort."""

    @numba.njit(parallel=True, **OPTIONS)
    def value(x):
        total = 0.0
        for i in numba.prange(ROWS):
            ordered = numpy.sort(x[i])
            for j in range(COLUMNS):
                total += (j + 1) * (ordered[j] * ordered[j])
        return total / COLUMNS

    @numba.njit(parallel=True, **OPTIONS)
    def fill(x, result):
        for i in numba.prange(ROWS):
            order = numpy.argsort(x[i])
            for j in range(COLUMNS):
                result[i, order[j]] = 2.0 / COLUMNS * (j + 1) * x[i, order[j]]

    def gradient(x):
        result = numpy.empty_like(x)
        fill(x, result)
        return result

    return value, gradient


def median_primal(np: Any, special: Any) -> Function:
    def loss(x):
        return np.sum(np.median(x, axis=1) ** 2)

    return loss


def torch_median(torch: Any) -> Function:
    """A median for PyTorch, since `torch.median` is the lower of the two middle elements."""

    def loss(x):
        ordered = torch.sort(x, dim=1).values
        median = 0.5 * (ordered[:, COLUMNS // 2 - 1] + ordered[:, COLUMNS // 2])
        return torch.sum(median**2)

    return loss


def pytensor_median(pt: Any) -> Function:
    def loss(x):
        ordered = pt.sort(x, axis=1)
        median = 0.5 * (ordered[:, COLUMNS // 2 - 1] + ordered[:, COLUMNS // 2])
        return pt.sum(median**2)

    return loss


def numpy_median(np: Any) -> Function:
    """COLUMNS is even, so half of the cotangent goes to each of the two middle elements."""

    def gradient(x):
        middle = [COLUMNS // 2 - 1, COLUMNS // 2]
        places = np.argpartition(x, middle, axis=1)[:, middle]
        found = np.take_along_axis(x, places, 1)
        result = np.zeros_like(x)
        np.put_along_axis(
            result, places, np.broadcast_to(found.mean(1, keepdims=True), found.shape), 1
        )
        return result

    return gradient


def numba_median(numba: Any) -> tuple[Function, Function]:
    @numba.njit(parallel=True, **OPTIONS)
    def value(x):
        total = 0.0
        for i in numba.prange(ROWS):
            total += numpy.median(x[i]) ** 2
        return total

    @numba.njit(parallel=True, **OPTIONS)
    def fill(x, result):
        for i in numba.prange(ROWS):
            found = numpy.partition(x[i], COLUMNS // 2)
            upper, lower = found[COLUMNS // 2], numpy.max(found[: COLUMNS // 2])
            median = 0.5 * (lower + upper)
            for j in range(COLUMNS):
                at = x[i, j] == lower or x[i, j] == upper
                result[i, j] = median if at else 0.0

    def gradient(x):
        result = numpy.empty_like(x)
        fill(x, result)
        return result

    return value, gradient


def inputs() -> Arrays:
    return (numpy.random.default_rng(0).normal(size=(ROWS, COLUMNS)),)


SORT_ROWS = Workload(
    name="sort_rows",
    derivative_of=f"squares of {ROWS:,} rows of {COLUMNS}, weighted by their ranks",
    dtype="float64",
    target=3.0,
    inputs=inputs,
    argnums=(0,),
    primal=sort_primal,
    versions={
        "numba": numba_sort,
        "numpy": numpy_sort,
        "torch": torch_sort,
        "pytensor": pytensor_sort(COLUMNS),
    },
    limit=Limit(bytes_moved=16 * ROWS * COLUMNS, flops=2 * ROWS * COLUMNS),
)
MEDIAN_ROWS = Workload(
    name="median_rows",
    derivative_of=f"squares of the medians of {ROWS:,} rows of {COLUMNS}",
    dtype="float64",
    target=3.0,
    inputs=inputs,
    argnums=(0,),
    primal=median_primal,
    versions={
        "numba": numba_median,
        "numpy": numpy_median,
        "torch": torch_median,
        "pytensor": pytensor_median,
    },
    limit=Limit(bytes_moved=16 * ROWS * COLUMNS, flops=2 * ROWS),
)

WORKLOADS = (SORT_ROWS, MEDIAN_ROWS)
