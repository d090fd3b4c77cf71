"""Memory for loops of unknown length: a tape keeps values of each step for later use.

If a tape is full, kernels set a flag; the caller then launches them again with longer tapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.values import Buffer

from .driver.card import Card
from .driver.memory import Memory

#: A buffer that stands for the number of steps among the buffers of a program.
STEPS = Buffer("steps", "i64", 1, "temp")
#: The number of steps that tapes have room for at first, and the most bytes that all tapes together
#: take at first.
STEPS_OF_TAPES, BYTES_AT_FIRST = 1024, 64 << 20
#: The length that a tape may not reach: kernels have indices of 32 bits.
LONGEST = 1 << 31
#: The factor by which tapes become longer.
GROWTH = 4


class Tapes:
    """The tapes of a program, which grow but never shrink."""

    def __init__(self, card: Card, tapes: Sequence[Buffer]) -> None:
        self._card = card
        self._longest = max(tape.size for tape in tapes)
        self._widths = [max(1, tape.size) * itemsize(tape.dtype) for tape in tapes]
        self.steps = max(1, min(STEPS_OF_TAPES, BYTES_AT_FIRST // sum(self._widths)))
        self._memory: list[Memory] = []

    def slots(self) -> list[int]:
        """The addresses of the tapes, then the number of steps that they have room for."""
        if self.steps * self._longest >= LONGEST:
            raise MemoryError(
                f"a loop has more than {self.steps // GROWTH} steps, and for its derivative a GPU "
                f"keeps at most {LONGEST} numbers of each of its values: use jit(f, device='cpu')"
            )
        if not self._memory:
            self._memory = [self._card.memory(self.steps * width) for width in self._widths]
        return [*(memory.pointer for memory in self._memory), self.steps]

    def grow(self) -> None:
        """Make room for more steps; the contents are lost."""
        self._memory.clear()
        self.steps *= GROWTH
