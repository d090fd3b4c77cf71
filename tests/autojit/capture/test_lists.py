"""Lists whose length is a traced value: checks at run time, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit, trace
from autojit.capture.state import stretch
from autojit.errors import CaptureError

X = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])


def of_lists(x):
    groups = [[x[0]]]
    for v in x[1:]:
        if v > 2:
            groups.append([v])
    return len(groups) + x[0]


def of_two_kinds(x):
    found = []
    for v in x:
        if v > 2:
            found.append(v)
        if v < 2:
            found.append((v, v))
    return len(found) + x[0]


def matched(x):
    match [v for v in x if v > 3]:
        case [a, _]:
            return a
        case _:
            return x[0]


def spread(x):
    return max(*[v for v in x if v > 2])


def unpacked(x):
    a, *rest = (v for v in x if v > 3)
    return a + len(rest)


def other_library(x):
    import statistics

    return statistics.multimode([v for v in x if v > 3])


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (of_lists, r"not: points.append\(\[x, y\]\)"),
        (of_two_kinds, "its elements are not of one kind"),
        (matched, "The length of this list"),
        (spread, "The length of this list"),
        (unpacked, "The length of this list"),
        (other_library, "The length of this list"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_refused(f, words):
    with pytest.raises(CaptureError, match=words):
        jit(f)(X)


def test_errors_come_as_the_code_runs():
    @jit
    def f(x, index):
        found = [v for v in x if v > 2]
        found[index] = 1.0
        return found.pop(0) + found[1]

    assert f(X, 0) == 1.0 + 9.0
    with pytest.raises(IndexError, match="assignment index out of range"):
        f(X, 4)
    with pytest.raises(IndexError, match="list index out of range"):
        f(X / 3, 0)
    with pytest.raises(IndexError, match="out of range"):
        f(X / 10, 0)


def test_unpacking_checks_the_length():
    @jit
    def f(x):
        a, b = (v for v in x if v > 3)
        c, d = [v for v in x if v > 3]
        return a * b + c - d

    assert f(X) == 36.0 + 4.0 - 9.0
    with pytest.raises(ValueError, match="not enough values"):
        f(X / 2)
    with pytest.raises(ValueError, match="too many values"):
        f(X * 2)


def test_room_ends():
    @jit
    def f(x):
        found = []
        while x > 0:
            x = x - 1.0
            found.append(x * x)
        return found[-1] + len(found)

    room = stretch.ROOM
    assert f(room - 0.5) == 0.25 + room
    with pytest.raises(OverflowError, match=f"more than {room} elements"):
        f(room + 0.5)


def test_known_lengths_stay_known():
    @jit
    def f(x):
        found = []
        for i in range(20):
            if i % 3 == 1:
                found.append(x * i)
        return np.array(found)

    np.testing.assert_array_equal(f(2.0), 2.0 * np.arange(1, 20, 3))


def test_a_name_may_share_the_list():
    def f(x):
        a = []
        b = a
        for v in x:
            if v > 2:
                b.append(v)
        return sum(a) * len(b)

    assert jit(f)(X) == f(X)
    np.testing.assert_allclose(jit(grad(f))(X), 4.0 * (X > 2))


def clipped(x, lines):
    """What is left of points by lines that cut off what lies beyond, with a point more at each
    end."""
    kept = [v for v in x]
    for line in lines:
        before, kept = kept, []
        last = before[-1]
        for v in before:
            if v > line:
                if last <= line:
                    kept.append(line + 0.0 * v)
                kept.append(v)
            elif last > line:
                kept.append(line * v)
            last = v
    return sum(kept)


def test_tracing_is_linear_in_the_number_of_loops_that_fill_lists():
    lines = [2.0, 1.0, 0.5, 2.5, 0.1, 0.2]
    sizes = [len(trace(lambda x, k=k: clipped(x, lines[:k]))(X).ops) for k in (2, 4, 6)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]
    np.testing.assert_allclose(jit(clipped, static_argnums=1)(X, tuple(lines)), clipped(X, lines))


def test_a_loop_does_not_carry_the_lists_that_it_only_reads():
    def found(x, n):
        xs = []
        while x > 0:
            xs.append(x)
            x = x - 1
        place = 0
        while place < n and xs[place] > 0.5:
            place += 1
        return xs[place]

    program = str(trace(found)(3.25, 2))
    carried = [line for line in program.splitlines() if "= while" in line]
    assert len(carried) == 2
    assert "f64[16384]" in carried[0]
    assert "f64[16384]" not in carried[1].split("= while")[0]
