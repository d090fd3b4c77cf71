"""Objects of the user's classes that a branch or a step of a loop makes: Python's answer, or an
error where an object may have been changed under another name."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from autojit import disable_jit, errors, grad, jit

from .outcomes import check_slopes


class Plain:
    def __init__(self, u, v):
        self.u = u
        self.v = v

    def doubled(self):
        if self.u > 0:
            return Plain(2 * self.u, self.v)
        return self


@dataclass
class Pair:
    u: float
    v: object

    def __add__(self, other):
        return Pair(self.u + other.u, self.v + other.v)

    def doubled(self):
        return Pair(2 * self.u, self.v) if self.u > 0 else self


@dataclass(frozen=True)
class Fixed:
    u: float
    v: float


class Slotted:
    __slots__ = ("u", "v")

    def __init__(self, u, v):
        self.u, self.v = u, v


class Circle:
    def __init__(self, u):
        self.u = u


class Empty:
    pass


class Constant:
    w = 1.0


class SlotsOnly:
    __slots__ = ("u", "v")


def with_attributes_set(kind, u, v):
    made = kind()
    made.u = u
    made.v = v
    return made


def empty(u, v):
    return with_attributes_set(Empty, u, v)


def constant(u, v):
    return with_attributes_set(Constant, u, v)


def slots_only(u, v):
    return with_attributes_set(SlotsOnly, u, v)


def namespace(u, v):
    return SimpleNamespace(u=u, v=v)


#: Functions that make objects of classes without any function.
WITHOUT_FUNCTIONS = [empty, constant, slots_only, namespace]
CLASSES = [Plain, Pair, Fixed, Slotted, *WITHOUT_FUNCTIONS]
CHANGING = [Plain, Pair, empty, namespace]


def returned_early(kind, x):
    def make(x):
        if x > 0:
            return kind(x * x, 1.0)
        return kind(-x, 3.0)

    made = make(x)
    return made.u * made.v


def nested(kind, x):
    made = kind(kind(x, 1.0), 2.0) if x > 0.5 else kind(kind(-x, 5.0), x)
    return made.u.u * made.u.v + made.v


def best_of_many(kind, x):
    best = kind(-1e9, 0.0)
    for i in range(300):
        found = kind(np.sin(x * i), 1.0 * i)
        if found.u > best.u:
            best = found
    return best.u * best.v


def in_a_while_loop(kind, x):
    state = kind(x, 0.0)
    while state.v < 2 + abs(x):
        state = kind(state.u * 0.5 + x, state.v + 1.0)
    return state.u * state.v


def with_a_list(kind, x):
    made = kind([x, 2.0], 1.0)
    if x > 0:
        made = kind([x * x, x], made.v)
    return made.u[0] * made.u[1] + made.v


def perhaps_none(kind, x):
    made = None
    if x > 0:
        made = kind(x, 2.0)
    return 0.5 * x if made is None else made.u * made.v


def kept_in_a_list(kind, x):
    found = [kind(0.0, x)]
    if x > 0:
        found[0] = kind(x, x)
    for i in range(200):
        found.append(kind(x * i, found[0].v))
    return sum(each.u * each.v for each in found)


VALUES = [
    returned_early, nested, best_of_many, in_a_while_loop, with_a_list, perhaps_none,
    kept_in_a_list,
]  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("f", VALUES)
def test_made_on_a_way(f, kind):
    points = [np.array([1.5]), np.array([0.3]), np.array([-0.7])]
    check_slopes(lambda x: f(kind, x[0]), points, 1e-4)


def changed_on_one_way(kind, x):
    a = kind(x, 1.0)
    made = a if x > 0 else kind(2 * x, 1.0)
    made.v += 4.0
    return made.u + made.v


def of_two_from_before(kind, x):
    a, b = kind(x, 0.0), kind(2 * x, 1.0)
    made = a if x > 0 else b
    made.u = 5.0 * x
    return a.u + 10 * b.u


def by_a_method(kind, x):
    made = kind(x, 1.0).doubled()
    made.v = 3.0
    return made.u * made.v


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("f", "kind"),
    [
        *itertools.product([changed_on_one_way, of_two_from_before], CHANGING),
        (by_a_method, Plain), (by_a_method, Pair),
    ],
)  # fmt: skip
def test_changed_afterwards(f, kind):
    for x in (1.5, -2.0):
        assert jit(lambda x: f(kind, x))(x) == f(kind, x)


def another_name(kind, x):
    if x > 0:
        made = kind(x, 1.0)
        other = made
    else:
        made = kind(-x, 3.0)
        other = made
    made.u = 7.0 * x
    return other.u


def one_from_before(kind, x):
    a = kind(x, 2.0)
    made = a if x > 0 else kind(-x, 3.0)
    made.u = 7.0 * x
    return a.u


def by_an_operator(kind, x):
    a = kind(x, 2.0)
    made = a if x > 0 else kind(-x, 3.0)
    made.u -= 1.0
    return a.u


def in_a_list(kind, x):
    found = [None]
    made = kind(-x, 3.0)
    if x > 0:
        made = kind(x, 1.0)
        found[0] = made
    else:
        found[0] = made
    made.u = 7.0 * x
    return found[0].u


def after_a_loop(kind, x):
    made = kind(x, 0.0)
    other = made
    for _ in range(3000):
        made = kind(made.u * 0.99, made.v + 1.0)
        other = made
    made.u = 3.0
    return other.u


def the_last_that_is_appended(kind, x):
    found, made = [], kind(x, 0.0)
    for i in range(3000):
        made = kind(x * i, 1.0 * i)
        found.append(made)
    made.u = 9.0 * x
    return found[-1].u


def in_two_lists(kind, x):
    found, more = [], []
    for i in range(3000):
        made = kind(x * i, 1.0 * i)
        found.append(made)
        more.append(made)
    found[3].u = 9.0 * x
    return more[3].u


def whether_it_is_that(kind, x):
    a = kind(x, 1.0)
    b = a
    if x > 0:
        b = kind(x, 1.0)
    return 1.0 if a is b else 2.0


CHANGED = [
    another_name, one_from_before, by_an_operator, in_a_list, after_a_loop,
    the_last_that_is_appended, in_two_lists, whether_it_is_that,
]  # fmt: skip


@pytest.mark.parametrize("kind", CHANGING)
@pytest.mark.parametrize("f", CHANGED)
def test_one_that_may_have_changed_is_refused(f, kind):
    with (
        disable_jit(),
        pytest.raises(errors.CaptureError, match=r"traced condition decides w(hether|hich)"),
    ):
        jit(lambda x: f(kind, x))(1.5)


def lists_in_a_list(x):
    found, more = [], []
    for i in range(3000):
        row = [x * i, 1.0]
        found.append(row)
        more.append(row)
    return found, more, row


def test_a_list_in_two_lists_is_not_changed_unseen():
    """Each of them had become a list of its own."""

    def by_the_other(x):
        found, more, _ = lists_in_a_list(x)
        found[3][0] = 9.0
        return more[3][0]

    def by_its_name(x):
        found, _, row = lists_in_a_list(x)
        row[0] = 9.0
        return found[-1][0]

    def of_another_step(x):
        found, more, row = lists_in_a_list(x)
        row[0] = 9.0
        return found[4][0] + more[5][0]

    for f in (by_the_other, by_its_name):
        with disable_jit(), pytest.raises(errors.CaptureError, match="under another name"):
            jit(f)(1.5)
    assert jit(of_another_step)(1.5) == of_another_step(1.5)


def test_an_object_in_a_list_that_changes_is_one_object():
    def f(x):
        found, made = [], Pair(x, 0.0)
        for _ in range(3000):
            found.append(made)
            made.u = made.u + 1.0
        return found[0].u

    assert jit(f)(1.5) == f(1.5)


def test_objects_of_different_classes_are_chosen():
    def area(x):
        shape = Circle(2.0) if x > 0 else Plain(3.0, 1.0)
        return shape.u * x

    for x in (1.5, -2.0):
        assert jit(area)(x) == area(x)
    assert jit(grad(area))(1.5) == 2.0


def of_two_classes(x):
    if x > 0:
        made = Empty()
        made.u = x * x
    else:
        made = Constant()
        made.u = 3.0 * x
    return made.u


def with_different_attributes(x):
    made = Empty()
    if x > 0:
        made = Empty()
        made.u = x * x
    return made


@pytest.mark.parametrize("f", [of_two_classes, with_different_attributes])
def test_different_objects_with_values_of_the_ways_are_refused(f):
    with disable_jit(), pytest.raises(errors.CaptureError, match="an object of Empty with the att"):
        jit(f)(1.5)


def test_a_new_attribute_is_not_missed_under_another_name():
    def f(x):
        made = empty(x, 1.0)
        other = made if x > 0 else empty(2 * x, 1.0)
        other.w = 7.0
        return made.w if hasattr(made, "w") else x

    with disable_jit(), pytest.raises(errors.CaptureError, match="under another name"):
        jit(f)(1.5)


def test_attributes_of_a_class_without_functions_are_places():
    def f(x):
        Constant.w = 2.0
        if x > 0:
            Constant.w = x * x
        found = Constant.w
        Constant.w = 1.0
        return found

    for x in (1.5, -2.0):
        assert jit(f)(x) == f(x)


def test_a_chain_of_objects_is_not_copied():
    def f(x):
        chain = None
        for i in range(2000):
            chain = Plain(1.0 * i, chain)
        node = chain
        if x > 0:
            node = chain.v
        return node.u * x

    for x in (1.5, -2.0):
        assert jit(f)(x) == f(x)


def test_a_circle_of_objects_is_refused():
    def f(x):
        a, b = Plain(x, None), Plain(2 * x, None)
        a.v, b.v = b, a
        node = a if x > 0 else Plain(2 * x, b)
        return node.v.u

    with pytest.raises(errors.CaptureError, match="refer to each other in a circle"):
        jit(f)(1.5)
