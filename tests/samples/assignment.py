"""Assignment: to items, through views, and by functions that write into an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.samples.kinds import Draw, Sample, flags, moved, real, whole


def item(name: str, index: Any, *arguments: Draw) -> Sample:
    """``x[index] = v`` in a copy of x; the arguments after x and v are indices."""

    def function(x: Any, v: Any, *places: Any) -> Any:
        y = np.copy(x)
        y[index(*places) if callable(index) else index] = v
        return y

    return moved(f"x[{name}] = v", function, *arguments)


def written(name: str, write: Callable[..., Any], *arguments: Draw) -> Sample:
    """A function that writes into a copy of x."""

    def function(x: Any, *others: Any) -> Any:
        y = np.copy(x)
        write(y, *others)
        return y

    return moved(name, function, *arguments)


def _in_place(x: Any, v: Any) -> Any:
    y = x * 1.0
    y[1:-1] += v
    y[:, 0] *= y[0]
    y[[0, -1]] -= v[0]
    return y


def _views(x: Any, v: Any) -> Any:
    y = x * 1.0
    column, corner = y.T[1], y[1:, 1:]
    corner[...] = v
    y[1] = column[1] * 2.0
    np.flip(column)[0] = v[0, 0]
    return y, column, corner


ASSIGNMENT = [
    item("1:3", np.s_[1:3], real(5, 2), real(2, 2)),
    item("::-2, 1", np.s_[::-2, 1], real(5, 3), real(3)),
    item("1:, None, :2", np.s_[1:, None, :2], real(3, 4), real(1, 1, 2)),
    item("...", ..., real(3), real()),
    item("1, 2", (1, 2), real(3, 4), real()),
    item("list", [0, 2], real(4, 2), real(2)),
    item("repeated", np.array([[0, 2], [2, 0]]), real(3), real(2, 2)),
    item("known mask", np.array([True, False, True]), real(3, 2), real(2, 1)),
    item("array", lambda i: i, real(6, 2), real(3, 2), whole(3, low=-6, high=6)),
    item("integer", lambda i: i, real(3, 2), real(2), whole(low=-3, high=3)),
    item("1:, array", lambda i: np.s_[1:, i, :], real(3, 4, 2), real(2, 3, 2),
         whole(3, low=0, high=4)),
    item("array, :, array", lambda i: np.s_[i, :, i], real(3, 2, 3), real(4, 2),
         whole(4, low=0, high=3)),
    item("mask", lambda m: m, real(4, 3), real(3), flags(4)),
    item("mask of all", lambda m: m, real(4, 3), real(), flags(4, 3)),
    item(":, mask", lambda m: np.s_[:, m], real(2, 4), real(2, 1), flags(4)),
    moved("x[1:-1] += v", _in_place, real(4, 4), real(2, 4)),
    moved("views", _views, real(3, 3), real(2, 2)),
    written("add.at", np.add.at, real(3, 2), whole(5, low=-3, high=3), real(5, 2)),
    written("add.at slice", lambda y, v: np.add.at(y, np.s_[1:], v), real(3, 2), real(2)),
    written("subtract.at", np.subtract.at, real(3), whole(5, low=-3, high=3), real(5)),
    written("put", np.put, real(3, 2), whole(4, low=-6, high=6), real(3)),
    written("put wrap", lambda y, i, v: np.put(y, i, v, "wrap"), real(3), whole(4), real()),
    written("put clip", lambda y, i, v: y.put(i, v, mode="clip"), real(3), whole(4), real(4)),
    written("put_along_axis", lambda y, i, v: np.put_along_axis(y, i, v, axis=1),
            real(3, 4), whole(3, 2, low=0, high=4), real(3, 1)),
    written("put_along_axis of all", lambda y, i, v: np.put_along_axis(y, i, v, axis=None),
            real(2, 2), whole(3, low=0, high=4), real()),
    written("putmask", np.putmask, real(3, 2), flags(3, 2), real(4)),
    written("place", lambda y, v: np.place(y, np.arange(6).reshape(3, 2) % 3 == 1, v),
            real(3, 2), real(3)),
    written("place traced", np.place, real(4), flags(4), real(1)),
    written("copyto", np.copyto, real(3, 2), real(2)),
    written("copyto where", lambda y, v, m: np.copyto(y, v, where=m),
            real(3, 2), real(2), flags(2)),
    written("fill_diagonal", np.fill_diagonal, real(4, 3), real(2)),
    written("fill_diagonal wrap", lambda y, v: np.fill_diagonal(y, v, wrap=True),
            real(5, 2), real()),
    written("fill_diagonal of a cube", np.fill_diagonal, real(2, 2, 2), real()),
    written("fill", lambda y, v: y.fill(v), real(3, 2), real()),
    written("add out", lambda y, v: np.add(y, v, out=y), real(3, 2), real(2)),
    written("multiply out", lambda y, v: np.multiply(v, 2.0, out=y), real(3, 2), real(2)),
]  # fmt: skip
