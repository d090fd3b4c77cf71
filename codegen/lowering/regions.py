"""Loops and branches of a program become native ones, with their bodies inlined.

A body is scheduled and lowered like a program, but its inputs and outputs are in the loop's memory:
rows of the scanned arrays, the memory of the carries, rows of the stacked results. Scalar carries
are stored at the end of a step, and LLVM keeps them in registers; larger ones stay in memory
(``carries``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.sequences import (
    MANY,
    NOTE,
    Branch,
    Keep,
    Recall,
    Release,
    Repeat,
    Steps,
)
from autojit.codegen.loop_ir.values import Buffer, Trips
from autojit.codegen.scheduling.bufferization import (
    Frame,
    Location,
    Placement,
    parts_of,
    scalar_dtype,
)
from autojit.codegen.scheduling.fusion import Schedule
from autojit.codegen.scheduling.in_place import may_overwrite
from autojit.codegen.scheduling.materialization import BodyCall
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.switch import Switch
from autojit.ir.regions.while_ import While

from .carries import Carries
from .nests import Nests
from .region_places import RegionPlaces


def lower_bodies(outer: Nests, call: BodyCall) -> None:
    """Write the statements of an op with bodies at the lowering's position."""
    if not outer.traits.bodies:
        raise TargetError(
            f"{call.op.kind.name} cannot be compiled for this device yet. Compile the function "
            "for the CPU, or run it with autojit.disable_jit().",
            call.op.source,
        )
    outer.source = call.op.source
    region = Region(outer, call)
    if isinstance(call.op.kind, Scan):
        region.scan()
    elif isinstance(call.op.kind, While):
        region.loop()
    elif isinstance(call.op.kind, Switch):
        region.switch()
    else:
        region.once()


class Region(RegionPlaces):
    """One op with bodies while it is lowered."""

    # -- bodies -----------------------------------------------------------------

    def body(
        self,
        program: Program,
        inputs: dict[Value, Location],
        outputs: Sequence[Location | None],
        indices: dict[Value, Affine],
        variables: dict[Var, tuple[int, int]],
        schedule: Schedule | None = None,
        needless: Collection[Value] = (),
    ) -> tuple[Nests, list[Any]]:
        """Lower a body. Return its lowering and its statements."""
        schedule = schedule or Schedule(program, self.outer.traits, inside=True)
        # An index has no location: it is stored when it is returned.
        is_index = [v in indices for v in program.outputs]
        computed = [None if i else p for i, p in zip(is_index, outputs, strict=True)]
        frame = Frame(inputs, computed, self.placement.names)
        placement = Placement(program, schedule, self.outer.traits, frame)
        inner = self.outer.nested(program, schedule, placement)
        inner.numbers = self.outer.numbers
        inner.in_steps = True
        inner.source = self.op.source
        inner.indices = dict(indices)
        inner.bounds = {**_sequences(self.outer), **variables}
        inner.level = dict.fromkeys(inner.bounds, 0)
        inner.needless = needless
        inner.write()
        late = [p if i else None for i, p in zip(is_index, outputs, strict=True)]
        self.finish(inner, program.outputs, late)
        return inner, inner.scopes[0].body

    # -- loops --------------------------------------------------------------------

    def scan(self) -> None:
        """Write ``for step in range(length)``."""
        body, length = self.params["body"], self.params["length"]
        n, m = self.params["constants"], self.params["carries"]
        carries = Carries(self, body, n, n + 1, m, range(m))
        if not length:
            carries.start()
            carries.end()
            return
        step = Var(length)
        index = affine.of(step)
        if self.params["reverse"]:
            index = index * -1 + (length - 1)
        inputs, indices = self.around(body.inputs[:n])
        inputs.update(carries.inputs)
        for k in range(n + m, len(self.op.operands)):
            where, row = self.operand(k), body.inputs[k + 1]
            inputs[row] = Location(where.buffer, where.offset + index * row.type.size)
        outputs: list[Location | None] = list(carries.outputs)
        for k, value in enumerate(body.outputs[m:], m):
            where = self.result(k)
            outputs.append(Location(where.buffer, where.offset + index * value.type.size))
        carries.start()
        inner, statements = self.body(
            body, inputs, outputs, {**indices, body.inputs[n]: index}, {step: (0, length - 1)},
            carries.schedule, carries.needless,
        )  # fmt: skip
        carries.step(inner)
        self.here.append(Loop(step, 0, length, statements, "sequence"))
        carries.end()

    def loop(self) -> None:
        """Write a loop with a condition, and the sweeps after it."""
        kept = self.outer.schedule.kept
        first = kept.source.get(self.op)
        later = kept.reverse_of(self.op)
        trips, tapes = Trips(), list[Buffer]()
        if first is None:
            tapes = self._new_tapes(later)
        elif len(self.params["sweeps"]) > 1:
            tapes, note = self.outer.tapes[first]
            self.here.append(Recall(tapes, trips, note))
        streams = [Location(tape) for tape in tapes]
        position, pushed = self.params["constants"], 0
        for k, body in enumerate(self.params["sweeps"]):
            m = self.params["carries"][k]
            following = pushed + len(body.outputs) - m
            if first is None or k:
                self._sweep(k, position, streams, pushed, tapes, trips)
            else:
                self._same_results(kept.same, m)
            position, pushed = position + m, following
        if later is not self.op:
            note = Buffer(f"note{next(self.placement.names)}", "i64", NOTE, "temp")
            self.outer.tapes[self.op] = tapes, note
            self.here.append(Keep(tapes, trips, note))
        elif tapes:
            self.here.append(Release(tapes))

    def _new_tapes(self, op: Op) -> list[Buffer]:
        """Return a tape for each stream of a loop's sweeps."""
        return [
            self._tape(value)
            for body, m in zip(op.params["sweeps"], op.params["carries"], strict=True)
            for value in body.outputs[m:]
        ]

    def _same_results(self, same: dict[Value, Value], count: int) -> None:
        """Copy the results of the first sweep from the loop that has run it."""
        for k, value in enumerate(self.op.results[:count]):
            if value in same:
                there = self.placement.of[same[value]]
                base = self.placement.base.get(same[value], Affine(0))
                self.outer.copy(Location(there, base), self.result(k), value)

    def _sweep(
        self, k: int, position: int, streams: list[Location], pushed: int, tapes: list[Buffer],
        trips: Trips,
    ) -> None:  # fmt: skip
        """Write one sweep; it reads ``streams[:pushed]`` and writes the next ones."""
        n, m = self.params["constants"], self.params["carries"][k]
        body = self.params["sweeps"][k]
        step = Var(MANY)
        first = len(body.inputs) - m
        results = range(position - n, position - n + m)
        carries = Carries(self, body, position, first, m, results)
        inputs, indices = self.around(body.inputs[:n])
        for value, place in zip(body.inputs[n:first], streams[:pushed], strict=True):
            inputs[value] = self._at(place, step, value)
        inputs.update(carries.inputs)
        outputs: list[Location | None] = list(carries.outputs)
        for value, place in zip(body.outputs[m:], streams[pushed:], strict=False):
            outputs.append(self._at(place, step, value))
        carries.start()
        inner, statements = self.body(
            body, inputs, outputs, indices, {step: (0, MANY - 1)},
            carries.schedule, carries.needless,
        )  # fmt: skip
        carries.step(inner)
        if k == 0:
            self._first_sweep(step, carries, statements, tapes, trips)
        else:
            self.here.append(Steps(step, trips, self.params["backward"][k], statements))
        carries.end()

    def _first_sweep(
        self, step: Var, carries: Carries, statements: list[Any], tapes: list[Buffer],
        trips: Trips,
    ) -> None:  # fmt: skip
        condition = self.params["condition"]
        n = self.params["constants"]
        inputs, indices = self.around(condition.inputs[:n])
        for value, (_, place) in zip(condition.inputs[n:], carries.inputs.items(), strict=True):
            inputs[value] = place
        inner, test_body = self.body(condition, inputs, [None], indices, {step: (0, MANY - 1)})
        test = inner.walk(condition.outputs[0], ())
        self.here.append(Repeat(step, test_body, test, statements, tapes, trips))

    def _tape(self, like: Value) -> Buffer:
        size = like.type.size * parts_of(like.dtype)
        return Buffer(f"tape{next(self.placement.names)}", scalar_dtype(like.dtype), size, "tape")

    def _at(self, place: Location, step: Var, like: Value) -> Location:
        return Location(place.buffer, place.offset + affine.of(step) * like.type.size)

    # -- branches and plain bodies ------------------------------------------------

    def switch(self) -> None:
        """Write a branch to one of several bodies."""
        index = self.outer.walk(self.op.operands[0], ())
        taken = self.call.taken or {}
        here = {k: w - 1 for k, w in taken.items() if self.lies_at(w, self.result(k))}
        bodies = [self._plain(branch, 1, here) for branch in self.params["branches"]]
        self.here.append(Branch(index, bodies))

    def once(self) -> None:
        """Write a body that runs once, outside of a loop."""
        self.here.extend(self._plain(self.params["body"], 0, {}))

    def _plain(self, body: Program, first: int, here: dict[int, int]) -> list[Any]:
        """Return a body's statements; ``here`` maps outputs to inputs in the same place."""
        inputs, indices = self.around(body.inputs, first)
        places = [self.result(k) for k in range(len(body.outputs))]
        scalar = [v.shape == () for v in body.outputs]
        pairs = {body.outputs[k]: body.inputs[w] for k, w in here.items()}
        outputs = [
            None if s or pairs.get(v) is v else p
            for v, s, p in zip(body.outputs, scalar, places, strict=True)
        ]
        schedule = Schedule(body, self.outer.traits, inside=True)
        changed = {after: before for after, before in pairs.items() if after is not before}
        fits, needless = may_overwrite(schedule, [*changed.values()], [*changed])
        assert all(fits)
        inner, statements = self.body(body, inputs, outputs, indices, {}, schedule, needless)
        late = [p if s else None for s, p in zip(scalar, places, strict=True)]
        self.finish(inner, body.outputs, late)
        return statements


def _sequences(outer: Nests) -> dict[Var, tuple[int, int]]:
    """Return the surrounding loops whose steps run in order."""
    return {v: b for v, b in outer.bounds.items() if outer.level.get(v) == 0}
