"""Comprehensions over many elements are loops of the compiled code, as `for` is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autojit import grad, jit

X = np.random.default_rng(0).uniform(size=1000)


def squares(x):
    return sum(v * v for v in x)


def some_squares(x):
    return sum(v * v for v in x if v > 0.1)


def squares_of_a_list(x):
    return sum([v * v if v > 0.5 else -v for v in x])


def rises(x):
    return sum(x[i] * x[i - 1] for i in range(1, len(x)) if x[i] > x[i - 1])


def of_pairs(x):
    return sum(a * b for a, b in zip(x[1:], x[:-1]) if a > b)  # noqa: B905


def numbered(x):
    return sum(i * v for i, v in enumerate(x) if v > 0.5)


def largest(x):
    return max(v * (1 - v) for v in x)


def least_of_some(x):
    return min((v for v in x if v > 2), default=x[0])


def mean_of_some(x):
    kept = [v for v in x if v > 0.3]
    return sum(kept) / len(kept)


def as_array(x):
    return np.sum(np.array([math.sin(v) for v in x])[::7])


def product(x):
    return math.prod(1 + v / 1000 for v in x)


def ends(x):
    first, *rest = [v * 2 for v in x]
    return first + rest[-1] * len(rest)


DIFFERENTIABLE = [
    squares, some_squares, squares_of_a_list, rises, of_pairs, numbered, largest, least_of_some,
    mean_of_some, as_array, product, ends,
]  # fmt: skip


@pytest.mark.parametrize("f", DIFFERENTIABLE)
def test_values_and_derivatives(f):
    compiled = jit(f)
    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-12)
    assert compiled.cache_info().loops == 1
    slope = jit(grad(f))(X)
    for place in (0, 1, 500, len(X) - 1):
        moved = np.zeros_like(X)
        moved[place] = 1e-6
        difference = (f(X + moved) - f(X - moved)) / 2e-6
        np.testing.assert_allclose(slope[place], difference, rtol=1e-5, atol=1e-5)


def of_appended(x):
    found, state = [], 0.0
    for v in x:
        state = 0.9 * state + v
        found.append(state)
    return np.sum(np.array(found) ** 2)


def test_the_code_does_not_grow_with_the_number_of_elements():
    def lines(f, n):
        return jit(f).lower(np.ones(n)).text("trace").count("\n")

    for f in (some_squares, rises, largest, mean_of_some, as_array, of_appended):
        assert lines(f, 20_000) <= lines(f, 1000)
        assert lines(grad(f), 20_000) <= lines(grad(f), 1000)


# -- what Python knows stays known --------------------------------------------------------


def known_numbers(x):
    sizes = [i * 2 for i in range(1000)]
    return np.sum(x[: sizes[4]].reshape(sizes[1], -1)[0])


def known_filter(x):
    thirds = [i for i in range(1000) if i % 3 == 0]
    return np.sum(x[: len(thirds)])


def known_length(x):
    even = [x[i % 4] * i for i in range(1000) if i % 2 == 0]
    return np.sum(np.array(even).reshape(5, -1)[0]) + len(even)


def texts(x):
    named = {f"k{i}": x[i % 4] for i in range(300)}
    return sum(named[k] for k in [f"k{i}" for i in range(300)])


def slices_of_different_lengths(x):
    return sum([np.sum(x[: i % 3 + 1]) for i in range(300)])


def rows(x):
    made = [x * i for i in range(300)]
    return np.sum(np.stack(made)) + made[3][1]


def functions(x):
    made = [(lambda v, i=i: v * i) for i in range(300)]
    return made[7](x[0])


def side_effects(x):
    seen = []
    made = [seen.append(x[i % 4]) or i for i in range(300)]
    return sum(seen) * len(made)


def an_iterator_beside_it(x):
    other = iter([1.0, 2.0] * 200)
    return sum([next(other) * x[i % 4] for i in range(300)])


def first_then_rest(x):
    made = (v * 2 for v in x)
    first = next(made)
    return first - next(made) + sum(made)


def first_place(x):
    place = next((i for i, v in enumerate(x) if v > 0.99), None)
    return -1.0 if place is None else x[0] * place


def any_and_all(x):
    return any(v > 0.999 for v in x) + 2.0 * all(v < 2 for v in x) + all([v < 0.5 for v in x])


def in_a_list(x):
    return x[1] in [v for v in x]


KNOWN = [
    known_numbers, known_filter, known_length, texts, slices_of_different_lengths, rows, functions,
    side_effects, an_iterator_beside_it, first_then_rest, first_place, any_and_all, in_a_list,
]  # fmt: skip


@pytest.mark.parametrize("f", KNOWN)
def test_as_in_python(f):
    np.testing.assert_allclose(jit(f)(X), f(X), rtol=1e-12)
