"""Lines of Python, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class PythonLines:
    """Lines of Python code, written in order."""

    lines: list[str]
    _indent: int

    def line(self, text: str) -> None:
        self.lines.append("    " * self._indent + text if text else "")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write lines below a header that ends in a colon; ``pass`` if there are none."""
        self.line(header)
        self._indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self._indent -= 1
