"""Passes on slightly mutated versions of the programs that they are made for: nearly legal ones."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from autojit.ir.autodiff.partition import depends
from autojit.ir.core.program import Program
from autojit.ir.rewriting import dce
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests import thresholds
from tests.ir.mutations import mutated, results_of
from tests.ir.passes.test_each_pass import EXACT, PASSES, bits_of
from tests.ir.passes.test_legality import TABLE
from tests.ir.passes.test_text_cases import CASES
from tests.ir.random_programs import arguments_for
from tests.sampling import share

#: Larger programs take long in the interpreter, and a mutated ``while`` may be endless.
PROGRAMS = [
    program
    for program in map(
        parse, dict.fromkeys([*(c.program for c in CASES), *(r.program for r in TABLE)])
    )
    if sum(t.nbytes for t in program.in_types) < 20_000 and "= while " not in program.text()
]


def check(name: str, before: Program, after: Program, seed: int) -> None:
    verify(after)
    arguments = arguments_for(before, np.random.default_rng(seed), low=0.25, high=1)
    # An error in an unused op is not part of the results.
    want, got = results_of(dce.run(before), arguments), results_of(dce.run(after), arguments)
    if isinstance(want, type) or isinstance(got, type):
        assert want is got
        return
    rounded = depends(before, [t.is_inexact for t in before.in_types])
    for a, b, depends_on_rounding in zip(want, got, rounded, strict=True):
        if name in EXACT:
            assert bits_of(a) == bits_of(b)
        elif np.asarray(a).dtype.kind in "fc" or not depends_on_rounding:
            assert_near(np.asarray(a), np.asarray(b))


def assert_near(want: Any, got: Any) -> None:
    """Check equality up to rounding wherever the first is a number: cancelling sums may lose a
    NaN."""
    tolerance = 1e-4 if want.dtype in ("f4", "c8") else 1e-9
    is_number = want == want
    np.testing.assert_allclose(got[is_number], want[is_number], tolerance, tolerance)


def run_passes(seed: int) -> Counter[str]:
    """Run each pass on a mutated program; return the passes that changed it."""
    rng = np.random.default_rng(seed)
    program = mutated(PROGRAMS[rng.integers(len(PROGRAMS))], rng, int(rng.integers(4)))
    changed: Counter[str] = Counter()
    with thresholds.drawn(rng, thresholds.PASSES):
        made = {name: run(program) for name, run in PASSES.items()}
    for name, after in made.items():
        if after.text() != program.text():
            changed[name] += 1
            try:
                check(name, program, after, seed)
            except AssertionError as error:
                raise AssertionError(f"{name} of mutation {seed}:\n{program.text()}") from error
    return changed


def is_reached(name: str) -> bool:
    """Run a pass on the programs of the tests, and on mutations of the first program that it
    changes."""
    run = PASSES[name]
    for number, program in enumerate(PROGRAMS):
        if run(program).text() == program.text():
            continue
        for count in range(4):
            before = mutated(program, np.random.default_rng(number), count)
            check(name, before, run(before), number)
        return True
    return False


def test_mutated_programs() -> None:
    changed: Counter[str] = Counter()
    for seed in range(share(400)):
        changed += run_passes(seed)
    # Some passes change only ``while`` loops, which may be endless when they are mutated.
    # rematerialize_tapes needs longer tapes than most of these programs have, and masked_products
    # larger matrices.
    loops = {"undo_steps", "counted_back", "first_reads", "summed_elements"}
    tested = PASSES.keys() - loops - {"rematerialize_tapes", "masked_products"}
    unreached = [name for name in tested - changed.keys() if not is_reached(name)]
    assert unreached == [], "a pass that changes nothing is not tested"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_mutated_programs(part: int) -> None:
    for seed in range(1000 * part, 1000 * part + 1000):
        run_passes(seed)
