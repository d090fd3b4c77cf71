"""The command: its output, its error messages, and narrow terminals."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import autojit
from autojit.cli.app import app
from autojit.cli.common import terminal
from autojit.cli.common.failures import Failure
from autojit.cli.running.bench import show_time
from autojit.ir.core.types import Type

ROOT = Path(__file__).resolve().parents[3]

FUNCTIONS = """\
import numpy as np

def loss(w, x):
    return np.mean(np.tanh(x @ w) ** 2)

def scaled(p, factor=2.0):
    return factor * np.sum(p["a"] * p["b"])

def vector(x):
    return np.sin(x)

def concrete(x):
    return x.__float__()

def broken(x):
    return [1, 2][len(x)]

number = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with functions.py the current directory."""
    (tmp_path / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "functions", raising=False)
    return tmp_path


def call(*words: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, list(words), input=stdin)


def printed(*words: str, stdin: str | None = None) -> str:
    result = call(*words, stdin=stdin)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


# -- dump ---------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_dump_is_the_text_of_the_stage() -> None:
    types = ["f64[3]", "f64[10,3]"]
    text = printed("dump", "functions.py:loss", *types, "--stage", "trace")
    assert text.startswith("program loss(%0: f64[3], %1: f64[10,3]) {\n")
    assert "functions.py:4" in text
    assert autojit.parse(text).out_types == (Type(np.dtype(float)),)
    loops = printed("dump", "functions.py:loss", *types, "--stage", "loops")
    assert loops.startswith("loops loss:\n  input in0: f64[3]\n")
    assert "define" in printed("dump", "functions:loss", *types, "--stage", "llvm")


@pytest.mark.usefixtures("here")
def test_dump_applies_transformations() -> None:
    words = ["dump", "functions.py:loss", "f64[3]", "f64[10,3]"]

    def results(*options: str) -> str:
        types = autojit.parse(printed(*words, *options)).out_types
        return " ".join(map(str, types))

    assert results() == "f64[]"
    assert results("--grad") == "f64[3]"
    assert results("--grad", "--argnums", "1,0") == "f64[10,3] f64[3]"
    assert results("--transform", "jit(value_and_grad)") == "f64[] f64[3]"


@pytest.mark.usefixtures("here")
def test_dump_all_has_every_stage_under_a_heading() -> None:
    text = printed("dump", "functions.py:vector", "f32[4]", "--stage", "all")
    headings = [line for line in text.splitlines() if line.startswith("==== ")]
    assert headings == [f"==== {stage} ====" for stage in autojit.staging.inspection.STAGES]


@pytest.mark.usefixtures("here")
def test_dump_takes_trees_and_literals() -> None:
    text = printed("dump", "functions.py:scaled", "{'a': f64[3], 'b': [1.0, 2.0, 3.0]}", "-1.5")
    assert text.startswith("program scaled(%0: f64[3], %1: f64[3], %2: f64[]) {")


@pytest.mark.usefixtures("here")
def test_dump_as_json() -> None:
    text = printed("dump", "functions.py:vector", "f64[3]", "--format", "json")
    program = json.loads(text)
    assert program["inputs"] == [{"id": 0, "type": "f64[3]"}]
    (op,) = program["ops"]
    assert (op["op"], op["operands"], op["params"]) == ("sin", [0], {})
    assert op["source"].endswith("functions.py:10")
    assert program["outputs"] == [1]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("stage", ["trace", "optimized", "loops"])
def test_dump_draws_pictures(stage: str) -> None:
    words = ["dump", "functions.py:loss", "f64[3]", "f64[10,3]", "--stage", stage]
    svg = ElementTree.fromstring(printed(*words, "--format", "svg"))
    assert svg.tag.endswith("svg")
    assert printed(*words, "--format", "html").startswith("<!DOCTYPE html>")
    assert printed(*words, "--format", "dot").startswith("digraph")


@pytest.mark.usefixtures("here")
def test_dump_draws_the_adjoint_and_loops_as_json() -> None:
    words = ["dump", "functions.py:loss", "[1.0, 2.0]", "[[1.0, 1.0]]", "--format", "json"]
    found = json.loads(printed(*words, "--adjoint", "--values"))
    assert found["kind"] == "adjoint"
    assert any(node.get("gradient") for node in found["nodes"])
    assert json.loads(printed(*words, "--stage", "loops"))["kind"] == "loops"


def test_dump_writes_a_file_whole(here: Path) -> None:
    out = here / "out.ir"
    out.write_text("old", encoding="utf-8")
    out.chmod(0o640)
    assert printed("dump", "functions.py:vector", "f64[3]", "-o", "out.ir") == ""
    assert autojit.parse(out.read_text(encoding="utf-8")).name == "vector"
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in here.iterdir() if p.name[0] != "_") == ["functions.py", "out.ir"]


def test_failed_write_leaves_the_old_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    out = here / "out.ir"
    out.write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(Failure, match=r"out\.ir: No space left on device"):
        terminal.replace_file(out, "new")
    assert out.read_text(encoding="utf-8") == "old"
    assert [p.name for p in here.iterdir() if p.name.startswith(".out")] == []


def test_pipe_has_no_colours_and_the_module_runs(here: Path) -> None:
    words = [sys.executable, "-m", "autojit.cli", "dump", "functions.py:vector", "f64[3]"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=here, env=environment, capture_output=True, check=True)
    assert done.stdout.startswith(b"program vector(%0: f64[3]) {")
    assert b"\x1b" not in done.stdout + done.stderr


def test_readme_shows_what_the_command_prints(here: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown_in_it = re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S)
    (loss,) = (code for code in shown_in_it if "\ndef loss(" in code)
    (here / "loss.py").write_text(loss, encoding="utf-8")
    blocks = re.findall(r"^```console\n\$ autojit (.*?)\n(.*?)^```$", readme, re.M | re.S)
    assert blocks
    for command, shown in blocks:
        assert printed(*shlex.split(command)) == shown


# -- errors -------------------------------------------------------------------

MISUSE = [
    (
        ["dump", "functions.py"],
        "TARGET is path/to/file.py:function or package.module:function; got 'functions.py'. "
        "Name one: functions.py:loss, functions.py:scaled, functions.py:vector, "
        "functions.py:concrete, functions.py:broken",
    ),
    (
        ["dump", "absent.py:f"],
        "there is no file absent.py. TARGET is path/to/file.py:function",
    ),
    (
        ["dump", "absent.part:f"],
        "there is no module 'absent'. For a file write absent/part.py:function",
    ),
    (
        ["dump", "functions.py:los"],
        "functions.py has no function 'los'. Did you mean loss?",
    ),
    (
        ["dump", "functions.py:zzz"],
        "functions.py has no function 'zzz'. It defines: loss, scaled, vector, concrete, broken.",
    ),
    (["dump", "functions.py:number"], "functions.py:number is an int, not a function."),
    (
        ["dump", "functions.py:loss", "f64[3]"],
        "functions.py:loss takes (w, x); 1 was given. Give a type or a value for each: "
        'functions.py:loss "f64[3]" "f64[3]"',
    ),
    (
        ["dump", "functions.py:vector", "f8[3]"],
        "argument 'f8[3]': unknown dtype 'f8'; known: bool, i8, i16, "
        "i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128",
    ),
    (
        ["dump", "functions.py:vector", "f64[3"],
        "argument 'f64[3': a type is written like f64[3,4] or f32[]; got 'f64[3'; did you mean "
        "f64[3]?",
    ),
    (
        ["dump", "functions.py:vector", "{f64[3"],
        "argument '{f64[3' is not understood. Write a type (f64[100,3], f32[], i64[5]), a "
        "literal (3.0, [1.0, 2.0], {'w': f64[3]}), a word (adam), a file (@x.npy) or name=value. "
        "Quote it if the shell would split it",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--stage", "loop"],
        "--stage: there is no stage 'loop'. Did you mean loops? Stages: trace, optimized, "
        "loops, vectors, llvm, asm, cuda, ptx, all",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--format", "png"],
        "--format must be one of text, json, svg, html, dot; got 'png'.",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--format", "json", "--stage", "llvm"],
        "--format json supports only the stages trace, optimized, loops; "
        "got 'llvm'. Use --format text",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--format", "svg", "--stage", "asm"],
        "--format svg draws the stages trace, optimized, loops; got 'asm'. Use --format text",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--passes", "--format", "svg"],
        "--format must be text or json; got 'svg'",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--adjoint"],
        "--adjoint is a picture: give --format html (or svg, dot, json) and -o FILE. For the text "
        "of the gradient: --grad",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--adjoint", "--grad", "--format", "svg"],
        "--adjoint draws the gradient itself: leave out --grad and --transform",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--by", "lin", "--format", "svg"],
        "--by: there are line, loop, call, none; got 'lin'. Did you mean line?",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--values"],
        "--values is for pictures: give --format svg, html or dot",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--grda"],
        "autojit dump has no option --grda. Did you mean --grad? See autojit dump --help",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--transform", "jit(grad"],
        '--transform must look like "grad" or "jit(grad)"; got \'jit(grad\'',
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "--grad", "--transform", "grad"],
        "give --grad or --transform, not both",
    ),
    (
        ["dump", "functions.py:loss", "f64[3]", "f64[2,3]", "--grad", "--argnums", "y"],
        "--argnums takes positions such as 0 or 0,1 or names: w, x; got 'y'",
    ),
    (
        ["dump", "functions.py:vector", "f64[3]", "-o", "absent/x"],
        "-o absent/x: there is no folder absent. Create it first: mkdir -p absent",
    ),
    (
        ["check", "functions.py:vector", "f64[3]", "--modes", "back"],
        "--modes is fwd, rev or fwd,rev; got 'back'.",
    ),
    (["run", "absent.ir"], "cannot read absent.ir: No such file or directory"),
]


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("words", "message"), MISUSE, ids=lambda v: " ".join(v)[:40])
def test_misuse_is_one_line_and_exit_code_2(words: list[str], message: str) -> None:
    result = call(*words)
    assert result.stderr == f"error: {message}\n"
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.usefixtures("here")
def test_unknown_transformation_names_those_there_are() -> None:
    result = call("dump", "functions.py:vector", "f64[3]", "--transform", "jit(gradd)")
    start = (
        "error: --transform: there is no transformation 'gradd'. Did you mean grad? "
        "Transformations: "
    )
    assert result.stderr.startswith(start + "jit, grad, value_and_grad")
    assert result.exit_code == 2


def test_errors_of_the_users_function_have_exit_code_1(here: Path) -> None:
    result = call("dump", "functions.py:concrete", "f64[]")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: float(x) needs the value of a traced array of type")
    assert 'functions.py", line 13, in concrete' in result.stderr
    result = call("dump", "functions.py:broken", "f64[3]")
    assert (result.exit_code, result.stderr) == (
        1,
        "error: broken raised IndexError: list index out of range\n"
        f'  File "{here / "functions.py"}", line 16, in broken\n'
        "    return [1, 2][len(x)]\n           ~~~~~~^^^^^^^^\n",
    )


def test_file_that_does_not_import(here: Path) -> None:
    (here / "wrong.py").write_text("import numpy\n1 / 0\n", encoding="utf-8")
    result = call("dump", "wrong.py:f")
    assert result.exit_code == 1
    assert "importing wrong.py raised ZeroDivisionError: division by zero" in result.stderr
    assert "line 2" in result.stderr


@pytest.mark.usefixtures("here")
def test_fault_of_ours_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        return {}["no such key"]  # type: ignore[index]

    monkeypatch.setattr("autojit.staging.inspection.Lowered.text", fail)
    monkeypatch.setattr("autojit.cli.common.failures._OURS", [Path(__file__).parent])
    monkeypatch.setattr("autojit.cli.common.failures._LIBRARIES", [ROOT, Path(sys.prefix)])
    result = call("dump", "functions.py:vector", "f64[3]")
    assert result.exit_code == 1
    assert "raised KeyError: 'no such key'\n  This is a bug in autojit (" in result.stderr


# -- check, run, bench --------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_check_compares_every_mode() -> None:
    text = printed("check", "functions.py:loss", "f64[3]", "f64[10,3]", "--interpret")
    lines = text.splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("✓ order 1 (forward)")
    assert lines[-1] == "functions.py:loss: 6 derivatives agree with central differences"


@pytest.mark.usefixtures("here")
def test_check_names_a_wrong_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    from autojit.ir.ops import elementary

    monkeypatch.setattr(elementary.sin, "rules", [lambda t, y, x: t])
    result = call("check", "functions.py:vector", "[0.5, 1.0]", "--interpret")
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "error: derivative of order 1 (forward): wrong with respect to argument 0["
    )


def test_run_reads_what_dump_writes(here: Path) -> None:
    text = printed("dump", "functions.py:vector", "f64[3]")
    (here / "p.ir").write_text(text, encoding="utf-8")
    expected = "result 0: f64[3] = [0.84147098, 0.90929743, 0.14112001]\n"
    assert printed("run", "p.ir", "[1, 2, 3]") == expected
    assert printed("run", "-", "[1.0, 2.0, 3.0]", "--interpret", stdin=text) == expected
    one, same = printed("run", "p.ir"), printed("run", "p.ir")
    other = printed("run", "p.ir", "--seed", "1")
    assert one == same != other


RUN_ERRORS = [
    (["[1, 2]"], "argument 0 must be f64[3]; got i64[2]"),
    (["[1, 2j, 3]"], "argument 0 must be f64[3]; got complex128"),
    (["'abc'"], "argument 0 must be f64[3]; got 'abc'"),
    (["[1, 2, 3]", "4"], "program vector takes 1 arguments, 2 were given"),
]


@pytest.mark.parametrize(("words", "message"), RUN_ERRORS)
def test_run_refuses_other_types(here: Path, words: list[str], message: str) -> None:
    text = "program vector(%0: f64[3]) {\n  return %0\n}"
    (here / "p.ir").write_text(text, encoding="utf-8")
    result = call("run", "p.ir", *words)
    assert (result.exit_code, result.stderr) == (2, f"error: {message}\n")


def test_run_shows_the_place_of_a_mistake(here: Path) -> None:
    (here / "p.ir").write_text("program p(%0: f64[3]) {\n  return %1\n}", encoding="utf-8")
    result = call("run", "p.ir")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: p.ir: line 2: %1 is not defined before this line\n    return %1\n           ^\n"
    )


@pytest.mark.usefixtures("here")
def test_bench_has_three_rows() -> None:
    words = ["bench", "functions.py:loss", "f64[3]", "f64[10,3]", "--seconds", "0.01"]
    rows = printed(*words).splitlines()
    assert [row.split(" a call")[0].rsplit(maxsplit=2)[0] for row in rows] == [
        "✓ NumPy",
        "✓ jit(f)",
        "✓ jit(grad(f))",
    ]
    rows = printed("bench", "functions.py:vector", "f64[3]", "--seconds", "0.01").splitlines()
    assert rows[2].startswith("– jit(grad(f))   grad needs a scalar, but vector returns an array")


@pytest.mark.usefixtures("here")
def test_bench_refuses_a_result_that_is_not_numpys() -> None:
    Path("other.py").write_text(
        "import operator\nimport numpy as np\ndef f(x):\n"
        "    return x + (operator.attrgetter('__class__')(x) is np.ndarray)\n",
        encoding="utf-8",
    )
    result = call("bench", "other.py:f", "f64[3]", "--seconds", "0.01")
    assert result.exit_code == 1
    assert result.stderr == "error: other.py:f: the compiled result differs from NumPy's\n"


def test_times_have_three_digits() -> None:
    assert [show_time(s) for s in (2.5, 0.0123456, 3.21e-6, 45e-9)] == [
        "2.5 s",
        "12.3 ms",
        "3.21 us",
        "45 ns",
    ]


def test_version_and_unknown_command() -> None:
    assert printed("--version") == f"autojit {autojit.__version__}\n"
    result = call("frobnicate")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "error: there is no command autojit frobnicate. Commands: check,"
    )
