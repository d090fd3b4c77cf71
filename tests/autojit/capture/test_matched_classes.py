"""``match`` with patterns of the user's classes."""

from __future__ import annotations

import dataclasses
import fractions
from collections.abc import Callable
from typing import Any

import pytest

from autojit import jit, value_and_grad


@dataclasses.dataclass
class Box:
    a: float
    b: float


@dataclasses.dataclass
class Circle:
    r: float


class Plain:
    __match_args__ = ("u",)

    def __init__(self, u):
        self.u, self.w = u, 2 * u


def area(shape):
    match shape:
        case Box(a=0.0, b=b):
            return b * 3
        case Box(a, b) if a > b:
            return a * 5 + b
        case Box(a, b):
            return a + b
        case Circle(r):
            return r * r
        case Plain(u, w=w) if u > 1:
            return u * w
        case Plain(u=1.0 | 0.5):
            return 17.0
        case Plain(w=float(w)):
            return w
    return area_of_others(shape)


def area_of_others(shape):
    match shape:
        case fractions.Fraction(numerator=n):
            return n * 1.0
        case float(v):
            return v + 100
        case int():
            return 7.0
        case str(t):
            return len(t) * 1.0
        case [Box(a=x), Circle(r=y)]:
            return x * y
        case {"box": Box(b=y)}:
            return y
        case object():
            return -1.0


def chosen(x):
    return area(Box(x, 2.0) if x > 1 else Box(0.0, x))


def of_two_classes(x):
    return area(Box(x, 1.3) if x > 1 else Circle(x))


def in_a_loop(x):
    s = 0.0
    for shape in (Box(x, 1.0), Circle(x), Plain(x), Plain(0.5), x, [1]):
        s += area(shape)
    return s


def in_containers(x):
    return area([Box(x, 1.0), Circle(x)]) + area({"box": Box(1.0, x)})


def of_others(x):
    return area("abc") * x + area(None) + area(fractions.Fraction(3, 2)) + area(3)


def too_many(x):
    match Circle(x):
        case Circle(r, more):
            return r + more
    return x


def by_another_name(x):
    number = float
    match x:
        case number(v) if v > 1:
            return v * 2
        case number():
            return 3.0


FUNCTIONS = [
    chosen, of_two_classes, in_a_loop, in_containers, of_others, too_many, by_another_name,
]  # fmt: skip


def outcome(f: Callable[..., Any], x: float) -> Any:
    try:
        return float(f(x))
    except Exception as error:
        return type(error), str(error).partition("\n")[0]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("x", [0.5, 0.6, 1.0, 1.3, 2.7])
def test_the_case_is_pythons(f: Callable[..., Any], x: float) -> None:
    wanted = outcome(f, x)
    assert outcome(jit(f), x) == wanted
    assert outcome(lambda x: value_and_grad(f)(x)[0], x) == wanted
