"""Recomputes tapes for a reverse loop, one segment at a time, if that is faster than storing them.

Before, a loop and its reverse, with a tape of 24 KB from each of 999 steps::

    %c, %tape: f64[999,3000] = scan %x {body=program step …, length=999, reverse=False}
    %g = scan %b, %tape {body=program back …, length=999, reverse=True}

After::

    %c, %starts: f64[37,3000] = scan %x {body=program 27 steps …, length=37, reverse=False}
    %g = scan %b, %starts {body=program {
      %tape: f64[27,3000] = scan … {body=program step …, length=27, reverse=False}
      %b' = scan …, %tape {body=program back …, length=27, reverse=True}
    }, length=37, reverse=True}

The tape of a segment is a 27th of the whole tape and stays in the cache; the whole tape went
through memory twice.  (Griewank and Walther, "Evaluating Derivatives", 2008, chapter 12: two-level
checkpointing, in which each step is computed twice.)  The operations on the numbers are the same.

Legal where the reader runs the other way and makes as many steps, and nothing else reads the tapes.
Steps are repeated from the same carries, so nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any, NamedTuple

from autojit.ir.core.machine import LAST, current
from autojit.ir.core.program import Builder, Op, Program, Value, building, readers_of
from autojit.ir.ops.bodies import groups
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.segments import EachSegment, in_segments, steps_of
from autojit.ir.rewriting import dce
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass

#: The smallest size of a tape, as a part of the last-level cache: values stored before and after it
#: take the rest.
LARGE = 1 / 4
#: Storing a byte of a tape takes longer than this many operations on elements (measured: three).
WORK_OF_A_BYTE = 2.0
#: Functions that cost this many additions are polynomials, and take three times as long.
DEAR, TIMES_DEAR = 8, 3
#: The fewest steps in a segment, and the fewest segments.
FEWEST = 4


@program_pass(
    "Recomputes long tapes one segment at a time instead of storing them.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with these tapes in segments; the same object if there are none."""
    pairs = _pairs(program) if program.has(Scan) else []
    if not pairs:
        return program
    forwards = {pair.forward: pair for pair in pairs}
    backwards = {pair.backward: pair for pair in pairs}
    builder = Builder()
    env: dict[Value, Value] = {v: v for v in program.inputs}
    with building(builder):
        for op in program.ops:
            with builder.at(op.source):
                if op in forwards:
                    env.update(forwards[op].emit_forward(env))
                elif op in backwards:
                    env.update(backwards[op].emit_backward(env))
                else:
                    results = builder.repeat(op, [env[v] for v in op.operands])
                    env.update(zip(op.results, results, strict=True))
    return program.with_body(builder.ops, [env[v] for v in program.outputs])


def _pairs(program: Program) -> list[_Pair]:
    """Pairs of a loop and its reverse with such tapes; a loop is in one pair."""
    scans = [op for op in program.ops if isinstance(op.kind, Scan)]
    if len(scans) < 2:
        return []
    readers = readers_of(program.ops, program.outputs)
    maker = {v: op for op in scans for v in op.results[op.params["carries"] :]}
    taken: set[Op] = set()
    found = []
    for op in scans:
        rows = op.operands[op.params["constants"] + op.params["carries"] :]
        for forward in dict.fromkeys(maker[v] for v in rows if v in maker):
            tapes = [v for v in forward.results if v in rows and readers[v] == rows.count(v)]
            pair = _Pair(forward, op, tapes)
            if taken.isdisjoint((forward, op)) and pair.pays():
                found.append(pair)
                taken.update((forward, op))
    return found


class _Layout(NamedTuple):
    """The operands of a scan, or the inputs of its body, by role."""

    constants: list[Any]
    carries: list[Any]
    rows: list[Any]


def _layout(op: Op) -> _Layout:
    return _Layout(*groups(op.operands, op.params["constants"], op.params["carries"]))


class _Pair:
    """A loop, another one that runs the other way, and the results that only the latter reads."""

    def __init__(self, forward: Op, backward: Op, tapes: list[Value]) -> None:
        self.forward, self.backward, self.tapes = forward, backward, tapes
        self.length: int = forward.params["length"]
        #: The carries at the beginning of each segment, by the position of the carry.
        self.starts: list[EachSegment] = []
        #: The operands of the loop.
        self.given: list[Value] = []

    # -- whether it pays -------------------------------------------------------------

    def pays(self) -> bool:
        first, second = self.forward.params, self.backward.params
        if second["length"] != self.length or first["reverse"] == second["reverse"]:
            return False
        stored = sum(v.type.nbytes for v in self.tapes)
        if not stored or stored < current().cache(LAST, LARGE) or self.length < FEWEST**2:
            return False
        work: float = _work(self._storing(first)) * self.length
        return work <= WORK_OF_A_BYTE * stored

    def _size(self) -> int:
        """Steps per segment: near the least memory, and in segments of equal size if possible."""
        carried = sum(v.type.nbytes for v in _layout(self.forward).carries)
        stored = sum(v.type.nbytes for v in self.tapes)
        best = isqrt(self.length**2 * carried // stored)
        best = min(max(best, FEWEST), self.length // FEWEST)
        near = [s for s in range(max(best // 2, 2), 2 * best) if self.length % s == 0]
        return min(near, key=lambda s: abs(s - best), default=best)

    # -- the loops in segments ---------------------------------------------------------

    def _positions(self, *, kept: bool) -> list[int]:
        """The positions of the loop's stacked results that are not tapes, or that are."""
        ys = self.forward.results[self.forward.params["carries"] :]
        return [k for k, v in enumerate(ys) if (v not in self.tapes) == kept]

    def _narrow(self, params: dict[str, Any], ys: Sequence[int]) -> dict[str, Any]:
        """The parameters of the loop with only some of its stacked results."""
        body, m = params["body"], params["carries"]
        outputs = [*body.outputs[:m], *(body.outputs[m + k] for k in ys)]
        return {**params, "body": dce.run(body.with_body(body.ops, outputs))}

    def _storing(self, params: dict[str, Any]) -> Program:
        body: Program = self._narrow(params, self._positions(kept=False))["body"]
        return body

    def emit_forward(self, env: dict[Value, Value]) -> dict[Value, Value]:
        """Emit the loop without tapes; return its results by the results that they replace."""
        operands = self.given = [env[v] for v in self.forward.operands]
        m = self.forward.params["carries"]
        kept = self._positions(kept=True)
        params = self._narrow(self.forward.params, kept)
        n = params["constants"]

        def segment(steps: int) -> Program:
            inner = steps_of(params, steps)
            starts = inner.inputs[n + 1 : n + 1 + m]
            return inner.with_body(inner.ops, [*inner.outputs, *starts])

        results, self.starts = in_segments(operands, params, self._size(), segment, extras=m)
        replaced = [*self.forward.results[:m], *(self.forward.results[m + k] for k in kept)]
        return dict(zip(replaced, results, strict=True))

    def emit_backward(self, env: dict[Value, Value]) -> dict[Value, Value]:
        """Emit the reverse, which first recomputes the tapes of each segment."""
        mine, theirs = _layout(self.backward), _layout(self.forward)
        again = groups(self.given, len(theirs.constants), len(theirs.carries))
        own = [v for v in mine.rows if v not in self.tapes]
        operands = [
            *again[0], *(env[v] for v in (*mine.constants, *mine.carries, *own)), *again[2],
        ]  # fmt: skip
        params = {
            **self.backward.params,
            "constants": len(theirs.constants) + len(mine.constants),
        }
        results, _ = in_segments(
            operands, params, self._size(), lambda steps: self._reverse(steps, own), self.starts
        )
        return dict(zip(self.backward.results, results, strict=True))

    def _reverse(self, steps: int, own: list[Value]) -> Program:
        """The reverse of a segment, from the carries at its beginning."""
        mine, theirs = _layout(self.backward), _layout(self.forward)
        storing = self._narrow(self.forward.params, self._positions(kept=False))
        first, second = steps_of(storing, steps), steps_of(self.backward.params, steps)
        index = Value(first.in_types[storing["constants"]])
        c, k, d, g, r, x = (
            [Value(v.type.with_shape((steps, *v.shape[1:])) if is_rows else v.type) for v in group]
            for group, is_rows in (
                (theirs.constants, False), (theirs.carries, False), (mine.constants, False),
                (mine.carries, False), (own, True), (theirs.rows, True),
            )
        )  # fmt: skip
        builder = Builder()
        with building(builder):
            made = builder.inline(first, [*c, index, *k, *x])[len(k) :]
            ys = self.forward.results[self.forward.params["carries"] :]
            tapes = [v for v in ys if v in self.tapes]
            of = {**dict(zip(tapes, made, strict=True)), **dict(zip(own, r, strict=True))}
            outputs = builder.inline(second, [*d, index, *g, *(of[v] for v in mine.rows)])
        return builder.finish([*c, *d, index, *g, *r, *x, *k], outputs, name=second.name)


def _work(body: Program) -> float:
    """The number of operations on elements in a step; infinity if unknown."""
    total = 0.0
    for op in body.ops:
        is_function = isinstance(op.kind, Elementwise) and op.kind.cost >= DEAR
        total += op.kind.work(op) * (TIMES_DEAR if is_function else 1)
    return total
