"""`autojit.source`: modules that users could paste into a project of theirs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

import autojit
from autojit import grad, jit, source, value_and_grad
from autojit.errors import AutojitError, NotArrayError, UnsupportedTargetError
from tests.autojit.staging import exported_programs
from tests.autojit.staging.exported_programs import PROGRAMS, kalman, logistic, mlp
from tests.codegen.export.running import defined


def flat(tree: Any) -> list[Any]:
    return optree.tree_leaves(tree, namespace="autojit")


def assert_same(got: Any, want: Any) -> None:
    for a, b in zip(flat(got), flat(want), strict=True):
        np.testing.assert_allclose(a, b, 1e-9, 1e-12)
        assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.sampled(6)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_of_programs(f: Callable[..., Any]) -> None:
    args = PROGRAMS[f]
    made = defined(source(grad(f), *args))[f"{f.__name__}_grad"]
    assert_same(made(*args), grad(f)(*args))


def test_the_compiled_function_agrees() -> None:
    for f in (logistic, kalman):
        args = PROGRAMS[f]
        made = defined(source(jit(value_and_grad(f)), *args))[f"{f.__name__}_value_and_grad"]
        assert_same(made(*args), jit(value_and_grad(f))(*args))


def test_a_module_reads_as_one_would_write_it() -> None:
    text = source(grad(logistic), *PROGRAMS[logistic])
    assert (
        text.partition("@np.errstate")[2]
        == '''\
(all="ignore")  # infinities and NaN are results
def logistic_grad(w, X, y):
    """The gradient of logistic by w.

    w: float64[5]
    X: float64[100, 5]
    y: float64[100]
    Returns float64[5].
    """
    w = _array(w, np.float64, (5,))
    X = _array(X, np.float64, (100, 5))
    y = _array(y, np.float64, (100,))

    # line 14: logits = X @ w
    logits = X @ w

    # line 15: p = 1 / (1 + np.exp(-logits))
    p_part = np.exp(-logits)
    p_part_2 = 1.0 + p_part
    p = 1.0 / p_part_2

    # line 16: nll = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    nll_part = 1.0 - y
    nll_part_2 = 1.0 - p

    # backward of line 17: return nll + 0.1 * np.sum(w**2)
    d_1 = w * 0.2

    # backward of line 16: nll = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    d_p = y * -0.01 / p - nll_part * -0.01 / nll_part_2

    # backward of line 15: p = 1 / (1 + np.exp(-logits))
    d_logits = -(-d_p * p / p_part_2 * p_part)

    # backward of line 14: logits = X @ w
    d_w = d_1 + X.T @ d_logits

    return d_w
'''
    )


def test_trees_come_in_and_go_out_as_the_users() -> None:
    args = PROGRAMS[mlp]
    text = source(grad(mlp), *args)
    assert "params_0_1 = _array(params[0][1], np.float64, (4,))" in text
    assert "return [(d_params_0_0, d_params_0_1), (d_params_1_0, d_params_1_1)]" in text
    by_name = source(lambda p: {"twice": p["w"] * 2}, {"w": np.ones(2)}, name="f")
    assert defined(by_name)["f"]({"w": [1, 2]})["twice"].tolist() == [2.0, 4.0]


def test_named_tuples_are_plain_ones() -> None:
    class Pair(NamedTuple):
        a: Any
        b: Any

    text = source(lambda p: Pair(p.b, p.a * 2.0), Pair(1.0, 2.0), name="f")
    assert defined(text)["f"](Pair(1.0, 2.0)) == (2.0, 2.0)


SMALL, LARGE = np.array([1.0, np.inf, 3.0]), np.linspace(0.0, 1.0, 300)


def uses_arrays(x: Any) -> Any:
    return np.sum(LARGE * np.sum(x * SMALL[::2])) + np.sum(np.eye(2) @ x)


def test_arrays_of_the_closure() -> None:
    """Small ones stand in the module; large ones are arguments, with the user's name."""
    text = source(uses_arrays, np.ones(2))
    assert "constant = np.array([1.0, 3.0], dtype=np.float64)" in text
    assert "constant_2 = np.eye(2)" in text
    assert "def uses_arrays(x, LARGE):" in text
    x = np.array([0.5, 2.0])
    np.testing.assert_allclose(defined(text)["uses_arrays"](x, LARGE), uses_arrays(x))


def test_parameters_that_are_names_of_the_modules() -> None:
    text = source(lambda np_, special, linalg: np_ + special * linalg, 1.0, 2.0, 3.0, name="np_")
    assert defined(text)["np_"](1.0, 2.0, 3.0) == 7.0


def test_a_module_runs_alone(tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text(source(grad(kalman), *PROGRAMS[kalman]), encoding="utf-8")
    code = (
        "import sys, numpy as np; from alone import kalman_grad; "
        "print(kalman_grad(np.zeros(2), np.arange(200.0)).shape, 'autojit' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[0] == "(2,) False"


def test_mistakes() -> None:
    with pytest.raises(AutojitError, match="target must be one of numpy, numba, c; got 'rust'"):
        source(np.sin, np.ones(2), target="rust")
    with pytest.raises(NotArrayError, match=r"autojit.source\(lambda x: f\(x, setting\), x\)"):
        source(lambda x, mode: x, np.ones(2), "mode")

    def called(x: Any) -> Any:
        return autojit.pure_callback(np.sin, x, x)

    with pytest.raises(UnsupportedTargetError, match=r"(?s)callback cannot be.*line \d+"):
        source(called, np.ones(2))


def test_without_a_file_there_are_no_comments() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x * 2 + 1", space)
    text = source(space["f"], np.ones(2))
    assert "# line" not in text
    assert defined(text)["f"](np.ones(2)).tolist() == [3.0, 3.0]
    assert exported_programs.__doc__
