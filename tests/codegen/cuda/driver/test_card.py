"""A card's memory by the letter of CUDA's documents: late copies, cards without pools, forks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from autojit import device_put, jit
from autojit.codegen.cuda.driver import forks, simulated, uploads
from autojit.codegen.cuda.driver.cards import card
from autojit.codegen.cuda.driver.prototypes import MEMORY_POOLS
from tests.codegen.cuda.driver.fake import Fake, installed

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')


class Late(Fake):
    """Reads the host's memory as late as allowed: at a wait, or when a copy is requested."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[int, int, int]] = []

    def cuMemcpyHtoDAsync_v2(self, to: int, host: int, size: int, stream: int) -> None:
        self._waiting.append((to, host, size))

    def cuStreamSynchronize(self, stream: int) -> None:
        waiting, self._waiting = self._waiting, []
        for to, host, size in waiting:
            super().cuMemcpyHtoDAsync_v2(to, host, size, stream)

    def cuMemcpyDtoHAsync_v2(self, host: int, pointer: int, size: int, stream: int) -> None:
        self.cuStreamSynchronize(stream)
        super().cuMemcpyDtoHAsync_v2(host, pointer, size, stream)


def test_arrays_may_change_when_they_are_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "SMALL", 4000)
    monkeypatch.setattr(uploads, "PINNED", 10_000)
    sizes = [1, 400, 400, 499, 300, 700, 8, 450, 450, 450, 450, 3000]
    with installed(Late()) as fake:
        arrays = [np.full(n, float(i)) for i, n in enumerate(sizes)]
        there = []
        for number, array in enumerate(arrays):
            there.append(device_put(array))
            array[:] = -1
            if number == 5:
                card().wait()  # all pinned memory is free again
        for i, (n, array) in enumerate(zip(sizes, there, strict=True)):
            np.testing.assert_array_equal(np.asarray(array), np.full(n, float(i)))
        assert fake.counts["cuMemHostAlloc"] == 1


def test_small_arrays_are_not_waited_for() -> None:
    with installed(Late()) as fake:
        device_put(np.ones(10))
        with fake.counted() as counts:
            device_put(np.ones(1000))
        assert counts["cuMemcpyHtoDAsync_v2"] == 1
        assert not counts["cuStreamSynchronize"]


def test_a_card_without_pools_allocates_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(simulated._ATTRIBUTES, MEMORY_POOLS, 0)
    with installed(Fake()) as fake:
        x = device_put(np.ones(10))
        y = jit(lambda x: x + 1)(x)
        del x, y
        here = card()
        with fake.counted() as counts:
            here.pool.trim(0)
        assert counts == {"cuMemFree_v2": 2, "cuStreamSynchronize": 2}
        assert not fake.counts["cuMemAllocAsync"]


@pytest.mark.slow
def test_memory_in_circles_is_found_before_none_is_left() -> None:
    class Full(Fake):
        def cuMemAllocAsync(self, to: int, size: int, stream: int) -> None:
            if size > 1000 and len([a for a in self._arrays.values() if a.nbytes == size]) > 1:
                raise MemoryError("full")
            super().cuMemAllocAsync(to, size, stream)

    with installed(Full()):
        for _ in range(4):
            circle: list[Any] = [device_put(np.ones(1000))]
            circle.append(circle)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_is_told_to_be_spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(Fake()):
        f, x = jit(lambda x: x + 1), device_put(np.ones(10))
        f(x)
        monkeypatch.setattr(forks._Process, "has_started", True)
        read, write = os.pipe()
        if not (child := os.fork()):  # pragma: no cover
            said = []
            try:
                for act in (lambda: device_put(np.ones(3)), lambda: np.asarray(x)):
                    try:
                        act()
                    except Exception as error:
                        said.append('set_start_method("spawn")' in str(error))
                os.write(write, repr(said).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 100) == b"[True, True]"
        os.close(read)
        os.close(write)
        np.asarray(x)  # here it continues
