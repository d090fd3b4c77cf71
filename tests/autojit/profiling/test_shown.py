"""How a profile is shown: table, source, flame graph, timeline, JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import autojit
from autojit.ir.tools.units import in_seconds
from autojit.profiling.flame import Frame, frames
from autojit.profiling.profile import Profile
from autojit.profiling.table import share
from autojit.profiling.timeline import timeline

SVG = "{http://www.w3.org/2000/svg}"


def with_a_name_that_is_much_longer_than_the_column_for_it(x: Any) -> Any:
    hidden = np.exp(x)
    last, sums = autojit.scan(lambda c, row: (np.tanh(c + row), c.sum()), np.zeros(500), hidden)
    return last.sum() + sums.sum()


@pytest.fixture(scope="module")
def found() -> Profile:
    f = autojit.jit(autojit.grad(with_a_name_that_is_much_longer_than_the_column_for_it))
    with autojit.profile() as p:
        for _ in range(3):
            f(np.ones((7, 500)))
        with autojit.disable_jit():
            autojit.grad(lambda x: np.sum(np.sin(x)))(np.ones(3))
    return p


def test_the_table_fits_into_60_columns(found: Profile) -> None:
    text = str(found)
    assert max(map(len, text.splitlines())) <= 60
    for words in ("phase", "trace", "run", "elsewhere", "the profile itself", "jit with_a_name",
                  "single operations", "line", "test_shown.py:"):  # fmt: skip
        assert words in text


def test_source_has_times_beside_the_lines(found: Profile) -> None:
    (line,) = (s for s in found.source().splitlines() if "hidden = np.exp(x)" in s)
    assert re.match(r" *[\d.]+ [mun]?s +[\d.]+ [mun]?s +<?\d+ %", line)
    assert found.source(["test_shown.py"]) == found.source()
    assert found.source(["other.py"]) == (
        "no line in other.py took time in compiled code or in single operations\n"
    )


def test_json_has_everything_as_plain_data(found: Profile) -> None:
    data = json.loads(json.dumps(found.json()))
    assert data.keys() == {
        "seconds", "profile_itself", "elsewhere", "phases", "functions", "operations", "lines",
        "tree",
    }  # fmt: skip
    (function,) = data["functions"]
    assert function["count"] == 3
    inside = [inner for part in function["parts"] for inner in part["inside"]]
    assert {inner["count"] for inner in inside} == {21}
    for part in function["parts"]:
        assert sum(line["share"] for line in part["lines"]) == pytest.approx(1.0)


def test_frames_are_as_wide_as_what_is_in_them_or_wider(found: Profile) -> None:
    def check(frame: Frame) -> None:
        assert sum(c.seconds for c in frame.children) <= frame.seconds * 1.001
        for child in frame.children:
            check(child)

    whole = frames(found.recorder)
    check(whole)
    assert whole.children


def test_the_flame_graph_is_a_picture_without_anything_from_elsewhere(
    found: Profile, tmp_path: Path
) -> None:
    found.flame(tmp_path / "flame.svg")
    text = (tmp_path / "flame.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    width = float(root.attrib["width"])
    drawn = root.findall(f"{SVG}g")
    assert len(drawn) > 5
    for frame in drawn:
        rect = frame.find(f"{SVG}rect")
        assert rect is not None
        assert 0 <= float(rect.attrib["x"]) <= width
        assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width + 0.01
        assert frame.findtext(f"{SVG}title")
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}


def test_the_page_has_the_picture_the_table_and_the_lines(found: Profile, tmp_path: Path) -> None:
    found.flame(tmp_path / "flame.html")
    text = (tmp_path / "flame.html").read_text(encoding="utf-8")
    assert "<svg" in text
    assert "addEventListener" in text
    assert "hidden = np.exp(x)" in text
    assert "src=" not in text
    assert "href=" not in text


def test_notebooks_show_the_table_and_the_picture(found: Profile) -> None:
    html = found._repr_html_()
    words = " ".join("".join(ElementTree.fromstring(html).itertext()).split())
    assert "phase time share count" in words
    assert "hidden = np.exp(x)" in words  # the lines
    assert "<svg" in html


def test_the_timeline_is_in_the_trace_event_format(found: Profile, tmp_path: Path) -> None:
    found.trace(tmp_path / "trace.json")
    data = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    events = data["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    assert {e["ph"] for e in events} == {"X", "M"}
    for e in complete:
        assert e.keys() >= {"name", "cat", "pid", "tid", "ts", "dur"}
        assert e["dur"] >= 0
        assert e["ts"] >= 0
    runs = [e for e in complete if e["cat"] == "run"]
    parts = [e for e in complete if e["cat"] == "part"]
    assert len(runs) == 3
    for part in parts:
        assert any(
            r["ts"] - 1 <= part["ts"] and part["ts"] + part["dur"] <= r["ts"] + r["dur"] + 1
            for r in runs
        )
        assert part["args"]["count"] in (1, 7)
    assert any("test_shown.py" in line for part in parts for line in part["args"]["lines"])
    assert list(tmp_path.iterdir()) == [tmp_path / "trace.json"]


def test_spans_beyond_the_most_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autojit.profiling.recorder.MOST_EVENTS", 4)
    f = autojit.jit(np.exp)
    f(np.ones(3))
    with autojit.profile() as p:
        for _ in range(5):
            f(np.ones(3))
    assert len(p.recorder.events) == 4
    assert p.recorder.dropped > 0
    assert p.json()["functions"][0]["count"] == 5
    assert "otherData" in timeline(p.recorder)


def test_short_parts_are_said_to_be_short() -> None:
    f = autojit.jit(lambda x: x + 1.0)
    f(np.ones(1))
    with autojit.profile() as p:
        for _ in range(20):
            f(np.ones(1))
    (part,) = p.json()["functions"][0]["parts"]
    if part["short"]:  # unless the machine was busy
        assert re.search(r"k0 .* short +20x", str(p))


def test_times_have_three_digits() -> None:
    assert in_seconds(999.6e-6) == "1 ms"
    assert in_seconds(59.96) == "60 s"
    assert in_seconds(1234.0) == "1,234 s"
    assert share(0.0, 1.0) == "0 %"
