"""Derivatives of plain functions by central differences in long double.

A derivative is known only if differences of the fourth and sixth order agree, and also the
differences to the left and to the right. Elsewhere, as at a kink, it is NaN. For large arrays, only
some elements are varied, as many as time allows. Second derivatives are differences of differences,
with wider steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np

from tests.fuzz.case import leaves, mapped
from tests.fuzz.plain import widened

Function = Callable[..., Any]

#: The steps of first derivatives, of second derivatives, and so on.
STEPS = (1e-3, 4e-3, 1e-2, 2e-2)
#: How far differences of two orders may differ, and one-sided ones of each derivative. A kink of
#: one element of a large sum changes no more, so these are what derivatives are compared by.
CLOSE, ONE_SIDED = 1e-7, (1e-6, 1e-5, 1e-3, 1e-3)
#: How many elements of an array are varied.
MOST = 12
#: Seconds of processor time for the differences of a case.
LONGEST = 20.0

#: The depth of derivatives being taken, and the largest depth inside the last one.
_around = 0
_inside = 0
#: The processor time at which time is up.
_end = inf


class TooLong(Exception):
    """No time is left for a derivative."""


@contextmanager
def limited() -> Iterator[None]:
    """Take derivatives in the block as long as there is time."""
    global _end
    _end = time.process_time() + LONGEST
    try:
        yield
    finally:
        _end = inf


def slope(g: Callable[[Any], Any], size: float = 1.0) -> tuple[Any, Any]:
    """``g(0)``, and the derivative of ``g`` at 0, for trees of results."""
    global _around, _inside
    if time.process_time() > _end:
        raise TooLong(f"differences take more than {LONGEST:g} s")
    outer, _inside = (_inside if _around else 0), 0
    _around += 1
    try:
        middle = g(np.longdouble(0))
        depth = min(_inside, len(STEPS) - 1)
        h = np.longdouble(STEPS[depth] / size)
        at = {k: g(k * h) for k in (-3, -2, -1, 1, 2, 3)}
    finally:
        _around -= 1
        _inside = max(outer, _inside + 1)
    return middle, mapped(lambda *values: _slope(values, h, depth), middle, *at.values())


def _slope(values: Sequence[Any], h: Any, depth: int) -> Any:
    f0, m3, m2, m1, p1, p2, p3 = (np.asarray(v) for v in values)
    if f0.dtype.kind not in "fc":
        return np.zeros(f0.shape)
    sixth = (45 * (p1 - m1) - 9 * (p2 - m2) + (p3 - m3)) / (60 * h)
    fourth = (8 * (p1 - m1) - (p2 - m2)) / (12 * h)
    right = (-11 * f0 + 18 * p1 - 9 * p2 + 2 * p3) / (6 * h)
    left = (11 * f0 - 18 * m1 + 9 * m2 - 2 * m3) / (6 * h)
    size = 1 + np.abs(sixth)
    known = np.abs(sixth - fourth) <= CLOSE * size
    known &= np.abs(right - left) <= ONE_SIDED[depth] * size
    return np.where(known, sixth, np.nan)[()]


def _moved(x: Any, position: int, by: Any) -> Any:
    moved = np.array(widened(x), order="C")
    moved.reshape(-1)[position] += by
    return moved[()]


def _chosen(size: int) -> list[int]:
    if size <= MOST:
        return list(range(size))
    rng = np.random.default_rng(size)
    return sorted({0, size - 1, *(int(k) for k in rng.choice(size, MOST - 2, replace=False))})


def partials(f: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """``f(x)`` and its derivatives with respect to the elements of ``x``, along new last axes."""
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        raise TypeError("no derivative by integers")
    value = f(x[()])
    found = mapped(
        lambda v: np.full((*np.shape(v), x.size), np.nan, np.result_type(_inexact(v), x.dtype)),
        value,
    )
    for k in _chosen(x.size):
        try:
            column = _by_element(f, x, k)
        except TooLong:
            if _around:
                raise
            break  # the others remain unknown
        for whole, part in zip(leaves(found), leaves(column), strict=True):
            whole[..., k] = part
    return value, mapped(lambda v: np.reshape(v, (*v.shape[:-1], *x.shape)), found)


def _by_element(f: Callable[[Any], Any], x: Any, k: int) -> Any:
    """The derivatives of ``f(x)`` with respect to one element."""
    column = slope(lambda t: f(_moved(x, k, t)))[1]
    if x.dtype.kind == "c":
        other = slope(lambda t: f(_moved(x, k, 1j * t)))[1]
        column = mapped(lambda a, b: a - 1j * b, column, other)
    return column


def _inexact(v: Any) -> np.dtype:
    return np.asarray(v).dtype if np.asarray(v).dtype.kind in "fc" else np.dtype(np.longdouble)


def _by_each(f: Function, args: Sequence[Any], argnums: Any) -> tuple[Any, Any]:
    """The value, and the derivatives with respect to one argument, or to each of a tuple."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    value, found = f(*args), []
    for n in numbers:
        by_leaf = [
            partials(lambda v, n=n, k=k: f(*_with(args, n, k, v)), leaf)[1]
            for k, leaf in enumerate(leaves(args[n]))
        ]
        rest = iter(by_leaf)
        found.append(mapped(lambda _, rest=rest: next(rest), args[n]))
    return value, tuple(found) if isinstance(argnums, tuple) else found[0]


def _with(args: Sequence[Any], n: int, k: int, value: Any) -> list[Any]:
    count = iter(range(len(leaves(args[n]))))
    changed = mapped(lambda leaf: value if next(count) == k else leaf, args[n])
    return [*args[:n], changed, *args[n + 1 :]]


def grad(f: Function, argnums: Any = 0) -> Function:
    return lambda *args: _by_each(f, args, argnums)[1]


def value_and_grad(f: Function, argnums: Any = 0) -> Function:
    return lambda *args: _by_each(f, args, argnums)


def hessian(f: Function, argnums: Any = 0) -> Function:
    return grad(grad(f, argnums), argnums)


def along(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    sizes = [np.max(np.abs(np.asarray(leaf)), initial=0.0) for leaf in leaves(tuple(tangents))]
    size = max([1.0, *map(float, sizes)])
    return slope(
        lambda t: f(*(mapped(lambda x, v: widened(x) + t * v, x, v)
                      for x, v in zip(primals, tangents, strict=True))), size,
    )  # fmt: skip


def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    return along(f, primals, tangents)


def linearize(f: Function, *primals: Any) -> tuple[Any, Function]:
    return f(*primals), lambda *tangents: along(f, primals, tangents)[1]


def vjp(f: Function, *primals: Any) -> tuple[Any, Function]:
    def pullback(cotangent: Any) -> Any:
        def paired(*args: Any) -> Any:
            pairs = zip(leaves(f(*args)), leaves(cotangent), strict=True)
            return sum((np.sum(y * w) for y, w in pairs), np.longdouble(0))

        return grad(paired, tuple(range(len(primals))))(*primals)

    return f(*primals), pullback


def hvp(f: Function) -> Function:
    return lambda x, v: along(grad(f), (x,), (v,))[1]


DERIVATIVES = {
    "grad": grad, "value_and_grad": value_and_grad, "hessian": hessian, "jacfwd": grad,
    "jacrev": grad, "jvp": jvp, "linearize": linearize, "vjp": vjp, "hvp": hvp,
}  # fmt: skip


def deepest() -> int:
    """The depth of derivatives when one was last taken."""
    return max(_inside, 1)
