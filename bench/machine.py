"""The conditions of measurements: processor, versions, date."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable

from bench import peers


def processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = [line.split(":", 1) for line in file if ":" in line]
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, value in lines}
    flags = facts.get("flags", "").split()
    width = next((name for name in ("avx512f", "avx2", "sse2") if name in flags), "")
    return ", ".join(filter(None, [facts.get("model name", platform.machine()), width]))


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def description() -> str:
    return f"{processor()}, {processors()} processors, {platform.system()} {platform.machine()}"


def versions(names: Iterable[str]) -> str:
    """The versions of Python and of every peer, with each package once."""
    listed = {f"Python {platform.python_version()}": None}
    for name in names:
        peer = peers.load(name)
        listed[f"{peer.package} {peer.version()}"] = None
    return ", ".join(listed)


def load() -> str:
    """The load of the last minute; near zero before a run on a quiet machine."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def today() -> str:
    return datetime.date.today().isoformat()
