"""Random functions with dicts whose keys depend on traced conditions.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000 --dicts
"""

from __future__ import annotations

from .random_programs import Program

_LOOPS = (
    "for key in {d}: {use}",
    "for key, v in {d}.items(): s = s * 0.5 + v{more}",
    "for v in {d}.values(): s = s * 0.5 + v",
    "for i, v in enumerate({d}.values()): s += i * v",
    "for key in {d}: {d}[key] *= 0.5",
    "for key in {d}: {d}['q'] = 1.0",
    "for key in ('p', 'q', 'r'): {d}[key] = {d}.get(key, 0.0) + 1.0",
)


class Dicts(Program):
    """Writes one function from a seed."""

    def put(self, indent: int, line: str) -> None:
        super().put(indent, line)
        if line == "log = []":
            super().put(indent, "e = {}; h = d")
            self.result = (
                f"{self.result.replace(' d,', '')}, len(d), len(e), e.get('p', -1.0), "
                "d.get('q', -2.0), 'r' in d, "
                + self.pick("sum(e.values())", "len(h)", "[v for v in d.values()] == []", "s")
            )

    def key(self) -> str:
        return self.pick("'p'", "'q'", "'r'", "'w'")

    def name(self) -> str:
        return self.pick("d", "e", "e", "h")

    def number(self, depth: int = 0) -> str:
        if self.rng.random() < 0.15 and depth:
            d, k = self.name(), self.key()
            return self.pick(
                f"{d}.get({k}, 0.5)", f"{d}.get({k}, a)", f"sum({d}.values())", f"len({d})",
                f"({d}[{k}] if {k} in {d} else 2.0)", f"{d}.pop({k}, 1.5)", f"{d}[{k}]",
                f"{d}.setdefault({k}, b)", f"sum(v for v in {d}.values() if v > 0)",
                f"max([*{d}.values(), 0.0])", f"max({d}.values(), default=1.0)",
            )  # fmt: skip
        return super().number(depth)

    def test(self, depth: int = 0) -> str:
        if self.rng.random() < 0.25:
            d, k = self.name(), self.key()
            return self.pick(
                f"{k} in {d}", f"{k} not in {d}", d, f"not {d}", f"len({d}) > 1",
                f"{k} in {d} and {d}[{k}] > 0", f"{d} == {{}}", f"{d}.get({k}) is None",
            )  # fmt: skip
        return super().test(depth)

    def simple(self) -> str:
        if self.rng.random() > 0.5:
            return super().simple()
        d, k, v = self.name(), self.key(), self.number(1)
        loop = self.pick(*_LOOPS).format(
            d=d, use=self.pick(f"s += {d}[key]", "k += 1"), more=self.pick("", "; k += 1")
        )
        return self.pick(
            f"{d}[{k}] = {v}", f"{d}[{k}] = {v}", f"if {self.test()}: {d}[{k}] = {v}",
            f"if {k} in {d}: {d}[{k}] += 1.0", f"if {k} in {d}: del {d}[{k}]",
            f"{d}.pop({k}, None)", f"{d}.update(q=a)", "d.update(e)", "e.update(h)", "e = {}",
            "e = dict(d)", "e = d.copy()", "h = d", "h = e", f"{d}[{k}] += {v}", f"{d}.clear()",
            f"del {d}[{k}]", "d = d | e", "e = {**d}", "e |= d", loop, loop, loop, loop,
            f"s = {d}.setdefault({k}, {v})", f"t = {d}.pop({k})",
        )  # fmt: skip
