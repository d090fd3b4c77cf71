"""The declaration of the programs of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench.workloads.loops import scan_of

#: A function, and its arguments; the function is differentiated by the first one.
Made = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Program:
    """A scalar function as a user writes it, with the sizes of a real task and tiny ones.

    `make(rng, **sizes)` draws the arguments and returns them with the function. If the program
    `needs` functions of autojit ("scan", "vmap"), it gets each as a keyword argument: autojit's
    own, or a Python loop for the run by NumPy alone.
    """

    name: str
    title: str
    make: Callable[..., Made]
    full: Mapping[str, int]
    tiny: Mapping[str, int]
    needs: tuple[str, ...] = ()

    def at(self, sizes: Mapping[str, int], library: Any) -> Made:
        """The function and its arguments, which are the same at each call."""
        functions = {name: getattr(library, name) for name in self.needs}
        return self.make(np.random.default_rng(0), **functions, **sizes)


DECLARED: dict[str, Program] = {}


def program(
    title: str, full: Mapping[str, int], tiny: Mapping[str, int], needs: tuple[str, ...] = ()
) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Declare the program that the decorated function makes, under that function's name."""

    def declare(make: Callable[..., Made]) -> Callable[..., Made]:
        assert make.__name__ not in DECLARED, f"two programs named {make.__name__}"
        found = Program(make.__name__, title, make, full, tiny, needs)
        DECLARED[found.name] = found
        return make

    return declare


# -- replacements for autojit's functions when NumPy runs alone ------------------------


def fori_loop(lower: int, upper: int, body: Callable[[int, Any], Any], init: Any) -> Any:
    state = init
    for i in range(lower, upper):
        state = body(i, state)
    return state


def vmap(f: Callable[..., Any]) -> Callable[..., Any]:
    """Map over the first axis of every argument."""
    return lambda *arrays: np.stack([f(*rows) for rows in zip(*arrays, strict=True)])


PLAIN = SimpleNamespace(scan=scan_of(np), fori_loop=fori_loop, vmap=vmap)
