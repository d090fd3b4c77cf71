"""The carries of loops: where each is stored, and how steps pass them on.

Small carries are in registers or on the stack. A larger one is updated in place if all readers of
the old elements come before the new ones are written; otherwise two buffers are swapped.

Legal where no carry takes its next value before the step has read all old values: in place only as
``may_overwrite`` allows, and all others at the end of the step (``late``, ``step``).
"""

from __future__ import annotations

from autojit.codegen.loop_ir.sequences import Swap
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.scheduling.bufferization import Location, parts_of
from autojit.codegen.scheduling.fusion import Schedule
from autojit.codegen.scheduling.in_place import may_overwrite
from autojit.ir.core.program import Program, Value

from .nests import Nests
from .region_places import SMALL, RegionPlaces


class Carries:
    """The carries of one loop: where each is stored, and how steps pass them on."""

    def __init__(
        self,
        region: RegionPlaces,
        body: Program,
        operand: int,
        first: int,
        count: int,
        results: range,
    ) -> None:
        self.region = region
        self.operand = operand
        self.old = body.inputs[first : first + count]
        self.new = body.outputs[:count]
        self.results = [region.result(k) for k in results]
        self.schedule = Schedule(body, region.outer.traits, inside=True)
        self.kept: list[Location] = []
        self.next: list[Location | None] = []
        self.swapped: list[bool] = []
        self.late: list[Location | None] = []
        overwritten, self.needless = may_overwrite(self.schedule, self.old, self.new)
        for old, new, result, in_place in zip(
            self.old, self.new, self.results, overwritten, strict=True
        ):
            self._keep(old, new, result, in_place)

    def _keep(self, old: Value, new: Value, result: Location, in_place: bool) -> None:
        region, size = self.region, old.type.size * parts_of(old.dtype)
        small = size <= SMALL
        kept = Location(region.buffer(old, "carry")) if small else result
        if old is new:
            following: Location | None = None
        elif old.shape == ():
            following = None
        elif in_place:
            over = Buffer(f"{kept.buffer.name}_next", kept.buffer.dtype, kept.buffer.size,
                          kept.buffer.kind, kept.buffer)  # fmt: skip
            following = Location(over, kept.offset)
        else:
            following = Location(region.buffer(old, "next"))
        self.swapped.append(following is not None and not in_place and not small)
        if self.swapped[-1]:
            kept = Location(region.buffer(old, "carry"))
        self.kept.append(kept)
        self.next.append(following)
        self.late.append(kept if old.shape == () and old is not new else None)

    @property
    def inputs(self) -> dict[Value, Location]:
        """The locations where the body reads the carries."""
        return dict(zip(self.old, self.kept, strict=True))

    @property
    def outputs(self) -> list[Location | None]:
        """The locations where the body writes the next carries."""
        return self.next

    def start(self) -> None:
        """Initialize the carries before the first step."""
        for k, kept in enumerate(self.kept):
            self.region.initialize(self.operand + k, kept)

    def step(self, inner: Nests) -> None:
        """Pass on the carries at the end of a step."""
        self.region.finish(inner, self.new, self.late)
        for old, kept, following, swapped in zip(
            self.old, self.kept, self.next, self.swapped, strict=True
        ):
            if following is None or following.buffer.over is not None:
                continue
            if swapped:
                inner.scopes[0].body.append(Swap(kept.buffer, following.buffer))
            else:
                inner.copy(following, kept, old)

    def end(self) -> None:
        """Write the results after the last step."""
        outer = self.region.outer
        for value, kept, result in zip(self.old, self.kept, self.results, strict=True):
            if kept.buffer is not result.buffer:
                outer.copy(kept, result, value)
