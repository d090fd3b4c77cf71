"""Exact-text tests of the passes, from the `.ir` files beside this module.

A file begins with `# pass: NAME …`, the passes to run in order; `optimize` means all of them. Cases
are separated by lines `// ====`; each has comments, a program, a line `// ----` and the expected
text. If a case says `# rule: NAME`, the text must depend on that rule of `simplify`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from autojit.ir.simplification import simplify
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests.ir import modules
from tests.ir.random_programs import arguments_for, assert_same_results

pytestmark = pytest.mark.usefixtures("one_machine")

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    name: str
    passes: tuple[str, ...]
    rule: str | None
    program: str
    expected: str


def cases_of(path: Path) -> list[Case]:
    text = path.read_text(encoding="utf-8")
    header, _, body = text.partition("\n\n")
    passes = tuple(header.splitlines()[0].removeprefix("# pass: ").split())
    return [
        case_of(f"{path.stem}{number}", passes, part)
        for number, part in enumerate(body.split("// ====\n"), 1)
    ]


def case_of(name: str, passes: tuple[str, ...], text: str) -> Case:
    program, expected = text.split("// ----\n")
    rule = re.search(r"^# rule: (\w+)$", program, re.MULTILINE)
    return Case(name, passes, rule and rule[1], program, expected.strip())


CASES = [case for path in sorted(HERE.glob("*.ir")) for case in cases_of(path)]
RULE_CASES = [case for case in CASES if case.rule]
OPTIMIZED_CASES = [case for case in CASES if case.passes == ("optimize",)]


def pass_named(name: str) -> Callable[[Program], Program]:
    if name == "optimize":
        return optimize
    return modules.pass_named(name)


def run(case: Case) -> Program:
    program = parse(case.program)
    for name in case.passes:
        program = pass_named(name)(program)
        verify(program)
    return program


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_text(case: Case) -> None:
    assert run(case).text() == case.expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results_and_signature_are_kept(case: Case) -> None:
    before, after = parse(case.program), run(case)
    assert after.in_types == before.in_types
    arguments = arguments_for(before, np.random.default_rng(0))
    try:
        interpret(before, arguments)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            interpret(after, arguments)
    else:
        assert_same_results(before, after, arguments)


@pytest.mark.parametrize("case", OPTIMIZED_CASES, ids=lambda case: case.name)
def test_optimized_text_is_left_as_it_is(case: Case) -> None:
    assert optimize(parse(case.expected)).text() == case.expected


@pytest.mark.parametrize("case", RULE_CASES, ids=lambda case: case.name)
def test_rule_is_needed(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, rules in simplify.RULES.items():
        others = [rule for rule in rules if rule.__name__ != case.rule]
        monkeypatch.setitem(simplify.RULES, kind, others)
    assert run(case).text() != case.expected


def test_every_rule_has_a_case() -> None:
    rules = {rule.__name__ for rules in simplify.RULES.values() for rule in rules}
    assert rules == {case.rule for case in RULE_CASES}


def test_every_pass_has_a_case() -> None:
    assert {*modules.PASSES, "optimize"} == {name for case in CASES for name in case.passes}
