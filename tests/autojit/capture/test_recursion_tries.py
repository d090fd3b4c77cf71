"""Recursive calls of traced depth in ``try``, ``with``, ``match`` and the ``else`` of loops."""

from __future__ import annotations

import contextlib
import math
import threading

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import CaptureError

from .outcomes import is_same, outcome


def in_try(n):
    def f(n, x):
        if n < 1:
            return x
        try:
            return f(n - 1, x * 0.5) + math.sqrt(x)
        except ValueError:
            return -1.0

    return f(n, 2.0 * n)


def domain_after(n):
    def f(n):
        if n < 1:
            return 0.25
        try:
            r = f(n - 1)
            y = math.sqrt(2.5 - r - n)
        except ValueError:
            y = 0.0
        return y + r

    return f(n)


def with_finally(n):
    count = [0]

    def f(n):
        if n < 1:
            return 0.25
        try:
            r = f(n - 1) * 0.5
        finally:
            count[0] += 1
        return r + n

    return f(n) + count[0]


def return_finally(n):
    count = [0]

    def f(n):
        if n < 1:
            return 0.25
        try:
            return f(n - 1) * 0.5 + n
        finally:
            count[0] += 1

    return f(n) + count[0]


def with_err(n):
    def f(n):
        if n < 1:
            return 0.25
        with np.errstate(all="ignore"):
            r = f(n - 1) + np.sqrt(n)
        return r * 2

    return f(n)


def with_lock(n):
    lock = threading.RLock()

    def f(n):
        if n < 1:
            return 0.25
        with lock:
            r = f(n - 1) + n
        return r

    return f(n)


def with_null(n):
    def f(n):
        if n < 1:
            return 0.25
        with contextlib.nullcontext():
            r = f(n - 1) + n
        return r

    return f(n)


def matched(n):
    def f(n, k):
        if n < 1:
            return 0.25
        match k:
            case 0:
                return f(n - 1, 1) + n
            case 1:
                r = f(n - 1, 0)
                return r * 0.5

    return f(n, 0)


def matched_tuple(n):
    def f(n, p):
        if n < 1:
            return 0.25
        match p:
            case (a, 0):
                r = f(n - 1, (a + 1, 1)) + n * a
            case (a, b):
                r = f(n - 1, (a, 0)) * 0.5 + b
        return r

    return f(n, (1, 0))


def matched_class(n):
    class P:
        __match_args__ = ("x",)

        def __init__(self, x):
            self.x = x

    q = P(2.0)

    def f(n):
        if n < 1:
            return 0.25
        match q:
            case P(x):
                r = f(n - 1) + n * x
        return r

    return f(n)


def in_handler(n):
    def f(n):
        if n < 1:
            return 0.25
        try:
            y = math.sqrt(2.5 - n)
        except ValueError:
            y = f(n - 1) * 2
        return y + n

    return f(n)


def in_else(n):
    def f(n):
        if n < 0.1:
            return 0.25
        try:
            y = math.sqrt(2.5 - n)
        except ValueError:
            y = f(n - 2) * 2
        else:
            y += f(n - 1)
        return y + n

    return f(n)


def loop_else(n):
    def f(n):
        if n < 1:
            return 0.25
        for _ in range(2):
            pass
        else:
            r = f(n - 1) + n
        return r

    return f(n)


def in_two_tries(n):
    seen = []

    def f(n):
        if n < 1:
            return 0.25
        try:
            try:
                r = f(n - 1) * 0.5
                seen.append(n)
                y = math.sqrt(3.0 - n - r)
            finally:
                seen.append(1.0)
        except ValueError:
            seen.append(2.0)
            y = -1.0
        return r + y

    return f(n) + sum(k * v for k, v in enumerate(seen))


def in_a_loop_in_a_try(n):
    def f(n):
        total = n
        if n < 1:
            return total
        try:
            for k in range(3):
                if k > n:
                    break
                total += f(n - 1 - k) * 0.5
                total += math.log(3.0 + k - total)
        except ValueError:
            total += 0.125
        return total

    return f(n)


def broken_loop(n):
    def f(n):
        total = 0.5
        for k in range(3):
            if k > n:
                break
            total += f(n - 1 - k) * 0.25
        else:
            total += f(n - 3) + n
        return total

    return f(n)


FUNCTIONS = [
    in_try,
    domain_after,
    with_finally,
    return_finally,
    with_err,
    with_lock,
    with_null,
    matched,
    matched_tuple,
    matched_class,
    in_handler,
    in_else,
    loop_else,
    in_two_tries,
    in_a_loop_in_a_try,
    broken_loop,
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_and_derivatives(f):
    compiled, derived = jit(f), jit(grad(f))
    for n in (4.75, 0.75, 2.25):
        expected, found = outcome(f, (n,)), outcome(compiled, (n,))
        assert is_same(expected, found), (n, expected, found)
        slope = (f(n + 1e-6) - f(n - 1e-6)) / 2e-6
        np.testing.assert_allclose(derived(n), slope, rtol=1e-5, atol=1e-6)


def _raises_below(n):
    if n < 1:
        raise ValueError("below")
    try:
        return _raises_below(n - 1) + n
    except ValueError:
        return 0.5


class _Counts:
    entered = 0

    def __enter__(self):
        self.entered += 1

    def __exit__(self, *raised):
        pass


def _in_a_with_of_its_own(n):
    counts = _Counts()

    def f(n):
        if n < 1:
            return 0.25
        with counts:
            return f(n - 1) + n

    return f(n) + counts.entered


def _in_finally(n):
    def f(n):
        y = 0.25
        if n < 1:
            return y
        try:
            y = n
        finally:
            y += f(n - 1)
        return y

    return f(n)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (_raises_below, "handles ValueError, which another call"),
        (_in_a_with_of_its_own, "manager may change"), (_in_finally, "calls itself"),
    ],
)  # fmt: skip
def test_what_is_refused(f, words):
    with pytest.raises(CaptureError, match=words):
        jit(f)(3.5)
