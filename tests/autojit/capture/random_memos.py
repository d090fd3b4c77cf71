"""Random functions with memo tables: dicts whose keys are traced integers, or pairs of them.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000 --memos
"""

from __future__ import annotations

from .random_programs import Program

_LOOPS = (
    "for key, v in {d}.items(): s = s * 0.5 + v{more}",
    "for v in {d}.values(): s = s * 0.5 + v",
    "for v in {d}.values():\n{indent}    if v > 1: break\n{indent}    t = t + v",
    "for key in list({d}): {d}[key] = {d}[key] * 0.5",
    "for key in {d}: {d}[key] = {d}[key] + 1.0",
    "for i, v in enumerate({d}.values()): s += i * v",
)


class Memos(Program):
    """Writes one function from a seed."""

    def put(self, indent: int, line: str) -> None:
        super().put(indent, line.replace("{indent}", "    " * indent))
        if line == "log = []":
            first = self.pick("{}", "{}", "{0: a}", "{1: 0.5, 3: b}")
            super().put(indent, f"memo = {first}; e = {{}}; grid = {{}}; h = memo")
            super().put(indent, "import collections; count = collections.defaultdict(float)")
            self.result = (
                "s, t, k, len(memo), len(e), len(grid), len(count), memo.get(1, -1.0), "
                "grid.get((n, k), -2.0), count.get(2, 0.25), 3 in e, "
                + self.pick("sum(memo.values())", "len(h)", "sum(count.values())", "s", "a")
            )

    def form(self) -> tuple[str, str]:
        """A dict and a key."""
        d = self.pick("memo", "memo", "e", "h", "count", "grid")
        key = self.integer(1)
        return d, f"{key}, {self.integer(1)}" if d == "grid" else key

    def number(self, depth: int = 0) -> str:
        if self.rng.random() < 0.15 and depth:
            d, k = self.form()
            return self.pick(
                f"{d}.get(({k}), 0.5)", f"{d}.get(({k}), a)", f"sum({d}.values())", f"len({d})",
                f"({d}[{k}] if ({k}) in {d} else 2.0)", f"{d}.pop(({k}), 1.5)", f"{d}[{k}]",
                f"{d}.setdefault(({k}), b)", f"sum(v for v in {d}.values() if v > 0)",
                f"max({d}.values(), default=1.0)",
            )  # fmt: skip
        return super().number(depth)

    def test(self, depth: int = 0) -> str:
        if self.rng.random() < 0.25:
            d, k = self.form()
            return self.pick(
                f"({k}) in {d}", f"({k}) not in {d}", d, f"not {d}", f"len({d}) > 1",
                f"({k}) in {d} and {d}[{k}] > 0",
            )  # fmt: skip
        return super().test(depth)

    def simple(self) -> str:
        if self.rng.random() > 0.55:
            return super().simple()
        d, k = self.form()
        v = self.number(1)
        more = self.pick("", "; k += 1")
        loop = self.pick(*_LOOPS).format(d=d, more=more, indent="{indent}")
        return self.pick(
            f"{d}[{k}] = {v}", f"{d}[{k}] = {v}", f"{d}[{k}] = {v}",
            f"{d}[{k}] = {d}.get(({k}), 0.0) + 1.0", f"if ({k}) in {d}: {d}[{k}] += 1.0",
            f"if ({k}) in {d}: del {d}[{k}]", f"{d}.pop(({k}), None)", "e.update(memo)", "e = {}",
            "e = dict(memo)", "e = memo.copy()", "h = memo", "h = e", "memo = e", f"{d}.clear()",
            f"count[{self.integer(1)}] += {v}", f"if {d}: key, t = {d}.popitem()", loop, loop, loop,
            f"s = {d}.setdefault(({k}), {v})", f"if ({k}) in {d}: t = {d}.pop(({k}))",
            f"if {self.test()}: {d}[{k}] = {v}", f"del {d}[{k}]", f"t = {d}[{k}]",
        )  # fmt: skip
