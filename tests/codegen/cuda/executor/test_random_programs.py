"""Random programs and their derivatives, on a card so small that they reach every path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from autojit.ir.core.program import Program
from tests.codegen import test_random_programs as checks
from tests.codegen.cuda.running import mapped, run
from tests.thresholds import Thresholds


@pytest.fixture(params=["usual", "large"])
def _choices(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the CPU's checks on this target, with the choices for small and for large arrays."""
    chosen = Thresholds(checks.LARGE if request.param == "large" else {})
    with pytest.MonkeyPatch.context() as patch, chosen:
        patch.setattr(checks, "compiled", call)
        yield


def call(program: Program, arguments: list[Any], choices: Any = None) -> list[Any]:
    arrays = [np.asarray(a, t.dtype) for a, t in zip(arguments, program.in_types, strict=True)]
    return run(mapped(program), program, arrays)


@pytest.mark.usefixtures("_choices")
@checks.examples(40)
@given(checks.ALL_ON_CUDA, checks.SEEDS)
def test_values(program: Program, seed: int) -> None:
    checks.check_near(program, seed, low=-2, high=2)


@pytest.mark.usefixtures("_choices")
@checks.examples(40)
@given(checks.EXACTLY_ON_CUDA, checks.SEEDS)
def test_exact_values(program: Program, seed: int) -> None:
    checks.check_exact(program, seed)


@pytest.mark.usefixtures("_choices")
@checks.examples(10)
@given(checks.SMOOTH_ON_CUDA, checks.SEEDS)
def test_derivatives(program: Program, seed: int) -> None:
    checks.check_near(checks.derivative(program), seed, low=0.2, high=0.9)
