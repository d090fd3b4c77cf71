"""The parent's side of a worker: it starts a worker, sends requests, and ends it."""

from __future__ import annotations

import compileall
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.peer import Peer

ROOT = Path(__file__).resolve().parent.parent
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class PeerFailure(Exception):
    """A peer cannot take part; `kind` is absent, failed, timed out, crashed or not written."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(f"{kind}: {words}")
        self.kind = kind


def with_bytecode(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy of the environment in which Python writes bytecode, so that processes load it, as they
    load that of installed packages."""
    return {k: v for k, v in environment.items() if k != "PYTHONDONTWRITEBYTECODE"}


def compile_bytecode() -> None:
    """Compile all modules of autojit to bytecode, as pip does when it installs a package."""
    for folder in ("autojit", "ir", "codegen"):
        compileall.compile_dir(ROOT / folder, quiet=2)


def base_environment(threads: int) -> dict[str, str]:
    """The parent's environment, with the thread counts that libraries read."""
    environment = with_bytecode(os.environ)
    environment.update({name: str(threads) for name in THREAD_VARIABLES})
    paths = filter(None, [str(ROOT), environment.get("PYTHONPATH")])
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment


def process_environment(peer: Peer, threads: int, dtype: str, cache: str) -> dict[str, str]:
    """A peer's environment: thread counts, its own settings, and every cache in an empty folder."""
    environment = base_environment(threads)
    environment.update(
        XDG_CACHE_HOME=cache,
        AUTOJIT_CACHE_DIR=f"{cache}/autojit",
        NUMBA_CACHE_DIR=f"{cache}/numba",
        TORCHINDUCTOR_CACHE_DIR=f"{cache}/inductor",
    )
    for name, value in peer.environment(threads, dtype).items():
        environment[name] = value.replace("{cache}", cache)
    return environment


class Client:
    """A running worker. Every failure raises PeerFailure and ends the process."""

    def __init__(
        self,
        name: str,
        workload: str,
        threads: int,
        env: dict[str, str],
        log: Path,
        python: str = sys.executable,
    ) -> None:
        ours, theirs = socket.socketpair()
        arguments = [name, workload, str(threads)]
        self.log = log
        with theirs, log.open("wb") as output:
            self.process = subprocess.Popen(
                [python, "-m", "bench.worker", *arguments, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=env,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that compilers that it starts can be ended with it
            )
        self.connection = Connection(ours.detach())

    def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        try:
            self.connection.send((method, arguments))
            if not self.connection.poll(timeout):
                raise PeerFailure("timed out", f"{method} took more than {timeout:.0f} s")
            outcome, value = self.connection.recv()
        except (EOFError, OSError):
            self.close()
            raise PeerFailure("crashed", self._last_words()) from None
        except PeerFailure:
            self.close()
            raise
        if outcome != "done":
            self.close()
            raise PeerFailure(outcome, value)
        return value

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        code = self.process.returncode
        return f"exit status {code}" + (f", {lines[-1][:300]}" if lines else "")

    def close(self) -> None:
        self.connection.close()
        try:
            self.process.wait(timeout=2)  # an idle worker ends when its connection closes
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
