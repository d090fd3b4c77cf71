"""The interface of traced arrays for modules below, and the bounds of traced Python integers."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

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
    kept: bool
    is_bounded: bool

    @property
    def value(self) -> Value: ...

    @property
    def type(self) -> Type: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    @property
    def is_scalar(self) -> bool: ...

    @property
    def is_number(self) -> bool: ...

    @property
    def argument_path(self) -> str | None:
        """How the user writes it (``argument 0['w']``), where it is an argument of a caller's."""

    def check_owner(self, trace: Any) -> None:
        """Raise unless the array belongs to that trace."""

    def stand_in(self, value: Value, trace: Any) -> Any:
        """An array like this one, with that value in that trace."""


T = TypeVar("T", bound=TracedValue)
LEAST, LARGEST = -(2**63), 2**63 - 1


def bounds_of(x: Any) -> Bounds:
    """The bounds of a Python integer, traced or not."""
    if isinstance(x, int):
        return int(x), int(x)
    found: Bounds = x.owner.bounds.get(x.value, (LEAST, LARGEST))
    return found


def with_bounds(x: T, bounds: Bounds) -> T:
    """The same traced integer, which is known to be within bounds."""
    x.owner.bounds[x.value] = bounds
    return x
