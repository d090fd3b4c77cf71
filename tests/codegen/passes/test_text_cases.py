"""Exact-text tests of the passes over loops, from the `.loops` files beside this module.

A file begins with `# pass: NAME`, and with `# set: module.NAME=value …` where thresholds keep the
pass from small loops.  Cases stand between lines `// ====`; each has comments, a program, a line
`// ----` and the text that must come out, which `python -m tests.codegen.passes.test_text_cases`
writes anew.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit.codegen.analysis.verifier import verify
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_passes import pipeline
from autojit.codegen.loop_passes.coalesce import collapsed
from autojit.codegen.loop_passes.delinearize import uncollapsed
from autojit.codegen.loop_passes.fission import in_pieces
from autojit.codegen.loop_passes.masked_fixups import off_diagonals
from autojit.codegen.loop_passes.one_hot_rows import only_ones
from autojit.codegen.loop_passes.overrun_rows import in_whole_rows
from autojit.codegen.loop_passes.parallelize import parallelize
from autojit.codegen.loop_passes.products import in_tasks
from autojit.codegen.loop_passes.reuse_buffers import take_over
from autojit.codegen.loop_passes.scatters import scatters_apart
from autojit.codegen.loop_passes.split_blocks import in_chunks
from autojit.codegen.loop_passes.strip_mine import in_blocks
from autojit.codegen.loop_passes.tile_rows import in_slabs
from autojit.codegen.loop_text.interpreter import Order, interpret_loops
from autojit.codegen.loop_text.parse import parse_loops
from tests.thresholds import Thresholds

HERE = Path(__file__).parent
Pass = Callable[[LoopProgram], LoopProgram]


def of_kernels(run: Callable[[Kernel], Any]) -> Pass:
    def every(program: LoopProgram) -> LoopProgram:
        steps: list[Any] = []
        for s in program.steps:
            made = run(s) if isinstance(s, Kernel) else s
            steps += made if isinstance(made, list) else [made]
        return replace(program, steps=steps)

    return every


def of_steps(run: Callable[[list[Any]], list[Any]]) -> Pass:
    return lambda program: replace(program, steps=run(program.steps))


def of_products(program: LoopProgram) -> LoopProgram:
    return replace(
        program, steps=[in_tasks(s) if isinstance(s, MatrixProduct) else s for s in program.steps]
    )


def taken_over(program: LoopProgram) -> LoopProgram:
    take_over(program)
    return program


#: The passes by the names of their modules.
PASSES: dict[str, Pass] = {
    "strip_mine": of_kernels(in_blocks),
    "split_blocks": of_kernels(in_chunks),
    "coalesce": of_kernels(collapsed),
    "masked_fixups": of_kernels(off_diagonals),
    "one_hot_rows": of_steps(only_ones),
    "parallelize": of_kernels(parallelize),
    "fission": of_kernels(in_pieces),
    "products": of_products,
    "overrun_rows": of_kernels(in_whole_rows),
    "scatters": of_kernels(scatters_apart),
    "tile_rows": of_steps(in_slabs),
    "reuse_buffers": taken_over,
    "delinearize": of_kernels(uncollapsed),
}


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


def test_passes_of_the_pipeline_have_cases() -> None:
    names = {place.run.name for place in pipeline.SHAPE.places}
    assert names - {"arena"} <= PASSES.keys()  # the arena changes no loop


def rewrite() -> None:
    """Write what comes out into the files."""
    for path in sorted(HERE.glob("*.loops")):
        text = path.read_text(encoding="utf-8")
        header = text.partition("\n\n")[0]
        bodies = [f"{case.program}// ----\n{run(case)}" for case in cases_of(path)]
        path.write_text(header + "\n\n" + "// ====\n".join(bodies), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
