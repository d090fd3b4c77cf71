"""Random functions in which objects of the user's classes have several names, some of which
conditions on values bind to other objects, as source text (see ``random_aliases``)."""

from __future__ import annotations

from .random_aliases import HELPERS, Aliases

CLASSES = """
from dataclasses import make_dataclass
from types import SimpleNamespace

class Moving:
    def moved(self, by):
        if by > 0:
            return type(self)(self.u + by, self.v)
        return self
    def set(self, u):
        self.u = u
        return self

Pair = make_dataclass("Pair", ["u", "v"], bases=(Moving,))

class Point:
    def __init__(self, u, v):
        self.u = u
        self.v = v
    def moved(self, by):
        return Point(self.u + by, self.v) if by > 0.5 else self
    def set(self, u):
        self.u += u
        return self

class Empty:
    pass

def bare(u, v):
    made = Empty()
    made.u = u
    made.v = v
    return made

def space(u, v):
    return SimpleNamespace(u=u, v=v)

def moved(point, by):
    return bare(point.u + by, point.v) if by > 0.5 else point

def moved_space(point, by):
    if by > 0:
        return space(point.u, point.v * by)
    return point

def set_u(point, u):
    point.u = u
    return point
"""
#: The functions that make objects of classes without functions, each with one like ``moved``.
BARE = {"bare": "moved", "space": "moved_space"}

NAMES = ["g", "h", "i"]
RESULT = "g.u, h.u, i.u, [part.u for part in kept], p, q, s"


class Objects(Aliases):
    """Writes one function from a seed."""

    def text(self) -> str:
        kind = self.pick("Pair", "Point", *BARE)
        self.kind = kind
        self.lines = [HELPERS + CLASSES, "def f(a, b, n, x):"]
        self.put(1, "p = [a, 1.0]; q = [b, 2.0]; s = b")
        self.put(1, f"g = {kind}(a, 1.0); h = {self.pick('g', f'{kind}(b, a)')}; i = {self.new()}")
        self.put(1, f"kept = [{self.pick('g', 'h')}, {self.new()}]")
        self.block(1, 0)
        self.put(1, f"return {self.pick(RESULT, RESULT, 'g.u, h.u, s', 'i.u + kept[0].u')}")
        return "\n".join(self.lines) + "\n"

    def new(self) -> str:
        return f"{self.kind}({self.number()}, {self.number()})"

    def number(self) -> str:
        return self.pick(
            "a", "b", "s", "1.5", "p[0]", "g.u", "h.u", "i.u", "i.v", "kept[1].u", "x[1]"
        )

    def test(self) -> str:
        return self.pick(
            "a > 0", "b < 0.5", f"{self.number()} > {self.number()}", "n > 1", "g is h", "x[1] > 0"
        )

    def an_object(self) -> str:
        return self.pick(
            "g", "h", "i", "kept[0]", "kept[-1]", self.new(), self.new(),
            self.called("moved", "g"), self.called("moved", "i"),
        )  # fmt: skip

    def called(self, method: str, name: str) -> str:
        """A call of a method, or of the function that stands for it."""
        if self.kind not in BARE:
            return f"{name}.{method}({self.number()})"
        function = BARE[self.kind] if method == "moved" else "set_u"
        return f"{function}({name}, {self.number()})"

    def simple(self) -> str:
        name, other = self.rng.choice(NAMES), self.rng.choice(NAMES)
        return self.rng.choice([
            lambda: f"{name} = {self.an_object()}",
            lambda: f"{name} = {self.an_object()}",
            lambda: f"{name} = {self.an_object()} if {self.test()} else {self.an_object()}",
            lambda: f"{name} = {other}",
            lambda: f"{name}.u = {self.number()}",
            lambda: f"{name}.u += {self.number()}",
            lambda: f"{name}.u, s = s, {name}.v",
            lambda: self.called("set", name),
            lambda: f"kept[{self.pick('0', '-1')}] = {self.an_object()}",
            lambda: f"kept.append({self.an_object()})",
            lambda: f"{name}, {other} = {other}, {name}",
            lambda: f"p[0] = {self.number()}",
            lambda: f"s = {self.number()}",
            lambda: f"s += {name}.u",
        ])()  # fmt: skip

    def loop(self, indent: int, depth: int) -> None:
        self.count += 1
        head = self.pick("range(n)", "range(12)", "range(2)", "range(30)")
        self.put(indent, f"for c{self.count} in {head}:")
        self.block(indent + 1, depth + 1)

    def within(self, indent: int, depth: int) -> None:
        self.branch(indent, depth)
