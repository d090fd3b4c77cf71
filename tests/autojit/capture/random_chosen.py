"""Random functions with strings, functions and members of enums that conditions choose.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000 --chosen
"""

from __future__ import annotations

from .random_programs import HELPERS, Program

_MORE = (
    HELPERS
    + """
import enum

class Mode(enum.Enum):
    HEAT = 1
    COOL = 2
    OFF = 3

def double(v):
    return v * 2

def bent(v, at=0.5):
    if v > at:
        return at
    return v

def by_name(name, v):
    if name == "a":
        return v
    if name in ("b", "bc"):
        return v * v
    return -v

def named(v):
    return "a" if v > 1 else "b" if v > 0 else "c"
"""
)


class Chosen(Program):
    """Writes one function from a seed."""

    def text(self) -> str:
        return super().text().replace(HELPERS, _MORE)

    def put(self, indent: int, line: str) -> None:
        super().put(indent, line)
        if line == "log = []":
            super().put(indent, "g, kind, mode = np.sin, 'a', Mode.OFF")
            super().put(indent, "rates = {'a': a, 'b': 0.5, 'c': b}; m.f = double")
            self.result = (
                f"{self.result}, by_name(kind, 2.0), mode.value, g(0.75), m.f(1.0), rates['a']"
            )

    def name(self) -> str:
        return self.rng.choice([
            lambda: f"'{self.pick('a', 'b', 'c')}'",
            lambda: f"{self.text_of(1)} if {self.test(1)} else {self.text_of(1)}",
            lambda: f"named({self.number(1)})",
            lambda: f"('a', 'b', 'c')[{self.pick('n % 3', 'k % 3', '1')}]",
        ])()  # fmt: skip

    def text_of(self, depth: int = 0) -> str:
        return self.pick("'a'", "'b'", "'c'", "kind")

    def mode(self) -> str:
        return f"Mode.{self.pick('HEAT', 'COOL', 'OFF')}"

    def function(self) -> str:
        return self.pick(
            "np.sin", "np.cos", "math.cos", "double", "bent", "abs", "g", "m.f", "m.step", "bump",
            "lambda v: v * a", "lambda v: v if v > b else b", "lambda v, w=a: v + w",
        )  # fmt: skip

    def number(self, depth: int = 0) -> str:
        if self.rng.random() > 0.2 or not depth:
            return super().number(depth)
        v = lambda: self.pick("a", "b", "s", "t", "0.5")  # noqa: E731
        return self.rng.choice([
            lambda: f"g({v()})",
            lambda: f"g({v()})",
            lambda: f"m.f({v()})",
            lambda: f"({self.function()})({v()})",
            lambda: f"(g if {self.test(1)} else {self.pick('np.sin', 'double')})({v()})",
            lambda: f"by_name(kind, {v()})",
            lambda: "rates[kind]",
            lambda: "mode.value",
            lambda: f"sum(g({v()} + q) for q in range(3))",
            lambda: f"sum([g(q) for q in (a, b, 1.0) if q > {v()}])",
            lambda: "sum(map(g, xs))",
            lambda: f"max(g({v()}), m.f({v()}))",
            lambda: "float(len(kind))",
        ])()  # fmt: skip

    def test(self, depth: int = 0) -> str:
        if self.rng.random() > 0.25:
            return super().test(depth)
        return self.pick(
            f"kind == '{self.pick('a', 'b', 'z')}'", "kind != 'a'", "kind in ('a', 'c')",
            f"mode is {self.mode()}", f"mode == {self.mode()}", f"mode is not {self.mode()}",
            "mode in (Mode.HEAT, Mode.OFF)", "g is np.sin", "g is not double", "kind < 'b'",
            "kind.startswith('a')", "kind in rates", "mode is Mode.HEAT or kind == 'b'",
        )  # fmt: skip

    def simple(self) -> str:
        if self.rng.random() > 0.45:
            return super().simple()
        v, g = lambda: self.number(1), self.function
        return self.rng.choice([
            lambda: f"kind = {self.name()}",
            lambda: f"kind = {self.name()}",
            lambda: f"mode = {self.mode()}",
            lambda: f"mode = {self.mode()} if {self.test(1)} else mode",
            lambda: f"g = {g()}",
            lambda: f"g = {g()}",
            lambda: f"h = {g()}; g = h if {self.test(1)} else {g()}",
            lambda: f"m.f = {g()}",
            lambda: f"rates[kind] = {v()}",
            lambda: f"rates[kind] += {v()}",
            lambda: "s = g(s); t = m.f(t)",
            lambda: f"s += sum(g({v()}) for q in range(2))",
            lambda: "t = [g(q) for q in (a, b)][0]",
            lambda: "g, m.f = m.f, g",
        ])()  # fmt: skip
