"""Values and derivatives of functions of SciPy on traced values, beside SciPy's own.

The interpreter runs the programs: nothing is compiled.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit import jvp, trace, vjp
from autojit.staging.pytrees import flatten, unflatten

Function = Callable[..., Any]


def interpreted(f: Function, *arguments: Any) -> Any:
    """What a function returns, an array or a tree of arrays, by the interpreter."""
    shape: list[Any] = []

    def listed(*a: Any) -> Any:
        leaves, structure = flatten(f(*a))
        shape[:] = [structure]
        return [0.0, 0.0, *leaves]

    with np.errstate(all="ignore"):
        leaves = trace(listed)(*arguments)(*arguments)[2:]
    return unflatten(shape[0], leaves)


def by_scipy(f: Function, *arguments: Any) -> Any:
    """What SciPy's own functions return."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*arguments)


def assert_same(got: Any, want: Any, words: str = "", **tolerance: float) -> None:
    leaves = zip(flatten(got)[0], flatten(want)[0], strict=True)
    for g, w in leaves:
        assert np.shape(g) == np.shape(w), words
        np.testing.assert_allclose(g, w, err_msg=words, **tolerance)


def differences(f: Function, arguments: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The derivatives of all leaves along the tangents, of fourth order."""
    h = 1e-3

    def by(step: float) -> list[Any]:
        up, down = (
            flatten(by_scipy(f, *(x + s * t for x, t in zip(arguments, tangents, strict=True))))[0]
            for s in (step, -step)
        )
        return [(np.asarray(y) - np.asarray(z)) / (2 * step) for y, z in zip(up, down, strict=True)]

    return [(4 * a - b) / 3 for a, b in zip(by(h / 2), by(h), strict=True)]


def check_derivatives(f: Function, arguments: Sequence[Any]) -> None:
    """Both modes: forward beside differences of SciPy's, and backward beside forward."""
    rng = np.random.default_rng(3)
    tangents = [rng.uniform(0.5, 1.0, np.shape(x)) * 0.1 for x in arguments]
    changes = flatten(interpreted(lambda *a: jvp(f, a, tuple(tangents))[1], *arguments))[0]
    for change, want in zip(changes, differences(f, arguments, tangents), strict=True):
        np.testing.assert_allclose(change, want, rtol=2e-7, atol=1e-8)
    weights = [rng.uniform(0.5, 1.0, np.shape(y)) for y in changes]

    def pulled(*a: Any) -> Any:
        return vjp(lambda *b: flatten(f(*b))[0], *a)[1](weights)

    cotangents = interpreted(pulled, *arguments)
    forward = sum(np.sum(w * y) for w, y in zip(weights, changes, strict=True))
    backward = sum(np.sum(c * t) for c, t in zip(cotangents, tangents, strict=True))
    np.testing.assert_allclose(backward, forward, rtol=1e-8)
