"""The guided tour prints what it shows: its commands run in order, and their texts are compared.

Times, rounding errors, the width of vectors and the names of kept files differ between machines:
they are masked.  A line of three dots stands for any lines.  Pictures are compared with those
beside the tour; ``python -m tests.test_tour`` draws them anew.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autojit.cli.app import app
from autojit.ir.core import machine

pytestmark = pytest.mark.optimised

ROOT = Path(__file__).resolve().parents[1]
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
PICTURES = ROOT / "docs" / "tour"

MASKS = {
    r"\b\d[\d.]*e-\d+\b": "ERROR",
    r"\b\d[\d.]* (?:ns|us|ms|s)\b": "TIME",
    r"takes \d[\d.]* times": "takes N times",
    r"(?m) +(?:\d+\.\d\d|ms)$": " MS",
    r"\S+\.entry\b": "ENTRY",
    # Of explanations and profiles: what depends on the machine, and columns of times.
    r"(?m)^ *(time|bound|at best|made in|machine)\b.*(?:\n {10,}\S.*)*": r"\1 …",
    r"\d+ elements at a time": "N elements at a time",
    r"(?m) +(?:< )?TIME$": " TIME",
    r" +<?\d+ %": " SHARE",
    r" +TIME": " TIME",
}

#: The tour's processor, on which the compiler's decisions depend.
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
    """Return whether a text matches the shown one; a line of three dots matches any lines."""
    patterns = [
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n"
        for line in masked(shown).split("\n")
    ]
    return re.fullmatch("".join(patterns), masked(printed) + "\n") is not None


def steps() -> list[tuple[str, str]]:
    """Return the tour's commands with the output that it shows for each."""
    found = re.findall(r"^```console\n\$ autojit (.*?)\n(.*?)^```$", TOUR, re.M | re.S)
    assert len(found) >= 10
    return found


def write_files(folder: Path) -> None:
    """Return the files that the reader is asked to write."""
    named = r"^```python(?: in (\S+))?\n(import numpy.*?)^```$"
    for name, text in re.findall(named, TOUR, re.M | re.S):
        (folder / (name or "loss.py")).write_text(text, encoding="utf-8")


def followed(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Each command of the tour, what it is said to print, and what it prints in the folder."""
    told = replace(
        machine.current(), processors=2, line=64, vector_bytes=32, vector_registers=16,
        caches=CACHES, costs=COSTS,
    )  # fmt: skip
    with machine.using(told):
        for command, shown in steps():
            result = CliRunner(env={"COLUMNS": "80"}).invoke(app, shlex.split(command))
            assert result.exit_code == 0, f"{command}\n{result.output}"
            printed = result.stdout or result.stderr  # of a profile: stdout is the script's
            yield command, shown, printed.replace(f"{folder}/", "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder with the tour's files the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "loss", raising=False)
    write_files(tmp_path)
    yield tmp_path
    sys.modules.pop("loss", None)


def test_the_tour_prints_what_it_shows(folder: Path) -> None:
    for command, shown, printed in followed(folder):
        assert agrees(shown, printed), f"{command}\n{printed}"
    drawn = {path.name: picture(path, folder) for path in folder.glob("*.svg")}
    kept = {path.name: path.read_text(encoding="utf-8") for path in PICTURES.glob("*.svg")}
    assert drawn.keys() == kept.keys() == set(re.findall(r"\(tour/(\S+\.svg)\)", TOUR))
    for name, text in drawn.items():
        assert text == kept[name], f"{name}: python -m tests.test_tour draws it anew"
    page = (folder / "steps.html").read_text(encoding="utf-8")
    assert "error = guess - y" in re.sub("<[^>]*>", "", page)


def picture(path: Path, folder: Path) -> str:
    """The text of a picture, without the folder."""
    return path.read_text(encoding="utf-8").replace(f"{folder}/", "")


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
        (
            "bound     memory: 3 %\nx",
            "bound     the call itself, which\n          is long\nx",
            True,
        ),
        ("1  loop over 3     12 ns", "1  loop over 3      < 50 ns", True),
        (" k0  loss.py:5    5 ms   81 %   3x", " k0  loss.py:5   50 us  <1 %   3x", True),
        (" k0  loss.py:5    5 ms   81 %   3x", " k0  loss.py:6   50 us  <1 %   3x", False),
    ],
)
def test_comparison(shown: str, printed: str, same: bool) -> None:
    assert agrees(shown, printed) is same


def draw_pictures() -> None:
    """Write the pictures of the tour anew."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        write_files(folder)
        os.environ["AUTOJIT_CACHE_DIR"] = str(folder / "cache")
        for _ in followed(folder):
            pass
        PICTURES.mkdir(exist_ok=True)
        for path in folder.glob("*.svg"):
            (PICTURES / path.name).write_text(picture(path, folder), encoding="utf-8")
        os.chdir(ROOT)


if __name__ == "__main__":
    draw_pictures()
