"""Exceptions that branches and loops raise: where Python raises them, the compiled code does."""

from __future__ import annotations

import contextlib
import inspect

import numpy as np
import pytest

from autojit import errors, grad, jit, value_and_grad

from .outcomes import is_same, outcome


def in_the_branch_taken(x):
    if x < 3:
        raise ValueError("too small")
    return x * 2


def in_the_other_branch(x):
    if x < 3:
        y = x
    else:
        raise ValueError("too large")
    return y * 2


def in_a_branch_of_a_branch(x):
    if x < 3:
        if x < 1:
            raise ValueError("less than one")
        y = x
    else:
        y = 2 * x
    return y


def in_a_loop(x):
    for _ in range(100):
        x = x - 1
        if x < 0:
            raise ArithmeticError("negative")
    return x


def in_a_while(x):
    steps = 0
    while x > 1:
        x = x / 2
        steps += 1
        if steps > 5:
            raise RuntimeError("slow")
    return x


def by_an_operation_of_pythons(x):
    return x * 2 if x < 3 else 1 // 0


def two_in_turn(x):
    if x > 4:
        raise ValueError("four")
    if x > 2:
        raise ArithmeticError("two")
    return x


def two_in_a_loop(x):
    for _ in range(300):
        x = np.sin(x) + 0.1
        if x > 0.5:
            raise ValueError("above")
        if x < 2:
            raise ArithmeticError("below")
    return x


def in_a_callee(x):
    def checked(y):
        if y > 4:
            raise ValueError("four")
        return y

    a = checked(x) + checked(x - 0.5)
    if x > 2:
        raise ArithmeticError("two")
    return a


def in_the_else_of_a_for(x):
    for _ in range(20):
        x = x / 2
        if x < 0.1:
            break
    else:
        raise RuntimeError("no convergence")
    return x


def in_the_else_of_a_while(x):
    steps = 0
    while steps < 6:
        x, steps = x / 2, steps + 1
        if x < 0.1:
            break
    else:
        raise RuntimeError("no convergence")
    y = x * x
    return y + x


def in_the_else_of_a_loop_of_a_branch(x):
    y = x
    if x > 1:
        for _ in range(6):
            y = y / 2
            if y < 0.1:
                break
        else:
            raise RuntimeError("no convergence")
        y = y + 1
    return y


FUNCTIONS = [
    in_the_branch_taken, in_the_other_branch, in_a_branch_of_a_branch, in_a_loop, in_a_while,
    by_an_operation_of_pythons, two_in_turn, two_in_a_loop, in_a_callee,
    in_the_else_of_a_for, in_the_else_of_a_while, in_the_else_of_a_loop_of_a_branch,
]  # fmt: skip


@pytest.mark.sampled(10)
@pytest.mark.parametrize("x", [0.5, 2.5, 5.0, 1000.0])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_raised_where_python_raises(f, x):
    try:
        wanted = f(x)
    except Exception as error:
        for compiled in (jit(f), jit(grad(f)), jit(value_and_grad(f))):
            with pytest.raises(type(error), match=str(error)):
                compiled(x)
    else:
        assert jit(f)(x) == pytest.approx(wanted)
        h = 1e-6 * x
        slope = (f(x + h) - f(x - h)) / (2 * h)
        assert jit(grad(f))(x) == pytest.approx(slope, rel=1e-6)


def _line_of(f, words):
    lines, first = inspect.getsourcelines(f)
    (at,) = (first + k for k, line in enumerate(lines) if words in line)
    return f'{__file__}", line {at}'


@pytest.mark.parametrize(("f", "x"), [(in_the_branch_taken, 1.0), (in_a_loop, 5.0)])
def test_error_names_the_line_that_raises(f, x):
    with pytest.raises((ValueError, ArithmeticError)) as caught:
        jit(f)(x)
    assert _line_of(f, "raise") in "".join(caught.value.__notes__)


def handled(x):
    try:
        if x > 3:
            raise ValueError("too large")
        y = x
    except ValueError:
        y = 0.0
    return y


def test_an_exception_that_the_function_handles():
    for run in (grad(handled), jit(grad(handled))):
        assert run(1.0) == 1.0
        assert run(4.0) == 0.0


def handled_behind_a_loop(x):
    try:
        while x < 100:
            x = 2 * x
            if x > 64:
                raise ValueError("too large")
    except ValueError:
        x = 0.0
    return x


def test_an_exception_of_a_loop_that_is_handled_behind_it():
    compiled, slope = jit(handled_behind_a_loop), jit(grad(handled_behind_a_loop))
    for x in (1.0, 40.0, 150.0):
        assert compiled(x) == handled_behind_a_loop(x)
        assert slope(x) == grad(handled_behind_a_loop)(x)


class Quiet:
    """A context manager, whose ``__exit__`` gives ``result``."""

    result = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, place):
        return self.result


class Silent(Quiet):
    def __exit__(self, kind, error, place):
        return kind is ValueError


class Firm(Quiet):
    def __exit__(self, kind, error, place):
        return None


@contextlib.contextmanager
def silently(kind):
    with contextlib.suppress(kind):
        yield


@contextlib.contextmanager
def firmly():
    try:
        yield
    except ValueError:
        raise
    finally:
        pass


class Maker:
    def manager(self):
        return Silent()


SILENT = Silent()


@pytest.mark.parametrize("f", [
    lambda x: in_a_with(Silent(), x), lambda x: in_a_with(silently(ValueError), x),
])  # fmt: skip
def test_what_makes_a_manager_is_not_known_as_its_name(f):
    with pytest.raises(errors.HandledFailureError):
        jit(f)(1.0)


def in_a_with(manager, x):
    with manager:
        in_the_branch_taken(x)
    return x


def by_a_class(x):
    with Silent():
        in_the_branch_taken(x)
    return x


def by_an_object(x):
    with Firm() as _, SILENT:
        in_the_branch_taken(x)
    return x


def by_a_generator(x):
    with silently(ValueError):
        in_the_branch_taken(x)
    return x


@contextlib.contextmanager
def by_handler():
    try:
        yield
    except ValueError:
        return


def by_a_handler(x):
    with by_handler():
        in_the_branch_taken(x)
    return x


def by_a_method(x):
    maker = Maker()
    with maker.manager():
        in_the_branch_taken(x)
    return x


@pytest.mark.parametrize("f", [by_a_class, by_an_object, by_a_generator, by_a_handler, by_a_method])
def test_a_with_that_may_end_the_exception_is_refused(f):
    assert f(1.0) == 1.0
    with pytest.raises(errors.HandledFailureError, match="`with` at"):
        jit(f)(1.0)
    assert grad(f)(1.0) == 1.0


def by_none_of_these(x):
    with Firm(), firmly(), np.errstate(all="ignore"), contextlib.suppress(TypeError):
        in_the_branch_taken(x)
    return x


def test_a_with_that_ends_no_exception_is_none():
    assert jit(by_none_of_these)(4.0) == 4.0
    with pytest.raises(ValueError, match="too small"):
        jit(by_none_of_these)(1.0)
    with pytest.raises(ValueError, match="too small"):
        jit(lambda x: in_a_with(firmly(), x))(1.0)


def test_a_handler_around_the_call_handles_it():
    def safe(x):
        try:
            return jit(in_the_branch_taken)(x)
        except ValueError:
            return np.inf

    assert safe(1.0) == np.inf
    assert safe(4.0) == 8.0


def _sum_of_roots(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("negative element")
        s += np.sqrt(x[i])
    return s


@pytest.mark.parametrize("n", [2, 30])
def test_a_sum_goes_on_behind_a_check(n):
    x = np.arange(1.0, n + 1)
    compiled = jit(grad(_sum_of_roots))
    for _ in range(2):  # as before the error
        np.testing.assert_allclose(compiled(x), 0.5 / np.sqrt(x), rtol=1e-12)
        with pytest.raises(ValueError, match="negative element"):
            compiled(-x)


def in_each_step(x, n):
    for _ in range(n):
        raise ValueError("some step")
    return x * x


def in_each_step_of_a_while(x, n):
    while x < n:
        x = x * 0.5
        raise ValueError("some step")
    return x * x


def for_each_element(x, n):
    for _ in np.array([x, 1.0])[np.array([x, 1.0]) < n]:
        raise ValueError("some step")
    return x * x


@pytest.mark.parametrize("f", [in_each_step, in_each_step_of_a_while, for_each_element])
def test_an_exception_of_the_first_step_is_raised_if_there_is_one(f):
    for run in (jit(f), jit(grad(f))):
        assert run(2.0, 0) == 4.0
        with pytest.raises(ValueError, match="some step"):
            run(2.0, 3)


def one_of_two(x):
    if x > 0:
        raise ValueError("above")
    if x >= -2:
        raise AssertionError("near")
    raise TypeError("below")


def an_error_of_pythons_behind_a_check(x):
    if x >= 0:
        raise AssertionError("first")
    return None + x


def in_a_first_step(x):
    best, k = None, 0
    while k < x:
        k += 1
        if x >= 3:
            raise AssertionError("large")
        best += x
    return x


def before_what_follows_a_loop(x, n=3):
    best, k = None, 0
    for _ in range(k % 3, int(n * abs(x)) + 1):
        step = 0
        while step < n * abs(x):
            step += 1
            best += x
        else:
            if x >= min(x, x):
                raise AssertionError("never")
        best = x
    return x


@pytest.mark.parametrize("x", [1.0, 5.0, -1.0, -3.0])
@pytest.mark.parametrize(
    "f",
    [one_of_two, an_error_of_pythons_behind_a_check, in_a_first_step, before_what_follows_a_loop],
)
def test_the_first_exception_is_raised(f, x):
    with contextlib.suppress(Exception):
        assert jit(f)(x) == f(x)
        return
    with pytest.raises((ValueError, TypeError, AssertionError)) as expected:
        f(x)
    for transformed in (jit(f), jit(grad(f))):
        with pytest.raises(expected.type, match=str(expected.value).partition(" ")[0]):
            transformed(x)


def raises_in_an_else(x, n):
    for v in x:
        if v > 2.5:
            continue
    else:
        if n > 3:
            raise ValueError("early")
    return x[0] + n


def raises_in_the_else_of_a_while(x, n):
    k = 0
    while k < n:
        k += 1
        if x[0] > k:
            continue
    else:
        k *= 2
        if k > 7:
            raise ValueError("early")
        k += 1
    return x[0] + k


@pytest.mark.parametrize("n", [1, 3, 4])
@pytest.mark.parametrize("f", [raises_in_an_else, raises_in_the_else_of_a_while])
def test_the_code_after_an_else_that_may_raise(f, n):
    args = np.array([1.5, 3.0]), n
    assert is_same(outcome(jit(f), args), outcome(f, args))
