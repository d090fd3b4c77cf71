"""Exact-text tests of the passes over loops, from the `.loops` files beside this module.

A file begins with `# pass: NAME`, and with `# set: module.NAME=value …` if thresholds exclude small
loops. Cases are separated by lines `// ====`; each has comments, a program, a line `// ----` and
the expected text.

    python -m tests.codegen.loop_passes.test_text_cases     # rewrites the expected texts
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit.codegen.analysis.verifier import verify
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_passes.pipeline import SHAPE
from autojit.codegen.loop_text.interpreter import Order, interpret_loops
from autojit.codegen.loop_text.parse import parse_loops
from tests.thresholds import Thresholds

pytestmark = pytest.mark.usefixtures("one_machine")

HERE = Path(__file__).parent
#: The passes of the pipeline that change loops, by module name.
PASSES = {place.run.name: place.run for place in SHAPE.places if place.run.name != "arena"}


@dataclass(frozen=True)
class Case:
    name: str
    of: str
    thresholds: dict[str, Any]
    program: str
    expected: str


def cases_of(path: Path) -> list[Case]:
    header, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    first, *others = header.splitlines()
    words = " ".join(s.removeprefix("# set: ") for s in others if s.startswith("# set: ")).split()
    pairs = [w.split("=") for w in words]
    thresholds = {
        name if name.startswith("machine.") else f"codegen.loop_passes.{name}": ast.literal_eval(x)
        for name, x in pairs
    }
    cases = []
    for number, part in enumerate(body.split("// ====\n"), 1):
        program, expected = part.split("// ----\n")
        name = first.removeprefix("# pass: ")
        cases.append(Case(f"{path.stem}{number}", name, thresholds, program, expected))
    return cases


CASES = [case for path in sorted(HERE.glob("*.loops")) for case in cases_of(path)]
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def run(case: Case) -> LoopProgram:
    with Thresholds(case.thresholds):
        return PASSES[case.of](parse_loops(case.program))


@each
def test_text(case: Case) -> None:
    verify(parse_loops(case.program))
    made = run(case)
    verify(made)
    assert str(made) == case.expected


def backwards(numbers: Any) -> Any:
    return numbers[::-1]


@each
def test_results_are_kept(case: Case) -> None:
    before = parse_loops(case.program)
    rng = np.random.default_rng(0)
    inputs = [
        rng.uniform(0.5, 2, b.size) if b.dtype[0] == "f" else rng.integers(0, 4, b.size)
        for b in before.inputs
    ]
    wanted = interpret_loops(before, inputs)
    orders: list[Order | None] = [None, backwards]
    for order in orders:
        found = interpret_loops(run(case), inputs, order)
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, 1e-12)


def test_each_pass_changes_one_case_and_leaves_one_alone() -> None:
    assert {case.of for case in CASES} == PASSES.keys()
    for name in PASSES:
        mine = [c for c in CASES if c.of == name]
        same = [c.expected == str(parse_loops(c.program)) for c in mine]
        assert True in same, f"{name}.loops has no loop that the pass may not change"
        assert False in same, f"{name}.loops has no loop that the pass changes"


def rewrite() -> None:
    """Write the actual results into the files."""
    for path in sorted(HERE.glob("*.loops")):
        text = path.read_text(encoding="utf-8")
        header = text.partition("\n\n")[0]
        bodies = [f"{case.program}// ----\n{run(case)}" for case in cases_of(path)]
        path.write_text(header + "\n\n" + "// ====\n".join(bodies), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
