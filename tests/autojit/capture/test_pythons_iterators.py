"""Python's iterators, which nothing can put back, in traced branches and loops."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import queue
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import jit, value_and_grad
from autojit.errors import AutojitError, CaptureError

TABLE = np.arange(1.0, 9.0)
LINES = "1\n2\n3\n4\n5\n6\n7\n8\n"

#: Iterators that nothing but their elements shows the position of, and some others.
ITERATORS: dict[str, Callable[[], Any]] = {
    "nditer": lambda: np.nditer(TABLE),
    "flat": lambda: TABLE.flat,
    "ndindex": lambda: np.ndindex(8),
    "ndenumerate": lambda: np.ndenumerate(TABLE),
    "finditer": lambda: re.finditer("a", "a" * 8),
    "csv": lambda: csv.reader(io.StringIO(LINES)),
    "lines": lambda: io.StringIO(LINES),
    "memoryview": lambda: iter(memoryview(TABLE)),
    "map": lambda: map(float, range(1, 9)),
    "filter": lambda: filter(None, range(1, 9)),
    "starmap": lambda: itertools.starmap(pow, [(k, 2) for k in range(1, 9)]),
    "pairwise": lambda: itertools.pairwise(range(1, 9)),
    "zip_longest": lambda: itertools.zip_longest([1.0, 2.0, 3.0, 4.0, 5.0], [2.0]),
    "compress": lambda: itertools.compress(range(1, 9), [1, 0, 1, 1, 1, 1, 1]),
    "zip": lambda: zip(range(1, 9), range(9), strict=False),
    "enumerate": lambda: enumerate([4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
    "dict": lambda: iter({k: float(k) for k in range(1, 9)}.items()),
    "keys": lambda: iter({k: 0 for k in range(1, 9)}),
    "iter": lambda: iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
}


def number(v: Any) -> Any:
    while isinstance(v, (tuple, list)):
        v = v[0]
    return v.start() if isinstance(v, re.Match) else float(v) if isinstance(v, str) else v


def in_a_loop(x, it):
    s = 0.0
    while s < x:
        s = s + abs(number(next(it))) + 0.5
    return s


def in_a_branch(x, it):
    s = x
    if x > 2:
        s = s + number(next(it))
    return s + number(next(it))


def in_a_call_in_a_branch(x, it):
    s = x
    if x > 2:
        s = s + sum(number(v) for v in itertools.islice(it, 2))
    return s + number(next(it))


def as_a_list_in_a_branch(x, it):
    s = x
    if x > 2:
        s = s + len(list(it))
    return s + number(next(it, 0.0))


def unpacked_in_a_branch(x, it):
    s = x
    if x > 2:
        first, *_ = it
        s = s + number(first)
    return s + number(next(it, 0.0))


def after_a_loop(x, it):
    s = 0.0
    for v in it:
        s = s + number(v)
        if s > x:
            break
    return s + 10 * number(next(it))


def a_second_loop(x, it):
    s = 0.0
    for v in it:
        s = s + number(v)
        if s > x:
            break
    for v in it:
        s = s + 2 * number(v)
    return s


def under_enumerate(x, it):
    s = 0.0
    for _, v in enumerate(it):
        s = s + number(v)
        if s > x:
            break
    return s + 10 * number(next(it))


def under_zip(x, it):
    s = 0.0
    for v, _ in zip(it, range(20), strict=False):
        s = s + number(v)
        if s > x:
            break
    return s + 10 * number(next(it))


USES = [
    in_a_loop, in_a_branch, in_a_call_in_a_branch, as_a_list_in_a_branch, unpacked_in_a_branch,
    after_a_loop, a_second_loop, under_enumerate, under_zip,
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ITERATORS)
def test_it_is_right_or_refused(name: str, use: Callable[..., Any]) -> None:
    def f(x):
        return use(x, ITERATORS[name]())

    for x in (9.0, 1.0):
        for transformed in (jit(f), lambda x: value_and_grad(f)(x)[0]):
            try:
                found = transformed(x)
            except AutojitError:
                continue
            assert float(found) == float(f(x))


def test_the_fix_of_the_message_works() -> None:
    def f(x, as_list):
        steps = map(float, range(1, 9))
        if as_list:
            steps = iter(list(steps))
        return in_a_loop(x, steps)

    with pytest.raises(CaptureError, match=r"steps = iter\(list\(steps\)\)"):
        jit(f, static_argnums=1)(9.0, False)
    assert float(jit(f, static_argnums=1)(9.0, True)) == f(9.0, True)


def whole(x, make):
    it = make()
    s = 0.0
    for a, b in it:
        s = s + a * x + b
    return s, next(it, None) is None


def known_end(x, make):
    it = make()
    s = 0.0
    for k, v in it:
        s = s + v * x
        if k > 2:
            break
    return s + next(it)[1]


def a_new_one_in_each_step(x, make):
    s = 0.0
    while s < x:
        it = iter(make())
        s = s + next(it)[1] + 1.0
        s = s + next(it)[1]
    return s


@pytest.mark.parametrize("use", [whole, known_end, a_new_one_in_each_step])
@pytest.mark.parametrize("n", [6, 40])
def test_what_a_traced_value_does_not_decide_runs_as_in_python(
    use: Callable[..., Any], n: int
) -> None:
    for make in (
        lambda: zip(range(n), np.arange(float(n)), strict=False),
        lambda: enumerate(np.arange(float(n))),
        lambda: map(lambda k: (k, float(k)), range(n)),
    ):
        wanted, found = use(2.0, make), jit(lambda x, make=make: use(x, make))(2.0)
        assert np.all(np.asarray(found) == np.asarray(wanted))


# -- objects that show nothing of their state --------------------------------------------------


def written(x):
    text = io.StringIO()
    if x > 1:
        text.write("ab")
    return x * len(text.getvalue())


def read(x):
    text = io.StringIO("1\n2\n3\n")
    s = 0.0
    while s < x:
        s = s + float(text.readline())
    return s


def queued(x):
    values = queue.SimpleQueue()
    values.put(1.0)
    values.put(2.0)
    s = 0.0
    if x > 1:
        s += values.get()
    return s + values.get() * x


def hashed(x):
    digest = hashlib.md5(usedforsecurity=False)
    if x > 1:
        digest.update(b"a")
    return x * digest.digest()[0]


def set_globally(x):
    if x > 1:
        globals()["LATEST"] = x
    return x


@pytest.mark.parametrize("f", [written, read, queued, hashed, set_globally])
def test_objects_in_c_that_a_branch_changes_are_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(CaptureError, match=r"changed|sets the global name"):
        jit(f)(0.6)


def test_objects_in_c_that_no_traced_value_changes():
    def f(x):
        text = io.StringIO()
        for k in range(3):
            text.write(str(k))
        values = queue.SimpleQueue()
        values.put(2.0)
        if x > 1:
            x = x + len(text.getvalue())
        return x + values.get()

    assert float(jit(f)(2.0)) == f(2.0)
