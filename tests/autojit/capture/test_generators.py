"""Generators that are asked for their elements one at a time."""

from __future__ import annotations

import inspect
import itertools
import types
from collections.abc import Iterator

import numba
import numpy as np
import pytest

from autojit import grad, jit
from autojit.capture.runs import active
from autojit.errors import AutojitError, CaptureError

from .outcomes import is_same, outcome

X = np.array([0.9, 2.5, -1.0, 3.1, 4.0])


def powers(x):
    t = 1.0
    while t > 1e-3:
        yield t
        t = t * x


def count_to(n):
    for i in range(n):
        yield i * 1.5


def elements_and_default(x):
    g = powers(x)
    return next(g) + 2 * next(g) + 3 * next(g, 0.0)


def asked_in_a_branch(x):
    g = powers(x)
    if x > 0.3:
        next(g)
    return next(g) * 2 + next(g)


def until_none(x, n):
    g = count_to(n)
    s = 0.0
    while True:
        v = next(g, None)
        if v is None:
            break
        s += v * x
    return s


def until_it_stops(x, n):
    g = count_to(n)
    s = x
    while True:
        try:
            v = next(g)
        except StopIteration:
            break
        s = s * 0.5 + v
    return s


def stopped_outside(x, n):
    it = iter(range(n))
    s = 0.0
    try:
        while True:
            s += next(it) * x
    except StopIteration:
        s += 100
    return s


def left_and_asked_again(x):
    g = powers(x)
    s = 0.0
    for v in g:
        if v < 0.3:
            break
        s += v
    return s + 10 * next(g)


def asked_in_its_loop(x):
    it = iter(x)
    s = 0.0
    for a in it:
        if a > 2:
            s += a * next(it, 1.0)
    return s


def window(x):
    it = iter(x)
    a, b = next(it), next(it)
    s = 0.0
    for c in it:
        if c > 0:
            s += a * b * c
        a, b = b, c
    return s


def running_mean(x):
    def mean():
        total, count, found = 0.0, 0, None
        while True:
            v = yield found
            total += v
            count += 1
            found = total / count

    means = mean()
    next(means)
    s = 0.0
    for v in x:
        if v > 1.0:
            s = 2 * s + means.send(v)
    return s


def delegated(x, n):
    def part():
        for i in range(n):
            yield i * x
        return n * 100.0

    def whole():
        yield x
        found = yield from part()
        yield found

    g, s = whole(), 0.0
    for _ in range(5):
        s = s * 2 + next(g, -1.0)
    return s


def delegated_to_arrays(x, n):
    def rows():
        for i in range(n):
            if i > 1:
                yield from x[:2]
            else:
                yield from x[:1]

    g, s = rows(), 0.0
    while s < 20 and s > -20:
        s = 1.5 * s + next(g, 1.0)
    return s


def value_of_the_end(x, n):
    def once():
        yield x
        return n * x

    g = once()
    next(g)
    try:
        next(g)
    except StopIteration as stop:
        return stop.value


def round_robin(x, n):
    parts = [count_to(n), powers(x), count_to(2)]
    s, live = 0.0, 3
    while live:
        live = 0
        for part in parts:
            v = next(part, None)
            if v is not None:
                live += 1
                s = s * 0.9 + v
    return s


class Walker:
    def __init__(self, x, n):
        self.steps = self.walk(x, n)
        self.last = 0.0

    def walk(self, x, n):
        for i in range(n):
            self.last = self.last + x
            yield self.last * i

    def go(self):
        return next(self.steps, -1.0)


def attribute(x, n):
    walker, s = Walker(x, n), 0.0
    while -1 < s < 10:
        s += walker.go() + 0.5
    return s + walker.last


def bound_anew(x, n):
    g, s = count_to(3), 0.0
    for i in range(n):
        s += next(g, 5.0)
        g = count_to(i)
        s = s * x + next(g, 2.0)
    return s + next(g, 9.0)


def one_of_two(x, c):
    g = powers(x) if c > 0 else count_to(5)
    next(g)
    return next(g) + x


def none_at_first(x, n):
    g = None
    if x > 0:
        g = count_to(n)
    if g is None:
        return x
    next(g)
    return next(g, x)


def expression(x):
    g = (v * v for v in x if v > 1)
    return next(g, 0.0) + 2 * next(g, 0.0) + 4 * next(g, 0.5)


def random_numbers(x, n):
    def stream(seed):
        while True:
            seed = (1103515245 * seed + 12345) % 2147483648
            yield seed / 2147483648

    numbers, s = stream(n), 0.0
    while s < 3:
        s += next(numbers) * x
    return s


def nth_prime(n):
    def primes():
        k = 2
        while True:
            for d in range(2, k):
                if k % d == 0:
                    break
            else:
                yield k
            k += 1

    found, g = 0, primes()
    for _ in range(n):
        found = next(g)
    return found


def raises(x, n):
    def checked():
        for i in range(n):
            if x > i + 1:
                raise ValueError("too large")
            yield x

    g, s = checked(), 0.0
    try:
        while True:
            s += next(g)
    except ValueError:
        s += 100
    except StopIteration:
        s += 1000
    return s + next(g, 7.0)


def in_a_try(x):
    def roots():
        for v in x:
            try:
                if v < 0:
                    raise ValueError
                yield v**0.5
            except ValueError:
                yield 0.0

    g, s = roots(), 0.0
    while True:
        v = next(g, None)
        if v is None:
            return s
        s = 2 * s + v


def stop_in_a_generator(x, n):
    def doubled(it):
        while True:
            yield next(it) * 2

    g = doubled(iter(x[:n]))
    return next(g) + next(g) + next(g)


def list_in_a_branch(x):
    it = iter([1.0, 2.0, 3.0])
    if x > 0:
        next(it)
    return next(it) * x


def expression_in_a_branch(x):
    it = (k * x for k in range(4))
    if x > 0:
        next(it)
    return next(it) + sum(it)


def closed(x, n):
    g = count_to(n)
    s = next(g, 1.0) * x
    if x > 1:
        g.close()
    return s + next(g, 3.0)


def cut_twice(x):
    g = powers(x)
    s = sum(itertools.islice(g, 2))
    return s + 10 * sum(itertools.takewhile(lambda v: v > 0.1, g)) + 100 * next(g, 0.0)


def counter(x, n):
    c, s = itertools.count(1, 2), 0.0
    while s < n:
        s += next(c) * x
    return s + next(c)


def alternates(x, n):
    """Two sorted sequences, merged."""
    a, b = count_to(n), iter(x)
    u, v, s, k = next(a, None), next(b, None), 0.0, 0
    while u is not None or v is not None:
        k += 1
        if v is None or (u is not None and u <= v):
            s += k * u
            u = next(a, None)
        else:
            s += k * v
            v = next(b, None)
    return s


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (elements_and_default, (0.5,)), (elements_and_default, (0.01,)),
        (asked_in_a_branch, (0.5,)), (asked_in_a_branch, (0.2,)),
        (until_none, (2.0, 4)), (until_none, (2.0, 0)), (until_it_stops, (2.0, 5)),
        (stopped_outside, (2.0, 3)), (left_and_asked_again, (0.6,)), (asked_in_its_loop, (X,)),
        (window, (X,)), (running_mean, (X,)), (delegated, (2.0, 3)), (delegated, (2.0, 1)),
        (delegated_to_arrays, (X, 4)), (value_of_the_end, (2.0, 3)), (round_robin, (0.5, 4)),
        (attribute, (1.0, 4)), (bound_anew, (1.0, 3)), (one_of_two, (0.5, 1)),
        (one_of_two, (0.5, -1)), (none_at_first, (1.0, 3)), (none_at_first, (-1.0, 3)),
        (none_at_first, (1.0, 1)), (expression, (X,)), (expression, (0.1 * X,)),
        (random_numbers, (0.5, 7)), (nth_prime, (10,)), (raises, (0.5, 3)), (raises, (1.5, 3)),
        (in_a_try, (X,)), (stop_in_a_generator, (X, 3)), (stop_in_a_generator, (X, 2)),
        (closed, (2.0, 3)), (closed, (0.5, 3)), (cut_twice, (0.6,)), (counter, (0.5, 9)),
        (list_in_a_branch, (2.0,)), (list_in_a_branch, (-2.0,)), (expression_in_a_branch, (2.0,)),
        (expression_in_a_branch, (-2.0,)),
        (alternates, (np.abs(X) + 0.01, 3)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_as_in_python(f, args):
    want = outcome(f, args)
    assert is_same(outcome(jit(f), args), want)
    if want[0] == "value" and not isinstance(args[0], int):
        found = jit(grad(f))(*args)
        h = 1e-6
        if np.ndim(args[0]):
            steps = h * np.eye(len(args[0]))
            slopes = [(f(args[0] + e, *args[1:]) - f(args[0] - e, *args[1:])) / (2 * h)
                      for e in steps]  # fmt: skip
        else:
            slopes = (f(args[0] + h, *args[1:]) - f(args[0] - h, *args[1:])) / (2 * h)
        np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-6)


def thrown(x):
    g = powers(x)
    next(g)
    return g.throw(ValueError("no"))


def in_a_with(x):
    def quiet():
        with np.errstate(all="ignore"):
            while x > 0:
                yield x

    g = quiet()
    return next(g) + next(g)


@pytest.mark.parametrize(
    ("f", "words"),
    [(thrown, r"steps.send\(None\)"), (in_a_with, "a yield in with, or in a try with finally")],
)
def test_refused(f, words):
    with pytest.raises(AutojitError, match=words):
        jit(f)(0.5)


def test_type_tests_see_a_generator():
    def f(x):
        g = powers(x)
        found = (
            isinstance(g, types.GeneratorType), inspect.isgenerator(g), isinstance(g, Iterator),
            type(g) is types.GeneratorType, iter(g) is g, hasattr(g, "send"), callable(g),
        )  # fmt: skip
        return sum(found) + x

    assert jit(f)(0.5) == f(0.5) == 6.5


@numba.njit
def uniform(seed):
    while True:
        seed = (1103515245 * seed + 12345) % 2147483648
        yield seed / 2147483648


def test_a_generator_of_numba():
    def f(n):
        numbers, s = uniform(7), 0.0
        for _ in range(n):
            s = s * 0.5 + next(numbers)
        return s

    assert [jit(f)(n) for n in (3, 10, 1000)] == [f(n) for n in (3, 10, 1000)]


def test_a_generator_is_no_result():
    with pytest.raises(AutojitError, match=r"return \[2 \* v for v in x\]"):
        jit(powers)(0.5)
    with pytest.raises(AutojitError, match="computes nothing yet"):
        jit(lambda x: powers(x))(0.5)


def test_a_condition_of_a_loop_that_changes_something():
    class Counter:
        def __init__(self):
            self.count = 0

        def is_below(self, x):
            self.count += 1
            return self.count < x

    def f(x):
        counter, s = Counter(), 0.0
        while counter.is_below(x):
            s += counter.count * x
        return s + 100 * counter.count

    assert jit(f)(3.5) == f(3.5)
    np.testing.assert_allclose(jit(grad(f))(3.5), 6.0)


def bound_list(x):
    if x > 0:
        ys = [x, 2 * x]
    ys[0] = 5 * x
    return ys[0] + ys[1]


def bound_dict(x):
    if x > 0:
        d = {"a": x}
    d["a"] = 5 * x
    d["a"] += 1
    return d["a"]


def bound_outer_list(x):
    xs = [x, 2 * x]
    if x > 0:
        ys = xs
    if x > 0:
        ys[0] = 5 * x
    return xs[0] + xs[1]


class Point:
    def __init__(self, x):
        self.x = x


def bound_object(x):
    if x > 0:
        p = Point(x)
    p.x = 5 * x
    p.x += 1
    return p.x


@pytest.mark.parametrize("x", [2.0, -2.0])
@pytest.mark.parametrize("f", [bound_list, bound_dict, bound_outer_list, bound_object])
def test_containers_that_are_bound_on_one_way_and_changed(f, x):
    assert is_same(outcome(jit(f), (x,)), outcome(f, (x,)))


def nested_steps(x):
    for i in range(3):
        if x > i:
            yield x * i
        for k in range(3):
            if x > k:
                yield x + k


def test_many_places_are_refused_with_the_line_and_a_way_out(monkeypatch):
    def f(x):
        values, s = nested_steps(x), 0.0
        if x > 1:
            s += next(values)
        if x > 2:
            s += next(values)
        return s + next(values)

    def in_one_loop(x):
        s = 0.0
        for value in nested_steps(x):
            s += value
        return s

    assert jit(f)(2.5) == f(2.5)
    monkeypatch.setattr(active, "MOST_BLOCKS", 20)
    with pytest.raises(CaptureError, match=r"the generator of `nested_steps` is") as caught:
        jit(f)(2.5)
    assert "values = list(steps)" in str(caught.value)
    assert "in nested_steps" in str(caught.value)
    assert jit(in_one_loop)(2.5) == in_one_loop(2.5)
