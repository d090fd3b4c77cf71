"""What modules below the traced array know of it."""

from __future__ import annotations

from typing import Any, Protocol

from autojit.ir.core.program import Value
from autojit.ir.core.types import Type

#: The least and the largest value that an integer may have.
Bounds = tuple[int, int]


class TracedValue(Protocol):
    """A traced array (see ``tracer``)."""

    own: Value
    owner: Any
    weak: type | None
    base: Any
    how: Any
    seen: Value | None
    lost: bool

    @property
    def value(self) -> Value: ...

    @property
    def type(self) -> Type: ...

    @property
    def argument_path(self) -> str | None:
        """How the user writes it (``argument 0['w']``), where it is an argument of a caller's."""

    def check_owner(self, trace: Any) -> None:
        """Raise unless the array belongs to that trace."""
