"""autojit's names in plain NumPy, as simple as possible, without code of autojit.

``names()`` computes in the precision of the arguments and has no derivatives. ``wide_names()``
computes in long double and takes derivatives by differences (``differences.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.fuzz.case import leaves, mapped

Function = Callable[..., Any]


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
    *, checkpoint: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    steps = len(leaves(xs)[0]) if xs is not None else length
    assert steps is not None
    carry, types = values(init), mapped(_dtype, init)
    ys = {}
    for k in reversed(range(steps)) if reverse else range(steps):
        row = mapped(lambda x, k=k: x[k], xs) if xs is not None else None
        carry, ys[k] = f(carry, row)
        carry = mapped(_typed, carry, types)
    if not ys:  # the type of a result needs a row, so use a row of zeros
        row = mapped(lambda x: np.zeros(np.shape(x)[1:], x.dtype), xs)
        empty = mapped(lambda y: np.zeros((0, *np.shape(y)), _dtype(y)), f(init, row)[1])
        return carry, empty
    return carry, mapped(lambda *rows: np.stack(rows), *(ys[k] for k in range(steps)))


def values(tree: Any) -> Any:
    """The values that a loop or branch takes and returns, which share no memory with outer
    arrays."""
    return mapped(lambda x: np.array(x)[()], tree)


def _dtype(x: Any) -> np.dtype:
    return np.asarray(x).dtype


def _typed(x: Any, dtype: np.dtype) -> Any:
    """A carry keeps its type: Python numbers become NumPy numbers."""
    if np.result_type(np.asarray(x), dtype) != dtype:
        raise TypeError("a carry changes its type")
    return np.array(x, dtype)[()]


def fori_loop(lower: Any, upper: Any, body_fun: Function, init: Any) -> Any:
    carry, types = values(init), mapped(_dtype, init)
    for i in range(int(lower), int(upper)):
        carry = mapped(_typed, body_fun(np.int64(i), carry), types)
    return carry


def while_loop(cond_fun: Function, body_fun: Function, init: Any) -> Any:
    carry, types = values(init), mapped(_dtype, init)
    for _ in range(10_000):
        if not cond_fun(carry):
            return carry
        carry = mapped(_typed, body_fun(carry), types)
    raise OverflowError("a while_loop without an end")


def cond(pred: Any, true_fun: Function, false_fun: Function, *operands: Any) -> Any:
    return values(true_fun(*operands) if pred else false_fun(*operands))


def switch(index: Any, branches: Any, *operands: Any) -> Any:
    return values(branches[min(max(int(index), 0), len(branches) - 1)](*operands))


def map_(f: Function, xs: Any) -> Any:
    return scan(lambda _, row: ((), f(row)), (), xs)[1]


def associative_scan(fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    rows = mapped(lambda x: np.moveaxis(x, axis, 0), elems)
    count = len(leaves(rows)[0])
    order = list(reversed(range(count))) if reverse else list(range(count))
    parts = {}
    for position, k in enumerate(order):
        row = mapped(lambda x, k=k: x[k], rows)
        parts[k] = fn(parts[order[position - 1]], row) if position else row
    stacked = mapped(lambda *found: np.stack(found), *(parts[k] for k in range(count)))
    return mapped(lambda x: np.moveaxis(x, 0, axis), stacked)


def vmap(f: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    def batched(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        pairs = list(zip(args, axes, strict=True))
        count = next(np.shape(leaf)[a] for x, a in pairs if a is not None for leaf in leaves(x))
        results = [
            f(*(x if a is None else mapped(lambda v, a=a, k=k: np.take(v, k, a), x)
                for x, a in pairs))
            for k in range(count)
        ]  # fmt: skip
        return mapped(lambda *rows: np.stack(rows, out_axes), *results)

    return batched


def unchanged(f: Function | None = None, **settings: Any) -> Any:
    """``jit`` and ``checkpoint``."""
    if f is None:
        return lambda g: unchanged(g)
    return lambda *args: values(f(*args))


class WithRules:
    """``custom_vjp`` and ``custom_jvp``: the function itself, ignoring its rules."""

    def __init__(self, f: Function) -> None:
        self.f = f

    def __call__(self, *args: Any) -> Any:
        return values(self.f(*args))

    def defvjp(self, forward: Function, backward: Function) -> None: ...

    def defjvp(self, rule: Function) -> None: ...


CONTROL = {
    "scan": scan, "fori_loop": fori_loop, "while_loop": while_loop, "cond": cond, "switch": switch,
    "map": map_, "associative_scan": associative_scan, "vmap": vmap, "jit": unchanged,
    "checkpoint": unchanged, "custom_vjp": WithRules, "custom_jvp": WithRules,
}  # fmt: skip


def names() -> dict[str, Any]:
    return {"np": np, **CONTROL}


def wide_names() -> dict[str, Any]:
    from tests.fuzz import differences

    return {"np": WIDE, "float": np.longdouble, **CONTROL, **differences.DERIVATIVES}


_WIDER = {"f": np.longdouble, "c": np.clongdouble}


def widened(x: Any) -> Any:
    """An array or number with its floats converted to long double."""
    if isinstance(x, (bool, int)) or np.asarray(x).dtype.kind not in _WIDER:
        return x
    return np.asarray(x).astype(_WIDER[np.asarray(x).dtype.kind])[()]


def _wide(name: str) -> Function:
    def made(*args: Any, **settings: Any) -> Any:
        return widened(getattr(np, name)(*args, **settings))

    return made


class WideLinalg:
    """``np.linalg`` in long double: elimination with pivots, one matrix at a time."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np.linalg, name)

    def solve(self, a: Any, b: Any) -> Any:
        a, b = np.array(a), np.asarray(b)
        if b.ndim > 2:
            return np.stack([self.solve(a, part) for part in b])
        x = np.array(b.reshape(len(a), -1), np.result_type(a, b))
        for k in range(len(a)):
            pivot = k + int(np.argmax(np.abs(a[k:, k])))
            a[[k, pivot]], x[[k, pivot]] = a[[pivot, k]], x[[pivot, k]]
            share = a[k + 1 :, k] / a[k, k]
            a[k + 1 :] -= share[:, None] * a[k]
            x[k + 1 :] -= share[:, None] * x[k]
        for k in reversed(range(len(a))):
            x[k] = (x[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
        return x.reshape(b.shape)

    def inv(self, a: Any) -> Any:
        return self.solve(a, np.eye(len(a)))

    def cholesky(self, a: Any) -> Any:
        if np.any(np.abs(a - a.T) > 1e-15 * np.max(np.abs(a), initial=0.0)):
            raise ValueError("the derivative is that for symmetric matrices")
        made = np.zeros_like(a)
        for k in range(len(a)):
            made[k, k] = np.sqrt(a[k, k] - made[k, :k] @ made[k, :k])
            made[k + 1 :, k] = (a[k + 1 :, k] - made[k + 1 :, :k] @ made[k, :k]) / made[k, k]
        return made

    def det(self, a: Any) -> Any:
        """The determinant of a matrix whose symmetric part is positive: no pivots are needed."""
        a, found = np.array(a), np.longdouble(1)
        for k in range(len(a)):
            found = found * a[k, k]
            a[k + 1 :] -= (a[k + 1 :, k] / a[k, k])[:, None] * a[k]
        return found

    def slogdet(self, a: Any) -> Any:
        found = self.det(a)
        return np.sign(found), np.log(np.abs(found))


def _interp(x: Any, xp: Any, fp: Any) -> Any:
    """``np.interp``, which NumPy has only in double precision."""
    xp, fp = widened(np.asarray(xp)), widened(np.asarray(fp))
    right = np.clip(np.searchsorted(xp, x), 1, len(xp) - 1)
    share = np.clip((x - xp[right - 1]) / (xp[right] - xp[right - 1]), 0, 1)
    return fp[right - 1] + share * (fp[right] - fp[right - 1])


class _Wide(SimpleNamespace):
    """``numpy`` with long double floats."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


_MAKERS = ("zeros", "ones", "empty", "full", "arange", "eye", "linspace", "array", "asarray")
WIDE = _Wide(
    float32=np.longdouble, float64=np.longdouble,
    complex64=np.clongdouble, complex128=np.clongdouble, interp=_interp, linalg=WideLinalg(),
    **{name: _wide(name) for name in _MAKERS},
)  # fmt: skip
