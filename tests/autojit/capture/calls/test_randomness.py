"""Random draws in traced functions: refused where the numbers would become constants."""

from __future__ import annotations

import os
import random
import secrets
import uuid
from typing import Any

import numpy as np
import numpy.random as npr
import pytest
from numpy.random import randn

from autojit import grad, jit, vmap
from autojit.errors import FrozenRandomError

RNG = np.random.default_rng(0)
X = np.array([1.0, -2.0, 0.5])

DRAWS = {
    "rng.normal": lambda x: x * RNG.normal(size=3),
    "rng.permutation": lambda x: x[RNG.permutation(3)],
    "np.random.normal": lambda x: x * np.random.normal(size=3),
    "np.random.uniform": lambda x: x * npr.uniform(),
    "np.random.randn": lambda x: x * randn(3),
    "random.random": lambda x: x * random.random(),
    "random.gauss": lambda x: x * random.gauss(0.0, 1.0),
    "rng.random": lambda x: x * np.random.default_rng().random(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_compiled_functions_refuse_to_draw(name: str) -> None:
    f = DRAWS[name]
    state = RNG.bit_generator.state
    with pytest.raises(FrozenRandomError, match=name.replace(".", r"\.") + " in a compiled"):
        jit(f)(X)
    assert RNG.bit_generator.state == state
    with pytest.raises(FrozenRandomError, match=r"not: rng.normal\(size=3\) in f"):
        jit(grad(lambda x: np.sum(f(x))))(X)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", DRAWS)
def test_without_jit_each_call_draws(name: str) -> None:
    f = DRAWS[name]
    found = [tuple(grad(lambda x: np.sum(np.arange(3) * f(x)))(X)) for _ in range(20)]
    assert len(set(found)) > 1
    assert vmap(f)(X[None]).shape == (1, 3)


def global_seed(x: Any) -> Any:
    np.random.seed(3)
    return x * np.random.normal(size=3)


def bits(x: Any) -> Any:
    rng = np.random.Generator(np.random.PCG64(3))
    return x * rng.normal(size=3) * rng.spawn(1)[0].random()


def unrolled(x: Any) -> Any:
    rng = np.random.RandomState(1)
    total = 0.0
    for i in range(40):
        total = total + rng.randn() * x[i % 3]
    return total


SEEDED = (global_seed, bits, unrolled, lambda x: x * np.random.default_rng(5).permutation(3))


@pytest.mark.parametrize("f", SEEDED)
def test_generators_made_from_seeds_draw_as_in_numpy(f: Any) -> None:
    for _ in range(2):
        np.testing.assert_allclose(jit(f)(X), f(X), rtol=1e-14)


def test_a_loop_that_is_traced_once_refuses_to_draw() -> None:
    def walk(x: Any, n: Any) -> Any:
        rng = np.random.default_rng(0)
        for _ in range(n):
            x = x + rng.normal()
        return x

    with pytest.raises(FrozenRandomError, match="in a loop or branch that is traced once"):
        jit(walk)(0.5, 4)
    assert jit(walk, static_argnums=1)(0.5, 4) == walk(0.5, 4)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: len(os.urandom(4)), lambda: uuid.uuid4().int, lambda: uuid.uuid1().int,
        lambda: secrets.randbelow(6), lambda: secrets.choice([1, 2]), lambda: secrets.randbits(8),
        lambda: len(secrets.token_bytes(4)), lambda: len(secrets.token_hex()),
    ],
)  # fmt: skip
def test_bytes_of_the_system_are_refused(ask):
    with pytest.raises(FrozenRandomError, match="would see the same bytes"):
        jit(lambda x: x + ask())(1.0)
    assert np.isfinite(float(grad(lambda x: x * 0.0 + x * (ask() >= 0))(1.0)))
