"""Random programs with lists of arrays whose length traced values decide, queues, and changes in
place.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000 --rows
"""

from __future__ import annotations

import random

_OF_DEQUES = (
    "q.appendleft(b)", "q.extend([a, b])", "q.extendleft([a, t])", "q.rotate(1)", "q.rotate(-2)",
    "q.insert(1, a)", "q = q.copy()", "q[0] = t", "q.reverse()", "q.clear()",
)  # fmt: skip
_OF_LISTS = (
    "q.extend([a, b])", "q.insert(0, b)", "q[0] = t", "q.reverse()", "q = q[1:]", "q.sort()",
    "q = q + [a]", "del q[0]",
)  # fmt: skip


class Rows:
    """A function ``f(a, b, n, y)`` of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.budget = 14
        self.is_deque = self.rng.random() < 0.6

    def text(self) -> str:
        self.put(0, "def f(a, b, n, y):")
        self.put(1, "u = y * 1.0")
        self.put(1, self.pick("v = u", "v = y + a", "v = np.zeros(3)"))
        self.put(1, self.pick("w = u[:]", "w = v", "w = y - b"))
        self.put(1, f"rows = {self.pick('[]', '[u]', '[v, u]', '[np.ones(3)]')}")
        self.put(1, f"more = {self.pick('rows', 'list(rows)', '[w]')}")
        kinds = ("deque([a, 0.5])", "deque([b], maxlen=4)", "deque()", "deque((v for v in y))")
        self.put(1, f"q = {self.pick(*kinds) if self.is_deque else self.pick('[a]', '[a, b]')}")
        self.put(1, "t = 0.0")
        self.block(1, 0)
        self.block(1, 0)
        self.put(1, "t += len(rows) + 2 * len(more) + 3 * len(q)")
        self.put(1, "for x in rows:")
        self.put(2, "t += x[0] + 2 * x[2]")
        self.put(1, "for x in q:")
        self.put(2, "t = 0.5 * t + x")
        self.put(1, "if more:")
        self.put(2, "t += more[-1][1]")
        self.put(1, "return t, u.sum() + v[1] - w[2]")
        head = "import numpy as np\nfrom collections import deque\n\n"
        return head + "\n".join(self.lines) + "\n"

    def put(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def pick(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def array(self) -> str:
        return self.pick("u", "v", "w", "u + 1", "v * b", "w.copy()", "np.sin(u)", "y", "u[::-1]")

    def condition(self) -> str:
        return self.pick(
            "a > 0", "b < a", "y[0] > 0", "t < 3", "u[1] > v[0]", "len(rows) < 4", "n > 1",
            "len(q) > 2", "not rows", "q", "len(more) == len(rows)",
        )  # fmt: skip

    def first(self) -> str:
        return "q.popleft()" if self.is_deque else "q.pop(0)"

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.budget -= 1
            if depth < 3 and self.budget > 0 and self.rng.random() < 0.45:
                self.nest(indent, depth)
            else:
                self.put(indent, self.statement())

    def nest(self, indent: int, depth: int) -> None:
        kind = self.rng.randrange(5)
        if kind < 2:
            self.put(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth + 1)
            if kind:
                self.put(indent, "else:")
                self.block(indent + 1, depth + 1)
            return
        k = f"k{len(self.lines)}"
        if kind == 2:
            self.put(indent, f"{k} = 0")
            self.put(indent, f"while {k} < {self.pick('n', '3', 'n + 1')}:")
            self.put(indent + 1, f"{k} += 1")
        elif kind == 3:
            self.put(indent, f"for {k} in range({self.pick('n', '3', '12')}):")
        else:
            self.put(indent, f"for {k} in {self.pick('q', 'list(q)')}:")
            self.put(indent + 1, f"t += {k}")
            self.put(indent + 1, "if t > 9 or len(q) > 7:")
            self.put(indent + 2, "break")
        self.block(indent + 1, depth + 1)

    def statement(self) -> str:
        name, items = self.pick("u", "v", "w"), self.pick("rows", "rows", "more")
        place = self.pick("0", "1", "-1")
        return self.pick(
            f"{items}.append({self.array()})", f"{items}.append({self.array()})",
            f"{items}.insert(0, {self.array()})", f"{items}.append({items}[-1] * 0.5)",
            f"{items} = {items}[1:]", f"{name} = {self.array()}", f"{name} = {self.array()}",
            f"{name} = {items}[{place}]", f"t += {items}[{place}][1]",
            f"{name}[{place}] = t", f"{name} += 1", f"{items}[{place}] = {self.array()}",
            f"{items}[{place}][0] = 2.0", f"{name} = {items}.pop()", f"{name} = {items}.pop(0)",
            f"q.append({self.pick('a', 't', 'b * 2', '1')})", "q.append(t + 1)",
            f"t += {self.pick(self.first(), 'q.pop()', 'q[0]', 'q[-1]', 'sum(q)', 'max(q)')}",
            self.pick(*(_OF_DEQUES if self.is_deque else _OF_LISTS)),
            f"more = {self.pick('rows', 'rows[:2]', 'list(more)')}",
            f"t = t + np.array({items})[{place}].sum()", "t = t * 0.5 + a",
        )  # fmt: skip
