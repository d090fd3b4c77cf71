"""Workloads that mostly move elements: running sums, sums by segment, gathered rows, sorting.

Their derivatives are moves, too: sums from the other end, a gather for sums by segment, sums by row
for a gather, and the inverse permutation for sorting.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload, not_written
from bench.workloads.sorting import numba_order, pytensor_sort, sort_primal, torch_sort

SUMMED = 100_000
VALUES, SEGMENTS = 1_000_000, 10_000
ROWS, WIDTH, PICKED = 100_000, 16, 1_000_000
SORTED = 1_000_000
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}
NO_ASSIGNMENT = not_written("autograd's arrays take no assignment")


def cumsum_primal(np: Any, special: Any) -> Function:
    def loss(x):
        return np.sum(np.cumsum(x) ** 2)

    return loss


def torch_cumsum(torch: Any) -> Function:
    def loss(x):
        return torch.sum(torch.cumsum(x, 0) ** 2)

    return loss


def pytensor_cumsum(pt: Any) -> Function:
    return cumsum_primal(pt, None)


def numpy_cumsum(np: Any) -> Function:
    def gradient(x):
        return 2.0 * np.cumsum(np.cumsum(x)[::-1])[::-1]

    return gradient


def numba_cumsum(numba: Any) -> tuple[Function, Function]:
    """Four elements at a time: only one of four additions waits for the previous one.

    SUMMED is a multiple of four.
    """
    njit = numba.njit(**OPTIONS)

    @njit
    def value(x):
        running = total = 0.0
        for i in range(0, x.size, 4):
            a, b, c = x[i], x[i] + x[i + 1], x[i + 2] + x[i + 3]
            first, second, third = running + a, running + b, running + (b + x[i + 2])
            running += b + c
            total += (first * first + second * second) + (third * third + running * running)
        return total

    @njit
    def fill(x, result):
        running = 0.0
        for i in range(0, x.size, 4):
            a, b, c = x[i], x[i] + x[i + 1], x[i + 2] + x[i + 3]
            result[i], result[i + 1] = running + a, running + b
            result[i + 2] = running + (b + x[i + 2])
            running += b + c
            result[i + 3] = running
        running = 0.0
        for i in range(x.size - 4, -1, -4):
            d, c, b = result[i + 3], result[i + 3] + result[i + 2], result[i + 1] + result[i]
            result[i + 3], result[i + 2] = 2.0 * (running + d), 2.0 * (running + c)
            result[i + 1] = 2.0 * (running + (c + result[i + 1]))
            running += c + b
            result[i] = 2.0 * running

    def gradient(x):
        result = numpy.empty_like(x)
        fill(x, result)
        return result

    return value, gradient


def segment_primal(np: Any, special: Any) -> Function:
    def loss(values, segments):
        sums = np.zeros(SEGMENTS, dtype=values.dtype)
        np.add.at(sums, segments, values)
        return np.sum(sums**2)

    return loss


def jax_segment(jax: Any) -> Function:
    def loss(values, segments):
        return jax.numpy.sum(jax.ops.segment_sum(values, segments, SEGMENTS) ** 2)

    return loss


def torch_segment(torch: Any) -> Function:
    def loss(values, segments):
        sums = torch.zeros(SEGMENTS, dtype=values.dtype).index_add(0, segments, values)
        return torch.sum(sums**2)

    return loss


def pytensor_segment(pt: Any) -> Function:
    def loss(values, segments):
        sums = pt.inc_subtensor(pt.zeros(SEGMENTS, dtype=values.dtype)[segments], values)
        return pt.sum(sums**2)

    return loss


def numpy_segment(np: Any) -> Function:
    def gradient(values, segments):
        sums = np.bincount(segments, weights=values, minlength=SEGMENTS)
        return 2.0 * sums[segments]

    return gradient


def numba_segment(numba: Any) -> tuple[Function, Function]:
    """Each thread has its own sums: 80 kB, which stay in its cache."""

    @numba.njit(parallel=True, **OPTIONS)
    def sums_of(values, segments):
        shares = numba.get_num_threads()
        partial = numpy.zeros((shares, SEGMENTS), values.dtype)
        for k in numba.prange(shares):
            sums = partial[k]
            for i in range(VALUES * k // shares, VALUES * (k + 1) // shares):
                sums[segments[i]] += values[i]
        return partial.sum(axis=0)

    @numba.njit(**OPTIONS)
    def value(values, segments):
        sums = sums_of(values, segments)
        return numpy.sum(sums * sums)

    @numba.njit(parallel=True, **OPTIONS)
    def fill(values, segments, result):
        sums = 2.0 * sums_of(values, segments)
        for i in numba.prange(VALUES):
            result[i] = sums[segments[i]]

    def gradient(values, segments):
        # NumPy asks for huge pages for its arrays, Numba's own `empty` does not.
        result = numpy.empty_like(values)
        fill(values, segments, result)
        return result

    return value, gradient


def gather_primal(np: Any, special: Any) -> Function:
    def loss(table, ids, weights):
        return np.sum(weights * table[ids] ** 2)

    return loss


def torch_gather(torch: Any) -> Function:
    def loss(table, ids, weights):
        return torch.sum(weights * torch.nn.functional.embedding(ids, table) ** 2)

    return loss


def pytensor_gather(pt: Any) -> Function:
    return gather_primal(pt, None)


def numpy_gather(np: Any) -> Function:
    """Add up the weights of each row first: all gathered copies of a row are equal."""

    def gradient(table, ids, weights):
        sums = [np.bincount(ids, column, minlength=ROWS) for column in weights.T]
        return (2.0 * table * np.stack(sums, axis=1)).astype(table.dtype)

    return gradient


def numba_sums_by_row(numba: Any) -> Function:
    @numba.njit(parallel=True, **OPTIONS)
    def sums_by_row(ids, weights, partial):
        """Add to the sums of one thread, so that no two threads write to one row.

        If the compiler knew the length, it would unroll the loop to sixteen scalar additions.
        """
        shares, width = partial.shape[0], partial.shape[2]
        for k in numba.prange(shares):
            sums = partial[k]
            for i in range(PICKED * k // shares, PICKED * (k + 1) // shares):
                row = sums[ids[i]]
                for j in range(width):
                    row[j] += weights[i, j]

    return sums_by_row


def numba_gather(numba: Any) -> tuple[Function, Function]:
    """The gradient reads the table once, in order, and gathers no row."""
    sums_by_row = numba_sums_by_row(numba)
    two = numpy.float32(2.0)

    @numba.njit(parallel=True, **OPTIONS)
    def value(table, ids, weights):
        total = 0.0
        for i in numba.prange(PICKED):
            row = table[ids[i]]
            part = numpy.float32(0.0)
            for j in range(WIDTH):
                part += weights[i, j] * (row[j] * row[j])
            total += part
        return numpy.float32(total)

    @numba.njit(parallel=True, **OPTIONS)
    def fill(table, partial, result):
        for i in numba.prange(ROWS):
            for j in range(WIDTH):
                total = partial[0, i, j]
                for k in range(1, partial.shape[0]):
                    total += partial[k, i, j]
                result[i, j] = two * table[i, j] * total

    def gradient(table, ids, weights):
        partial = numpy.zeros((numba.get_num_threads(), *table.shape), table.dtype)
        result = numpy.empty_like(table)
        sums_by_row(ids, weights, partial)
        fill(table, partial, result)
        return result

    return value, gradient


def numpy_sort(np: Any) -> Function:
    def gradient(x):
        order = np.argsort(x)
        result = np.empty_like(x)
        result[order] = 2.0 / x.size * np.arange(1, x.size + 1) * x[order]
        return result

    return gradient


def numba_sort(numba: Any) -> tuple[Function, Function]:
    order_of = numba_order(numba)

    @numba.njit(**OPTIONS)
    def weighted(ordered):
        total = 0.0
        for i in range(ordered.size):
            total += (i + 1) * (ordered[i] * ordered[i])
        return total / ordered.size

    @numba.njit(parallel=True, **OPTIONS)
    def fill(order, ordered, result):
        scale = 2.0 / order.size
        for i in numba.prange(order.size):
            result[order[i]] = scale * (i + 1) * ordered[i]

    def value(x):
        return weighted(order_of(x)[1])

    def gradient(x):
        result = numpy.empty_like(x)
        fill(*order_of(x), result)
        return result

    return value, gradient


def normal_inputs(count: int) -> Function:
    return lambda: (numpy.random.default_rng(0).normal(size=count),)


def segment_inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    return rng.normal(size=VALUES), rng.integers(0, SEGMENTS, VALUES)


def gather_inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    table = rng.normal(size=(ROWS, WIDTH)).astype(numpy.float32)
    weights = rng.uniform(size=(PICKED, WIDTH)).astype(numpy.float32)
    return table, rng.integers(0, ROWS, PICKED), weights


CUMSUM = Workload(
    name="cumsum",
    derivative_of=f"squares of {SUMMED:,} running sums",
    dtype="float64",
    target=4.0,
    inputs=normal_inputs(SUMMED),
    argnums=(0,),
    primal=cumsum_primal,
    versions={
        "numba": numba_cumsum,
        "numpy": numpy_cumsum,
        "torch": torch_cumsum,
        "pytensor": pytensor_cumsum,
    },
    # Running sums can be computed in any grouping, so there is no chain.
    limit=Limit(bytes_moved=16 * SUMMED, flops=3 * SUMMED),
)
SEGMENT_SUM = Workload(
    name="segment_sum",
    derivative_of=f"squares of {SEGMENTS:,} sums of {VALUES:,} values, in no order",
    dtype="float64",
    target=1.5,
    inputs=segment_inputs,
    argnums=(0,),
    primal=segment_primal,
    versions={
        "numba": numba_segment,
        "numpy": numpy_segment,
        "jax": jax_segment,
        "autograd": NO_ASSIGNMENT,
        "torch": torch_segment,
        "pytensor": pytensor_segment,
    },
    # The segments are read a second time for the gradient, but not necessarily from memory.
    limit=Limit(bytes_moved=24 * VALUES, flops=VALUES),
)
GATHER = Workload(
    name="gather",
    derivative_of=f"weighted squares of {PICKED:,} rows of a table {ROWS:,} x {WIDTH}, float32",
    dtype="float32",
    target=5.0,
    inputs=gather_inputs,
    argnums=(0,),
    primal=gather_primal,
    versions={
        "numba": numba_gather,
        "numpy": numpy_gather,
        "torch": torch_gather,
        "pytensor": pytensor_gather,
    },
    limit=Limit(bytes_moved=PICKED * (8 + 4 * WIDTH) + 8 * ROWS * WIDTH, flops=PICKED * WIDTH),
)
SORT = Workload(
    name="sort",
    derivative_of=f"squares of {SORTED:,} numbers, weighted by their ranks",
    dtype="float64",
    target=3.0,
    inputs=normal_inputs(SORTED),
    argnums=(0,),
    primal=sort_primal,
    versions={
        "numba": numba_sort,
        "numpy": numpy_sort,
        "torch": torch_sort,
        "pytensor": pytensor_sort(SORTED),
    },
    # The comparisons and moves of a sort are not part of the limit.
    limit=Limit(bytes_moved=16 * SORTED, flops=2 * SORTED),
)

WORKLOADS = (CUMSUM, SEGMENT_SUM, GATHER, SORT)
