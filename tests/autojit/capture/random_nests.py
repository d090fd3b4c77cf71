"""Random nests of loops that read and set elements: shifted, reversed, doubled and unknown indices.

Many programs, beside plain Python and the complex step::

    python -m tests.autojit.capture.random_nests 0 1000 [--compiled]
"""

from __future__ import annotations

import random
import sys
from contextlib import nullcontext
from typing import Any

import numpy as np

from autojit import disable_jit, grad, jit

from .outcomes import function_from, is_same, outcome

SIZE = 17
#: The last place is out of range.
ARGUMENTS = [(0.4, -0.7, 3), (-0.9, 0.25, SIZE - 1), (0.4, 0.2, SIZE)]


class Nests:
    """A function ``f(a, b, n)`` of a seed; its arrays have the dtype of ``a`` and ``b``."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names: list[str] = []

    def text(self) -> str:
        lines = [
            "import numpy as np\n\ndef f(a, b, n):",
            "    one = 1.0 + (a + b) * 0.0",
            f"    c = np.cos(np.arange({SIZE * SIZE}.0).reshape({SIZE}, {SIZE}) * a) * one",
            f"    d = np.sin(np.arange({SIZE * SIZE}.0).reshape({SIZE}, {SIZE}) * b) * one",
            f"    e = np.arange({SIZE}.0) * a * b",
            "    z = c * 0.0",
            "    t, last = 0.5, 1",
        ]
        for _ in range(self.rng.randint(1, 2)):
            lines += self.nest()
        lines.append(
            "    return np.sum(c * d) + np.sum(np.sin(z) * d) + np.sum(np.cos(e)) + c[3, 4] "
            "+ t + last"
        )
        return "\n".join(lines) + "\n"

    def nest(self) -> list[str]:
        self.names, lines = [], []
        for depth in range(self.rng.choice([1, 2, 2, 3])):
            lines.append(f"{'    ' * (depth + 1)}for {'ijk'[depth]} in {self.numbers()}:")
            self.names.append("ijk"[depth])
        indent = "    " * (len(self.names) + 1)
        lines += [indent + self.statement() for _ in range(self.rng.choice([1, 1, 2, 3]))]
        if self.rng.random() < 0.3:  # numbers that the last step leaves
            number = self.rng.choice([f"t = {self.element('cd')}", f"last = {self.names[-1]}"])
            lines.append(indent + number)
            if len(self.names) > 1:
                lines.append(f"{indent[4:]}e[{self.names[0]}] += 0.3 * t + 0.01 * last")
        return lines

    def numbers(self) -> str:
        first = self.rng.randint(0, 2)
        last = first + (self.rng.choice([3, 9, 10]) if len(self.names) < 2 else 3)
        kind = self.rng.random()
        if kind < 0.15 and self.names:
            k = self.rng.choice(self.names)
            return self.rng.choice([f"range({k})", f"range({k}, 9)", f"range(9, {k}, -1)"])
        if kind < 0.3:
            return f"range({last}, {first}, -1)"
        return f"range({first}, {last})"

    def statement(self) -> str:
        place = self.element("cze", whole_rows=True)
        operator = self.rng.choice(["=", "+=", "+=", "+=", "-=", "*="])
        factor = self.rng.choice(["0.1", f"0.2 * {self.element('czde')}", "a"])
        value = f"{self.element('czde')} * 0.3 + np.sin({self.element('czde')}) * {factor}"
        return f"{place} {operator} {value}"

    def element(self, arrays: str, *, whole_rows: bool = False) -> str:
        name = self.rng.choice(arrays)
        if name == "e" or (whole_rows and self.rng.random() < 0.1):
            return f"{name}[{self.index()}]"
        return f"{name}[{self.index()}, {self.index()}]"

    def index(self) -> str:
        k = self.rng.choice(self.names)
        return self.rng.choice([
            k, k, k, f"{k} + 1", f"{k} + 2", f"{k} - 1", f"-{k}", f"14 - {k}",
            str(self.rng.randint(0, SIZE - 1)), f"2 * {k} % {SIZE}", "n",
        ])  # fmt: skip


def faults(seed: int, *, compiled: bool = False) -> list[str]:
    """What the traced function of a seed, and its gradient, do otherwise than Python: run by the
    interpreter, or compiled."""
    f = function_from(Nests(seed).text(), f"<nests {seed}>")
    found = []
    for number, args in enumerate(ARGUMENTS):
        with np.errstate(all="ignore"), nullcontext() if compiled else disable_jit():
            expected = outcome(f, args)
            got = outcome(jit(f), args)
            if not is_same(expected, got):
                found.append(f"arguments {number}: {expected} / {got}")
            if expected[0] == "value" and number == 0:
                found += _slopes(f, args)
    return found


def _slopes(f: Any, args: tuple[float, float, int]) -> list[str]:
    a, b, n = args
    step = 1e-30
    slopes = [np.imag(f(a + 1j * step, b, n)) / step, np.imag(f(a, b + 1j * step, n)) / step]
    kind, got = outcome(jit(grad(f, argnums=(0, 1))), args)
    if not np.isfinite(slopes).all() or np.abs(slopes).max() > 1e12:
        return []
    if kind == "value" and np.allclose(got, slopes, rtol=1e-6, atol=1e-9 * np.abs(slopes).max()):
        return []
    return [f"gradient {got} / {slopes}"]


def main() -> None:
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        for fault in faults(seed, compiled="--compiled" in sys.argv):
            print(f"{seed}: {fault}\n{Nests(seed).text()}")


if __name__ == "__main__":
    main()
