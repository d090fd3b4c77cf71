"""Every example runs and prints the expected output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: The patterns of each example's output, in order.
PROMISES = {
    "digits.py": [
        r"traced and compiled in [\d.]+ s",
        r"gradient equals the one derived by hand: relative difference \de-1\d",
        r"loss 2\.\d+ -> 0\.2\d+ in \d+ iterations",
        r"held-out accuracy 9[5-9]\.\d% of 597 digits",
        r"one gradient: [\d.]+ ms compiled, [\d.]+ ms by hand in NumPy",
        r"\d+ operations became \d+ loops and 5 matrix products:",
        r"loops main:",
        r"for \w in 0\.\.1200",
    ],
    "rosenbrock.py": [
        r"exact gradient +\d+ calls  \|x - 1\| at most [\d.]+e-0[5-9]",
        r"finite differences +\d+ calls",
    ],
    "fit_ode.py": [
        r"traced and compiled in [\d.]+ s",
        r"minus log-likelihood 31\.56 -> -4\.14 in \d+ iterations",
        r"growth +0\.540\n +predation +0\.027\n +death +0\.796\n +reproduction +0\.024\n",
        r"1900    30\.0    34\.6     4\.0     5\.8",
        r"relative difference of the gradients \de-0[5-9]",
        r"value and gradient: [\d.]+ ms, by finite differences with SciPy \d+ ms",
    ],
    "bouncing_ball.py": [
        r"relative difference from central differences: \de-0[5-9]",
        r"effort [\d.]+ -> \d\d\.\d in \d+ iterations",
        r"third contact at (19\.9|20\.0)\d m",
        r"simulation by Numba [\d.]+ ms, value and gradient [\d.]+ ms",
        r"branches compiled: 2, loops compiled: 1",
    ],
    "classifier.py": [
        r"epoch 1: loss 1\.\d+",
        r"epoch 8: loss 0\.0\d+",
        r"held-out accuracy 9[6-9]\.\d% of 1000 digits",
        r"one step: [\d.]+ ms, compiled once",
    ],
    "four_ways.py": [
        r"single numbers +loss 1\.227027 -> 0\.859405  first step +[\d.]+ ms, a step +[\d.]+ us",
        r"compiled tensors +loss 1\.227027 -> 0\.859405",
        r"losses differ by at most \de-1[4-6] of their values",
    ],
    "moons.py": [
        r"337 parameters, 100 samples",
        r"step 59: loss 0\.0\d+, (9[89]|100) of 100 right",
        r"a step: \d+ ms",
        r"where it sees the upper moon \(\.\) and the lower one \(#\):\n\.+\n",
        r"\n#+\n",
    ],
    "characters.py": [
        r"traced and compiled in [\d.]+ s",
        r"step 300: loss 0\.0\d+",
        r"recited (9\d|100)% of the letters as they are:",
        r"Twinkle, twinkle, little star,\n",
    ],
    "black_scholes.py": [
        r"strike +delta +vega +theta +rho +gamma",
        r"largest difference from the closed forms: \de-1[0-9]",
    ],
}


def run(name: str, *options: str, **environment: str) -> str:
    """Return an example's output; a failure shows its stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / name), *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_has_a_promise() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(PROMISES)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROMISES)
def test_example(name: str) -> None:
    if name == "digits.py":
        pytest.importorskip("sklearn", reason="the `examples` extra is not installed")
    printed = run(name)
    position = 0
    for pattern in PROMISES[name]:
        found = re.compile(pattern).search(printed, position)
        assert found, f"{pattern!r} is not in\n{printed[position:]}"
        position = found.end()


@pytest.mark.slow
def test_digits_fits_a_narrow_terminal_and_shows_all_on_request() -> None:
    pytest.importorskip("sklearn", reason="the `examples` extra is not installed")
    narrow = run("digits.py", COLUMNS="60")
    assert max(map(len, narrow.splitlines())) <= 60
    assert re.search(r"\(\d+ more lines: --full shows them\)", narrow)
    whole = run("digits.py", "--full")
    assert "more lines" not in whole
    assert "  temp " in whole
    assert len(whole.splitlines()) > len(narrow.splitlines())
