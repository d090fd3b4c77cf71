"""The page of figures of define-by-run."""

from __future__ import annotations

import pytest

from bench.beside import define_by_run


def test_a_row_says_whether_the_demand_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("a", 1.0, "b", 4.0, 2.0), ("c", 3.0, "", None, 2.0), ("d", 3.0, "", None, None)]
    monkeypatch.setattr(define_by_run, "measured_apart", lambda name: rows)
    made = define_by_run.table(["numbers"]).rows
    assert [row[-1] for row in made] == ["yes", "no", "–"]
    assert made[0][3:5] == ("4.00", "0.250")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["checkpoints", "compiled_numbers"])
def test_a_figure_is_measured_in_a_process_of_its_own(name: str) -> None:
    assert all(ours > 0 for _, ours, *_ in define_by_run.measured_apart(name))
