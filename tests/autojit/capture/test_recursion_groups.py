"""Functions that call each other as often as traced values decide."""

from __future__ import annotations

import copy
import functools
import math

import numba
import numpy as np
import pytest

from autojit import grad, jit, trace, vmap
from autojit.errors import CaptureError
from autojit.ir.regions.while_ import while_

from .others.test_others import by_differences
from .outcomes import is_same, outcome

# -- functions of a module -----------------------------------------------------------------------


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def female(n):
    return 1 if n == 0 else n - male(female(n - 1))


def male(n):
    return 0 if n == 0 else n - female(male(n - 1))


@functools.lru_cache
def known_female(n):
    return 1 if n == 0 else n - known_male(known_female(n - 1))


@functools.lru_cache
def known_male(n):
    return 0 if n == 0 else n - known_female(known_male(n - 1))


def ackermann(m, n):
    return n + 1 if m == 0 else of_less(m, n)


def of_less(m, n):
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def maximise(board, depth, alpha, beta):
    if depth < 1:
        return board[0] - board[1]
    best = -math.inf
    for k in range(2):
        board[k] += depth
        best = max(best, minimise(board, depth - 1, alpha, beta))
        board[k] -= depth
        if best >= beta:
            return best
        alpha = max(alpha, best)
    return best


def minimise(board, depth, alpha, beta):
    if depth < 1:
        return board[0] * 0.5 - board[1]
    worst = math.inf
    for k in range(2):
        board[k] -= depth * 0.7
        worst = min(worst, maximise(board, depth - 1, alpha, beta))
        board[k] += depth * 0.7
        if worst <= alpha:
            return worst
        beta = min(beta, worst)
    return worst


def minimax(depth, x):
    return maximise([x, 0.5], depth, -math.inf, math.inf)


def start(codes, i, acc):
    if codes[i] == 0:
        return acc
    return word(codes, i + 1, acc + 1.0) if codes[i] > 3 else number(codes, i + 1, acc * 2.0)


def word(codes, i, acc):
    return acc + 0.5 if codes[i] == 0 else start(codes, i + 1, acc)


def number(codes, i, acc):
    if codes[i] < 1:
        return acc - 1.5
    following = word if codes[i] > 4 else number
    return following(codes, i + 1, acc + 0.25 * codes[i])


def states(codes, x):
    return start(codes, 0, x)


TABLE = {}


def first_of_table(n, x):
    return x if n < 1 else TABLE["second"](n - 1, x) * 2


def second_of_table(n, x):
    return x * x if n < 1 else TABLE["first"](n - 1, x) + n


TABLE.update(first=first_of_table, second=second_of_table)


def never_ends_alone(n, x):
    return ends(n - 1, x) * 1.5


def ends(n, x):
    return 0 if n < 1 else never_ends_alone(n - 0.5, x) + x


@jit
def compiled(n, x):
    return x if n < 1 else compiled_too(n - 1, x) * n


@jit
def compiled_too(n, x):
    return 1.0 if n < 1 else compiled(n - 0.5, x) + n


def plain(n, x):
    return x if n < 1 else (1.0 if n - 1 < 1 else plain(n - 1.5, x) + n - 1) * n


@numba.njit
def of_numba(n, x):
    return x if n < 1 else of_numba_too(n - 1, x) * n


@numba.njit
def of_numba_too(n, x):
    return 1.0 if n < 1 else of_numba(n - 0.5, x) + n


factorial = lambda n: 1 if n < 1 else n * factorial(n - 1)  # noqa: E731


def described(f):
    @functools.wraps(f)
    def wrapper(n, *more):
        return f(n, *more) + 0.125

    return wrapper


@described
def decorated(n, x):
    return x if n < 1 else n * decorated(n - 1, x)


# -- methods -------------------------------------------------------------------------------------


class Parser:
    """Sums of products of digits; 10 is ``+``, 11 is ``*``, 12 and 13 are brackets, 14 the end."""

    def __init__(self, tokens, unit):
        self.tokens, self.unit, self.at = tokens, unit, 0

    def sum(self):
        value = self.product()
        while self.tokens[self.at] == 10:
            self.at += 1
            value = value + self.product()
        return value

    def product(self):
        value = self.__factor()
        while self.tokens[self.at] == 11:
            self.at += 1
            value = value * self.__factor()
        return value

    def __factor(self):
        token = self.tokens[self.at]
        self.at += 1
        if token == 12:
            value = self.sum()
            if self.tokens[self.at] != 13:
                raise ValueError("no closing bracket")
            self.at += 1
            return value
        if token > 9:
            raise ValueError(f"a number was expected at {int(self.at)}")
        return token * self.unit


def parsed(tokens, unit):
    return Parser(tokens, unit).sum()


class Walk:
    def run(self, n):
        return 1.0 if n < 1 else self.step(n)

    def step(self, n):
        return 0.5


class Longer(Walk):
    def step(self, n):
        return n * self.run(n - 1)


class Static:
    @staticmethod
    def of(n):
        return 1.0 if n < 1 else Static.less(n - 1) * n

    @classmethod
    def less(cls, n):
        return cls.of(n) + 0.5


def of_classes(x):
    return Longer().run(x) + 10 * Walk().run(x) + Static.of(x)


# -- inner functions -----------------------------------------------------------------------------


def parsed_by_inner_functions(tokens, unit):
    at = 0

    def expression():
        nonlocal at
        value = term()
        while tokens[at] == 10:
            at += 1
            value += term()
        return value

    def term():
        nonlocal at
        value = factor()
        while tokens[at] == 11:
            at += 1
            value *= factor()
        return value

    def factor():
        nonlocal at
        token = tokens[at]
        at += 1
        if token == 12:
            value = expression()
            at += 1
            return value
        return token * unit

    return expression()


def walked(children, values, x):
    def visit(node, depth):
        return values[node] * x**depth + of_children(node, depth + 1)

    def of_children(node, depth):
        total, k = 0.0, 0
        while k < 2 and children[node, k] >= 0:
            total += visit(children[node, k], depth)
            k += 1
        return total

    return visit(0, 0)


def walked_in_a_loop(children, values, x):
    def visit(node, depth):
        total = of_node(node) * x**depth
        for child in children[node]:
            if child >= 0:
                total += below(child, depth)
        return total

    def below(node, depth):
        return visit(node, depth + 1) * 0.5

    def of_node(node):
        return values[node]

    return visit(0, 0)


def lists_and_arrays(x):
    log, state = [], np.zeros(3)

    def down(n, xs):
        log.append(n)
        state[0] += n
        if n < 1:
            return xs[-1] if xs else x
        xs.append(n * x)
        return (up(n - 1, xs) + state[1]) * 0.5

    def up(n, xs):
        state[1] += state[0] * 0.25
        if n > 2 and len(xs) > 1:
            log[-1] = xs.pop()
        t = n + down(n - 0.5, xs)
        log.append(t)
        return t

    return down(x, [0.25]) + sum(log) + len(log) + state[0] - state[1]


def lambdas(x):
    f = lambda n: x if n < 1 else n * g(n - 1)  # noqa: E731
    g = lambda n: 2 * x if n < 1 else n + f(n - 1)  # noqa: E731
    return f(x)


def one_of_itself_and_the_outer_one(x):
    def f(n):
        def g(k):
            return n * f(n - 1) if k < 1 else g(k - 1) + x

        return x if n < 1 else g(n)

    return f(x)


def a_lambda_between(x):
    def f(n):
        less = lambda m: f(m - 1) * n  # noqa: E731
        return x if n < 1 else less(n)

    return f(x)


def variables_of_frames(x):
    log = []

    def f(n):
        v, s = np.zeros(2) + n, n * x

        def g(k):
            v[0] += k
            log.append(s)
            return h(k - 1) if k > 1 else f(n - 1) + v[1]

        def h(k):
            return g(k - 0.25) * 0.5 + s

        if n < 1:
            return x
        a = g(n)
        s = s * 0.5
        return a + g(1.0) + v[0] * s

    return f(x) + sum(log) + len(log)


def under_another_name(x):
    def f(n):
        following = g
        return x if n < 1 else following(n - 1) * n

    def g(n):
        return f(n - 0.5) + x

    return f(x)


def three(x):
    def f(n, *, total=1.0):
        return total if n < 1 else g(n - 1, total * n)

    def g(n, total=0.5, *rest, **more):
        return h(n) + (f(n=n - 1, total=total + x) if n > 1 else 0.0)

    def h(n):
        found = [f(n - k) for k in (1, 2)]
        return max(found) if n > 0 else x

    return f(x)


def pairs_and_none(x):
    def find(low, high):
        return None if high - low < 1e-3 else split(low, (low + high) / 2, high)

    def split(low, middle, high):
        if abs(middle * middle - x) < 1e-2:
            return middle, x
        return find(low, middle) if middle * middle > x else find(middle, high)

    found = find(0.0, 4.0)
    return -1.0 if found is None else found[0] * found[1]


def in_other_statements(x):
    def f(n):
        try:
            t = math.sqrt(n - 2)
        except ValueError:
            t = 0.5
        else:
            t += g(n - 1)
        k = 0
        while k < n - 1:
            t += g(n - 2 - k)
            k += 1
        return t

    def g(n):
        match n > 1:
            case True:
                return f(n - 0.5) * 1.25
            case _:
                return x

    return f(x)


TOKENS = [2, 10, 3, 11, 12, 1, 10, 4, 13, 14]
CHILDREN = np.array([[1, 2], [3, -1], [4, 5], [-1, -1], [-1, -1], [-1, -1]])
CODES = np.array([1, 3, 5, 4, 5, 2, 2, 6, 1, 0, 0])

CASES = [
    (is_even, (7,), ()), (is_even, (10,), ()), (is_odd, (0,), ()),
    (female, (9,), ()), (known_female, (12,), ()), (ackermann, (2, 2), ()),
    (minimax, (3, 0.3), (1,)), (minimax, (2.0, 1.5), (1,)), (states, (CODES, 0.7), (1,)),
    (first_of_table, (3.3, 1.2), (0, 1)), (never_ends_alone, (4.2, 1.2), (1,)),
    (compiled, (4.2, 1.5), (0, 1)), (of_numba, (4.2, 1.5), (0, 1)),
    (factorial, (5.25,), (0,)), (decorated, (3.5, 2.0), (0, 1)),
    (parsed, (np.array(TOKENS), 1.5), (1,)), (parsed, (np.array([5, *[14] * 9]), 1.5), (1,)),
    (of_classes, (3.3,), (0,)), (parsed_by_inner_functions, (np.array(TOKENS), 1.5), (1,)),
    (walked, (CHILDREN, np.arange(1.0, 7.0), 0.7), (1, 2)),
    (walked_in_a_loop, (CHILDREN, np.arange(1.0, 7.0), 0.7), (1, 2)),
    (lists_and_arrays, (4.4,), (0,)),
    (lists_and_arrays, (0.3,), (0,)), (lambdas, (4.4,), (0,)),
    (one_of_itself_and_the_outer_one, (3.3,), (0,)), (a_lambda_between, (3.3,), (0,)),
    (variables_of_frames, (3.3,), (0,)), (under_another_name, (3.3,), (0,)), (three, (4.4,), (0,)),
    (pairs_and_none, (2.0,), (0,)), (pairs_and_none, (20.0,), ()),
    (in_other_statements, (4.3,), (0,)),
]  # fmt: skip


@pytest.mark.sampled(15)
@pytest.mark.parametrize(("f", "arguments", "by"), CASES)
def test_as_python(f, arguments, by):
    of_python = plain if f in (compiled, of_numba) else f
    wanted = of_python(*copy.deepcopy(arguments))
    np.testing.assert_allclose(jit(f)(*copy.deepcopy(arguments)), wanted, rtol=1e-12)
    if by:
        slopes = jit(grad(f, argnums=by))(*arguments)
        for place, slope in zip(by, slopes, strict=True):
            wanted = by_differences(of_python, arguments, place)
            np.testing.assert_allclose(slope, wanted, rtol=2e-5, atol=1e-7)


def test_a_group_is_one_loop_of_any_depth():
    assert [op.kind for op in trace(is_even)(5.0).ops].count(while_) == 1
    assert jit(is_even)(900) is True or bool(jit(is_even)(900))
    found = jit(vmap(lambda n: ends(n, 1.5)))(np.array([3.0, 4.5]))
    np.testing.assert_allclose(found, [ends(3.0, 1.5), ends(4.5, 1.5)])


def test_a_group_that_known_values_end_needs_no_loop():
    def total(node, x):
        return node[0] * x + of_all(node[1:], x) if len(node) else 0.0

    def of_all(nodes, x):
        return sum([total(node, x) for node in nodes])

    tree = (1.0, (2.0, (3.0,), (4.0,)), (5.0, (6.0, (7.0, (8.0,)))))
    assert while_ not in {op.kind for op in trace(lambda x: total(tree, x))(1.5).ops}
    assert jit(total)(tree, 1.5) == 36 * 1.5


# -- exceptions ----------------------------------------------------------------------------------


def checked(n):
    if n < 0:
        raise ValueError("below zero")
    return checked_again(n - 1) + 1.0


def checked_again(n):
    return 0.5 if n == 0 else checked(n - 1) * 2


def endless(n):
    return endless_as_well(n + 1)


def endless_as_well(n):
    return 1.0 if n == 17.5 else endless(n + 1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("f", "arguments"), [
    (checked, (7.0,)), (checked, (6.0,)), (checked, (4.5,)), (endless, (14.5,)), (endless, (0.0,)),
    (parsed, (np.array([12, 5, *[14] * 8]), 1.5)), (parsed, (np.array([10, 5, *[14] * 8]), 1.5)),
])  # fmt: skip
def test_exceptions_of_deep_calls(f, arguments):
    expected, found = outcome(f, arguments), outcome(jit(f), arguments)
    assert is_same(expected, found), (expected, found)


# -- names that are bound anew -------------------------------------------------------------------


def up(n):
    return 1.0 if n < 1 else down(n - 1) * n


def down(n):
    return n + 0.5


def test_names_that_are_bound_anew(monkeypatch):
    assert jit(up)(3.5) == up(3.5)
    monkeypatch.setitem(globals(), "down", lambda n: up(n - 0.5) + 1)
    assert jit(up)(3.5) == up(3.5)
    monkeypatch.setitem(globals(), "down", math.floor)
    assert jit(up)(3.5) == up(3.5)


def test_variables_that_are_bound_later():
    def make():
        def f(n):
            return 1.0 if n < 1 else g(n - 1) * n

        found = [jit(f)]

        def g(n):
            return f(n - 0.5) + 1

        return [*found, f]

    compiled, plain = make()
    assert compiled(4.5) == plain(4.5)


def test_a_group_of_functions_that_have_changed():
    """The twins of functions with one code object differ by their groups."""

    def make(other):
        def f(n):
            return 1.0 if n < 1 else other[0](n - 1) + n

        return f

    box = [None]
    f = make(box)
    g = make([lambda n: n * 2.0])
    box[0] = f
    assert jit(g)(3.5) == g(3.5)
    assert jit(f)(3.5) == f(3.5)


# -- refusals ------------------------------------------------------------------------------------


def refusal(f, *arguments):
    with pytest.raises(CaptureError) as caught:
        jit(f)(*arguments)
    return str(caught.value)


def its_list(x):
    def f(ys, n):
        if n < 1:
            return x
        ys[0] += n
        mine = [n * x]
        r = f(mine, n - 1)
        return mine[0] + r + ys[0]

    return f([0.0], x)


def its_dict(x):
    def f(d, n):
        return x if n < 1 else g({"a": n}, n - 1) + d["a"]

    def g(d, n):
        d["b"] = n
        return f(d, n) + d["b"]

    return f({"a": x}, x)


def its_list_returned(x):
    def f(ys, n):
        if n < 1:
            return ys
        mine = [n, x]
        r = f(mine, n - 1)
        r[0] = 5.0
        return [mine[0], r[1]]

    return f([x, x], x)[0]


def its_list_stored(x):
    box = [[0.0]]

    def f(ys, n):
        if n < 1:
            return x
        box[0] = ys
        mine = [n]
        r = f(mine, n - 1)
        mine[0] = 100.0
        return r + box[0][0]

    return f([x], x)


@pytest.mark.parametrize("f", [its_list, its_dict, its_list_returned, its_list_stored])
def test_a_list_of_the_callers_frame_may_not_change(f):
    """Calls see copies of lists that their caller has made."""
    assert "changes, returns or stores a list or dict that its caller has made" in refusal(f, 3.3)


def test_a_list_of_the_callers_frame_may_be_read():
    def f(ys, n):
        return sum(ys) if n < 1 else g([n, *ys[:1]], n - 1) + ys[0]

    def g(ys, n):
        mine = [*ys, n]
        r = f(ys, n - 0.5)
        mine.append(r)
        mine[0] = mine[-1] * 0.5
        return sum(mine) + ys[1]

    def whole(x):
        return f([x, 1.0], x)

    assert jit(whole)(3.3) == pytest.approx(whole(3.3), rel=1e-12)


def with_nonlocal(x):
    def f(n):
        total = 0.0

        def g(k):
            nonlocal total
            total += k
            return f(n - 1)

        return x if n < 1 else g(n) + total

    return f(x)


def test_a_variable_of_a_frame_that_an_inner_function_binds():
    assert "the variable `total`, which an inner function binds" in refusal(with_nonlocal, 3.3)


def apply(f, n):
    return f(n)


def by_an_argument(n):
    return 1.0 if n < 1 else apply(by_an_argument, n - 1) * n


def in_a_finally(n):
    try:
        return n
    finally:
        if n >= 1:
            after_it(n - 1)


def after_it(n):
    return in_a_finally(n)


def by_map(n):
    return 1.0 if n < 1 else sum(map(other_by_map, (n - 1, n - 2)))


def other_by_map(n):
    return by_map(n) * 0.5


@pytest.mark.parametrize(("f", "words"), [
    (by_an_argument, "This works if functions call themselves and each other by their names"),
    (in_a_finally, "a recursive call is in a `finally`, in an `except` that uses"),
    (by_map, "that gets `other_by_map` as an argument, such as `map`"),
])  # fmt: skip
def test_calls_at_which_a_function_cannot_be_left(f, words):
    assert words in refusal(f, 3.3)
