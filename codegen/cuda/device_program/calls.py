"""Calls of libraries among the launches of a device program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from autojit.codegen.loop_ir.effects import Access, declare
from autojit.codegen.loop_ir.origins import Origins
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine


class Routine(Protocol):
    """What is called: a function of a library, with its sizes and settings."""

    @property
    def library(self) -> str:
        """The library that has it."""

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        """Do the same to arrays of elements, from the first one that each part has."""

    def alignments(self) -> Sequence[int]:
        """Multiples of how many bytes the parts have to begin at."""

    @property
    def captures(self) -> bool:
        """Whether it may be captured for a CUDA graph."""

    def prepared(self, session: Any) -> Any:
        """What a session keeps of it: sizes of workspaces, plans."""

    def workspace(self, session: Any, kept: Any, addresses: Sequence[int]) -> int:
        """The bytes on the card that it works in, for parts at these addresses."""

    def invoke(self, session: Any, kept: Any, addresses: Sequence[int], work: int) -> None:
        """Call it, with memory to work in on the card."""


@dataclass(frozen=True, slots=True)
class Part:
    """Scalars of a buffer that a call reads (``r``), writes (``w``) or changes (``rw``).

    ``step`` scalars behind them are those of the next one, where a call is repeated.  Memory
    between the rows of a matrix counts as its own.
    """

    buffer: Buffer
    offset: int
    size: int
    access: str
    step: int = 0


@declare(
    reads=lambda s: s.touched("r"),
    writes=lambda s: s.touched("w"),
    buffers=lambda s: s.buffers,
)
@dataclass(slots=True)
class LibraryCall:
    """A routine that a library runs on the card's stream, in its place among the launches.

    It is called ``count`` times, once for each matrix of a batch.
    """

    name: str
    doc: str
    routine: Routine
    parts: list[Part]
    count: int = 1
    #: The ops that it computes.
    origins: Origins = field(default=(), compare=False, repr=False)

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers, in the order of their parts."""
        return list(dict.fromkeys(p.buffer for p in self.parts))

    def touched(self, access: str) -> list[Access]:
        """Where it reads (``r``) or writes (``w``)."""
        found = []
        for p in self.parts:
            if access in p.access and p.size:
                high = p.size - 1 + (self.count - 1) * p.step
                found.append(Access(p.buffer, Affine(p.offset), 0, high))
        return found
