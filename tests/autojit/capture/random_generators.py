"""Random functions that ask generators for their elements one at a time, or send them values.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000 --generators
"""

from __future__ import annotations

from .random_programs import HELPERS, Program


class Generators(Program):
    """Writes one function, and the generators that it uses, from a seed."""

    def text(self) -> str:
        self.made = [f"gen{k}" for k in range(self.rng.randint(1, 2))]
        found = super().text()
        lines: list[str] = []
        for k, name in enumerate(self.made):
            lines += self.generator(name, k)
        return found.replace(HELPERS, HELPERS + "\n" + "\n".join(lines) + "\n")

    def put(self, indent: int, line: str) -> None:
        for each in line.split("\n"):
            super().put(indent, each)
        if line == "log = []":
            for name in self.made:
                given = self.pick("a, n, x", "b, 3, y", "s, n + 1, z", "a, k, y")
                super().put(indent, f"{name.replace('gen', 'e')} = {name}({given})")
            self.result += ", [next(e0, -1.0) for _ in range(2)]"

    # -- generators

    def generator(self, name: str, number: int) -> list[str]:
        """The source of a generator function."""
        kept, self.lines = self.lines, []
        names = self.numbers, self.whole, self.arrays
        self.numbers, self.whole, self.arrays = ["p", "c", "got"], ["m", "k"], ["row"]
        Program.put(self, 0, f"def {name}(p, m, row):")
        Program.put(self, 1, "c, k, got = 1.0, 0, 0.5")
        self.inside(1, 0, number)
        if self.rng.random() < 0.5:
            Program.put(self, 1, f"yield {self.plain()}")
        if self.rng.random() < 0.4:
            Program.put(self, 1, f"return {self.plain()}")
        found, self.lines = self.lines, kept
        self.numbers, self.whole, self.arrays = names
        return found

    def plain(self) -> str:
        """A number, from the names of a generator."""
        v = lambda: self.rng.choice([*self.numbers, "0.5", "2.0", "row[k % 3]"])  # noqa: E731
        return self.pick(v(), f"{v()} * {v()}", f"{v()} + {v()}", f"max({v()}, {v()})")

    def condition(self) -> str:
        return self.pick(
            f"{self.plain()} < {self.plain()}", f"k < {self.pick('2', 'm')}", "m > 1",
            f"{self.plain()} > 0.5", "k % 2 == 0",
        )  # fmt: skip

    def inside(self, indent: int, depth: int, number: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.part(indent, depth, number)

    def part(self, indent: int, depth: int, number: int) -> None:
        put = lambda extra, line: Program.put(self, indent + extra, line)  # noqa: E731
        r = self.rng.random()
        if r < 0.25 or depth >= 2:
            put(0, self.pick(
                f"yield {self.plain()}", f"got = yield {self.plain()}",
                f"got = (yield {self.plain()}) or 0.25", f"yield from row[:{self.pick('1', '2')}]",
                f"yield from [p, {self.plain()}]",
            ))  # fmt: skip
            if "got = yield" in self.lines[-1]:
                put(0, "if got is None: got = 1.5")
        elif r < 0.5:
            put(0, self.pick(
                f"c = {self.plain()}", f"p = p * 0.5 + {self.plain()} * 0.25", "k += 1",
                f"c += {self.plain()}", f"row[k % 3] = {self.plain()}",
                f"if {self.condition()}: return",
            ))  # fmt: skip
        elif r < 0.65:
            put(0, f"if {self.condition()}:")
            self.inside(indent + 1, depth + 1, number)
            if self.rng.random() < 0.5:
                put(0, "else:")
                self.inside(indent + 1, depth + 1, number)
        elif r < 0.85:
            self.count += 1
            i = f"i{self.count}"
            put(0, f"for {i} in " + self.pick(
                "range(m)", "range(3)", "row", "range(m, -1, -1)", "[p, c, 1.0]",
            ) + ":")  # fmt: skip
            put(1, f"c = c + {i} * 0.5")
            self.inside(indent + 1, depth + 1, number)
            if self.rng.random() < 0.3:
                put(1, f"if {self.condition()}: {self.pick('break', 'continue')}")
        elif r < 0.95 or not number:
            self.count += 1
            w = f"w{self.count}"
            put(0, f"{w} = 0")
            put(0, f"while {w} < {self.pick('m', '3', 'm + 1')}:")
            put(1, f"{w} += 1")
            self.inside(indent + 1, depth + 1, number)
        else:
            put(0, f"{self.pick('got = ', '')}yield from gen0({self.plain()}, m - 1, row)")
            put(0, "if got is None: got = 2.5")

    # -- their uses

    def number(self, depth: int = 0) -> str:
        if self.rng.random() > 0.25 or not depth:
            return super().number(depth)
        return self.element()

    def element(self) -> str:
        e = self.pick(*self.made).replace("gen", "e")
        fresh = f"{self.pick(*self.made)}(a, n, x)"
        return self.rng.choice([
            f"next({e}, {self.pick('0.0', 'a', 's')})", f"next({e}, {self.pick('0.0', 'b')})",
            f"next({fresh}, 1.0)", f"sum({fresh})", f"sum({e})", f"max({e}, default=0.25)",
            f"next({e})", f"sum(q * 2 for q in {e})",
        ])  # fmt: skip

    def simple(self) -> str:
        e = self.pick(*self.made).replace("gen", "e")
        if self.rng.random() > 0.4:
            return super().simple()
        return self.rng.choice([
            f"s += next({e}, 0.0)",
            f"t = next({e}, t)",
            f"for q in {e}: s += q",
            f"for q in {e}:\n    s = s + q * 0.5\n    if {self.test(1)}: break",
            f"for j, q in zip(range(2), {e}): t = t + q",
            f"try: t = next({e})\nexcept StopIteration: k += 1",
            f"try: t = {e}.send({self.number(2)})\nexcept (StopIteration, TypeError): k += 1",
            f"{e} = {self.pick(*self.made)}({self.number(2)}, n, y)",
            f"{e}.close()" if self.rng.random() < 0.3 else f"s = next({e}, s)",
            f"u = next({e}, None)\nif u is not None: s = s + u",
        ])  # fmt: skip
