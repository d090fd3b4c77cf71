"""Times of the user's lines, in compiled parts and in operations that the interpreter runs.

A loop nest often computes several lines at once, whose times cannot be told apart.  Its time is
then divided by the work of the lines' operations, by the compiler's cost model, and marked as
estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite

from autojit.codegen.analysis.measured import Part, parts_of
from autojit.codegen.driver.executable import Executable
from autojit.codegen.driver.timed import StepTime
from autojit.codegen.loop_ir.origins import ops_of
from autojit.ir.core.program import Op, Program
from autojit.ir.core.values import Source
from autojit.ir.ops.bodies import BodyOp

from .recorder import Node, Sums, lines_of

#: The work of an op that only moves data, in additions per element.
MOVED = 0.1
#: The work of an op whose work is not known, in additions per element.
UNKNOWN = 20
#: The assumed number of steps of a loop if it is not known.
SOME_STEPS = 10

Shares = dict[Source, float]


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

    @property
    def is_estimated(self) -> bool:
        """Whether more than a twentieth of the time is estimated."""
        return self.estimated > 0.05 * self.seconds

    def add(self, seconds: float, *, backward: bool, estimated: bool) -> None:
        """Add time to the line."""
        if backward:
            self.backward += seconds
        else:
            self.forward += seconds
        if estimated:
            self.estimated += seconds


@dataclass
class PartTime:
    """A part of compiled code: its times, and the shares of the lines that it computes."""

    time: StepTime
    shares: Shares
    #: Parts that run in a loop inside this one.
    inside: list[PartTime] = field(default_factory=list)

    @property
    def sources(self) -> list[Source]:
        """The lines, in order of decreasing work."""
        return sorted(self.shares, key=lambda s: -self.shares[s])

    @property
    def what(self) -> str:
        """The name of the part: a kernel, or the function of a library."""
        t = self.time
        if t.kind == "loops":
            return t.name
        return t.kind if len(t.number) == 1 else f"{t.name} {t.kind}"

    @property
    def direction(self) -> str:
        """``forward``, ``backward`` or ``both``; the empty string if no line is known."""
        found = {s.backward for s in self.shares}
        if len(found) == 1:
            return "backward" if found.pop() else "forward"
        return "both" if found else ""


# -- compiled code ---------------------------------------------------------------------


def part_times(sums: Sums) -> list[PartTime]:
    """The parts of a program that ran, in order; parts in loops are inside the loops' parts."""
    found: list[PartTime] = []
    origins = {part.number: part.node for part in _own_parts(sums)}
    for time in sums.code.times(sums.counts, sums.ticks):
        node = origins.get(time.number)
        ops = ops_of(node) if getattr(node, "origins", ()) else []
        made = PartTime(time, _shares(ops))
        if len(time.number) == 1:
            found.append(made)
        else:
            found[-1].inside.append(made)
    return found


def _own_parts(sums: Sums) -> list[Part]:
    """The parts with the lines of the program that ran.

    Programs of the same structure share their code, even if they come from different lines.
    """
    code = sums.code
    if lines_of(code.source) == lines_of(sums.program):
        parts: list[Part] = code.parts
        return parts
    own = parts_of(Executable(sums.program.bound_to(())).loops)
    same = [p[:3] for p in own] == [p[:3] for p in code.parts]
    return own if same else []


def _shares(ops: Sequence[Op]) -> Shares:
    """The share of each line in the work of some ops."""
    inside = {id(op) for outer in ops for body in outer.programs for op in _all_ops(body)}
    found: Shares = {}
    for op, times in _counted((op for op in ops if id(op) not in inside), 1.0):
        if op.source is not None and not isinstance(op.kind, BodyOp):
            found[op.source] = found.get(op.source, 0.0) + times * _work(op)
    if not found:  # a loop that only moves data
        found = {op.source: 1.0 for op in ops if op.source is not None}
    total = sum(found.values())
    return {source: work / total for source, work in found.items()}


def _all_ops(program: Program) -> Iterator[Op]:
    for op in program.ops:
        yield op
        for body in op.programs:
            yield from _all_ops(body)


def _counted(ops: Iterable[Op], times: float) -> Iterator[tuple[Op, float]]:
    """The ops, with the number of times that each runs."""
    for op in ops:
        yield op, times
        if op.programs:
            steps = op.params.get("length", SOME_STEPS if op.kind.name == "while" else 1)
            for body in op.programs:
                yield from _counted(body.ops, times * steps)


def _work(op: Op) -> float:
    elements = max((v.type.size for v in (*op.operands, *op.results)), default=1)
    work = float(op.kind.work(op))
    return max(work if isfinite(work) else UNKNOWN * elements, MOVED * elements, MOVED)


# -- the lines of a tree ---------------------------------------------------------------


def lines_in(tree: Node) -> dict[tuple[str, int], Line]:
    """The times of lines, by file and number, in compiled code and in the interpreter."""
    found: dict[tuple[str, int], Line] = {}
    for node in tree.walk():
        for sums in node.sums.values():
            for part in part_times(sums):
                _add_part(found, part)
        for ops in node.ops.values():
            for op, seconds in zip(ops.program.ops, ops.seconds, strict=False):
                _add(found, {op.source: 1.0} if op.source else {}, seconds)
        if node.source is not None:
            _add(found, {node.source: 1.0}, node.net)
    return found


def _add_part(found: dict[tuple[str, int], Line], part: PartTime) -> None:
    """Add a part's time to its lines; inner parts with known lines are added to those lines."""
    known = [inner for inner in part.inside if inner.shares]
    rest = part.time.seconds - sum(inner.time.seconds for inner in known)
    for inner in known:
        _add(found, inner.shares, inner.time.seconds)
    others = {s for inner in known for s in inner.shares}
    shares = {s: w for s, w in part.shares.items() if s not in others} or part.shares
    _add(found, shares, max(0.0, rest))


def _add(found: dict[tuple[str, int], Line], shares: Shares, seconds: float) -> None:
    total = sum(shares.values())
    for source, share in shares.items():
        line = found.setdefault((source.file, source.line), Line())
        many = len({(s.file, s.line, s.backward) for s in shares}) > 1
        line.add(seconds * share / total, backward=source.backward, estimated=many)
