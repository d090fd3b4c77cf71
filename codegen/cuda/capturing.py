"""Launches mixed with calls of libraries, run one by one or as a CUDA graph.

Each kernel is a node of the graph.  A library call is captured on a separate stream: the kernels
that it launches there do not run but become a child graph, which is one node of ours.  Only
libraries that allow this are captured: cuBLASLt, and cuFFT with a workspace that it is given
(cuBLAS's guide, "CUDA Graphs Support"; cuFFT's likewise).
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.locks import Lock

from .calling import Calling, NotCaptured
from .driver.launching import GRAPH, MOST_GRAPHS, Launcher

if TYPE_CHECKING:
    from .driver.card import Card

#: ``CU_STREAM_CAPTURE_MODE_THREAD_LOCAL``: other threads may allocate meanwhile.
_THREAD_LOCAL = 1
#: ``CU_STREAM_NON_BLOCKING``.
_NON_BLOCKING = 1


#: The stream of each card on which calls are captured, for one program at a time.
_streams: WeakKeyDictionary[Card, int] = WeakKeyDictionary()
_lock = Lock()


class Interleaved:
    """Tables of launches with library calls between them, with the interface of ``Launcher``."""

    def __init__(
        self, card: Card, parts: Sequence[Launcher | Calling], fixed: Sequence[int]
    ) -> None:
        self.card = card
        self.lock = Lock()
        self._parts = list(parts)
        self._fixed = list(fixed)
        count = sum(len(p.steps) if isinstance(p, Launcher) else 1 for p in parts)
        captures = all(p.captures for p in parts)
        self._graphs = Captured(card, self._parts) if captures and count >= GRAPH else None

    def run(self, addresses: Sequence[int]) -> None:
        """Launch everything on the card's stream with these addresses; hold the lock meanwhile."""
        every = *addresses, *self._fixed
        if self._graphs is not None:
            graph = self._graphs.find(len(addresses), every)
            if graph is not None:
                with self.card:
                    self.card.library.call("cuGraphLaunch", graph, self.card.stream)
                return
        for part in self._parts:
            part.run(addresses if isinstance(part, Launcher) else every)


class Captured:
    """The graphs of a program, keyed by the addresses that they use, as in
    ``driver/launching.py``."""

    def __init__(self, card: Card, parts: Sequence[Launcher | Calling]) -> None:
        self._card = card
        self._parts = parts
        self._met: OrderedDict[tuple[int, ...], None] = OrderedDict()
        self._made: OrderedDict[tuple[int, ...], _Graph] = OrderedDict()
        #: Whether a library has refused to be captured: then no more graphs are tried.
        self.is_refused = False

    def find(self, given: int, addresses: tuple[int, ...]) -> int | None:
        """The graph for addresses seen at least once before, or None.

        Args:
            given: the number of leading addresses that come from the call; the rest are fixed.
        """
        if self.is_refused:
            return None
        found = self._made.get(addresses)
        if found is None:
            if addresses not in self._met:
                self._met[addresses] = None
                while len(self._met) > 4 * MOST_GRAPHS:
                    self._met.popitem(last=False)
                return None
            found = self._capture(given, addresses)
            if found is None:
                return None
            self._made[addresses] = found
            while len(self._made) > MOST_GRAPHS:
                self._made.popitem(last=False)
        self._made.move_to_end(addresses)
        return found.executable

    def _capture(self, given: int, addresses: tuple[int, ...]) -> _Graph | None:
        with _lock, self._card:
            if self._card not in _streams:
                _streams[self._card] = self._card.library.asked(
                    "cuStreamCreate", ctypes.c_void_p, _NON_BLOCKING
                )
            try:
                return _Graph(self._card, self._parts, _streams[self._card], given, addresses)
            except NotCaptured:
                return None
            except (TargetError, MemoryError):
                self.is_refused = True
                return None


class _Graph:
    """One graph, with the workspaces of its library calls."""

    def __init__(
        self, card: Card, parts: Sequence[Launcher | Calling], stream: int, given: int,
        addresses: tuple[int, ...],
    ) -> None:  # fmt: skip
        self._library = card.library
        self._stream = stream
        self._memory: list[Any] = []
        self._nodes: list[int] = []
        self._graph = self._library.asked("cuGraphCreate", ctypes.c_void_p, 0)
        for part in parts:
            if isinstance(part, Launcher):
                part.fill(addresses[:given])
                for number in range(len(part.steps)):
                    self._add("cuGraphAddKernelNode_v2", ctypes.addressof(part.node(number)))
            else:
                self._add_call(part, addresses)
        self.executable = self._library.asked(
            "cuGraphInstantiateWithFlags", ctypes.c_void_p, self._graph, 0
        )

    def _add(self, name: str, what: int) -> None:
        """Add a node that runs after the last one."""
        last = self._nodes[-1:]
        before = (ctypes.c_void_p * 1)(*last)
        address = ctypes.addressof(before) if last else None
        made = self._library.asked(name, ctypes.c_void_p, self._graph, address, len(last), what)
        self._nodes.append(made)

    def _add_call(self, call: Calling, addresses: tuple[int, ...]) -> None:
        launch = call.prepared(addresses, self._stream, self._memory)
        self._library.call("cuStreamBeginCapture_v2", self._stream, _THREAD_LOCAL)
        try:
            launch()
        except BaseException:
            child = ctypes.c_void_p()
            self._library.tried("cuStreamEndCapture", self._stream, ctypes.addressof(child))
            if child.value:
                self._library.tried("cuGraphDestroy", child.value)
            raise
        child_graph = ctypes.c_void_p()
        self._library.call("cuStreamEndCapture", self._stream, ctypes.addressof(child_graph))
        self._add("cuGraphAddChildGraphNode", child_graph.value or 0)
        self._library.call("cuGraphDestroy", child_graph.value)  # the node has a copy

    def __del__(self) -> None:
        executable = getattr(self, "executable", None)
        if executable is not None and not self._library.tried("cuGraphExecDestroy", executable):
            return
        if getattr(self, "_graph", None) is not None:
            self._library.tried("cuGraphDestroy", self._graph)
