"""Strip-mined loops over rows, against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.loop_passes import strip_mine
from autojit.codegen.loop_passes.rows import row_groups
from tests.codegen.row_chains import agrees, random_chain

X = np.random.default_rng(0).normal(size=(300, 16)) / 4.0


def centred(x: Any) -> Any:
    """A sum that shifts the operands of the next sum."""
    mean = np.sin(0.1 * np.sum(x, axis=1))
    squares = np.sum((x - mean[:, None]) ** 2, axis=1)
    return np.exp(0.1 * squares) + np.sqrt(squares)


def scaled(x: Any) -> Any:
    mean = 0.1 * np.sum(x, axis=1)
    scale = np.sqrt(0.1 * np.sum((x - mean[:, None]) ** 2, axis=1) + 1.0)
    return np.exp(np.sum(x / scale[:, None], axis=1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", [centred, scaled])
@pytest.mark.parametrize("rows", [15, 16, 255, 300])
def test_sums_begin_anew_in_each_row(f: Any, rows: int) -> None:
    x = X[np.arange(rows) % 300]
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-12)
    agrees(grad(lambda x: np.sum(f(x))), x)
    assert ("block" in str(agrees(f, x))) == (rows > 15)


@pytest.mark.sampled(35)
@pytest.mark.parametrize("seed", range(40))
def test_random_chains(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strip_mine, "WORTH_BLOCKS", 0)
    monkeypatch.setattr(row_groups, "LEAST", 1 << 62)
    f, arguments, rtol = random_chain(1000 + seed, (256, 300))
    for which in (0, 1, 2):
        agrees(grad(f, argnums=which), *arguments, rtol=rtol)
