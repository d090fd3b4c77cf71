"""Numbers with units, as text."""

from __future__ import annotations


def in_bytes(size: float) -> str:
    """Format a number of bytes.

    >>> in_bytes(500), in_bytes(3541), in_bytes(512 << 20)
    ('500 B', '3.5 KiB', '512.0 MiB')
    """
    units = ["B", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


def in_seconds(seconds: float) -> str:
    """Format a time with three digits.

    >>> in_seconds(2.5e-6), in_seconds(0.01234), in_seconds(321.5), in_seconds(0)
    ('2.5 us', '12.3 ms', '322 s', '0')
    """
    if seconds <= 0:
        return "0"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{three_digits(seconds / size)} {unit}"
    return f"{three_digits(seconds / 1e-9)} ns"


def three_digits(x: float) -> str:
    """Format a number with three digits, or all digits before the point.

    >>> three_digits(1.2345), three_digits(99.96), three_digits(12345.6)
    ('1.23', '100', '12,346')
    """
    return f"{x:,.0f}" if x >= 99.95 else f"{x:.3g}"


def plural(number: int, noun: str) -> str:
    """Format a number of things.

    >>> plural(1, "loop"), plural(2500, "loop")
    ('1 loop', '2,500 loops')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
