"""Random functions that call themselves or each other, and change lists, arrays, attributes and
dicts meanwhile.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 300 --recursion
    python -m tests.autojit.capture.random_programs 0 300 --groups
"""

from __future__ import annotations

import random

_BEGIN = """\
import math
import numpy as np

class Box:
    y = 0.5

def f(a, b, n, x):
    log, grid, memo, count, s = [a, 0.5], [[0.5, b], [1.0, 2.0]], {}, 0, 0.0
    u, box = np.zeros(3) + a, Box()
    w, box.y = u, b
"""


class Recursive:
    """Writes one function from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        #: The recursive calls that may still be written, and what a call of each function returns.
        self.calls = self.rng.choice((1, 2, 2, 3))
        self.kinds = {"go": self.pick("number", "number", "number", "pair", "array")}
        #: The function that is being written, and those that it may call.
        self.name, self.others = "go", ["go"]
        #: The lists that are passed on.
        self.lists = ["xs", "xs", "log"]
        self.indent = 2
        self.in_loop = False

    @property
    def returns(self) -> str:
        return self.kinds[self.name]

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def body(self, *, ends: bool = True) -> str:
        """The definition of a function; ``ends`` says whether it has a way without calls."""
        self.lines = []
        self.put("nonlocal count, s, w" if self.rng.random() < 0.3 else "nonlocal count, s")
        self.put(f"t = {self.number()}")
        self.put("q = v * 0.5")
        self.begins()
        if ends:
            self.block("if m < 1:", self.rng.randrange(2), self.result(), calls=False)
        for _ in range(self.rng.randrange(3, 7)):
            self.statement(0)
        if self.calls:
            self.put(f"t += {self.call()}")
        self.put(self.result())
        inner = "\n".join(self.lines)
        return f"    def {self.name}(m, p, v, xs):\n{inner}\n"

    def begins(self) -> None:
        """Write what a function begins with."""

    def text(self) -> str:
        return self.program(self.body())

    def program(self, functions: str) -> str:
        """The program with the functions; the first one is called ``go``."""
        first = self.pick("n", "n", "abs(a) * 1.5", "n + 0.25")
        begin = f"r = go({first}, b, {self.pick('u', 'w', 'x', 'u[:]')}, log)"
        end = "return r, s, count, len(log), sum(log), grid, u + 0.0, box.y, sum(memo.values()), x"
        return f"{_BEGIN}{functions}    {begin}\n    {end}\n"

    def put(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def block(self, head: str, count: int, *more: str, calls: bool = True) -> None:
        """Write a block of some statements."""
        self.put(head)
        held, self.calls = self.calls, self.calls if calls else 0
        self.indent += 1
        for _ in range(count):
            self.statement(2)
        for line in more:
            self.put(line)
        if not count and not more:
            self.put("count += 1")
        self.indent -= 1
        self.calls = self.calls if calls else held

    def result(self) -> str:
        if self.returns == "array":
            return "return " + self.pick("v", "q", "v * 0.5", "np.array([t, s, p])", "w")
        value = self.number()
        return f"return {value}" if self.returns == "number" else f"return {value}, count"

    def call(self) -> str:
        """A recursive call, as a number."""
        self.calls -= 1
        m = self.pick("m - 1", "m - 1", "m - 1.5", "m // 2 - 0.5", "min(m, 4) - 1")
        v = self.pick("v", "v", "w", "u", "q", "v + 1.0", "x")
        name = self.rng.choice(self.others) if len(self.others) > 1 else self.others[0]
        made = f"{name}({m}, {self.number(2)}, {v}, {self.pick(*self.lists)})"
        return made + {"number": "", "pair": "[0]", "array": "[1]"}[self.kinds[name]]

    def number(self, depth: int = 0) -> str:
        if depth < 2 and self.rng.random() < 0.5:
            pair = self.number(depth + 1), self.number(depth + 1)
            return self.pick("({} + {})", "({} * 0.5 - {})", "max({}, {})", "{} * np.tanh({})"
                             ).format(*pair)  # fmt: skip
        k = self.pick("0", "1", "count % 2", "int(m) % 2")
        return self.pick(
            "a", "b", "p", "t", "m", "s", "0.5", "float(count)", f"v[{k}]", f"w[{k}]", f"q[{k}]",
            f"grid[{k}][1]", "box.y", "xs[-1] if xs else 0.25", "float(len(log))",
            f"memo.get({k}, 0.5)", "sum(xs) * 0.125", "x[0]",
        )  # fmt: skip

    def test(self) -> str:
        return self.pick(
            f"{self.number(1)} > {self.number(1)}", f"{self.number(1)} < 0.5", "count % 2 == 0",
            "len(xs) > 2", "m > 2", "xs", "int(m) in memo",
        )  # fmt: skip

    def simple(self) -> str:
        e, k = self.number(1), self.pick("0", "1", "count % 2", "int(m) % 2")
        return self.pick(
            f"log.append({e})", f"xs.append({e})", f"xs.append({e})", "if xs: t = xs.pop()",
            f"if log: log[-1] = {e}", f"grid[1][{self.pick('0', '1')}] += {e}",
            f"v[{k}] += {e}", f"w[{k}] = {e}", f"q[{k}] = {e}", f"box.y = {e} * 0.5",
            "count += 1", f"s += {e}", f"memo[int(m)] = {e}", f"memo[{k}] = {e}", f"t = {e}",
            f"t += {e}", "v *= 0.5", "w = v" if "w" in self.lines[0] else "q = v",
            "if len(xs) > 3: del xs[0]", f"xs.insert(0, {e})", "log[:] = [t, *log[:2]]",
        )  # fmt: skip

    def called(self) -> str:
        """A statement with a recursive call."""
        e, r = self.number(1), self.call()
        return self.pick(
            f"t = {r}", f"t += {r}", f"t = {e} + {r}", f"t = {r} * {e}", f"s += {r}", r,
            f"t = {r} if {self.test()} else {e}", f"xs.append({r})", f"v[1] += {r}",
            f"grid[0][1] = {r}", f"box.y += {r}", f"memo[int(m)] = {r}",
            f"t = sum([{r} * k for k in range(2)])", f"if {self.test()} and {r} > 0: t = {e}",
            f"if {r} > {e}: count += 1", f"t = max({e}, {r})", f"q = q + {r}",
        )  # fmt: skip

    def statement(self, depth: int) -> None:
        roll = self.rng.random()
        if self.calls and roll < 0.35:
            self.put(self.called())
        elif depth < 2 and roll < 0.6:
            self.compound()
        else:
            self.put(self.simple())

    def compound(self) -> None:
        count = self.rng.randrange(1, 3)
        kind = self.pick("if", "if", "if", "for", "for", "while", "early", "early", "try")
        if kind == "if":
            self.block(f"if {self.test()}:", count)
            if self.rng.random() < 0.6:
                self.block("else:", count)
        elif kind == "early":
            self.block(f"if {self.test()}:", count - 1, self.result())
        elif kind == "for":
            over = self.pick("range(2)", "range(1 + count % 2)", "(0.5, b)", "list(xs)[:2]")
            more = [f"if {self.test()}: break"] if self.rng.random() < 0.3 else []
            self.block(f"for k in {over}:", count, *more)
        elif kind == "while":
            self.put("j = 0")
            self.block("while j < min(m, 2):", count, "j += 1")
        else:
            self.block("try:", count, f"t += math.sqrt({self.number(1)})")
            self.block("except ValueError:", 1)
            if self.rng.random() < 0.4:
                self.block("finally:", 1, calls=False)


class Group(Recursive):
    """Writes two or three functions that call each other."""

    def text(self) -> str:
        names = ["go", "on", "up"][: self.rng.choice((2, 2, 3))]
        for name in names[1:]:
            self.kinds[name] = self.pick("number", "number", "number", "pair", "array")
        self.lists += ["e"] if self.rng.random() < 0.3 else []
        self.kinds |= {"via": "number"}
        written = []
        for k, name in enumerate(names):
            self.name, self.calls = name, self.rng.choice((1, 2) if k else (1, 2, 2))
            ends = k == 0 or self.rng.random() < 0.7
            # The first function is among those called, or the one after it, which leads there.
            self.others = names if ends and k else [names[(k + 1) % len(names)], names[0]]
            if not ends:
                self.others = ["go"]
            written.append(self.body(ends=ends))
        return self.program("".join(written))

    def begins(self) -> None:
        self.put("e = [t, p]")
        if self.rng.random() < 0.3:  # an inner function that leads back
            other = self.others[0]
            self.put("def via(k, p, u, xs):")
            self.indent += 1
            self.block("if k > 3:", 0, f"return via(k - 1, p * 0.5, {self.pick('u', 'v')}, xs) + t")
            last = {"number": "", "pair": "[0]", "array": "[1]"}[self.kinds[other]]
            self.put(f"return {other}(k - 0.5, p, u, xs){last} * {self.pick('m', 't', 'q[0]')}")
            self.indent -= 1
            self.others = [*self.others, "via"]

    def number(self, depth: int = 0) -> str:
        made = super().number(depth)
        return f"({made})" if " if " in made else made
