"""Dicts at traced keys: memo tables, counters and caches, beside plain Python."""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

from autojit import errors, grad, jit, vmap

from .outcomes import is_same, outcome


def new_keys(x, n):
    d = {}
    d[n] = x
    d[n + 1] = 2 * x
    d[2] = 5.0
    if n in d:
        d[n] *= 3
    if 7 in d:
        x = x + d[7]
    return d.get(n, 0.0) + d.get(3, 1.0) * 10 + d[2] + x + len(d)


def fibonacci(x, n):
    memo = {0: 0.0, 1: x}
    for k in range(2, n + 1):
        memo[k] = (memo[k - 1] + memo[k - 2]) * 0.75
    return memo[n]


def collatz(x, n):
    memo, s = {}, 0.0
    for start in range(1, n + 1):
        k, steps = start, []
        while k != 1 and k not in memo:
            steps.append(k)
            k = k // 2 if k % 2 == 0 else 3 * k + 1
        length = 0.0 if k == 1 else memo[k]
        while steps:
            length += x
            memo[steps.pop()] = length
        s += length
    return s


def counted(x, n):
    count = {}
    for k in range(20):
        key = k * k % (n + 1)
        count[key] = count.get(key, 0) + 1
    t = 0.0
    for key, v in count.items():
        t = t * x + key * v
    return t + 100 * len(count) + max(count.values()) + sum(count.values())


def of_pairs(x, n):
    memo = {}
    for i in range(5):
        for j in range(4):
            key = i * n % 3, j % 2
            if key in memo:
                memo[key] += x * i
            else:
                memo[key] = x - j
    t = 0.0
    for (i, j), v in memo.items():
        t += v * (i + 2 * j)
    return t


def subset_sums(x, n):
    table = {0: 1.0}
    for k in range(4):
        step, longer = k * n, defaultdict(float)
        for s, c in table.items():
            longer[s] += c
            longer[s + step] += c * 0.5 * x
        table = longer
    return sum(s * c for s, c in table.items()) + len(table)


def deleted(x, n):
    d, i = {}, 0
    while i < n:
        d[i * 7 % 5] = x + i
        i += 1
    a, b = d.pop(3, -1.0), d.pop(1)
    t = 0.0
    for k in d:
        t = t * 2 + k + d[k]
    del d[0]
    d[1] = 9.0
    for k, v in d.items():
        t = t * 2 + k * v
    k, v = d.popitem()
    return t + a * 3 + b + len(d) + k * v


def defaults(x, n):
    d, e = {}, defaultdict(float)
    for i in range(20):
        d.setdefault(i % n, x * i)
        e[i % 3 * n] += x
    return sum(d.values()) + max(d) + d.get(100, 5.0) + len(e) + max(e.values()) + e[n]


def of_tuples(x, n):
    memo = {}
    for i in range(n):
        memo[i] = x * i, i
    t = 0.0
    for i in range(n):
        a, b = memo[i]
        t += a * b
    return t


def of_arrays(x, n):
    memo = {}
    for i in range(n):
        memo[i] = np.array([x, 2 * x]) * i
    return np.sum(memo[n - 1] + memo[0])


def on_one_way(x, n):
    a, b = {}, {}
    b[3] = x
    if n > 2:
        a[n] = 2 * x
        c = a
    else:
        c = b
    return c.get(3, 0.5) + len(c)


def in_comprehensions(x, n):
    d = {}
    for i in range(n):
        d[i * i] = x + i
    e = [k * v for k, v in d.items() if v > 1]
    found = sum(v for v in d.values()) + len(sorted(d)) + sum(k for k in d)
    return sum(e) + found + (4 in d) + sum(v for k, v in sorted(d.items()))


def of_another_kind(x, n):
    c, o = Counter(), OrderedDict()
    for i in range(6):
        c[i * n % 4] += 1
        o[i * n % 3] = x * i
    return c[2] * 10 + c[99] + len(c) + sum(o.values()) * x


def closed_over(x, n):
    memo = {}

    def step(k):
        if k in memo:
            return memo[k]
        memo[k] = k * x
        return memo[k]

    t = 0.0
    for i in range(n):
        t += step(i % 3)
    return t + len(memo)


def copied(x, n):
    d, e = {5: 1.0}, {}
    e[n] = x
    e[n + 1] = 2 * x
    d.update(e)
    f, g = d.copy(), dict(d)
    f[n] = 0.0
    d.clear()
    d[n] = 7.0
    both = n in f and 5 in g
    return f[n] + g[n] * x + g[n + 1] + len(d) + d.get(5, 0.25) + both


def known_pairs(x, n):
    d = {(0, 1): 1.0, (2, 3): x, "name": 3.0}
    t = 0.0
    if (n, n + 1) in d:
        t = d[n, n + 1]
    return t + d.get((n, 1), 0.125) + d["name"]


def conditional_key(x, n):
    d = {}
    if x > 1:
        d[4] = x
    if x > 2:
        d[2] = 3.0
    d[n] = 5.0 * x
    t = 0.0
    for k, v in d.items():
        t = t * 2 + k * v
    return t


def changed_values(x, n):
    d = {1: x, 2: 2.0}
    d[n] = 3.0
    t = 0.0
    for v in d.values():
        t += v
        d[2] = 10.0
    return t


def grown_in_a_loop(x, n):
    d = {}
    d[n] = x
    for k in d:
        d[k + 1] = 2.0
    return x


def missing(x, n):
    d = {}
    d[n] = x
    return d[n * n]


def handled(x, n):
    d = {}
    d[n] = x
    try:
        return d[n * n] * x
    except KeyError:
        return -x


FUNCTIONS = [
    new_keys, fibonacci, collatz, counted, subset_sums, deleted, defaults, of_tuples,
    of_arrays, on_one_way, in_comprehensions, of_another_kind, closed_over, copied, known_pairs,
    conditional_key, changed_values, grown_in_a_loop, missing, handled,
    pytest.param(of_pairs, marks=pytest.mark.slow),
]  # fmt: skip


# -- recursion ------------------------------------------------------------------------------


def recursive(x, n):
    memo = {}

    def fib(k):
        if k < 2:
            return x * k
        if k in memo:
            return memo[k]
        memo[k] = fib(k - 1) + fib(k - 2) * 0.5
        return memo[k]

    return fib(n) + len(memo) + sum(memo.values())


def with_known_keys(x, n):
    memo = {0: 0.0, 1: x}

    def fib(k):
        if k not in memo:
            memo[k] = fib(k - 1) + fib(k - 2)
        return memo[k]

    return fib(n) + len(memo)


def common_subsequence(x, n):
    a, b, memo = np.array([1, 2, 3, 4, 2, 2, 1]), np.array([2, 3, 1, 4, 2]), {}

    def longest(i, j):
        if i == n or j == 5:
            return 0.0
        if (i, j) in memo:
            return memo[i, j]
        if a[i] == b[j]:
            found = x + longest(i + 1, j + 1)
        else:
            found = max(longest(i + 1, j), longest(i, j + 1))
        memo[i, j] = found
        return found

    return longest(0, 0)


def passed_on(x, n):
    def fib(k, memo):
        if k in memo:
            return memo[k]
        found = fib(k - 1, memo) + fib(k - 2, memo)
        memo[k] = found
        return found

    return fib(n, {0: 0.0, 1: x})


def calls_counted(x, n):
    calls = {}

    def visit(k):
        calls[k] = calls.get(k, 0) + 1
        if k > 1:
            visit(k - 1)
            visit(k - 3)
        return 0

    visit(n)
    t = 0.0
    for k, v in calls.items():
        t = t * 2 + k * v * x
    return t + len(calls)


class Solver:
    def __init__(self, x):
        self.memo, self.x = {}, x

    def fib(self, k):
        if k < 2:
            return self.x * k
        if k in self.memo:
            return self.memo[k]
        found = self.fib(k - 1) + self.fib(k - 2) * 0.25
        self.memo[k] = found
        return found


def of_an_object(x, n):
    return Solver(x).fib(n)


def cached(x, n):
    @functools.lru_cache
    def fib(k):
        if k < 2:
            return x * k
        return fib(k - 1) + fib(k - 2) * 0.5

    return fib(n)


def cached_pairs(x, n):
    @functools.cache
    def paths(i, j):
        if i == 0 or j == 0:
            return x
        return paths(i - 1, j) + paths(i, j - 1)

    return paths(n, 4)


def run_through(x, n):
    memo = {}

    def total(k):
        if k < 2:
            return x
        memo[k] = total(k - 1)
        if k % 3 == 0:
            del memo[k - 1]
        return sum(memo.values())

    return total(n) + len(memo)


def table_of_each_call(x, n):
    def total(k):
        if k < 2:
            return x
        mine = {}
        mine[k % 3] = total(k - 1)
        mine[k % 2] = x * mine[k % 3]
        return sum(mine.values())

    return total(n)


def table_bound_anew(x, n):
    memo = {}

    def total(k):
        nonlocal memo
        if k < 2:
            return x
        memo[k] = total(k - 1)
        found = sum(memo.values())
        if k == 4:
            memo = {}
        return found

    return total(n) + len(memo)


RECURSIVE = [
    recursive, with_known_keys, passed_on, calls_counted, of_an_object, cached, cached_pairs,
    run_through, table_of_each_call, table_bound_anew,
    pytest.param(common_subsequence, marks=pytest.mark.slow),
]  # fmt: skip


def _check(f, ns):
    compiled, derived = jit(f), jit(grad(f))
    for n in ns:
        expected, found = outcome(f, (1.5, n)), outcome(compiled, (1.5, n))
        assert is_same(expected, found), (f.__name__, n, expected, found)
        if expected[0] == "value":
            slope = (f(1.5 + 1e-6, n) - f(1.5 - 1e-6, n)) / 2e-6
            np.testing.assert_allclose(derived(1.5, n), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_and_derivatives(f):
    _check(f, (3, 1, 2, 7))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("f", RECURSIVE)
def test_recursion(f):
    _check(f, (5, 1, 7))


def test_a_cache_makes_the_calls_of_a_recursion_few():
    @functools.lru_cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert jit(fib)(80) == fib(80)  # 4e16 calls without the cache


def test_each_element_of_a_batch_has_its_own_table():
    found = vmap(jit(new_keys), (0, None))(np.array([0.5, 2.0]), 3)
    np.testing.assert_allclose(found, [new_keys(0.5, 3), new_keys(2.0, 3)])


def test_a_table_has_room_for_many_keys():
    def many(x, n):
        d = {}
        for k in range(n):
            d[k * k] = x * k
        return sum(d.values()) + len(d)

    compiled = jit(many)
    assert compiled(0.5, 16_384) == many(0.5, 16_384)
    with pytest.raises(OverflowError, match="16384"):
        compiled(0.5, 16_385)


GLOBAL = {2: 5.0}


def in_a_global(x, n):
    GLOBAL[n] = x
    return GLOBAL[n] * 2


def in_a_default(x, n, memo={}):  # noqa: B006
    memo[n] = x
    return memo[n] * 2


def test_tables_that_outlive_the_call_are_refused_and_restored():
    with pytest.raises(errors.LeakedTracerError, match="the global variable `GLOBAL`"):
        jit(in_a_global)(1.0, 3)
    with pytest.raises(errors.LeakedTracerError, match="the default of the argument `memo`"):
        jit(in_a_default)(1.0, 3)
    assert GLOBAL == {2: 5.0}
    assert in_a_default.__defaults__ == ({},)

    def of_argument(d, n):
        d[n] = 1.0
        return d[n]

    with pytest.raises(errors.ArgumentChangedError, match="it gets a traced key"):
        jit(of_argument)({1: 2.0}, 3)

    def half_way(x, n):
        GLOBAL[n] = x
        return str(x) + 1

    with pytest.raises(TypeError):
        jit(half_way)(1.0, 3)
    assert GLOBAL == {2: 5.0}


def _of_lists(n):
    d = {}
    d.setdefault(n, []).append(1.0)
    return len(d)


def _of_strings(n):
    d = {"a": 1.0}
    d[n] = 2.0
    return d[n]


def _of_two_forms(n):
    d = {}
    d[n] = 1.0
    d[n, n] = 2.0
    return d[n]


def _by_float(n):
    d = {}
    d[n * 0.5] = 1.0
    return len(d)


def _displayed(n):
    d = {}
    d[n] = 1.0
    return len({**d})


def _cached_floats(n):
    @functools.lru_cache
    def fib(n, x):
        return x if n < 2 else fib(n - 1, x) + fib(n - 2, x)

    return fib(n, n * 0.5)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (_of_lists, "its values are not numbers"),
        (_of_strings, "of one form"), (_of_two_forms, "of one form"), (_by_float, "traced key"),
        (_displayed, "are traced values"), (_cached_floats, "arguments that are not integers"),
    ],
)  # fmt: skip
def test_what_is_refused(f, words):
    with pytest.raises(errors.AutojitError, match=words):
        jit(f)(5)
