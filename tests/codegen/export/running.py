"""Runs modules where autojit cannot be imported, and compares them with the interpreter."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.codegen.export.text.interface import Interface
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret


def interface(program: Program) -> Interface:
    """A function of the program's inputs, by number."""
    own = len(program.inputs) - len(program.captured)
    names = tuple(f"x{k}" for k in range(own))
    count = len(program.outputs)
    return Interface(
        name="f", title="A function.", parameters=names, inputs=names,
        captured=("constant",) * len(program.captured), results=tuple(range(count)),
        outputs=tuple(f"r{k}" for k in range(count)),
    )  # fmt: skip


def _import(name: str, *more: Any) -> Any:
    assert name.partition(".")[0] in ("math", "numpy", "scipy", "numba"), f"a module imports {name}"
    return __import__(name, *more)


def defined(text: str) -> Any:
    """The function that a module defines; it may import only NumPy and SciPy."""
    space: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": _import}}
    exec(compile(text, "<module>", "exec"), space)
    return space


def call(function: Callable[..., Any], program: Program, arrays: Sequence[Any]) -> Any:
    """Return the results; large arrays of the closure are passed as arguments."""
    more = len(inspect.signature(function).parameters) - len(arrays)
    large = [a for a in program.captured if np.size(a) > 200]
    return function(*arrays, *large[len(large) - more :])


def assert_agrees(name: str, program: Program, made: Sequence[Any], arrays: Sequence[Any]) -> None:
    """Check that results agree with the interpreter's in shape, dtype and values."""
    want = interpret(program, [*arrays, *program.captured])
    for got, expected, type in zip(made, want, program.out_types, strict=True):
        assert np.shape(got) == type.shape, name
        assert np.asarray(got).dtype == type.dtype, name
        tolerance = 2e-4 if type.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(got, expected, tolerance, tolerance, err_msg=name)
