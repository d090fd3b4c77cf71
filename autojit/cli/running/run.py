"""``autojit run``: runs a program read from its text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autojit import disable_jit
from autojit.cli.common.arguments import random_array, show_results
from autojit.cli.common.calls import text_of
from autojit.cli.common.failures import Failure, running
from autojit.ir.core.program import Program
from autojit.ir.core.types import Type
from autojit.ir.tools.text import ParseError, parse
from autojit.ir.tools.verifier import verify
from autojit.staging.execute import apply


def run(
    file: str,
    args: Sequence[Any],
    seed: int,
    low: float,
    high: float,
    interpret: bool,
    format: str = "text",
) -> None:
    """Print the outputs of the program in a file, compiled or interpreted."""
    text = read_text(file)
    if is_loops(text):
        from .run_loops import run_loops

        run_loops(file, text, args, (seed, low, high), interpret, format)
        return
    program = program_in(text, file)
    if len(args) > len(program.inputs):
        raise Failure(
            f"program {program.name} takes {len(program.inputs)} arguments, {len(args)} were given"
        )
    rng = np.random.default_rng(seed)
    arrays = [
        fit(arg, t, i) for i, (arg, t) in enumerate(zip(args, program.in_types, strict=False))
    ]
    arrays += [random_array(t, rng, low, high) for t in program.in_types[len(args) :]]
    with running(f"program {program.name}"):
        if interpret:
            with disable_jit():
                results = apply(program, arrays)
        else:
            results = apply(program, arrays)
    show_results(program.name, results, program.out_types, format)


def read_text(file: str) -> str:
    """The text of a file, or of stdin for ``-``."""
    if ".py:" in file:
        raise Failure(
            f"{file} is a function, but FILE must be a program's text, which this command "
            f"writes: autojit dump {file} ARG… -o program.ir"
        )
    if file.endswith((".py", ".ipynb")):
        raise Failure(
            f"{file} is Python, but FILE must be a program's text, which this command writes: "
            f"autojit dump {file}:FUNCTION ARG… -o program.ir"
        )
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise Failure(f"cannot read {file}: {reason}") from None


def is_loops(text: str) -> bool:
    """Whether a text is a loop program, as printed by the stage `loops`."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.startswith("loops ")


def program_in(text: str, file: str) -> Program:
    """The verified program that a text describes."""
    try:
        program = parse(text)
    except ParseError as error:
        raise Failure(f"{file}: {error}") from None
    with running(f"verifying {file}"):
        verify(program)
    return program


def fit(arg: Any, type: Type, position: int) -> np.ndarray:
    """An argument as an array of the input's type; numbers may change their dtype."""
    try:
        array = np.asarray(arg)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biufc" or array.shape != type.shape:
        shown = text_of(arg) if isinstance(arg, np.ndarray) else repr(arg)
        raise Failure(f"argument {position} must be {type}; got {shown:.60}")
    if not np.can_cast(array.dtype, type.dtype, "same_kind"):
        raise Failure(f"argument {position} must be {type}; got {array.dtype.name}")
    return array.astype(type.dtype)
