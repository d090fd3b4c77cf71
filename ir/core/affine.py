"""Index arithmetic: integer affine forms of loop variables.

Passes over programs and loops use these forms for the places that steps of a loop read and write.
Views never move data; they rewrite the index of their readers.  Reshapes that split or merge axes
need quotients and remainders, which are simplified by the known ranges of the loop variables and
usually vanish.

Four similar things do not use these forms. Strides of matrices (``Operand``, ``Strided``) are
coefficients of axis positions, for products without variables. Parameters at even distances in the
steps of a trace (``Declaration.slide``) may be floats, and are found before there is a variable.
Boxes of windows (``update_chains``) are ranges. In ``distribute_recurrences``, factors and offsets
are values of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import gcd

_serial = count()


class Var:
    """A loop variable that runs over ``range(extent)``."""

    __slots__ = ("extent", "serial")

    def __init__(self, extent: int) -> None:
        self.extent = extent
        self.serial = next(_serial)

    def __repr__(self) -> str:
        return f"v{self.serial}"


@dataclass(frozen=True, slots=True)
class Quotient:
    """``operand // divisor`` (or ``%`` if ``remainder``), of a non-negative operand."""

    operand: Affine
    divisor: int
    remainder: bool


Atom = Var | Quotient
Bounds = Mapping[Var, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Affine:
    """``constant + sum(coefficient * atom)``."""

    constant: int
    terms: tuple[tuple[Atom, int], ...] = ()

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + coefficient
        kept = [(a, c) for a, c in total.items() if c]
        result = Affine(self.constant + other.constant, tuple(sorted(kept, key=_order)))
        pair = _whole(total)
        return result if pair is None else _joined(result, *pair)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + other * -1

    def __mul__(self, factor: int) -> Affine:
        if factor == 0:
            return Affine(0)
        return Affine(self.constant * factor, tuple((a, c * factor) for a, c in self.terms))

    def times(self, other: Affine) -> Affine | None:
        """The product, if one factor is a number."""
        if self.terms and other.terms:
            return None
        return self * other.constant if self.terms else other * self.constant

    def variables(self) -> set[Var]:
        """Every loop variable in the expression, those in quotients too."""
        found: set[Var] = set()
        for atom, _ in self.terms:
            found |= {atom} if isinstance(atom, Var) else atom.operand.variables()
        return found

    def numbers(self) -> tuple[int, ...]:
        """The constant and the factors."""
        return (self.constant, *(factor for _, factor in self.terms))

    @property
    def is_linear(self) -> bool:
        """Whether there are no quotients and remainders."""
        return all(isinstance(atom, Var) for atom, _ in self.terms)

    def coefficient(self, atom: Atom) -> int:
        """The factor of an atom; 0 if it occurs only in quotients, or not at all."""
        return next((c for a, c in self.terms if a == atom), 0)

    def stride(self, var: Var) -> int | None:
        """How far the form moves with each step of a variable; None if the steps differ, because
        the variable is in a quotient.

        >>> i, j = Var(8), Var(8)
        >>> (of(i) * 3 + of(j)).stride(i), of(j).stride(i), divide(of(i), 4, {})[0].stride(i)
        (3, 0, None)
        """
        inside = (a.operand.variables() for a, _ in self.terms if isinstance(a, Quotient))
        return None if any(var in found for found in inside) else self.coefficient(var)

    def without(self, atom: Atom) -> Affine:
        """The form without an atom's term."""
        return Affine(self.constant, tuple(t for t in self.terms if t[0] != atom))

    def parts(self, atoms: Collection[Atom]) -> tuple[Affine, Affine]:
        """The terms of some atoms with the constant, and the others."""
        mine = tuple(t for t in self.terms if t[0] in atoms)
        others = tuple(t for t in self.terms if t[0] not in atoms)
        return Affine(self.constant, mine), Affine(0, others)

    def crossing(self, var: Var, bound: int) -> int | None:
        """Where the form ``i + c`` or ``c - i`` of a variable crosses a bound: the first i on the
        other side.  None of other forms.

        >>> i = Var(8)
        >>> (of(i) + 2).crossing(i, 5), (of(i) * -1 + 7).crossing(i, 5), (of(i) * 2).crossing(i, 4)
        (3, 3, None)
        """
        if self.terms == ((var, 1),):
            return bound - self.constant
        return self.constant - bound + 1 if self.terms == ((var, -1),) else None

    def value(self, values: Mapping[Var, int]) -> int:
        """The value of the form for given values of all its variables."""
        total = self.constant
        for atom, c in self.terms:
            if isinstance(atom, Var):
                total += c * values[atom]
            else:
                pair = divmod(atom.operand.value(values), atom.divisor)
                total += c * pair[atom.remainder]
        return total

    def substitute(self, var: Var, by: Affine) -> Affine:
        """The form with another one in place of a variable."""
        result = Affine(self.constant)
        for atom, c in self.terms:
            if atom is var:
                result = result + by * c
            elif isinstance(atom, Quotient):
                inner = Quotient(atom.operand.substitute(var, by), atom.divisor, atom.remainder)
                result = result + Affine(0, ((inner, c),))
            else:
                result = result + Affine(0, ((atom, c),))
        return result

    def simplified(self, bounds: Bounds) -> Affine:
        """The form without divisions whose result follows from the ranges of variables."""
        result = Affine(self.constant)
        for atom, c in self.terms:
            part = of(atom) if isinstance(atom, Var) else _quotient(atom, bounds)
            result = result + part * c
        return result

    def text(self, name: Callable[[Var], str], times: str = "*", divided: str = "//") -> str:
        """The form in Python's or another syntax, with names for variables.

        Dividends are never negative, so quotients may be rounded in either direction.

        >>> i = Var(8)
        >>> (divide(of(i), 3, {})[0] * 2 - of(i) + 1).text(lambda v: "i")
        '-i + 2*((i) // 3) + 1'
        """
        parts = []
        for atom, c in self.terms:
            if isinstance(atom, Var):
                word = name(atom)
            else:
                sign = "%" if atom.remainder else divided
                word = f"(({atom.operand.text(name, times, divided)}) {sign} {atom.divisor})"
            parts.append({1: word, -1: f"-{word}"}.get(c, f"{c}{times}{word}"))
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def range(self, bounds: Bounds) -> tuple[int, int]:
        """The least and greatest value, from those of the variables."""
        low = high = self.constant
        for atom, c in self.terms:
            a, b = _atom_range(atom, bounds)
            low += min(a * c, b * c)
            high += max(a * c, b * c)
        return low, high


def _whole(terms: dict[Atom, int]) -> tuple[Quotient, Quotient] | None:
    """A quotient and its remainder that combine to a whole: ``d * (x // d) + x % d`` is x."""
    for atom, c in terms.items():
        if isinstance(atom, Quotient) and atom.remainder and c:
            quotient = Quotient(atom.operand, atom.divisor, False)
            if terms.get(quotient) == c * atom.divisor:
                return quotient, atom
    return None


def _joined(x: Affine, quotient: Quotient, remainder: Quotient) -> Affine:
    """The expression with its two parts replaced by the whole."""
    c = dict(x.terms)[remainder]
    rest = tuple(term for term in x.terms if term[0] not in (quotient, remainder))
    return Affine(x.constant, rest) + remainder.operand * c


def _order(term: tuple[Atom, int]) -> tuple[int, ...]:
    atom = term[0]
    if isinstance(atom, Var):
        return (0, atom.serial)
    inner = sorted(v.serial for v in atom.operand.variables())
    whole = [number for t in atom.operand.terms for number in (*_order(t), t[1])]
    first = min(inner, default=0)
    return (1, first, atom.divisor, atom.remainder, *inner, atom.operand.constant, *whole)


def _atom_range(atom: Atom, bounds: Bounds) -> tuple[int, int]:
    if isinstance(atom, Var):
        return bounds.get(atom, (0, atom.extent - 1))
    if atom.remainder:
        return 0, atom.divisor - 1
    low, high = atom.operand.range(bounds)
    return low // atom.divisor, high // atom.divisor


def _quotient(atom: Quotient, bounds: Bounds) -> Affine:
    return divide(atom.operand, atom.divisor, bounds)[atom.remainder]


def of(x: Var | int) -> Affine:
    """A variable or a number as an expression."""
    return Affine(x) if isinstance(x, int) else Affine(0, ((x, 1),))


def divide(x: Affine, divisor: int, bounds: Bounds) -> tuple[Affine, Affine]:
    """Quotient and remainder of an expression, which is not negative if the result matters.

    Run-time dividends are never negative, because processors divide negative numbers differently.

    >>> i = Var(24)
    >>> divide(of(i) * -1 + 23, 4, {})[1].terms[0][0].operand.range({})
    (0, 23)
    """
    if divisor == 1:
        return x, Affine(0)
    whole = Affine(
        x.constant // divisor, tuple((a, c // divisor) for a, c in x.terms if c % divisor == 0)
    )
    rest = Affine(x.constant % divisor, tuple((a, c) for a, c in x.terms if c % divisor))
    low, high = rest.range(bounds)
    if low < 0:
        more = -(low // divisor)
        whole, rest = whole - more, rest + more * divisor
        low, high = low + more * divisor, high + more * divisor
    if low // divisor == high // divisor:
        row = low // divisor
        return whole + row, rest - row * divisor
    common = gcd(divisor, rest.constant, *(c for _, c in rest.terms))
    if common > 1:
        smaller = Affine(rest.constant // common, tuple((a, c // common) for a, c in rest.terms))
        quotient, remainder = divide(smaller, divisor // common, bounds)
        return whole + quotient, remainder * common
    quotient = Affine(0, ((Quotient(rest, divisor, False), 1),))
    return whole + quotient, Affine(0, ((Quotient(rest, divisor, True), 1),))


def flatten(index: Sequence[Affine], shape: Sequence[int]) -> Affine:
    """The row-major offset of an index."""
    total, step = Affine(0), 1
    for component, extent in zip(reversed(index), reversed(shape), strict=True):
        total = total + component * step
        step *= extent
    return total


def unflatten(offset: Affine, shape: Sequence[int], bounds: Bounds) -> tuple[Affine, ...]:
    """The index of a row-major offset."""
    result: list[Affine] = []
    for extent in reversed(shape[1:]):
        offset, component = divide(offset, extent, bounds)
        result.append(component)
    if shape:
        result.append(offset if shape[0] > 1 else Affine(0))
    return tuple(reversed(result))


def reshape(
    index: Sequence[Affine], new: Sequence[int], old: Sequence[int], bounds: Bounds
) -> tuple[Affine, ...]:
    """The index into an array of shape ``old`` that is read as shape ``new`` at ``index``.

    Axes that correspond one to one keep their component as it is.
    """
    if 0 in old:  # nothing is ever read
        return (Affine(0),) * len(old)
    result: list[Affine] = []
    i = j = 0
    while i < len(new) or j < len(old):
        # The smallest runs of axes of both shapes with the same number of elements.
        i0, j0, size_new, size_old = i, j, 1, 1
        if i < len(new):
            size_new, i = new[i], i + 1
        if j < len(old):
            size_old, j = old[j], j + 1
        while size_new != size_old:
            if (size_new < size_old or size_old == 0) and i < len(new):
                size_new, i = size_new * new[i], i + 1
            elif j < len(old):
                size_old, j = size_old * old[j], j + 1
            else:
                size_new, i = size_new * new[i], i + 1
        if (i - i0, j - j0) == (1, 1):
            result.append(index[i0])
        else:
            offset = flatten(index[i0:i], new[i0:i])
            result.extend(unflatten(offset, old[j0:j], bounds))
    return tuple(result)
