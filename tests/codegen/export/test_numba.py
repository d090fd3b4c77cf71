"""Loop programs as Python that Numba compiles.

Most modules are run by Python itself, which is faster than compiling them; a few by Numba.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.codegen.export.loops.c_source import C
from autojit.codegen.export.loops.numba_source import numba_module
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from tests.codegen.loop_text.test_interpreter import EAGER, PROGRAMS
from tests.samples import SAMPLES
from tests.test_programs import programs

from .matrices import CASES, OF_LAPACK
from .running import assert_agrees, defined, interface


def module(program: Program) -> str:
    optimized = optimize(program)
    with EAGER:
        return numba_module(optimized, lower(optimized, C), interface(optimized))


def not_compiled(text: str) -> Any:
    """The functions of a module without Numba."""
    fake = types.SimpleNamespace(njit=lambda **options: lambda f: f)

    def get(name: str, *more: Any) -> Any:
        return fake if name == "numba" else __import__(name, *more)

    space: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": get}}
    exec(compile(text, "<module>", "exec"), space)
    return space


def check(name: str, program: Program, arguments: list[Any], run: Callable[[str], Any]) -> bool:
    """Whether a program can be written; if it can, compare its results."""
    arrays = [np.asarray(a, t.dtype) for a, t in zip(arguments, program.in_types, strict=False)]
    try:
        text = module(program)
    except TargetError:
        return False
    with np.errstate(all="ignore"):
        made = run(text)["f"](*arrays, *program.captured)
    assert_agrees(name, program, made, arrays)
    return True


@pytest.mark.slow
def test_samples_by_python() -> None:
    every = [(s, p) for s in SAMPLES[3::15] for p in programs(s)]
    written = [check(s.name, p, s.draw(), not_compiled) for s, p in every]
    assert sum(written) > 0.7 * len(written)  # the others call functions of SciPy or LAPACK


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_all_kinds_by_python(name: str) -> None:
    """Tapes, branches, complex products, sequential rows: constructs that are rare in samples."""
    f, x = PROGRAMS[name]
    assert check(name, autojit.trace(f)(x), [x], not_compiled)


@pytest.mark.parametrize("name", [*CASES, *OF_LAPACK])
def test_orders_transforms_and_factorizations_by_python(name: str) -> None:
    f, arguments = {**CASES, **OF_LAPACK}[name]
    assert check(name, autojit.trace(f)(*arguments), arguments, not_compiled)


COMPILED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a loop": (
        autojit.grad(lambda x: autojit.while_loop(lambda c: c < 9, lambda c: c * x, 1.1)),
        (1.3,),
    ),
    "factors": (
        autojit.grad(lambda a, b: np.sum(np.linalg.solve(a, b)) + np.linalg.cholesky(a)[1, 0]),
        (np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones(2)),
    ),
    "order and transform": (
        lambda x: np.fft.irfft(np.fft.rfft(np.sort(x))[:4], 6), (np.array([3.0, 1, 2, 5, 4, 1, 0]),)
    ),
    "vectors": (
        lambda a: np.linalg.svd(np.linalg.eigh(a)[1])[1] + np.linalg.pinv(np.linalg.qr(a)[1])[0],
        (np.array([[2.0, 0.5], [0.5, 1.0]]),),
    ),
    "places": (lambda x, i: np.maximum(x[i], np.float32(1)) ** 2, (np.arange(4, dtype=np.float32),
                                                                  np.array([1, -1]))),
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str) -> None:
    f, arguments = COMPILED[name]
    assert check(name, autojit.trace(f)(*arguments), list(arguments), defined)


def test_failures_are_errors() -> None:
    program = autojit.trace(lambda x, i: x[i])(np.ones(3), np.array([0]))
    with pytest.raises(IndexError, match="out of bounds"):
        not_compiled(module(program))["f"](np.ones(3), np.array([7]))
    program = autojit.trace(np.linalg.cholesky)(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        not_compiled(module(program))["f"](-np.eye(2))


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (
            np.linalg.eig,
            r'eig of f64 matrices cannot be written for Numba: it needs a library. target="numpy"',
        ),
        (lambda x: np.linalg.eigh(x, "U"), "eigh of f64 matrices cannot"),
        (lambda x: np.linalg.qr(x[:, :2], "complete"), "qr of f64 matrices cannot"),
        (lambda x: np.linalg.inv(x * 1j), "lu of c128 matrices cannot"),
    ],
)
def test_what_needs_a_library_is_refused(f: Any, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        module(autojit.trace(f)(np.ones((3, 3))))


def test_names_of_parameters_are_kept_apart() -> None:
    """A leaf of a tree may have the same name as another parameter."""

    def f(x: Any, x_0: Any) -> Any:
        return x[0] * 10 + x_0

    text = autojit.source(f, (1.0,), 2.0, target="numba")
    assert not_compiled(text)["f"]((1.0,), 2.0) == 12.0
