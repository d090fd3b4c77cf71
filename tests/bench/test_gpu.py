"""Workloads on a GPU: one line is printed without a GPU, and wrong results are named."""

from __future__ import annotations

import numpy as np
import pytest

from autojit.codegen.cuda.driver import cards
from autojit.codegen.loop_ir.errors import TargetError
from bench import __main__ as bench
from bench import gpu
from bench.workload import Workload
from tests.codegen.cuda.driver.fake import Fake, installed

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')


def workload() -> Workload:
    return Workload(
        name="squares", derivative_of="", dtype="float64", target=None,
        inputs=lambda: (np.arange(5.0),), argnums=(0,),
        primal=lambda np, special: lambda x: np.sum(x * x),
    )  # fmt: skip


def test_one_line_without_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise TargetError("there is none\nand more")

    monkeypatch.setattr(cards, "_open", none)
    monkeypatch.setattr(cards._machine, "opened", None)
    monkeypatch.setattr(cards._machine, "cards", {})
    with pytest.raises(SystemExit, match=r"^no GPU, so nothing is timed: there is none$"):
        bench.main(["gpu", "logistic"])


def test_wrong_results_are_named_and_not_timed() -> None:
    """The fake card runs no kernel, so its results are NaN."""
    with installed(Fake()):
        (row,) = gpu.table([workload()], gpu.first_card(), lambda name: None).rows
    assert row[0] == "squares"
    assert row[2].startswith("WRONG")
    assert row[3:5] == ("", "")


def test_right_results_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "disagreement", lambda got, want, dtype: None)
    with installed(Fake()):
        (row,) = gpu.table([workload()], gpu.first_card(), lambda name: None).rows
    assert all(float(cell.replace(",", "")) > 0 for cell in row[1:5])
