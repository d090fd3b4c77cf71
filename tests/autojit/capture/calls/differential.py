"""Run a function twice: traced, with the calls of rewritten code, and in plain Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit import disable_jit, grad, jit
from autojit.capture import calls


class Traced:
    """The calls that a twin makes."""

    and_, or_, not_, in_ = (staticmethod(f) for f in (calls.and_, calls.or_, calls.not_, calls.in_))
    item, set_item = staticmethod(calls.item), staticmethod(calls.set_item)
    update_item = staticmethod(calls.update_item)

    def __call__(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        return calls.call(f, args, kwargs, lambda g: g)


class Plain:
    """The same calls as the user wrote them, in plain Python."""

    def __call__(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    def and_(self, first: Any, *rest: Any) -> Any:
        for thunk in rest:
            first = first and thunk()
        return first

    def or_(self, first: Any, *rest: Any) -> Any:
        for thunk in rest:
            first = first or thunk()
        return first

    def not_(self, x: Any) -> Any:
        return not x

    def in_(self, x: Any, container: Any) -> Any:
        return x in container

    def item(self, x: Any, i: Any) -> Any:
        return x[i]

    def set_item(self, x: Any, i: Any, value: Any) -> None:
        x[i] = value

    def update_item(self, x: Any, i: Any, name: str, value: Any) -> None:
        x[i] = getattr(operator, name)(x[i], value())


def flat(tree: Any) -> list[Any]:
    """The numbers in a result."""
    if isinstance(tree, (list, tuple)):
        return [x for part in tree for x in flat(part)]
    return list(np.ravel(np.asarray(tree)))


def check(f: Callable[..., Any], *args: Any) -> None:
    """Raise unless ``f(c, *args)`` gives the same numbers both ways, signs of zeros included."""
    expected = flat(f(Plain(), *args))
    with disable_jit():  # the interpreter is the reference of compiled code
        found = flat(jit(lambda *xs: f(Traced(), *xs))(*args))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        same = a == b or (math.isnan(a) and math.isnan(b))
        assert same or math.isclose(a, b, rel_tol=4e-16), (args, found, expected)
        if a == b == 0 and isinstance(b, np.floating):
            assert math.copysign(1, a) == math.copysign(1, b), (args, found, expected)


def check_derivative(f: Callable[..., Any], x: float, step: float = 1e-6) -> None:
    """Raise unless the derivative equals central differences of plain Python."""
    plain = Plain()
    expected = (f(plain, x + step) - f(plain, x - step)) / (2 * step)
    slope = grad(lambda t: f(Traced(), t))  # values are known here, but not under jit
    with disable_jit():
        for found in (slope(x), jit(slope)(x)):
            assert abs(found - expected) <= 1e-6 * max(1.0, abs(expected)), (x, found, expected)
