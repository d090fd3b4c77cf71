"""Lists and dicts at traced places, of which one changes in place afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autojit import grad, jit
from autojit.errors import CaptureError, RefusedInPlaceError


def read_then_changed(rows: Any, i: Any) -> Any:
    row = rows[i]
    rows[0][0] = 9.0
    return row[0]


def greatest_then_changed(rows: Any, i: Any) -> Any:
    row = max(rows, key=lambda r: r[0] * i)
    rows[0][0] = 9.0
    return sum(row)


def sorted_then_changed(rows: Any, i: Any) -> Any:
    ordered = sorted(rows, key=lambda r: r[0] * i)
    rows[0][0] = 9.0
    return ordered[0][0]


def lengthened(rows: Any, i: Any) -> Any:
    row = rows[i]
    rows[0].append(2.0)
    return len(row)


def set_then_changed(rows: Any, i: Any) -> Any:
    given = [5.0, 6.0]
    rows[i] = given
    given[0] = 9.0
    return rows[0][0]


def an_old_row_changed(rows: Any, i: Any) -> Any:
    first = rows[0]
    rows[i] = [5.0, 6.0]
    first[0] = 9.0
    return rows[0][0]


def of_a_dict(rows: Any, i: Any) -> Any:
    table = {0: {"a": rows[0][0]}, 1: {"a": rows[1][0]}}
    entry = table[i]
    table[0]["a"] = 9.0
    return entry["a"]


def in_a_dict(rows: Any, i: Any) -> Any:
    table = {0: {"w": rows[0]}, 1: {"w": rows[1]}}
    entry = table[i]
    entry["w"][0] = 4.0
    return table[0]["w"][0]


CHANGED: list[Callable[..., Any]] = [
    read_then_changed, greatest_then_changed, sorted_then_changed, lengthened, set_then_changed,
    an_old_row_changed, of_a_dict, in_a_dict,
]  # fmt: skip


def _rows(x: Any) -> list[list[Any]]:
    return [[x, 1.0], [2.0, 3 * x]]


@pytest.mark.parametrize("f", CHANGED)
def test_a_list_that_may_have_changed_is_refused(f: Any) -> None:
    with pytest.raises((RefusedInPlaceError, CaptureError), match=r"chang"):
        jit(lambda x, i: f(_rows(x), i))(3.0, 1)
    for i in (0, 1):  # without jit the place is known
        assert grad(lambda x, i=i: 1.0 * f(_rows(x), i))(3.0) in (0.0, 1.0, 3.0, 4.0)


def read_before(rows: Any, i: Any) -> Any:
    value = rows[i][0]
    rows[0][0] = 9.0
    return value


def copied(rows: Any, i: Any) -> Any:
    row = list(rows[i])
    rows[0][0] = 9.0
    return row[0] + sum(rows[0])


def changed_before(rows: Any, i: Any) -> Any:
    rows[0][0] = 9.0
    row = rows[i]
    return sum(row) + len(row) + (9.0 in row) + [*row, 1.0][0]


def set_and_read(rows: Any, i: Any) -> Any:
    rows[i] = [5.0, 6.0]
    return rows[0][0] + 10 * rows[1][1]


@pytest.mark.parametrize("f", [read_before, copied, changed_before, set_and_read])
def test_other_lists_are_read(f: Any) -> None:
    for i in (0, 1):
        assert jit(lambda x, i: f(_rows(x), i))(3.0, i) == f(_rows(3.0), i)


def test_rows_that_change_their_places() -> None:
    def f(rows: Any, i: Any) -> Any:
        rows = [row[:] for row in rows]
        rows[0], rows[i] = rows[i], rows[0]
        return rows[0][0]

    with pytest.raises(CaptureError, match="Keep the rows in one array") as caught:
        jit(f)([[1.0, 2.0], [3.0, 4.0]], 1)
    assert "rows[[i, k]] = rows[[k, i]]" in str(caught.value)
