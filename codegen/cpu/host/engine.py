"""LLVM as the compiler: LLVM IR in, addresses out.

It is the LLVM of Numba (llvmlite), with Numba's settings for the machine and the passes, called
directly: importing Numba for its code generator takes longer than the whole rest of a program's
start (130 of 330 ms to the first gradient), and generates the same code.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from autojit.codegen.loop_ir.machine import number
from autojit.ir.core.locks import stop_at_fork

from .threads import thread_count

#: Whether LLVM IR is verified before it is compiled, as in the tests; takes 2 % of the time.
VERIFY = False
#: Whether memory is filled with NaN before use, so that tests detect reads of it.
POISON = False
#: Numba's settings that are followed here, for the processor and the passes.
SETTINGS = (
    "NUMBA_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "NUMBA_ENABLE_AVX",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_OPT",
    "NUMBA_SLP_VECTORIZE",
)

_lock = threading.RLock()
_serial = itertools.count()
#: Object code of parts that many modules share, by text and settings.
_shared: dict[tuple[Any, ...], bytes] = {}
#: Target machines that no part is using, by settings and level. LLVM computes the processor's
#: tables once for each machine, which takes 0.5 ms.
_idle: dict[tuple[Any, ...], list[Any]] = {}
#: The lock of llvmlite that is held during a fork, if it has one.
_held: list[Any] = []


def _stop_llvm() -> None:
    """Wait before a fork until no thread is within LLVM.

    A child could not use LLVM in the middle of its work, and a lock that another thread held would
    stay locked. llvmlite has its own lock for every call. It also takes it for Numba, and when it
    frees garbage-collected objects, in whatever thread that happens.
    """
    _lock.acquire()
    ffi = sys.modules.get("llvmlite.binding.ffi")
    lock = getattr(getattr(ffi, "lib", None), "_lock", None)
    if lock is not None:
        lock.__enter__()
        _held.append(lock)


def _go_on() -> None:
    while _held:
        _held.pop().__exit__(None, None, None)
    _lock.release()


stop_at_fork(_stop_llvm, _go_on)


def settings() -> dict[str, str]:
    """Return the current values of the settings that are set."""
    return {name: os.environ[name] for name in SETTINGS if name in os.environ}


#: On processors that can, LLVM would compute in float16 and fuse a product and a sum into one
#: rounding, so that results would differ from those of other processors.
WIDE_HALVES = ",-avx512fp16" if platform.machine() in ("x86_64", "AMD64") else ",-fullfp16"


def _machine(settings: dict[str, str], level: int) -> Any:
    """Return the target machine of this processor, with Numba's settings for it."""
    import llvmlite.binding as llvm

    target = _native_target()
    with_avx = bool(number(settings.get("NUMBA_ENABLE_AVX"), 1))
    return target.create_target_machine(
        cpu=settings.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name(),
        features=(settings.get("NUMBA_CPU_FEATURES") or _host_features(with_avx)) + WIDE_HALVES,
        opt=level,
        reloc="static" if target.name.startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )


@lru_cache(maxsize=2)
def _host_features(with_avx: bool) -> str:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    if not with_avx:
        features.update({name: False for name in features if name.startswith("avx")})
    return str(features.flatten())


def _native_target() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


def _level(settings: dict[str, str]) -> int:
    return min(number(settings.get("NUMBA_OPT"), 3), 3)


#: The level at which LLVM makes machine code.  Higher levels schedule instructions again after
#: register allocation and duplicate more branches.  They take 6 % longer, and calls are no faster
#: (``decisions/0107-machine-code-at-the-first-level.md``).
SELECTION = 1
#: The first line of a part that goes through no passes, and of one that also needs no good
#: machine code.
AS_WRITTEN, PLAIN = "; as it is written\n", "; as it is written, without a choice\n"
#: The first line of a part that goes through the first level of passes. Higher levels also replace
#: loads of known values, and branches whose condition is known on some paths.
SIMPLE = "; through the first level\n"


class _Part:
    """A part of a module, which LLVM compiles in its own context."""

    def __init__(self, text: str) -> None:
        import llvmlite.binding as llvm

        made = settings()
        selection = 0 if text.startswith(PLAIN) else min(_level(made), SELECTION)
        self.idle = _idle.setdefault((selection, *made.items()), [])
        try:
            self.machine = self.idle.pop()
        except IndexError:
            self.machine = _machine(made, selection)
        self.module = llvm.parse_assembly(text, llvm.create_context())
        self.module.triple = llvm.get_process_triple()
        self.module.data_layout = str(self.machine.target_data)
        if VERIFY:
            self.module.verify()
        if text.startswith((AS_WRITTEN, PLAIN)):
            return
        level = min(_level(made), 1) if text.startswith(SIMPLE) else _level(made)
        tuning = llvm.create_pipeline_tuning_options(speed_level=level)
        tuning.loop_vectorization = bool(number(made.get("NUMBA_LOOP_VECTORIZE"), 1))
        tuning.slp_vectorization = bool(number(made.get("NUMBA_SLP_VECTORIZE"), 0))
        # Loops to be unrolled are marked: searching for more took 5 % of the time and gained
        # nothing.
        tuning.loop_unrolling = False
        passes = llvm.create_pass_builder(self.machine, tuning)
        run = _unlocked(llvm.ffi.lib.LLVMPY_RunNewModulePassManager)
        manager = passes.getModulePassManager()
        try:
            run(manager, self.module, passes)
        finally:
            # llvmlite 0.50 hides this method behind one that does nothing, which leaks 100 KB per
            # part.
            llvm.newpassmanagers.NewPassManager._dispose(manager)
            manager.detach()

    def object_code(self) -> bytes:
        """Return the part's machine code. Call it last: the next part takes over the machine."""
        code = self._emitted()
        self.idle.append(self.machine)
        return code

    def _emitted(self) -> bytes:
        from llvmlite.binding import ffi

        lib = ffi.lib
        with ffi.OutputString() as wrong:
            emit = _unlocked(lib.LLVMPY_TargetMachineEmitToMemory)
            memory = emit(self.machine, self.module, 1, wrong)
            if not memory:
                raise RuntimeError(str(wrong))
        try:
            size = lib.LLVMPY_GetBufferSize(memory)
            return ctypes.string_at(lib.LLVMPY_GetBufferStart(memory), size)
        finally:
            lib.LLVMPY_DisposeMemoryBuffer(memory)


def _unlocked(function: Any) -> Any:
    """Return a function of llvmlite's library without the lock that it takes for every call.

    LLVM itself needs no lock for modules of different contexts. If llvmlite no longer has such a
    lock, or keeps it elsewhere, the function is returned as it is.
    """
    return getattr(function, "_cfn", function)


def _each(work: Callable[[str], Any], parts: Sequence[str]) -> list[Any]:
    """Do the work for each part, on as many threads as there are processors for it."""
    results: list[Any] = [None] * len(parts)
    # The longest first, so that the last one ends early.
    left = sorted(range(len(parts)), key=lambda i: len(parts[i]))
    failures: list[BaseException] = []

    def take() -> None:
        while left and not failures:
            try:
                i = left.pop()
            except IndexError:
                return
            try:
                results[i] = work(parts[i])
            except BaseException as error:
                failures.append(error)

    helpers: list[threading.Thread] = []
    for _ in range(min(thread_count(), len(parts)) - 1):
        helper = threading.Thread(target=take, name="autojit LLVM")
        try:
            helper.start()
        except RuntimeError:  # no more threads, or the interpreter is shutting down
            break
        helpers.append(helper)
    take()
    for helper in helpers:
        helper.join()
    if failures:
        raise failures[0]
    return results


class Compiled:
    """A compiled module, in parts; keeps its code alive.

    ``shared`` are parts that other modules have as well; they are compiled once per process.
    """

    def __init__(self, parts: Sequence[str], shared: Sequence[str] = ()) -> None:
        self.parts, self.shared = parts, shared
        how = tuple(settings().items())
        with _lock:
            new = [*parts, *(part for part in shared if (part, how) not in _shared)]
            code = dict(zip(new, _each(lambda part: _Part(part).object_code(), new), strict=True))
            for part in shared:
                code[part] = _shared.setdefault((part, how), code.get(part, b""))
            #: The argument of :func:`load_objects`, in this process or another.
            self.object_code = pack([code[part] for part in (*parts, *shared)])
        self._linked: dict[str, tuple[int, Any]] = {}

    @property
    def _all(self) -> list[str]:
        return [*self.parts, *self.shared]

    def address(self, symbol: str) -> int:
        """Return the address of a function of the module."""
        if symbol not in self._linked:
            self._linked[symbol] = load_objects(self.object_code, symbol)
        return self._linked[symbol][0]

    def llvm(self) -> str:
        """Return the optimised LLVM IR of each part."""
        with _lock:
            return "\n".join(_each(lambda part: str(_Part(part).module), self._all))

    def assembly(self) -> str:
        with _lock:
            made = map(_Part, self._all)
            return "\n".join(str(part.machine.emit_assembly(part.module)) for part in made)


#: The length of an object file, stored before it.
_LENGTH = struct.Struct("<Q")


def pack(objects: Sequence[bytes]) -> bytes:
    """Concatenate object files.

    >>> unpack(pack([b"one", b"two"]))
    [b'one', b'two']
    """
    return b"".join(_LENGTH.pack(len(code)) + code for code in objects)


def unpack(data: bytes) -> list[bytes]:
    """Return the object files in ``data``; raise a ValueError if it has another format."""
    found, position = [], 0
    while position < len(data):
        if position + _LENGTH.size > len(data):
            raise ValueError("it is not object code")
        (length,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if position + length > len(data):
            raise ValueError("it is not object code")
        found.append(data[position : position + length])
        position += length
    return found


def load_objects(code: bytes, symbol: str) -> tuple[int, Any]:
    """Return the address of a function in object files, and an object that keeps the code in
    memory.

    The linker is MCJIT, as in Numba. Each program has its own linker, since names in two programs
    may be equal. A ValueError is raised if the bytes are not object files.
    """
    with _lock:
        return _linked(unpack(code), symbol)


def _linked(objects: Sequence[bytes], symbol: str) -> tuple[int, Any]:
    import llvmlite.binding as llvm

    machine = _native_target().create_target_machine(jit=True)
    linker = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    for code in objects:
        file = llvm.ObjectFileRef.from_data(code)
        if not file:
            raise ValueError("it is not object code")
        linker.add_object_file(file)
    linker.finalize_object()
    address = linker.get_function_address(symbol)
    if not address:
        raise ValueError(f"it has no function {symbol}")
    return address, linker


def serial() -> int:
    """Return a number that no other module of this process has."""
    return next(_serial)
