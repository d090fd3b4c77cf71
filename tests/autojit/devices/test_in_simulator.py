"""Devices and arrays on a GPU, in a process of its own, since numba reads the setting at import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_in_simulator() -> None:
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [*command, *(f"tests/autojit/devices/{name}.py" for name in ("in_simulator", "picked"))],
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
