"""The pages in a browser: what a click marks, opens and folds.

Each page gets one script more, which clicks and writes down what it sees; Chromium runs the page
and prints it.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit.drawing import picture

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")

X = np.linspace(0.1, 1, 40)


def loss(x: Any) -> Any:
    y = np.sin(x)
    z = np.exp(y) / np.sum(y)
    return np.sum(z * x)


FIRST = loss.__code__.co_firstlineno + 1


def seen(page: str, script: str, folder: Path) -> Any:
    """What a script returns that runs at the end of a page; errors of the page's own fail."""
    errors = "<script>window.onerror = m => { document.title = 'error: ' + m; };</script>"
    probe = (
        f"<script>const probe = () => {{ {script} }};\n"
        "const pre = document.createElement('pre'); pre.id = 'probe';\n"
        "pre.textContent = JSON.stringify({ found: probe(), title: document.title });\n"
        "document.body.append(pre);</script>"
    )
    file = folder / "page.html"
    assert "</body>" in page
    file.write_text(
        page.replace("<head>", f"<head>{errors}", 1).replace("</body>", f"{probe}</body>"),
        encoding="utf-8",
    )
    done = subprocess.run(
        [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
         f"--user-data-dir={folder}/me", "--virtual-time-budget=2000", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stdout[-500:] + done.stderr[-500:]
    told = json.loads(html.unescape(found[1]))
    assert not told["title"].startswith("error"), told["title"]
    return told["found"]


STAGES = """
const click = el => el.dispatchEvent(new MouseEvent("click", { bubbles: true }));
const rowOf = line => columns[0].querySelector(`.r[data-l="${line}"]`);
const state = () => ({
  said: said.textContent, hash: location.hash, kept: wall.classList.contains("kept"),
  marked: columns.map(c => [c.dataset.name, c.querySelectorAll(".r.on").length]),
  only: [...wall.querySelectorAll(".r.on")].every(el => linesOf(el).join() === String(LINE)),
});
const told = [state()];
click(rowOf(LINE)); told.push(state());
click(rowOf(LINE)); told.push(state());
rowOf(LINE).dispatchEvent(new MouseEvent("mouseover", { bubbles: true })); told.push(state());
click(rowOf(LINE)); document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
told.push(state());
click(columns[1].querySelector(".aj-head"));
told.push({ shut: columns[1].classList.contains("shut") });
return told;
"""


def test_a_click_on_a_line_marks_it_in_each_stage(tmp_path: Path) -> None:
    page = picture(loss, X, stage="all", format="html")
    script = STAGES.replace("LINE", str(FIRST))
    before, clicked, again, pointed, escaped, shut = seen(page, script, tmp_path)
    stages = dict(clicked["marked"])
    assert not any(n for _, n in before["marked"])
    assert len(stages) >= 4
    assert all(stages.values()), stages  # the sine is there from the source to the instructions
    assert clicked["only"]
    assert clicked["kept"]
    assert clicked["hash"] == f"#L{FIRST}"
    assert f"line {FIRST} y = np.sin(x)" in clicked["said"]
    assert not again["kept"]
    assert pointed["marked"] == clicked["marked"]
    assert not pointed["kept"]
    assert escaped["hash"] == ""
    assert not escaped["kept"]
    assert shut["shut"]


PICTURE = """
const click = el => el.dispatchEvent(new MouseEvent("click", { bubbles: true }));
const groups = [...svg.querySelectorAll(".aj-box.aj-group")];
const state = () => ({ open: groups.filter(isOpen).length, view: svg.getAttribute("viewBox") });
const told = [state(), { groups: groups.length }];
click(document.getElementById("aj-all")); told.push(state());
click(document.getElementById("aj-none")); told.push(state());
const outer = groups.find(g => !g.parentElement.closest(".aj-group"));
const small = outer.getBoundingClientRect();
click(outer.querySelector(".aj-shut")); told.push(state());
const large = outer.getBoundingClientRect();
told.push({ grows: large.height > small.height });
const width = view[2];
const at300 = { deltaY: -200, clientX: 300, clientY: 300, cancelable: true };
svg.dispatchEvent(new WheelEvent("wheel", at300));
told.push({ nearer: view[2] < width });
return told;
"""


def test_boxes_of_a_picture_open_and_fold(tmp_path: Path) -> None:
    page = picture(loss, X, format="html", by="line")
    first, count, opened, folded, one, grown, nearer = seen(page, PICTURE, tmp_path)
    assert count["groups"] > 0
    assert opened["open"] == count["groups"]
    assert folded["open"] == 0
    assert one["open"] == 1
    assert grown["grows"]
    assert nearer["nearer"]
    assert first["open"] == count["groups"]  # a small picture
