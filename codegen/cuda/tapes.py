"""Memory for loops of unknown length: a tape keeps what each step needs later.

Kernels note that a tape is full; then the caller launches them again with longer ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.values import Buffer

from .driver.card import Card
from .driver.memory import Memory

#: What stands for the number of steps among the buffers of a program.
STEPS = Buffer("steps", "i64", 1, "temp")
#: The steps that tapes have room for at first, and the most bytes that they have together then.
STEPS_OF_TAPES, BYTES_AT_FIRST = 1024, 64 << 20
#: Kernels have indices of 32 bits.
LONGEST = 1 << 31
#: They become so many times as long.
GROWTH = 4


class Tapes:
    """The tapes of a program, which become longer and never shorter."""

    def __init__(self, card: Card, tapes: Sequence[Buffer]) -> None:
        self._card = card
        self._longest = max(tape.size for tape in tapes)
        self._widths = [max(1, tape.size) * itemsize(tape.dtype) for tape in tapes]
        self.steps = max(1, min(STEPS_OF_TAPES, BYTES_AT_FIRST // sum(self._widths)))
        self._memory: list[Memory] = []

    def slots(self) -> list[int]:
        """Their addresses, and the number of steps that they have room for."""
        if self.steps * self._longest >= LONGEST:
            raise MemoryError(
                f"a loop has more than {self.steps // GROWTH} steps, and for its derivative a GPU "
                f"keeps at most {LONGEST} numbers of each of its values: use jit(f, device='cpu')"
            )
        if not self._memory:
            self._memory = [self._card.memory(self.steps * width) for width in self._widths]
        return [*(memory.pointer for memory in self._memory), self.steps]

    def grow(self) -> None:
        """Have room for more steps; what is on them is lost."""
        self._memory.clear()
        self.steps *= GROWTH
