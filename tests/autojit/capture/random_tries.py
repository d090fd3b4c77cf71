"""Random functions that handle exceptions which depend on traced values.

Many programs, beside plain Python::

    python -m tests.autojit.capture.random_programs 0 1000 --tries
"""

from __future__ import annotations

from .random_programs import HELPERS, Program

_MORE = (
    HELPERS
    + """
class Odd(RuntimeError):
    pass

def strict(v, error=ValueError):
    if v > 0.5:
        if v > 2:
            raise RuntimeError("large")
        raise error("above")
    return v + 1

def guarded(v, w):
    try:
        return math.sqrt(v) + 1.0 / float(w)
    except ValueError:
        return strict(w)
    except ZeroDivisionError as error:
        return -1.0 if str(error) else 1.0
"""
)
_KINDS = ("ValueError", "KeyError", "Odd", "ZeroDivisionError", "IndexError", "AssertionError")


class Tries(Program):
    """Writes one function from a seed."""

    def text(self) -> str:
        return super().text().replace(HELPERS, _MORE)

    def number(self, depth: int = 0) -> str:
        if self.rng.random() < 0.12:
            return self.rng.choice([
                lambda: f"strict({self.number(depth + 1)})",
                lambda: f"strict({self.number(depth + 1)}, KeyError)",
                lambda: f"guarded({self.number(depth + 1)}, {self.number(depth + 1)})",
                lambda: f"y[int({self.number(depth + 1)}) % 5]",
                lambda: f"xs[{self.integer(depth + 1)}]",
                lambda: f"math.log({self.number(depth + 1)})",
            ])() if depth < 2 else "a"  # fmt: skip
        return super().number(depth)

    def statement(self, indent: int, loop: bool, depth: int) -> None:
        if depth < 3 and self.rng.random() < 0.3:
            self.with_try(indent, loop, depth)
        else:
            super().statement(indent, loop, depth)

    def loop_that_raises(self, indent: int, depth: int) -> None:
        """A loop in a ``try``: what it has changed when it ends early reaches the handler."""
        head = self.pick(
            "for i5 in range(12):", "for i5, q5 in enumerate(y):", "while abs(s) < 9 and k < 30:"
        )
        self.put(indent, head)
        self.put(indent + 1, "k += 1")
        for text in self.rng.sample([
            "k += 1", "s = s + 0.5 * t", "y[k % 3] += 0.25", "d['p'] = s",
            "s = s + math.sqrt(a + 2 - 0.3 * k)", "t = strict(0.1 * k, KeyError)",
            "if s > 2: raise ValueError('drawn')", "s += 1 / float(k != 7)", "xs[1] = s",
            "s += [1.0, 2.0, 0.5][k // 3]", "if k > 4: continue", "if t < -3: break",
        ], 4):  # fmt: skip
            self.put(indent + 1, text)
        if depth < 2 and self.rng.random() < 0.3:
            self.with_try(indent + 1, True, depth + 1)

    def simple(self) -> str:
        if self.rng.random() < 0.15:
            kind = self.pick(*_KINDS)
            return f"if {self.test()}: raise {kind}('drawn')"
        return super().simple()

    def with_try(self, indent: int, loop: bool, depth: int) -> None:
        self.put(indent, "try:")
        if self.rng.random() < 0.3:
            self.loop_that_raises(indent + 1, depth)
        else:
            self.block(indent + 1, loop=loop, depth=depth + 1)
        for _ in range(self.rng.randint(0, 2)):
            kind = self.pick(*_KINDS, "(KeyError, Odd)", "LookupError", "ArithmeticError")
            name = self.pick("", " as e")
            self.put(indent, f"except {kind}{name}:")
            if name:
                self.put(indent + 1, "t = float(isinstance(e, LookupError))")
            self.block(indent + 1, loop=loop, depth=depth + 1)
        last = self.pick("except:", "except Exception:", "finally:", "finally:")
        if last == "finally:":
            self.put(indent, last)
            self.put(indent + 1, self.pick("k += 1", "s = s + 1", "y[0] = k", "log.append(k)"))
            return
        self.put(indent, last)
        self.put(indent + 1, self.pick("raise", "s = t", "pass", "t = a; y = z"))
        if self.rng.random() < 0.3:
            self.put(indent, "else:")
            self.block(indent + 1, loop=loop, depth=depth + 1)
