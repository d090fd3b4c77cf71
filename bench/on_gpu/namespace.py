"""What a text may use of a library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


class Absent(Exception):
    """A library has no such function, or none that it compiles."""


@dataclass(frozen=True)
class Namespace:
    """A library's functions: `np` like NumPy, `special` like `scipy.special`.

    `named` has those that libraries spell differently: `scan`, `while_loop`, `fori_loop` and `vmap`
    as in JAX, `sort(x)`, `maximum(x, number)` and `added(x, places, values)`, a copy of x with
    values added at places.
    """

    np: Any
    special: Any
    named: dict[str, Function]

    def __getattr__(self, name: str) -> Function:
        if name not in self.named:
            raise Absent(f"no {name} that it compiles")
        return self.named[name]
