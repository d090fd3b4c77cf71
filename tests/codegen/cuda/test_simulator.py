"""The generated CUDA source, run by numba's simulator, against the interpreter and NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


RANDOM = "test_values or test_exact_values or test_derivatives"
#: By pytest's `-k`; together they are all tests.
SHARES = {
    "samples": "test_value_of",
    "random programs": RANDOM,
    "the rest": f"not (test_value_of or {RANDOM})",
}


@pytest.mark.parametrize("share", SHARES)
def test_in_simulator(share: str) -> None:
    """In processes of their own, as numba has to be told before it is imported."""
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [*command, "tests/codegen/cuda/in_simulator.py", "-k", SHARES[share]],
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
