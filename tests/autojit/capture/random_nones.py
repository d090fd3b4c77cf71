"""Random functions with names that are None at times, names that steps only assign, and recursion.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000 --nones
"""

from __future__ import annotations

from .random_programs import HELPERS, Program

_MORE = (
    HELPERS
    + """
def find(row, limit):
    for v in row:
        if v > limit:
            return v

def split(v):
    return (v, None) if v > 0 else (None, -v)

def descend(v, k=0):
    if abs(v) < 0.4 or k > 5:
        return v + k
    return descend(v / 2, k + 1) + (descend(v / 4, k + 1) if v > 0 else 0.5)
"""
)


_MORE = _MORE.replace(
    "        self.count = 0\n", "        self.count = 0\n        self.best = None\n"
)


class Nones(Program):
    """Writes one function from a seed."""

    def text(self) -> str:
        return super().text().replace(HELPERS, _MORE)

    def put(self, indent: int, line: str) -> None:
        super().put(indent, line)
        if line == "log = []":
            super().put(indent, "o, last = None, -1")
            self.result = f"{self.result}, -9.0 if o is None else o, last"

    def number(self, depth: int = 0) -> str:
        if self.rng.random() < 0.12 and depth:
            return self.rng.choice([
                lambda: "(0.5 if o is None else o)",
                lambda: "(o or 1.5)",
                lambda: f"(find(y, {self.constant()}) or 0.25)",
                lambda: f"descend({self.rng.choice(self.numbers)})",
                lambda: "o" if self.rng.random() < 0.2 else "1.0",
            ])()  # fmt: skip
        return super().number(depth)

    def test(self, depth: int = 0) -> str:
        if self.rng.random() < 0.2:
            v = self.rng.choice(self.numbers)
            return self.pick(
                "o is None", "o is not None", f"o is None or {v} < o", f"o is not None and o > {v}",
                f"not (o is None or o < {v})", "o", f"o == {v}", "m.best is None",
            )  # fmt: skip
        return super().test(depth)

    def simple(self) -> str:
        if self.rng.random() > 0.45:
            return super().simple()
        v = self.number
        return self.rng.choice([
            lambda: "o = None",
            lambda: f"o = {v()}",
            lambda: f"o = {v()}",
            lambda: f"if o is None or {v(1)} < o: o = {v(1)}",
            lambda: f"if o is not None: {self.pick('s', 't')} += o",
            lambda: f"last = {self.integer()}",
            lambda: f"last = {self.integer()}",
            lambda: f"o = find({self.pick('y', 'z')}, {v(1)})",
            lambda: f"o, h = split({v(1)}); t = t if h is None else h",
            lambda: f"m.best = {self.pick('o', 's', 'None')}",
            lambda: "s = s if m.best is None else m.best",
            lambda: f"o += {v(1)}" if self.rng.random() < 0.3 else "pass",
            lambda: f"s = descend({v(1)})",
        ])()  # fmt: skip
