"""Code that cannot be captured: errors name the line, and their fixes run when pasted."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from autojit import errors, grad, jit, vmap

X = np.arange(1.0, 6.0)


def refused(f, *args):
    with pytest.raises(errors.TracingError) as caught:
        jit(f)(*args)
    return caught.value


def line_of(f, words):
    lines, first = inspect.getsourcelines(f)
    (at,) = (first + k for k, line in enumerate(lines) if words in line)
    return f'File "{__file__}", line {at}, in {f.__name__}'


# -- shapes and kinds --------------------------------------------------------------------


def part(x):
    y = x[:3]
    if x[0] > 0:
        y = x[:2]
    return np.sum(y)


def part_masked(x):
    n = 3
    if x[0] > 0:
        n = 2
    return np.sum(np.where(np.arange(len(x)) < n, x, 0))


def test_shapes_that_differ():
    error = refused(part, X)
    assert type(error) is errors.ShapesDifferError
    assert str(error).startswith(
        "`y` is f64[3] where the condition does not hold, and f64[2] where it does.\n"
        "In compiled code it has one shape. Use the largest shape, and mask the rest:\n"
        "    np.where(np.arange(len(x)) < n, x, 0)  # not: x[:n]\n"
    )
    assert line_of(part, "if x[0]") in str(error)
    assert jit(part_masked)(X) == part(X)
    np.testing.assert_array_equal(grad(part)(X), jit(grad(part_masked))(X))


def shrinking(x):
    while np.sum(x) > 1:
        x = x[1:]
    return np.sum(x)


def test_shapes_that_differ_from_step_to_step():
    error = refused(shrinking, X)
    assert str(error).startswith("`x` is f64[5] before the loop, and f64[4] after a step.\n")
    assert line_of(shrinking, "while") in str(error)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: x[:2] if x[0] > 0 else x, "The value of the expression is f64[5] where"),
        (lambda x: (x, x) if x[0] > 0 else x, "and a tuple of 2 where it does.\n"),
    ],
)
def test_names_that_the_user_did_not_write(f, words):
    assert words in str(refused(f, X))


def sum_of_perhaps_none(x):
    found = None
    if x[0] > 0:
        found = x
    return np.sum(found)


def test_none_on_one_way():
    error = refused(sum_of_perhaps_none, X)
    assert str(error).startswith(
        "np.sum is given a value that may be None, which is known only when the compiled code "
        "runs. Ask first:\n    if x is not None: np.sum(x)"
    )


def named(x):
    kind = "a"
    if x[0] > 0:
        kind = "b"
    return x, kind


def test_text_on_both_ways():
    error = refused(lambda x: vmap(named)(np.stack([x, x])), X)
    assert "The function returns 'a' or 'b', depending on a traced condition" in str(error)
    assert "    return 1 if x > 0 else 0 " in str(error)


# -- containers --------------------------------------------------------------------------


def keyed(x):
    d = {}
    if x[0] > 0:
        d["a"] = x
    return d


def keyed_before(x):
    d = {"a": 0.0 * x, "b": 0.0}
    if x[0] > 0:
        d["a"] = x
    return d


def test_dicts_that_grow_by_values():
    error = refused(lambda x: vmap(keyed)(np.stack([x, x])), X)
    assert "The function returns a dict whose keys, or their order, depend on" in str(error)
    assert "    return {'a': d.get('a', np.nan)}   # not: return d" in str(error)
    np.testing.assert_array_equal(jit(keyed_before)(X)["a"], X)


class Model:
    pass


def attributed(x):
    model = Model()
    if x[0] > 0:
        model.last = x
    return x


def test_attributes_that_are_set_by_values():
    error = refused(attributed, X)
    assert "An object of the class Model gets or loses attributes, and a" in str(error)
    assert line_of(attributed, "if x[0]") in str(error)


# -- recursion ---------------------------------------------------------------------------


def is_even(n):
    if n < 1:
        return 1.0
    return 1.0 - max(map(is_even, [n - 1, n - 3]))


def test_recursion_by_value_through_a_function_that_gets_it():
    error = refused(is_even, 5.0)
    assert str(error).startswith(
        "The function calls itself, and `n < 1`, which depends on a traced value, decides how "
        "often. This works if functions call themselves and each other by their names, or as "
    )
    assert line_of(is_even, "if n") in str(error)


# -- what a newcomer sees ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "arg"),
    [(part, X), (sum_of_perhaps_none, X), (is_even, 5.0)],
)
def test_code_in_messages_fits_a_terminal(f, arg):
    code = [line for line in str(refused(f, arg)).splitlines() if line.startswith("    ")]
    assert code
    assert max(map(len, code)) <= 80


# -- parts of functions that are not captured ----------------------------------------------


def walrus(x):
    return sum(y for v in x if (y := 2 * v) > 1)


def walrus_rewritten(x):
    return sum(y for v in x for y in [2 * v] if y > 1)


def discarded(x):
    try:
        if x[0] > 0:
            raise ValueError("positive")
    finally:
        return x[0]  # noqa: B012


def discarded_rewritten(x):
    try:
        if x[0] > 0:
            raise ValueError("positive")
    except Exception:
        pass
    return x[0]


@pytest.mark.parametrize(
    ("f", "words", "rewritten"),
    [
        (walrus, "for y in [2 * v] if y > 1)`", walrus_rewritten),
        (discarded, "Write `except Exception: pass` in place of `finally:`", discarded_rewritten),
    ],
)
def test_what_is_not_captured(f, words, rewritten):
    assert words in str(refused(f, X))
    for x in (X, -X):
        assert jit(rewritten)(x) == pytest.approx(f(x), rel=1e-12)
