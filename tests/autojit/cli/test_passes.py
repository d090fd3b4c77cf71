"""``dump --passes``, ``dump --print-after`` and ``opt``: output and errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import autojit
from autojit.cli.app import app
from autojit.ir.pass_manager.passes import Pass
from autojit.ir.rewriting import cse
from autojit.ir.tools.program_passes import SSA

FUNCTIONS = """\
import numpy as np
from autojit import scan

def loss(w, x):
    return np.mean(np.tanh(x @ w) ** 2)

def path(k):
    return scan(lambda x, _: (np.sin(k * x), None), 1.0, length=9)[0]
"""

TWICE = """\
program twice(%0: f64[3]) {
  %1: f64[3] = sin %0
  %2: f64[3] = sin %0
  %3: f64[3] = exp %0
  %4: f64[3] = add %1, %2
  return %4
}
"""

LOSS = ("functions.py:loss", "f64[3]", "f64[400000,3]", "--grad")


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder with functions.py and twice.ir the current directory."""
    (tmp_path / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    (tmp_path / "twice.ir").write_text(TWICE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "functions", raising=False)


pytestmark = pytest.mark.usefixtures("_here")


def printed(*words: str, **environment: str) -> str:
    result = CliRunner(env=environment).invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def complaint(*words: str) -> str:
    result: Any = CliRunner().invoke(app, list(words))
    assert result.exit_code != 0
    return " ".join(result.stderr.split())


# -- dump --passes -------------------------------------------------------------------


@pytest.mark.parametrize("columns", [60, 80])
def test_the_table_has_the_passes_in_order_and_fits(columns: int) -> None:
    lines = printed("dump", *LOSS, "--passes", COLUMNS=str(columns)).splitlines()
    assert max(map(len, lines)) <= columns
    first = [line.strip("* ").split()[0] for line in lines if line]
    wanted = [
        "gradient",
        "linearize",
        "prepare",
        "indexed_scans",
        "optimize",
        "inline_calls",
        "unroll",
    ]
    wanted += ["lower", "shape", "delinearize", "parallelize", "arena"]
    places = [first.index(name) for name in wanted]
    assert places == sorted(places)


def test_the_table_says_what_changed() -> None:
    lines = printed("dump", *LOSS, "--passes").splitlines()
    inlined = next(line for line in lines if "inline_calls" in line)
    assert inlined.startswith("*   inline_calls ")
    assert "->" in inlined
    parallel = next(line for line in lines if " parallelize " in line)
    assert parallel.startswith("*")
    assert parallel.count("->") == 2  # changes of the counts of loops and of statements
    rows = next(line for line in lines if " push_gathers " in line)
    assert rows.startswith(" ")
    assert "->" not in rows
    assert "Recording took" in " ".join(lines)


def test_the_table_has_bodies_below_the_transformation() -> None:
    lines = printed("dump", "functions.py:path", "f64[]", "--grad", "--passes").splitlines()
    at = next(k for k, line in enumerate(lines) if "derivative of scan" in line)
    assert lines[at + 1].startswith("        zero_cotangents")


def test_passes_run_for_each_command_anew() -> None:
    """A command does not reuse passes that an earlier one ran on the same program."""
    first, second = (
        json.loads(printed("dump", *LOSS, "--passes", "--format", "json")) for _ in range(2)
    )
    assert [run["name"] for run in first["passes"]] == [run["name"] for run in second["passes"]]


def test_the_table_as_json() -> None:
    record = json.loads(printed("dump", *LOSS, "--passes", "--format", "json"))
    assert record["record_seconds"] > 0
    optimize = next(run for run in record["passes"] if run["name"] == "optimize")
    inlined = optimize["passes"][0]
    assert (inlined["name"], inlined["level"], inlined["changed"]) == ("inline_calls", "ssa", True)
    assert inlined["before"]["ops"] > inlined["after"]["ops"]
    assert 0 < inlined["seconds"] < optimize["seconds"] < 5


# -- dump --print-after --------------------------------------------------------------


def test_print_after_a_pass_over_programs() -> None:
    text = printed("dump", *LOSS, "--print-after", "dce")
    parts = [part for part in text.split("==== ") if part]
    assert parts[0].startswith("after dce, program loss (1 of 2)")
    programs = [part.partition("\n\n")[2] for part in parts if part.startswith("program")]
    assert all(autojit.parse(program).name == "loss" for program in programs)


def test_print_after_a_pass_over_loops() -> None:
    text = printed("dump", *LOSS, "--print-after", "parallelize")
    assert text.startswith("==== after parallelize, program loss (1 of 1) ====\n\nloops loss:\n")
    assert "in threads" in text
    assert text != printed("dump", *LOSS, "--print-after", "arena")


def test_print_after_says_what_a_pass_did_not_do() -> None:
    assert printed("dump", *LOSS, "--print-after", "unroll") == (
        "# The pass unroll ran once and changed nothing.\n"
    )
    assert printed("dump", *LOSS, "--print-after", "zero_cotangents") == (
        "# The pass zero_cotangents did not run.\n"
    )


def test_errors_of_dump() -> None:
    unknown = complaint("dump", *LOSS, "--print-after", "strip_mines")
    assert (
        "there is no pass 'strip_mines'. Did you mean strip_mine? autojit opt --list lists them"
        in unknown
    )
    assert "give --stage or --passes, not both" in complaint(
        "dump", *LOSS, "--passes", "--stage", "loops"
    )
    assert "give --passes or --print-after, not both" in complaint(
        "dump", *LOSS, "--passes", "--print-after", "dce"
    )
    assert "--print-after supports only --format text" in complaint(
        "dump", *LOSS, "--print-after", "dce", "--format", "json"
    )
    assert "--format must be text or json; got 'dot'" in complaint(
        "dump", *LOSS, "--passes", "--format", "dot"
    )


# -- opt -----------------------------------------------------------------------------


def test_opt_runs_passes_in_their_order() -> None:
    text = printed("opt", "twice.ir", "--passes", "cse,dce")
    assert [op.kind.name for op in autojit.parse(text).ops] == ["sin", "add"]
    assert len(autojit.parse(printed("opt", "twice.ir", "--passes", "cse")).ops) == 3
    assert len(autojit.parse(printed("opt", "twice.ir", "--passes", "optimize")).ops) == 2


def test_opt_reads_stdin_and_writes_a_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["opt", "-", "--passes", "dce", "-o", "out.ir"], input=TWICE)
    assert (result.exit_code, result.stdout) == (0, "")
    assert len(autojit.parse((tmp_path / "out.ir").read_text(encoding="utf-8")).ops) == 3


def test_opt_names_a_pass_that_breaks_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    careless = Pass("cse", SSA, lambda p: p.with_body(p.ops[1:], p.outputs), "Forgets one.")
    monkeypatch.setitem(SSA.passes, "cse", careless)
    words = complaint("opt", "twice.ir", "--passes", "cse")
    assert "after the pass cse: program twice is not well formed" in words
    assert cse.run.name == "cse"


@pytest.mark.parametrize("columns", [60, 80])
def test_opt_lists_the_passes(columns: int) -> None:
    text = printed("opt", "--list", COLUMNS=str(columns))
    assert max(map(len, text.splitlines())) <= columns
    words = " ".join(text.split())
    assert "dce Removes operations that no output depends on." in words
    assert (
        "unroll Merges several steps of a loop into one sweep over an array. Needs: calls inlined"
        in words
    )
    assert "strip_mine Strip-mines loops over rows" in words


#: The smallest text of loops that is a program.
LOOPS_TEXT = """loops f:
  input in0: f64[1]
  output out0: f64[1]
  kernel k0:
    s0 = in0[0]
    out0[0] = s0
"""


def test_errors_of_opt(tmp_path: Path) -> None:
    unknown = complaint("opt", "twice.ir", "--passes", "sce")
    assert "there is no pass 'sce'. Did you mean dce? autojit opt --list lists them" in unknown
    words = "strip_mine is a pass over loops, and the file holds a program. To see what it does"
    assert words in complaint("opt", "twice.ir", "--passes", "strip_mine")
    assert "opt takes a program's text and passes" in complaint("opt", "twice.ir")
    assert "autojit opt --list lists them" in complaint("opt", "--passes", "dce")
    assert "cannot read absent.ir" in complaint("opt", "absent.ir", "--passes", "dce")
    (tmp_path / "loops.txt").write_text(LOOPS_TEXT, encoding="utf-8")
    words = "dce is a pass over programs, and the file holds loops"
    assert words in complaint("opt", "loops.txt", "--passes", "dce")
    (tmp_path / "bad.ir").write_text("program x", encoding="utf-8")
    assert complaint("opt", "bad.ir", "--passes", "dce").startswith("error: bad.ir: ")
