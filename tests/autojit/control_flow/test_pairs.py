"""Functions with control flow under every pair of transformations, against Python loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import (
    disable_jit,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from tests.autojit.control_flow.families import FAMILIES, V, X

Function = Callable[[Any], Any]


def _batched(f: Function) -> Function:
    return lambda x: vmap(f)(np.stack([x, x + 0.1 * V]))


#: Each transformation, and the name of one that computes the same and serves as reference.
TRANSFORMATIONS: dict[str, tuple[Callable[[Function], Function], str]] = {
    "value": (lambda f: f, "value"),
    "grad": (grad, "grad"),
    "jvp": (lambda f: lambda x: jvp(f, (x,), (V,))[1], "jvp"),
    "vmap": (_batched, "vmap"),
    "jacfwd": (jacfwd, "grad"),
    "jacrev": (jacrev, "grad"),
    "hessian": (hessian, "hessian"),
    "hvp": (lambda f: lambda x: hvp(f)(x, V), "hvp"),
    "vjp": (lambda f: lambda x: vjp(f, x)[1](1.0)[0], "grad"),
    "linearize": (lambda f: lambda x: linearize(f, x)[1](V), "jvp"),
    "value_and_grad": (lambda f: lambda x: value_and_grad(f)(x)[1], "grad"),
}
SECOND = {"hessian", "hvp"}


def both(f: Function, first: str, second: str | None) -> Function:
    """Apply one transformation, then a second one to a real function of its result."""
    made = TRANSFORMATIONS[first][0](f)
    if second is None:
        return made
    return TRANSFORMATIONS[second][0](lambda x: np.sum(np.sin(made(x))))


@functools.cache
def wanted(name: str, first: str, second: str | None) -> Any:
    with disable_jit():
        return both(FAMILIES[name].reference, first, second)(X)


def check(name: str, first: str, second: str | None) -> None:
    kinds = [None if t is None else TRANSFORMATIONS[t][1] for t in (first, second)]
    with disable_jit():
        got = both(FAMILIES[name].function, first, second)(X)
    want = wanted(name, str(kinds[0]), kinds[1])
    scale = np.max(np.abs(want), initial=1.0)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * scale)


EACH = pytest.mark.parametrize("name", FAMILIES)
PAIRS = [(a, b) for a in TRANSFORMATIONS for b in (None, *TRANSFORMATIONS)]
#: Each family tests one pair in 8, so that each pair is tested with several families.
SHARE = 8


def share_of(name: str) -> list[tuple[str, str | None]]:
    """Return every single transformation, and a share of the pairs up to third derivatives."""
    chosen = PAIRS[list(FAMILIES).index(name) % SHARE :: SHARE]
    pairs = [(a, b) for a, b in PAIRS if b is None or (a, b) in chosen]
    return [(a, b) for a, b in pairs if not (a in SECOND and b in SECOND)]


@pytest.mark.sampled(24)
@EACH
def test_pairs(name: str) -> None:
    for first, second in share_of(name):
        check(name, first, second)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("first", TRANSFORMATIONS)
def test_every_pair(name: str, first: str) -> None:
    for second in (None, *TRANSFORMATIONS):
        check(name, first, second)


def test_families_share_the_pairs() -> None:
    shared = {pair for name in FAMILIES for pair in share_of(name)}
    assert set(PAIRS) - shared == {(a, b) for a in SECOND for b in SECOND}


# -- compiled -----------------------------------------------------------------


def assert_compiled_alike(f: Function, *arguments: Any) -> None:
    with disable_jit():
        want = f(*arguments)
    got = jit(f)(*arguments)
    for g, w in zip(got, want, strict=True):
        assert (np.asarray(g).dtype, np.shape(g)) == (np.asarray(w).dtype, np.shape(w))
        scale = np.max(np.abs(w), initial=1.0)
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.sampled(24)
@EACH
def test_compiled(name: str) -> None:
    """One program has the value, gradient, batch of gradients and a second derivative."""
    f = FAMILIES[name].function
    forward = list(FAMILIES).index(name) % 2

    def everything(x: Any) -> Any:
        value, slope = value_and_grad(f)(x)
        second = hvp(f)(x, V) if forward else jacrev(grad(f))(x)
        return value, slope, _batched(grad(f))(x), second

    assert_compiled_alike(everything, X)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("first", TRANSFORMATIONS)
def test_every_compiled_pair(name: str, first: str) -> None:
    for second in (None, *TRANSFORMATIONS):
        pair = both(FAMILIES[name].function, first, second)
        assert_compiled_alike(lambda x, pair=pair: (pair(x),), X)


def test_a_wrong_reference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, "wrong", FAMILIES["counted"]._replace(reference=np.sum))
    with pytest.raises(AssertionError):
        check("wrong", "grad", None)
