"""Exact-text tests of the transformations that split a program in two, from the `.ir` files beside
this module.

A file begins with `# transform: NAME …`: `separate` or `linearize`, and `choose_residuals` if the
residuals are chosen afterwards. Cases are separated by lines `// ====`; each has comments, a
program, and after lines `// ----` the two expected programs. The comments say

- `# linear: %t …`: the linear inputs of `separate`, or `# by: %x …`: the inputs that `linearize`
differentiates by; - `# free: %c …`: the inputs that the linear program gets for free; - `# policy:
NAME`: which operations may be repeated, by the names of `checkpoint`; - `# bytes: STORED of NAIVE`:
the bytes of the residuals, and their bytes before the choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from autojit.ir.autodiff.residuals import repeatable
from autojit.ir.core.program import Op
from autojit.ir.regions.checkpoint import POLICIES
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests.ir.autodiff.splits import Split, linearized, separated
from tests.ir.random_programs import arguments_for, assert_same_results

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    name: str
    transforms: tuple[str, ...]
    comments: dict[str, str]
    program: str
    expected: tuple[str, ...]

    def marked(self, key: str) -> list[bool]:
        """Which inputs of the program a comment names."""
        named = self.comments.get(key, "").split()
        inputs = re.findall(r"(%\w+):", self.program[: self.program.index("{")])
        assert set(named) <= set(inputs)
        return [name in named for name in inputs]

    def may_repeat(self) -> Callable[[Op], bool]:
        return POLICIES[self.comments["policy"]] if "policy" in self.comments else repeatable


def cases_of(path: Path) -> list[Case]:
    header, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    transforms = tuple(header.splitlines()[0].removeprefix("# transform: ").split())
    return [
        case_of(f"{path.stem}{number}", transforms, part)
        for number, part in enumerate(body.split("// ====\n"), 1)
    ]


def case_of(name: str, transforms: tuple[str, ...], text: str) -> Case:
    program, *expected = text.split("// ----\n")
    comments = dict(re.findall(r"^# (linear|by|free|policy|bytes): (.+)$", program, re.MULTILINE))
    program = program[program.index("program ") :]
    return Case(name, transforms, comments, program, tuple(text.strip() for text in expected))


CASES = [case for path in sorted(HERE.glob("*.ir")) for case in cases_of(path)]
WITH_CHOICE = [case for case in CASES if "choose_residuals" in case.transforms]


def before_choice(case: Case) -> Split:
    program, free = parse(case.program), case.marked("free")
    if case.transforms[0] == "separate":
        return separated(program, case.marked("linear"), free)
    return linearized(program, case.marked("by"), free)


def split(case: Case) -> Split:
    made = before_choice(case)
    return made.with_choice(case.may_repeat()) if case in WITH_CHOICE else made


def of_each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@of_each(CASES)
def test_text(case: Case) -> None:
    parts = split(case).parts
    for part in (parts.primal, parts.linear):
        verify(part)
    assert (parts.primal.text(), parts.linear.text()) == case.expected


@of_each(CASES)
def test_parts_make_the_whole(case: Case) -> None:
    made = split(case)
    for seed in range(3):
        arguments = arguments_for(made.whole, np.random.default_rng(seed))
        assert_same_results(made.whole, made.composed(), arguments)


@of_each(CASES)
def test_linear_part_is_linear(case: Case) -> None:
    """Doubling the linear inputs doubles the results of that part, and leaves the other part
    unchanged."""
    made = split(case)
    program = made.composed()
    arguments = arguments_for(program, np.random.default_rng(0))
    doubled = [2 * x if m else x for x, m in zip(arguments, made.linear, strict=True)]
    results = zip(interpret(program, arguments), interpret(program, doubled), strict=True)
    for (once, twice), moves in zip(results, made.moved, strict=True):
        np.testing.assert_allclose(twice, 2 * once if moves else once, 1e-11)


@of_each(WITH_CHOICE)
def test_bytes_are_as_stated_and_no_more_than_before(case: Case) -> None:
    stored, naive = split(case).bytes(), before_choice(case).bytes()
    assert f"{stored} of {naive}" == case.comments["bytes"]
    assert stored <= naive


@of_each(WITH_CHOICE)
def test_no_other_choice_takes_fewer_bytes(case: Case) -> None:
    assert split(case).bytes() == before_choice(case).fewest_bytes(case.may_repeat())
