"""Numbers with units, in words."""

from __future__ import annotations


def in_bytes(size: float) -> str:
    """Bytes in words.

    >>> in_bytes(500), in_bytes(3541), in_bytes(512 << 20)
    ('500 B', '3.5 KiB', '512.0 MiB')
    """
    units = ["B", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


def in_seconds(seconds: float) -> str:
    """A time in words.

    >>> in_seconds(2.5e-6), in_seconds(0.0123), in_seconds(3.21)
    ('2.5 us', '12.3 ms', '3.2 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def plural(number: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "loop"), plural(2500, "loop")
    ('1 loop', '2,500 loops')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
