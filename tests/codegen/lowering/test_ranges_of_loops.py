"""A loop whose elements differ from place to place is cut into ranges without conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, trace
from autojit.codegen.loop_ir.nodes import InRange, Loop
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.lowering import nests
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes.pipeline import optimize

X = np.random.default_rng(0).normal(size=100)


def points(x: Any) -> Any:
    y = np.zeros(100)
    for k in (0, 30, 31, 32, 60, 61, 98, 99):
        y[k] = x[k] ** 2
    return y + 2.0 * x


def stencil(x: Any) -> Any:
    y = np.zeros(100)
    y[1:-1] = x[2:] - 2.0 * x[1:-1] + x[:-2]
    y[25] += 3.0
    z = np.zeros(100)
    z[2:-2] = y[4:] * y[2:-2] + x[1:-3] * y[:-4]
    return z * x


def loops(f: Any) -> list[Loop]:
    made = lower(optimize(trace(f)(X)))
    return [s for s in statements(made) if isinstance(s, Loop)]


def has_conditions(loop: Loop) -> bool:
    return any(isinstance(s, InRange) for s in loop.body)


def test_narrow_ranges_are_joined_where_there_are_many() -> None:
    found = loops(points)
    assert [(s.start, s.stop) for s in found] == [
        (0, 1), (1, 30), (30, 33), (33, 60), (60, 62), (62, 98), (98, 100)
    ]  # fmt: skip
    wide = [s for s in found if s.stop - s.start > nests.UNROLL]
    assert not any(map(has_conditions, wide))
    np.testing.assert_allclose(jit(points)(X), points(X), rtol=1e-15)


@pytest.mark.parametrize("f", [points, stencil])
def test_the_joined_ranges_have_the_same_numbers(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    derived = jit(grad(lambda x: np.sum(f(x) ** 2)))(X)
    monkeypatch.setattr(nests, "MOST_SEGMENTS", 1)
    assert len(loops(f)) == 1
    assert has_conditions(loops(f)[0])
    whole = jit(grad(lambda x: np.sum(f(x) ** 2)))(X)
    np.testing.assert_allclose(derived, whole, rtol=1e-13)
    np.testing.assert_allclose(jit(f)(X), f(X), rtol=1e-13)
