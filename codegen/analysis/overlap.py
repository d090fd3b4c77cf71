"""Decides whether two affine indices may be equal: integer equations with bounded unknowns.

    y[64*i + 8*j + k] and y[64*i + 8*j + k + 8]   j: 0..7, k: 0..8   ->   the second one is j - 1

Two places of a buffer are the same if the difference of their indices is zero, or lies within the
window given by the sizes of the accesses. The unknowns are differences of loop variables, or the
variables themselves. The solutions are integers: the greatest common divisor of the coefficients
must divide the remainder, and unknowns with large coefficients are separated from those whose sum
is too small to compensate for one of their steps (V. Maslov, "Delinearization: an efficient way to
break multiloop dependence equations", 1992).

Answers are conservative: an interval contains every solution, and perhaps other numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import gcd
from typing import NamedTuple

from autojit.ir.core.affine import Affine, Atom, Bounds, Var

#: All integers from the first to the last, inclusive.
Interval = tuple[int, int]


class Unknown(NamedTuple):
    """``factor`` times an integer from ``low`` to ``high``."""

    factor: int
    low: int
    high: int
    #: Whether this is the unknown in question.
    is_wanted: bool = False


def solutions(unknowns: Collection[Unknown], window: Interval) -> Interval | None:
    """Return the range of the wanted unknown for which the sum of all may be in a window; None if
    there is none. Without a wanted unknown, (0, 0) says that the sum can be in the window.

    >>> solutions([Unknown(1, -7, 7), Unknown(8, -3, 3, is_wanted=True)], (16, 16))
    (2, 2)
    >>> solutions([Unknown(2, -3, 3)], (5, 5)) is None
    True
    """
    if any(u.low > u.high for u in unknowns):
        return None
    wanted = next(((u.low, u.high) for u in unknowns if u.is_wanted), (0, 0))
    some = [u for u in unknowns if u.factor]
    some.sort(key=lambda u: abs(u.factor))
    return _solve(some, *window, wanted)


def _solve(some: list[Unknown], low: int, high: int, wanted: Interval) -> Interval | None:
    """Solve for unknowns with ascending factors: separate as many as possible, then take the rest
    together."""
    position = small_low = small_high = 0
    for k, u in enumerate(some):
        # The unknowns from k on give a multiple of their divisor; those before give the difference.
        divisor = gcd(*(x.factor for x in some[k:]))
        first, last = -((small_high - low) // divisor), (high - small_low) // divisor
        if first > last:
            return None
        if first == last:
            whole = first * divisor
            found = _together(some[position:k], low - whole, high - whole, wanted)
            if found is None:
                return None
            wanted, low, high, position = found, whole, whole, k
            small_low = small_high = 0
        one, other = u.factor * u.low, u.factor * u.high
        small_low, small_high = small_low + min(one, other), small_high + max(one, other)
    return _together(some[position:], low, high, wanted)


def _together(some: list[Unknown], low: int, high: int, wanted: Interval) -> Interval | None:
    """Return the solutions of one equation."""
    asked = None
    for u in some:
        if u.is_wanted:
            asked = u
        else:
            one, other = u.factor * u.low, u.factor * u.high
            low, high = low - max(one, other), high - min(one, other)
    if asked is None:
        return wanted if low <= 0 <= high else None
    if asked.factor < 0:
        first, last = -(high // -asked.factor), -low // -asked.factor
    else:
        first, last = -(-low // asked.factor), high // asked.factor
    first, last = max(first, wanted[0]), min(last, wanted[1])
    return (first, last) if first <= last else None


class Place(NamedTuple):
    """The elements from ``start + low`` to ``start + high``, for all values of the place's own
    variables."""

    start: Affine
    low: int
    high: int
    #: The ranges of loops that contain only this one of the two places.
    own: Bounds


def distances(
    first: Place,
    second: Place,
    differences: Mapping[Var, Interval],
    var: Var | None,
    bounds: Bounds,
) -> Interval | None:
    """Return how much greater a variable may be at the second place if it equals the first one;
    None if the two are never the same.

    ``differences`` says how much greater variables may be at the second place; ``bounds`` are the
    ranges of these, and of variables that are the same at both places. Without a variable, the
    answer (0, 0) says that the places may be the same.
    """
    ones, others = dict(first.start.terms), dict(second.start.terms)
    before, after = {**bounds, **first.own}, {**bounds, **second.own}
    shared = differences.keys() - first.own.keys() - second.own.keys()
    moving = {*differences, *first.own, *second.own}
    unknowns = []
    if var is not None and not (ones.get(var) and ones.get(var) == others.get(var)):
        unknowns.append(Unknown(0, *differences[var], is_wanted=True))
    for atom in {**ones, **others}:
        one, other = ones.get(atom, 0), others.get(atom, 0)
        if isinstance(atom, Var) and atom in shared and one == other:
            unknowns.append(Unknown(one, *differences[atom], is_wanted=atom is var))
        elif not _varies(atom, moving):
            if one != other:
                unknowns.append(Unknown(other - one, *_range(atom, bounds)))
        else:
            unknowns += _of_both(one, _range(atom, before), other, _range(atom, after))
    offset = first.start.constant - second.start.constant
    window = first.low - second.high + offset, first.high - second.low + offset
    return solutions(unknowns, window)


def _of_both(one: int, before: Interval, other: int, after: Interval) -> list[Unknown]:
    """Return unknowns for an atom whose values at the two places are independent."""
    if one == other:
        return [Unknown(one, after[0] - before[1], after[1] - before[0])]
    return [Unknown(-one, *before), Unknown(other, *after)]


def _varies(atom: Atom, moving: Collection[Var]) -> bool:
    if isinstance(atom, Var):
        return atom in moving
    return any(v in moving for v in atom.operand.variables())


def _range(atom: Atom, bounds: Bounds) -> Interval:
    return Affine(0, ((atom, 1),)).range(bounds)
