"""Find the loops that LLVM vectorized, in the optimised LLVM IR.

Loops get a label in their metadata. The vectorizer keeps it, and adds its own mark to the vector
loop and to the loop for the remaining iterations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from autojit.codegen.loop_ir.cost import CHEAP
from autojit.codegen.loop_ir.nodes import Compute, Loop, RunTasks
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import walk

#: The prefix of the metadata of a labelled loop.
MARK = "autojit.loop"

_NODE = re.compile(r"^!(\d+) = (?:distinct )?!\{(.*)\}$", re.MULTILINE)
_LABEL = re.compile(rf'!"{MARK}", !"([^"]*)"')
_BRANCH = re.compile(r"^  br .*!llvm\.loop !(\d+)", re.MULTILINE)
#: Instructions that only move elements: if elements are not contiguous, several vectors at once.
_MOVES = re.compile(r"\b(?:load|store|shufflevector|getelementptr)\b|@llvm\.masked\.")
_LANES = re.compile(r"<(\d+) x (?:double|float|i(?:8|16|32|64))>")


def loop_labels(symbol: str, body: list[Any]) -> dict[int, str]:
    """Return a label for each loop in the body of a function, by its identity."""
    return {id(s): f"{symbol} {n}" for n, s in enumerate(walk(body)) if isinstance(s, Loop)}


def is_dear(loop: Loop) -> bool:
    """Whether iterations are independent and call functions of many instructions.

    Such code would be duplicated, for vectors and for the remaining iterations.
    """
    names = {s.name for s in loop.body if isinstance(s, Compute)} - CHEAP
    if loop.role != "map" or not names or any(isinstance(s, Loop) for s in loop.body):
        return False
    from autojit.codegen import vector_math  # takes 7 ms, so only programs that need it import it

    return not names.isdisjoint(vector_math.NAMES)


def lanes(program: LoopProgram, llvm: str) -> dict[int, int]:
    """Return the number of elements that each innermost loop computes at a time, by identity.

    1 means that the loop is scalar. A loop that LLVM dissolved is not included.
    """
    found = _lanes_by_label(llvm)
    result = {}
    for number, step in enumerate(program.steps):
        if not isinstance(step, Kernel):
            continue
        labels = loop_labels(f"kernel{number}", step.body)
        for s in walk(step.body):
            if isinstance(s, RunTasks):
                labels.update(loop_labels(f"kernel{number}_task", s.tasks.body))
        for s in walk(step.body):
            if isinstance(s, Loop) and not holds_loops(s) and (label := labels[id(s)]) in found:
                result[id(s)] = found[label]
    return result


def holds_loops(s: Loop | Repeat) -> bool:
    """Whether a loop contains loops that are not unrolled."""
    return any(isinstance(x, Loop) and not x.unroll for x in walk(s.body))


def _lanes_by_label(llvm: str) -> dict[str, int]:
    found: dict[str, int] = {}
    # Each part of a program numbers its own metadata.
    for module in re.split(r"^; ModuleID", llvm, flags=re.MULTILINE):
        for label, width in _labelled(module):
            found[label] = max(found.get(label, 1), width)
    return found


def _labelled(module: str) -> Iterator[tuple[str, int]]:
    """Yield the labels of a module's loops, and how many elements they compute at a time."""
    nodes = dict(_NODE.findall(module))
    for block in re.split(r"\n(?=\S+:)|\n\n", module):
        for branch in _BRANCH.finditer(block):
            parts = [nodes.get(n, "") for n in re.findall(r"!(\d+)", nodes[branch[1]])]
            label = next((m[1] for part in parts if (m := _LABEL.search(part))), None)
            if label is None:
                continue
            marked = any("llvm.loop.isvectorized" in part for part in parts)
            yield label, _widest(block) if marked else 1


def _widest(block: str) -> int:
    """Return the lanes of the values that a block computes, or moves if it computes none."""
    lines = block.splitlines()
    computed = [line for line in lines if not _MOVES.search(line)]
    widths = [
        [int(n) for line in chosen for n in _LANES.findall(line)] for chosen in (computed, lines)
    ]
    return max(widths[0] or widths[1], default=1)
