"""Locations of the operands, results and carries of an op with bodies."""

from __future__ import annotations

from collections.abc import Sequence

from autojit.codegen.loop_ir.nodes import Fill, Store
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.scheduling.bufferization import (
    LOCAL,
    Location,
    parts_of,
    scalar_dtype,
)
from autojit.codegen.scheduling.materialization import BodyCall
from autojit.ir.core.affine import Affine
from autojit.ir.core.program import Op, Value

from .nests import Nests
from .scalar_code import parts

#: Values of at most this many scalars are carried in registers or on the stack.
SMALL = LOCAL


class RegionPlaces:
    """The locations of one op with bodies while it is lowered."""

    def __init__(self, outer: Nests, call: BodyCall) -> None:
        self.outer = outer
        self.call = call
        self.op: Op = call.op
        self.params = call.op.params
        self.placement = outer.placement
        self.here = outer.scopes[-1].body

    # -- locations ----------------------------------------------------------------

    def operand(self, k: int) -> Location:
        """Return the location of an operand; the index of a surrounding loop is stored first."""
        view = self.call.views[k]
        assert view is not None
        if view.base in self.outer.indices:
            place = self.buffer(view.base, "index")
            self.here.append(Store(place, Affine(0), self.outer.walk(view.base, ())))
            return Location(place)
        base = self.placement.base.get(view.base, Affine(0))
        return Location(self.placement.of[view.base], base + view.offset)

    def around(
        self, values: Sequence[Value], first: int = 0
    ) -> tuple[dict[Value, Location], dict[Value, Affine]]:
        """Return the locations or indices of a body's inputs that are operands of the op."""
        places, indices = {}, {}
        for k, value in enumerate(values, first):
            index = self.outer.indices.get(self.op.operands[k])
            if index is None:
                places[value] = self.operand(k)
            else:
                indices[value] = index
        return places, indices

    def result(self, k: int) -> Location:
        """Return the location of a result."""
        value = self.op.results[k]
        return Location(self.placement.of[value], self.placement.base.get(value, Affine(0)))

    def buffer(self, like: Value, what: str, over: Buffer | None = None) -> Buffer:
        """Return memory for a value of the loop."""
        size = like.type.size * parts_of(like.dtype)
        kind = "local" if size <= SMALL else "temp"
        name = f"{what}{next(self.placement.names)}"
        return Buffer(name, scalar_dtype(like.dtype), size, kind, over)

    def lies_at(self, k: int, place: Location) -> bool:
        """Whether an operand is at a location."""
        given = self.operand(k)
        return memory(given.buffer) is memory(place.buffer) and given.offset == place.offset

    def initialize(self, k: int, place: Location) -> None:
        """Set a carry to its operand before the first step."""
        value = self.op.operands[k]
        if self.call.views[k] is not None:
            # A loop may continue with a value in place.
            if not self.lies_at(k, place):
                self.outer.copy(self.operand(k), place, value)
            return
        constant = self.outer.definers[value]
        count, number = parts_of(value.dtype), constant.params["value"]
        start, size = place.offset * count, value.type.size * count
        if size:
            first = number.real if count > 1 else number
            self.here.append(Fill(place.buffer, start, size, first, self.op.source))

    def finish(
        self, inner: Nests, outputs: Sequence[Value], places: Sequence[Location | None]
    ) -> None:
        """Store scalars that a body leaves in registers."""
        elements = [
            inner.walk(v, ()) if p is not None else None
            for v, p in zip(outputs, places, strict=True)
        ]
        for element, place in zip(elements, places, strict=True):
            if place is not None:
                for i, part in enumerate(parts(element)):
                    count = len(parts(element))
                    index = place.offset * count + i
                    store = Store(place.buffer, index, part, part.source)
                    inner.scopes[0].body.append(store)
