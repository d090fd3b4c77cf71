"""A function being written: its lines, and the values of its names at run time.

Each line runs as it is written, in plain NumPy, on the arguments. A line is dropped if it raises,
or if its values become too large.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.fuzz import plain
from tests.fuzz.case import leaves

#: The largest number, and the most elements of a value relative to those of the arguments.
LARGEST = 1e3
MOST = 4096


class Writer:
    """The body of a growing function. ``space`` holds the values of its names."""

    def __init__(self, rng: random.Random, space: dict[str, Any], names: list[str]) -> None:
        self.rng = rng
        self.space = space
        #: The names that may be read, oldest first.
        self.names = list(names)
        #: Arrays made by the function, and views of them.
        self.writable: set[str] = set()
        self.lines: list[str] = []
        self.indent = 1
        self.depth = 0
        #: Whether derivatives are taken: loops and steps are then smooth if possible.
        self.smooth = False
        #: Whether functions with bodies may be called, and derivatives taken, inside the function.
        self.control = True
        self.arguments = [v for v in space.values() if isinstance(v, np.ndarray)]
        self.most = max(MOST, 4 * max([v.size for v in self.arguments], default=0))

    # -- names -----------------------------------------------------------------------

    def new(self, stem: str = "v") -> str:
        """An unused name."""
        k = 0
        while f"{stem}{k}" in self.space:
            k += 1
        return f"{stem}{k}"

    def value(self, name: str) -> Any:
        return self.space[name]

    def arrays(self, kinds: str = "fc", min_ndim: int = 0) -> list[str]:
        """Names of arrays and numbers of these kinds; the latest ones more often."""
        found = [
            name
            for name in self.names
            if isinstance(v := self.space.get(name), (np.ndarray, np.generic, float, int))
            and np.asarray(v).dtype.kind in kinds
            and np.ndim(v) >= min_ndim
        ]
        return found + found[-4:]

    def unused(self) -> list[str]:
        """Names of floats that no line reads, the latest first."""
        text = "\n".join(self.lines)
        found = [n for n in self.arrays("f") if len(re.findall(rf"\b{n}\b", text)) == 1]
        return list(dict.fromkeys(reversed(found)))

    def pick(self, items: Any) -> Any:
        return self.rng.choice(list(items))

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    # -- running -----------------------------------------------------------------------

    def evaluate(self, text: str) -> Any:
        """The value of an expression; None if it fails or is unsuitable."""
        try:
            with np.errstate(all="ignore"):
                value = eval(text, self.space)
        except Exception:
            return None
        return value if self.suitable(value) else None

    def suitable(self, value: Any) -> bool:
        """Whether numbers are finite, and neither too large nor too many."""
        for leaf in leaves(value):
            if callable(leaf) or isinstance(leaf, (str, range, slice)):
                continue
            array = np.asarray(leaf)
            if array.dtype.kind not in "biufc" or array.size > self.most or array.ndim > 4:
                return False
            if array.dtype.kind in "fc" and not np.all(np.isfinite(array)):
                return False
            if array.dtype.kind != "b" and array.size and np.max(np.abs(array)) > LARGEST:
                return False
        return True

    @contextmanager
    def undone(self) -> Iterator[Callable[[], None]]:
        """Yield a function that undoes the lines run in the block: names, and writes into
        arrays."""
        space = dict(self.space)
        names, writable = list(self.names), set(self.writable)
        kept = [(v, v.copy()) for v in space.values() if isinstance(v, np.ndarray)]
        lists = [(v, list(v)) for v in space.values() if isinstance(v, list)]

        def undo() -> None:
            for array, copy in kept:
                if array.flags.writeable:
                    array[...] = copy
            for items, copy_of in lists:
                items[:] = copy_of
            self.space.clear()
            self.space.update(space)
            self.names, self.writable = names, writable

        yield undo

    def run(self, text: str) -> bool:
        """Run lines; if they fail, or values become unsuitable, undo everything."""
        with self.undone() as undo:
            try:
                with np.errstate(all="ignore"):
                    exec(text, self.space)
            except Exception:
                undo()
                return False
            values = [v for k, v in self.space.items() if k in self.watched()]
            if not self.suitable(values):
                undo()
                return False
        return True

    def watched(self) -> set[str]:
        return {k for k, v in self.space.items() if isinstance(v, (np.ndarray, np.generic, list))}

    def write(self, *lines: str, binds: tuple[str, ...] = ()) -> bool:
        """Run lines and keep them, with the names that they bind; return False if they fail."""
        if not self.run("\n".join(lines)):
            return False
        self.lines += ["    " * self.indent + line for line in lines]
        self.bind(*binds)
        return True

    def bind(self, *names: str) -> None:
        for name in names:
            if name not in self.names:
                self.names.append(name)
            if self.is_own(self.space.get(name)):
                self.writable.add(name)
            else:
                self.writable.discard(name)

    def is_own(self, value: Any) -> bool:
        """Whether an array shares no memory with the arguments."""
        return (
            isinstance(value, np.ndarray)
            and value.ndim > 0
            and value.flags.writeable
            and not any(np.may_share_memory(value, a) for a in self.arguments)
        )

    # -- functions inside ----------------------------------------------------------------

    def inner(self, parameters: dict[str, Any]) -> Writer:
        """The writer of an inner function, which may read names of this one."""
        space = {**self.space, **parameters}
        made = Writer(self.rng, space, [*self.names, *parameters])
        made.arguments = [v for v in space.values() if isinstance(v, np.ndarray)]
        made.depth, made.most, made.smooth = self.depth + 1, self.most, self.smooth
        made.control = self.control
        # Parameters are used more often than outer names.
        made.names = [*self.names[-3:], *parameters, *parameters]
        return made

    def define(self, name: str, inner: Writer, parameters: list[str], result: str) -> list[str]:
        """The lines that define an inner function."""
        lines = [f"def {name}({', '.join(parameters)}):", *inner.lines, f"    return {result}"]
        return lines


def fresh_space(arguments: dict[str, Any]) -> dict[str, Any]:
    from tests.fuzz import differences

    return {**plain.names(), **differences.DERIVATIVES, **arguments}
