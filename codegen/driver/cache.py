"""Compiled code on disk: a folder of entries, each in a file named after the hash of its key.

An entry has opaque bytes (object code) and a header (JSON) that describes them. A key is a dict of
strings; :mod:`.cpu.key` defines its contents.

An entry that is loaded will run with the user's rights, so it is checked first. A checksum over the
whole file detects files that were truncated, overwritten or damaged. Somebody who can write to the
file could write the checksum too, so on POSIX the folder and the file must belong to the user and
be writable by nobody else.

Entries are written to temporary files and renamed, so readers see a whole entry or none. If two
processes write the same entry, either may win, because both write the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import struct
import time
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from autojit.codegen.loop_ir.errors import CacheWarning, CorruptCacheWarning
from autojit.ir.core.locks import Lock

#: The folder; empty for no cache.
FOLDER_VARIABLE = "AUTOJIT_CACHE_DIR"
#: The most bytes that the folder may contain: 512M, 2G, 1000000; 0 for no cache.
SIZE_VARIABLE = "AUTOJIT_CACHE_SIZE"
DEFAULT_SIZE = 512 << 20
#: When entries are evicted, this share of the limit is kept, so that not every write evicts.
_KEPT = 0.9
#: A temporary file of this age in seconds is the leftover of a process that was killed.
_ABANDONED = 3600.0

_MAGIC = b"autojit\x01"
_FIXED = struct.Struct("<8sQQ32s")  # magic, length of header and of code, checksum
_SUFFIX = ".entry"
_ENTRY = re.compile(r"[0-9a-f]{64}\.entry")
_ASIDE = re.compile(r"[0-9a-f]{64}\.[0-9a-f]+\.aside")


class Entry(NamedTuple):
    """A stored entry: the key and the rest of the header, and the code."""

    key: dict[str, Any]
    about: dict[str, Any]
    code: bytes


class Listed(NamedTuple):
    """An entry's file, size and time of last use, and its header, which is empty if damaged."""

    path: Path
    size: int
    used: float
    key: dict[str, Any]
    about: dict[str, Any]


class NotPrivate(OSError):
    """A file or folder that others could have written."""


def digest(key: Mapping[str, Any]) -> str:
    """Return the name of a key's entry, the same in every process.

    >>> digest({"program": "p", "cpu": "c"}) == digest({"cpu": "c", "program": "p"})
    True
    """
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()


def pack(entry: Entry) -> bytes:
    """Return the bytes of an entry's file."""
    header = json.dumps({"key": entry.key, "about": entry.about}).encode()
    lengths = struct.pack("<QQ", len(header), len(entry.code))
    checksum = hashlib.sha256(lengths + header + entry.code).digest()
    return _FIXED.pack(_MAGIC, len(header), len(entry.code), checksum) + header + entry.code


def unpack(data: bytes, name: str) -> Entry:
    """Return the entry in the bytes of a file; raise ValueError with the reason if damaged."""
    if len(data) < _FIXED.size:
        raise ValueError("it is cut off")
    magic, header_size, code_size, checksum = _FIXED.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError("it is not an entry of this version")
    if len(data) != _FIXED.size + header_size + code_size:
        raise ValueError("its length is wrong")
    rest = memoryview(data)[_FIXED.size :]
    summed = hashlib.sha256(struct.pack("<QQ", header_size, code_size))
    summed.update(rest)
    if summed.digest() != checksum:
        raise ValueError("its checksum is wrong")
    header = json.loads(bytes(rest[:header_size]))
    if digest(header["key"]) != name:
        raise ValueError("it is the entry of another key")
    return Entry(header["key"], header["about"], bytes(rest[header_size:]))


class Cache:
    """The entries in one folder, up to a number of bytes. Thread-safe."""

    def __init__(self, folder: str | os.PathLike[str], most: int = DEFAULT_SIZE) -> None:
        self.folder = Path(folder)
        self.most = most
        self._lock = Lock()
        self._reads = self._writes = True
        self._total: int | None = None  # bytes in the folder, as far as this process knows

    # -- reading --------------------------------------------------------------

    def load(self, key: Mapping[str, Any]) -> Entry | None:
        """Return the entry of a key, if there is one that can be trusted."""
        path = self._path(key)
        if not (self._reads and self._exists()):
            return None
        try:
            data = _read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            _warn(f"the compiled code in {path} is not used: {_words(error)}", CacheWarning)
            return None
        try:
            entry = unpack(data, path.stem)
        except ValueError as error:
            self.discard(key, str(error))
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the least recently used entry is evicted first
        return entry

    def has(self, key: Mapping[str, Any]) -> bool:
        """Whether there is a file for a key; it may still turn out to be damaged."""
        return self._reads and self._path(key).exists()

    def _exists(self) -> bool:
        """Whether there is a folder that can be trusted; warn if it cannot."""
        try:
            check_private(os.stat(self.folder), self.folder, 0o700)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            self._reads = False
            self._stop_writing(error)
            return False
        return True

    def discard(self, key: Mapping[str, Any], reason: str) -> None:
        """Remove a damaged entry, with a warning."""
        path = self._path(key)
        removed = "It was removed"
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            removed = f"It cannot be removed ({_words(error)})"
        _warn(
            f"the compiled code in {path} is damaged: {reason}. {removed}, and the program is "
            "compiled again.",
            CorruptCacheWarning,
        )

    def entries(self) -> Iterator[Listed]:
        """Yield all entries without their code, the most recently used first."""
        for path, found in sorted(self._files(_ENTRY), key=lambda f: -f[1].st_mtime):
            try:
                header = _read_header(path)
            except (OSError, ValueError):
                header = {}
            yield Listed(
                path,
                found.st_size,
                found.st_mtime,
                header.get("key", {}),
                header.get("about", {}),
            )

    # -- writing --------------------------------------------------------------

    def store(self, key: Mapping[str, Any], about: Mapping[str, Any], code: bytes) -> None:
        """Store an entry. If that fails, warn, and write no more entries."""
        data = pack(Entry(dict(key), dict(about), code))
        if not self._writes or len(data) > self.most:
            return
        path = self._path(key)
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            check_private(os.stat(self.folder), self.folder, 0o700)
            _write(path, data)
        except OSError as error:
            self._stop_writing(error)
            return
        with self._lock:
            self._make_room(path, len(data))

    def _stop_writing(self, error: OSError) -> None:
        """Warn, once per cache."""
        if self._writes:
            self._writes = False
            _warn(
                f"compiled code cannot be kept in {self.folder}: {_words(error)}. Programs are "
                f"compiled in every process. Name another folder, {FOLDER_VARIABLE}=/a/folder, "
                f"or none, {FOLDER_VARIABLE}=",
                CacheWarning,
            )

    def clear(self) -> tuple[int, int]:
        """Remove all entries and nothing else. Return their number and their bytes."""
        count = size = 0
        for path, found in self._files(_ENTRY, _ASIDE):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
                count += bool(_ENTRY.fullmatch(path.name))
                size += found.st_size
        self._total = None
        return count, size

    def _make_room(self, newest: Path, size: int) -> None:
        """Count the written bytes; if they are too many, remove the least recently used entries."""
        if self._total is not None and self._total + size <= self.most:
            self._total += size
            return
        self._remove_abandoned()
        files = sorted(self._files(_ENTRY), key=lambda f: f[1].st_mtime)
        self._total = sum(found.st_size for _, found in files)
        if self._total <= self.most:
            return
        for path, found in files:
            if self._total <= _KEPT * self.most:
                return
            if path != newest:
                with contextlib.suppress(OSError):  # another process may have been faster
                    path.unlink()
                self._total -= found.st_size

    def _remove_abandoned(self) -> None:
        for path, found in self._files(_ASIDE):
            if time.time() - found.st_mtime > _ABANDONED:
                with contextlib.suppress(OSError):
                    path.unlink()

    # -- files ----------------------------------------------------------------

    def _path(self, key: Mapping[str, Any]) -> Path:
        return self.folder / f"{digest(key)}{_SUFFIX}"

    def _files(self, *patterns: re.Pattern[str]) -> list[tuple[Path, os.stat_result]]:
        """Return the files in the folder that are ours."""
        found: list[tuple[Path, os.stat_result]] = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder) as files:
            for file in files:
                if any(pattern.fullmatch(file.name) for pattern in patterns):
                    with contextlib.suppress(FileNotFoundError):
                        found.append((Path(file.path), file.stat(follow_symlinks=False)))
        return found


def _warn(words: str, category: type[Warning]) -> None:
    warnings.warn(words, category, stacklevel=2)


def _words(error: OSError) -> str:
    return error.strerror or str(error)


def check_private(found: os.stat_result, path: Path, wanted: int) -> None:
    """Raise NotPrivate unless the file is the user's own and nobody else may write to it."""
    if not hasattr(os, "geteuid"):
        return  # the user's folders are private by Windows' access control
    if found.st_uid != os.geteuid():
        raise NotPrivate(f"it belongs to user {found.st_uid}, not to you ({os.geteuid()})")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotPrivate(f"others may write to it: chmod {wanted:o} {path}")


def _open(path: Path) -> int:
    """Open one of the user's own files, which is no link, for reading."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotPrivate("it is not a plain file")
        check_private(found, path, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _read(path: Path) -> bytes:
    with open(_open(path), "rb") as file:
        return file.read()


def _read_header(path: Path) -> dict[str, Any]:
    with open(_open(path), "rb") as file:
        fixed = file.read(_FIXED.size)
        if len(fixed) < _FIXED.size or not fixed.startswith(_MAGIC):
            raise ValueError("no entry")
        header: dict[str, Any] = json.loads(file.read(_FIXED.unpack(fixed)[1]))
        return header


def _write(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it."""
    aside = path.with_name(f"{path.stem}.{os.urandom(8).hex()}.aside")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(aside, flags, 0o600), "wb") as file:
            file.write(data)
        os.replace(aside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        # Windows does not replace a file that another process reads; that file is as good.
        if not (isinstance(error, PermissionError) and os.name == "nt" and path.exists()):
            raise


# -- the user's cache -----------------------------------------------------------


def user_cache() -> Cache | None:
    """Return the cache that the environment specifies, by default in the user's cache folder."""
    folder, size = os.environ.get(FOLDER_VARIABLE), os.environ.get(SIZE_VARIABLE, "")
    return _user_cache(folder, size) if folder != "" else None


@cache
def _user_cache(folder: str | None, size: str) -> Cache | None:
    if folder is None:
        import platformdirs

        folder = platformdirs.user_cache_dir("autojit", appauthor=False)
    else:
        folder = os.path.abspath(os.path.expanduser(folder))
    if not os.path.isabs(folder):
        _warn(
            "compiled code is not kept: the user has no home folder. Name a folder for it: "
            f"{FOLDER_VARIABLE}=/a/folder",
            CacheWarning,
        )
        return None
    most = _bytes(size)
    return Cache(folder, most) if most else None


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match:
        return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2].upper()]
    if text:
        _warn(
            f"{SIZE_VARIABLE}={text} is not a size: write bytes, or 512M, or 2G. "
            f"{DEFAULT_SIZE >> 20}M is used.",
            CacheWarning,
        )
    return DEFAULT_SIZE
