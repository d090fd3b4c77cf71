"""All launches of a device program are run, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.calls import LibraryCall
from autojit.codegen.cuda.device_program.failures import TAPE_IS_FULL, error_for
from autojit.codegen.cuda.device_program.nodes import DeviceProgram
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_text.interpreter import flat
from autojit.codegen.loop_text.memory import Memory, poisoned

from .coalescing import Coalescing
from .launch import run_blocks

Caller = Callable[[LibraryCall, Memory], None]

#: The number of threads that are run at a time; the blocks of a launch are independent.
AT_A_TIME = 1 << 15
#: The number of steps that tapes have room for at first.
LENGTH_OF_TAPES = 4


def execute(
    program: DeviceProgram,
    arrays: Sequence[Any],
    *,
    counter: Coalescing | None = None,
    call: Caller | None = None,
) -> list[np.ndarray]:
    """The outputs of a program, flat, for arrays of its inputs; ``counter`` counts the accesses.

    NumPy and LAPACK compute library calls, or ``call(node, memory)`` does.  Temporaries, partial
    results and shared memory are poisoned before they are written.

    Raises:
        RaceError: if two threads race.
        LaunchError: if not all threads of a team come to a barrier.
        Exception: the error of a check in a kernel.
    """
    steps = LENGTH_OF_TAPES
    while True:
        outputs, failed = _run(program, arrays, steps, counter, call)
        if failed is None:
            return outputs
        if failed != TAPE_IS_FULL:
            raise error_for(failed)
        steps *= 4


def parts_of(call: LibraryCall, memory: Memory, number: int) -> list[np.ndarray]:
    """The arguments of call ``number`` of a node: the scalars of each part."""
    found = []
    for p in call.parts:
        start = p.offset + number * p.step
        found.append(memory.arrays[p.buffer][start : start + p.size])
    return found


def computed(call: LibraryCall, memory: Memory) -> None:
    """Compute library calls by NumPy and LAPACK."""
    for number in range(call.count):
        call.routine.compute(parts_of(call, memory, number))


def _run(
    program: DeviceProgram,
    arrays: Sequence[Any],
    steps: int,
    counter: Coalescing | None,
    call: Caller | None,
) -> tuple[list[np.ndarray], str | None]:
    """The outputs, and the failure or None, with tapes for ``steps`` steps."""
    loops = program.loops
    inputs = [flat(a, b) for a, b in zip(arrays, loops.inputs, strict=True)]
    memory = Memory(loops, [np.array(a) for a in inputs])
    for partial in program.partials:
        memory.arrays[partial] = poisoned(partial.dtype, partial.size)
    for tape in program.tapes:
        memory.arrays[tape] = poisoned(tape.dtype, steps * tape.size)
    status = np.zeros(len(program.failures), bool)
    places = {words: place for place, words in enumerate(program.failures)}
    known: set[Buffer] = set()
    with np.errstate(all="ignore"):
        for kernel in program.launches:
            new = [b for b in kernel.buffers if b not in known]
            known.update(new)
            memory.begin(new)
            if isinstance(kernel, LibraryCall):
                (call or computed)(kernel, memory)
                continue
            blocks = kernel.grid if kernel.meets else max(1, AT_A_TIME // kernel.threads)
            shadows: dict[int, Any] = {}
            for first in range(0, kernel.grid, blocks):
                here = np.arange(first, min(first + blocks, kernel.grid))
                run_blocks(kernel, here, memory, shadows, status, places, counter)
            if status.any():
                break
    failed = program.failures[int(np.argmax(status))] if status.any() else None
    return [memory.arrays[b] for b in loops.outputs], failed
