"""Functions of the standard library on lists of traced length, and dicts at traced keys."""

from __future__ import annotations

import collections
import copy
import functools
import heapq
import itertools
import math
import operator
import statistics

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import AutojitError

X = np.array([3.0, 1.1, 4.0, 1.5, 9.0, 2.6])


def large(x):
    """The elements above 2."""
    found = []
    for v in x:
        if v > 2:
            found.append(v)
    return found


def pairs(x):
    return [(v, 20 - v * v) for v in large(x)]


def copied(x):
    a = large(x)
    b, c = copy.copy(a), copy.deepcopy(a)
    b.append(1.0)
    c[0] = 5.0
    return sum(a) + 2 * sum(b) + 3 * sum(c) + len(b)


def sorted_by_pairs(x):
    found = pairs(x)
    found.sort(key=lambda p: (p[0] > 3.5, -p[1]))
    return found[0][1] * 2 + found[1][0]


def spliced(x):
    a = large(x)
    a[1:3] = [x[1], 7.0, x[3]]
    a[-1:] = large(x[:3])
    del a[0:1]
    return sum(i * v for i, v in enumerate(a)) + len(a)


def first_of_a_queue(x):
    queue = [x[0]]
    while queue:
        v = queue.pop()
        if v > 20:
            return v * x[1]
        for w in x[2:4]:
            if v < 25:
                queue.append(v + w)
    return -1.0


def rows(x):
    found = []
    for k, v in enumerate(x):
        if v > 2:
            found.append(x * k)
    return found


FUNCTIONS = {
    "sum of arrays": lambda x: sum(rows(x))[1],
    "sum of arrays from an array": lambda x: sum(rows(x), x)[0] + sum(rows(x), start=x[0])[2],
    "sum of arrays from a matrix": lambda x: sum(rows(x), np.ones((2, 6)))[1, 3],
    "sum of a generator of arrays": lambda x: sum(2 * r for r in rows(x))[1] / len(rows(x)),
    "max of arrays by a key": lambda x: max(rows(x), key=lambda r: r[1])[0],
    "mean of arrays": lambda x: np.mean(rows(x), axis=0)[1] + np.sum(rows(x), axis=0)[2],
    "max of arrays": lambda x: np.max(rows(x), axis=0)[1],
    "fsum": lambda x: math.fsum(large(x)),
    "first of a queue": first_of_a_queue,
    "min by a key": lambda x: min(large(x), key=lambda v: (v - 4.2) ** 2),
    "max by a key": lambda x: max(pairs(x), key=lambda p: -p[1])[0],
    "max of pairs": lambda x: max(pairs(x))[1],
    "default": lambda x: min([v for v in x if v > 10], key=abs, default=7.0) * x[0],
    "copies": copied,
    "reduce": lambda x: functools.reduce(lambda a, b: a * b + 1, large(x)),
    "reduce from": lambda x: functools.reduce(operator.add, large(x), 2.0),
    "chain": lambda x: sum(v * v for v in itertools.chain(large(x), large(x[::2]), [1.0])),
    "accumulate": lambda x: list(itertools.accumulate(large(x), operator.mul))[-1],
    "accumulate from": lambda x: sum(itertools.accumulate(large(x), initial=2.0)),
    "map": lambda x: sum(map(math.sin, large(x))),
    "map of two": lambda x: sum(map(lambda a, b: a * b, large(x), large(x)[1:])),
    "pairwise": lambda x: sum(b * a for a, b in itertools.pairwise(large(x))),
    "islice": lambda x: sum(itertools.islice(large(x), 1, 3)),
    "starmap": lambda x: sum(itertools.starmap(lambda a, b: a * b, pairs(x))),
    "iter": lambda x: next(iter(large(x))),
    "sorted by a key": lambda x: sorted(large(x), key=lambda v: -v)[1],
    "sorted pairs": lambda x: sorted(pairs(x), reverse=True)[1][1],
    "sorted by pairs": sorted_by_pairs,
    "splices": spliced,
    "largest by a key": lambda x: heapq.nlargest(2, list(x), key=lambda v: (v - 4.2) ** 2)[1],
    "smallest by a key": lambda x: heapq.nsmallest(3, large(x), lambda v: -v)[2],
    "median": lambda x: statistics.median(large(x)) + statistics.median(large(x[:4])),
    "statistics": lambda x: statistics.stdev(large(x)) + statistics.pvariance(large(x)),
}


def by_differences(f, x, *more):
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + h, *more) - f(x - h, *more)) / 2e-6 for h in steps])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_gradient(name):
    f = FUNCTIONS[name]
    for x in (X, X[::-1].copy()):
        np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(jit(grad(f))(x), by_differences(f, x), rtol=1e-6, atol=1e-6)


NAMES = (
    "mean", "fmean", "median", "median_low", "median_high", "variance", "pvariance", "stdev",
    "pstdev",
)  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_statistics_of_few_numbers(name):
    function = getattr(statistics, name)

    def f(x):
        return function(large(x))

    compiled = jit(f)
    for x in ([1.0, 0.0, 0.5], [3.0, 1.0, 0.5], [4.0, 1.0, 3.0], [4.0, 9.0, 3.0]):
        try:
            wanted = f(np.array(x))
        except statistics.StatisticsError as error:
            with pytest.raises(statistics.StatisticsError, match=str(error)):
                compiled(np.array(x))
        else:
            np.testing.assert_allclose(compiled(np.array(x)), wanted, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.float32, np.bool_])
def test_the_order_of_every_type(dtype):
    def f(x):
        found = [v for v in x if v != 7]
        down, up = sorted(found, reverse=True), sorted(found)
        return down[0], down[1], down[2], up[0], up[1], max(found), min(found)

    if np.dtype(dtype).kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    else:
        least, most = 0, 1
    x = np.array([1, least, most, 0]).astype(dtype)
    np.testing.assert_array_equal(jit(f)(x), f(x))


@pytest.mark.parametrize("find", [max, min])
def test_extremes_are_the_first_as_in_python(find):
    def of_a_list(x):
        return find([v for v in x if not v < 0])

    def of_a_dict(x):
        return find({i: v for i, v in enumerate(x) if not v < 0}.values())

    nan = math.nan
    for f in (of_a_list, of_a_dict):
        compiled, slope = jit(f), jit(grad(f))
        for x in ([1.0, nan, 2.0], [nan, 1.0, 2.0], [-1.0, nan, 3.0], [-1.0, 3.0, nan]):
            np.testing.assert_array_equal(compiled(np.array(x)), f(x))
        assert slope(np.array([0.5, 0.5, 0.5])).tolist() == [1.0, 0.0, 0.0]
        assert slope(np.array([-0.5, 0.5, 0.5])).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("find", [max, min])
@pytest.mark.parametrize(
    "key",
    [None, lambda r: r[0], lambda r: (r[0], r[2]), lambda r: (r[2], r[0]), lambda r: r[0] > 1],
)
def test_extremes_by_keys_that_are_nan(find, key):
    """NaN stays if it comes first, and is never taken otherwise, also within tuples."""

    def f(x):
        rows = []
        for i, v in enumerate(x):
            if v > -2 or v != v:
                rows.append((v * 1.0, i, v * v))
        return find(rows, key=key)[1]

    compiled, rng = jit(f), np.random.default_rng(3)
    for _ in range(40):
        x = rng.choice([0.5, 1.0, 2.0, -1.0, 3.0, math.nan, math.inf], 6)
        assert compiled(x) == f(x), x


def test_nothing_in_a_list():
    for f, words in (
        (lambda x: max(large(x), key=lambda v: -v), "empty"),
        (lambda x: functools.reduce(operator.add, large(x)), r"reduce\(\) of empty"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            jit(f)(np.array([1.0, 0.5]))


def test_types_of_sums():
    def kinds(n, x):
        counts, flags, narrow = [], [], []
        for k in range(n):
            if k % 3 != 1:
                counts.append(k)
                flags.append(x > k)
                narrow.append((x * k).astype(np.int8))
        return sum(counts), math.fsum(counts), sum(flags), sum(narrow)

    x = np.array([1.0, 2.5, -3.0])
    for found, wanted in zip(jit(kinds)(8, x), kinds(8, x), strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype


def test_sums_of_no_arrays():
    """They begin with an array of the same shape, or the code fails: Python's sum is a number."""
    few = np.ones(6)
    np.testing.assert_array_equal(jit(lambda x: sum(rows(x), x))(few), few)
    for f in (lambda x: sum(rows(x)), lambda x: sum(rows(x), x[0])):
        with pytest.raises(ValueError, match="adds up no arrays at all"):
            jit(f)(few)


def test_splices_take_every_place():
    def f(x, i, j, k):
        a, b, c = large(x), large(x), large(x)
        a[i:j] = [1.0, 2.0]
        del b[i:j]
        c[i:] = large(x[:2])
        c[k:k] = [5.0]
        return [sum(n * v for n, v in enumerate(each, 1)) + len(each) for each in (a, b, c)]

    compiled, rng = jit(f), np.random.default_rng(0)
    for _ in range(100):
        x, places = rng.uniform(0, 5, 7), map(int, rng.integers(-8, 8, 3))
        i, j, k = places
        np.testing.assert_allclose(compiled(x, i, j, k), f(x, i, j, k), rtol=1e-12)


# -- dicts --------------------------------------------------------------------------------


def got(x, k):
    return {0: x[0], 4: x[1] ** 2}.get(k, x[2]) * 2


def got_none(x, k):
    v = {0: x[0], 4: x[1] ** 2}.get(k)
    return x[2] if v is None else v


def changed(x, k):
    d = collections.OrderedDict({0: x[0], 4: x[1] ** 2, -3: x[2]})
    d[k] = d[k] * x[2]
    d[k] += x[0]
    return d[0] * 2 + d[4] + 3 * d[-3]


def asked(x, k):
    d = {0: x[0], 4: x[1] ** 2}
    return d[k] if k in d else x[2]


def machine(x, k):
    following, weight = {0: 1, 1: 2, 2: 0}, {0: 1.0, 1: -2.0, 2: 0.5}
    state, t = k % 3, 0.0
    while t < 10 * x[0]:
        t += abs(weight[state]) * x[1]
        state = following[state]
    return t


DICTS = (got, got_none, changed, asked, machine)


@pytest.mark.parametrize("f", DICTS)
def test_dicts_at_traced_keys(f):
    x = np.array([1.55, 2.5, 0.3])
    compiled, derived = jit(f), jit(grad(f))
    for k in (0, 4, -3) if f is changed else (0, 4, 9):
        np.testing.assert_allclose(compiled(x, k), f(x, k), rtol=1e-12)
        np.testing.assert_allclose(derived(x, k), by_differences(f, x, k), rtol=1e-6, atol=1e-6)


def test_keys_that_a_dict_lacks():
    with pytest.raises(KeyError, match="does not have"):
        jit(lambda x, k: {0: x, 1: 2 * x}[k])(1.0, 2)

    def grown(x, k):
        d = {0: x}
        d[k] = 2 * x
        return d[0]

    assert jit(grown)(1.0, 0) == 2.0
    assert jit(grown)(1.0, 1) == 1.0


def test_other_dicts_are_refused():
    with pytest.raises(AutojitError):
        jit(lambda x: {0.5: 1.0, 1.0: 2.0}[x])(1.0)
