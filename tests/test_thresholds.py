"""Thresholds that other tests draw: all are listed, set everywhere, and code is not shared."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

import autojit
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import Fill
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_passes.tasks import task_cost
from autojit.codegen.lowering import carries, region_places
from autojit.ir.core.machine import Costs, Machine, current
from autojit.staging import execute
from tests import thresholds
from tests.threshold_values import OF_THE_MODEL, UNITS


def test_each_number_of_the_compiler_is_drawn_or_said_to_be_fixed() -> None:
    known = thresholds.THRESHOLDS.keys() | thresholds.FIXED.keys()
    assert set(thresholds.numbers()) == known
    assert thresholds.THRESHOLDS.keys().isdisjoint(thresholds.FIXED)


def test_each_number_has_a_unit() -> None:
    units = Counter(path for paths in UNITS.values() for path in paths)
    assert units.keys() == set(thresholds.numbers())
    assert set(units.values()) == {1}


def test_only_units_of_the_machine_are_parts_of_the_model() -> None:
    """What is no whole number, and no ratio, is a part of something that the machine has."""
    units = {path: unit for unit, paths in UNITS.items() for path in paths}
    parts = {p for p in thresholds.numbers() if getattr(*thresholds.home(p)) % 1}
    assert {units[p] for p in parts} <= OF_THE_MODEL | {"ratios"}
    assert set(UNITS) >= OF_THE_MODEL


def test_each_fact_of_the_machine_is_drawn() -> None:
    of_costs = {f"machine.{f.name}" for f in fields(Costs)}
    # No code depends on processors; instructions are not there for being told of.
    of_machine = {f"machine.{f.name}" for f in fields(Machine)} - {
        "machine.costs", "machine.features", "machine.processors", "machine.source",
    }  # fmt: skip
    assert thresholds.MACHINE.keys() == of_costs | of_machine


def test_what_is_drawn_differs_from_what_is_usual() -> None:
    for path, places in thresholds.copies().items():
        assert getattr(*places[0]) not in thresholds.THRESHOLDS[path], path


def test_copies_change_with_their_original_and_change_back() -> None:
    usual = task_cost.WORTH_TRYING, region_places.SMALL
    with thresholds.Thresholds(
        {
            "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 7,
            "codegen.lowering.region_places.SMALL": 3,
        }
    ):
        assert task_cost.WORTH_TRYING == 7
        assert carries.SMALL == region_places.SMALL == 3
    assert usual == (task_cost.WORTH_TRYING, region_places.SMALL)


def test_what_was_compiled_with_other_thresholds_is_not_used() -> None:
    def loops() -> str:
        compiled = autojit.jit(lambda x: np.exp(x))
        compiled(np.ones(64))
        return str(execute.executable(compiled.program(np.ones(64))).loops)

    usual = loops()
    assert "task" not in usual
    with thresholds.Thresholds({"codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0}):
        assert "task" in loops()
    assert loops() == usual


def test_memory_that_nothing_has_written_holds_nan() -> None:
    def sums() -> np.ndarray:
        """What a program gives whose result is not set to zeros before it is added to."""
        made = Executable(autojit.trace(lambda x: np.sum(np.sin(x), axis=0))(np.zeros((5, 3))))
        for kernel in made.loops.steps:
            assert isinstance(kernel, Kernel)
            kernel.body[:] = [s for s in kernel.body if not isinstance(s, Fill)]
        result: np.ndarray = made.call([np.zeros((5, 3))])[0]
        return result

    with thresholds.Thresholds({}):
        assert np.isnan(sums()).all()


def test_machines_are_told_and_forgotten() -> None:
    usual = current()
    with thresholds.Thresholds({"machine.caches": [64, 256, 1024], "machine.latency": 100}):
        assert (current().caches, current().costs.latency) == ((64, 256, 1024), 100)
    assert current() is usual


def test_a_name_that_is_none_is_refused() -> None:
    path = "codegen.loop_passes.tasks.task_cost.WORTH"
    with pytest.raises(AssertionError, match=rf"no thresholds: \['{path}'\]"):
        thresholds.Thresholds({path: 0})


def test_draws_can_be_repeated_and_differ() -> None:
    first, same, other = (thresholds.drawn(np.random.default_rng(n)) for n in (4, 4, 5))
    assert first.values == same.values != other.values
