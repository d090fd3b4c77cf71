"""Tracebacks end at the user's line, wherever they are shown."""

from __future__ import annotations

import concurrent.futures
import io
import logging
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import errors, fori_loop, grad, jacrev, jit, scan, vjp, vmap, while_loop
from autojit.session.frames import is_ours
from autojit.session.tracebacks import folded

X = np.ones(3)


def slip(x: Any) -> Any:
    return np.sum(x @ np.ones(4))


def in_a_branch(x: Any) -> Any:
    for _ in range(1000):
        if x[0] > 0:
            x = x + slip(x)
    return x


def raised_by(f: Callable[..., Any], *args: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any of them
        f(*args)
    return caught.value


def files_of(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def functions_of(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


WAYS: dict[str, Callable[[], Any]] = {
    "jit": lambda: jit(slip)(X),
    "grad": lambda: grad(slip)(X),
    "jit of grad": lambda: jit(grad(slip))(X),
    "vmap": lambda: vmap(slip)(np.ones((2, 3))),
    "jacrev": lambda: jacrev(slip)(X),
    "vjp": lambda: vjp(slip, X),
    "trace": lambda: autojit.trace(slip)(X),
    "lower": lambda: jit(slip).lower(X),
    "scan": lambda: scan(lambda c, x: (c + slip(X * x), None), 0.0, X),
    "while_loop": lambda: while_loop(lambda s: s < 3, lambda s: s + slip(X * s), 0.0),
    "fori_loop": lambda: fori_loop(0, 3, lambda i, s: s + slip(X * s), 0.0),
    "check_grads": lambda: autojit.testing.check_grads(slip, (X,)),
    "static": lambda: jit(lambda x, kind: slip(x), static_argnums=1)(X, "a"),
}


@pytest.mark.parametrize("way", WAYS)
def test_only_the_users_frames_are_left(way: str) -> None:
    error = raised_by(WAYS[way])
    assert type(error) is errors.ShapeError
    # pytest's own frame is not there: the traceback begins in `raised_by`.
    assert not any(map(is_ours, files_of(error)))
    assert functions_of(error)[-1] == "slip"
    (note,) = [n for n in error.__notes__ if "hidden" in n]
    assert note.endswith(
        "frames of autojit are hidden: AUTOJIT_TRACEBACK=full shows them; "
        "`autojit mistakes ShapeError` explains the error)"
    )


def test_a_branch_and_a_loop_are_no_frames() -> None:
    error = raised_by(jit(in_a_branch), X)
    assert functions_of(error) == ["raised_by", "in_a_branch", "slip"]


def test_frames_are_shown_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOJIT_TRACEBACK", "full")
    error = raised_by(jit(slip), X)
    assert sum(map(is_ours, files_of(error))) > 5
    assert not any("hidden" in n for n in getattr(error, "__notes__", []))
    monkeypatch.setenv("AUTOJIT_TRACEBACK", "ful")
    error = raised_by(jit(slip), X)
    assert not any(map(is_ours, files_of(error)))
    assert "it is 'ful' now, which is neither 'full' nor 'folded'" in error.__notes__[-1]


# -- errors of the user's -----------------------------------------------------------------


class Mine(Exception):
    """An exception whose instances have attributes of their own."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words, code)
        self.code = code


def fails(x: Any) -> Any:
    helper(x)
    return x


def helper(x: Any) -> None:
    try:
        np.zeros(3).reshape(2, 2)
    except ValueError as error:
        raise Mine("words", 7) from error


def test_errors_of_the_user_are_as_they_were() -> None:
    error = raised_by(jit(fails), X)
    assert type(error) is Mine
    assert (str(error), error.args, error.code) == ("('words', 7)", ("words", 7), 7)
    assert functions_of(error) == ["raised_by", "fails", "helper"]
    assert isinstance(error.__cause__, ValueError)
    assert functions_of(error.__cause__) == ["helper"]
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code, again.__notes__) == (Mine, 7, error.__notes__)


def test_the_same_error_raised_twice_has_one_note() -> None:
    error = Mine("words", 1)

    def f(x: Any) -> Any:
        raise error

    for times in (1, 2):
        assert raised_by(jit(f), X) is error
        assert len(error.__notes__) == 1, times


def test_nested_functions_count_once() -> None:
    inner = jit(slip)
    error = raised_by(jit(lambda x: inner(x) + 1), X)
    assert functions_of(error) == ["raised_by", "<lambda>", "slip"]
    assert sum("hidden" in n for n in error.__notes__) == 1


class Frozen(Exception):
    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError("frozen")


def test_errors_that_cannot_be_changed() -> None:
    """Errors that are frozen dataclasses cannot be changed."""

    def f() -> Any:
        raise Frozen("words")

    error = raised_by(folded(f))
    assert type(error) is Frozen
    assert functions_of(error) == ["raised_by", "f"]
    assert "1 frame of autojit is hidden" in error.__notes__[0]


def test_groups_and_contexts() -> None:
    def f(x: Any) -> Any:
        found = []
        for call in (jit(slip), grad(slip)):
            try:
                call(np.ones(3))
            except errors.ShapeError as error:
                found.append(error)
        raise ExceptionGroup("both", found)

    error = raised_by(autojit.disable_jit()(lambda: f(X)))
    assert isinstance(error, ExceptionGroup)
    for each in error.exceptions:
        assert not any(map(is_ours, files_of(each)))
    group = raised_by(jit(lambda x: _in_a_group(x)), X)
    assert isinstance(group, ExceptionGroup)
    assert not any(map(is_ours, files_of(group.exceptions[0])))


def _in_a_group(x: Any) -> Any:
    try:
        np.zeros(3).reshape(2, 2)
    except ValueError as error:
        raise ExceptionGroup("one", [error]) from None


def test_an_error_that_the_users_handler_meets() -> None:
    try:
        raise KeyError("first")
    except KeyError:
        error = raised_by(jit(slip), X)
    assert isinstance(error.__context__, KeyError)
    assert functions_of(error.__context__) == ["test_an_error_that_the_users_handler_meets"]


# -- what shows them ----------------------------------------------------------------------


def test_threads() -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        error = pool.submit(jit(slip), X).exception()
    assert error is not None
    assert functions_of(error)[-1] == "slip"
    assert not any(map(is_ours, files_of(error)))


def test_logging() -> None:
    out = io.StringIO()
    logger = logging.getLogger("test_tracebacks")
    logger.addHandler(logging.StreamHandler(out))
    logger.propagate = False
    try:
        jit(slip)(X)
    except errors.ShapeError:
        logger.exception("failed")
    assert "in slip" in out.getvalue()
    assert "/autojit/" not in out.getvalue().replace(str(Path(__file__).parent), "")
    assert "frames of autojit are hidden" in out.getvalue()


SCRIPT = """
import numpy as np
from autojit import jit

def loss(x):
    return x @ np.ones(4)

jit(loss)(np.ones(3))
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["script", "-c"])
def test_a_script_prints_few_lines(how: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    words = [str(path)] if how == "script" else ["-c", SCRIPT]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    own = f'"{path}"' if how == "script" else '"<string>"'
    assert files[:2] == [f"  File {own}, line 8, in <module>", f"  File {own}, line 6, in loss"]
    assert all(own in line for line in files)
    assert len(done.stderr.splitlines()) <= 16, done.stderr


def test_ipython(tmp_path: Path) -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell(colors='nocolor')\n"
        f"shell.run_cell({SCRIPT!r})\n"
    )
    assert shell is not None
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    words = done.stdout + done.stderr
    assert "in loss(x)" in words
    assert "/autojit/" not in words
    assert "frames of autojit are hidden" in words
