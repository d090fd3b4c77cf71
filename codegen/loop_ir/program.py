"""Loop programs, which every backend prints kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .callbacks import Callback
from .matrices import Factorization, MatrixProduct
from .origins import Origins
from .sheets import Sheet
from .values import Buffer


@dataclass(slots=True)
class Kernel:
    """A loop nest with what comes before and after it."""

    name: str
    body: list[Any]
    buffers: list[Buffer]
    values: int = 0
    #: The ops that it computes.
    origins: Origins = field(default=(), compare=False, repr=False)


@dataclass(slots=True)
class LoopProgram:
    """Everything that one call runs."""

    name: str
    inputs: list[Buffer]
    outputs: list[Buffer]
    steps: list[Kernel | MatrixProduct | Factorization | Callback | Sheet]
    temps: dict[Buffer, int] = field(default_factory=dict)
    #: Temporaries that share memory with a buffer that is written when they are read for the last
    #: time.
    taken: dict[Buffer, Buffer] = field(default_factory=dict)
    arena: int = 0
    #: The number of last inputs that are arrays the traced function closed over.
    captured: int = 0

    def __str__(self) -> str:
        return views.text(self)


class Views:
    """How loop programs are printed: a function of ``loop_text``, which lies above."""

    text: Callable[[LoopProgram], str]


views = Views()

#: The alignment of temporaries in bytes: a cache line, which is enough for any vector.
ALIGNMENT = 64
