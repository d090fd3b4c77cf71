"""Loops in which each iteration computes with a number that the one before has computed.

    for i in 0..n:
      s1 = y[i]
      s2 = s1 * s3
      y[i + 1] = s2

Such a loop is no vector code. The answer is a hint: a loop that is not recognised, because a branch
or a place that is not known is in between, only keeps the code that it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Compute,
    Gather,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.traversal import memory, used
from autojit.codegen.loop_ir.vocabulary import PREDICATES
from autojit.ir.core.affine import Affine, Var, of

_FLOATS = ("f32", "f64")
#: What a recurrence computes without arithmetic, such as a maximum, may become vector code.
_CHOICES = (*PREDICATES, "select", "maximum", "minimum", "fmax", "fmin")


def is_recurrence(body: list[Any], var: Var) -> bool:
    """Whether each iteration of a loop computes with a number that the one before has computed and
    stored; a maximum is no computation, since vector code can find it."""
    return bool(chain(body, var))


def chain(body: list[Any], var: Var) -> frozenset[int]:
    """The registers of a recurrence that wait for the iteration before; none in other loops."""
    flat = list(_flat(body))
    written = [
        (s, at) for s in flat if isinstance(s, (AccumulateInto, ScatterInto, Store))
        if s.value.dtype in _FLOATS and (at := _element(s)) is not None
    ]  # fmt: skip
    found = frozenset[int]()
    for place, s in enumerate(flat):
        at = _element(s) if isinstance(s, (Load, Gather)) and s.guard is None else None
        if at is None:
            continue
        next_at = at.substitute(var, of(var) + 1)
        into = [
            w for w, there in written if memory(w.buffer) is memory(s.buffer) and there == next_at
        ]
        if into:
            found |= _waiting(flat[place + 1 :], s.result.number, into)
    return found


def _flat(body: Iterable[Any]) -> Iterator[Any]:
    """The statements of a body, and of loops of one iteration in it."""
    for s in body:
        if isinstance(s, Loop) and s.stop - s.start == 1:
            yield from _flat(s.body)
        else:
            yield s


def shares_comparisons(body: list[Any]) -> bool:
    """Whether several selections in a loop's body have one comparison of floats."""
    flat = list(_flat(body))
    floats = {
        s.result.number
        for s in flat
        if isinstance(s, Compute) and s.name in PREDICATES and s.args[0].dtype in _FLOATS
    }
    uses = Counter(s.args[0].number for s in flat if isinstance(s, Compute) and s.name == "select")
    return any(uses[number] > 1 for number in floats)


def _element(s: Any) -> Affine | None:
    """The index of an access, if its computed places are known."""
    at: Affine = s.index
    for p in getattr(s, "places", ()):
        if p.line is None:
            return None
        at += p.line * p.stride
    return at


def _waiting(body: list[Any], number: int, into: list[Any]) -> set[int]:
    """The registers that depend on a number, if arithmetic makes from it a number that one of the
    last statements writes; else none."""
    chosen, computed, is_written = {number}, set[int](), False
    for s in body:
        if any(s is w for w in into):
            is_written |= s.value.number in computed or (
                s.value.number in chosen and not isinstance(s, Store) and s.combine == "add"
            )
        if isinstance(s, Compute):
            operands = {x.number for x in used(s)}
            is_choice = s.name in _CHOICES
            if not operands.isdisjoint(computed) or (
                not is_choice and not operands.isdisjoint(chosen)
            ):
                computed.add(s.result.number)
            elif not operands.isdisjoint(chosen):
                chosen.add(s.result.number)
    return chosen | computed if is_written else set()
