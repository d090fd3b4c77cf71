"""Batched programs compared with a loop over the batch, on random programs."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autojit.ir.autodiff.batch import batch
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Program
from autojit.ir.core.registry import REGISTRY
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.verifier import verify
from autojit.ir.transforms.gradient import gradient
from tests.ir.random_programs import arguments_for, programs
from tests.sampling import share

SIZE = 3


def loop(program: Program, arguments: list[np.ndarray], batched: list[bool]) -> list[np.ndarray]:
    """One run of the program for each element of the batch."""
    rows = [
        interpret(program, [a[i] if m else a for a, m in zip(arguments, batched, strict=True)])
        for i in range(SIZE)
    ]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def check(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    batched = [bool(rng.integers(2)) for _ in program.inputs]
    columns = [arguments_for(program, rng) for _ in range(SIZE)]
    arguments = [
        np.stack([c[k] for c in columns]) if marked else columns[0][k]
        for k, marked in enumerate(batched)
    ]
    made = batch(program, SIZE, batched)
    verify(made)
    wanted_results = loop(program, arguments, batched)
    for got, wanted in zip(interpret(made, arguments), wanted_results, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@given(programs(), st.integers(0, 2**16))
@settings(
    max_examples=share(150),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_batch_is_a_loop_over_the_batch(program: Program, seed: int) -> None:
    check(program, seed)


def test_every_op_has_a_batching_rule() -> None:
    without = [
        name
        for name, kind in REGISTRY.items()
        if type(kind).batch is Declaration.batch and kind.arity != 0
    ]
    assert without == []


def test_gradient_of_a_batch_is_the_batch_of_gradients() -> None:
    from autojit.ir.tools.text import parse

    program = parse(
        """
        program main(%x: f64[4], %w: f64[4,4]) {
          %1: f64[4] = dot %w, %x {batch=((), ()), contract=((1,), (0,))}
          %2: f64[4] = tanh %1
          %3: f64[] = sum %2 {axes=(0,)}
          return %3
        }
        """
    )
    check(gradient(program, [0, 1], keep_outputs=True), 5)
