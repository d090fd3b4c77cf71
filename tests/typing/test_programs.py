"""A type checker keeps the types of a user's program, and reports wrong calls as errors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

PROGRAM = Path(__file__).with_name("program.py")
ROOT = Path(__file__).resolve().parents[2]

#: How mypy writes an array of float64.
ARRAY = re.compile(r"numpy\.ndarray\[.*numpy\.dtype\[numpy\.float64\]\]")


def expected() -> dict[int, str]:
    """Compare mypy's output with the program's comments, line by line."""
    found: dict[int, str] = {}
    for number, line in enumerate(PROGRAM.read_text(encoding="utf-8").splitlines(), 1):
        comment = re.search(r"  # (reveals|error): (.+)$", line)
        if comment is not None:
            found[number] = f"{comment[1]} {comment[2]}"
    return found


def said() -> dict[int, str]:
    """Return mypy's output by line, with the project's settings, so that it finds its cache."""
    command = [sys.executable, "-m", "mypy", str(PROGRAM)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[int, str] = {}
    for line in done.stdout.splitlines():
        told = re.match(r".*program\.py:(\d+): (note|error): (.*)$", line)
        if told is None:
            continue
        revealed = re.match(r'Revealed type is "(.*)"', told[3])
        if revealed is not None:
            found[int(told[1])] = f"reveals {ARRAY.sub('NDArray', revealed[1])}"
        elif told[2] == "error":
            code = re.search(r"\[([a-z-]+)\]$", told[3])
            assert code is not None, line
            found[int(told[1])] = f"error {code[1]}"
    return found


def test_mypy_keeps_signatures_and_refuses_wrong_calls() -> None:
    assert said() == expected()
