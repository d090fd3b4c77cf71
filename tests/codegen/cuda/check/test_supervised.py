"""Items that raise, hang or end their process are named, and the other items still run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from autojit.codegen.cuda.check import supervised
from autojit.codegen.cuda.check.supervised import supervise

NAMES = ["fine", "raises", "hangs", "ends", "breaks", "last"]
SCRIPT = """
import importlib.util, os, sys, time

spec = importlib.util.spec_from_file_location("supervised", sys.argv[1])  # quicker than autojit
supervised = sys.modules["supervised"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(supervised)
Item, run_items = supervised.Item, supervised.run_items

broken = []

def raises():
    raise ValueError("no\\nmore")

def breaks():
    broken.append(1)
    raise OSError("the card is lost")

every = [
    Item("fine", lambda: "1"), Item("raises", raises), Item("hangs", lambda: time.sleep(60)),
    Item("ends", lambda: os.abort()), Item("breaks", breaks), Item("last", lambda: str(broken)),
]
run_items(every[int(sys.argv[2]):], lambda: not broken)
"""


@pytest.mark.slow
def test_others_go_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "items.py"
    file.write_text(SCRIPT)
    outcome = supervise([sys.executable, str(file), supervised.__file__], NAMES, 60.0, 1.5)
    assert outcome.failed == ["raises", "hangs", "ends", "breaks"]
    assert not outcome.not_begun
    lines = [line.split(None, 1) for line in capfd.readouterr().out.splitlines()]
    assert [name for name, _ in lines] == NAMES
    assert [words for _, words in lines] == [
        "1", "FAILED: ValueError: no", "FAILED: no end after 2 s",
        "FAILED: its process ended: -6", "FAILED: OSError: the card is lost", "[]",
    ]  # fmt: skip


def test_no_item_begins_after_the_end(tmp_path: Path) -> None:
    file = tmp_path / "items.py"
    file.write_text(SCRIPT)
    assert (
        supervise([sys.executable, str(file), supervised.__file__], NAMES, 0.0).not_begun == NAMES
    )
    # The first item begins within the time limit, and the others do not.
    outcome = supervise([sys.executable, str(file), supervised.__file__], NAMES, 0.01)
    assert outcome.not_begun == NAMES[1:]
