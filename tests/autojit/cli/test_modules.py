"""Functions are found in packages and notebooks, and may be named in several forms."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from autojit.cli.common.modules import cells, functions_in
from autojit.cli.completing import candidates
from tests.autojit.cli.commands import complaint, printed

CELLS = [
    "%matplotlib inline\nimport numpy as np\n!ls",
    "%%bash\nls",
    ["def loss(w):\n", "    return np.sum(w * scale)\n", "\n", "loss?"],
    "%%time\nscale = 3.0",
    "def broken(w):\n    return [1][len(w)]",
]


@pytest.fixture
def folder(folder: Path) -> Path:
    """Add a package of two files and a notebook to the folder."""
    package = folder / "models"
    (package / "parts").mkdir(parents=True)
    for part in (package, package / "parts"):
        (part / "__init__.py").touch()
    (package / "shared.py").write_text("SCALE = 3.0\n", encoding="utf-8")
    text = "from ..shared import SCALE\ndef loss(w):\n    return (w * SCALE).sum()\n"
    (package / "parts" / "deep.py").write_text(text, encoding="utf-8")
    code = [{"cell_type": "code", "source": source} for source in CELLS]
    words = {"cell_type": "markdown", "source": "# Words"}
    (folder / "notes.ipynb").write_text(json.dumps({"cells": [words, *code]}), encoding="utf-8")
    return folder


def test_a_file_of_a_package_imports_relatively(folder: Path) -> None:
    assert "value=3.0" in printed("dump", "models/parts/deep.py:loss", "f64[3]")
    assert sys.path[0] == str(folder / "models" / "parts")
    (folder / "models" / "__init__.py").unlink()
    (folder / "models" / "parts" / "__init__.py").unlink()
    answer = complaint("dump", "models/parts/deep.py:loss", "f64[3]", code=1)
    assert "has no __init__.py. Create one, or name the module" in answer


@pytest.mark.usefixtures("folder")
def test_a_notebook_is_a_file_with_functions() -> None:
    text = printed("dump", "notes.ipynb:loss", "f64[3]")
    assert "# notes.ipynb cell 3:2" in text
    answer = complaint("dump", "notes.ipynb:broken", "f64[3]", code=1)
    assert 'File "notes.ipynb cell 5", line 2, in broken\n    return [1][len(w)]' in answer
    assert "Did you mean loss?" in complaint("dump", "notes.ipynb:los", "f64[3]", code=2)
    assert "Name one: notes.ipynb:loss" in complaint("check", "notes.ipynb", code=2)
    assert ("notes.ipynb:loss", "w") in candidates(["check", "notes.ipynb:l"])
    assert ("notes.ipynb:", "") in candidates(["check", "no"])


def test_cells_keep_their_lines_and_lose_those_of_ipython(folder: Path) -> None:
    path = folder / "notes.ipynb"
    assert cells(path)[:2] == ["\nimport numpy as np\n", ""]
    assert [name for name, _ in functions_in(path)] == ["loss", "broken"]
    path.write_text("{}", encoding="utf-8")
    assert functions_in(path) == []
    assert "notes.ipynb is not a notebook" in complaint("dump", "notes.ipynb:f", code=2)


@pytest.mark.parametrize(
    ("name", "begins"),
    [("f.svg", "<svg"), ("f.html", "<!DOCTYPE"), ("f.gv", "digraph"), ("f.json", "{"),
     ("f.ir", "program")],
)  # fmt: skip
def test_the_ending_of_the_file_is_the_format(folder: Path, name: str, begins: str) -> None:
    printed("dump", "functions.py:loss", "f64[3]", "f64[4,3]", "-o", name)
    assert (folder / name).read_text(encoding="utf-8").startswith(begins)
    printed("dump", "functions.py:loss", "f64[3]", "f64[4,3]", "-o", name, "--format", "text")
    assert (folder / name).read_text(encoding="utf-8").startswith("program")


def test_c_is_written_into_a_file_of_c(folder: Path) -> None:
    printed("source", "functions.py:loss", "f64[3]", "f64[4,3]", "-o", "f.c")
    assert (folder / "f.c").read_text(encoding="utf-8").startswith("/*")
