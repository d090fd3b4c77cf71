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
    """A function of a library, with its sizes and settings."""

    @property
    def library(self) -> str:
        """The name of the library that has the function."""

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        """Compute the same on arrays, each of which begins at the first element of its part."""

    def alignments(self) -> Sequence[int]:
        """The required alignments of the first parts, in bytes."""

    @property
    def captures(self) -> bool:
        """Whether the call may be captured for a CUDA graph."""

    def prepared(self, session: Any) -> Any:
        """The objects that a session keeps for the routine: sizes of workspaces, plans."""

    def workspace(self, session: Any, kept: Any, addresses: Sequence[int]) -> int:
        """The bytes of the workspace on the card, for parts at these addresses."""

    def invoke(self, session: Any, kept: Any, addresses: Sequence[int], work: int) -> None:
        """Call the function, with a workspace on the card at address ``work``."""


@dataclass(frozen=True, slots=True)
class Part:
    """Scalars of a buffer that a call reads (``r``), writes (``w``) or changes (``rw``).

    If the call is repeated, the scalars of the next call begin ``step`` scalars later.  Memory
    between the rows of a matrix counts as part of it.
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
    """A routine that a library runs on the card's stream, in order with the launches.

    It is called ``count`` times, for example once for each matrix of a batch.
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
        """The accesses that read (``r``) or write (``w``)."""
        found = []
        for p in self.parts:
            if access in p.access and p.size:
                high = p.size - 1 + (self.count - 1) * p.step
                found.append(Access(p.buffer, Affine(p.offset), 0, high))
        return found
