"""Lists of arrays with traced length give Python's result, or an error if arrays change."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import disable_jit, grad, jit
from autojit.errors import AutojitError, CaptureError, RefusedInPlaceError

X = np.array([3.1, 1.5, 0.5])
TABLE = np.array([1.0, 2.0, 3.0])


def descent(x):
    path = [x]
    while np.sum(x**2) > 1e-3:
        x = x - 0.2 * x * np.array([1.0, 2.0, 3.0])
        path.append(x)
    path = np.array(path)
    return np.sum(path**2) + len(path) + path[-1, 0]


def in_steps(x):
    rows, i = [], 0
    while i < x[0]:
        rows.append(x * i)
        i += 1
    total = 0.0
    for row in rows:
        total += row @ row
    return total + rows[-1][1] + rows[1][0]


def under_a_condition(x):
    rows = []
    for i in range(20):
        if x[i % 3] > 1:
            rows.append(np.sin(x) * i)
    if not rows:
        return 0.0
    return np.mean(rows[0]) + np.array(rows).mean(axis=0)[1] + len(rows)


def pairs(x):
    found, g = [], 2 * x
    while np.linalg.norm(g) > 1e-2 and len(found) < 50:
        moved = x - 0.2 * g
        found.append((moved - x, 2 * moved - g))
        x, g = moved, 2 * moved
    total = 0.0
    for s, y in reversed(found):
        total += s @ y
    return total


def copies(x):
    y = x * 1
    rows = [y.copy()]
    while y[0] < 10:
        y[0] += 1
        rows.append(y.copy())
        y[1] = 0.0
    return rows[-1][0] + rows[1][1] + rows[0][1]


def of_another_dtype(x):
    rows = [np.zeros(3, int)]
    while rows[-1][0] < x[0]:
        rows.append(rows[-1] + 1)
    return rows[-1][1] * x[1] + len(rows)


def inserted(x):
    rows = []
    while len(rows) < x[0] + 1:
        rows.insert(0, x * len(rows))
    first = rows.pop()
    last = rows.pop(0)
    return first @ x + last @ x + rows[0][0] + rows[-1][1]


def tables(x):
    found = []
    for i in range(12):
        if x[i % 3] < 2:
            found.append(np.outer(x, x) * i)
    return sum(m[0, 1] for m in found) + found[-1].sum()


def last_of_a_step(x):
    rows = [x]
    while rows[-1].sum() < 50:
        rows.append(rows[-1] * 1.5)
        if len(rows) > 3:
            rows[0] = rows[0] + rows[-1]
    return rows[0][0] + rows[-1][2]


EXACT = [
    descent, in_steps, under_a_condition, pairs, copies, of_another_dtype, inserted, tables,
    last_of_a_step,
]  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("x", [X, X * 0.9, np.array([1.5, 0.25, 4.0])], ids=["a", "b", "c"])
@pytest.mark.parametrize("f", EXACT)
def test_as_in_python(f, x):
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-12)
    with disable_jit():
        known = grad(f)(x)
    np.testing.assert_allclose(jit(grad(f))(x), known, rtol=1e-9, atol=1e-12)
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(known, slopes, rtol=1e-5, atol=1e-6)


# -- a list's array that changes in place: Python's list would show the change ----------------


def changed_before_the_next(x):
    y, rows = x * 1, []
    while y[0] < 10:
        y[0] += 1
        rows.append(y)
    return rows[0][0]


def changed_after_the_loop(x):
    y = x * 1
    rows = [y]
    while y[0] < 10:
        y = y + 1
        rows.append(y)
    y[0] = 5
    return rows[-1][0]


def changed_by_the_next_step(x):
    y = x * 1
    rows = [y]
    while y[0] < 10:
        y[1] = 0
        y = y + 1
        rows.append(y)
    return rows[-1][0] + rows[0][1]


def created_and_changed(x):
    y = np.zeros(3)
    rows = [y]
    while rows[-1][0] < x[0]:
        rows.append(rows[-1] + 1)
    y[0] = 7
    return rows[0][0] + len(rows)


def element_changed(x):
    rows = [np.zeros(3)]
    while rows[-1][0] < x[0]:
        rows.append(rows[-1] + 1)
    row = rows[0]
    row[0] = x[0]
    return rows[0][0] + len(rows)


def element_changed_at_a_place(x):
    rows = [np.zeros(3)]
    while rows[-1][0] < x[0]:
        rows.append(rows[-1] + 1)
    rows[0][1] += x[1]
    return rows[0][1]


def changed_after_a_branch(x):
    y, rows = x * 1, []
    if x[0] > 0:
        rows.append(y)
    y[0] = 5
    return rows[0][0] if rows else 0.0


def made_in_a_branch(x):
    y, rows = x * 1, []
    z = y
    if x[0] > 0:
        z = y * 2
        rows.append(z)
    z[0] = 5
    return rows[0][0] if rows else 0.0


def view_of_what_changes(x):
    table, rows = np.outer(x, x), []
    i = 0
    while i < x[0]:
        rows.append(table[i % 3])
        i += 1
    table[0, 0] = 9.0
    return rows[0][0]


def other_name(x):
    y = x * 1
    z = y
    rows = []
    while len(rows) < x[0]:
        rows.append(z)
        z = z + 1
    y[0] = 4.0
    return rows[0][0]


def perhaps_the_same(x):
    y = x * 1
    z = y if x[1] > 1 else y + 1
    rows = []
    if x[0] > 0:
        rows.append(z)
    y[0] = 4.0
    return rows[0][0]


def popped(x):
    y = x * 1
    rows = [x * 2, y]
    if x[0] > 100:
        rows.append(x)
    last = rows.pop()
    last[0] = 7.0
    return y[0] + last[0]


def in_a_view(x):
    y, rows = x * 1, []
    part = y[1:]
    if x[0] > 0:
        rows.append(y)
    part += 1
    return rows[0][1]


def reshaped(x):
    y, rows = x * 1, []
    if x[0] > 0:
        rows.append(y.reshape(3, 1))
    y[0] = 2.0
    return rows[0][0, 0]


def two_carries(x):
    a = b = x * 1
    rows = []
    while len(rows) < x[0]:
        rows.append(a)
        a = b = rows[-1] + 1
        rows.append(b)
    b[0] = 2.0
    return rows[-1][0]


def two_names_of_a_step(x):
    a = b = x * 1
    rows = []
    while len(rows) < x[0]:
        rows.append(a)
        c = a + 1
        a, b = c, c
        if x[1] > 100:
            b = b + 1
    b[1] = 2.0
    rows.append(a)
    return rows[-1][1]


CHANGED = [
    changed_before_the_next, changed_after_the_loop, changed_by_the_next_step, created_and_changed,
    element_changed, element_changed_at_a_place, changed_after_a_branch, made_in_a_branch,
    two_carries, two_names_of_a_step, view_of_what_changes, other_name, perhaps_the_same, popped,
    in_a_view, reshaped,
]  # fmt: skip


@pytest.mark.parametrize("f", CHANGED)
def test_changes_are_refused(f):
    with pytest.raises(AutojitError, match=r"copies of its (elements|arrays)"):
        jit(f)(X)


def _put(y, x):
    y[0] = 1.0


CHANGES = {
    "at": lambda y, x: np.add.at(y, [0], 1.0),
    "copyto": lambda y, x: np.copyto(y, x),
    "out": lambda y, x: np.sin(x, out=y),
    "fill": lambda y, x: y.fill(0.0),
    "sort": lambda y, x: y.sort(),
    "put": lambda y, x: np.put(y, [0], 3.0),
    "flat": lambda y, x: _put(y.flat, x),
    "transpose": lambda y, x: _put(y.T, x),
    "reverse": lambda y, x: _put(y[::-1], x),
    "ravel": lambda y, x: _put(y.ravel(), x),
    "mask": lambda y, x: y.__setitem__(x > 0, 2.0),
    "augmented": lambda y, x: y.__iadd__(x),
    "shape": lambda y, x: setattr(y, "shape", (1, 3)),
    "in a branch": lambda y, x: _put(y, x) if x[0] > 0 else None,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_each_way_to_change_an_array_is_refused(change):
    def f(x):
        y, rows = x * 1, []
        if x[1] > 0:
            rows.append(y)
        change(y, x)
        return rows[0].sum()

    with pytest.raises(
        AutojitError, match=r"copies of its elements|others may see is set in place"
    ):
        jit(f)(X)


def from_outside(x):
    rows = []
    while len(rows) < x[0]:
        rows.append(TABLE)
    return rows[0] @ x


def one_object(x):
    y, rows = x * 1, []
    if x[0] > 0:
        rows.append(y)
    return x[0] if rows[-1] is y else x[1]


def of_two_shapes(x):
    rows = []
    for i in range(10):
        if x[i % 3] > 1:
            rows.append(x)
        else:
            rows.append(x[1:])
            rows.append(x)
    return rows[0][0]


def sorted_rows(x):
    rows = []
    for i in range(10):
        if x[i % 3] > 1:
            rows.append(x * i)
    return sorted(rows, key=lambda row: row)[0]


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (from_outside, CaptureError, r"not: rows.append\(table\)"),
        (one_object, CaptureError, "the same object"),
        (of_two_shapes, CaptureError, "arrays of one shape"),
        (sorted_rows, CaptureError, "length of this list"),
    ],
)
def test_refused(f, error, words):
    with pytest.raises(error, match=words):
        jit(f)(X)


def test_an_empty_list_has_no_array():
    f = jit(in_an_array)
    assert f(X) == pytest.approx(in_an_array(X))
    with pytest.raises(ValueError, match="an empty list of arrays"):
        f(-X)


def in_an_array(x):
    rows = []
    while len(rows) < x[0]:
        rows.append(x * len(rows))
    return np.array(rows).sum()


def test_the_message_names_the_fix():
    with pytest.raises(RefusedInPlaceError, match=r"rows.append\(x.copy\(\)\)"):
        jit(changed_after_the_loop)(X)
