"""The target machine: caches, vectors, processors, and the costs of operations.

Passes call ``current()``. Querying the machine takes LLVM, so ``autojit.codegen`` registers a
function for that when it is imported (``ask_by``).  A test compiles for another machine::

    with using(replace(current(), caches=(4096, 16384, 65536), vector_bytes=16)):
        ...

Code that this process has compiled and cached was made for the usual machine, so a test has to
empty these caches (as ``tests/thresholds.py`` does).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

#: The levels of the caches: a processor's first and second, and the last before memory.
L1, L2, LAST = 1, 2, 3


def figure(value: float, unit: str, measured: str) -> Any:
    """A field with a figure of the cost model: its value, its unit, and how it was measured."""
    return field(default=value, metadata={"unit": unit, "measured": measured})


@dataclass(frozen=True)
class Costs:
    """The costs of operations, measured on one processor; others differ by small factors.

    It is an AMD EPYC of the fourth generation (Zen 4) with two processors of a virtual machine.
    ``python -m bench.costs`` measures all figures again and prints them beside these.  If both a
    measured and a used value are given, the latter was chosen by the run time of whole programs.
    """

    latency: float = figure(
        4, "cycles",
        "from a fused multiply-add to one that reads its result: a chain of 2e6, 3.95 to 3.99",
    )  # fmt: skip
    scalar_rate: float = figure(
        2, "operations a cycle",
        "eight chains of multiply-adds on numbers: 1.4 to 1.8; there are two units for them",
    )  # fmt: skip
    vector_rate: float = figure(
        1.5, "vectors a cycle",
        "thirteen operations an element on 1,024 float64 in the first-level cache: 1.26 to 1.32",
    )  # fmt: skip
    division: float = figure(
        4, "additions",
        "four divisions an element beside additions: 9.8 to 10; in programs, where loads and other "
        "work run beside them, 4",
    )  # fmt: skip
    function: float = figure(
        10, "additions",
        "four exp an element of 1,024 float64, against additions in registers: 24; in programs, "
        "against additions with their loads, 10 (one exp an element, less a loop without: 9.5 to "
        "12.6)",
    )  # fmt: skip
    product: float = figure(
        4, "multiplications an addition",
        "128 x 128 float64 in tiles, against additions in registers: 1.1; in programs, against "
        "additions with their loads, 4",
    )  # fmt: skip
    misprediction: float = figure(
        18, "cycles",
        "loops of no step or one by 65,536 random bits, against the same in order: 18.4",
    )  # fmt: skip
    second_level: float = figure(
        32, "bytes a cycle", "a sum of half of the second-level cache: 30 to 31"
    )
    last_level: float = figure(
        16, "bytes a cycle",
        "a sum of half of the last level: 26; reading and writing beside another processor: 16",
    )  # fmt: skip
    memory: float = figure(
        5, "bytes a cycle",
        "a sum of 16 times the last level: 8; beside another processor: 5",
    )  # fmt: skip
    launch: float = figure(
        62_500 / 12, "cycles",
        "Numba's threading layer on an empty range, both processors idle: 5,000 to 9,200",
    )  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """The properties of a machine that passes use.

    ``line`` and ``caches`` are in bytes.  A cache that processors share counts in equal parts.
    ``source`` names the origin of the sizes. ``processors`` is the number that may be used; code
    does not depend on it, because results are the same for any number of threads.
    """

    line: int
    caches: tuple[int, int, int]
    vector_bytes: int
    vector_registers: int
    features: frozenset[str]
    processors: int
    source: str = "told"
    costs: Costs = Costs()

    def cache(self, level: int, part: float = 1.0) -> int:
        """The bytes of a part of a cache.

        >>> current().cache(L2, 1 / 8) * 8 == current().cache(L2)
        True
        """
        return int(self.caches[level - 1] * part)

    def lanes(self, bytes_of_scalar: int = 8) -> int:
        """How many scalars a vector register holds."""
        return max(1, self.vector_bytes // bytes_of_scalar)

    @property
    def rate(self) -> float:
        """Additions of float64 in a cycle, in loops that are vector code."""
        return self.costs.vector_rate * self.lanes()

    def additions(self, cycles: float) -> int:
        """The number of loop additions that take so many cycles: the unit of ``work``."""
        return round(cycles * self.rate)

    def bytes_a_cycle(self, size: int) -> float:
        """The bytes per cycle at which a processor reads arrays of a size, not in its own
        caches."""
        return self.costs.memory if size > self.caches[LAST - 1] else self.costs.last_level

    def facts(self) -> str:
        """All facts that code depends on, as text: a part of the disk cache key."""
        costs = ", ".join(f"{f.name} {getattr(self.costs, f.name):g}" for f in fields(Costs))
        sizes = " ".join(map(str, self.caches))
        vectors = f"{self.vector_registers} vectors of {self.vector_bytes}"
        return f"caches {sizes}, line {self.line}, {vectors}, {costs}"

    def description(self) -> str:
        """The facts for a reader."""
        first, second, last = (f"{size // 1024:,} KiB" for size in self.caches)
        return (
            f"caches of {first}, {second} and {last} a processor ({self.source}), lines of "
            f"{self.line} bytes, {self.vector_registers} vector registers of "
            f"{8 * self.vector_bytes} bits"
        )


_told: list[Machine] = []
_asked: list[Callable[[], Machine]] = []


def ask_by(ask: Callable[[], Machine]) -> None:
    """Register the function that queries the machine; it is called often."""
    _asked[:] = [ask]


def current() -> Machine:
    """The machine that code is made for."""
    if _told:
        return _told[-1]
    if not _asked:  # the package above, which asks, has not been loaded yet
        importlib.import_module(f"{__name__.partition('.ir.')[0]}.codegen")
    return _asked[0]()


@contextmanager
def using(machine: Machine) -> Iterator[Machine]:
    """Compile for another machine, in all threads, while the block runs."""
    _told.append(machine)
    try:
        yield machine
    finally:
        _told.pop()
