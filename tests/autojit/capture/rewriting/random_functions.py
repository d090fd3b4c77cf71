"""Random Python functions, as source text, for comparing a function with its twin.

Every function takes numbers and a list ``trace``, to which it appends what it does.
"""

from __future__ import annotations

import random


class Writer:
    """Writes one function from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = ["a", "b", "c", "u", "v", "w"]
        self.lists = ["xs"]
        self.lines: list[str] = []
        self.counter = 0
        self.budget = self.rng.randint(6, 30)
        self.functions: list[str] = []
        self.is_global = self.rng.random() < 0.2

    def text(self) -> str:
        pick = self.rng.choice
        head = pick([
            "def f(a, b, trace, c=3):", "def f(a, b, trace, *rest, c=2):",
            "def f(a, b, trace, c=1, **more):",
        ])  # fmt: skip
        self.lines = [head]
        #: Some functions return at their end only, which the rewriting treats apart.
        self.returns_early = self.rng.random() < 0.7
        if self.is_global:
            self.put(1, "global G")
            self.names.append("G")
        self.put(1, "xs = [1, a, 3, b, 5]")
        self.put(1, "d = {0: 1, 1: 2}")
        if self.rng.random() < 0.8:
            self.put(1, "u, v, w = a, b, a + b")
        self.block(1, loop=False, depth=0)
        if self.rng.random() < 0.7:
            self.put(1, f"return {self.value()}")
        return "\n".join(self.lines) + "\n"

    def put(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    # -- expressions

    def name(self) -> str:
        return self.rng.choice(self.names if self.rng.random() < 0.25 else ["a", "b", "c"])

    def value(self, depth: int = 0) -> str:
        r, pick = self.rng.random(), self.rng.choice
        if depth > 2 or r < 0.3:
            return pick([self.name(), str(self.rng.randint(-3, 6))])
        v = lambda: self.value(depth + 1)  # noqa: E731
        t = lambda: self.test(depth + 1)  # noqa: E731
        return pick([
            lambda: f"({v()} {pick('+-*')} {v()})",
            lambda: f"({v()} % 7)",
            lambda: f"({v()} // {v()})",
            lambda: f"({v()} if {t()} else {v()})",
            lambda: f"xs[{v()}]",
            lambda: f"xs[{self.name()} % 3]",
            lambda: f"xs[{v()}:{v()}]",
            lambda: f"d.get({v()}, {v()})",
            lambda: f"d[{v()}]",
            lambda: f"({v()} {pick(['and', 'or'])} {v()})",
            lambda: f"len([q for q in xs if q {pick('<>')} {v()}])",
            lambda: f"sum(q * {v()} if {t()} else q for q in range(3))",
            lambda: f"max({v()}, {v()})",
            lambda: f"(lambda q, r=1: q + r if {t()} else {v()})({v()})",
            lambda: f"note(trace, {v()})",
            lambda: f"(w := {v()})",
            lambda: f"int({t()})",
            lambda: f"[p for p in range(4) if 0 <= p < {v()} != 2]",
            lambda: f"{{k: {v()} for k in range(2)}}",
            lambda: f"f'{{{self.name()}}}'",
            lambda: f"helper({v()}, {v()}, trace)" if depth == 0 else v(),
            lambda: f"{pick(self.functions)}({v()})" if self.functions else v(),
        ])()  # fmt: skip

    def test(self, depth: int = 0) -> str:
        pick = self.rng.choice
        v = lambda: self.value(depth + 1)  # noqa: E731
        if depth > 2:
            return f"{self.name()} {pick(['<', '>', '==', '!='])} {self.rng.randint(-2, 4)}"
        t = lambda: self.test(depth + 1)  # noqa: E731
        return pick([
            lambda: f"{v()} {pick(['<', '>', '<=', '=='])} {v()}",
            lambda: f"{self.rng.randint(-2, 2)} <= {v()} < {v()}",
            lambda: f"{v()} < {v()} <= {v()} != {v()}",
            lambda: f"not {t()}",
            lambda: f"({t()} {pick(['and', 'or'])} {t()})",
            lambda: f"{v()} in xs",
            lambda: f"{v()} not in d",
            lambda: f"{self.name()} is None",
            lambda: f"isinstance({v()}, int)",
            lambda: self.name(),
            lambda: f"(u := {v()}) > 1",
        ])()  # fmt: skip

    # -- statements

    def block(self, indent: int, *, loop: bool, depth: int) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.statement(indent, loop=loop, depth=depth)
            self.budget -= 1

    def statement(self, indent: int, *, loop: bool, depth: int) -> None:
        simple = [
            self.assign, self.assign, self.augmented, self.item, self.record, self.swap,
            self.update, self.delete, self.raising, self.asserting, self.several,
        ]  # fmt: skip
        leaving = [self.returning] + [self.breaking] * 3 * loop
        compound = [
            self.branch, self.branch, self.branch, self.for_loop, self.for_loop,
            self.while_loop, self.tried, self.with_, self.nested, self.matched, self.escape_if,
            self.escape_if, self.escape_if, self.search,
        ]  # fmt: skip
        r = self.rng.random()
        if depth >= 4 or self.budget <= 0 or r < 0.45:
            chosen = simple
        elif r < 0.5:
            chosen = leaving
        else:
            chosen = compound
        self.rng.choice(chosen)(indent, loop, depth)

    def assign(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, f"{self.rng.choice(self.names)} = {self.value()}")

    def several(self, indent: int, loop: bool, depth: int) -> None:
        a, b = self.rng.choice(self.names), self.rng.choice(self.names)
        self.put(indent, self.rng.choice([
            f"{a} = {b} = {self.value()}", f"{a}, *{b} = xs", f"{a}: int = {self.value()}",
            f"({a}, xs[{self.value(2)}]), d[{a}] = (1, 2), {self.value()}",
            f"{a} = xs[{self.value(2)}] = {self.value()}",
            "import math", f"xs[1:{self.value(2)}] = [{self.value()}]",
        ]))  # fmt: skip

    def augmented(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, f"{self.rng.choice(self.names)} {self.rng.choice('+-*')}= {self.value()}")

    def item(self, indent: int, loop: bool, depth: int) -> None:
        index = self.rng.choice([self.value(), f"({self.name()} % 3)", f"{self.name()} % 4"])
        self.put(indent, f"{self.rng.choice(['xs', 'd'])}[{index}] = {self.value()}")

    def update(self, indent: int, loop: bool, depth: int) -> None:
        where = self.rng.choice(["xs", "d"])
        self.put(indent, f"{where}[{self.value()}] {self.rng.choice('+-')}= {self.value()}")

    def swap(self, indent: int, loop: bool, depth: int) -> None:
        i, j = (self.rng.choice([self.value(2), f"{self.name()} % 3"]) for _ in range(2))
        self.put(indent, f"xs[{i}], xs[{j}] = xs[{j}], xs[{i}]")

    def record(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, f"trace.append({self.value()})")

    def delete(self, indent: int, loop: bool, depth: int) -> None:
        if self.rng.random() < 0.5:
            self.put(indent, f"del {self.rng.choice(self.names)}")
        else:
            self.put(indent, f"del xs[{self.value(1)}]")

    def raising(self, indent: int, loop: bool, depth: int) -> None:
        if self.rng.random() < 0.3:
            self.put(indent, f"raise {self.rng.choice(['ValueError', 'KeyError'])}({self.value()})")

    def asserting(self, indent: int, loop: bool, depth: int) -> None:
        more = f", {self.value()}" if self.rng.random() < 0.5 else ""
        self.put(indent, f"assert {self.test()}{more}")

    def returning(self, indent: int, loop: bool, depth: int) -> None:
        if not self.returns_early:
            return self.record(indent, loop, 0)
        self.put(indent, self.rng.choice([f"return {self.value()}", "return"]))

    def breaking(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, self.rng.choice(["break", "continue"]))

    def escape_if(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, f"if {self.test()}:")
        if self.rng.random() < 0.4:
            self.record(indent + 1, loop, depth)
        (self.breaking if loop and self.rng.random() < 0.6 else self.returning)(
            indent + 1, loop, depth
        )

    def search(self, indent: int, loop: bool, depth: int) -> None:
        """A loop that leaves when it has found something, and an error if it has not."""
        self.put(indent, f"for v in range({self.rng.randint(1, 4)}):")
        self.put(indent + 1, f"if {self.test()}: break")
        self.put(indent, f"else: raise KeyError({self.value()})")

    def branch(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, f"if {self.test()}:")
        self.block(indent + 1, loop=loop, depth=depth + 1)
        while self.rng.random() < 0.3:
            self.put(indent, f"elif {self.test()}:")
            self.block(indent + 1, loop=loop, depth=depth + 1)
        if self.rng.random() < 0.5:
            self.put(indent, "else:")
            self.block(indent + 1, loop=loop, depth=depth + 1)

    def for_loop(self, indent: int, loop: bool, depth: int) -> None:
        name = self.rng.choice(self.names)
        self.put(indent, self.rng.choice([
            f"for {name} in range({self.rng.randint(0, 4)}):", f"for {name} in xs[:4]:",
            f"for i, {name} in enumerate(xs[:3]):", f"for {name}, j in zip(xs[:3], [1, 2, 3]):",
            f"for xs[0] in range({self.rng.randint(0, 4)}):", f"for {name} in list(d):",
        ]))  # fmt: skip
        self.block(indent + 1, loop=True, depth=depth + 1)
        self.loop_else(indent, loop, depth)

    def while_loop(self, indent: int, loop: bool, depth: int) -> None:
        self.counter += 1
        count = f"n{self.counter}"
        test = f"{count} < {self.rng.randint(0, 4)}"
        if self.rng.random() < 0.4:
            test = self.rng.choice([f"{test} and {self.test()}", f"{test} and (v := {count}) < 3"])
        self.put(indent, f"{count} = 0")
        self.put(indent, f"while {test}:")
        self.put(indent + 1, f"{count} += 1")
        self.block(indent + 1, loop=True, depth=depth + 1)
        self.loop_else(indent, loop, depth)

    def loop_else(self, indent: int, loop: bool, depth: int) -> None:
        if self.rng.random() < 0.3:
            self.put(indent, "else:")
            self.block(indent + 1, loop=loop, depth=depth + 1)
            if self.rng.random() < 0.4:
                self.put(indent + 1, f"raise KeyError({self.value()})")

    def tried(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, "try:")
        self.block(indent + 1, loop=loop, depth=depth + 1)
        handlers = self.rng.randint(0, 2)
        if handlers:
            named = self.rng.choice(["", f" as {self.rng.choice(self.names)}", " as e"])
            kind = self.rng.choice(["Exception", "(TypeError, ZeroDivisionError)", "NameError"])
            self.put(indent, f"except {kind}{named}:")
            self.block(indent + 1, loop=loop, depth=depth + 1)
            if self.rng.random() < 0.2:
                self.put(indent + 1, "raise")
            if self.rng.random() < 0.3:
                self.put(indent, "else:")
                self.block(indent + 1, loop=loop, depth=depth + 1)
        if not handlers or self.rng.random() < 0.4:
            self.put(indent, "finally:")
            self.block(indent + 1, loop=False, depth=4)
            while any(word in self.lines[-1] for word in ("return",)):
                self.lines.pop()
            self.put(indent + 1, "trace.append('finally')")

    def with_(self, indent: int, loop: bool, depth: int) -> None:
        kind = self.rng.choice(["Guard(trace)", "suppress(Exception)", "suppress(NameError)"])
        target = self.rng.choice(["", f" as {self.rng.choice(self.names)}"])
        self.put(indent, f"with {kind}{target}:")
        self.block(indent + 1, loop=loop, depth=depth + 1)

    def nested(self, indent: int, loop: bool, depth: int) -> None:
        self.counter += 1
        name = f"g{self.counter}"
        self.put(indent, f"def {name}(p, q=1):")
        chosen = self.rng.choice(self.names)
        if self.rng.random() < 0.5:
            word = "global" if chosen == "G" else "nonlocal"
            if chosen in ("a", "b", "c", "G"):
                self.put(indent + 1, f"{word} {chosen}")
        kept = self.names, self.functions
        self.names = ["p", "q", *kept[0]] if self.rng.random() < 0.3 else ["p", "q", chosen]
        self.functions = []
        self.put(indent + 1, "xs = [p, q, 2]")
        self.block(indent + 1, loop=False, depth=depth + 2)
        self.put(indent + 1, f"return {self.value()}")
        self.names, self.functions = kept
        if depth == 0:
            self.functions = [*self.functions, name]

    def matched(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, f"match {self.rng.choice(['xs', self.value(1), 'd'])}:")
        name = self.rng.choice(self.names)
        for pattern in self.rng.sample(["1", f"[1, *{name}]", f"{{0: {name}}}", "int()"], 2):
            self.put(indent + 1, f"case {pattern}:")
            self.block(indent + 2, loop=loop, depth=depth + 2)
        if self.rng.random() < 0.5:
            self.put(indent + 1, "case _:")
            self.block(indent + 2, loop=loop, depth=depth + 2)
