"""Programs beside other libraries: their texts agree on the CPU, and the table says what holds."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bench import page
from bench.client import ROOT
from bench.on_gpu import run
from bench.on_gpu.libraries import LIBRARIES, Library
from bench.on_gpu.namespace import Absent, Namespace
from bench.on_gpu.programs import DEMANDS, PROGRAMS, Program
from bench.on_gpu.table import Found, read, row, table

SOFTMAX = next(p for p in PROGRAMS if p.name == "softmax")


@cache
def library(name: str) -> Library:
    for package in {"jax": ["jax"], "torch": ["torch"]}.get(name, []):
        pytest.importorskip(package)
    return LIBRARIES[name]("cpu")


def test_each_group_has_programs() -> None:
    groups = [p.group for p in PROGRAMS]
    assert {g: groups.count(g) for g in DEMANDS} == {
        "rows": 11, "matrices": 6, "small": 7, "order": 3,
    }  # fmt: skip
    assert sum(g != "order" for g in groups) == 24
    assert len({p.name for p in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_libraries_agree(program: Program) -> None:
    arrays = program.arguments(is_small=True)
    found = {}
    for name in LIBRARIES:
        each = library(name)
        try:
            made = each.arrays(each.bind(program, arrays)())
        except (Absent, NotImplementedError):
            continue
        found[name] = Found(1.0, 1.0, tuple(map(run.part_of, made)))
    assert found.keys() >= {"cpu", "autojit", "jax"}
    assert ("cupy" in found) == (not program.argnums and program.name not in LOOPS)
    assert ("torch" in found) == (program.name not in LOOPS)
    assert not row(program, found, None).remarks
    assert all(np.isfinite(part).all() for part in found["cpu"].parts)


#: Those that PyTorch and CuPy do not compile.
LOOPS = ("recurrent, gradient", "roots, a loop each", "ODE, 1,000 steps", "heat, 100 steps")


def figures(**seconds: float) -> dict[str, Found]:
    """Figures of a program that moves 1 GB; the reference takes any time."""
    parts = (np.arange(5, dtype=np.float32),)
    return {name: Found(took, 1e9, parts) for name, took in {"cpu": 9.0, **seconds}.items()}


def test_a_row_says_whether_both_demands_hold() -> None:
    found = figures(autojit=0.001, jax=0.0013, cupy=0.002)
    fine = row(SOFTMAX, found, 1.1e12)
    assert fine.cells == ("softmax", "1.00", "1.30", "–", "2.00", "1.30", "0.909", "yes")
    assert row(SOFTMAX, found, 1.2e12).cells[-2:] == ("0.833", "no")  # less than 0.85 of a copy
    assert row(SOFTMAX, figures(autojit=0.001, jax=0.0011), 1.1e12).holds is False
    assert row(SOFTMAX, figures(autojit=0.001), 1.1e12).holds is None  # JAX is not installed
    order = next(p for p in PROGRAMS if p.group == "order")
    assert row(order, found, 1.1e12).holds is None
    assert row(SOFTMAX, found, 1.2e12, demands=False).holds is None


def test_a_wrong_result_is_named_and_has_no_figure() -> None:
    found = figures(autojit=0.001, jax=0.002)
    found["autojit"] = found["autojit"]._replace(parts=(np.full(5, np.nan, np.float32),))
    bad = row(SOFTMAX, found, None)
    assert bad.cells[1] == "WRONG"
    assert bad.cells[-1] == "no"
    assert bad.remarks == ("softmax, autojit: gradient 0 is off by nan of its largest entry",)
    del found["cpu"]
    assert row(SOFTMAX, found, None).cells[1:3] == ("WRONG", "WRONG")  # nothing to compare with


def test_figures_go_through_files(tmp_path: Path) -> None:
    number = PROGRAMS.index(SOFTMAX)
    for name in ("cpu", "cupy"):
        line = run.timed(library(name), SOFTMAX, tmp_path / f"{name}-{number}.npz", is_small=True)
        assert "ms, first call" in line
    found = read(tmp_path)[SOFTMAX.name]
    assert found.keys() == {"cpu", "cupy"}
    assert found["cpu"].nbytes == 2 * 4 * 3 * 1024
    assert not row(SOFTMAX, found, None).remarks
    assert "| softmax | – |" in table("Times", [row(SOFTMAX, found, None)]).markdown()


def test_what_a_library_lacks_is_named() -> None:
    with pytest.raises(Absent, match="no scan that it compiles"):
        Namespace(np, None, {}).scan  # noqa: B018
    loss = next(p for p in PROGRAMS if p.argnums)
    line = run.timed(library("cupy"), loss, Path("unused"), is_small=True)
    assert line == "not run: CuPy has no derivatives"


def test_a_page_keeps_other_sections(tmp_path: Path) -> None:
    file = tmp_path / "results.md"
    file.write_text("# Results\n\n## Others\n\nstay\n\n## On a GPU: A100\n\nold\n")
    page.main(["On a GPU: A100", str(file)], "**Items**\n\nnew")
    assert file.read_text().startswith("# Results\n\n## On a GPU: A100\n\n- 20")
    assert file.read_text().endswith("**Items**\n\nnew\n\n## Others\n\nstay\n")


@pytest.mark.slow
def test_it_runs_without_a_card() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.on_gpu", "240", "--small"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "- autojit has no figure" not in done.stdout
    assert "WRONG" not in done.stdout
    assert all(f"| {p.name} | " in done.stdout for p in PROGRAMS)
