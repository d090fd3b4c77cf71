"""The folder of entries: lookups, refused entries, and failures of the file system."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autojit.codegen.driver import cache as cache_module
from autojit.codegen.driver.cache import (
    DEFAULT_SIZE,
    Cache,
    Entry,
    digest,
    pack,
    unpack,
    user_cache,
)
from autojit.errors import CacheWarning, CorruptCacheWarning

KEY = {"program": "p", "processor": "c"}
ABOUT = {"name": "main"}
CODE = b"not really code"
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX permissions")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def files(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.folder.iterdir()) if cache.folder.exists() else []


def entry_file(cache: Cache, key: dict[str, Any] = KEY) -> Path:
    return cache.folder / f"{digest(key)}.entry"


# -- entries and their files ----------------------------------------------------


def test_an_entry_is_found_again(cache: Cache) -> None:
    assert cache.load(KEY) is None
    cache.store(KEY, ABOUT, CODE)
    assert cache.load(dict(reversed(KEY.items()))) == Entry(KEY, ABOUT, CODE)
    assert cache.load({**KEY, "processor": "d"}) is None
    assert files(cache) == [f"{digest(KEY)}.entry"]


def test_no_damage_goes_unnoticed() -> None:
    data = pack(Entry(KEY, ABOUT, CODE))
    name = digest(KEY)
    assert unpack(data, name) == Entry(KEY, ABOUT, CODE)
    for length in range(len(data)):
        with pytest.raises(ValueError, match=r"cut off|length|version"):
            unpack(data[:length], name)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(ValueError, match=r"version|length|checksum"):
            unpack(bytes(damaged), name)
    with pytest.raises(ValueError, match="length"):
        unpack(data + b"\0", name)
    with pytest.raises(ValueError, match="another key"):
        unpack(data, digest({}))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "another file": lambda data: b"\x7fELF" + bytes(200),
    "changed": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "another entry": lambda data: pack(Entry({}, ABOUT, CODE)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_entry_is_named_removed_and_made_anew(damage: str, cache: Cache) -> None:
    cache.store(KEY, ABOUT, CODE)
    path = entry_file(cache)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.warns(CorruptCacheWarning, match=path.name) as told:
        assert cache.load(KEY) is None
    assert len(told) == 1
    assert files(cache) == []
    cache.store(KEY, ABOUT, CODE)
    assert cache.load(KEY) is not None


def test_damaged_entry_that_cannot_be_removed(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    cache.store(KEY, ABOUT, CODE)
    entry_file(cache).write_bytes(b"")
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.warns(CorruptCacheWarning, match="cannot be removed .Read-only file system"):
        assert cache.load(KEY) is None


# -- who may write --------------------------------------------------------------


@posix
def test_folder_and_files_are_the_users_alone(cache: Cache) -> None:
    before = os.umask(0)
    try:
        cache.store(KEY, ABOUT, CODE)
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry_file(cache).stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_folder_that_others_may_write_to_is_not_used(mode: int, cache: Cache) -> None:
    cache.store(KEY, ABOUT, CODE)
    cache.folder.chmod(mode)
    fresh = Cache(cache.folder)
    with pytest.warns(CacheWarning, match=f"others may write to it: chmod 700 {cache.folder}"):
        assert fresh.load(KEY) is None
    assert fresh.load(KEY) is None  # reported only once
    fresh.store({}, ABOUT, CODE)
    assert files(cache) == [f"{digest(KEY)}.entry"]


@posix
def test_file_that_others_may_write_to_is_not_used(cache: Cache) -> None:
    cache.store(KEY, ABOUT, CODE)
    path = entry_file(cache)
    path.chmod(0o620)
    with pytest.warns(CacheWarning, match=f"{path.name} is not used: others may write to it"):
        assert cache.load(KEY) is None
    cache.store(KEY, ABOUT, CODE)  # our own entry replaces it
    assert cache.load(KEY) is not None


@posix
def test_folder_of_somebody_else_is_not_used(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(KEY, ABOUT, CODE)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.warns(CacheWarning, match=rf"it belongs to user {me}, not to you \({me + 1}\)"):
        assert cache.load(KEY) is None
    cache.store({}, ABOUT, CODE)
    assert len(files(cache)) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root's chown")
def test_file_of_somebody_else_is_not_used(cache: Cache) -> None:
    cache.store(KEY, ABOUT, CODE)
    os.chown(entry_file(cache), 12345, -1)
    with pytest.warns(CacheWarning, match="it belongs to user 12345"):
        assert cache.load(KEY) is None


@posix
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_plain_file_is_not_used(kind: str, cache: Cache, tmp_path: Path) -> None:
    cache.store(KEY, ABOUT, CODE)
    path = entry_file(cache)
    path.rename(tmp_path / "elsewhere")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path, 0o600) if kind == "pipe" else path.mkdir(0o700)
    with pytest.warns(CacheWarning, match="is not used"):
        assert cache.load(KEY) is None


# -- folders that cannot be used --------------------------------------------------


def use(cache: Cache, *programs: str) -> None:
    for program in programs:
        assert cache.load({"program": program}) is None
        cache.store({"program": program}, ABOUT, CODE)


def refuses_once(cache: Cache, words: str) -> None:
    with pytest.warns(CacheWarning, match=words) as told:
        use(cache, "a", "b", "c")
    assert len(told) == 1


def test_folder_that_cannot_be_made_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refuses_once(Cache(tmp_path / "file" / "cache"), "cannot be kept in .*: Not a directory")
    refuses_once(Cache(tmp_path / "file"), "File exists")


def test_read_only_disk_is_said_once_and_still_read(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise OSError(30, "Read-only file system")

    cache.store(KEY, ABOUT, CODE)
    monkeypatch.setattr(cache_module, "_write", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    refuses_once(cache, r"Read-only file system.*AUTOJIT_CACHE_DIR=")
    assert cache.load(KEY) is not None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_leaves_nothing_behind(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def full(path: Any, flags: int, *rest: Any) -> int:
        real_one = real(path, flags, *rest)
        if str(path).endswith(".aside"):
            os.close(real_one)
            return real("/dev/full", os.O_WRONLY)
        return real_one

    cache.store(KEY, ABOUT, CODE)
    monkeypatch.setattr(os, "open", full)
    refuses_once(cache, "No space left on device")
    assert files(cache) == [f"{digest(KEY)}.entry"]


# -- size -------------------------------------------------------------------------


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    size = len(pack(Entry({"program": "a"}, ABOUT, bytes(1000))))
    cache = Cache(tmp_path, 5 * size)
    (tmp_path / "of_the_user.entry").write_text("mine")
    for number, program in enumerate("abcde"):
        cache.store({"program": program}, ABOUT, bytes(1000))
        os.utime(entry_file(cache, {"program": program}), (number, number))
    assert cache.load({"program": "a"})  # used now
    cache.store({"program": "f"}, ABOUT, bytes(1000))
    kept = [p for p in "abcdef" if entry_file(cache, {"program": p}).exists()]
    assert kept == ["a", "d", "e", "f"]  # down to nine tenths
    assert (tmp_path / "of_the_user.entry").exists()
    for program in "ghijklm":
        cache.store({"program": program}, ABOUT, bytes(1000))
        assert sum(entry.size for entry in cache.entries()) <= cache.most
    assert entry_file(cache, {"program": "m"}).exists()


def test_what_is_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 1000)
    cache.store(KEY, ABOUT, bytes(1000))
    assert files(cache) == []


def test_clear_removes_entries_only(cache: Cache) -> None:
    cache.store(KEY, ABOUT, CODE)
    size = entry_file(cache).stat().st_size
    (cache.folder / "notes.txt").write_text("mine")
    assert cache.clear() == (1, size)
    assert files(cache) == ["notes.txt"]
    assert Cache(cache.folder / "absent").clear() == (0, 0)


# -- the environment ---------------------------------------------------------------


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("AUTOJIT_CACHE_DIR")
    cache_module._user_cache.cache_clear()
    return monkeypatch


def found() -> Cache:
    cache = user_cache()
    assert cache is not None
    return cache


def test_folder_is_the_users_cache_folder(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import platformdirs

    assert found().folder == Path(platformdirs.user_cache_dir("autojit", appauthor=False))
    assert found().most == DEFAULT_SIZE == 512 << 20
    environment.setenv("AUTOJIT_CACHE_DIR", str(tmp_path))
    assert found().folder == tmp_path
    assert found() is found()
    environment.chdir(tmp_path)
    environment.setenv("AUTOJIT_CACHE_DIR", "here")
    assert found().folder == tmp_path / "here"


def test_there_is_a_way_to_have_none(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("AUTOJIT_CACHE_DIR", "")
    assert user_cache() is None
    environment.setenv("AUTOJIT_CACHE_DIR", str(tmp_path))
    environment.setenv("AUTOJIT_CACHE_SIZE", "0")
    assert user_cache() is None


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("64K", 1 << 16), ("1 MiB", 1 << 20), ("2gb", 2 << 30)]
)
def test_sizes(text: str, size: int, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AUTOJIT_CACHE_SIZE", text)
    assert found().most == size


def test_what_is_no_size_is_said(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AUTOJIT_CACHE_SIZE", "much")
    with pytest.warns(CacheWarning, match="AUTOJIT_CACHE_SIZE=much is not a size: .*512M is used"):
        assert found().most == DEFAULT_SIZE


def test_user_without_a_home_has_none(environment: pytest.MonkeyPatch) -> None:
    environment.setattr("platformdirs.user_cache_dir", lambda *_, **__: "~/.cache/autojit")
    with pytest.warns(CacheWarning, match="no home folder"):
        assert user_cache() is None
    assert user_cache() is None
