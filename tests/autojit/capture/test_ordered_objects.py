"""``max``, ``min``, ``sorted`` and comparisons of objects whose classes have an order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, value_and_grad


class ByLess:
    def __init__(self, v, n=0):
        self.v, self.n = v, n

    def __lt__(self, other):
        return self.v < other.v


class ByGreater:
    def __init__(self, v, n=0):
        self.v, self.n = v, n

    def __gt__(self, other):
        return self.v > other.v


class Iterable(ByLess):
    def __iter__(self):
        yield self.v


@dataclasses.dataclass(order=True)
class Record:
    v: float
    n: int = 0
    name: str = dataclasses.field(default="", compare=False)


def largest(kind, x):
    m = max(kind(x, 1), kind(1.2, 2), kind(0.3, 3))
    return m.v * 10 + m.n


def largest_beside_a_list_of_traced_length(kind, x):
    steps = []
    while len(steps) < 3 and x > len(steps):
        steps.append(x)
    m = max(kind(x, 1), kind(1.2, 2))
    return m.v * 10 + m.n + sum(steps)


def smallest_of_a_list(kind, x):
    m = min([kind(x, 1), kind(1.2, 2), kind(0.7, 3)])
    m.v = m.v * 2
    return m.v * 10 + m.n


def in_order(kind, x):
    found = sorted([kind(x, 1), kind(1.2, 2), kind(0.7, 3), kind(1.2, 2)])
    return sum(each.v * 10**k + each.n * k for k, each in enumerate(found))


def in_reverse_order(kind, x):
    found = sorted([kind(x, 1), kind(1.2, 2), kind(0.7, 3), kind(1.2, 4)], reverse=True)
    return sum(each.v * 10**k + each.n * k for k, each in enumerate(found))


def pairs_by_an_object(kind, x):
    pairs = [(1, kind(x, 1)), (0, kind(1.2, 2)), (2, kind(0.7, 3))]
    pairs.sort(key=lambda pair: pair[1])
    return pairs[0][0] + 10 * pairs[1][0] + pairs[2][1].v


def by_a_loop(kind, x):
    best = None
    for each in (kind(x, 1), kind(1.2, 2), kind(0.7, 3)):
        if best is None or each > best:
            best = each
    return best.v + best.n * 10


@pytest.mark.parametrize("kind", [ByLess, ByGreater, Iterable, Record])
@pytest.mark.parametrize(
    "f",
    [
        largest,
        largest_beside_a_list_of_traced_length,
        smallest_of_a_list,
        in_order,
        in_reverse_order,
        pairs_by_an_object,
        by_a_loop,
    ],
)
def test_values_and_gradients(f: Callable[..., Any], kind: Any) -> None:
    def of(x):
        return f(kind, x)

    for x in (0.6, 1.2, 2.5):
        wanted = float(of(x))
        assert float(jit(of)(x)) == wanted
        assert float(value_and_grad(of)(x)[0]) == wanted
        if x != 1.2:
            slope = (float(of(x + 1e-6)) - float(of(x - 1e-6))) / 2e-6
            np.testing.assert_allclose(jit(grad(of))(x), slope, rtol=1e-6)


def test_two_classes_have_no_order() -> None:
    def f(x):
        return max(Record(x), ByLess(x)).v

    with pytest.raises(TypeError, match="not supported between instances of"):
        jit(f)(1.0)


class Positive:
    def __init__(self, v):
        self.v = v

    def __bool__(self):
        return bool(self.v > 1)


def test_a_while_on_the_truth_of_an_object():
    def f(x):
        steps = 0.0
        while Positive(x):
            x, steps = x * 0.7, steps + 1
        return steps + x

    for x in (0.5, 2.5):
        assert float(jit(f)(x)) == f(x)
