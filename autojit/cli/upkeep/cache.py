"""``autojit cache``: the code that is kept on disk, and why a program is or is not in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autojit import __version__, jit
from autojit.cli.common.failures import FAULT, Failure, running
from autojit.cli.common.machine import check_format, give_json
from autojit.cli.common.terminal import console, say, state_line
from autojit.codegen.cpu.entry_point import key as keys
from autojit.codegen.driver.cache import (
    FOLDER_VARIABLE,
    SIZE_VARIABLE,
    Cache,
    Listed,
    digest,
    user_cache,
)
from autojit.codegen.driver.executable import signature
from autojit.dispatch.compiled import CompiledFunction
from autojit.ir.core.program import Program
from autojit.ir.tools.units import in_bytes

#: The message for each part of a key that differs, in order of relevance.
_DIFFERENCES = {
    "target": "compiled for another system",
    "processor": "compiled for another processor",
    "features": "compiled for a processor with other features",
    "model": "compiled for other caches or vectors",
    "python": "compiled for another Python",
    "numpy": "compiled for another NumPy",
    "autojit": "compiled by another autojit",
    "sources": "compiled by other sources of autojit",
    "numba": "compiled by another Numba",
    "llvmlite": "compiled by another llvmlite",
    "settings": "compiled with other settings of Numba",
    "convention": "compiled for a different calling convention",
}
#: Parts that always differ along with another part, which is more informative.
_IMPLIED = {
    "features": ("target", "processor"),
    "model": ("target", "processor", "features", "sources"),
    "processor": ("target",),
    "sources": ("autojit",),
}


def path(format: str = "text") -> None:
    """Print the folder, even if it does not exist yet."""
    check_format(format)
    folder = _cache().folder
    if format == "json":
        give_json({"folder": folder})
    else:
        say(str(folder))


def ls(format: str) -> None:
    """Print a line for each entry; a mark shows whether it can be used on this machine now."""
    check_format(format)
    cache = _cache()
    found = list(cache.entries())
    here = _here()
    if format == "json":
        give_json(
            {
                "folder": str(cache.folder),
                "most": cache.most,
                "entries": [_as_object(entry, here) for entry in found],
            }
        )
        return
    out = console()
    for entry in found:
        state = "ok" if _usable(entry, here) else "absent" if entry.key else "failed"
        when = f"{_age(time.time() - entry.used)} ago"
        state_line(out, state, when, f"{in_bytes(entry.size):>9}  {_title(entry)}", 11)
    total = sum(entry.size for entry in found)
    words = f"{_count(len(found))}, {in_bytes(total)} of at most {in_bytes(cache.most)}"
    say(f"{words} in {cache.folder}")


def clear(format: str = "text") -> None:
    """Remove all entries."""
    check_format(format)
    cache = _cache()
    try:
        count, size = cache.clear()
    except OSError as error:
        raise Failure(f"cannot empty {cache.folder}: {error.strerror}", FAULT) from None
    if format == "json":
        give_json({"folder": cache.folder, "entries": count, "bytes": size})
        return
    say(f"removed {_count(count)}, {in_bytes(size)}, of {cache.folder}")


def why(f: Callable[..., Any], target: str, args: Sequence[Any], format: str) -> None:
    """Say whether the code of a call is cached; if not, how the nearest entry differs."""
    cache = _cache()
    compiled = f if isinstance(f, CompiledFunction) else jit(f)
    if compiled.device != "cpu":
        raise Failure(
            f"{target} is compiled for {compiled.device}. For GPUs, the cache holds kernels, not "
            "programs"
        )
    with running(target):
        program = compiled.program(*args)
        key = compiled.cache_key(*args)
    if key is None:
        raise Failure("autojit's own files have changed since this process began", FAULT)
    if cache.load(key) is not None:
        _say(target, format, cache.folder / f"{digest(key)}.entry", [])
        return
    nearest, words = _nearest(cache, program, key)
    _say(target, format, nearest, words, kept=False)


def _nearest(
    cache: Cache, program: Program, key: dict[str, Any]
) -> tuple[Path | None, list[tuple[str, str]]]:
    """The entry that is most similar to the key, and the differences."""
    entries = [entry for entry in cache.entries() if entry.key]
    same = [entry for entry in entries if entry.key.get("program") == key["program"]]
    if same:
        nearest = min(same, key=lambda entry: len(differences(entry.key, key)))
        return nearest.path, differences(nearest.key, key)
    here = signature(program)
    named = [entry for entry in entries if entry.about.get("name") == program.name]
    if not named or program.name == "main":  # the name for functions without one
        return None, [("program", "no entry for this program")]
    nearest = min(named, key=lambda entry: entry.about.get("types") != here)
    there = nearest.about.get("types")
    words = f"{there}; here {here}" if there != here else "its operations differ"
    return nearest.path, [("program", f"another program of the name {program.name}: {words}")]


def differences(there: dict[str, Any], here: dict[str, Any]) -> list[tuple[str, str]]:
    """The parts in which two keys differ, with a message for each.

    >>> differences({"numba": "0.62.0", "python": "p"}, {"numba": "0.68.1", "python": "p"})
    [('numba', 'compiled by another Numba: 0.62.0; here 0.68.1')]
    """
    differing = [part for part in _DIFFERENCES if there.get(part) != here.get(part)]
    telling = [p for p in differing if not set(_IMPLIED.get(p, ())) & set(differing)]
    return [(part, _difference(part, there.get(part), here.get(part))) for part in telling]


def _difference(part: str, there: Any, here: Any) -> str:
    words = _DIFFERENCES[part]
    if part == "sources":
        return words
    if part == "features":
        a, b = set(str(there).split(",")), set(str(here).split(","))
        there, here = " ".join(sorted(a - b)[:8]), " ".join(sorted(b - a)[:8])
    if part == "settings":
        there, here = (" ".join(f"{k}={v}" for k, v in x.items()) or "none" for x in (there, here))
    return f"{words}: {there}; here {here}"


def _say(
    target: str,
    format: str,
    entry: Path | None,
    found: Sequence[tuple[str, str]],
    *,
    kept: bool = True,
) -> None:
    if format == "json":
        reasons = [{"part": part, "words": words} for part, words in found]
        file = str(entry) if entry else None
        give_json({"target": target, "kept": kept, "entry": file, "differences": reasons})
        return
    if kept:
        say(f"{target} is in the cache: {entry}")
        return
    say(f"{target} is not in the cache:")
    for _, words in found:
        say(f"  {words}")
    if entry:
        say(f"  (the nearest entry is {entry})")


def _cache() -> Cache:
    found = user_cache()
    if found is None:
        raise Failure(
            f"there is no cache: {FOLDER_VARIABLE} is empty, or {SIZE_VARIABLE} is 0", FAULT
        )
    return found


def _here() -> dict[str, Any]:
    """The parts of a key that do not depend on the program."""
    machine, settings = keys.machine(), keys.settings()
    return {
        "autojit": __version__, "sources": keys.sources(), **machine, "settings": settings
    }  # fmt: skip


def _usable(entry: Listed, here: dict[str, Any]) -> bool:
    return bool(entry.key) and all(entry.key.get(part) == here[part] for part in here)


def _as_object(entry: Listed, here: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": entry.path.name,
        "bytes": entry.size,
        "used": entry.used,
        "usable": _usable(entry, here),
        "name": entry.about.get("name"),
        "types": entry.about.get("types"),
        "key": entry.key,
    }


def _title(entry: Listed) -> str:
    if not entry.key:
        return f"{entry.path.name}, which is damaged"
    return f"{entry.about.get('name')}: {entry.about.get('types')}"


def _count(entries: int) -> str:
    return f"{entries} {'entry' if entries == 1 else 'entries'}"


def _age(seconds: float) -> str:
    """A duration in words.

    >>> _age(5), _age(130), _age(7300), _age(200000)
    ('5 s', '2 min', '2 h', '2 days')
    """
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
