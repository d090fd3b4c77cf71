"""The programs of `bench/programs`: their gradients at tiny sizes, and the command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import autojit
from bench import __main__ as command
from bench.programs import all_programs, select
from bench.programs.check import moved, wrong
from bench.programs.command import best, findings, main, means, ratios, row, slower
from bench.programs.declare import PLAIN
from bench.programs.not_covered import TEXTS, message

PROGRAMS = all_programs()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_against_differences(name):
    program = PROGRAMS[name]
    function, arguments = program.at(program.tiny, autojit)
    alone, _ = program.at(program.tiny, PLAIN)
    with autojit.disable_jit():  # compiled code is compared with the interpreter's elsewhere
        value, gradient = autojit.jit(autojit.value_and_grad(function))(*arguments)
    assert wrong(alone, arguments, value, gradient) is None


def cubes(params):
    return np.sum(params["x"] ** 3) + params["y"][0]


@pytest.mark.parametrize(
    ("value", "x", "y", "words"),
    [
        (36.5, [3.0, 12.0, 27.0], 1.0, None),
        (36.6, [3.0, 12.0, 27.0], 1.0, "the value is 36.6"),
        (36.5, [3.0, 12.0, 27.003], 1.0, r"along a direction of ['x']"),
        (36.5, [3.0, 12.0, 27.0], 1.001, r"along a direction of ['y'][0]"),
        (36.5, [3.0, np.nan, 27.0], 1.0, r"along a direction of ['x']"),
        (np.nan, [3.0, 12.0, 27.0], 1.0, "the value is nan"),
    ],
)
def test_a_wrong_result_is_found(value, x, y, words):
    params = {"x": np.array([1.0, 2.0, 3.0]), "y": (0.5,)}
    said = wrong(cubes, (params,), value, {"x": np.array(x), "y": (y,)})
    assert (said is None) if words is None else words in said


def test_a_gradient_of_nothing_is_no_check():
    said = wrong(lambda x: 1.0 + 0.0 * x, (2.0,), 1.0, 0.0)
    assert said == "the gradient by the argument is too small for differences"


def test_one_leaf_moves():
    tree = {"a": [1.0, 2.0], "b": (np.ones(2),)}
    found = moved(tree, "['b'][0]", np.array([1.0, 2.0]))
    assert found["a"] == [1.0, 2.0]
    assert found["b"][0].tolist() == [2.0, 3.0]


FAST = {
    "numpy_s": 0.01,
    "primal_s": 0.001,
    "gradient_s": 0.002,
    "first_call_s": 0.2,
    "first_call_processor_s": 0.2,
    "warnings": [],
}
SLOW = {**FAST, "primal_s": 0.02, "gradient_s": 0.1, "first_call_s": 3.0}
FAILED = {"failed": "UncoveredFunctionError: np.fft.fft is not covered"}


def test_findings():
    assert findings("p", FAST) == []
    assert findings("p", SLOW) == [
        "p: the gradient takes 5.00 times the function's time",
        "p: compiled it takes 2.00 times NumPy's time",
        "p: its first call takes 3.00 s",
    ]
    assert findings("p", {**FAST, "warnings": ["a loop"]}) == ["p: warns: a loop"]
    assert findings("p", FAILED) == [f"p: {FAILED['failed']}"]
    assert findings("p", {**FAST, "wrong": "the value is 1"}) == ["p: the value is 1"]
    assert row("p", FAILED)[:3] == ("p", "failed", "–")
    assert row("p", FAST) == ("p", "10.0", "1.00", "2.00", "2.00", "10.0", "0.200")


def test_comparison():
    found = ratios({**FAST, "gradient_s": 0.004}, FAST)
    assert found == {"primal_s": 1.0, "gradient_s": 2.0, "first_call_processor_s": 1.0}
    assert slower(found) == "gradient"
    assert slower(ratios({**FAST, "gradient_s": 0.00215}, FAST)) == ""
    assert ratios(FAILED, FAST) == ratios(FAST, FAILED) == {}
    assert means({"p": found, "q": ratios(FAST, FAST), "r": {}}) == (
        "This run over the other, geometric mean of 2 programs: "
        "jit 1.00, gradient 1.41, first call 1.00."
    )
    assert means({"p": {}}) == "No program counts in both runs."


def test_the_best_of_rounds():
    assert best([FAST, {**FAST, "gradient_s": 0.001}])["gradient_s"] == 0.001
    assert best([FAST, FAILED]) is FAILED


@pytest.mark.slow
def test_a_run_is_saved_and_compared(tmp_path, capsys):
    saved = tmp_path / "figures.json"
    command.main(["programs", "--size", "tiny", "ar2", "--check", "--json", str(saved)])
    printed = capsys.readouterr().out
    assert "gradient / jit" in printed
    assert "this run / the other" not in printed
    figures = json.loads(saved.read_text("utf-8"))["ar2"]
    assert figures["wrong"] is None
    assert 0 < figures["primal_s"] < figures["first_call_s"]
    main(["--size", "tiny", "ar2", "--against", str(saved)])
    printed = capsys.readouterr().out
    assert "this run / the other" in printed
    assert "geometric mean of 1 programs" in printed


@pytest.mark.slow
def test_another_checkout_that_fails_is_named(tmp_path, capsys):
    (tmp_path / "autojit").mkdir()
    (tmp_path / "autojit" / "__init__.py").write_text("raise ValueError('half a checkout')\n")
    arguments = ["--size", "tiny", "ar2", "--beside", str(tmp_path)]
    main(arguments)
    printed = capsys.readouterr().out
    assert "the other run, ar2: ValueError: half a checkout" in printed
    assert "No program counts in both runs." in printed
    with pytest.raises(SystemExit):
        main(["--size", "tiny", "ar2", "--autojit", str(tmp_path)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--autojit", "/nowhere"], "/nowhere has no autojit/__init__.py: name the root"),
        (["--against", "a", "--beside", "."], "--against and --beside are two ways"),
    ],
)
def test_errors_of_the_command(arguments, words, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert words in capsys.readouterr().err


def test_a_program_that_does_not_exist():
    with pytest.raises(SystemExit, match="no program 'poison'; there are: poisson_regression"):
        select(["poison"])


def test_what_a_program_needs_comes_from_the_library():
    names = {name for program in PROGRAMS.values() for name in program.needs}
    assert names == set(vars(PLAIN))
    program = PROGRAMS["michaelis_menten"]
    called = []
    library = SimpleNamespace(vmap=lambda f: called.append(f) or PLAIN.vmap(f))
    function, arguments = program.at(program.tiny, library)
    function(*arguments)
    assert len(called) == 1


def test_the_list_of_what_is_not_covered():
    readme = Path(command.__file__).parent / "programs" / "README.md"
    listed = re.findall(r"^\| `(.*?)` \|", readme.read_text("utf-8"), re.MULTILINE)
    assert listed == list(TEXTS), "python -m bench.programs.not_covered prints the list"
    covered = [title for title, (_, text) in TEXTS.items() if message(text) is None]
    assert covered == [], "covered by now: take it off the list"
