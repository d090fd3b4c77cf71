"""Random programs with lists in which elements are None at times, or parts of elements.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000 --gaps
"""

from __future__ import annotations

import random

HELPERS = """
import numpy as np

def first_above(row, limit):
    for v in row:
        if v > limit:
            return v

def weight(rows):
    total = 0.0
    for k, v in enumerate(rows):
        total += 0.5 * k if v is None else v * (k + 1)
    return total
"""


class Gaps:
    """Writes one function ``f(a, b, n, x)`` from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.budget = self.rng.randint(5, 12)
        self.count = 0

    def text(self) -> str:
        self.lines = [HELPERS, "def f(a, b, n, x):"]
        self.put(1, f"p = [None] * {self.pick('4', '4', 'n')}")
        self.put(1, f"q = {self.pick('[]', '[]', '[None]', '[a, None]', '[b]')}")
        self.put(1, f"r = {self.pick('[]', '[(0, None)]', '[(1, a)]')}")
        self.put(1, "s, o, k = a, None, 0")
        self.block(1, 0)
        self.block(1, 0)
        result = "p, q, r, s, weight(p), weight(q), -9.0 if o is None else o"
        self.put(1, f"return {self.pick(result, result, 'p, s, weight(q)', 'q, len(r), s')}")
        return "\n".join(self.lines) + "\n"

    def put(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def a_list(self) -> str:
        return self.pick("p", "q", "q")

    def number(self) -> str:
        return self.pick(
            "a", "b", "s", "1.5", "x[1]", "x[k % 3]", "float(n)", "(0.5 if o is None else o)",
            f"sum(v for v in {self.a_list()} if v is not None)", f"float(len({self.a_list()}))",
            f"weight({self.a_list()})", "sum(w or 1.0 for _, w in r)",
        )  # fmt: skip

    def perhaps(self) -> str:
        """A number or None."""
        return self.pick(
            "None", "o", self.number(), self.number(), f"first_above(x, {self.number()})",
            f"{self.number()} if {self.test()} else None", "(q[-1] if q else None)",
            "(p[k % len(p)] if p else None)",
        )  # fmt: skip

    def test(self) -> str:
        name = self.a_list()
        return self.pick(
            "a > 0", f"{self.number()} > {self.number()}", "n > 1", "k % 2 == 0", "o is None",
            f"len({name}) > 2", f"{name} and {name}[0] is not None", f"None in {name}",
            f"a in {name}", f"{name}.count(None) > 1", f"any({name})", f"all({name})", "o",
            f"any(v is None for v in {name})",
        )  # fmt: skip

    def simple(self) -> str:
        v = self.perhaps
        name = self.a_list()
        return self.rng.choice([
            lambda: f"q.append({v()})",
            lambda: f"q.append({v()})",
            lambda: f"if p: p[{self.pick('0', '-1', 'k % len(p)', 'n % len(p)')}] = {v()}",
            lambda: f"if p: p[{self.pick('k % len(p)', 'n % len(p)')}] = {v()}",
            lambda: f"if q: q[{self.pick('0', '-1', 'k % len(q)')}] = {v()}",
            lambda: f"o = {v()}",
            lambda: f"s = {self.number()}",
            lambda: f"r.append((k, {v()}))",
            lambda: f"if {name}: o = {name}[{self.pick('0', '-1')}]",
            lambda: "if q: o = q.pop()",
            lambda: f"q = {self.pick('q[1:]', 'q[:3]', 'q + [None]', 'list(q)', 'q[::-1]')}",
            lambda: f"q = [v for v in {name} if v is not None]",
            lambda: f"q = [None if v is None else v * 2 for v in {name}]",
            lambda: f"q.insert(0, {v()})",
            lambda: f"q.extend({name})" if name == "p" else "q.reverse()",
            lambda: f"s += max([v for v in {name} if v is not None], default=1.0)",
            lambda: f"if None in {name}: k += {name}.index(None)",
            lambda: f"if None not in {name}: s += sum({name})",
            lambda: f"if len({name}) > 1: o = {self.pick('sum', 'max', 'min')}({name})",
            lambda: "k += 1",
        ])()  # fmt: skip

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.budget -= 1
            if depth > 2 or self.budget < 0 or self.rng.random() < 0.5:
                self.put(indent, self.simple())
            else:
                self.rng.choice([self.branch, self.branch, self.loop])(indent, depth)

    def branch(self, indent: int, depth: int) -> None:
        self.put(indent, f"if {self.test()}:")
        self.block(indent + 1, depth + 1)
        if self.rng.random() < 0.4:
            self.put(indent, "else:")
            self.block(indent + 1, depth + 1)

    def loop(self, indent: int, depth: int) -> None:
        self.count += 1
        head = self.pick("range(n)", "range(6)", "range(3)", "x")
        self.put(indent, f"for c{self.count} in {head}:")
        self.block(indent + 1, depth + 1)
        self.put(indent + 1, self.pick("k += 1", "k += 2"))
