"""A few generated sources, run by numba's simulator; all others run in the executor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_in_simulator() -> None:
    """Runs in a separate process, since numba must be configured before it is imported."""
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [*command, "tests/codegen/cuda/in_simulator.py"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
