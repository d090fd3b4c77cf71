"""The launches of a program are a table that one call runs, or a CUDA graph."""

from __future__ import annotations

import ctypes
import struct
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from autojit.ir.core.locks import Lock

from . import entry, forks
from .prototypes import KernelNode

if TYPE_CHECKING:
    from .card import Card

#: The fewest launches for a graph, which is made at the second call with the same memory.
GRAPH = 3
#: The most graphs kept of a program, each for other addresses: results alternate between two or
#: three places.
MOST_GRAPHS = 4


class Step(NamedTuple):
    """One launch: a kernel of a card, its grid and block, the slot numbers of its parameters, and
    whether all blocks must run at the same time."""

    function: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parameters: tuple[int, ...]
    together: bool = False


class Launcher:
    """The launches of a program, whose kernels take addresses in memory.

    The addresses lie in slots: first those that each call passes, then the fixed ones.
    """

    def __init__(self, card: Card, steps: Sequence[Step], given: int, fixed: Sequence[int]) -> None:
        self.card = card
        self.lock = Lock()
        count = given + len(fixed)
        self._slots = (ctypes.c_uint64 * max(1, count))(*[0] * given, *fixed)
        self._pack = struct.Struct(f"{given}Q").pack_into
        start = ctypes.addressof(self._slots)
        #: Arrays of pointers to the slots, one for each launch.
        self._pointers = [
            (ctypes.c_void_p * max(1, len(s.parameters)))(*[start + 8 * p for p in s.parameters])
            for s in steps
        ]
        self._nodes = (KernelNode * max(1, len(steps)))()
        for node, step, pointers in zip(self._nodes, steps, self._pointers, strict=False):
            node.function, node.grid, node.block = step.function, step.grid, step.block
            node.parameters = ctypes.addressof(pointers)
            node.extra = 1 if step.together else None
        self._work = card.work(len(steps), ctypes.addressof(self._nodes))
        self._address = ctypes.addressof(self._work)
        self._stream = card.stream
        self._run = entry.launch()
        self.steps = list(steps)
        #: The function that is named if a launch fails.
        self._name = "cuLaunchKernel" if self.captures else "cuLaunchCooperativeKernel"
        self._graphs = Graphs(self) if self.captures and len(steps) >= GRAPH else None

    @property
    def captures(self) -> bool:
        """Whether the launches may be nodes of a graph."""
        return not any(step.together for step in self.steps)

    def run(self, addresses: Sequence[int]) -> None:
        """Launch everything on the card's stream with these addresses; hold the lock meanwhile."""
        self._pack(self._slots, 0, *addresses)
        if self._graphs is not None:
            self._work.graph = self._graphs.find(tuple(addresses))
        if self._stream != self.card.stream:
            self._stream = self._work.stream = self.card.stream
        code = self._run(self._address)
        if code:
            forks.refuse()
            self.card.library.check(code, "cuGraphLaunch" if self._work.graph else self._name)

    def fill(self, addresses: Sequence[int]) -> None:
        """Write addresses to the slots without a launch; hold the lock meanwhile."""
        self._pack(self._slots, 0, *addresses)

    def node(self, number: int) -> Any:
        """A launch as a graph node; its parameters are read from the slots."""
        return self._nodes[number]


class Graphs:
    """The graphs of a program, keyed by the addresses that they use.

    The parameters of a launch are read when a graph is made.  The pool returns the same memory
    again (see ``Pool``), so graphs for the last few addresses serve a loop without updates.
    """

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._seen: tuple[int, ...] | None = None
        self._made: OrderedDict[tuple[int, ...], _Graph] = OrderedDict()
        self._met: OrderedDict[tuple[int, ...], None] = OrderedDict()

    def find(self, addresses: tuple[int, ...]) -> int | None:
        """The graph for these addresses, which are in the slots already; None to use the table."""
        found = self._made.get(addresses)
        if found is not None:
            self._made.move_to_end(addresses)
            return found.executable
        if addresses not in self._met:  # no graph for addresses that may never return
            self._met[addresses] = None
            while len(self._met) > 4 * MOST_GRAPHS:
                self._met.popitem(last=False)
            return None
        if len(self._made) < MOST_GRAPHS:
            found = _Graph(self._launcher)
        else:
            _, found = self._made.popitem(last=False)
            found.update()
        self._made[addresses] = found
        return found.executable


class _Graph:
    """One graph, made of the launches with the addresses that are in the slots now."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        card = launcher.card
        self._library = card.library
        with card:
            self._graph = self._library.asked("cuGraphCreate", ctypes.c_void_p, 0)
            self._added = self._add()
            self.executable = self._library.asked(
                "cuGraphInstantiateWithFlags", ctypes.c_void_p, self._graph, 0
            )

    def _add(self) -> list[int]:
        """Add a node for each launch, which runs after the one before it."""
        nodes: list[int] = []
        for number in range(len(self._launcher.steps)):
            before = (ctypes.c_void_p * 1)(nodes[-1] if nodes else None)
            nodes.append(
                self._library.asked(
                    "cuGraphAddKernelNode_v2", ctypes.c_void_p, self._graph,
                    ctypes.addressof(before) if nodes else None, len(nodes[-1:]),
                    ctypes.addressof(self._launcher.node(number)),
                )
            )  # fmt: skip
        return nodes

    def update(self) -> None:
        """Use the addresses that are in the slots now for later launches."""
        with self._launcher.card:
            for number, node in enumerate(self._added):
                self._library.call(
                    "cuGraphExecKernelNodeSetParams_v2", self.executable, node,
                    ctypes.addressof(self._launcher.node(number)),
                )  # fmt: skip

    def __del__(self) -> None:
        executable = getattr(self, "executable", None)
        if executable is not None and self._library.tried("cuGraphExecDestroy", executable):
            self._library.tried("cuGraphDestroy", self._graph)
