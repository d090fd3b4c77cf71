"""Every pass alone, and passes in random orders, on random programs with random thresholds: results
are well formed and compute the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import autojit
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Program
from autojit.ir.ops.elementwise import Compare
from autojit.ir.passes import optimize
from autojit.ir.passes.reroll.reroll import roll
from autojit.ir.rewriting import bodies
from autojit.ir.simplification.simplified import simplified
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests import thresholds
from tests.ir import modules
from tests.ir.modules import documentation, pass_named
from tests.ir.random_programs import (
    CUTS,
    SEEDS,
    STEPS,
    arguments_for,
    assert_same_results,
    programs,
)
from tests.samples import SAMPLES, Sample

Pass = Callable[[Program], Program]


def bits_of(array: Any) -> bytes:
    """The bits of an array; different NaNs count as equal."""
    array = np.array(array)
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    elif array.dtype.kind == "c":
        array.real[np.isnan(array.real)] = np.nan
        array.imag[np.isnan(array.imag)] = np.nan
    return array.tobytes()


PASSES: dict[str, Pass] = {
    **{name: bodies.everywhere(pass_named(name)) for name in modules.PASSES},
    "simplified": simplified,
    "roll": partial(roll, least=4, least_loop=4),
}

#: Few programs per pass in the usual run, many in the slow one.
FEW, MANY = (
    settings(
        max_examples=n,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    for n in (15, 500)
)


def is_continuous(kind: Declaration) -> bool:
    return not isinstance(kind, Compare) and kind.name not in STEPS | CUTS


def check(run: Pass, program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arguments = arguments_for(program, rng, low=0.25, high=2)
    with thresholds.drawn(rng, thresholds.PASSES) as chosen:
        after = run(program)
    verify(after)
    assert after.in_types == program.in_types, chosen
    assert_same_results(program, after, arguments)


def in_random_order(program: Program, rng: Any) -> Program:
    for name in rng.choice(list(PASSES), size=6):
        program = PASSES[name](program)
        verify(program)
    return program


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", PASSES)
@FEW
@given(programs(kinds=is_continuous), SEEDS)
def test_pass_alone(name: str, program: Program, seed: int) -> None:
    check(PASSES[name], program, seed)


#: Passes that declare that they change no bit of the results.
EXACT = [
    name
    for name, module in modules.PASSES.items()
    if "othing changes in the results." in " ".join(documentation(module).split())
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EXACT)
@FEW
@given(programs(), SEEDS)
def test_bits_where_nothing_is_said_to_change(name: str, program: Program, seed: int) -> None:
    """The arguments include NaN, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    arguments = arguments_for(program, rng, special=0.5)
    with thresholds.drawn(rng, thresholds.PASSES):
        after = PASSES[name](program)
    pairs = zip(interpret(program, arguments), interpret(after, arguments), strict=True)
    for want, got in pairs:
        assert bits_of(got) == bits_of(want)


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
@MANY
@given(programs(kinds=is_continuous), SEEDS)
def test_pass_alone_on_many(name: str, program: Program, seed: int) -> None:
    check(PASSES[name], program, seed)


def check_in_random_order(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check(lambda p: in_random_order(p, rng), program, seed)


@FEW
@given(programs(kinds=is_continuous), SEEDS)
def test_random_orders(program: Program, seed: int) -> None:
    check_in_random_order(program, seed)


@pytest.mark.slow
@MANY
@given(programs(kinds=is_continuous), SEEDS)
def test_random_orders_on_many(program: Program, seed: int) -> None:
    check_in_random_order(program, seed)


# -- gradients of samples ----------------------------------------------------------


def of_gradient(sample: Sample) -> tuple[Program, list[Any]]:
    """The program of a sample's gradient, or of its value if it has none, and arguments."""
    arguments = sample.draw()
    wrt = tuple(i for i, x in enumerate(arguments) if np.asarray(x).dtype.kind in "fc")

    def total(*given: Any) -> Any:
        made = sample.function(*given)
        parts = made if isinstance(made, (tuple, list)) else [made]
        return sum(np.sum(np.real(v)) for v in parts)

    function = autojit.grad(total, argnums=wrt) if sample.order else sample.function
    return autojit.trace(function)(*arguments), arguments


def check_sample(sample: Sample, seed: int) -> None:
    """Run passes in a random order, then all of them."""
    program, arguments = of_gradient(sample)
    verify(program)
    assert parse(program.text()) == program
    rng = np.random.default_rng([seed, *sample.name.encode()])
    with thresholds.drawn(rng, thresholds.PASSES):
        made = in_random_order(program, rng)
    assert_same_results(program, made, [*arguments, *program.captured])
    assert_same_results(program, optimize(made, verify=True), [*arguments, *program.captured])


#: Each tenth, and others in the slow run.
@pytest.mark.sampled(2)
@pytest.mark.parametrize("sample", SAMPLES[::10], ids=lambda s: s.name)
def test_gradients_of_samples(sample: Sample) -> None:
    check_sample(sample, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_gradients_of_all_samples(sample: Sample, seed: int) -> None:
    check_sample(sample, seed)
