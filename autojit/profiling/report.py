"""The results of a profile: phases, functions with their parts, operations, and lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .lines import Line, PartTime, lines_in, part_times
from .recorder import Node, Recorder, Sums

#: Phases in the order of a program's life: the kind of a span, or the name of a compiler phase ->
#: the name that is shown.
PHASES = {
    "tracing": "trace",
    "transforming": "transform",
    "pass": "passes",
    "optimize": "passes",
    "lower": "lower to loops",
    "read the cache": "read the cache",
    "write LLVM IR": "write LLVM IR",
    "LLVM": "LLVM",
    "compiling": "compile: imports, the rest",
    "arguments": "arguments",
    "run": "run",
    "interpreting": "interpreter",
    "operation": "tensors, forward",
    "backward": "tensors, backward",
}
#: Compiler phases that include everything that runs in them.
_WHOLE = ("lower", "LLVM", "write LLVM IR", "read the cache")
#: Kinds of spans whose time is due to the profile itself.
_OWN = ("call", "watching")


@dataclass(frozen=True)
class Phase:
    """The total time of one phase, and the number of its runs."""

    name: str
    seconds: float
    count: int


@dataclass
class FunctionTime:
    """The runs of one compiled program, and the parts of them."""

    name: str
    #: Whether a compiled function was called, rather than a program that each call traces.
    jit: bool
    count: int
    seconds: float
    parts: list[PartTime] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name, and whether it was called with ``jit``."""
        return f"jit {self.name}" if self.jit else f"{self.name}, without jit"

    @property
    def rest(self) -> float:
        """The seconds in no part: checks of arguments, and allocation of results."""
        return max(0.0, self.seconds - sum(part.time.seconds for part in self.parts))


@dataclass(frozen=True)
class OpTime:
    """The time of one operation that ran individually, on tensors or in the interpreter."""

    name: str
    #: ``operation``, ``backward`` or ``interpreting``.
    kind: str
    line: str
    count: int
    seconds: float


@dataclass
class Report:
    """All results of a profile; times are in seconds."""

    seconds: float
    #: The time of the profile itself, and the remaining time outside all phases: Python, NumPy.
    own: float
    elsewhere: float
    phases: list[Phase]
    functions: list[FunctionTime]
    ops: list[OpTime]
    lines: dict[tuple[str, int], Line]
    tree: Node

    @property
    def counted(self) -> float:
        """The total of all phases, to which shares refer."""
        return sum(phase.seconds for phase in self.phases)


def report(recorder: Recorder) -> Report:
    """The results of a profile so far."""
    tree = recorder.whole()
    totals: dict[str, list[float]] = {}
    own = [0.0]
    for child in tree.children.values():
        _add(child, "", totals, own)
    phases = [
        Phase(name, seconds, int(count))
        for name in dict.fromkeys(PHASES.values())
        if name in totals
        for seconds, count in [totals[name]]
    ]
    own_thread = recorder.of_thread(recorder.ident)
    spent = sum(child.net for child in own_thread.children.values()) + own_thread.own
    annotated = sum(_rest(node) for node in own_thread.walk() if node.kind == "annotation")
    elsewhere = max(0.0, recorder.seconds - spent) + annotated
    return Report(
        recorder.seconds, own[0] + tree.own, elsewhere, phases, _functions(tree), _ops(tree),
        lines_in(tree), tree,
    )  # fmt: skip


def _rest(node: Node) -> float:
    """The time of a node outside its children."""
    return max(0.0, node.net - sum(child.net for child in node.children.values()))


def _add(node: Node, above: str, totals: dict[str, list[float]], own: list[float]) -> None:
    name = phase_of(node, above)
    if node.kind in _OWN:
        own[0] += _rest(node)
    elif name:
        found = totals.setdefault(name, [0.0, 0])
        found[0] += _rest(node)
        found[1] += node.count if name != above else 0
    for child in node.children.values():
        _add(child, name, totals, own)


def phase_of(node: Node, above: str = "") -> str:
    """The phase of a node's own time; ``above`` is the phase of the parent."""
    if node.kind == "phase":
        return PHASES.get(node.name, above)
    if node.kind == "pass" and above in [PHASES[name] for name in _WHOLE]:
        return above
    return PHASES.get(node.kind, "")


def _functions(tree: Node) -> list[FunctionTime]:
    found: dict[tuple[bool, str, int], Sums] = {}
    plain: list[FunctionTime] = []
    for above, node in _pairs(tree):
        if node.kind != "run" or not node.count:  # others are still open
            continue
        jit = above.kind == "call"
        name = above.name if jit else node.name
        if not node.sums:
            plain.append(FunctionTime(name, jit, node.count, node.net))
        for number, sums in node.sums.items():
            key = jit, name, number
            found[key] = found[key].add(sums) if key in found else sums
    timed = [
        FunctionTime(name, jit, sums.runs, sums.seconds, part_times(sums))
        for (jit, name, _), sums in found.items()
    ]
    return sorted([*plain, *timed], key=lambda f: -f.seconds)


def _pairs(node: Node) -> Iterator[tuple[Node, Node]]:
    """All nodes, each as a pair of its parent and itself."""
    for child in node.children.values():
        yield node, child
        yield from _pairs(child)


def _ops(tree: Node) -> list[OpTime]:
    found: dict[tuple[str, str, str], list[float]] = {}
    for node in tree.walk():
        if node.kind in ("operation", "backward"):
            key = node.name, node.kind, str(node.source or "")
            _count(found, key, node.count, _rest(node))
        for ops in node.ops.values():
            for op, seconds in zip(ops.program.ops, ops.seconds, strict=False):
                key = op.kind.name, "interpreting", str(op.source or "")
                _count(found, key, 1, seconds)
    made = [OpTime(*key, int(count), seconds) for key, (count, seconds) in found.items()]
    return sorted(made, key=lambda op: -op.seconds)


def _count(
    found: dict[tuple[str, str, str], list[float]],
    key: tuple[str, str, str],
    count: int,
    seconds: float,
) -> None:
    known = found.setdefault(key, [0, 0.0])
    known[0] += count
    known[1] += seconds
