"""A process that checks cases: one per line of its input, one outcome per line of its output.

It may crash or hang; the parent process knows which case caused it.
"""

from __future__ import annotations

import faulthandler
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from tests.fuzz.case import Case
from tests.fuzz.limits import limit_memory, processor_time

ROOT = Path(__file__).resolve().parents[2]

#: No code on disk, and three threads, so that the work is divided unevenly.
ENVIRONMENT = {
    "AUTOJIT_CACHE_SIZE": "0", "PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "3",
    "PYTHONWARNINGS": "ignore",
}  # fmt: skip
#: Bytes that a process may take in addition to its initial memory.
MEMORY = 4 << 30
#: The elapsed time that a case may take, in multiples of its limit of processor time.
PATIENCE = 10.0
#: The most cases per process, since everything it compiles stays in memory.
MOST_CASES = 400


class Worker:
    """A checking process, which is restarted when it ends."""

    def __init__(self, limit: float = 120.0) -> None:
        #: Seconds of processor time that a case may take. On a machine that others use a case may
        #: run for `PATIENCE` times as long.
        self.limit = limit
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None
        self._checked = 0

    def check(self, case: Case) -> dict[str, Any]:
        """The outcome of a case; crashes and hangs are also failures."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(case.to_json() + "\n")
            process.stdin.flush()
            line = self._line(process)
        except BrokenPipeError:
            line = ""
        if line is None:
            self.stop()
            return _failed("hang", f"no result within {self.limit:g} s of processor time")
        if not line:
            words = self._last_words()
            code = process.wait()
            self.stop()
            name = signal.Signals(-code).name if code < 0 else f"exit {code}"
            return _failed(f"crash ({name})", words)
        self._checked += 1
        if self._checked >= MOST_CASES:
            self.stop()
        found: dict[str, Any] = json.loads(line)
        return found

    def _line(self, process: subprocess.Popen[str]) -> str | None:
        """The answer of the process; None if it takes too long."""
        begun, start = processor_time(process.pid), time.monotonic()
        with selectors.DefaultSelector() as selector:
            assert process.stdout is not None
            selector.register(process.stdout, selectors.EVENT_READ)
            while not selector.select(self.limit):
                spent, now = time.monotonic() - start, processor_time(process.pid)
                patience = self.limit if begun is None or now is None else PATIENCE * self.limit
                if spent >= patience or (begun is not None and now and now - begun >= self.limit):
                    return None
            return process.stdout.readline()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by stop()
            self._checked = 0
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker"], cwd=ROOT, text=True,
                env={**os.environ, **ENVIRONMENT},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            )  # fmt: skip
        return self._process

    def _last_words(self) -> str:
        assert self._errors is not None
        self._errors.seek(0)
        return self._errors.read()[-2000:]

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, self._errors):
            if stream is not None:
                stream.close()


def _failed(kind: str, words: str) -> dict[str, Any]:
    return {"status": "failed", "kind": kind, "words": words, "compared": 0, "skips": []}


def serve() -> None:
    faulthandler.enable()
    limit_memory(MEMORY)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output printed by a case is not an answer
    from autojit.codegen.cpu.host import engine
    from autojit.ir.pass_manager import passes
    from tests.fuzz.oracles import check

    engine.VERIFY = True
    passes.always_verify()
    for line in sys.stdin:
        answers.write(json.dumps(asdict(check(Case.from_json(line)))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
