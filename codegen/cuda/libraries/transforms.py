"""Fourier transforms by cuFFT."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from . import reference
from .prototypes import FORWARD, INVERSE, TRANSFORMS
from .routines import Routine, element_size
from .session import Session

#: The largest size or stride: they are 32-bit integers.
LARGEST = (1 << 31) - 1


@dataclass(frozen=True)
class Lines:
    """The layout of the numbers of transforms: ``points`` in a line, ``stride`` elements from one
    to the next, ``step`` elements from one line to the next."""

    points: int
    stride: int
    step: int


@dataclass(frozen=True)
class Transform(Routine):
    """Transforms along ``count`` lines, without a factor: (input, output).

    If the output is real, the input is overwritten.
    """

    made: str
    length: int
    inverse: bool
    count: int
    source: Lines
    target: Lines
    library: ClassVar[str] = "cufft"
    captures: ClassVar[bool] = True

    def alignments(self) -> Sequence[int]:
        """Both must have the alignment of a complex number (cuFFT's guide, section "Data
        Layout")."""
        size = max(element_size(self.dtype), element_size(self.made))
        return size, size

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        x, y = arrays
        source = _lines(self.elements(x), self.count, self.source)
        made = Routine(self.made).elements(y)
        target = _lines(made, self.count, self.target)
        reference.transform(source.copy(), target, self.length, inverse=self.inverse)
        if self.made[0] == "f":
            source[...] = np.nan

    def prepared(self, session: Session) -> Plan:
        return Plan(session, self)

    def invoke(self, session: Session, kept: Plan, addresses: Sequence[int], work: int) -> None:
        x, y = addresses
        _, name = TRANSFORMS[self.dtype, self.made]
        session.call("cufft", "cufftSetWorkArea", kept.plan, work)
        direction: tuple[Any, ...] = (INVERSE if self.inverse else FORWARD,)
        more = direction if self.dtype == self.made else ()
        session.call("cufft", name, kept.plan, x, y, *more)


def _lines(flat: np.ndarray, count: int, lines: Lines) -> np.ndarray:
    last = (count - 1) * lines.step + (lines.points - 1) * lines.stride
    assert last < len(flat), "memory ends within the lines"
    size = flat.itemsize
    strides = lines.step * size, lines.stride * size
    view: np.ndarray = np.lib.stride_tricks.as_strided(flat, (count, lines.points), strides)
    return view


class Plan:
    """A plan, and the size of its workspace; it is kept as long as the session."""

    def __init__(self, session: Session, t: Transform) -> None:
        made, size = ctypes.c_int(), ctypes.c_size_t()
        session.call("cufft", "cufftCreate", ctypes.addressof(made))
        self.plan = made.value
        session.call("cufft", "cufftSetAutoAllocation", self.plan, 0)
        length, before, after = ((ctypes.c_int * 1)(n) for n in (
            t.length, t.source.points, t.target.points))  # fmt: skip
        kind, _ = TRANSFORMS[t.dtype, t.made]
        session.call(
            "cufft", "cufftMakePlanMany", self.plan, 1, ctypes.addressof(length),
            ctypes.addressof(before), t.source.stride, t.source.step, ctypes.addressof(after),
            t.target.stride, t.target.step, kind, t.count, ctypes.addressof(size),
        )  # fmt: skip
        session.call("cufft", "cufftSetStream", self.plan, session.stream)
        # At least one byte: without auto-allocation, a plan without a work area returns
        # CUFFT_NO_WORKSPACE, and the guide does not say whether it accepts a null pointer.
        self.nbytes = max(1, int(size.value))
