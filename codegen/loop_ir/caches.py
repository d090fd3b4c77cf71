"""The caches of a processor as reported by the operating system: files on Linux, ``sysctl`` on
macOS, a function on Windows.  Some containers and virtual machines report none; then a table is
used."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


class Cache(NamedTuple):
    """One cache: its level, bytes, bytes of a line, and how many processors share it."""

    level: int
    size: int
    line: int
    sharing: int


class Caches(NamedTuple):
    """A processor's part of the first, second and last level, in bytes, and the source."""

    sizes: tuple[int, int, int]
    line: int
    source: str


#: Sizes if the system reports none.  x86-64: Intel, "64 and IA-32 Architectures Optimization
#: Reference Manual" (2023), Skylake client; Arm: "Neoverse N1 Technical Reference Manual", with two
#: megabytes of the system's cache for each core.
FACTS = {
    "x86_64": Caches((32 << 10, 256 << 10, 2 << 20), 64, "a table"),
    "aarch64": Caches((64 << 10, 1 << 20, 2 << 20), 64, "a table"),
}
_NAMES = {"amd64": "x86_64", "arm64": "aarch64"}


@lru_cache(maxsize=1)
def found_caches() -> Caches:
    """The caches that code is made for."""
    try:
        found, source = _asked()
    except (OSError, ValueError, AttributeError):  # no such file, key or function
        found, source = [], ""
    return summary(found, source) or fact()


def fact() -> Caches:
    """The table's entry for this kind of processor."""
    machine = platform.machine().lower()
    return FACTS.get(_NAMES.get(machine, machine), FACTS["x86_64"])


def summary(found: Sequence[Cache], source: str) -> Caches | None:
    """The levels that the model knows, of those found; None without a first level.

    >>> summary([Cache(1, 32768, 64, 2), Cache(2, 1 << 20, 64, 2)], "told")
    Caches(sizes=(16384, 524288, 524288), line=64, source='told')
    """
    parts = {c.level: c.size // max(1, c.sharing) for c in found if c.size > 0 and c.line > 0}
    if 1 not in parts:
        return None
    line = next(c.line for c in found if c.level == 1)
    second = parts.get(2, parts[1])
    return Caches((parts[1], second, parts[max(parts)]), line, source)


def _asked() -> tuple[list[Cache], str]:
    if sys.platform == "linux":
        return list(of_sysfs(Path("/sys/devices/system/cpu/cpu0/cache"))), "sysfs"
    if sys.platform == "darwin":
        return of_sysctl(_sysctl), "sysctl"
    if sys.platform == "win32":
        return of_records(_windows_records()), "Windows"
    return [], ""


# -- Linux -----------------------------------------------------------------------------


def of_sysfs(folder: Path) -> Iterator[Cache]:
    """The caches of data that Linux lists for a processor."""
    for index in sorted(folder.glob("index[0-9]*")):
        level, kind, size, line, shared = (
            (index / name).read_text(encoding="ascii").strip()
            for name in ("level", "type", "size", "coherency_line_size", "shared_cpu_list")
        )
        if kind in ("Data", "Unified"):
            yield Cache(int(level), _bytes(size), int(line), count_of(shared))


def _bytes(size: str) -> int:
    """A size as Linux writes it.

    >>> _bytes("1024K")
    1048576
    """
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(size[-1:])
    return int(size) if unit is None else int(size[:-1]) * unit


def count_of(processors: str) -> int:
    """The number of processors in a list.

    >>> count_of("0-3,8-11,16")
    9
    """
    ranges = (part.split("-") for part in processors.split(","))
    return sum(int(r[-1]) - int(r[0]) + 1 for r in ranges)


# -- macOS -----------------------------------------------------------------------------


def of_sysctl(ask: Callable[[str], int]) -> list[Cache]:
    """The caches of the fast cores, by a function from keys to numbers (0 without the key)."""
    line = ask("hw.cachelinesize")
    fast = "hw.perflevel0." if ask("hw.perflevel0.l1dcachesize") else "hw."
    sharing = {1: 1, 2: ask("hw.perflevel0.cpusperl2") or 1, 3: ask("hw.physicalcpu") or 1}
    sizes = {level: ask(f"{fast}{name}") for level, name in
             ((1, "l1dcachesize"), (2, "l2cachesize"), (3, "l3cachesize"))}  # fmt: skip
    return [Cache(level, size, line, sharing[level]) for level, size in sizes.items() if size]


def _sysctl(key: str) -> int:
    value, size = ctypes.c_int64(0), ctypes.c_size_t(8)
    library = ctypes.CDLL(None)
    failed = library.sysctlbyname(
        key.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return 0 if failed else value.value


# -- Windows -----------------------------------------------------------------------------

#: Of ``SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX``: relationship and size; of a cache, from byte 8
#: on, level, ways, line, size and kind; from byte 40 on the mask of the processors that share it.
_RELATION_CACHE = 2
_HEADER, _CACHE, _MASK = struct.Struct("<II"), struct.Struct("<BBHIi"), struct.Struct("<Q")
_INSTRUCTIONS = 1


def of_records(data: bytes) -> list[Cache]:
    """The first cache of data of each level in Windows' records."""
    found: dict[int, Cache] = {}
    position = 0
    while position + _HEADER.size <= len(data):
        relationship, size = _HEADER.unpack_from(data, position)
        if size < _HEADER.size:
            raise ValueError("a record without a size")
        if relationship == _RELATION_CACHE:
            level, _, line, length, kind = _CACHE.unpack_from(data, position + 8)
            (mask,) = _MASK.unpack_from(data, position + 40)
            if kind != _INSTRUCTIONS:
                found.setdefault(level, Cache(level, length, line, mask.bit_count()))
        position += size
    return list(found.values())


def _windows_records() -> bytes:
    ask = ctypes.CDLL("kernel32").GetLogicalProcessorInformationEx
    size = ctypes.c_uint32(0)
    ask(_RELATION_CACHE, None, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    if not ask(_RELATION_CACHE, data, ctypes.byref(size)):
        raise OSError("Windows does not report the caches")
    return data.raw[: size.value]
