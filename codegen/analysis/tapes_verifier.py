"""A verifier of tapes: a step touches only its own part of tapes that have room for it.

A loop with a condition reserves room for a step on its tapes before the step's body runs. So

- tapes are touched in the body of their loop, or in sweeps over the steps that it ran, but not in
  its condition, which runs once more than the body;
- a step touches only its own part of a tape;
- a list of statements that fills or recalls tapes also releases or keeps them, and nothing touches
  them after that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autojit.codegen.loop_ir.sequences import Keep, Recall, Release, Repeat, Steps
from autojit.codegen.loop_ir.traversal import bodies_of, buffers_named, memory
from autojit.codegen.loop_ir.values import Buffer, Trips
from autojit.ir.core.affine import Affine, Var

#: Raises an error with the problem and the faulty statement.
Fail = Callable[[str, Any], None]


def verify_tapes(body: list[Any], fail: Fail) -> None:
    """Call ``fail`` if a kernel's statements touch tapes that do not exist."""
    _Check(fail).follow(body, {})


class _Check:
    def __init__(self, fail: Fail) -> None:
        self.fail = fail
        #: The tapes with memory, by loop.
        self.tapes: dict[Trips, list[Buffer]] = {}

    def follow(self, body: list[Any], steps: Mapping[Buffer, Var]) -> None:
        """Check statements in the given steps of the tapes' loops."""
        begun: dict[Trips, Any] = {}
        for s in body:
            if isinstance(s, (Repeat, Recall)):
                self.tapes[s.trips] = s.tapes
                if s.tapes:
                    begun[s.trips] = s
            if isinstance(s, (Release, Keep)):
                self._end(s, begun)
            else:
                self._inside(s, steps)
        for s in begun.values():
            self.fail("tapes are never given back", s)

    def _end(self, s: Release | Keep, begun: dict[Trips, Any]) -> None:
        ended = [trips for trips in begun if self.tapes[trips] == s.tapes]
        if s.tapes and not ended:
            self.fail("tapes are given back that are not there", s)
        for trips in ended:
            del begun[trips], self.tapes[trips]

    def _inside(self, s: Any, steps: Mapping[Buffer, Var]) -> None:
        if isinstance(s, Repeat):
            self.follow(s.condition, steps)
            self.follow(s.body, self._at(s, steps))
        elif isinstance(s, Steps):
            self.follow(s.body, self._at(s, steps))
        elif not isinstance(s, Recall):
            self._touches(s, steps)
            for inner in bodies_of(s):
                self.follow(inner, steps)

    def _at(self, s: Repeat | Steps, steps: Mapping[Buffer, Var]) -> Mapping[Buffer, Var]:
        return {**steps, **dict.fromkeys(self.tapes.get(s.trips, ()), s.step)}

    def _touches(self, s: Any, steps: Mapping[Buffer, Var]) -> None:
        for buffer in buffers_named(s):
            tape = memory(buffer)
            if tape.kind != "tape":
                continue
            if tape not in steps:
                self.fail(f"{tape} is touched outside of the steps of its loop", s)
            index = getattr(s, "index", None)
            if isinstance(index, Affine) and dict(index.terms).get(steps[tape], 0) != tape.size:
                self.fail(f"{tape} is touched at another step", s)
