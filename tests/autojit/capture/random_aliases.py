"""Random functions in which lists, dicts, objects and variables of inner functions have several
names, some of which conditions on values bind anew, as source text.

Each takes floats ``a`` and ``b``, an integer ``n`` from 0 to 4 and an array ``x`` of three floats,
and returns all that can be seen of what it has changed.
"""

from __future__ import annotations

import random

HELPERS = """
import contextlib
import numpy as np

class Model:
    def __init__(self, w, rows):
        self.w = w
        self.rows = rows
    def push(self, v):
        self.rows[0] = v
        return self.rows

class Guard:
    def __init__(self, log):
        self.log = log
    def __enter__(self):
        self.log[0] += 1
        return self.log
    def __exit__(self, *error):
        self.log[1] += 1

@contextlib.contextmanager
def swapped(rows, v):
    old = rows[0]
    rows[0] = v
    try:
        yield rows
    finally:
        rows[1] = old

def fresh(v):
    return [v, 2.0]

def same(rows):
    return rows

def either(rows, v):
    if v > 0.5:
        rows = [v, v]
    return rows

def put(rows, v):
    rows[1] = v

def grow(rows, v):
    rows += [v]
    del rows[0]
"""

LISTS = ["p", "q", "r"]
DICTS = ["d", "e"]
RESULT = "p, q, r, d, e, m.rows, m.w, k.rows, t[0], t[1], y, z, s, log"


class Aliases:
    """Writes one function from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.budget = self.rng.randint(4, 12)
        self.count = 0

    def text(self) -> str:
        self.lines = [HELPERS, "def f(a, b, n, x):"]
        self.put(1, f"p = [a, 1.0]; q = {self.pick('p', '[b, 2.0]')}; r = [b, a]")
        self.put(1, f"d = {{'u': a, 'v': 1.0}}; e = {self.pick('d', 'dict(d)')}")
        self.put(1, f"m = Model(b, {self.pick('p', 'r', '[0.0, a]')})")
        self.put(1, f"k = {self.pick('m', 'Model(a, q)')}; t = ({self.pick('p', 'q')}, r)")
        self.put(1, f"y = x.copy(); z = {self.pick('y', 'y[:2]', 'x * 2')}; s = a; log = [0, 0]")
        self.put(1, "def rebind(v):")
        names = self.rng.sample(["p", "q", "s", "d"], 2)
        self.put(2, f"nonlocal {', '.join(names)}")
        self.put(2, f"if v > {self.pick('0', '1')}:")
        self.put(3, self.rebinding(names[0]))
        self.put(2, f"{names[1]} = {self.value_of(names[1])}")
        self.put(2, "return p[0]")
        self.block(1, 0)
        result = self.pick(RESULT, RESULT, "p, q, r, d['u'], e['u'], s", "p[0] + q[1], t[0][0], s")
        self.put(1, f"return {result}")
        return "\n".join(self.lines) + "\n"

    def put(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def number(self) -> str:
        return self.pick(
            "a", "b", "s", "1.5", "p[0]", "q[1]", "r[0]", "t[0][1]", "d['u']", "e['v']", "y[1]",
            "m.rows[0]", "k.rows[1]", "sum(q)", "a * 2", "s + p[1]", "float(n)", "z[0]",
        )  # fmt: skip

    def test(self) -> str:
        return self.pick(
            "a > 0", "b < 0.5", f"{self.number()} > {self.number()}", "n > 1", "n % 2 == 0",
            f"a > 1 or {self.number()} < 0", "p is q", "x[1] > 0",
        )  # fmt: skip

    def a_list(self) -> str:
        v = self.number
        return self.pick(
            "p", "q", "r", "m.rows", "k.rows", "t[0]", "t[1]", f"[{v()}, {v()}]", "list(p)",
            f"fresh({v()})", "same(q)", f"either(p, {v()})", f"m.push({v()})", "q[:]", "p + []",
        )  # fmt: skip

    def value_of(self, name: str) -> str:
        if name in DICTS:
            return self.pick("d", "e", "dict(d)", f"{{'u': {self.number()}, 'v': {self.number()}}}")
        if name in LISTS:
            return self.a_list()
        return self.number()

    def rebinding(self, name: str) -> str:
        return f"{name} = {self.value_of(name)}"

    # -- statements

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.budget -= 1
            r = self.rng.random()
            if depth > 2 or self.budget < 0 or r < 0.5:
                self.put(indent, self.simple())
            else:
                self.rng.choice([
                    self.branch, self.branch, self.branch, self.loop, self.loop_while, self.within,
                    self.trying,
                ])(indent, depth)  # fmt: skip

    def simple(self) -> str:
        name, v = self.rng.choice(LISTS), self.number
        return self.rng.choice([
            lambda: self.rebinding(name),
            lambda: self.rebinding(name),
            lambda: self.rebinding(self.rng.choice(DICTS)),
            lambda: f"{name}[{self.pick('0', '1', '-1', 'n % 2')}] = {v()}",
            lambda: f"{name}[{self.pick('0', '1')}] += {v()}",
            lambda: f"{name}[:] = [{v()}, {v()}]",
            lambda: f"{name}.append({v()}); {name}.pop(0)",
            lambda: f"{name}.reverse()",
            lambda: f"{name}.insert(0, {v()}); del {name}[-1]",
            lambda: f"grow({name}, {v()})",
            lambda: f"put({name}, {v()})",
            lambda: f"{name}, q = q, {name}",
            lambda: f"{self.pick('d', 'e')}['u'] = {v()}",
            lambda: f"{self.pick('d', 'e')}.update(v={v()})",
            lambda: f"e |= {{'u': {v()}, 'v': {v()}}}",
            lambda: f"m.rows = {self.a_list()}",
            lambda: f"k.rows[0] = {v()}",
            lambda: f"m.w = {v()}",
            lambda: f"t = ({self.a_list()}, {self.a_list()})",
            lambda: f"t[0][1] = {v()}",
            lambda: f"s = {v()}",
            lambda: "s += sum(p) + len(q)",
            lambda: f"s = rebind({v()})",
            lambda: "k = m",
            lambda: f"y[{self.pick('0', '1:')}] = {v()}",
            lambda: f"z[0] += {v()}",
            lambda: self.pick("z = y", "y = y * 2", "z = y[1:]", "y, z = z, y"),
            lambda: f"{name} = {self.a_list()} if {self.test()} else {self.a_list()}",
            lambda: "p, q = [q, p]",
        ])()  # fmt: skip

    def branch(self, indent: int, depth: int) -> None:
        self.put(indent, f"if {self.test()}:")
        self.block(indent + 1, depth + 1)
        if self.rng.random() < 0.4:
            self.put(indent, "else:")
            self.block(indent + 1, depth + 1)

    def loop(self, indent: int, depth: int) -> None:
        self.count += 1
        head = self.pick(
            "range(n)", "range(12)", "range(2)", "p", "zip(p, q)", "enumerate(r)", "(p, q)"
        )
        self.put(indent, f"for i{self.count} in {head}:")
        self.block(indent + 1, depth + 1)
        if self.rng.random() < 0.2:
            self.put(indent + 1, f"if {self.test()}: {self.pick('break', 'continue')}")

    def loop_while(self, indent: int, depth: int) -> None:
        self.count += 1
        c = f"c{self.count}"
        self.put(indent, f"{c} = 0")
        self.put(indent, f"while {c} < {self.pick('n', '3', 'n + 1')}:")
        self.put(indent + 1, f"{c} += 1")
        self.block(indent + 1, depth + 1)

    def within(self, indent: int, depth: int) -> None:
        manager = self.pick("Guard(log)", f"swapped({self.rng.choice(LISTS)}, {self.number()})")
        target = self.pick("", f" as {self.rng.choice(LISTS)}" if "swapped" in manager else "")
        self.put(indent, f"with {manager}{target}:")
        self.block(indent + 1, depth + 1)

    def trying(self, indent: int, depth: int) -> None:
        self.put(indent, "try:")
        self.block(indent + 1, depth + 1)
        self.put(indent, "finally:")
        self.put(indent + 1, self.simple())
