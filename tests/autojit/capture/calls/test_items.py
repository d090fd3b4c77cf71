"""Items of lists, tuples, arrays and dicts at traced indices; ranges; types; Numba's functions."""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import operator
from typing import Any

import numba
import numpy as np
import pytest

from autojit import disable_jit, fori_loop, grad, jit, trace, vmap
from autojit.capture import calls
from autojit.capture.values.ranges import Enumerate, Reversed, TracedRange, Zip
from autojit.errors import (
    ConcreteValueError,
    InPlaceError,
    ShapeError,
    StructureError,
    UncoveredFunctionError,
)

from .differential import Traced, check, check_derivative

TABLE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize("i", [0, 1, 2, -1, -3])
def test_items_at_traced_indices(i: int) -> None:
    check(lambda c, x, i: c.item([x, 2 * x, 7.0], i), 1.5, i)
    check(lambda c, i: c.item((3, 4, 5), i), i)
    check(lambda c, i: c.item([3, 4.5, True], i), i)
    check(lambda c, i: c.item(range(5, 20, 5), i), i)
    check(lambda c, i: c.item(TABLE, i), i)
    check(lambda c, i: c.item(TABLE, (i, 1)), i)
    check(lambda c, i: c.item(TABLE, (slice(None, 2), i % 2)), i)
    check(lambda c, x, i: c.item([TABLE[0], x, x + 1], i), np.ones(2), i)
    check(lambda c, i: c.item([(1.0, [2.0]), (3.0, [4.0]), (5.0, [6.0])], i), i)
    check(lambda c, i: c.item(c.item([[1, 2], [3, 4], [5, 6]], i), i % 2), i)
    check(lambda c, x, i: c.item(x, i), TABLE, i)


@pytest.mark.parametrize("items", [[1.0, 2.0], (1, 2), range(2)])
def test_an_index_out_of_range(items: Any) -> None:
    run = jit(lambda i: Traced().item(items, i))
    for i in (2, -3, 10**9):
        with pytest.raises(IndexError):
            run(i)
    with pytest.raises(IndexError, match="index out of range"):
        jit(lambda i: Traced().item(items[:0], i))(0)
    with pytest.raises(TypeError, match="indices must be integers or slices, not float"):
        jit(lambda x: Traced().item(items, x))(1.0)


def unread_in_a_loop(x: Any, i: Any) -> Any:
    for k in range(3000):
        _ = [x, 2 * x, 3 * x][(i + k) % 4]
        x = x * 0.5
    return x


def unread_in_a_branch(x: Any, i: Any) -> Any:
    if x > 0:
        _ = (x, 2 * x)[i]
    return x


def unread_and_assigned(x: Any, i: Any) -> Any:
    values = [x, 2 * x]
    values[i] = 0.0
    return x


@pytest.mark.parametrize(
    ("f", "inside", "outside"),
    [
        (lambda x, i: ([x, 2 * x][i], x)[1], (1.0, -2), (1.0, 2)),
        (lambda x, i: ((x, x + 1)[i], x)[1], (1.0, 1), (1.0, -3)),
        (unread_in_a_branch, (-1.0, 5), (1.0, 5)),
        (unread_in_a_loop, None, (1.0, 2)),
        (unread_and_assigned, (1.0, 1), (1.0, 2)),
    ],
)
def test_an_element_that_nothing_reads_has_to_exist(
    f: Any, inside: tuple[Any, ...] | None, outside: tuple[Any, ...]
) -> None:
    for run in (jit(f), jit(grad(f))):
        if inside is not None:
            run(*inside)
        with pytest.raises(IndexError, match="index out of range"):
            run(*outside)


def element_in_a_branch(x: Any, i: Any) -> Any:
    if x[0] > 0:
        x[i]
    return x[1]


def element_of_either_branch(x: Any, i: Any) -> Any:
    y = x[i] * 2 if x[0] > 0 else x[1]
    return x[2], y.shape


def element_in_a_loop(x: Any, i: Any) -> Any:
    s = x[0]
    for k in range(i, i + 30):
        s = s * 0.5
        x[(k % 5) * (i // 4)]
    return s


def element_in_a_while(x: Any, i: Any) -> Any:
    s = x[0]
    while s < 3:
        s = s + 1
        x[i]
    return s


def overwritten(x: Any, i: Any) -> Any:
    y = x.copy()
    y[i] = 2.0
    y[:] = 1.0
    return y


def row_of_a_nested_call(x: Any, i: Any) -> Any:
    jit(lambda x, i: x[i])(x, i)
    return x[0]


#: Each takes an array of three numbers, and a place.
UNREAD: dict[str, Any] = {
    "an element": lambda x, i: (x[i], x[0])[1],
    "an integer": lambda x, i: (x[i], len(x))[1],
    "a product with it": lambda x, i: (np.sin(x[i]) * x, x[0])[1],
    "elements": lambda x, i: (x[np.array([0, 1]) * i], x[0])[1],
    "a row": lambda x, i: (np.outer(x, x)[i], x[0])[1],
    "the shape of a row": lambda x, i: np.outer(x, x)[i].shape[0] * x[0],
    "take": lambda x, i: (np.take(x, i), x[0])[1],
    "an assignment": lambda x, i: (x.copy().__setitem__(i, 1.0), x[0])[1],
    "a branch": element_in_a_branch,
    "a conditional expression": element_of_either_branch,
    "a loop": element_in_a_loop,
    "a while loop": element_in_a_while,
    "an element that is set, then overwritten": overwritten,
    "the result of a compiled function": row_of_a_nested_call,
    "a batch": lambda x, i: (vmap(lambda k: x[k])(i + np.arange(2) * 0), x[0])[1],
}


@pytest.mark.parametrize("name", UNREAD)
def test_an_element_of_an_array_that_nothing_reads_has_to_exist(name: str) -> None:
    f, x = UNREAD[name], np.array([1.0, 2.0, 3.0])
    with disable_jit():
        for run, place in ((jit(f), 4), (jit(vmap(f, in_axes=(None, 0))), np.array([1, 4]))):
            run(x, place // 2)
            with pytest.raises(IndexError, match="out of bounds"):
                run(x, place)


def test_compiled_code_raises_for_elements_that_nothing_reads() -> None:
    x = np.array([1.0, 2.0, 3.0])
    for name in ("an element", "a branch", "a loop"):
        f = UNREAD[name]
        for run in (jit(f), jit(grad(lambda x, i, f=f: np.sum(f(x, i))))):
            run(x, 2)
            with pytest.raises(IndexError, match="out of bounds"):
                run(x, 5)
    assert jit(element_in_a_branch)(-x, 5) == -2.0


def test_other_errors_of_results_that_nothing_reads() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        jit(lambda a: (np.linalg.cholesky(a), a[0, 0])[1])(-np.eye(2))
    with pytest.raises(ZeroDivisionError):
        jit(lambda n: (1 // n, n)[1])(0)


def test_a_derivative_that_nothing_reads_is_not_checked_again() -> None:
    program = trace(lambda x, i: vmap(grad(lambda k, x, j: k * x[j]), in_axes=(0, None, 0))(
        x, x, i))(np.ones(3), np.zeros(3, int))  # fmt: skip
    assert "failure" not in program.text()


def test_a_key_whose_value_nothing_reads_has_to_exist() -> None:
    f = jit(lambda x, i: ({2: x, 5: 2 * x}[i], x)[1])
    assert f(1.5, 5) == 1.5
    with pytest.raises(KeyError):
        f(1.5, 0)


def test_an_index_that_is_known_to_be_inside_is_not_checked() -> None:
    weights = [0.5, 1.5, 2.5]

    def f(x: Any, i: Any) -> Any:
        return weights[i % 3] * x + weights[-(i % 3) - 1]

    assert "ensure" not in jit(f).lower(1.0, 7).text()
    assert jit(f)(1.0, 7) == f(1.0, 7)


def test_an_index_error_is_handled() -> None:
    def f(x: Any, i: Any) -> Any:
        try:
            return [x, 2 * x][i]
        except IndexError:
            return 0.0

    compiled = jit(f)
    assert [compiled(1.0, i) for i in (0, 1, 2, -2, -3)] == [1.0, 2.0, 0.0, 1.0, 0.0]


def test_an_index_error_of_an_array_is_handled() -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        y = x.copy()
        try:
            y[i, j] += 2 * x[j, i]
        except IndexError:
            y[0, 0] = 7.0
        return y

    x, compiled = np.arange(6.0).reshape(2, 3), jit(f)
    for i, j in ((0, 1), (1, 0), (1, 2), (-2, -1), (-3, 0), (5, 0)):
        np.testing.assert_array_equal(compiled(x, i, j), f(x, i, j))


def carried(n: Any) -> Any:
    k = 2**63
    for _ in range(n):
        k = 3
    return k


@pytest.mark.parametrize(
    "f",
    [
        lambda n: max(n, 2**70),
        lambda n: [1, 2**70][n],
        lambda n: {0: 1, 1: 2**70}[n],
        lambda n: np.maximum(n, 2**70),
        lambda n: n + 2**70,
        lambda n: 2**70,
        lambda n: 2**70 if n > 2 else n,
        lambda n: 2**63 if n > 2 else n,
        lambda n: fori_loop(0, n, lambda i, k: k, 2**63),
        carried,
    ],
)
def test_an_integer_beyond_64_bits_is_named_with_its_line(f: Any) -> None:
    with pytest.raises(OverflowError, match=r"nteger \d{19,} .*64 bits") as raised:
        jit(f)(0)
    assert f'File "{__file__}"' in str(raised.value)


def test_an_integer_beyond_64_bits_may_become_a_float() -> None:
    for large in (2**63, 2**70):
        f = jit(lambda x, large=large: large if x > 2 else x)
        assert (f(3.0), f(1.0)) == (float(large), 1.0)
    assert jit(lambda n: 2**63)(0) == 2**63  # an unsigned integer


def test_items_keep_pythons_numbers_and_derivatives() -> None:
    def f(x: Any, i: Any) -> Any:
        found = Traced().item([x, x * x, 1.0], i)
        assert found.weak is float
        return found

    assert [jit(grad(f))(3.0, i) for i in range(3)] == [1.0, 6.0, 0.0]
    assert jit(lambda i: Traced().item([1.0, "a"], 0))(1) == 1.0


def test_items_of_other_things_are_refused() -> None:
    with pytest.raises(ConcreteValueError, match="str at a traced index"):
        jit(lambda i: Traced().item("abc", i))(0)
    with pytest.raises(ConcreteValueError, match="dict with a traced key"):
        jit(lambda x: Traced().item({0.5: 1.0}, x))(0.5)
    with pytest.raises(StructureError, match="not numbers or arrays"):
        jit(lambda i: Traced().item(["a", "b"], i))(0)
    with pytest.raises(ShapeError, match="different shapes"):
        jit(lambda i: Traced().item([np.ones(2), np.ones(3)], i))(0)
    with pytest.raises(ConcreteValueError, match="slice of a tuple"):
        jit(lambda i: Traced().item((1.0, 2.0), slice(i, None)))(0)


def test_what_was_chosen_cannot_be_written_to() -> None:
    def into_array(i: Any) -> Any:
        rows = [np.zeros(2), np.ones(2)]
        row = Traced().item(rows, i)
        row[0] = 5.0
        return rows[0]

    with pytest.raises(InPlaceError, match=r"rows\[i, j\] = value"):
        jit(into_array)(0)

    def into_list(i: Any) -> Any:
        grid = [[1.0, 2.0], [3.0, 4.0]]
        Traced().set_item(Traced().item(grid, i), 0, 5.0)
        return grid

    with pytest.raises(InPlaceError, match=r"grid\[i, j\] = value"):
        jit(into_list)(0)


@pytest.mark.parametrize("new", [5.0, None])
def test_what_was_chosen_is_not_used_after_a_change(new: float | None) -> None:
    def f(x: Any, i: Any, copied: bool = False) -> Any:
        rows = [np.zeros(2), np.ones(2)]
        row = Traced().item(rows, i)
        row = row.copy() if copied else row
        rows[0][0] = x if new is None else new
        return row + 1

    with pytest.raises(InPlaceError, match=r"row = rows\[i\].copy\(\)"):
        jit(f)(2.0, 0)
    assert jit(lambda x, i: f(x, i, True))(2.0, 0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("i", [0, 1, -1])
def test_stores(i: int) -> None:
    def into_list(c: Any, x: Any, i: Any) -> Any:
        items = [1.0, 2, x]
        c.set_item(items, i, 3 * x)
        c.update_item(items, i, "iadd", lambda: x)
        c.update_item(items, 0, "imul", lambda: 2.0)
        return items

    def into_array(c: Any, x: Any, i: Any) -> Any:
        made = np.zeros(3)
        c.set_item(made, i, x)
        c.update_item(made, slice(1, None), "iadd", lambda: x)
        c.update_item(made, i, "isub", lambda: 2 * x)
        return made

    check(into_list, 1.5, i)
    check(into_array, 1.5, i)
    check_derivative(lambda c, x: into_list(c, x, c(int, 0 * x) + i)[1] * 1.0, 0.7)
    check(lambda c, x: c.set_item(x_ := [0.0], 0, x) or x_, 2.0)


def test_stores_that_are_refused() -> None:
    plain = np.arange(3.0)
    for store in (lambda c, t: c.set_item(plain, 0, t), lambda c, t: c.set_item(plain, t, 1.0)):
        with pytest.raises(ConcreteValueError, match=r"y = y0\.copy\(\)"):
            jit(lambda t, store=store: store(Traced(), t))(0)
    with pytest.raises(ConcreteValueError, match="dict with a traced key"):
        jit(lambda x: Traced().set_item({}, x, 1.0))(0.0)
    with pytest.raises(IndexError):
        jit(lambda i: Traced().set_item(x_ := [1.0, 2.0], i, 5.0) or x_)(2)
    known = {}
    calls.set_item(known, "a", 1)
    calls.update_item(known, "a", "iadd", lambda: 2)
    assert known == {"a": 3}


# -- ranges, and what holds its parts ---------------------------------------------------


def test_ranges() -> None:
    assert calls.call(range, (3,), {}, lambda f: f) == range(3)
    for bounds in itertools.product((0, 3, -2), (5, 0, -4), (1, 2, -1, -3)):
        check(lambda c, *b: c(len, c(range, *b)), *bounds)
        check(lambda c, a, b, s=bounds[2]: c(len, c(range, a, b, s)), *bounds[:2])

        def ends(c: Any, *b: Any) -> Any:
            r = c(range, *b)
            back = c(reversed, r)
            if isinstance(back, TracedRange):
                return back.start, c(len, back)
            return r.start + (len(r) - 1) * r.step, len(r)

        check(ends, *bounds)

    def f(n: Any) -> Any:
        r = Traced()(range, 1, n)
        assert (r.__class__, r.start, r.step, r.sign) == (TracedRange, 1, 1, 1)
        with pytest.raises(ConcreteValueError, match="fori_loop"):
            iter(r)
        return n

    with pytest.raises(ConcreteValueError):  # the function cannot catch it
        jit(f)(3)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        jit(lambda x: Traced()(range, x))(1.5)
    with pytest.raises(ValueError, match="must not be zero"):
        jit(lambda n: Traced()(len, Traced()(range, 0, n, 0)))(1)


def test_iterators_hold_their_parts() -> None:
    c, x = Traced(), np.arange(10.0)
    rows = c(zip, x, range(10))
    assert isinstance(rows, Zip)
    assert rows.parts[0] is x
    assert not rows.started
    assert next(rows) == (0.0, 0)
    assert rows.started
    assert next(rows) == (1.0, 1)
    assert len(list(rows)) == 8
    assert isinstance(c(enumerate, x, 2), Enumerate)
    assert list(c(enumerate, x, 2))[:1] == [(2, 0.0)]
    assert isinstance(c(reversed, range(3)), Reversed)
    assert list(c(reversed, range(3))) == [2, 1, 0]
    assert type(c(zip, [1], [2])) is zip
    assert type(c(enumerate, [1])) is enumerate
    assert list(c(zip, range(3), [1, 2])) == [(0, 1), (1, 2)]
    with pytest.raises(ValueError, match="zip"):
        list(c(zip, range(3), [1, 2], strict=True))
    with pytest.raises(TypeError, match="reversible"):
        c(reversed, c(zip, range(3)))
    with pytest.raises(TypeError, match="iterable"):
        c(zip, range(3), 1)
    check(lambda c, x: [a * b for a, b in c(zip, x, x[::-1])], np.arange(3.0))
    check(lambda c, x: [a * i for i, a in c(enumerate, x)], np.arange(3.0))
    check(lambda c, x, n: [a * i for i, a in c(enumerate, x, n)], np.arange(3.0), 4)
    check(lambda c, x: list(c(reversed, x)), np.arange(3.0))


def test_functions_of_functions() -> None:
    check(lambda c, x: c(functools.reduce, max, list(x)), np.array([1.0, 3.0, 2.0]))
    check(lambda c, x: c(functools.reduce, max, x, 7.0), np.array([1.0, 3.0, 2.0]))
    check(lambda c, x: list(c(map, math.sin, x)), np.array([1.0, 3.0, 2.0]))
    check(lambda c, x: list(c(map, max, x, [2.0, 2.0])), np.array([1.0, 3.0]))
    check(lambda c, x: c(sum, c(filter, None, [1, 0, 2]), x), 2.0)
    check(lambda c, x: c(functools.partial(max, x), 1.0), 2.0)
    assert jit(lambda x: sum(filter(lambda v: v > 0, [x, 1.0])))(-2.0) == 1.0


@pytest.mark.parametrize(
    "row", [np.array([1.5, 2.5]), np.ones((2, 3)), np.array([1, 2], np.int32), np.array([True] * 3),
            np.array([-0.0])]
)  # fmt: skip
def test_sum(row: np.ndarray) -> None:
    check(lambda c, x: c(sum, x), row)
    check(lambda c, x: c(sum, x, 2.5), row)
    check(lambda c, x: c(sum, [v * v for v in x], start=1), row)
    check(lambda c, x: c(math.prod, x), row)
    dtype = np.asarray(sum(row)).dtype
    assert np.asarray(jit(lambda x: Traced()(sum, x))(row)).dtype == dtype


def test_operators_as_functions() -> None:
    check(lambda c, x, y: [c(operator.add, x, y), c(operator.lt, x, y)], 1.0, 2.0)
    check(lambda c, x: [c(operator.not_, x), c(operator.truth, x)], 1.0)
    check(lambda c, x, i: c(operator.getitem, [x, 2 * x], i), 1.5, 1)
    check(lambda c, x: c(operator.contains, [1.0, 2.0], x), 2.0)
    check(lambda c, i: c(operator.index, i), 2)
    check(lambda c, x: c([1.0, 2.0, 1.0].count, x), 1.0)


def test_methods_at_traced_places() -> None:
    for index in (0, 1, -1):
        check(lambda c, x, i: (xs := [x, 2 * x, 3 * x], c(xs.pop, i), sum(xs))[1:], 1.5, index)
        check(lambda c, x, i: (xs := [x, 3 * x], c(xs.insert, i, 5 * x), xs[0], xs[1], xs[2])[2:],
              1.5, index)  # fmt: skip
    for value in (3.0, 1.5):
        check(lambda c, x, v: c([x, 2 * x, 3 * x].index, v), 1.5, value)
        check(lambda c, x, v: (xs := [x, 2 * x, 3 * x], c(xs.remove, v), sum(xs), xs[0])[2:],
              1.5, value)  # fmt: skip


def test_methods_of_containers_are_refused() -> None:
    for method in ({}.get, (1.0,).index, {1: 1}.pop):
        with pytest.raises(ConcreteValueError):
            jit(lambda x, m=method: Traced()(m, x))(1.5)
    check(lambda c, x: (found := [], c(found.append, x), c(found.extend, [x, x]))[0], 1.0)


# -- types ------------------------------------------------------------------------------

KINDS = (float, int, complex, np.floating, np.ndarray, numbers.Number, numbers.Real, np.float64,
         np.integer, np.generic, list, (int, float), str, float | int, np.inexact)  # fmt: skip


@pytest.mark.parametrize(
    "value", [1.0, 2, 1j, np.float64(1.0), np.float32(1.0), np.int64(1), np.ones(2)],
    ids=lambda v: f"{type(v).__name__}{np.shape(v)}",
)  # fmt: skip
def test_types_are_those_of_the_value(value: Any) -> None:
    def f(x: Any) -> Any:
        c = Traced()
        assert c(type, x) is type(value)
        for kinds in KINDS:
            assert c(isinstance, x, kinds) == isinstance(value, kinds), kinds
        for name in ("__len__", "shape", "real", "append", "__iter__", "item", "is_integer"):
            assert c(hasattr, x, name) == hasattr(value, name), name
        assert c(np.isscalar, x) == np.isscalar(value)
        if np.shape(value) or not isinstance(value, np.ndarray):
            assert c(np.iterable, x) == np.iterable(value)
        assert c(callable, x) is False
        return x * 1

    jit(f)(value)


def test_types_of_other_things() -> None:
    def f(x: Any) -> Any:
        c = Traced()
        made = np.zeros(3)
        made[0] = x
        assert c(type, made) is np.ndarray
        assert c(isinstance, made, np.ndarray)
        assert c(type, np.array(x)) is np.ndarray
        assert c(isinstance, x > 0, (bool, np.bool_))
        assert c(type, "a") is str
        assert c(type, "Made", (), {}).__name__ == "Made"
        assert c(isinstance, c(range, c(int, x)), range)
        return made

    jit(f)(1.0)
    assert jit(lambda x: Traced()(isinstance, x > 0, bool) * x)(3.0) == 3.0
    with pytest.raises(ConcreteValueError, match=r"isinstance\(x, \(bool, np.bool_\)\)"):
        jit(lambda x: Traced()(isinstance, x > 0, bool) * x)(np.float64(1.0))


def test_numpys_types_convert() -> None:
    assert "float64" in calls.NUMPY_NAMES
    for kind in (np.float64, np.float32, np.int64, np.bool_, np.complex128):
        check(lambda c, x, kind=kind: c(kind, x), 2.75)
        check(lambda c, x, kind=kind: c(kind, x), np.arange(3))


# -- Numba's functions ------------------------------------------------------------------


@numba.njit
def _square(x: Any) -> Any:
    return x * x


@numba.vectorize
def _ramp(x: Any, y: Any) -> Any:
    return calls.call(max, (x, 0.0), {}, lambda f: f) + y


@numba.guvectorize("(n)->(n)")
def _copy(x: Any, y: Any) -> None:
    y[:] = x


def test_functions_of_numbas() -> None:
    c = Traced()
    assert c(_square, 3.0) == 9.0
    assert jit(lambda x: c(_square, x))(3.0) == 9.0
    assert grad(lambda x: c(_square, x))(3.0) == 6.0
    assert jit(lambda x: c(_square, np.ones(3)) * x)(3.0).tolist() == [3.0] * 3
    row = np.array([[-1.0, 2.0], [3.0, -4.0]])
    found = jit(lambda x, y: c(_ramp, x, y))(row, np.array([0.0, 10.0]))
    assert found.tolist() == [[0.0, 12.0], [3.0, 10.0]]
    assert grad(lambda x: np.sum(c(_ramp, x, 1.0)))(row).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert jit(lambda x: c(_ramp, x, 1.0))(-2.0) == 1.0
    assert list(c(numba.prange, 3)) == [0, 1, 2]
    with pytest.raises(UncoveredFunctionError, match="guvectorize"):
        jit(lambda x: c(_copy, x))(np.ones(3))


def test_jit_and_grad_of_a_function_of_numbas() -> None:
    assert jit(_square)(3.0) == 9.0
    assert grad(_square)(3.0) == 6.0
    assert jit(grad(_square))(np.float64(3.0)) == 6.0


def test_np_vectorize() -> None:
    c = Traced()
    pick = np.vectorize(lambda x, y: c(max, x, y))
    row = np.array([1.0, 5.0])
    assert jit(lambda x: c(pick, x, 2.0))(row).tolist() == [2.0, 5.0]
    assert c(pick, row, 2.0).tolist() == [2.0, 5.0]
    whole = np.vectorize(lambda x: x * 2.5, otypes=[int])
    assert jit(lambda x: c(whole, x))(row).tolist() == whole(row).tolist()
    power = np.vectorize(lambda x, p, q: x**p + q, excluded=["p"])
    f = lambda x, q: c(power, x, q=q, p=2)  # noqa: E731
    np.testing.assert_array_equal(jit(f)(row, row[::-1]), f(row, row[::-1]))
    assert grad(lambda x: np.sum(f(x, 1.0)))(row).tolist() == [2.0, 10.0]
    summed = np.vectorize(np.sum, signature="(n)->()")
    assert jit(lambda x: c(summed, x))(row) == summed(row)


def test_defaults_of_dicts_may_be_traced() -> None:
    def f(x: float, y: float) -> float:
        table = {"a": x}
        found = table.get("a", y) + table.get("b", y) * x
        return found + table.pop("c", 3.0 * y) + table.setdefault("d", x * y) + table["d"]

    assert jit(f)(2.0, 5.0) == f(2.0, 5.0)
    assert jit(grad(f, (0, 1)))(2.0, 5.0) == (16.0, 9.0)
    for name in ("get", "pop", "setdefault"):
        with pytest.raises(ConcreteValueError, match="dict with a traced key"):
            jit(lambda x, name=name: getattr({0.5: 1.0}, name)(x, x))(1.0)


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x, i: [x][i], IndexError),
        (lambda x, i: (x, x)[i], IndexError),
        (lambda x, i: {1: x}[i], KeyError),
        (lambda x, i: {1: x, 3: x}[i], KeyError),
        (lambda x, i: x * [7.0, 7.0][i], IndexError),
    ],
)
def test_places_among_equal_elements_are_checked(f: Any, error: type[Exception]) -> None:
    """All elements are equal, yet an index or key that does not exist raises."""
    for call in (jit(f), jit(grad(f))):
        with pytest.raises(error):
            call(2.0, 5)
    assert jit(f)(2.0, 1 if error is KeyError else 0) in (2.0, 14.0)
