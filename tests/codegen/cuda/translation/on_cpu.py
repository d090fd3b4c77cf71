"""Runs the LLVM IR of kernels on the CPU: a thread of the system for each thread of a block.

Instructions of a GPU become functions: registers, barriers, exchanges between lanes, atomic
additions.  The C library computes libdevice's functions.  So programs show whether the IR means the
same as the device program, which the executor runs.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.calls import LibraryCall
from autojit.codegen.cuda.device_program.failures import TAPE_IS_FULL, error_for
from autojit.codegen.cuda.device_program.nodes import DeviceProgram
from autojit.codegen.cuda.driver.compiler import ENTRY, Kernel
from autojit.codegen.cuda.driver.extraction import NAME, Extraction
from autojit.codegen.cuda.executor.run import LENGTH_OF_TAPES, computed
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.packaged import kernel_of, numpy_dtype
from autojit.codegen.cuda.source import Launch, print_device_source
from autojit.codegen.cuda.translation.module import Module
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_text.interpreter import flat
from autojit.codegen.loop_text.memory import Memory, poisoned

_VERSION = (2, 0, 3, 2)
#: Seconds after which threads that wait for each other have missed each other.
_PATIENCE = 30.0
_here = threading.local()


class _Team:
    """Threads that wait for each other, and the words that they exchange."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=_PATIENCE)
        self.words: dict[int, int] = {}


class _Block:
    """A block while it runs."""

    def __init__(self, number: int, grid: int, threads: int) -> None:
        self.number, self.grid, self.threads = number, grid, threads
        self.all = _Team(threads)
        self._teams: dict[tuple[int, int], _Team] = {}
        self._making = threading.Lock()

    def team(self, thread: int, mask: int) -> _Team:
        """The lanes of a mask in the warp of a thread."""
        assert mask >> thread % 32 & 1, "a thread waits for others, but is not among them"
        with self._making:
            return self._teams.setdefault((thread // 32, mask), _Team(mask.bit_count()))


def _sync_threads() -> None:
    _here.block.all.barrier.wait()


def _sync_warp(mask: int) -> None:
    _here.block.team(_here.thread, mask).barrier.wait()


def _exchange(mask: int, mode: int, word: int, distance: int, clamp: int) -> int:
    assert (mode, clamp) == (3, 31)
    team, lane = _here.block.team(_here.thread, mask), _here.thread % 32
    team.barrier.wait()
    team.words[lane] = word
    team.barrier.wait()
    return team.words[lane ^ distance]


def _of_scipy(name: str) -> Callable[[float], float]:
    import scipy.special

    names = {"normcdfinv": "ndtri", "tgamma": "gamma", "lgamma": "gammaln"}
    return lambda x: float(getattr(scipy.special, names.get(name, name))(x))


_I32, _F64 = ctypes.c_uint32, ctypes.c_double
_CALLBACKS: dict[str, tuple[Any, Callable[..., Any], list[Any]]] = {
    "tid": (_I32, lambda: _here.thread, []),
    "ctaid": (_I32, lambda: _here.block.number, []),
    "nctaid": (_I32, lambda: _here.block.grid, []),
    "barrier": (None, _sync_threads, []),
    "warp": (None, _sync_warp, [_I32]),
    "exchange": (_I32, _exchange, [_I32] * 5),
    "to_half": (
        ctypes.c_uint16,
        lambda x: int(np.float64(x).astype(np.float16).view("u2")),
        [_F64],
    ),
    "of_half": (_F64, lambda x: float(np.uint16(x).view(np.float16)), [ctypes.c_uint16]),
    **{
        name: (_F64, _of_scipy(name), [_F64])
        for name in ("erfcinv", "erfcx", "erfinv", "normcdfinv", "tgamma", "lgamma", "exp10")
    },
}
#: What the instructions of a GPU are here.
_INSTRUCTIONS = """
define i32 @nvvm.read.ptx.sreg.tid.x() {
  %r = call i32 @tid()
  ret i32 %r
}
define i32 @nvvm.read.ptx.sreg.ctaid.x() {
  %r = call i32 @ctaid()
  ret i32 %r
}
define i32 @nvvm.read.ptx.sreg.nctaid.x() {
  %r = call i32 @nctaid()
  ret i32 %r
}
define void @nvvm.barrier0() {
  call void @barrier()
  ret void
}
define void @nvvm.bar.warp.sync(i32 %mask) {
  call void @warp(i32 %mask)
  ret void
}
define void @nvvm.membar.gl() {
  fence seq_cst
  ret void
}
define { i32, i1 } @nvvm.shfl.sync.i32(i32 %mask, i32 %mode, i32 %x, i32 %lane, i32 %clamp) {
  %r = call i32 @exchange(i32 %mask, i32 %mode, i32 %x, i32 %lane, i32 %clamp)
  %s = insertvalue { i32, i1 } undef, i32 %r, 0
  ret { i32, i1 } %s
}
define float @nvvm.atomic.load.add.f32.p0f32(ptr %p, float %x) {
  %r = atomicrmw fadd ptr %p, float %x monotonic
  ret float %r
}
define double @nvvm.atomic.load.add.f64.p0f64(ptr %p, double %x) {
  %r = atomicrmw fadd ptr %p, double %x monotonic
  ret double %r
}
define float @convert.from.fp16.f32(i16 %x) {
  %r = call double @of_half(i16 %x)
  %s = fptrunc double %r to float
  ret float %s
}
define i16 @convert.to.fp16.f32(float %x) {
  %w = fpext float %x to double
  %r = call i16 @to_half(double %w)
  ret i16 %r
}
define i16 @convert.to.fp16.f64(double %x) {
  %r = call i16 @to_half(double %x)
  ret i16 %r
}
declare i32 @tid()
declare i32 @ctaid()
declare i32 @nctaid()
declare void @barrier()
declare void @warp(i32)
declare i32 @exchange(i32, i32, i32, i32, i32)
declare double @of_half(i16)
declare i16 @to_half(double)
"""


@cache
def _llvm() -> Any:
    """LLVM, with the functions of the instructions."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.load_library_permanently("libm.so.6")
    kept = []
    for name, (result, function, arguments) in _CALLBACKS.items():
        callback = ctypes.CFUNCTYPE(result, *arguments)(function)
        kept.append(callback)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        llvm.add_symbol(name, address)
    return llvm, kept


def for_this_processor(text: str) -> str:
    """LLVM IR for NVVM in the form of today's LLVM, with functions for a GPU's instructions."""
    lines = [
        s for s in text.splitlines() if not re.match(r"target |declare .*@llvm|!|@llvm\.used", s)
    ]
    text = "\n".join(lines)
    text = re.sub(
        r"addrspacecast \S+ addrspace\(3\)\* getelementptr inbounds \(.*?(@\w+), .* to \S+",
        r"getelementptr i8, ptr \1, i64 0", text,
    )  # fmt: skip
    text = text.replace("internal addrspace(3) global", "internal global")
    text = re.sub(r"(\[\d+ x \w+\]|\b(?:i\d+|float|double))\*+", "ptr", text)
    return text.replace("@llvm.", "@").replace("@__nv_", "@") + _INSTRUCTIONS


class Native:
    """A kernel as code for this processor."""

    def __init__(self, kernel: Kernel, copies: int = 1) -> None:
        llvm, _ = _llvm()
        text = Module(kernel.text).kernel(NAME, ENTRY, kernel.buffers, _VERSION)
        self.text = text
        self._engines = []
        types: list[Any] = []
        for b in kernel.buffers:
            plain = np.ctypeslib.as_ctypes_type(np.dtype(b.dtype) if b.dtype != "float16" else "u2")
            types += [plain if b.by_value else ctypes.c_void_p]
            types += [ctypes.c_int64] if b.per_step else []
        for _ in range(copies):  # each with its own shared memory
            module = llvm.parse_assembly(for_this_processor(text))
            module.verify()
            target = llvm.Target.from_default_triple()
            machine = target.create_target_machine(opt=1)  # the engine's own
            engine = llvm.create_mcjit_compiler(module, machine)
            engine.finalize_object()
            entry = ctypes.CFUNCTYPE(None, *types)(engine.get_function_address(ENTRY))
            self._engines.append((engine, entry))

    def run(self, grid: int, threads: int, arguments: Sequence[Any]) -> None:
        """Run blocks one after another; all at the same time if there is a copy for each."""
        if len(self._engines) == grid:
            _joined([self._block(n, grid, threads, arguments, n) for n in range(grid)])
            return
        for n in range(grid):
            _joined([self._block(n, grid, threads, arguments, 0)])

    def _block(
        self, number: int, grid: int, threads: int, arguments: Sequence[Any], copy: int
    ) -> list[Callable[[], None]]:  # fmt: skip
        block, (_, entry) = _Block(number, grid, threads), self._engines[copy]

        def thread(n: int) -> Callable[[], None]:
            def run() -> None:
                _here.block, _here.thread = block, n
                entry(*arguments)

            return run

        return [thread(n) for n in range(threads)]


def _joined(blocks: Sequence[Sequence[Callable[[], None]]]) -> None:
    every = [threading.Thread(target=f) for block in blocks for f in block]
    if len(every) == 1:
        blocks[0][0]()
        return
    for t in every:
        t.start()
    for t in every:
        t.join()


class Programs:
    """Runs device programs; kernels are compiled once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Native] = {}

    def run(
        self, device: DeviceProgram, machine: Machine, arrays: Sequence[Any]
    ) -> list[np.ndarray]:
        """The outputs, flat, for arrays of the inputs.

        Raises:
            Exception: the error of a check in a kernel.
        """
        steps = LENGTH_OF_TAPES
        while True:
            outputs, failed = self._run(device, machine, arrays, steps)
            if failed is None:
                return outputs
            if failed != TAPE_IS_FULL:
                raise error_for(failed)
            steps *= 4

    def _run(
        self, device: DeviceProgram, machine: Machine, arrays: Sequence[Any], steps: int
    ) -> tuple[list[np.ndarray], str | None]:  # fmt: skip
        loops, source = device.loops, print_device_source(device, machine)
        extraction = Extraction(source.text)
        memory = Memory(
            loops, [np.array(flat(a, b)) for a, b in zip(arrays, loops.inputs, strict=True)]
        )
        for partial in device.partials:
            memory.arrays[partial] = poisoned(partial.dtype, partial.size)
        for tape in device.tapes:
            memory.arrays[tape] = poisoned(tape.dtype, steps * tape.size)
        status = np.zeros(max(1, len(source.failures)), np.int32)
        if source.status is not None:
            memory.arrays[source.status] = status
        known: set[Buffer] = set()
        for launch in source.launches:
            new = [b for b in launch.buffers if b not in known and b is not source.status]
            known.update(new)
            memory.begin(new)
            if isinstance(launch, LibraryCall):
                computed(launch, memory)
            else:
                self._launch(extraction, launch, memory, steps)
            if status.any():
                break
        failed = source.failures[int(np.argmax(status != 0))] if status.any() else None
        return [memory.arrays[b] for b in loops.outputs], failed

    def _launch(self, extraction: Extraction, launch: Launch, memory: Memory, steps: int) -> None:
        kernel = kernel_of(extraction, launch)
        copies = launch.blocks if launch.kernel.meets else 1
        key = kernel.key, copies
        native = self._known.get(key)
        if native is None:
            native = self._known[key] = Native(kernel, copies)
        arguments: list[Any] = []
        kept = []
        for b in launch.buffers:
            array = memory.arrays[b]
            exact = np.ascontiguousarray(array.view(np.uint16) if b.dtype == "bf16" else array)
            assert exact.dtype == numpy_dtype(b.dtype), (b, exact.dtype)
            kept.append((array, exact))
            arguments += [exact.ctypes.data, *([steps] if b.kind == "tape" else [])]
        native.run(launch.blocks, launch.threads, arguments)
        for array, exact in kept:
            if not np.shares_memory(array, exact):
                array[...] = exact.reshape(array.shape)
