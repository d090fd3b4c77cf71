"""LLVM as the compiler: all memory that it allocates is freed."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from autojit.codegen.cpu.host import engine
from autojit.codegen.cpu.host.engine import PLAIN, Compiled

#: A loop with enough work for LLVM's passes that they allocate memory for it.
TEXT = """
define void @"scale"(ptr %a, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %place = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %place
  %y = fmul double %x, 2.0
  store double %y, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def resident() -> int:
    """The bytes of this process that are resident in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_passes_are_freed() -> None:
    """Each part has pass managers of 25 KB or more, which llvmlite does not free by itself."""
    for _ in range(5):
        Compiled([TEXT])
    gc.collect()
    before = resident()
    for _ in range(20):
        Compiled([TEXT])
    gc.collect()
    assert resident() - before < 400_000


def test_code_does_not_depend_on_what_its_machine_compiled_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fresh() -> bytes:
        monkeypatch.setattr(engine, "_idle", {})
        return Compiled([TEXT]).object_code

    alone = fresh()
    Compiled([TEXT.replace("2.0", "3.0").replace("double", "float"), PLAIN + TEXT])
    assert Compiled([TEXT]).object_code == alone == fresh()


def test_machines_go_from_part_to_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_idle", {})
    monkeypatch.setattr(engine, "thread_count", lambda: 1)
    Compiled([TEXT, TEXT.replace("2.0", "3.0"), PLAIN + TEXT])
    assert [len(machines) for machines in engine._idle.values()] == [1, 1]
