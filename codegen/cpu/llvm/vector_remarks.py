"""Remarks that explain from a loop's statements why it was not vectorized.

LLVM's own reasons are not available: llvmlite does not pass on those of the new passes. Scalar
loops are found in LLVM's output (``vectors``); the reason given is one that prevents vectorization
or makes it unprofitable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.codegen.loop_ir.nodes import Compute, Loop, ScatterInto
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.scheduling.remarks import about_loop

from .vectors import holds_loops, lanes

#: Loops of fewer iterations are shorter than two of the widest vectors.
SHORT = 16
#: Operations for which processors have no vector instruction.
_SCALAR_WORDS = {"floor_divide", "fmod", "remainder"}


def remark(program: LoopProgram, llvm: str) -> None:
    """Add a remark about each innermost loop that LLVM left scalar."""
    found = lanes(program, llvm)
    for kernel in program.steps:
        if isinstance(kernel, Kernel):
            for s in walk(kernel.body):
                if found.get(id(s)) == 1 or (_runs_in_turn(s) and not holds_loops(s)):
                    about_loop("vectors", kernel, s, *_why(s))


def _runs_in_turn(s: Any) -> bool:
    return isinstance(s, Repeat) or (isinstance(s, Loop) and s.role == "sequence")


def _why(loop: Any) -> tuple[str, str]:
    """Return the reason, and a way out."""
    for holds, reason, way_out in _REASONS:
        if holds(loop):
            return reason, way_out
    return "LLVM left it as it is, and does not say why", ""


def _scatters(loop: Loop) -> bool:
    return any(isinstance(s, ScatterInto) for s in loop.body)


def _scalar_words(loop: Loop) -> bool:
    return any(isinstance(s, Compute) and s.name in _SCALAR_WORDS for s in loop.body)


#: Reasons for scalar loops, the strongest first: a test, the reason, the way out.
_REASONS: list[tuple[Callable[[Loop], Any], str, str]] = [
    (
        lambda loop: isinstance(loop, Repeat) or loop.role == "sequence",
        "its steps run in turn: each may read a result of the previous one",
        "Several such loops at once are vectors: autojit.vmap",
    ),
    (
        lambda loop: loop.stop - loop.start < SHORT,
        "it has too few iterations for vectors",
        "",
    ),
    (
        _scatters,
        "it writes to computed places, and two iterations may meet in one",
        "If the places are known during tracing, use a NumPy array for them instead of an argument",
    ),
    (
        _scalar_words,
        "it takes quotients or remainders, for which there are no instructions on vectors",
        "",
    ),
]
