"""The check of a card, run in the simulator as a user runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit.codegen.cuda.check import __main__ as check_main
from autojit.codegen.cuda.check import driver
from autojit.codegen.cuda.check.__main__ import names
from autojit.codegen.cuda.check.comparison import difference
from autojit.codegen.cuda.check.programs import texts
from autojit.codegen.cuda.check.supervised import Outcome
from autojit.codegen.cuda.device_program.nodes import DeviceKernel
from autojit.codegen.cuda.driver.card import Card
from autojit.codegen.cuda.driver.cards import card
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.loop_ir.errors import TargetError
from tests.codegen.cuda.driver.fake import Fake, installed
from tests.codegen.cuda.running import mapped

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')


@pytest.mark.slow
def test_all_parts_run_in_the_simulator(tmp_path: Path) -> None:
    """Items and small programs are all right; samples run as far as the time allows."""
    page = tmp_path / "page.md"
    done = subprocess.run(
        [sys.executable, "-m", "autojit.codegen.cuda.check", "--seconds", "700", "--page", page],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [any(line.startswith(name) for line in lines) for name in names()] == [True] * 43
    assert re.search(r"^0 failed, .* [1-9]\d* right$", done.stdout, re.M)
    written = page.read_text()
    assert written.startswith("# Results\n\n## On a GPU: numba's simulator\n")
    parts = "**Items**", "**Samples**", "**Beside other libraries**", "| softmax | "
    assert all(part in written for part in parts)


def test_the_loop_of_all_blocks_is_one() -> None:
    (program,) = (made for name, made in texts(300) if name == "loop of all blocks")
    kernels = mapped(program, Machine()).launches
    assert any(isinstance(kernel, DeviceKernel) and kernel.meets for kernel in kernels)


def test_items_have_their_names_and_the_ceilings_come_first() -> None:
    with installed(Fake()):
        assert [item.name for item in check_main.items(card())] == names()
    assert names()[:4] == [
        "at most: copy", "at most: product f4", "at most: product f8", "at most: launch",
    ]  # fmt: skip


class Run:
    """The check with other parts, which are noted, and where one of them may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: str = "") -> None:
        self.parts: list[list[str]] = []

        def supervise(command: Any, names: Any, seconds: float, *, say: Any) -> Outcome:
            say("card: A100")
            return Outcome([names[0]] if fails == "items" else [], [])

        def run_module(module: str, arguments: list[str], say: Any) -> int:
            self.parts.append([module, *arguments])
            say("| program | ms |" if module == "bench.on_gpu" else "0 failed, 9 right")
            return int(module == fails)

        monkeypatch.setattr(check_main, "supervise", supervise)
        monkeypatch.setattr(check_main, "run_module", run_module)
        monkeypatch.setattr(check_main, "cards_there", lambda: 1)
        monkeypatch.setattr(check_main, "is_simulated", lambda: False)


@pytest.mark.parametrize("fails", ["", "items", "tests.codegen.cuda.check_samples", "bench.on_gpu"])
def test_the_status_is_that_of_all_parts(
    fails: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run, page = Run(monkeypatch, fails), tmp_path / "page.md"
    assert check_main.main(["--page", str(page), "--seconds", "100"]) == int(bool(fails))
    (samples, beside) = run.parts
    assert samples == ["tests.codegen.cuda.check_samples", "20"]
    assert beside[0] == "bench.on_gpu"
    assert 90 < float(beside[1]) <= 100  # what the others have left
    written = page.read_text()
    assert "## On a GPU: A100\n" in written
    assert "```text\n0 failed, 9 right\n```" in written
    assert ("1 failed: at most: copy" in written) == (fails == "items")


def test_an_installed_package_has_items_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch)
    monkeypatch.setattr(check_main, "has_sources", lambda: False)
    assert check_main.main([]) == 0
    assert not run.parts


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
