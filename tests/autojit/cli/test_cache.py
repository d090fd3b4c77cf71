"""``autojit cache``: the folder, its entries, and why a program has none."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import autojit
from autojit.cli.app import app
from autojit.codegen.driver.cache import Cache, digest

FUNCTIONS = """\
import numpy as np
import autojit

def loss(w, x):
    return np.mean(np.tanh(x @ w) ** 2)

def broken(x):
    return x.__float__()

on_a_gpu = autojit.jit(loss, device="cuda")
power = autojit.jit(lambda x, n: x ** n, static_argnums=1)
"""
TYPES = ["f64[3]", "f64[10,3]"]
SIGNATURE = "f64[3], f64[10,3] -> f64[]"
WHY = ["why", "functions.py:loss", *TYPES]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an empty cache; functions.py is in the current directory."""
    (tmp_path / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "functions", raising=False)
    monkeypatch.setenv("AUTOJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("autojit.staging.execute._executables", OrderedDict())
    return tmp_path / "cache"


def call(*words: str) -> Any:
    return CliRunner().invoke(app, ["cache", *words])


def printed(*words: str) -> str:
    result = call(*words)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def keep(folder: Path, **changes: Any) -> Path:
    """Write an entry for the loss with a changed key; its code is never read."""

    def loss(w: Any, x: Any) -> Any:
        return np.mean(np.tanh(x @ w) ** 2)

    key = autojit.jit(loss).cache_key(np.ones(3), np.ones((10, 3)))
    assert key is not None
    key = {**key, **changes}
    Cache(folder).store(key, {"name": "loss", "types": SIGNATURE}, bytes(3000))
    return folder / f"{digest(key)}.entry"


def test_path_is_the_folder(folder: Path) -> None:
    assert printed("path") == f"{folder}\n"
    assert not folder.exists()


@pytest.mark.parametrize("words", [["path"], ["ls"], ["clear"], WHY])
@pytest.mark.parametrize("setting", ["AUTOJIT_CACHE_DIR=", "AUTOJIT_CACHE_SIZE=0"])
def test_without_a_cache_there_is_nothing_to_say(
    words: list[str], setting: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*setting.split("="))
    result = call(*words)
    assert result.exit_code == 1
    assert result.stderr == (
        "error: there is no cache: AUTOJIT_CACHE_DIR is empty, or AUTOJIT_CACHE_SIZE is 0\n"
    )


def test_ls_says_what_can_be_used_here(folder: Path) -> None:
    assert printed("ls") == f"0 entries, 0 B of at most 512.0 MiB in {folder}\n"
    size = sum(keep(folder, **change).stat().st_size for change in ({}, {"numba": "0.1"}))
    damaged = folder / f"{'0' * 64}.entry"
    damaged.write_bytes(b"damaged")
    *rows, total = printed("ls").splitlines()
    kib = f"{size / 2 / 1024:.1f} KiB"
    assert sorted(row.split(" ago ")[1].strip() for row in rows) == [
        f"{kib}  loss: {SIGNATURE}",
        f"{kib}  loss: {SIGNATURE}",
        f"7 B  {damaged.name}, which is damaged",
    ]
    assert sorted(row[0] for row in rows) == ["–", "✓", "✗"]
    assert total == f"3 entries, {(size + 7) / 1024:.1f} KiB of at most 512.0 MiB in {folder}"


def test_ls_as_json(folder: Path) -> None:
    path = keep(folder)
    found = json.loads(printed("ls", "--format", "json"))
    assert (found["folder"], found["most"]) == (str(folder), 512 << 20)
    (entry,) = found["entries"]
    assert entry["file"] == path.name
    assert entry["bytes"] == path.stat().st_size
    assert (entry["name"], entry["types"], entry["usable"]) == ("loss", SIGNATURE, True)
    assert entry["key"]["autojit"] == autojit.__version__


def test_clear_removes_what_is_kept(folder: Path) -> None:
    path = keep(folder)
    (folder / "notes.txt").write_text("mine")
    words = printed("clear")
    assert words.startswith("removed 1 entry, 4.")
    assert words.endswith(f" KiB, of {folder}\n")
    assert not path.exists()
    assert (folder / "notes.txt").exists()
    assert printed("clear") == f"removed 0 entries, 0 B, of {folder}\n"


def test_why_finds_what_a_call_has_kept(folder: Path) -> None:
    import importlib

    sys.path.insert(0, str(folder.parent))
    functions = importlib.import_module("functions")
    assert printed(*WHY) == "functions.py:loss is not in the cache:\n  no entry for this program\n"
    autojit.jit(functions.loss)(np.ones(3), np.ones((10, 3)))
    autojit.jit(autojit.grad(functions.loss))(np.ones(3), np.ones((10, 3)))
    functions.power(np.ones(4), 3)
    start = f"functions.py:loss is in the cache: {folder}/"
    assert printed(*WHY).startswith(start)
    assert printed(*WHY, "--grad").startswith(start)
    power = ["why", "functions:power", "f64[4]"]
    assert printed(*power, "3").startswith("functions:power is in the cache: ")
    assert "no entry for this program" in printed(*power, "2")
    assert "is not in the cache" in printed(*WHY, "--grad", "--argnums", "1")


DIFFERENCES = [
    ({"processor": "zen1", "features": "+x"}, "compiled for another processor: zen1; here "),
    ({"target": "arm", "processor": "m1"}, "compiled for another system: arm; here "),
    ({"features": "+more"}, "compiled for a processor with other features: +more; here "),
    ({"model": "caches 1 2 3"}, "compiled for other caches or vectors: caches 1 2 3; here caches "),
    ({"autojit": "0.0.9", "sources": "s"}, "compiled by another autojit: 0.0.9; here "),
    ({"sources": "s"}, "compiled by other sources of autojit"),
    ({"numba": "0.62.0"}, "compiled by another Numba: 0.62.0; here "),
    ({"llvmlite": "0.45"}, "compiled by another llvmlite: 0.45; here "),
    ({"python": "cpython-39"}, "compiled for another Python: cpython-39; here "),
    ({"numpy": "ABI 1"}, "compiled for another NumPy: ABI 1; here ABI "),
    (
        {"settings": {"NUMBA_OPT": "1"}},
        "compiled with other settings of Numba: NUMBA_OPT=1; here none",
    ),
    (
        {"convention": "(float)"},
        "compiled for a different calling convention: (float); here (array, array) and 0 bound, "
        "bare",
    ),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("change", "words"), DIFFERENCES, ids=lambda v: str(v)[:20])
def test_why_names_what_differs(change: dict[str, Any], words: str, folder: Path) -> None:
    keep(folder, **{part: "much else" for part in ("numba", "llvmlite", "python", "settings")}
         | {"settings": {"a": "b"}, "numpy": "0", "convention": "c"})  # fmt: skip
    path = keep(folder, **change)
    first, said, nearest = printed(*WHY).splitlines()
    assert first == "functions.py:loss is not in the cache:"
    assert said.startswith(f"  {words}")
    assert nearest == f"  (the nearest entry is {path})"


def test_why_names_another_program_of_the_name(folder: Path) -> None:
    path = keep(folder)
    words = f"another program of the name loss: {SIGNATURE}; here f64[2], f64[5,2] -> f64[]"
    shown = printed("why", "functions.py:loss", "f64[2]", "f64[5,2]")
    assert shown.splitlines()[1] == f"  {words}"
    found = json.loads(
        printed("why", "functions.py:loss", "f64[2]", "f64[5,2]", "--format", "json")
    )
    assert found == {
        "target": "functions.py:loss",
        "kept": False,
        "entry": str(path),
        "differences": [{"part": "program", "words": words}],
    }
    found = json.loads(printed(*WHY, "--format", "json"))
    assert (found["kept"], found["entry"], found["differences"]) == (True, str(path), [])


REFUSED = [
    (["ls", "--format", "xml"], 2, "error: --format must be text or json; got 'xml'\n"),
    ([*WHY, "--format", "xml"], 2, "error: --format must be text or json; got 'xml'\n"),
    (
        [*WHY, "--grad", "--transform", "jit"],
        2,
        "error: give --grad or --transform, not both\n",
    ),
    (
        ["why", "functions.py:on_a_gpu", *TYPES],
        2,
        "error: functions.py:on_a_gpu is compiled for cuda. For GPUs, the cache holds "
        "kernels, not programs\n",
    ),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("words", "code", "message"), REFUSED, ids=lambda v: str(v)[:30])
def test_misuse(words: list[str], code: int, message: str) -> None:
    result = call(*words)
    assert (result.exit_code, result.stderr) == (code, message)


@pytest.mark.usefixtures("folder")
def test_why_says_what_is_wrong_with_the_function() -> None:
    result = call("why", "functions.py:broken", "f64[]")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: float(x) needs the value of a traced array")


def test_why_finds_damage(folder: Path) -> None:
    path = keep(folder)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(autojit.errors.CorruptCacheWarning, match=path.name):
        shown = printed(*WHY)
    assert "no entry for this program" in shown
    assert not path.exists()
