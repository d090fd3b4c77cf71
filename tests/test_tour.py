"""The guided tour prints what it shows: its commands run in order, and their texts are compared.

Times, rounding errors and the names of kept files differ between machines: they are masked.  A
line of three dots stands for any lines.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autojit.cli.app import app
from autojit.ir.core import machine

ROOT = Path(__file__).resolve().parents[1]
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")

MASKS = {
    r"\b\d[\d.]*e-\d+\b": "ERROR",
    r"\b\d[\d.]* (?:ns|us|ms|s)\b": "TIME",
    r"takes \d[\d.]* times": "takes N times",
    r"(?m) +(?:\d+\.\d\d|ms)$": " MS",
    r"\S+\.entry\b": "ENTRY",
}

#: The processor that the tour is told on; the compiler's decisions follow from it.
COSTS = machine.Costs(
    latency=4, scalar_rate=2, vector_rate=1.5, division=4, function=10, product=4,
    misprediction=18, second_level=32, last_level=16, memory=5, launch=5208.333333333333,
)  # fmt: skip
CACHES = (32768, 524288, 16777216)


def masked(text: str) -> str:
    for pattern, word in MASKS.items():
        text = re.sub(pattern, word, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def agrees(shown: str, printed: str) -> bool:
    """Whether a text is as it is shown; three dots on a line stand for any lines."""
    patterns = [
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n"
        for line in masked(shown).split("\n")
    ]
    return re.fullmatch("".join(patterns), masked(printed) + "\n") is not None


def steps() -> list[tuple[str, str]]:
    """The commands of the tour and what each is said to print."""
    found = re.findall(r"^```console\n\$ autojit (.*?)\n(.*?)^```$", TOUR, re.M | re.S)
    assert len(found) >= 10
    return found


def test_the_tour_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "loss", raising=False)
    (source,) = re.findall(r"^```python\n(import numpy.*?)^```$", TOUR, re.M | re.S)
    Path("loss.py").write_text(source, encoding="utf-8")
    told = replace(
        machine.current(), processors=2, line=64, vector_bytes=32, vector_registers=16,
        caches=CACHES, costs=COSTS,
    )  # fmt: skip
    with machine.using(told):
        for command, shown in steps():
            result = CliRunner(env={"COLUMNS": "80"}).invoke(app, shlex.split(command))
            assert result.exit_code == 0, f"{command}\n{result.output}"
            printed = result.stdout.replace(f"{tmp_path}/", "")
            assert agrees(shown, printed), f"{command}\n{printed}"


def test_the_tour_names_every_stage() -> None:
    from autojit.staging.inspection import STAGES

    named = set(re.findall(r"--stage (\w+)", TOUR)) | {"optimized"}  # which is not to be named
    assert {stage for stage in STAGES if stage not in ("cuda", "ptx")} <= named


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a 1.2 ms\nb", "a 34 us\nb", True),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...", "a\nb", True),
        ("a\n...\nd", "a\nb\nc", False),
        ("a\nc", "a\nb\nc", False),
        ("%1 = sin %0", "%1 = cos %0", False),
        ("error 1e-9", "error 2e-11", True),
        ("", "a", False),
    ],
)
def test_comparison(shown: str, printed: str, same: bool) -> None:
    assert agrees(shown, printed) is same
