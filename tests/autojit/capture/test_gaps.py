"""Lists in which elements are None at times, of known length and of traced length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import disable_jit, errors, grad, jit

from .outcomes import check_slopes

A = np.array([1.5, -2.0, 4.0, -5.0, 6.5])


def merged(a, b):
    out = [None] * (len(a) + len(b))
    i = j = k = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
        k += 1
    while i < len(a):
        out[k] = a[i]
        i += 1
        k += 1
    while j < len(b):
        out[k] = b[j]
        j += 1
        k += 1
    return out


def moving_averages(a, w):
    out = []
    for i in range(len(a)):
        if i < w - 1:
            out.append(None)
        else:
            out.append(sum(a[i - w + 1 : i + 1]) / w)
    return out


def negative(a, n):
    out = []
    for i in range(n):
        out.append(None if a[i] > 0 else a[i])
    return out


def filled(a, n):
    out = [None] * len(a)
    for i in range(n):
        out[i] = a[i] * i
    return out


def permuted(a, places):
    out = [None] * len(a)
    for i in range(len(places)):
        out[places[i]] = a[i]
    return out


def arrays(a, n):
    out = [None] * 4
    for i in range(n):
        out[i] = a * i
    return [row for row in out if row is not None]


def pairs(a, n):
    found = []
    for i in range(n):
        if a[i] > 0:
            found.append((i, None))
        else:
            found.append((i, a[i]))
    return found


def only_none(a, n):
    out = []
    for _ in range(n):
        out.append(None)
    return out


def questions(a, n):
    known, counted = filled(a, n), negative(a, n)
    return [(None in x, a[1] in x, x.count(None), any(x), all(x), len(x)) for x in (known, counted)]


def changed(a, n):
    out = negative(a, n)
    out.insert(1, None)
    out[0] = None
    out.append(a[0])
    out.remove(a[1])
    last = out.pop()
    return out[::-1], last, out.index(None), [0.0 if v is None else v for v in out]


def memo(a, n):
    found = {}
    for i in range(n):
        found[i % 3] = a[i] if a[i] > 0 else None
    return found, found.get(1) is None


CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (merged, ([1.0, 4.0, 6.0], [2.0, 3.0, 9.0, 10.0])), (merged, ([1, 4], [2, 3, 9])),
    (merged, (np.array([1.0, 4.0]), np.array([2.0, 3.0, 9.0]))),
    (moving_averages, (A, 3)), (moving_averages, (A, 1)), (moving_averages, (list(A), 4)),
    (negative, (A, 4)), (negative, (A, 0)), (negative, (A, 1)), (filled, (A, 3)), (filled, (A, 0)),
    (permuted, (A, np.array([3, 1, 4, 0, 2]))), (permuted, (list(A), np.array([3, 1]))),
    (arrays, (A, 3)), (arrays, (A, 0)), (pairs, (A, 4)), (pairs, (A, 1)), (only_none, (A, 3)),
    (only_none, (A, 0)), (questions, (A, 3)), (questions, (A, 5)), (questions, (A, 0)),
    (changed, (A, 4)), (memo, (A, 5)), (memo, (A, 1)),
]  # fmt: skip


def assert_equal(found: Any, wanted: Any) -> None:
    if isinstance(wanted, (list, tuple, dict)):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        if isinstance(wanted, dict):
            assert list(found) == list(wanted)
            found, wanted = found.values(), wanted.values()
        for x, y in zip(found, wanted, strict=True):
            assert_equal(x, y)
    elif wanted is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_results_are_those_of_python(f, args):
    assert_equal(jit(f)(*args), f(*args))


def weighed(row):
    return sum(0.5 * k if v is None else v * v * (k + 1) for k, v in enumerate(row))


def test_gradients():
    check_slopes(lambda x: weighed(merged(x[:2], x[2:])), [np.array([1.0, 4.0, 2.0, 3.0])], 1e-5)
    check_slopes(lambda x: weighed(moving_averages(x, 2)), [A], 1e-5)
    check_slopes(lambda x: weighed(negative(x, 5)), [A], 1e-5)
    check_slopes(lambda x: sum(row.sum() for row in arrays(x, 3)), [A], 1e-5)
    check_slopes(lambda x: sum(merged(x[:2], x[2:])), [np.array([1.0, 4.0, 2.0, 3.0])], 1e-5)


def test_gradients_of_a_compiled_function():
    inner = jit(negative)
    found = grad(lambda x: weighed(inner(x, 4)))(A)
    np.testing.assert_allclose(found, [0.0, 4 * A[1], 0.0, 8 * A[3], 0.0])


@pytest.mark.parametrize("use", [sum, max, min, sorted, lambda row: row[-1] + 1.0])
@pytest.mark.parametrize("make", [filled, negative])
def test_uses_that_none_does_not_have(make, use):
    for n in (2, 5):
        with disable_jit(), pytest.raises(TypeError, match="None"):
            jit(lambda a, n: use(make(a, n)))(np.abs(A), n if make is negative else 3)
    whole = jit(lambda a, n: use(make(a, n)))
    np.testing.assert_allclose(whole(-np.abs(A), 5), use(make(-np.abs(A), 5)))


def test_elements_of_different_kinds_are_refused():
    def numbers_and_pairs(a, n):
        out = []
        for i in range(n):
            if a[i] > 0:
                out.append(a[i])
            elif a[i] < -3:
                out.append((a[i], 1.0))
            else:
                out.append(None)
        return out

    with pytest.raises(
        errors.CaptureError,
        match="is a tuple of 2 or None where the condition does not hold, and f64",
    ):
        jit(numbers_and_pairs)(A, 3)


def test_sums_and_extremes_of_slices_of_traced_length():
    def f(a, n):
        return sum(a[1:n]), max(a[0:n]), min(a[:n]), sorted(a[:n])[0], sum(a[n:n])

    for n in (2, 5):
        assert_equal(jit(f)(A, n), f(A, n))
