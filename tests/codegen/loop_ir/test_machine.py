"""The description of the machine, and code for other machines."""

from __future__ import annotations

import struct
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.codegen.cpu.entry_point import key
from autojit.codegen.loop_ir import caches, machine
from autojit.codegen.loop_ir.caches import Cache, Caches
from autojit.ir.core.machine import Costs, current, using
from tests.thresholds import Thresholds

#: A small machine: caches of a few kilobytes, vectors of two float64, one processor.
SMALL = replace(
    current(), caches=(1024, 4096, 16384), vector_bytes=16, vector_registers=16, processors=1
)


def test_this_machine_is_asked_once_and_says_the_same() -> None:
    assert current() is current()
    assert current().line in (32, 64, 128)
    first, second, last = current().caches
    assert 4096 <= first <= second
    assert last >= 4096
    assert current().processors == machine.processors() >= 1


def index(folder: Path, name: str, *facts: str) -> None:
    """Write a folder like the one that Linux has for each cache."""
    names = ("level", "type", "size", "coherency_line_size", "shared_cpu_list")
    (folder / name).mkdir()
    for fact, value in zip(names, facts, strict=True):
        (folder / name / fact).write_text(f"{value}\n", encoding="ascii")


def test_caches_of_linux(tmp_path: Path) -> None:
    index(tmp_path, "index0", "1", "Data", "48K", "64", "0,64")
    index(tmp_path, "index1", "1", "Instruction", "32K", "64", "0,64")
    index(tmp_path, "index2", "2", "Unified", "2M", "64", "0,64")
    index(tmp_path, "index3", "3", "Unified", "96M", "64", "0-31,64-95")
    found = caches.summary(list(caches.of_sysfs(tmp_path)), "sysfs")
    assert found == Caches((24 << 10, 1 << 20, 96 << 14), 64, "sysfs")


def test_caches_of_macos() -> None:
    keys = {"hw.cachelinesize": 128, "hw.perflevel0.l1dcachesize": 131072,
            "hw.perflevel0.l2cachesize": 12 << 20, "hw.perflevel0.cpusperl2": 4}  # fmt: skip
    found = caches.of_sysctl(lambda name: keys.get(name, 0))
    assert found == [Cache(1, 131072, 128, 1), Cache(2, 12 << 20, 128, 4)]
    assert caches.summary(found, "sysctl") == Caches((131072, 3 << 20, 3 << 20), 128, "sysctl")


def record(level: int, size: int, kind: int, mask: int) -> bytes:
    """A record of 56 bytes, like the one that Windows has for each cache."""
    cache = struct.pack("<BBHIi", level, 8, 64, size, kind)
    return struct.pack("<II", 2, 56) + cache + bytes(20) + struct.pack("<QQ", mask, 0)


def test_caches_of_windows() -> None:
    other = struct.pack("<II", 0, 16) + bytes(8)
    data = other + record(1, 32768, 1, 3) + record(1, 49152, 2, 3) + record(1, 32768, 2, 12)
    assert caches.of_records(data + record(2, 1 << 20, 0, 3)) == [
        Cache(1, 49152, 64, 2),
        Cache(2, 1 << 20, 64, 2),
    ]
    with pytest.raises(ValueError, match="a record without a size"):
        caches.of_records(bytes(64))


@pytest.mark.parametrize("error", [OSError, ValueError, AttributeError])
def test_a_table_has_what_the_system_does_not_tell(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> tuple[list[Cache], str]:
        raise error

    monkeypatch.setattr(caches, "_asked", fails)
    monkeypatch.setattr(caches.platform, "machine", lambda: "arm64")
    caches.found_caches.cache_clear()
    try:
        assert caches.found_caches() == caches.FACTS["aarch64"]
    finally:
        caches.found_caches.cache_clear()
    monkeypatch.setattr(caches.platform, "machine", lambda: "riscv64")
    assert caches.fact() == caches.FACTS["x86_64"]


def test_numbas_settings_say_which_vectors_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2,+avx,+avx2,+fma")
    assert (current().vector_bytes, current().vector_registers) == (32, 16)
    assert machine.has_fused()
    monkeypatch.setenv("NUMBA_ENABLE_AVX", "0")
    assert current().vector_bytes == 16
    assert not current().features & {"+avx", "+avx2"}


def test_every_figure_has_a_unit_and_says_how_it_was_measured() -> None:
    for figure in fields(Costs):
        assert figure.metadata["unit"], figure.name
        assert any(c.isdigit() for c in figure.metadata["measured"]), figure.name


def test_code_on_disk_goes_by_the_machine() -> None:
    program = autojit.trace(np.sin)(1.0)
    convention = key.Convention((None,), 0, as_tuple=False)

    def found() -> object:
        made = key.key(program, convention, "1")
        assert made is not None
        return made["model"]

    usual = found()
    with using(SMALL):
        assert found() != usual
        with using(replace(SMALL, processors=64)):
            assert found() == SMALL.facts()
        with using(replace(SMALL, costs=Costs(latency=5))):
            assert found() != SMALL.facts()
    assert found() == usual


def test_code_for_another_machine_computes_the_same() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((300, 40)), rng.standard_normal((40, 40))

    def loss(w: np.ndarray, x: np.ndarray) -> np.floating:
        hidden = np.tanh(x @ w)
        return np.sum(np.exp(-hidden) * (hidden[1:] - hidden[:-1]).sum())

    usual = jit(grad(loss))(w, x)
    with using(SMALL), Thresholds({}):
        compiled = jit(grad(loss))
        assert np.allclose(compiled(w, x), usual, rtol=1e-10)
        text = compiled.lower(w, x).text("loops")
    assert text != jit(grad(loss)).lower(w, x).text("loops")  # in tiles, and in tasks
