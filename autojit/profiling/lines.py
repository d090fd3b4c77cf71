"""Times by the user's lines: of compiled parts, and of what the interpreter runs op by op.

A loop nest often computes several lines at once, and nobody can tell their times apart.  Its time
is then divided by the work of their operations, as the compiler's cost model has it, and marked as
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

#: What an op that only moves data amounts to, as a part of an addition for each element.
MOVED = 0.1
#: What an op amounts to of which that is not known.
UNKNOWN = 20
#: Steps of a loop whose number is not known.
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
        """Whether more than a twentieth is."""
        return self.estimated > 0.05 * self.seconds

    def add(self, seconds: float, *, backward: bool, estimated: bool) -> None:
        """More time of the line."""
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
    #: Parts in it, which run in a loop.
    inside: list[PartTime] = field(default_factory=list)

    @property
    def sources(self) -> list[Source]:
        """The lines, those with the most work first."""
        return sorted(self.shares, key=lambda s: -self.shares[s])

    @property
    def what(self) -> str:
        """What it is called: a kernel, or the function of a library."""
        t = self.time
        if t.kind == "loops":
            return t.name
        return t.kind if len(t.number) == 1 else f"{t.name} {t.kind}"

    @property
    def direction(self) -> str:
        """``forward``, ``backward``, ``both``, or nothing where no line is known."""
        found = {s.backward for s in self.shares}
        if len(found) == 1:
            return "backward" if found.pop() else "forward"
        return "both" if found else ""


# -- compiled code ---------------------------------------------------------------------


def part_times(sums: Sums) -> list[PartTime]:
    """The parts of a program that ran, in order, those in loops inside of theirs."""
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
    """The parts with the lines of the very program that ran: programs of one structure share their
    code, whatever lines they come from."""
    code = sums.code
    if lines_of(code.source) == lines_of(sums.program):
        parts: list[Part] = code.parts
        return parts
    own = parts_of(Executable(sums.program.bound_to(())).loops)
    same = [p[:3] for p in own] == [p[:3] for p in code.parts]
    return own if same else []


def _shares(ops: Sequence[Op]) -> Shares:
    """The part of the work that each line has."""
    inside = {id(op) for outer in ops for body in outer.programs for op in _all_ops(body)}
    found: Shares = {}
    for op, times in _counted((op for op in ops if id(op) not in inside), 1.0):
        if op.source is not None and not isinstance(op.kind, BodyOp):
            found[op.source] = found.get(op.source, 0.0) + times * _work(op)
    if not found:  # a loop that does nothing but move
        found = {op.source: 1.0 for op in ops if op.source is not None}
    total = sum(found.values())
    return {source: work / total for source, work in found.items()}


def _all_ops(program: Program) -> Iterator[Op]:
    for op in program.ops:
        yield op
        for body in op.programs:
            yield from _all_ops(body)


def _counted(ops: Iterable[Op], times: float) -> Iterator[tuple[Op, float]]:
    """Ops, and how often each runs."""
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
    """The times of lines, by file and number, in runs of compiled code and of the interpreter."""
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
    """A part's time, of which those parts in it that know their lines have theirs."""
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
