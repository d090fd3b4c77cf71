"""A CUDA driver over the host's memory that counts and records calls, and runs no kernel."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from autojit.codegen.cuda.driver import simulated
from autojit.codegen.cuda.driver.cards import driven_by
from autojit.codegen.cuda.driver.compiler import ENTRY, Kernel
from autojit.codegen.cuda.driver.library import Library, of_python, write
from autojit.codegen.cuda.driver.prototypes import (
    LEGACY_STREAM,
    PROCESSORS,
    PROTOTYPES,
    c_types,
)
from autojit.codegen.cuda.driver.simulated import Handles, HostMemory, slots
from autojit.codegen.cuda.libraries.finding import served_by
from autojit.staging import execute


class Launched(NamedTuple):
    """One launch: the kernel's text, its grid and block, its arguments, and the stream."""

    kernel: Kernel
    grid: tuple[int, ...]
    block: tuple[int, ...]
    passed: list[int]
    stream: int


class Fake(HostMemory, Handles):
    """The driver's functions, which count their calls in ``counts``."""

    def __init__(self, cards: int = 1) -> None:
        HostMemory.__init__(self)
        Handles.__init__(self, self._launched)
        self.counts: Counter[str] = Counter()
        self.launches: list[Launched] = []
        #: The operations on streams and events, in order.
        self.order: list[tuple[str, int, int]] = []
        #: The card of memory that this driver did not allocate.
        self.foreign: dict[int, int] = {}
        self._cards = cards
        self._known: dict[bytes, Kernel] = {}
        self._loaded: dict[int, Any] = {}
        #: How many blocks of a kernel fit on a processor.
        self.fitting = 8
        #: The work captured on streams at present, by stream number.
        self.capturing: dict[int, list[Any]] = {}

    def library(self) -> Library:
        functions = {name: self._counted(name) for name in PROTOTYPES if hasattr(self, name)}
        return of_python(functions, is_host=False)

    def _counted(self, name: str) -> Any:
        function = getattr(self, name)

        def call(*arguments: Any) -> None:
            self.counts[name] += 1
            function(*arguments)

        return call

    def image(self, kernel: Kernel, capability: Any, kept: Any) -> tuple[bytes, bytes]:
        self._known[kernel.key.encode()] = kernel
        return kernel.key.encode() + b"\0", ENTRY.encode()

    def cuDeviceGetCount(self, to: int) -> None:
        write(to, self._cards, ctypes.c_int)

    def cuPointerGetAttribute(self, to: int, attribute: int, pointer: int) -> None:
        write(to, self.foreign.get(pointer, 0), ctypes.c_int)

    def cuModuleLoadData(self, to: int, code: int) -> None:
        module = next(self._serial)
        self._loaded[module] = self._known[ctypes.string_at(code)]
        write(to, module)

    def cuModuleGetFunction(self, to: int, module: int, name: int) -> None:
        function = next(self._serial)
        self._loaded[function] = self._loaded[module]
        write(to, function)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, to: int, function: int, threads: int, shared: int
    ) -> None:
        write(to, self.fitting, ctypes.c_int)

    def cuEventRecord(self, event: int, stream: int) -> None:
        self.order.append(("record", event, stream))

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> None:
        self.order.append(("wait", event, stream))

    def cuLaunchKernel(self, *given: Any) -> None:
        self._launched(*given)

    def cuLaunchCooperativeKernel(self, *given: Any) -> None:
        blocks, threads = given[1], given[4]
        assert blocks <= self.fitting * simulated._ATTRIBUTES[PROCESSORS], threads
        self._launched(*given, None)

    def cuStreamCreate(self, to: int, flags: int) -> None:
        write(to, next(self._serial))

    def cuStreamBeginCapture_v2(self, stream: int, mode: int) -> None:
        assert stream != LEGACY_STREAM
        assert stream not in self.capturing
        self.capturing[stream] = []

    def cuStreamEndCapture(self, stream: int, to: int) -> None:
        graph = next(self._serial)
        self._graphs[graph] = self.capturing.pop(stream)
        write(to, graph)

    def cuGraphAddChildGraphNode(
        self, to: int, graph: int, before: int, count: int, child: int
    ) -> None:
        nodes = self._graphs[graph]
        given = list((ctypes.c_uint64 * count).from_address(before)) if count else []
        assert given == nodes[-1:]
        number = next(self._serial)
        self._nodes[number] = list(self._graphs[child])
        nodes.append(number)
        write(to, number)

    def cuGraphLaunch(self, executable: int, stream: int) -> None:
        every = self._executables[executable]
        for number, node in every.items():
            if isinstance(node, list):
                for captured in node:
                    captured()
            else:
                self._executables[0] = {number: node}
                super().cuGraphLaunch(0, stream)

    def _launched(self, function: int, *rest: Any) -> None:
        kernel = self._loaded[function]
        passed = slots(rest[8], kernel.words)
        self.launches.append(Launched(kernel, rest[:3], rest[3:6], passed, rest[7]))

    def _parameters(self, function: int) -> int:
        return int(self._loaded[function].words)

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """Count the calls inside the block, except those that every call makes."""
        before = self.counts.copy()
        found: Counter[str] = Counter()
        yield found
        found.update(self.counts - before)
        for name in ("cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"):
            found.pop(name, None)


@contextmanager
def installed(fake: Fake, library: Library | None = None) -> Iterator[Fake]:
    """Install the fake driver inside the block; nothing compiled before is reused."""
    before = execute._executables.copy()
    execute._executables.clear()
    try:
        with driven_by(library or fake.library(), fake.image), served_by(frozenset()):
            yield fake
    finally:
        execute._executables.clear()
        execute._executables.update(before)


_STUB = """
define i32 @stub({types}) {{
  %calls = inttoptr i64 {address} to ptr
  %old = load i64, ptr %calls
  %new = add i64 %old, 1
  store i64 %new, ptr %calls
  ret i32 0
}}
"""
_LLVM = {ctypes.c_void_p: "ptr", ctypes.c_uint: "i32", ctypes.c_int: "i32", ctypes.c_uint64: "i64"}


class Stub:
    """A machine-code function in place of the driver's that only counts: the time measured is
    ours."""

    def __init__(self, name: str) -> None:
        from autojit.codegen.cpu.host.engine import Compiled

        types, self._count = c_types(name), ctypes.c_int64()
        words = ", ".join(_LLVM[t] for t in types)
        address = ctypes.addressof(self._count)
        self._code = Compiled([_STUB.format(types=words, address=address)])
        self.function = ctypes.CFUNCTYPE(ctypes.c_int, *types)(self._code.address("stub"))

    @property
    def calls(self) -> int:
        return self._count.value


def with_stubs(library: Library, *names: str) -> dict[str, Stub]:
    """Replace the named functions of a library by stubs."""
    made = {name: Stub(name) for name in names}
    library._functions.update({name: stub.function for name, stub in made.items()})  # type: ignore[attr-defined]
    return made
