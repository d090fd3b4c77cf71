"""Which ufuncs of scipy.special are covered, their values at edges, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special as special

import autojit
from autojit import errors, grad, jit
from autojit.codegen.cuda.printing.words import Words
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.special.external import External
from autojit.protocols.ufunc_plans import find_answer
from autojit.scipy.special.coverage import NOT_COVERED, refused
from autojit.staging.execute import executable
from tests.samples.special import differentiable
from tests.samples.special_points import POINTS

UFUNCS = {name: f for name, f in vars(special).items() if isinstance(f, np.ufunc)}
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, -0.5, 0.5, 1e-300, 1e300, 30.0, -30.0, np.inf, -np.inf,
         np.nan]  # fmt: skip


def test_every_ufunc_is_covered_or_listed() -> None:
    missing = {name for name, f in UFUNCS.items() if find_answer(f) is None}
    assert missing == NOT_COVERED.keys() & UFUNCS.keys()
    assert all(NOT_COVERED.values())


def test_every_covered_ufunc_has_points() -> None:
    complex_only = {"wofz", "hankel1", "hankel1e", "hankel2", "hankel2e"}
    assert UFUNCS.keys() - POINTS.keys() == NOT_COVERED.keys() & UFUNCS.keys() | complex_only


def test_refusals_are_what_the_list_says() -> None:
    assert refused()["struve"] == (0,)
    assert "gammaln" not in refused()
    x = np.array([1.0, 2.0])
    with pytest.raises(
        errors.AutojitError, match=r"scipy\.special\.struve with respect to its first"
    ):
        grad(lambda v: np.sum(special.struve(v, x)))(x)
    with pytest.raises(errors.AutojitError, match=r"stop_gradient\(p\)"):
        autojit.jvp(lambda b: special.wright_bessel(0.5, b, 0.1), (x,), (x,))


def values(name: str, *arguments: Any) -> Any:
    with np.errstate(all="ignore"):
        return getattr(special, name)(*arguments)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_edges_of_functions_of_one_argument(dtype: Any) -> None:
    # Formulas and vector code differ from SciPy in the last digits of tiny results.
    names = [n for n, a in POINTS.items() if len(a) == 1 and is_called(n)]
    with np.errstate(over="ignore"):
        x = np.array(EDGES).astype(dtype)
    got = jit(lambda x: tuple([values(n, x) for n in names]))(x)
    for name, made in zip(names, got, strict=True):
        for g, w in zip(leaves(made), leaves(values(name, x)), strict=True):
            assert g.dtype == w.dtype, name
            tolerance = 1e-15 if dtype == np.float64 else 3e-6
            np.testing.assert_allclose(g, w, rtol=32 * tolerance, err_msg=name)


def is_called(name: str) -> bool:
    return isinstance(find_answer(UFUNCS[name]), (External, list))


def leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def test_formulas_at_edges() -> None:
    x, y = (m.ravel() for m in np.meshgrid(EDGES, EDGES))
    names = ["rel_entr", "kl_div", "huber", "pseudo_huber", "xlogy", "boxcox"]
    got = jit(lambda x, y: tuple([values(n, x, y) for n in names]))(x, y)
    for name, made in zip(names, got, strict=True):
        fine = (np.abs(x) < 1e100) & (np.abs(y) < 1e100)
        fine &= (np.abs(x) > 1e-200) | (x == 0)
        fine &= (np.abs(y) > 1e-200) | (y == 0)
        np.testing.assert_allclose(made[fine], values(name, x, y)[fine], rtol=1e-13, err_msg=name)


def test_values_in_threads_and_fused() -> None:
    x = np.random.default_rng(0).uniform(0.1, 20, 200_000)
    f = jit(lambda x: np.exp(-special.gammaln(x + 1) * 0.1) * np.sin(x))
    want = np.exp(-special.gammaln(x + 1) * 0.1) * np.sin(x)
    np.testing.assert_allclose(f(x), want, rtol=1e-13, atol=1e-15)
    total = jit(lambda x: np.sum(special.gammaln(x)))(x)
    assert total == pytest.approx(np.sum(special.gammaln(x)), rel=1e-13)


def test_a_loop_of_steps_calls_them() -> None:
    def f(x: Any) -> Any:
        for _ in range(40):
            x = special.erfcx(x) + special.gammaln(x + 2) * 0.1
        return x

    x = np.linspace(0.1, 1, 5)
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-12)


def test_text_of_loops_reads_back() -> None:
    from autojit.codegen.loop_text.parse import parse_loops
    from autojit.codegen.loop_text.printer import print_loops

    program = autojit.trace(lambda x: special.gammaln(x) + special.airy(x)[1])(np.ones(3))
    loops = executable(program).loops
    text = print_loops(loops)
    assert "special('gammaln', s0)" in text
    assert print_loops(parse_loops(text)) == text


def test_other_targets_say_which_function() -> None:
    with pytest.raises(TargetError, match=r"scipy\.special\.ellipk cannot be compiled for CUDA"):
        Words().expression("special: ellipk", ["x"], "f64", "f64")


def test_complex_numbers() -> None:
    z = np.array([0.3 + 0.4j])
    with pytest.raises(errors.AutojitError, match="complex operands"):
        jit(special.elliprc)(z, z)
    assert jit(special.gamma)(z)[0] == pytest.approx(special.gamma(z)[0], rel=1e-15)


PROGRAM = """
import numpy as np, scipy.special as special
from autojit import jit, grad
x = np.linspace(0.5, 3, 7)
f = jit(lambda x: (special.gammaln(x), special.psi(x), special.airy(x)[2]))
made = f(x)
assert all(np.array_equal(a, b) for a, b in zip(made, (special.gammaln(x), special.psi(x),
                                                      special.airy(x)[2])))
g = jit(grad(lambda x: np.sum(special.psi(x))))
np.testing.assert_allclose(g(x), special.polygamma(1, x), rtol=1e-14)
"""


@pytest.mark.slow
def test_code_on_disk_finds_the_functions_of_another_process(tmp_path: Path) -> None:
    environment = {**os.environ, "AUTOJIT_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False,
            cwd=Path(__file__).parents[3],
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*"))


def test_points_say_what_is_differentiated() -> None:
    assert differentiable("struve") == [1]
    assert differentiable("betainc") == [0, 1, 2]
