"""Times by the user's lines: of compiled parts, of interpreted ops, of operations on tensors.

A loop nest often computes several lines at once; nobody can tell their times apart.  Its time is
then divided by the work of their operations, as a cost model has it, and marked as estimated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from autojit.codegen.analysis.measured import Part, parts_of
from autojit.codegen.driver.executable import Executable
from autojit.codegen.driver.timed import StepTime
from autojit.codegen.loop_ir.cost import CHEAP
from autojit.codegen.loop_ir.origins import ops_of
from autojit.ir.core.machine import current
from autojit.ir.core.program import Op, Program
from autojit.ir.core.values import Source
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.tools.interpreter import Program as _Program  # noqa: F401

from .recorder import Node, Sums


class Place(NamedTuple):
    """A line of the user's."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass
class Line:
    """The seconds of a line, forward and backward, and how many of them are estimated."""

    forward: float = 0.0
    backward: float = 0.0
    estimated: float = 0.0

    @property
    def seconds(self) -> float:
        """Forward and backward together."""
        return self.forward + self.backward


@dataclass
class PartTime:
    """A part of compiled code: its times, and the lines that it computes with their shares."""

    time: StepTime
    shares: dict[Source, float]

    @property
    def places(self) -> list[Source]:
        """The lines, those with the most work first."""
        return sorted(self.shares, key=lambda s: -self.shares[s])

    @property
    def direction(self) -> str:
        """``forward``, ``backward`` or ``both``."""
        found = {s.backward for s in self.shares}
        return "both" if len(found) > 1 else "backward" if True in found else "forward"
