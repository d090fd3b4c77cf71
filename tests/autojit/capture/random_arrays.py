"""Random functions in which arrays have several names, and are changed in place in loops and
branches.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_arrays 0 1000
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import numpy as np

from autojit import disable_jit, jit
from tests.autojit.capture.outcomes import function_from, is_same, outcome

HELPERS = """
import numpy as np

def put(u, w):
    u += 0.25 * w
    return u
"""
X = np.array([0.31, -0.2, 0.52, 0.7])


class Arrays:
    """A function ``f(x, n)`` of an array and an integer, which returns all its arrays."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.loops = 0

    def text(self) -> str:
        lines = [
            "def f(x, n):",
            "    a, b, c = x.copy(), x * 2.0, np.zeros(4)",
            "    v, t, i = a, 0.0, 0",
        ]
        if self.rng.random() < 0.3:
            lines.append("    b = a")
        if self.rng.random() < 0.3:
            lines.append("    v = b[::-1]")
        for _ in range(self.rng.randint(2, 4)):
            lines += self.statement(1, 0)
        return HELPERS + "\n".join([*lines, "    return a, b, c, v, t", ""])

    def name(self) -> str:
        return self.rng.choice("abcv")

    def statement(self, indent: int, depth: int) -> list[str]:
        rng, a, b, space = self.rng, self.name(), self.name(), "    " * indent
        kinds = ["+=", "*=", "item", "=", "= new", "view", "put", "out", "copy"]
        kinds += ["read"] if depth >= 3 else ["if", "if", "loop", "loop"]
        kind = rng.choice(kinds)
        if kind in ("if", "loop"):
            return self.branch(indent, depth) if kind == "if" else self.loop(indent, depth)
        lines = {
            "+=": [f"{a} += {rng.choice(['0.5', b, 'x'])}"],
            "*=": [f"{a} *= {rng.choice(['0.9', b, 'x'])}"],
            "item": [f"{a}[{rng.choice(['0', '2', 'i % 4'])}] += {rng.choice(['0.3', b + '[3]'])}"],
            "=": [f"{a} = {b}"],
            "= new": [f"{a} = {a} * 0.5 + {b}"],
            "view": [f"w = {a}[1:]", "w *= 0.7"],
            "put": [f"{a} = put({b}, {self.name()})"],
            "out": [f"np.multiply({a}, 0.8, {b})"],
            "copy": [f"{a} = {b}.copy()"],
            "read": [f"t = t + {a}[2]"],
        }[kind]
        return [space + line for line in lines]

    def branch(self, indent: int, depth: int) -> list[str]:
        space, a = "    " * indent, self.name()
        test = self.rng.choice([f"{a}[0] > {self.name()}[1]", "t > 1", "n > 2", "i == 1"])
        lines = [f"{space}if {test}:", *self.block(indent + 1, depth + 1)]
        if self.rng.random() < 0.4:
            lines += [f"{space}else:", *self.block(indent + 1, depth + 1)]
        return lines

    def loop(self, indent: int, depth: int) -> list[str]:
        space = "    " * indent
        self.loops += 1
        k = f"k{self.loops}"
        if self.rng.random() < 0.6:
            lines = [f"{space}{k} = 0", f"{space}while {k} < n:", f"{space}    {k} += 1"]
        else:
            lines = [f"{space}for {k} in range({self.rng.choice(['2', '3', 'n'])}):"]
        lines += [f"{space}    i = {k}", *self.block(indent + 1, depth + 1)]
        if self.rng.random() < 0.25:
            lines.append(f"{space}    if {self.name()}[0] > 0.4: break")
        return lines

    def block(self, indent: int, depth: int) -> list[str]:
        return [
            line for _ in range(self.rng.randint(1, 3)) for line in self.statement(indent, depth)
        ]


def faults(seed: int, seen: Counter[str] | None = None) -> list[str]:
    """What the traced function of a seed does otherwise than Python; ``seen`` counts what became
    of the calls."""
    f = function_from(Arrays(seed).text(), f"<arrays {seed}>")
    found = []
    for n in (0, 1, 4):
        with np.errstate(all="ignore"), disable_jit():
            expected, got = outcome(f, (X, n)), outcome(jit(f), (X, n))
        if seen is not None:
            seen[got[0]] += 1
        if got[0] != "refused" and not is_same(expected, got):
            found.append(f"n = {n}: {got} for {expected}")
    return found


def main() -> None:
    seen = Counter[str]()
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        for fault in faults(seed, seen):
            print(f"{seed}: {fault}\n{Arrays(seed).text()}")
    print(dict(seen))


if __name__ == "__main__":
    main()
