"""The pass manager: needs and order, the verifier after each pass, and records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import autojit
from autojit.codegen.analysis.loop_level import LOOPS
from autojit.codegen.loop_passes.pipeline import SHAPE
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CPU, CUDA
from autojit.ir.autodiff import indexed_scans
from autojit.ir.autodiff.preparing import PREPARE
from autojit.ir.core.program import Program
from autojit.ir.pass_manager.passes import BrokenPass, Pass, is_verifying, verify_each
from autojit.ir.pass_manager.pipelines import Pipeline, Place, UnmetNeed
from autojit.ir.pass_manager.records import Run, current, phase, recording
from autojit.ir.passes import optimize
from autojit.ir.passes.pipeline import BY_THEMSELVES, OPTIMIZE
from autojit.ir.rewriting import bodies, cse, dce, inline_calls
from autojit.ir.simplification import simplify
from autojit.ir.simplification.simplified import simplified
from autojit.ir.tools.program_passes import CALLS_INLINED, SIMPLIFIED, SSA
from autojit.ir.tools.text import parse

TWICE = parse("""program main(%0: f64[3]) {
  %1: f64[3] = sin %0
  %2: f64[3] = sin %0
  %3: f64[3] = exp %0
  %4: f64[3] = add %1, %2
  return %4
}""")


EVERY: list[Pass[object]] = [*SSA.passes.values(), *LOOPS.passes.values()]


def names(runs: list[Run]) -> list[str]:
    return [run.name for run in runs]


# -- declarations and order ----------------------------------------------------------


def test_every_module_with_a_pass_declares_it() -> None:
    folder = Path(simplify.__file__).parent
    modules = [p.stem for p in folder.glob("*.py") if "\ndef run(" in p.read_text("utf-8")]
    assert set(modules) <= SSA.passes.keys()


@pytest.mark.parametrize("pipeline", [OPTIMIZE, PREPARE, SHAPE], ids=lambda p: p.name)
def test_passes_of_pipelines_are_declared_and_each_place_has_a_reason(
    pipeline: Pipeline[object],
) -> None:
    known: dict[str, Pass[object]] = {**SSA.passes, **LOOPS.passes}
    for place in pipeline.places:
        assert known[place.run.name].does == place.run.does
        assert place.reason.endswith(".")


def test_every_pass_over_programs_has_a_place_or_is_part_of_another() -> None:
    placed = {place.run.name for p in (OPTIMIZE, PREPARE) for place in p.places}
    placed |= {place.run.name for place in BY_THEMSELVES.values()}
    parts = {"simplified", "fold", "simplify", "cse", "dce"}
    assert SSA.passes.keys() - {"roll"} == placed | parts


def test_every_pass_over_loops_has_a_place() -> None:
    assert LOOPS.passes.keys() == {place.run.name for place in SHAPE.places}


def test_names_are_those_of_one_pass() -> None:
    assert SSA.passes.keys().isdisjoint(LOOPS.passes)
    with pytest.raises(ValueError, match="two passes with the name cse"):
        SSA.declare(replace(cse.run))


@pytest.mark.parametrize("run", EVERY, ids=lambda p: p.name)
def test_a_pass_says_in_a_sentence_what_it_does(run: Pass[object]) -> None:
    first = run.does.split()[0]
    assert first[0].isupper()
    assert first.endswith("s")
    assert run.does.endswith(".")


def test_what_a_pass_needs_is_checked() -> None:
    with pytest.raises(UnmetNeed, match="the pass unroll needs calls inlined, simplified, but"):
        Pipeline("short", [Place(SSA.passes["unroll"], "")])
    inlined = Place(inline_calls.run, "")
    with pytest.raises(UnmetNeed, match=r"needs simplified, but .* give calls inlined"):
        Pipeline("short", [inlined, Place(SSA.passes["unroll"], "")])
    made = Pipeline("short", [inlined, Place(simplified, ""), Place(SSA.passes["unroll"], "")])
    assert made.check([inline_calls.run, simplified]) == {CALLS_INLINED, SIMPLIFIED}


@pytest.mark.parametrize("swapped", ["inline_calls", "indexed_scans"])
def test_another_order_of_the_pipeline_is_refused(swapped: str) -> None:
    places = sorted(OPTIMIZE.places, key=lambda place: place.run.name == swapped)
    with pytest.raises(UnmetNeed):
        Pipeline("wrong", places, given=OPTIMIZE.given, then=OPTIMIZE.then)


def test_what_shares_memory_is_looked_at_no_more() -> None:
    places = sorted(SHAPE.places, key=lambda place: place.run.name == "strip_mine")
    with pytest.raises(UnmetNeed, match=r"strip_mine needs .*memory of its own for each buffer"):
        Pipeline("wrong", places, given=SHAPE.given)


@pytest.mark.parametrize("target", [CPU, CUDA], ids=["cpu", "cuda"])
def test_needs_are_met_for_each_target(target: object) -> None:
    SHAPE.check(SHAPE.wanted(target))


# -- verify-each ---------------------------------------------------------------------


def broken(name: str = "careless") -> Pass[Program]:
    """A pass that drops an operation."""
    return Pass(name, SSA, lambda p: p.with_body(p.ops[1:], p.outputs), "Forgets an operation.")


def test_a_pass_that_breaks_a_program_is_named() -> None:
    assert is_verifying()
    with pytest.raises(BrokenPass, match="after the pass careless: program main is not"):
        broken()(TWICE)
    with verify_each(False):
        broken()(TWICE)


def test_a_pass_inside_of_another_is_the_one_that_is_named() -> None:
    outer = Pass("outer", SSA, broken("inner"), "Runs another one.")
    with pytest.raises(BrokenPass, match="after the pass inner"):
        outer(TWICE)


def test_the_switch_is_put_back() -> None:
    with verify_each(False):
        assert not is_verifying()
        with verify_each():
            assert is_verifying()
        assert not is_verifying()
    assert is_verifying()


# -- records -------------------------------------------------------------------------


def test_a_record_says_what_ran_and_what_it_changed() -> None:
    with recording() as record:
        dce.run(cse.run(TWICE))
        dce.run(TWICE.with_body(TWICE.ops[:1], TWICE.ops[0].results))
    first, second, third = record.runs
    assert (first.name, first.unit, first.level, first.changed) == ("cse", "main", "ssa", True)
    assert (first.before, first.after) == ({"ops": 4}, {"ops": 3})
    assert (second.before, second.after) == ({"ops": 3}, {"ops": 2})
    assert (third.changed, third.after) == (False, {"ops": 1})
    assert all(0 < run.seconds < 1 for run in record.runs)
    assert 0 < record.overhead < 1
    assert current() is None


def test_passes_stand_below_what_runs_them() -> None:
    def total(x: np.ndarray) -> object:
        return autojit.scan(lambda c, y: (c * np.sin(y), None), 1.0, x)[0]

    autojit.session.transform_cache.clear()
    with recording() as record:
        program = autojit.trace(autojit.grad(total))(np.ones(5))
        optimize(program)
    (gradient,) = (run for run in record.runs if run.name == "gradient")
    linearize = gradient.runs[0]
    assert names(linearize.runs) == ["prepare", "derivative of scan"]
    assert names(linearize.runs[0].runs) == [
        "branch_stores", "branch_elements", "indexed_scans", "cse_before_derivatives",
    ]  # fmt: skip
    assert names(linearize.runs[1].runs) == ["zero_cotangents", "linearize", "choose residuals"]
    optimized = record.runs[-1]
    assert optimized.name == "optimize"
    in_order = [run for run in names(optimized.runs) if run != "simplified"]
    assert in_order == [place.run.name for place in OPTIMIZE.places]
    (rows,) = (run for run in optimized.runs if run.name == "indexed_scans")
    assert [(run.name, run.unit) for run in rows.runs][:1] == [("indexed_scans", "f")]


def test_loops_are_recorded_with_their_sizes() -> None:
    program = optimize(autojit.trace(lambda x: np.exp(x))(np.ones(10**6)))
    with recording() as record:
        lower(program)
    (lowering,) = (run for run in record.runs if run.name == "lower")
    shape = lowering.runs[-1]
    assert names(shape.runs) == [place.run.name for place in SHAPE.places]
    parallel = next(run for run in shape.runs if run.name == "parallelize")
    assert parallel.changed
    assert parallel.before["loops"] == parallel.after["loops"] == 1
    assert parallel.after["statements"] == parallel.before["statements"] + 1
    untouched = next(run for run in shape.runs if run.name == "overrun_rows")
    assert not untouched.changed
    assert untouched.before == untouched.after


def test_texts_are_kept_of_passes_that_are_named_and_have_changed_something() -> None:
    with recording(["dce", "fold"]) as record:
        cse.run(TWICE)
        dce.run(TWICE)
        dce.run(dce.run(TWICE))
    assert [p.run.name for p in record.printed] == ["dce", "dce"]
    assert record.printed[0].text == dce.run(TWICE).text()


def test_the_time_of_the_record_is_not_that_of_passes() -> None:
    slow = replace(SSA, sizes=lambda program: {"ops": sum(range(10**6))})
    inner = replace(dce.run, level=slow)
    with recording() as record:
        Pass("outer", SSA, inner, "Runs another one.")(TWICE)
    assert record.runs[0].seconds < record.overhead


def test_what_is_simplified_is_not_simplified_again() -> None:
    made = simplified(TWICE)
    with recording() as record:
        assert simplified(made) is made
    assert not record.runs


def test_bodies_come_before_what_they_are_in() -> None:
    run = bodies.everywhere(indexed_scans.run)
    program = autojit.trace(lambda x: autojit.scan(lambda c, y: (c + y, c), 0.0, x))(np.ones(4))
    with recording() as record:
        assert run(program) is program
    assert [r.unit for r in record.walk()] == [program.name, "f"]


def test_a_phase_is_the_function_itself_without_a_record() -> None:
    @phase("sums")
    def total(a: int, *, b: int) -> int:
        """Adds."""
        return a + b

    assert total(1, b=2) == 3
    assert total.__doc__ == "Adds."
    with recording() as record:
        assert total(1, b=2) == 3
    assert names(record.runs) == ["sums"]
