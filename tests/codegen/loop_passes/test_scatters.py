"""Fission of loops that scatter, against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, scan
from autojit.codegen.loop_ir.machine import has_masks
from autojit.codegen.loop_ir.nodes import Compute, Gather, Load, Loop, ScatterInto, Store
from autojit.codegen.loop_ir.values import Buffer, Place, Scalar
from autojit.codegen.loop_passes import scatters
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from tests.codegen.cpu.llvm.test_vectors import lanes
from tests.codegen.row_chains import agrees

GROUPS = 7
RNG = np.random.default_rng(0)
SIZES = [15, 16, 100, 256, 257, 300, 1000, 11566]


def normal(e: Any, y: Any) -> Any:
    return np.exp(-((y - e) ** 2))


def logistic(e: Any, y: Any) -> Any:
    return y * e - np.log1p(np.exp(-np.abs(e))) - np.maximum(e, 0)


def softplus(e: Any, y: Any) -> Any:
    return y * e - np.logaddexp(0, e)


def poisson(e: Any, y: Any) -> Any:
    return y * e - np.exp(e)


def total(likelihood: Any, group: Any, x: Any, y: Any) -> Any:
    return lambda a, b: np.sum(likelihood(a[group] + b[group] * x, y))


def data(n: int, dtype: Any = np.float64) -> tuple[Any, Any, Any, Any, Any]:
    group = RNG.integers(0, GROUPS, n)
    a, b = RNG.normal(size=(2, GROUPS)).astype(dtype)
    return group, RNG.random(n).astype(dtype), RNG.normal(size=n).astype(dtype), a, b


@pytest.mark.sampled(4)
@pytest.mark.parametrize("likelihood", [normal, logistic, softplus, poisson])
@pytest.mark.parametrize("n", SIZES)
def test_groups_of_a_regression(likelihood: Any, n: int) -> None:
    group, x, y, a, b = data(n)
    loops = agrees(grad(total(likelihood, group, x, y), argnums=(0, 1)), a, b)
    assert ("kept" in str(loops)) == (n >= scatters.LEAST)


@pytest.mark.parametrize("likelihood", [logistic, poisson])
def test_of_float32(likelihood: Any) -> None:
    group, x, y, a, b = data(300, np.float32)
    assert "kept" in str(agrees(grad(total(likelihood, group, x, y)), a, b, rtol=1e-5))


@pytest.mark.skipif(not has_masks(), reason="gathers need instructions of their own")
def test_the_arithmetic_is_vector_code() -> None:
    """All but the additions and the few remaining iterations."""
    group, x, y, a, b = data(1280)
    f = grad(total(softplus, group, x, y))
    assert sorted(lanes(f, a, b))[:2] == [1, 8]


def test_rows_of_tables() -> None:
    """Covariates in rows, and weights of each group in rows."""
    group, _, y, a, _ = data(700)
    rows, weights = RNG.normal(size=(700, 5)), RNG.normal(size=(GROUPS, 5))

    def f(a: Any, weights: Any) -> Any:
        return np.sum(softplus(a[group] + np.sum(weights[group] * rows, axis=1), y))

    agrees(grad(f, argnums=(0, 1)), a, weights)


def test_places_of_two_axes() -> None:
    i, j = RNG.integers(0, 4, (2, 30, 40))
    agrees(grad(lambda t: np.sum(np.exp(np.sin(t[i, j])))), RNG.normal(size=(4, 4)))


def test_the_last_of_many_that_are_set_stays() -> None:
    group, x, *_ = data(700)

    def f(x: Any) -> Any:
        out = np.zeros(GROUPS)
        out[group] = np.exp(x)
        return out

    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-15)
    agrees(f, x)


@pytest.mark.parametrize("n", [40, 700])
@pytest.mark.parametrize("place", [0, 33, 39])
def test_places_out_of_range_raise(n: int, place: int) -> None:
    group, x, y, a, b = data(n)
    f = jit(grad(lambda a, b, group: total(softplus, group, x, y)(a, b)))
    f(a, b, group)
    group[place] = GROUPS
    with pytest.raises(IndexError):
        f(a, b, group)


def test_in_the_steps_of_a_loop() -> None:
    """Like the leapfrog steps of a sampler; each step's arithmetic is split off."""
    group, x, y, a, b = data(300)
    gradient = grad(total(softplus, group, x, y))

    def path(a: Any, p: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            a, p = state
            p = p + 0.01 * gradient(a, b)
            return (a + 0.01 * p, p), np.sum(a)

        return scan(step, (a, p), length=5)

    assert "kept" in str(agrees(path, a, np.ones(GROUPS)))
    agrees(grad(lambda a: np.sum(path(a, np.ones(GROUPS))[1])), a)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(12))
def test_random_groups_in_short_blocks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in tasks, which divide the loop over blocks."""
    monkeypatch.setattr(scatters, "BLOCK", 16)
    monkeypatch.setattr(scatters, "LEAST", 2)
    monkeypatch.setattr("autojit.codegen.loop_passes.tasks.task_cost.WORTH_TRYING", 0)
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(2, 200)), int(rng.integers(1, 9))
    first, second = rng.integers(0, groups, (2, n))
    x = rng.normal(size=n)

    def f(a: Any, b: Any) -> Any:
        e = a[first] * x + np.exp(0.1 * b[second])
        mean = np.sum(np.tanh(e)) / n
        out = np.zeros(groups)
        np.add.at(out, first, np.exp(e * 0.1) * b[first])
        return np.sum((np.log1p(e**2) - mean) * x) + np.sum(out**2) / n

    a, b = rng.normal(size=(2, groups))
    assert "kept" in str(agrees(grad(f, argnums=(0, 1)), a, b, rtol=1e-9))


# -- what may not be divided -------------------------------------------------------------


def scattering(reads: str) -> Loop:
    """``for i: s = <read of x or of sums>; y[i] = exp(s); sums[place] += y``."""
    var = Var(300)
    sums, x, y = (Buffer(n, "f64", 300, k) for n, k in (("sums", "output"), ("x", "input"),
                                                        ("y", "output")))  # fmt: skip
    here = affine.of(var)
    place, value, result = (
        Scalar(0, "i64", 1, None),
        Scalar(1, "f64", 1, None),
        Scalar(2, "f64", 1, None),
    )
    places = (Place(place, 1, 300),)
    read: dict[str, Any] = {
        "another": Load(value, x, here, None),
        "what is added to": Load(value, sums, here, None),
        "what is added to, by place": Gather(value, sums, Affine(0), places, None),
        "what shares its memory": Load(
            value, Buffer("old", "f64", 300, "temp", over=sums), here, None
        ),
    }
    body = [
        Load(place, Buffer("places", "i64", 300, "input"), here, None),
        read[reads],
        Compute(result, "exp", (value,)),
        Store(y, here, result),
        ScatterInto(sums, Affine(0), places, "add", result),
    ]
    return Loop(var, 0, 300, body, "reduce")


def test_what_reads_the_sums_stays_in_one_loop() -> None:
    assert scatters.may_fission(scattering("another"))
    for reads in (
        "what is added to", "what is added to, by place", "what shares its memory",
    ):  # fmt: skip
        assert not scatters.may_fission(scattering(reads))


def test_what_writes_the_sums_stays_in_one_loop() -> None:
    loop = scattering("another")
    (store,) = (s for s in loop.body if isinstance(s, Store))
    (scatter,) = (s for s in loop.body if isinstance(s, ScatterInto))
    store.buffer = scatter.buffer
    assert not scatters.may_fission(loop)


def test_steps_that_run_in_turn_stay_in_one_loop() -> None:
    loop = scattering("another")
    loop.role = "sequence"
    assert not scatters.may_fission(loop)
