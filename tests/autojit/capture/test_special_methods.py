"""Special methods and properties of classes, which Python calls itself, on traced values."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from autojit import errors, grad, jit


class Stack:
    """A list with methods; as it is written, Python would count what stands for its elements."""

    def __init__(self, items=()):
        self.items = list(items)

    def push(self, x):
        self.items.append(x)

    @property
    def count(self):
        return len(self.items)

    @functools.cached_property
    def first_count(self):
        return len(self.items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, v):
        self.items[i] = v

    def __delitem__(self, i):
        del self.items[i]

    def __iter__(self):
        return iter(self.items)

    def __contains__(self, x):
        return x in self.items

    def __add__(self, other):
        return len(self.items) + other

    def __radd__(self, other):
        return len(self.items) + other

    def __iadd__(self, other):
        self.items.append(other)
        return self

    def __eq__(self, other):
        return len(self.items) == other

    def __hash__(self):
        return 1

    def __lt__(self, other):
        return len(self.items) < other

    def __neg__(self):
        return -len(self.items)

    def __abs__(self):
        return len(self.items)

    def __float__(self):
        return float(len(self.items))

    def __call__(self):
        return len(self.items)

    def __enter__(self):
        return len(self.items)

    def __exit__(self, *info):
        return None

    def __getattr__(self, name):
        if name == "size":
            return len(self.items)
        raise AttributeError(name)


def with_manager(s):
    with s as n:
        return n


def added(s):
    s += 4
    return len(s.items)


def replaced(s):
    s[0] = 9
    del s[1]
    return s.items[0] + len(s)


def looped(s):
    total = 0
    for v in s:
        total += v * v
    return total


USES = {
    "len": len, "property": lambda s: s.count, "cached_property": lambda s: s.first_count,
    "if": lambda s: 1 if s else 2, "not": lambda s: (not s) + 0, "[]": lambda s: s[0] + s[-1],
    "in": lambda s: (2 in s) + 0, "+": lambda s: s + 1, "reflected": lambda s: 1 + s,
    "+=": added, "==": lambda s: (s == 2) + 0, "<": lambda s: (s < 3) + 0, "-": lambda s: -s,
    "abs": abs, "()": lambda s: s(), "with": with_manager, "getattr": lambda s: s.size,
    "[] =": replaced, "for": looped, "sum": sum, "max": max, "list": lambda s: len(list(s)),
    "sorted": lambda s: sorted(s)[0], "comprehension": lambda s: sum(v * v for v in s),
    "enumerate": lambda s: sum(i * v for i, v in enumerate(s)),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("use", USES)
def test_methods_that_python_calls(use):
    def f(a, b, c):
        s = Stack()
        for v in (a, b, c):
            if v > 1:
                s.push(v)
        return USES[use](s)

    compiled = jit(f)
    for given in ((2, 3, 4), (2, 3, 0)):
        assert compiled(*given) == f(*given)
    assert "watched" not in repr(vars(Stack)["__len__"].__code__)  # it is the user's again


@dataclasses.dataclass
class Sample:
    xs: list
    total: float = 0.0

    def __post_init__(self):
        self.total = len(self.xs) * 1.0
        if self.total > 2:
            self.total *= 2

    @property
    def mean(self):
        return sum(self.xs) / len(self.xs) if len(self.xs) else 0.0


def of_a_dataclass(x):
    p = Sample([v for v in (x, 2 * x, 3 * x) if v > 4])
    return p.total + 10 * p.mean


class Halves:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        y = self.x
        while y > 1:
            yield y
            y = y / 2


def through_a_generator(x):
    total = sum(Halves(x))
    for y in Halves(x):
        total += y * y
    return total + len(list(Halves(x)))


class Vector:
    __slots__ = ("xs",)

    def __init__(self, xs):
        self.xs = list(xs)

    def __iter__(self):
        return iter(self.xs)

    def __add__(self, other):
        return Vector(a + b for a, b in zip(self, other, strict=True))

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self, other, strict=True))

    def __eq__(self, other):
        return all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None

    def __abs__(self):
        return self @ self if self @ self > 1 else 0.0


class Multiples:
    """Its own iterator."""

    def __init__(self, x):
        self.x, self.k = x, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.k += 1
        if self.k > 3:
            raise StopIteration
        return self.x * self.k


def through_an_iterator(x):
    total = 0.0
    for v in Multiples(x):
        total += v * v
    return total + sum(Multiples(x)) + max(Multiples(x)) + len(list(Multiples(x)))


class Tripled:
    """A descriptor."""

    def __get__(self, owner, kind):
        return 3 * owner.x if owner.x > 2 else owner.x**2


class Owner:
    tripled = Tripled()

    def __init__(self, x):
        self.x = x


def by_a_descriptor(x):
    return Owner(x).tripled + Owner(x + 1).tripled


def of_vectors(x):
    v = Vector([x, 2 * x])
    w = v + Vector([1.0, x])
    return v @ w + abs(w) + (1.0 if v == Vector([1.0, 2.0]) else 5.0) + max(w)


@pytest.mark.parametrize(
    "f", [of_a_dataclass, through_a_generator, through_an_iterator, by_a_descriptor, of_vectors]
)
def test_classes_of_the_user(f):
    compiled, derived, step = jit(f), jit(grad(f)), 1e-6
    for x in (1.05, 1.7, 2.5, 5.0):
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + step) - f(x - step)) / (2 * step)
        assert derived(x) == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_a_list_that_an_object_from_outside_gets():
    kept = Stack()

    def f(x):
        kept.items = [v for v in (x, 2 * x, 3 * x) if v > 4]
        count = kept.count
        kept.items = []
        return count

    assert [jit(f)(x) for x in (1.0, 1.7, 2.5)] == [0, 1, 2]


def test_numbers_that_python_itself_needs():
    def f(a, b):
        s = Stack()
        for v in (a, b):
            if v > 1:
                s.push(v)
        return float(s)

    with pytest.raises(errors.ConcreteValueError, match="result of Stack"):
        jit(f)(1.0, 2.0)
