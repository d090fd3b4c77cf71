"""Remarks: a program for each reason why a loop was not rolled up, fused, cut or made vectors."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import autojit
from autojit import grad, jit, scan, while_loop
from autojit.cli.app import app
from autojit.codegen.cpu.llvm import vector_remarks
from autojit.codegen.driver.executable import Executable
from autojit.ir.pass_manager.remarks import Remark, collecting, current

X, MANY, PLACES = np.ones(100), np.ones(200_000), np.zeros(1000, int)


def remarks(by: str, f: Callable[..., Any], *args: Any) -> list[Remark]:
    autojit.session.transform_cache.clear()
    with collecting() as found:
        executable = Executable(jit(f).lower(*args).program)
        if by == "vectors":
            vector_remarks.remark(executable.loops, executable.llvm())
        elif by != "roll":
            assert executable.loops.steps
    return [remark for remark in found if remark.by == by]


def only(by: str, f: Callable[..., Any], *args: Any) -> Remark:
    (found,) = remarks(by, f, *args)
    return found


def line_of(f: Callable[..., Any], words: str) -> str:
    lines, first = inspect.getsourcelines(f)
    (at,) = (first + k for k, line in enumerate(lines) if words in line)
    return f"{__file__}:{at}"


# -- roll ----------------------------------------------------------------------------


def in_turn(x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = np.sin(x) * x + 0.5
    return x


def solved(a: Any) -> Any:
    return [np.linalg.solve(a + k * np.eye(3), a)[0] * 2 for k in range(40)]


def mixed(x: Any) -> Any:
    functions = [np.sin, np.cos, np.exp, np.tanh]
    for k in np.random.default_rng(0).integers(0, 4, 200):
        x = functions[k](x + 0.5)
    return x


def test_a_trace_that_is_short() -> None:
    found = only("roll", lambda x: in_turn(x, 20), 1.0)
    assert found.place == line_of(in_turn, "np.sin")
    assert (
        found.reason
        == "the trace has 80 operations, and repeated steps are looked for only from 100 on"
    )


def test_steps_that_wait_for_each_other_and_are_few() -> None:
    found = only("roll", lambda x: in_turn(x, 40), 1.0)
    assert found.place == line_of(in_turn, "np.sin")
    assert found.reason.startswith("40 steps of 4 operations stay unrolled: a step reads a result ")
    assert found.reason.endswith("; and a loop pays only from 500 operations on")
    assert "autojit.fori_loop" in found.way_out


def test_steps_that_are_long_by_themselves() -> None:
    found = only("roll", lambda x: in_turn(x, 40), np.ones(5000))
    assert (
        "each step already works on arrays of 5000 elements, which are long enough" in found.reason
    )


def test_steps_with_what_cannot_be_computed_for_all_at_once() -> None:
    found = only("roll", solved, np.eye(3))
    assert found.place == line_of(solved, "linalg.solve")
    assert "lu cannot be computed for all steps at once" in found.reason


def test_steps_that_are_never_the_same() -> None:
    found = only("roll", mixed, 1.0)
    assert found.place == line_of(mixed, "functions[k]")
    assert "no sequence of the same operations is repeated 8 times" in found.reason


def test_what_is_rolled_up_has_no_remark() -> None:
    assert not remarks("roll", lambda x: in_turn(x, 400), 1.0)
    assert not remarks("roll", lambda x: sum(np.sin(x[k]) for k in range(100)), X)


# -- fusion --------------------------------------------------------------------------


def centred(x: Any) -> Any:
    return x - np.mean(x)


def test_a_result_that_is_complete_at_the_end_only() -> None:
    found = only("fusion", centred, X)
    at = line_of(centred, "np.mean")
    assert found.place == f"sub ({at})"
    assert found.reason == (
        f"not in one loop with sum ({at}): it reads a result of sum, which is complete only after "
        "the last iteration"
    )


def test_loops_of_other_lengths() -> None:
    found = only("fusion", lambda x: (np.sin(x), np.cos(x[:50])), X)
    assert found.reason.endswith("that one has 100 iterations, this one 50")


def test_other_elements_than_the_iteration_has_computed() -> None:
    found = only("fusion", lambda x: (lambda y: (y, y[::-1] * 2))(np.sin(x)), X)
    assert found.reason.endswith(
        "it reads other elements of sin than the iteration has just computed"
    )


def test_an_array_that_is_changed_in_place() -> None:
    def changed(x: Any, i: Any) -> Any:
        y = np.zeros(1000)
        y[i] = x
        return y * 2

    found = remarks("fusion", changed, np.ones(1000), PLACES)
    assert any("it reads the array that scatter changes in place there" in r.reason for r in found)


def test_something_that_is_computed_between() -> None:
    def between(x: Any) -> Any:
        return np.sum(x), np.linalg.cholesky(x)[0] * x[0]

    found = remarks("fusion", between, np.eye(30))
    assert any("another value that it reads is computed after that loop" in r.reason for r in found)


# -- parallel ------------------------------------------------------------------------


@pytest.mark.usefixtures("one_machine")
@pytest.mark.parametrize(
    ("f", "args", "words"),
    [
        (np.sin, (X,), "it is the work of 1,200 additions, and threads pay from 250,000 on"),
        (np.cumsum, (MANY,), "steps run in turn, or there are branches"),
        (lambda x: np.sin(x) ** 0.3, (np.ones((1, 50_000)),), None),
    ],
)
def test_loops_on_one_thread(f: Any, args: Any, words: str | None) -> None:
    if words is None:
        assert not remarks("parallelize", f, *args)
    else:
        found = only("parallelize", lambda *given: f(*given), *args)
        assert found.reason == f"not cut into tasks for threads: {words}"


def test_places_that_are_set_in_turn() -> None:
    def changed(x: Any, i: Any) -> Any:
        y = np.zeros(9)
        y[i] = np.sin(x)
        return y

    found = remarks("parallelize", changed, MANY, np.zeros(200_000, int))
    assert any("it sets elements at computed places" in r.reason for r in found)


def test_sums_that_are_too_large_to_copy() -> None:
    def sums(x: Any, i: Any) -> Any:
        y = np.zeros(400_000)
        np.add.at(y, i, np.sin(x))
        return y

    found = remarks("parallelize", sums, MANY, np.zeros(200_000, int))
    assert any("each task would need a copy of 400000 numbers" in r.reason for r in found)


# -- vectors -------------------------------------------------------------------------


def test_steps_in_turn() -> None:
    found = only("vectors", lambda x: scan(lambda c, y: (np.sin(c * y), None), 1.0, x)[0], X)
    assert found.reason == "its steps run in turn: each may read a result of the previous one"
    assert "autojit.vmap" in found.way_out


@pytest.mark.optimised
def test_the_way_out_of_steps_in_turn_is_one() -> None:
    def several(x: Any) -> Any:
        return autojit.vmap(lambda row: scan(lambda c, y: (np.sin(c * y), None), 1.0, row)[0])(x)

    assert not remarks("vectors", several, np.ones((64, 30)))


def test_a_loop_of_unknown_length() -> None:
    def root(a: Any) -> Any:
        return while_loop(lambda x: abs(x * x - a) > 1e-9, lambda x: (x + a / x) / 2, a)

    found = only("vectors", root, 2.0)
    assert "repeat" in found.place
    assert found.reason.startswith("its steps run in turn")


@pytest.mark.optimised
def test_additions_to_computed_places() -> None:
    found = remarks("vectors", grad(lambda x, i: np.sum(np.sin(x[i]))), X, PLACES)
    assert [r.reason for r in found] == [
        "it writes to computed places, and two iterations may meet in one"
    ]


def test_remainders() -> None:
    found = only("vectors", lambda x: np.sum(x % 3), np.ones(1000, int))
    assert found.reason.startswith("it takes quotients or remainders")
    assert found.place.endswith("for i in 0..1000")


def test_loops_that_are_short() -> None:
    found = only("vectors", grad(lambda x: np.trace(x, offset=1)), np.ones((3, 4)))
    assert found.reason == "it has too few iterations for vectors"


def test_loops_of_which_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    executable = Executable(jit(lambda x: np.sin(x)).lower(X).program)
    (loop,) = executable.loops.steps[0].body  # type: ignore[union-attr]
    monkeypatch.setattr(vector_remarks, "lanes", lambda program, llvm: {id(loop): 1})
    with collecting() as found:
        vector_remarks.remark(executable.loops, "")
    assert [r.reason for r in found] == ["LLVM left it as it is, and does not say why"]


# -- collecting and printing ---------------------------------------------------------


def test_nothing_is_collected_unless_asked_for() -> None:
    jit(centred).lower(X).text("loops")
    assert current() is None
    with collecting() as found:
        pass
    assert not len(found)


FUNCTIONS = """\
import numpy as np

def centred(x):
    return x - np.mean(x)

def plain(x):
    return np.sin(x)
"""


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "functions", raising=False)


def printed(*words: str, **environment: str) -> str:
    result = CliRunner(env=environment).invoke(app, ["dump", *words, "--remarks"])
    assert result.exit_code == 0, result.output
    return str(result.stdout)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("columns", [60, 80])
def test_remarks_are_printed_by_pass(columns: int) -> None:
    text = printed("functions.py:centred", "f64[100]", COLUMNS=str(columns))
    assert max(map(len, text.splitlines())) <= columns
    assert text.startswith("==== fusion: loops, not fused ====\n\nsub (functions.py:4)\n")
    assert "==== parallelize: loops, not cut into tasks ====" in text
    assert "\nfunctions.py:4: for i in 0..100\n" in text


@pytest.mark.usefixtures("_here")
@pytest.mark.optimised
def test_remarks_as_json_and_where_there_are_none() -> None:
    first, *_ = json.loads(printed("functions.py:centred", "f64[100]", "--format", "json"))
    assert first.keys() == {"pass", "place", "reason", "way_out"}
    assert first["pass"] == "fusion"
    assert printed("functions.py:plain", "f64[1000000]") == (
        "# No remarks: loops were rolled up, fused, cut into tasks and made vector code.\n"
    )
