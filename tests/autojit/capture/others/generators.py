"""Generators, iterators of `itertools` and heaps, whose steps depend on traced values."""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np

from .program import program

W = np.array([2.0, 5.0, 1.0, 2.5, 4.0, 1.5, 3.0])


@program((np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),))
def heap_of_k_largest(xs, k=3):
    heap = []
    for x in xs:
        if len(heap) < k:
            heapq.heappush(heap, x)
        elif x > heap[0]:
            heapq.heapreplace(heap, x)
    return sum(heap) + 2 * heap[0]


@program((np.array([0.4, 0.2, 0.1, 0.16, 0.14]),), (np.array([0.2, 0.19, 0.25, 0.15, 0.21]),))
def huffman_cost(p):
    heap = [x for x in p]
    heapq.heapify(heap)
    cost = 0.0
    while len(heap) > 1:
        a = heapq.heappop(heap)
        b = heapq.heappop(heap)
        cost += a + b
        heapq.heappush(heap, a + b)
    return cost


@program((np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),))
def nsmallest(xs):
    a = heapq.nsmallest(2, xs)
    b = heapq.nlargest(2, xs)
    return a[0] + 2 * a[1] + 3 * b[0] * b[1]


@program((2.0,), (10.0,))
def newton_generator(a):
    def iterates(x):
        while True:
            yield x
            x = 0.5 * (x + a / x)

    previous = 0.0
    for x in iterates(a):
        if abs(x - previous) < 1e-12:
            break
        previous = x
    return x


@program((0.5,), (0.9,))
def takewhile_series(x):
    def terms():
        t, k = 1.0, 0
        while True:
            yield t
            k += 1
            t *= x / k

    return sum(itertools.takewhile(lambda t: t > 1e-14, terms()))


@program((np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6]), 2.0))
def sum_of_generator_filtered(xs, t):
    def above():
        for x in xs:
            if x > t:
                yield x - t

    return sum(above())


@program((np.array([1.0, 1.2, 3.0, 3.1, 0.2]), 1.0))
def dropwhile_sum(xs, t):
    return sum(itertools.dropwhile(lambda v: v < t + 0.5, xs))


@program((np.array([0.5, 1.2, 0.3, 2.0, 0.9]), np.array([1.0, 0.8, 1.5, 0.2, 0.7])), by=(0, 1))
def two_servers(gaps, services):
    free = [0.0, 0.0]
    t = waited = 0.0
    for gap, service in zip(gaps, services):
        t += gap
        start = max(t, heapq.heappop(free))
        waited += start - t
        heapq.heappush(free, start + service)
    return waited + max(free)


@program((np.array([1.0, 4.0, 2.0, 3.0, 0.5]),))
def kruskal(w):
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    parent = list(range(4))

    def find(x):
        while parent[x] != x:
            x = parent[x]
        return x

    total = 0.0
    for weight, (a, b) in sorted(zip(w, edges)):
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
            total += weight
    return total


@program((W, 4), (W[::-1].copy(), 3))
def dijkstra_with_a_heap(w, last):
    ends = np.array([[1, 2], [2, 3], [3, 4], [4, 4], [4, 4]])
    edges = np.array([[0, 1], [2, 3], [4, 5], [6, 6], [6, 6]])
    dist = [math.inf] * 5
    dist[0] = 0.0
    queue = [(0.0, 0)]
    while queue:
        d, u = heapq.heappop(queue)
        if d > dist[u]:
            continue
        for k in range(2):
            v = ends[u, k]
            through = d + w[edges[u, k]]
            if through < dist[v]:
                dist[v] = through
                heapq.heappush(queue, (through, v))
    return dist[last]


def _halvings(x):
    while x > 1:
        yield x
        x = x / 2


@program((7.0,), (2.5,))
def consumers_of_a_generator(x):
    total = sum(_halvings(x)) + len(list(_halvings(x))) + next(_halvings(x + 2))
    for v in _halvings(x):
        if v < 3:
            break
        total += v * v
    else:
        total += 100
    for i, (a, b) in enumerate(itertools.pairwise(_halvings(2 * x))):
        total += i * a - b
    return total + max(v * v for v in _halvings(x) if v < 5)


@program((7.3,), (2.5,))
def generator_with_a_counter(x):
    n = 0

    def multiples():
        nonlocal n
        for k in itertools.count():
            if k > x:
                return
            n += 1
            yield k * x

    def with_ends(inner):
        yield x
        yield from inner
        yield -x

    total = 0.0
    for v in with_ends(multiples()):
        total += v * n
    return total + n + sum(itertools.islice(multiples(), 2))


class _Tree:
    def __init__(self, left, value, right):
        self.left, self.value, self.right = left, value, right

    def values(self, limit):
        if self.left is not None:
            yield from self.left.values(limit)
        if self.value < limit:
            yield self.value
        if self.right is not None:
            yield from self.right.values(limit)


@program((1.0, 5.0), (2.0, 4.5), by=(0,))
def values_of_a_tree(x, limit):
    tree = _Tree(_Tree(None, x, None), 2 * x, _Tree(None, 3 * x, None))
    return sum(v * (k + 1) for k, v in enumerate(tree.values(limit)))
