"""Memory that ends at a page that may not be accessed.

``Region`` is such memory for arguments and results. ``installed()`` makes compiled code take its
temporaries and tapes from native functions that also return such memory, filled with a byte.
"""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest

from autojit.codegen.analysis.arena import ALIGNMENT
from autojit.codegen.cpu.abi import abi, results
from autojit.codegen.cpu.emit import tapes
from autojit.codegen.cpu.host import engine
from autojit.staging import execute

PAGE = 4096
#: The most simultaneous blocks of compiled code.
SLOTS = 1 << 16
SUPPORTED = sys.platform == "linux"


def _functions() -> dict[str, Any]:
    """mmap, munmap, mprotect and memset of the C library."""
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.mmap.restype = pointer
    library.mmap.argtypes = [pointer, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    library.munmap.argtypes = [pointer, size]
    library.mprotect.argtypes = [pointer, size, ctypes.c_int]
    return {n: getattr(library, n) for n in ("mmap", "munmap", "mprotect", "memset")}


class Region:
    """A number of bytes, the last of which is the last accessible byte."""

    def __init__(self, size: int) -> None:
        self.functions = _functions()
        self.total = (max(size, 1) + PAGE - 1) // PAGE * PAGE + PAGE
        # PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS
        self.base = self.functions["mmap"](None, self.total, 3, 0x22, -1, 0)
        end = self.base + self.total - PAGE
        self.functions["mprotect"](end, PAGE, 0)
        self.address = end - size

    def __del__(self) -> None:
        self.functions["munmap"](self.base, self.total)


def placed(array: Any, shift: int = 0) -> np.ndarray:
    """A copy of an array that ends at the end of a region, or ``shift`` bytes before it."""
    array = np.asarray(array)
    region = Region(array.nbytes + shift)
    bytes_ = (ctypes.c_char * (array.nbytes + shift)).from_address(region.address)
    bytes_.region = region  # type: ignore[attr-defined]
    made: np.ndarray = np.ndarray(array.shape, array.dtype, bytes_)
    made[...] = array
    return made


# -- what compiled code asks for ------------------------------------------------

#: A block begins with a page that contains its length and the slot with its address; its last bytes
#: are the last of a page. A freed block is unmapped.
_TEXT = """
@slots = global [{slots} x i64] zeroinitializer
@count = global i64 0
@fill = global i32 255

define i64 @guarded_malloc(i64 %size) {{
  %more = add i64 %size, 63
  %padded = and i64 %more, -64
  %up = add i64 %padded, {below}
  %data = and i64 %up, -{page}
  %total = add i64 %data, {two}
  %mmap = inttoptr i64 {mmap} to ptr
  %base = call i64 %mmap(i64 0, i64 %total, i32 3, i32 34, i32 -1, i64 0)
  %failed = icmp slt i64 %base, 0
  br i1 %failed, label %none, label %some
none:
  ret i64 0
some:
  %first = add i64 %base, {page}
  %end = add i64 %first, %data
  %mprotect = inttoptr i64 {mprotect} to ptr
  %done = call i32 %mprotect(i64 %end, i64 {page}, i32 0)
  %user = sub i64 %end, %padded
  %number = atomicrmw add ptr @count, i64 1 monotonic
  %slot = urem i64 %number, {slots}
  %place = getelementptr [{slots} x i64], ptr @slots, i64 0, i64 %slot
  store i64 %user, ptr %place
  %header = inttoptr i64 %base to ptr
  store i64 %total, ptr %header
  %second = getelementptr i64, ptr %header, i64 1
  store i64 %slot, ptr %second
  %third = getelementptr i64, ptr %header, i64 2
  store i64 %padded, ptr %third
  %byte = load i32, ptr @fill
  %memset = inttoptr i64 {memset} to ptr
  %set = call i64 %memset(i64 %user, i32 %byte, i64 %padded)
  ret i64 %user
}}

define void @guarded_free(i64 %user) {{
  %none = icmp eq i64 %user, 0
  br i1 %none, label %end, label %some
some:
  %start = and i64 %user, -{page}
  %base = sub i64 %start, {page}
  %header = inttoptr i64 %base to ptr
  %total = load i64, ptr %header
  %second = getelementptr i64, ptr %header, i64 1
  %slot = load i64, ptr %second
  %place = getelementptr [{slots} x i64], ptr @slots, i64 0, i64 %slot
  store i64 0, ptr %place
  %munmap = inttoptr i64 {munmap} to ptr
  %done = call i32 %munmap(i64 %base, i64 %total)
  br label %end
end:
  ret void
}}

@all = global [5 x i64] zeroinitializer

define ptr @parts() {{
  %a = getelementptr i64, ptr @all, i64 0
  %b = getelementptr i64, ptr @all, i64 1
  %c = getelementptr i64, ptr @all, i64 2
  %d = getelementptr i64, ptr @all, i64 3
  %e = getelementptr i64, ptr @all, i64 4
  store ptr @guarded_malloc, ptr %a
  store ptr @guarded_free, ptr %b
  store ptr @slots, ptr %c
  store ptr @fill, ptr %d
  store ptr @count, ptr %e
  ret ptr @all
}}
"""


class _Native:
    """The functions for compiled code, compiled once per process."""

    def __init__(self) -> None:
        from autojit.codegen.cpu.host.engine import Compiled

        functions = _functions()
        addresses = {n: ctypes.cast(f, ctypes.c_void_p).value for n, f in functions.items()}
        text = _TEXT.format(slots=SLOTS, page=PAGE, below=PAGE - 1, two=2 * PAGE, **addresses)
        self.compiled = Compiled([text])
        # Each symbol is loaded with its own globals, so one function returns the addresses of all
        # others.
        parts = ctypes.CFUNCTYPE(ctypes.c_int64)(self.compiled.address("parts"))()
        self.malloc, self.free, slots, fill, count = (ctypes.c_int64 * 5).from_address(parts)
        self.slots = np.frombuffer((ctypes.c_int64 * SLOTS).from_address(slots), np.int64)
        self._fill = ctypes.c_int32.from_address(fill)
        self._count = ctypes.c_int64.from_address(count)
        self._release = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self.free)

    def count(self) -> int:
        """The number of blocks allocated so far."""
        return self._count.value

    def fill(self, byte: int) -> None:
        """Fill new blocks, and the idle ones left by calls, with a byte.

        An idle block of tapes keeps the word with the length of its tapes.
        """
        self._fill.value = byte
        for address in self.slots[self.slots != 0].tolist():
            header = (ctypes.c_int64 * 3).from_address(address // PAGE * PAGE - PAGE)
            told = ctypes.c_int64.from_address(address).value + tapes.HEADER
            kept = tapes.HEADER if -(-told // ALIGNMENT) * ALIGNMENT == header[2] else 0
            ctypes.memset(address + kept, byte, header[2] - kept)

    def release(self, address: int, usual: Any = abi._free) -> None:
        """Free memory left by a call, whichever allocator it came from; also when the interpreter
        ends."""
        if (self.slots == address).any():
            self._release(address)
        else:
            usual(address)


@cache
def native() -> _Native:
    made = _Native()
    defaults = abi.Handle.__del__.__defaults__
    assert defaults is not None
    abi.Handle.__del__.__defaults__ = (defaults[0], made.release)
    return made


#: With these, every temporary and every result is guarded memory.
THRESHOLDS = {
    "codegen.cpu.abi.results.POOLED": 0,
    "codegen.cpu.entry_point.entry.STACK_ARENA": 0,
    "codegen.cpu.linalg.matrices.ON_STACK": 0,
}


class _Filled:
    """The byte with which memory of results is filled before it is used."""

    byte = 255


@contextmanager
def installed() -> Iterator[Any]:
    """Make code compiled in the block take guarded memory. Yield a function that fills it with a
    byte."""
    functions = native()
    table = list(abi.fixed_table())
    table[abi.SLOTS["malloc"]], table[abi.SLOTS["free"]] = functions.malloc, functions.free
    take = results.Pool.take

    def make(block: results.Block, size: int) -> None:
        whole = -(-size // results.ALIGNMENT) * results.ALIGNMENT
        block.memory = Region(whole)  # type: ignore[assignment]
        block.address, block.size, block.type, block.told = block.memory.address, size, None, {}  # type: ignore[attr-defined]

    def taken(pool: results.Pool, size: int) -> results.Block:
        block = take(pool, size)
        ctypes.memset(block.address, _Filled.byte, size)
        return block

    def fill(byte: int) -> None:
        _Filled.byte = byte
        functions.fill(byte)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "POISON", False)  # it fills the same memory, always with NaN
        patch.setattr(abi, "fixed_table", lambda: tuple(table))
        patch.setattr(execute, "_executables", OrderedDict())
        patch.setattr(results.Block, "__init__", make)
        patch.setattr(results.Pool, "take", taken)
        results.pool.clear()
        fill(255)
        yield fill
    results.pool.clear()
