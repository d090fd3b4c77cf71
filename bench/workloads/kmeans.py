"""k-means: the nearest of 100 centers for each of 10,000 points, and sums over each center's
points.

GradBench's `kmeans` (https://github.com/gradbench/gradbench, evals/kmeans), at the middle of its
sizes: the cost is the sum of the squared distances to the nearest center. Newton's step divides the
gradient by the Hessian's diagonal. The Hessian is diagonal, so its product with ones is that;
see L. Bottou and Y. Bengio, "Convergence Properties of the K-Means Algorithms", 1994.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload

POINTS, CENTERS, DIMENSIONS = 10_000, 100, 8
BLOCK = 250  # points that go through the centers together; divides POINTS
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def primal(np: Any, special: Any) -> Function:
    """The square of a difference as three terms, as in GradBench's Python versions."""

    def cost(centers, points):
        beside = points @ centers.T
        squares = np.sum(points**2, axis=1)[:, None] + np.sum(centers**2, axis=1) - 2.0 * beside
        return np.sum(np.min(squares, axis=1))

    return cost


def torch_primal(torch: Any) -> Function:
    """`torch.min` along an axis also returns the index, so its gradient goes to one place."""

    def cost(centers, points):
        beside = points @ centers.T
        squares = torch.sum(points**2, 1)[:, None] + torch.sum(centers**2, 1) - 2.0 * beside
        return torch.sum(torch.min(squares, 1).values)

    return cost


def pytensor_primal(pt: Any) -> Function:
    return primal(pt, None)


def nearest(np: Any, centers: Any, points: Any) -> Any:
    return np.argmin(np.sum(centers**2, axis=1) - 2.0 * points @ centers.T, axis=1)


def numpy_gradient(np: Any) -> Function:
    def gradient(centers, points):
        chosen = nearest(np, centers, points)
        sums = np.zeros_like(centers)
        np.add.at(sums, chosen, points)
        counts = np.bincount(chosen, minlength=CENTERS)
        return 2.0 * (counts[:, None] * centers - sums)

    return gradient


def numpy_product(np: Any) -> Function:
    def product(centers, points, direction):
        counts = np.bincount(nearest(np, centers, points), minlength=CENTERS)
        return 2.0 * counts[:, None] * direction

    return product


def numba_search(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def search(centers, points, turned, best, chosen):
        """Search center by center, with contiguous points, so that every loop is vectorised.

        `best` becomes the least squared distance minus the point's own square.
        """
        for i in range(BLOCK):
            for d in range(DIMENSIONS):
                turned[d, i] = -2.0 * points[i, d]
        best[:] = numpy.inf
        for j in range(CENTERS):
            square = 0.0
            for d in range(DIMENSIONS):
                square += centers[j, d] * centers[j, d]
            c0, c1, c2, c3 = centers[j, 0], centers[j, 1], centers[j, 2], centers[j, 3]
            c4, c5, c6, c7 = centers[j, 4], centers[j, 5], centers[j, 6], centers[j, 7]
            for i in range(BLOCK):
                low = c0 * turned[0, i] + c1 * turned[1, i] + c2 * turned[2, i] + c3 * turned[3, i]
                high = c4 * turned[4, i] + c5 * turned[5, i] + c6 * turned[6, i] + c7 * turned[7, i]
                found = square + (low + high)
                closer = found < best[i]
                best[i] = found if closer else best[i]
                chosen[i] = j if closer else chosen[i]

    return search


def numba_cost(numba: Any) -> Function:
    search = numba_search(numba)

    @numba.njit(parallel=True, **OPTIONS)
    def cost(centers, points):
        total = 0.0
        for b in numba.prange(POINTS // BLOCK):
            mine = points[b * BLOCK : (b + 1) * BLOCK]
            turned = numpy.empty((DIMENSIONS, BLOCK))
            best, chosen = numpy.empty(BLOCK), numpy.empty(BLOCK, numpy.int64)
            search(centers, mine, turned, best, chosen)
            for i in range(BLOCK):
                total += best[i]
                for d in range(DIMENSIONS):
                    total += mine[i, d] * mine[i, d]
        return total

    return cost


def numba_choice(numba: Any) -> Function:
    """Blocks of points by all threads."""
    search = numba_search(numba)

    @numba.njit(parallel=True, **OPTIONS)
    def choose(centers, points):
        chosen = numpy.empty(POINTS, numpy.int64)
        for b in numba.prange(POINTS // BLOCK):
            turned, best = numpy.empty((DIMENSIONS, BLOCK)), numpy.empty(BLOCK)
            start, stop = b * BLOCK, (b + 1) * BLOCK
            search(centers, points[start:stop], turned, best, chosen[start:stop])
        return chosen

    return choose


def numba_gradient(numba: Any) -> tuple[Function, Function]:
    choose = numba_choice(numba)

    @numba.njit(**OPTIONS)
    def gradient(centers, points):
        chosen, result = choose(centers, points), numpy.zeros_like(centers)
        for i in range(POINTS):
            for d in range(DIMENSIONS):
                result[chosen[i], d] += 2.0 * (centers[chosen[i], d] - points[i, d])
        return result

    return numba_cost(numba), gradient


def numba_product(numba: Any) -> tuple[Function, Function]:
    cost, choose = numba_cost(numba), numba_choice(numba)

    @numba.njit(**OPTIONS)
    def value(centers, points, direction):
        return cost(centers, points)

    @numba.njit(**OPTIONS)
    def product(centers, points, direction):
        chosen, counts = choose(centers, points), numpy.zeros(CENTERS)
        for i in range(POINTS):
            counts[chosen[i]] += 2.0
        result = numpy.empty_like(direction)
        for j in range(CENTERS):
            for d in range(DIMENSIONS):
                result[j, d] = counts[j] * direction[j, d]
        return result

    return value, product


def inputs() -> Arrays:
    """Points around 100 places; the last points, one for each place, are the centers.

    GradBench's points lie anywhere, some of them midway between two centers, where no second
    derivative exists for the comparison.
    """
    rng = numpy.random.default_rng(0)
    places = rng.uniform(0.0, 1.0, (CENTERS, DIMENSIONS))
    chosen = numpy.append(rng.integers(0, CENTERS, POINTS - CENTERS), numpy.arange(CENTERS))
    points = places[chosen] + 0.03 * rng.normal(size=(POINTS, DIMENSIONS))
    return points[-CENTERS:].copy(), points


def with_ones() -> Arrays:
    centers, points = inputs()
    return centers, points, numpy.ones_like(centers)


KMEANS = Workload(
    name="kmeans",
    derivative_of=f"k-means of {POINTS:,} points in {DIMENSIONS} dimensions, {CENTERS} centers",
    dtype="float64",
    target=None,
    inputs=inputs,
    argnums=(0,),
    primal=primal,
    versions={
        "numba": numba_gradient,
        "numpy": numpy_gradient,
        "torch": torch_primal,
        "pytensor": pytensor_primal,
    },
    # The product of all points with all centers, and a sum, a comparison and a choice for each.
    # It is not a matrix product: with eight columns, BLAS does not reach its rate.
    limit=Limit(flops=POINTS * CENTERS * (2 * DIMENSIONS + 3)),
)
HVP_KMEANS = replace(
    KMEANS,
    name="hvp_kmeans",
    derivative="hvp",
    inputs=with_ones,
    versions={**KMEANS.versions, "numba": numba_product, "numpy": numpy_product},
)

WORKLOADS = (KMEANS, HVP_KMEANS)
