"""Names for what is printed."""

from __future__ import annotations

from .values import Buffer


class BufferNames:
    """Names of buffers: two that are called the same get different ones.

    >>> one, other = Buffer("t", "f64", 1, "temp"), Buffer("t", "f64", 1, "temp")
    >>> name = BufferNames()
    >>> name(one), name(other), name(one)
    ('t', 't_2', 't')
    """

    def __init__(self) -> None:
        self.names: dict[Buffer, str] = {}
        self.taken: set[str] = set()

    def __call__(self, buffer: Buffer) -> str:
        found = self.names.get(buffer)
        if found is None:
            found, n = buffer.name, 2
            while found in self.taken:
                found, n = f"{buffer.name}_{n}", n + 1
            self.names[buffer] = found
            self.taken.add(found)
        return found
