"""``autojit dump --remarks``: optimisations that were not made, and the reasons."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from autojit import jit
from autojit.cli.common.failures import running
from autojit.cli.common.terminal import console
from autojit.codegen.cpu.llvm import vector_remarks
from autojit.codegen.cuda.libraries.finding import libraries
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.program import device_program
from autojit.codegen.driver.executable import Executable
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CUDA
from autojit.ir.core.program import Program
from autojit.ir.pass_manager.remarks import Remark, collecting
from autojit.ir.passes.pipeline import optimize
from autojit.session import transform_cache
from autojit.session.devices import CPU, chosen
from autojit.staging.execute import target_errors

#: The headings of the remarks, by pass, in the order in which passes run.
_QUESTIONS = {
    "capture": "Python loops, compiled as loops or unrolled",
    "roll": "Python loops, not rolled up",
    "fusion": "loops, not fused",
    "parallelize": "loops, not cut into tasks",
    "vectors": "loops, no vector code",
    "libraries": "linear algebra on a GPU, not by NVIDIA's libraries",
}


def collected(f: Callable[..., Any], args: Sequence[Any]) -> list[Remark]:
    """The remarks about a function, from its trace to its code, by pass."""
    transform_cache.clear()  # cached results would skip passes
    with collecting() as remarks, running(getattr(f, "__name__", "the function")):
        program = jit(f).lower(*args).program
        with target_errors():
            if is_for_gpu(program):
                device_program(lower(optimize(program), CUDA), Machine(libraries=libraries()))
            else:
                executable = Executable(program)
                vector_remarks.remark(executable.loops, executable.llvm())
    order = list(_QUESTIONS)
    return sorted(remarks, key=lambda remark: order.index(remark.by))


def is_for_gpu(program: Program) -> bool:
    """Whether a program is for a GPU."""
    return (chosen(program.devices) or CPU) != CPU


def text(remarks: Sequence[Remark]) -> str:
    """The remarks as wrapped text."""
    if not remarks:
        return "# No remarks: loops were rolled up, fused, cut into tasks and made vector code."
    lines: list[str] = []
    for by, group in groupby(remarks, key=lambda remark: remark.by):
        lines += ["", f"==== {by}: {_QUESTIONS[by]} ====", ""]
        for remark in group:
            lines += _wrapped(_shown(remark.place), "")
            lines += _wrapped(_shown(remark.reason), "    ")
            if remark.way_out:
                lines += _wrapped(f"-> {remark.way_out}.", "    ")
    return "\n".join(lines[1:])


def _wrapped(words: str, margin: str) -> list[str]:
    return textwrap.wrap(
        words, console().width, initial_indent=margin, subsequent_indent=margin + "  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _shown(words: str) -> str:
    """The words, with shortened paths in the current folder."""
    return words.replace(os.getcwd() + os.sep, "")


def as_json(remarks: Sequence[Remark]) -> str:
    """The remarks as JSON, a list of objects."""
    names = ("pass", "place", "reason", "way_out")
    return json.dumps([dict(zip(names, remark, strict=True)) for remark in remarks], indent=2)
