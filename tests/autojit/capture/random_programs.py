"""Random functions whose control flow depends on their arguments, as source text.

Each takes floats ``a`` and ``b``, an integer ``n`` from 0 to 4 and an array ``x`` of three floats,
and returns what it has changed.  Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000
    python -m tests.autojit.capture.random_programs 0 1000 --aliases
    python -m tests.autojit.capture.random_programs 0 1000 --nones
    python -m tests.autojit.capture.random_programs 0 1000 --chosen
"""

from __future__ import annotations

import random
from collections.abc import Callable

HELPERS = """
import math
import numpy as np

SHIFT = 0.5

class Model:
    scale = 2.0
    def __init__(self, w):
        self.w = w
        self.count = 0
        self.rows = [w, 1.0]
    def step(self, v, rate=0.5):
        if v > self.w:
            self.w = self.w + rate
            self.count += 1
        else:
            self.w -= 0.25 * v
        return self.w * self.scale
    def __call__(self, v):
        return v + self.w if v < 1 else self.w

def clip(v, low=-2.0, high=2.0):
    if v < low:
        return low
    if v > high:
        return high
    return v

def first_large(row, limit):
    for i, v in enumerate(row):
        if v > limit:
            return i
    return -1

def fill(row, v):
    for i in range(len(row)):
        if row[i] < v:
            row[i] = v
            continue
        row[i] *= 0.5
    return row

def halvings(v):
    k = 0
    while abs(v) > 0.3 and k < 6:
        v = v / 2
        k += 1
    return k

def checked(v):
    if v > 4:
        raise ValueError("too large")
    return v * 0.5

def total(v, *rest, **more):
    s = v
    for r in rest:
        s = s + r
    return s + more.get("extra", 0.0)
"""


class Program:
    """Writes one function from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.budget = self.rng.randint(4, 16)
        self.numbers = ["a", "b", "s", "t"]
        self.whole = ["n", "k"]
        self.arrays = ["y", "z"]
        self.result = "s, t, k, y, z, m.w, m.count, m.rows, xs, d, a, b"

    def text(self) -> str:
        if self.rng.random() < 0.3:
            self.result = self.pick("s", "t + s", "y", "(t, k, xs)")
        self.lines = [HELPERS, "def f(a, b, n, x):"]
        self.put(1, "s, t, k = 0.0, a, 0")
        self.put(1, "y = x.copy(); z = np.zeros(3); m = Model(b); xs = [a, b, 1.0]; d = {'p': a}")
        self.put(1, "log = []")
        self.put(1, "def bump(v):")
        self.put(2, "nonlocal s")
        self.put(2, "s = s + v")
        self.put(2, "return s")
        self.block(1, loop=False, depth=0)
        self.put(1, f"return {self.result}")
        return "\n".join(self.lines) + "\n"

    def put(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    # -- expressions

    def constant(self) -> str:
        return self.pick("0.5", "1.0", "2.0", "-1.5", "1", "0.25", "SHIFT")

    def number(self, depth: int = 0) -> str:
        if depth > 1 or self.rng.random() < 0.3:
            return self.rng.choice([*self.numbers, self.constant(), "float(n)"])
        v = lambda: self.number(depth + 1)  # noqa: E731
        c = lambda: self.test(depth + 1)  # noqa: E731
        return self.rng.choice([
            lambda: f"({v()} {self.pick('+', '-', '*')} {v()})",
            lambda: f"({v()} * 0.5)",
            lambda: f"({v()} if {c()} else {v()})",
            lambda: f"{self.pick('y', 'z', 'x')}[{self.index()}]",
            lambda: f"xs[{self.index()}]",
            lambda: f"{self.pick('max', 'min')}({v()}, {v()})",
            lambda: f"abs({v()})",
            lambda: f"np.sin({v()})",
            lambda: f"math.cos({v()})",
            lambda: f"clip({v()})",
            lambda: f"clip({v()}, high={v()})",
            lambda: f"{self.pick('y', 'z')}[{self.pick('1:', ':2', '::2', '')}].sum()"
            .replace("[]", ""),
            lambda: f"m.step({v()})",
            lambda: "m.w",
            lambda: f"m({v()})",
            lambda: f"m.rows[{self.index(2)}]",
            lambda: "d['p']",
            lambda: f"bump({v()})",
            lambda: f"(lambda q, r={v()}: q + r if q > {v()} else r)({v()})",
            lambda: "sum(xs)",
            lambda: f"sum(q * {v()} for q in y)",
            lambda: f"sum([q for q in (1.0, 2.0, 3.0) if q > {self.pick('1', '2')}])",
            lambda: f"checked({v()})",
            lambda: f"total({v()}, {v()}, extra={v()})",
            lambda: f"halvings({v()})",
            lambda: f"({v()} and {v()})",
            lambda: f"({v()} or {v()})",
            lambda: f"float({self.integer(depth + 1)})",
            lambda: f"sorted([{v()}, {v()}])[0]",
        ])()  # fmt: skip

    def integer(self, depth: int = 0) -> str:
        if depth > 1 or self.rng.random() < 0.4:
            return self.rng.choice([*self.whole, "2", "3", "1"])
        w = lambda: self.integer(depth + 1)  # noqa: E731
        return self.rng.choice([
            lambda: f"({w()} {self.pick('+', '-')} {w()})",
            lambda: f"({w()} // 2)",
            lambda: f"({w()} % 3)",
            lambda: f"({w()} if {self.test(depth + 1)} else {w()})",
            lambda: f"min({w()}, 4)",
            lambda: f"int({self.test(depth + 1)})",
            lambda: f"first_large(y, {self.number(2)})",
            lambda: "len(xs)",
            lambda: "m.count",
        ])()  # fmt: skip

    def index(self, size: int = 3) -> str:
        return self.rng.choice([
            "0", "1", "-1", "n % 2", "k % 2", f"(n + k) % {size}", "halvings(a) % 2",
        ])  # fmt: skip

    def test(self, depth: int = 0) -> str:
        v = lambda: self.number(depth + 1)  # noqa: E731
        if depth > 1:
            return f"{self.rng.choice(self.numbers)} {self.pick('<', '>')} {self.constant()}"
        c = lambda: self.test(depth + 1)  # noqa: E731
        return self.rng.choice([
            lambda: f"{v()} {self.pick('<', '>', '<=', '>=')} {v()}",
            lambda: f"{v()} < {v()} <= {v()}",
            lambda: f"{self.integer(depth + 1)} {self.pick('<', '==', '!=', '>=')} "
            f"{self.integer(depth + 1)}",
            lambda: f"not {c()}",
            lambda: f"({c()} {self.pick('and', 'or')} {c()})",
            lambda: f"any(q > {v()} for q in y)",
            lambda: f"all(q < {v()} for q in xs)",
            lambda: "n",
            lambda: "y.sum() > 1",
            lambda: "n in (1, 3)",
            lambda: f"isinstance({self.rng.choice(self.numbers[:2])}, float)",
        ])()  # fmt: skip

    # -- statements

    def block(self, indent: int, *, loop: bool, depth: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(indent, loop, depth)
            self.budget -= 1

    def statement(self, indent: int, loop: bool, depth: int) -> None:
        r = self.rng.random()
        if depth >= 3 or self.budget <= 0 or r < 0.4:
            self.put(indent, self.simple())
        elif r < 0.47:
            self.leave(indent, loop)
        else:
            chosen: list[Callable[[int, bool, int], None]] = [
                self.branch, self.branch, self.branch, self.for_loop, self.for_loop,
                self.while_loop, self.while_loop, self.with_try, self.nested,
            ]  # fmt: skip
            self.rng.choice(chosen)(indent, loop, depth)

    def simple(self) -> str:
        name, v = self.rng.choice(self.numbers), self.number
        array = self.rng.choice(self.arrays)
        return self.rng.choice([
            lambda: f"{name} = {v()}",
            lambda: f"{name} = {v()}",
            lambda: f"{name} {self.pick('+=', '-=', '*=')} {v(1)}",
            lambda: f"k = {self.integer()} % 5",
            lambda: "k += 1",
            lambda: f"{array}[{self.index()}] = {v()}",
            lambda: f"{array}[{self.index()}] += {v()}",
            lambda: f"{array}[{self.pick('1:', ':2', ':')}] = {v()}",
            lambda: f"{array} = {self.pick('y', 'z')} + {v()}",
            lambda: f"{array} = {self.pick('y', 'z', 'np.ones(3)', 'x.copy()', 'y.copy()')}",
            lambda: f"{array} *= {v(1)}",
            lambda: f"{array} = y if {self.test()} else z",
            lambda: f"w = {array}[1:]; w[0] = {v()}" if self.rng.random() < 0.5 else "z = y.copy()",
            lambda: f"w = {array}; w += {v()}",
            lambda: f"fill({array}, {v()})",
            lambda: "y, z = z, y",
            lambda: "s, t = t, s",
            lambda: f"xs[{self.index()}] = {v()}",
            lambda: f"xs[{self.index()}] -= {v()}",
            lambda: f"xs[0] = {v()}" if self.rng.random() < 0.8 else f"xs.append({v()})",
            lambda: f"log.append({v()})" if self.rng.random() < 0.2 else f"t = {v()}",
            lambda: f"m.w = {v()}",
            lambda: f"m.count += {self.integer(2)}",
            lambda: f"m.step({v()})",
            lambda: f"m.rows[{self.index(2)}] = {v()}",
            lambda: f"d['p'] = {v()}",
            lambda: f"d['q'] = {v()}" if self.rng.random() < 0.2 else "d['p'] *= 0.5",
            lambda: f"bump({v()})",
            lambda: f"u = {v()}",
            lambda: "t = u" if "u = " in str(self.lines) else "u = s",
            lambda: "del t; t = 1.0",
            lambda: f"assert {self.test()}, 'no'",
            lambda: f"t = [q * 2 for q in xs][{self.index()}]",
            lambda: "s = 0",
            lambda: "t = np.float32(1.5)",
            lambda: f"if {self.test()}: raise ValueError('early')",
        ])()  # fmt: skip

    def leave(self, indent: int, loop: bool) -> None:
        result = f"return {self.result}"
        out = self.pick("break", "continue", result) if loop else result
        self.put(indent, f"if {self.test()}:")
        if self.rng.random() < 0.3:
            self.put(indent + 1, self.simple())
        self.put(indent + 1, out)

    def branch(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, f"if {self.test()}:")
        self.block(indent + 1, loop=loop, depth=depth + 1)
        while self.rng.random() < 0.25:
            self.put(indent, f"elif {self.test()}:")
            self.block(indent + 1, loop=loop, depth=depth + 1)
        if self.rng.random() < 0.5:
            self.put(indent, "else:")
            self.block(indent + 1, loop=loop, depth=depth + 1)

    def for_loop(self, indent: int, loop: bool, depth: int) -> None:
        self.count += 1
        i = f"i{self.count}"
        head = self.pick(
            f"{i} in range(n)", f"{i} in range(12)", f"{i} in range(3, 0, -1)",
            f"{i} in range(n, -1, -1)", f"{i} in range(k % 3, n)", f"{i} in range(n, 3)",
            f"{i} in range(0)", f"{i}, q in enumerate(y)", f"{i}, q in zip(range(3), xs)",
            f"{i}, q in enumerate([a, b, 2.0])", f"{i} in reversed(range(n))",
            f"{i}, q in enumerate(reversed(z))", f"{i}, q in zip(range(n), y)",
        )  # fmt: skip
        self.put(indent, f"for {head}:")
        kept = self.whole, self.numbers
        self.whole = [*self.whole, i]
        if "q" in head.split(" in ")[0]:
            self.numbers = [*self.numbers, "q"]
        self.block(indent + 1, loop=True, depth=depth + 1)
        self.whole, self.numbers = kept
        self.otherwise(indent, loop, depth)

    def while_loop(self, indent: int, loop: bool, depth: int) -> None:
        self.count += 1
        c = f"c{self.count}"
        test = self.pick(f"{c} < n", f"{c} < 5 and {self.test(1)}", f"{c} < 3", f"{c} < n + 1")
        self.put(indent, f"{c} = {self.pick('0', '0', 'n % 2')}")
        self.put(indent, f"while {test}:")
        self.put(indent + 1, f"{c} += 1")
        kept = self.whole
        self.whole = [*self.whole, c]
        self.block(indent + 1, loop=True, depth=depth + 1)
        self.whole = kept
        self.otherwise(indent, loop, depth)

    def otherwise(self, indent: int, loop: bool, depth: int) -> None:
        if self.rng.random() < 0.2:
            self.put(indent, "else:")
            self.block(indent + 1, loop=loop, depth=depth + 1)
            if self.rng.random() < 0.4:
                self.put(indent + 1, "raise ValueError('else')")

    def with_try(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, "try:")
        self.block(indent + 1, loop=loop, depth=depth + 1)
        if self.rng.random() < 0.4:
            self.put(indent, "except ValueError:")
            self.put(indent + 1, self.simple())
        else:
            self.put(indent, "finally:")
            self.put(indent + 1, f"k += {self.pick('1', '2')}")

    def nested(self, indent: int, loop: bool, depth: int) -> None:
        self.count += 1
        name = f"g{self.count}"
        self.put(indent, f"def {name}(p, r=1.0):")
        self.put(indent + 1, f"nonlocal {self.pick('t', 'k', 'y')}")
        kept = self.numbers
        self.numbers = ["p", "r", "a"]
        self.put(indent + 1, f"if {self.test(1)}:")
        self.put(indent + 2, self.pick("t = p", "k = 2", "y = y + r", "xs[0] = p", "return p"))
        self.numbers = kept
        self.put(indent + 1, "return r")
        self.put(indent, f"s = {name}({self.number(1)})")


def main() -> None:
    import sys
    from collections import Counter

    from .outcomes import check_program
    from .random_aliases import Aliases
    from .random_chosen import Chosen
    from .random_dicts import Dicts
    from .random_gaps import Gaps
    from .random_generators import Generators
    from .random_memos import Memos
    from .random_nones import Nones
    from .random_objects import Objects
    from .random_recursion import Group, Recursive
    from .random_rows import Rows
    from .random_tries import Tries

    first, count = int(sys.argv[1]), int(sys.argv[2])
    writers = {
        "--aliases": Aliases, "--nones": Nones, "--chosen": Chosen, "--rows": Rows,
        "--tries": Tries, "--dicts": Dicts, "--memos": Memos, "--recursion": Recursive,
        "--objects": Objects, "--gaps": Gaps, "--generators": Generators, "--groups": Group,
    }  # fmt: skip
    writer = next((w for option, w in writers.items() if option in sys.argv), Program)
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        for kind, words in check_program(seed, writer, thorough="--all" in sys.argv):
            found[kind] += 1
            if kind not in ("same", "refused"):
                print(seed, kind, words)
            elif kind == "refused":
                found[words[:60]] += 1
    for kind, number in found.most_common():
        print(number, kind)


if __name__ == "__main__":
    main()
