"""A newcomer's mistakes: each answer is short, says what to do, and has the right exit code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import autojit
from tests.autojit.cli.commands import call, complaint, printed

pytestmark = pytest.mark.usefixtures("folder")

LOSS = ("functions.py:loss", "f64[3]", "f64[4,3]")

#: A command's words, and a part of its answer; the command runs nothing.
MISUSE = [
    ("dump", "missing argument 'TARGET'. For example:\n  autojit dump functions.py:loss"),
    ("dump functions.py", "TARGET is path/to/file.py:function"),
    ("dump .", "TARGET is path/to/file.py:function"),
    ("dump folder.py:f", "folder.py is a folder."),
    ("dump functions.py:Model.enrgy f64[3]", "Did you mean Model.energy?"),
    (
        "dump functions.py:Model.energy f64[3]",
        "takes (self, x), so it needs an object. Give the file a line that makes one, "
        "model = Model(...), and name its method: functions.py:model.energy",
    ),
    ("dump functions.py:loss f64[9,4]", 'functions.py:loss "f64[9,4]" "f64[3]"'),
    ("dump functions.py:loss f64[3]", 'functions.py:loss "f64[3]" "f64[3]"'),
    ("dump functions.py:train f64[3] f64[3] adam 0.5", "(w, x, kind='adam', *, rate=0.1); 4 were"),
    ("dump functions.py:train f64[3] f64[3] rte=0.5", "no argument 'rte'. Did you mean rate?"),
    ("dump functions.py:train f64[3] f64[3] w=f64[3]", "w is given by position and by name"),
    ("dump functions.py:train f64[3] kind=sgd f64[3]", "follows one that has; move it"),
    ("dump functions.py:train f64[3] x=1.0 x=2.0", "argument x is given twice"),
    ("dump functions.py:loss float64[3] f64[4,3]", "did you mean f64[3]?"),
    ("dump functions.py:loss double f64[4,3]", "write f64[] for a number, f64[3] for an array"),
    ("dump functions.py:loss x.npy f64[4,3]", "write @x.npy to read an array from that file"),
    (
        "dump functions.py:loss f64[3] f64[4,3] --stag loops",
        "Did you mean --stage?",
    ),
    (
        "dump functions.py:loss f64[3] f64[4,3] --stage",
        "See autojit dump --help",
    ),
    ("dump functions.py:loss f64[3] f64[4,3] --stage lops", "Did you mean loops?"),
    ("dump functions.py:loss f64[3] f64[4,3] --grad --argnums 2", "positions are 0 to 1"),
    ("dump functions.py:loss f64[3] f64[4,3] -o .", "-o . is a folder. Name a file in it"),
    (
        "dump functions.py:loss f64[3] f64[4,3] -o no/x.ir",
        "no folder no. Create it first: mkdir -p no",
    ),
    ("dump functions.py:loss f64[3] f64[4,3] --color red", "--color is auto, always or never"),
    ("dump functions.py:loss f64[3] f64[4,3] -g", "autojit dump has no option -g."),
    (
        "check functions.py:loss f64[3] f64[4,3] --order two",
        "--order takes an integer; got 'two'",
    ),
    ("check functions.py:loss f64[3] f64[4,3] --format jsn", "Did you mean json?"),
    ("bench functions.py:loss f64[3] f64[4,3] --argnums 7", "there is no argument 7"),
    ("check functions.py:loss f64[3] f64[4,3] --order=5", "--order is a number from 1 to 4; got 5"),
    ("check functions.py:loss f64[3] f64[4,3] --low a", "--low takes a number; got 'a'"),
    ("check functions.py:loss f64[3] f64[4,3] --modes fwds", "Did you mean fwd?"),
    ("run p.ir f64[4]", "argument 0 must be f64[3]; got f64[4]"),
    ("check functions.py:loss f64[99999999999999] f64[4,3]", "[99999999999999]': unable to alloc"),
    ("dump functions.py:loss f64[3] f64[4,3] --transform=", '--transform must look like "grad" or'),
    ("dump functions.py:Model f64[3] 1.0", "takes (scale); 2 were given"),
    ("check functions.py", "Name one: functions.py:loss, functions.py:train"),
    ("check functons.py:loss f64[3]", "no file functons.py. Did you mean functions.py?"),
    ("check folder.py/functions.py:loss", "there is no file"),
    ("check energy", "got 'energy'"),
    ("check chatty", "got 'chatty'. Did you mean functions.py:chatty?"),
    ("check -:f", "there is no file -. TARGET is"),
    ("check /dev/null:f", "/dev/null is not a Python file"),
    ("check functions.py:np f64[3]", "functions.py:np is a module, not a function"),
    ("check functions.py:loss f46[3] f64[4,3]", "did you mean f64[3]?"),
    ("check functions.py:loss flaot32[3] f64[4,3]", "did you mean f32[3]?"),
    ("bench functions.py:loss f64[3] f64[4,3] --seconds 0", "a number from 0.01 to 3600; got 0.0"),
    ("dump functions.py:loss f64[3] f64[4,3] --by line", "--by is for pictures"),
    ("run functions.py", "this command writes: autojit dump functions.py:FUN"),
    ("opt functions.py --passes cse", "functions.py is Python"),
    ("profile functions.py:loss", "To explain loss: autojit explain functions.py:loss"),
    ("profile notes.ipynb", "with autojit.profile() as p"),
    ("profile -o no/p.html script.py", "Create it first: mkdir -p no"),
    ("mistakes broadcast", "Did you mean silent-broadcast? Pages with that word: assigning-a-list"),
    ("doctor now", "autojit doctor does not take now. See autojit doctor --help"),
    ("bench", "autojit bench functions.py:loss"),
    ("run", "For example:\n  autojit run"),
    ("run functions.py:loss f64[3]", "is a function, but FILE must be a program's text"),
    ("run .", "cannot read .: Is a directory"),
    ("run p.ir w=f64[3]", "the arguments of a program have no names"),
    ("opt p.ir --passes cse,dec", "Did you mean dce? autojit opt --list lists them"),
    ("opt p.ir", "opt takes a program's text and passes"),
    ("coverage nunpy", "there is no namespace 'nunpy'. Did you mean numpy?"),
    ("cache lss", "there is no command autojit cache lss. Did you mean ls?"),
    ("cache clear all", "autojit cache clear does not take all"),
    ("completion bsh", "got 'bsh'. Did you mean bash?"),
    ("dmup", "there is no command autojit dmup. Did you mean dump?"),
    ("--versoin", "autojit has no option --versoin. Did you mean --version?"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("line", "words"), MISUSE)
def test_misuse_has_code_2(folder: Path, line: str, words: str) -> None:
    (folder / "folder.py").mkdir()
    (folder / "p.ir").write_text("program p(%0: f64[3]) {\n  return %0\n}", encoding="utf-8")
    before = sorted(folder.iterdir())
    answer = complaint(*line.split(), code=2)
    assert words in answer
    assert answer.count("\n") <= 2
    assert "Traceback" not in answer
    assert sorted(path for path in folder.iterdir() if path.name[0] != "_") == before


FAULTS = [
    ("broken.py", "def f(x):\n    return (x\n", "SyntaxError: '(' was never closed", 2),
    ("raising.py", "x = 1\nraise RuntimeError('no data')\n", "RuntimeError: no data", 2),
    ("leaving.py", "import sys\nsys.exit('bye')\n", "called sys.exit('bye')", None),
    ("lacking.py", "import numppy\n", "No module named 'numppy'", 1),
    ("failing.py", "def f(x):\n    return {}[0]\n", "f raised KeyError: 0", 2),
]


@pytest.mark.parametrize(("name", "source", "words", "line"), FAULTS)
def test_faults_of_the_users_file_have_code_1(
    folder: Path, name: str, source: str, words: str, line: int | None
) -> None:
    (folder / name).write_text(source, encoding="utf-8")
    answer = complaint("dump", f"{name}:f", "f64[3]", "-o", "out.ir", code=1)
    assert words in answer
    assert "Traceback" not in answer
    if line is not None:
        assert f'{name}", line {line}' in answer
    assert not (folder / "out.ir").exists()


def test_shapes_that_do_not_fit_have_code_1_and_the_line() -> None:
    answer = complaint("dump", "functions.py:loss", "f64[3]", "f64[4,2]", code=1)
    assert 'functions.py", line 6, in loss' in answer


def test_what_the_function_prints_goes_to_stderr(folder: Path) -> None:
    (folder / "script.py").write_text(
        "print('importing')\ndef f(x):\n    print('running')\n    return x * x\n", encoding="utf-8"
    )
    result = call("dump", "script.py:f", "f64[3]")
    assert autojit.parse(result.stdout).name == "f"
    assert result.stderr == "importing\nrunning\n"
    result = call("check", "functions.py:chatty", "f64[3]", "--order", "1", "--format", "json")
    assert json.loads(result.stdout)["agrees"]
    assert result.stderr.startswith("x is here\n")


def test_methods_of_classes_and_of_objects() -> None:
    assert "exp" in printed("dump", "functions.py:Model.static", "f64[3]")
    assert printed("dump", "functions.py:model.energy", "f64[3]").startswith("program energy(")


def test_functions_of_numpy_have_no_line_of_the_commands() -> None:
    assert "#" not in printed("dump", "numpy:sin", "f64[3]")


# -- arguments by name, words, files ----------------------------------------------------


def operations(*words: str) -> list[str]:
    program = autojit.parse(printed("dump", "functions.py:train", *words, "--stage", "trace"))
    return [op.kind.name for op in program.ops]


def test_words_and_keywords_choose() -> None:
    assert "mul" in operations("f64[3]", "f64[3]")
    assert operations("f64[3]", "f64[3]", "sgd").count("mul") == 1
    assert operations("f64[3]", "f64[3]", "kind=sgd") == operations("f64[3]", "f64[3]", "sgd")
    text = printed("dump", "functions.py:train", "f64[3]", "f64[3]", "rate=0.5", "kind=sgd")
    assert "value=0.5" in text
    assert text.startswith("program train(%0: f64[3], %1: f64[3]) {")


def test_arrays_by_name_are_inputs_in_order_and_are_differentiated_by() -> None:
    text = printed("dump", "functions.py:loss", "x=f64[4,3]", "w=f64[3]")
    assert text.startswith("program loss(%0: f64[3], %1: f64[4,3]) {")
    slope = printed("dump", "functions.py:loss", "x=f64[4,3]", "w=f64[3]", "--grad")
    assert [str(t) for t in autojit.parse(slope).out_types] == ["f64[3]"]


def test_check_takes_words() -> None:
    found = printed("check", "functions.py:train", "f64[3]", "f64[3]", "sgd", "--order", "1")
    assert found.endswith("functions.py:train: 2 derivatives agree with central differences\n")


def test_bench_takes_keywords() -> None:
    words = ["functions.py:train", "f64[3]", "f64[3]", "kind=sgd", "--seconds", "0.01"]
    found = json.loads(printed("bench", *words, "--format", "json"))
    assert [row["name"] for row in found["rows"]] == ["NumPy", "jit(f)", "jit(grad(f))"]


def test_arrays_come_from_files(folder: Path) -> None:
    np.save(folder / "w.npy", np.array([1.0, 2.0, 3.0], np.float32))
    (folder / "p.ir").write_text("program p(%0: f32[3]) {\n  return %0\n}", encoding="utf-8")
    assert printed("run", "p.ir", "@w.npy") == "result 0: f32[3] = [1., 2., 3.]\n"
    text = printed("dump", "functions.py:loss", "@w.npy", "f32[4,3]")
    assert text.startswith("program loss(%0: f32[3], %1: f32[4,3]) {")


def test_a_text_of_several_words_is_quoted_once_more() -> None:
    train = ("functions.py:train", "f64[3]", "f64[3]")
    answer = complaint("dump", *train, "plain descent", code=2)
    assert answer == (
        "error: argument 'plain descent': write a text of several words as '\"plain descent\"'\n"
    )
    assert printed("dump", *train, '"plain descent"').startswith("program train")


def test_frames_of_blocks_are_one_with_their_function(folder: Path) -> None:
    (folder / "failing.py").write_text(
        "def f(x, kind):\n    if kind == 'a':\n        return x\n    raise ValueError(kind)\n",
        encoding="utf-8",
    )
    answer = complaint("dump", "failing.py:f", "f64[3]", "b", code=1)
    assert answer.splitlines()[1:] == [
        f'  File "{folder / "failing.py"}", line 4, in f',
        "    raise ValueError(kind)",
    ]
