"""The report of the effect of leaving out each pass."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad
from bench import passes
from bench.passes import Gradient, changed, gain, names, without

X, PICKED = np.linspace(0.1, 1.0, 400).reshape(100, 4), np.array([3, 17])
ROWS = Gradient("rows", lambda: grad(lambda x: np.sum(np.exp(x @ x.T)[PICKED])), (X,))


def test_the_passes_that_change_a_gradient_are_found() -> None:
    assert "coalesce" in changed(Gradient("sum", lambda: lambda x: np.sin(x), (X,)))
    assert "sorted_places" not in changed(ROWS)


def test_pipelines_are_as_before() -> None:
    before = [pipeline.places for pipeline in passes.PIPELINES]
    with without("coalesce"):
        assert "coalesce" not in names()
    assert [pipeline.places for pipeline in passes.PIPELINES] == before


def test_both_forms_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = []

    def fastest(*calls):
        timed.extend(call() for call in calls)
        return [2.0, 3.0]

    monkeypatch.setattr(passes, "fastest", fastest)
    found = gain(ROWS, "push_gathers")
    assert (found.name, found.run) == ("rows", 1.5)
    assert found.first_call > 0
    assert np.allclose(timed[0], timed[1])


def test_a_pass_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        passes.main(["coalesc"], None)
    assert "there is no pass 'coalesc' in optimize or shape loops" in capsys.readouterr().err
