"""Peak rates of the machine: measured once, stored on disk, and replaced only by higher ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit.codegen.driver import peaks
from autojit.codegen.driver.peaks import LEVELS, Peaks
from autojit.ir.core.machine import current, using


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rates are known, in memory or on disk."""
    monkeypatch.setenv("AUTOJIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(peaks, "_known", {})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return figures without measuring; record the requested numbers of processors."""
    asked: list[int] = []

    def measured(processors: int) -> Peaks:
        asked.append(processors)
        return Peaks(1e9 * len(asked), (4e9, 3e9, 2e9, 1e9), processors, "told")

    monkeypatch.setattr(peaks, "_measured", measured)
    return asked


def test_a_measurement() -> None:
    one = peaks._measured(1)
    assert 1e8 < one.flops < 1e13
    assert len(one.bandwidths) == len(LEVELS)
    assert all(1e7 < rate < 1e13 for rate in one.bandwidths)


def test_a_machine_of_another_width_has_its_own_loops() -> None:
    """They read blocks of vectors of that machine's width, and stay within their array."""
    made = {lanes: peaks._functions(lanes)[1] for lanes in (2, 4, 8)}
    for lanes, read in made.items():
        blocks = 3
        array = np.ones(2 * blocks * peaks._SUMS * lanes)
        array[len(array) // 2 :] = 1000.0
        assert read(array.ctypes.data, blocks, 1) == len(array) // 2


def test_they_are_measured_once(quick: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    with using(replace(current(), processors=3)):
        one, every = peaks.peaks()
        assert (one.processors, every.processors) == (1, 3)
        assert quick == [1, 3]
        peaks.peaks()
        monkeypatch.setattr(peaks, "_known", {})  # as in another process
        assert peaks.peaks() == (one, every)
        assert quick == [1, 3]
    with using(replace(current(), processors=4)):
        peaks.peaks()
        assert quick == [1, 3, 1, 4]


def test_only_better_figures_replace_others(quick: list[int], monkeypatch: Any) -> None:
    one, _ = peaks.peaks()
    slow = Peaks(0.5e9, (9e9, 0.0, 0.0, 0.0), 1, "told")
    monkeypatch.setattr(peaks, "_measured", lambda processors: slow)
    found, every = peaks.measure_again()
    assert found.flops == one.flops
    assert found.bandwidths == (9e9, *one.bandwidths[1:])
    assert every.flops >= found.flops
    assert peaks.peaks()[0] == found


def test_where_arrays_lie() -> None:
    figures = Peaks(1e9, (4e9, 3e9, 2e9, 1e9), 2, "told")
    with using(replace(current(), caches=(1000, 10_000, 100_000))):
        sizes = (1000, 1001, 10_001, 200_000, 200_001)  # two processors: twice the last level
        assert [figures.bandwidth(size) for size in sizes] == [4e9, 3e9, 2e9, 2e9, 1e9]
