"""The check of a card, run in the simulator as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from autojit.codegen.cuda.check import __main__ as check_main
from autojit.codegen.cuda.check import driver
from autojit.codegen.cuda.check.__main__ import names
from autojit.codegen.cuda.check.comparison import difference
from autojit.codegen.cuda.driver.card import Card
from autojit.codegen.cuda.driver.cards import card
from autojit.codegen.loop_ir.errors import TargetError
from tests.codegen.cuda.driver.fake import Fake, installed

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')


@pytest.mark.slow
def test_all_items_are_right_in_the_simulator() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "autojit.codegen.cuda.check"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [any(line.startswith(name) for line in lines) for name in names()] == [True] * 42


@pytest.mark.parametrize("item", [driver.values, driver.graphs, driver.threads, driver.failures])
def test_items_fail_where_kernels_do_nothing(item: Callable[[Card], str]) -> None:
    with installed(Fake()), pytest.raises(AssertionError):
        item(card())


@pytest.mark.slow
def test_copies_fail_where_arrays_are_read_late() -> None:
    class Late(Fake):
        def cuMemcpyHtoDAsync_v2(self, to: int, host: int, size: int, stream: int) -> None:
            super().cuMemcpyHtoDAsync_v2(to, host, size - size // 2, stream)

    with installed(Late()), pytest.raises(AssertionError):
        driver.copies(card())


def test_differences() -> None:
    x = np.array([1.0, np.nan, 100.0])
    assert difference(x, x) == 0
    assert difference(x + np.array([0, 0, 1]), x) == 0.01
    assert difference(x, x[:2]) == difference(x, np.ones(3)) == float("inf")


def test_without_a_card_it_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none_there() -> int:
        raise TargetError("needs an NVIDIA GPU")

    monkeypatch.setattr(check_main, "cards_there", none_there)
    assert check_main.main() == 1
    assert "needs an NVIDIA GPU\n\nWith one, " in capsys.readouterr().err
