"""Time programs on a GPU beside JAX, ``torch.compile`` and CuPy, as far as these are installed.

    python -m bench.on_gpu [SECONDS] [--small]

Each library has its own process, and all compute the same results, which are compared with
autojit's on the CPU.  Times are those of many calls until the card has finished; float32 products
use no tf32 in any library.  ``--small`` runs small programs on the CPU, to try the texts without a
card.  No new program begins after SECONDS (240).  The exit status is 1 if a program of autojit's
fails or is wrong; a demand that does not hold is only shown.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from autojit.codegen.cuda.check.supervised import supervise
from bench.client import ROOT
from bench.on_gpu import table as tables
from bench.on_gpu.libraries import LIBRARIES
from bench.on_gpu.programs import PROGRAMS

#: The most seconds of one program in one library, its compilation included.
OF_PROGRAM = 60.0


def _command(name: str, device: str, folder: str, size: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "bench.on_gpu.run", name, device, folder, *size]


def run(
    seconds: float, *, is_small: bool, say: Callable[[str], None], copied: float | None = None
) -> bool:
    """Run everything, and print a table; whether all of autojit's programs ran and were right."""
    end = time.monotonic() + seconds
    device, size = ("cpu", ["small"]) if is_small else ("cuda", [])
    names, lost, notes = [p.name for p in PROGRAMS], set[str](), list[str]()
    with tempfile.TemporaryDirectory(prefix="bench-on-gpu-") as folder:
        for name in LIBRARIES:
            command = _command(name, device, folder, size)
            asked = subprocess.run(
                [*command, "about"], cwd=ROOT, capture_output=True, text=True, check=False
            )
            words = (asked.stdout.strip().splitlines() or ["it ended without a word"])[-1]
            if asked.returncode:
                notes.append(f"{name} is not compared: {words}")
                lost.update([name] if name in (tables.REFERENCE, tables.OURS) else [])
                continue
            notes.append(words)
            outcome = supervise(
                [*command, "--from"], names, max(0.0, end - time.monotonic()), OF_PROGRAM,
                partial(_progress, name),
            )  # fmt: skip
            failed = [*outcome.failed, *outcome.not_begun]
            if failed:
                notes.append(f"{name} has no figure of {', '.join(failed)}")
            lost.update(failed if name in (tables.REFERENCE, tables.OURS) else [])
        found = tables.read(Path(folder))
    rows = [tables.row(p, found[p.name], copied, demands=not is_small) for p in PROGRAMS]
    for line in (*notes, *(remark for each in rows for remark in each.remarks)):
        say(f"- {line}")
    title = "Small programs on the CPU" if is_small else "Programs on a GPU"
    say("\n" + tables.table(title, rows).markdown())
    is_right = not any(each.cells[1] == "WRONG" for each in rows)
    return is_right and not lost


def _progress(name: str, line: str) -> None:
    print(f"{name}: {line}", file=sys.stderr, flush=True)


def _copied() -> float | None:
    """The bandwidth of a copy on the card, in bytes a second; None if it cannot be measured."""
    module = "autojit.codegen.cuda.check.ceilings"
    done = subprocess.run(
        [sys.executable, "-m", module], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    return float(done.stdout) if done.returncode == 0 else None


def main(arguments: Sequence[str]) -> int:
    is_small = "--small" in arguments
    numbers = [a for a in arguments if a != "--small"]
    seconds = float(numbers[0]) if numbers else 240.0
    copied = None if is_small else _copied()
    return 0 if run(seconds, is_small=is_small, say=print, copied=copied) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
